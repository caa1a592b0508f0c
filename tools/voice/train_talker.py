"""Stage 7b: talker and code predictor, teacher forced on the corpus codes.

    python train_talker.py STEPS [--minutes M] [--flat SHARE]

Resumes from WORK/talker/talker.pt by itself; shards of codes that appear meanwhile are taken in at the next epoch. Both text layouts are
trained, STREAMING of the samples in the streaming one. Training-only helps: head 0 of two layers is pulled to the text tokens of the word
being said, and the phone of every 20 ms is read off a middle layer. Layer matrices go by Muon, everything else by AdamW.

WORLD processes share a step when MYNAH_VOICE_WORLD is set and each is started with its MYNAH_VOICE_RANK (0 .. WORLD - 1): each takes a part of the
batch and of Muon's matrices. Two processes of one thread do 1.7 times the steps of one; one process of two threads 1.4 times.
"""
import argparse
import glob
import json
import os
import random
import re
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

import paths
import phonemes
import tokenizer as tok
from talker_model import ENTRIES, GROUPS, IDS, TEACHER, Layer, Talker, config, prompt
from train_codec import HELD_EVERY

SEED = 3
STREAMING = 0.45
AUTO = 0.1                   # samples without a language tag
RANK, WORLD = int(os.environ.get("MYNAH_VOICE_RANK", 0)), int(os.environ.get("MYNAH_VOICE_WORLD", 1))
POSITIONS = int(os.environ.get("MYNAH_VOICE_ROWS", 3200)) // WORLD      # of a batch, padding included
FRAMES_SHARE = 0.1           # of the frames the predictor sees in a step
WEIGHTS = torch.tensor([1.2, 0.8, *(0.93 ** g for g in range(13))])     # of groups 1 .. 15 in the loss
LABELS = len(phonemes.LABELS)
MUON_RATE, ADAM_RATE = 0.02, 2e-3


def load():
    """Utterances {id, text, speaker, codes, label, owner} of all code shards."""
    with open(paths.file("corpus", "corpus.jsonl"), encoding="utf-8") as f:
        lines = [json.loads(x) for x in f]
    out = []
    for path in sorted(glob.glob(paths.file("codes", "[0-9]*.npz"))):
        shard, begin = np.load(path), 0
        codes, label, owner = shard["codes"], shard["label"], shard["owner"]
        for end, i in zip(shard["ends"], shard["ids"]):
            out.append(dict(id=int(i), text=lines[i]["text"], speaker=TEACHER[lines[i]["voice"]], codes=codes[begin:end].astype(np.int64), label=label[begin:end].astype(np.int64),
                            owner=owner[begin:end]))
            begin = end
    return out


class Sampler:
    """Turns utterances into prompt rows, frame rows and targets."""

    def __init__(self):
        self.plain, self.special = tok.load()
        self.loose, _ = tok.load(0.08)
        self.role = [self.special["<|im_start|>"], *self.plain.encode("assistant\n").ids]
        self.vocab = max(self.special.values()) + 1
        assert len(self.role) == 3, "assistant must be one token"

    def sample(self, u, training):
        text = u["text"]
        if training and text.endswith(".") and text.count(".") == 1:
            pick = random.random()
            text = text[:-1].lower() if pick < 0.08 else text[:-1] if pick < 0.13 else text
        encoded = (self.loose if training else self.plain).encode(text)
        spaces = np.cumsum([c == " " for c in text])
        words = [int(spaces[max(e - 1, 0)]) for _, e in encoded.offsets]
        streaming = training and random.random() < STREAMING
        rows_text, rows_codec, trail = prompt(encoded.ids, self.special, self.role, u["speaker"], streaming, training and random.random() < AUTO)
        n, first = len(u["codes"]), len(rows_text) - 1
        if streaming:
            rows_word = [-1] * first + words[:1]
            follow_word = words[1:] + [-1]
        else:
            rows_word = [-1] * (len(rows_text) - len(words) - 2) + words + [-1, -1]
            follow_word = []
        pad = self.special["<tts_pad>"]
        follow = (trail + [pad] * n)[:n]
        follow_word = (follow_word + [-1] * n)[:n]
        return dict(text=np.array(rows_text + follow), codec=np.array(rows_codec + [-1] * n), word=np.array(rows_word + follow_word), first=first, n=n, **{k: u[k] for k in ("codes", "label", "owner")})

    def collate(self, samples):
        b, t = len(samples), max(len(s["text"]) for s in samples)
        text, codec, target = np.full((b, t), -1), np.full((b, t), -1), np.full((b, t), -100)
        frames, is_frame, guide = np.zeros((b, t, GROUPS), np.int64), np.zeros((b, t), bool), []
        where, codes, label = [], [], []
        for i, s in enumerate(samples):
            size, n, first = len(s["text"]), s["n"], s["first"]
            text[i, :size], codec[i, :size] = s["text"], s["codec"]
            frames[i, first + 1:first + 1 + n], is_frame[i, first + 1:first + 1 + n] = s["codes"], True
            target[i, first:first + n], target[i, first + n] = s["codes"][:, 0], IDS["eos"]
            where.append(i * t + first + np.arange(n))
            codes.append(s["codes"])
            label.append(s["label"])
            # Words of each frame; a pause belongs to the words on both sides of it.
            owner = s["owner"].reshape(-1)
            said = np.where(owner >= 0, np.arange(len(owner)), -1)
            before = np.maximum.accumulate(said)
            after = np.where(owner >= 0, np.arange(len(owner)), len(owner))
            after = np.minimum.accumulate(after[::-1])[::-1]
            low = owner[np.where(before >= 0, before, np.clip(after, 0, len(owner) - 1))].reshape(n, -1)
            high = owner[np.where(after < len(owner), after, np.clip(before, 0, None))].reshape(n, -1)
            word = np.full(t, -9)
            word[:size] = np.where(s["word"] >= 0, s["word"], -9)
            rows = ((word[None, None] == low[..., None]) | (word[None, None] == high[..., None])).any(1)
            # Frame j is decided at row first + j: text that comes later cannot be looked at.
            rows &= np.arange(t)[None] <= (first + np.arange(n))[:, None]
            guide.append(rows)
        tensor = lambda v: torch.from_numpy(v).to(paths.DEVICE)
        return dict(text=tensor(text), codec=tensor(codec), frames=tensor(frames), is_frame=tensor(is_frame), target=tensor(target), where=tensor(np.concatenate(where)),
                    codes=tensor(np.concatenate(codes)), label=tensor(np.concatenate(label)), guide=tensor(np.concatenate(guide)))


def embed(model, b, wrong):
    """Input rows; wrong: share of frames and of single codes exchanged for others, so that the model learns to go on after a mistake."""
    table = model.text_table()
    x = F.embedding(b["text"].clamp(min=0), table) * (b["text"] >= 0)[..., None]
    x = x + model.model.codec_embedding(b["codec"].clamp(min=0)) * (b["codec"] >= 0)[..., None]
    frames = b["frames"][b["is_frame"]]
    if wrong:
        n = len(frames)
        at = frames.device
        other = frames[torch.randint(n, (n,), device=at)]
        frames = torch.where((torch.rand(n, 1, device=at) < wrong) | (torch.rand(n, GROUPS, device=at) < wrong), other, frames)
    return x.index_put((b["is_frame"],), x[b["is_frame"]] + model.frame(frames))


def losses(model, phones, b, training, drop):
    h, scores, middle = model.trunk(embed(model, b, 0.05 if training else 0), drop)
    known = b["target"] >= 0
    logits, target = model.codec_head(h[known]), b["target"][known]
    first = F.cross_entropy(logits, target)
    flat = h.reshape(-1, h.shape[-1])[b["where"]]
    n = len(flat)
    pick = torch.randperm(n, device=flat.device)[:max(16, int(n * FRAMES_SHARE))] if training else torch.arange(n, device=flat.device)
    rest = model.predictor(flat[pick], b["codes"][pick], drop)
    each = F.cross_entropy(rest.reshape(-1, ENTRIES), b["codes"][pick, 1:].reshape(-1), reduction="none").view(-1, GROUPS - 1).mean(0)
    phone = F.cross_entropy(phones(middle.reshape(-1, middle.shape[-1])[b["where"]]).view(-1, LABELS), b["label"].reshape(-1))
    guide = torch.zeros((), device=h.device)
    if scores:
        seen = b["guide"].any(1)
        row, step = b["where"] // h.shape[1], b["where"] % h.shape[1]
        future = torch.arange(h.shape[1], device=h.device)[None] > step[:, None]
        for s in scores:
            s = s[row, step].masked_fill(future, -1e4)
            guide = guide + (torch.logsumexp(s, 1) - torch.logsumexp(s.masked_fill(~b["guide"], -1e4), 1))[seen].mean() / len(scores)
    return first, each, phone, guide, (logits.argmax(1) == target).float().mean()


def share(tensors):
    """Replaces each tensor by its mean over the processes."""
    if WORLD == 1:
        return
    flat = torch.cat([t.reshape(-1) for t in tensors])
    dist.all_reduce(flat)
    flat /= WORLD
    for t, part in zip(tensors, flat.split([t.numel() for t in tensors])):
        t.copy_(part.view_as(t))


class Muon:
    """Momentum whose update is made orthogonal by five Newton-Schulz steps; matrices of one shape go together, each process takes its part of them."""

    def __init__(self, weights, momentum=0.95):
        self.groups, self.momentum = {}, momentum
        for w in weights:
            self.groups.setdefault(tuple(w.shape), []).append(w)
        self.state = {shape: torch.zeros(len(ws), *shape, device=ws[0].device) for shape, ws in self.groups.items()}

    @staticmethod
    def orthogonal(x):
        tall = x.shape[1] > x.shape[2]
        x = x.transpose(1, 2) if tall else x
        x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
        for _ in range(5):
            a = x @ x.transpose(1, 2)
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * (a @ a)) @ x
        return x.transpose(1, 2) if tall else x

    @torch.no_grad()
    def step(self, rate, decay=0.01):
        for shape, ws in self.groups.items():
            g, m = torch.stack([w.grad for w in ws]), self.state[shape]
            m.lerp_(g, 1 - self.momentum)
            x = g.lerp(m, self.momentum)
            updates = torch.zeros_like(x)
            updates[RANK::WORLD] = self.orthogonal(x[RANK::WORLD])
            if WORLD > 1:
                dist.all_reduce(updates)
            for w, u in zip(ws, updates):
                w.mul_(1 - rate * decay).add_(u, alpha=-rate * max(1, shape[0] / shape[1]) ** 0.5)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("steps", type=int)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--flat", type=float, default=0.5, help="share of STEPS before the learning rate falls")
    parser.add_argument("--drop", type=float, default=0.05)
    args = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 1)))
    torch.manual_seed(SEED)
    torch._dynamo.config.recompile_limit = 64              # layers with and without probe, dropout, gradients
    Layer.forward = torch.compile(Layer.forward, dynamic=True)
    if WORLD > 1:
        dist.init_process_group("gloo", init_method="tcp://127.0.0.1:" + os.environ.get("MYNAH_VOICE_PORT", "29777"), rank=RANK, world_size=WORLD)
    sampler = Sampler()
    place = torch.device(paths.DEVICE)
    model = Talker(config(sampler.vocab)).to(place)
    phones = nn.Sequential(nn.Linear(model.c["hidden_size"], 256), nn.SiLU(), nn.Linear(256, 4 * LABELS)).to(place)
    matrices = [w for n, w in model.named_parameters() if w.ndim == 2 and ".layers." in n]
    chosen = set(map(id, matrices))
    others = [w for w in [*model.parameters(), *phones.parameters()] if id(w) not in chosen]
    muon, adam = Muon(matrices), torch.optim.AdamW(others, ADAM_RATE, betas=(0.9, 0.98), weight_decay=0.0)
    average = {k: v.clone() for k, v in model.state_dict().items()}
    step, path = 0, os.path.join(paths.folder("talker"), "talker.pt")
    if os.path.exists(path):
        saved = torch.load(path, weights_only=False, map_location=place)
        model.load_state_dict(saved["model"])
        average, step = saved["average"], saved["step"]
        if "adam" in saved:                                 # not in what archive.py made
            phones.load_state_dict(saved["phones"])
            adam.load_state_dict(saved["adam"])
            for shape, m in saved["muon"].items():
                muon.state[shape].copy_(m)
        print(f"talker: goes on from step {step}", flush=True)
    random.seed(SEED + step + 1000003 * RANK)
    torch.manual_seed(SEED + step + 1000003 * RANK)
    print(f"talker: {sum(p.numel() for p in model.parameters()) / 1e6:.2f} million weights, {sampler.vocab} text tokens", flush=True)

    def batches():
        while True:
            data = load()
            train = [u for u in data if u["id"] % HELD_EVERY]
            batches.held = [u for u in data if u["id"] % HELD_EVERY == 0]
            order = sorted(train, key=lambda u: len(u["codes"]) + 0.5 * len(u["text"]) + random.random() * 8)
            out, now, longest = [], [], 0
            for u in order:
                size = len(u["codes"]) + len(u["text"]) * 0.6 + 14
                if now and max(longest, size) * (len(now) + 1) > POSITIONS:
                    out.append(now)
                    now, longest = [], 0
                now.append(u)
                longest = max(longest, size)
            out.append(now)
            random.shuffle(out)
            print(f"epoch of {len(out)} batches, {len(train)} utterances, {sum(len(u['codes']) for u in train) * 0.08 / 3600:.2f} hours", flush=True)
            yield from out

    def save():
        torch.save(dict(model=model.state_dict(), phones=phones.state_dict(), adam=adam.state_dict(), muon=muon.state, average=average, step=step, config=model.c), path + ".tmp")
        os.replace(path + ".tmp", path)

    def check():
        twin = Talker(model.c).to(place).eval()
        twin.load_state_dict(average)
        sums = []
        with torch.no_grad():
            for i in range(0, min(len(batches.held), 100), 20):
                first, each, phone, _, right = losses(twin, phones, sampler.collate([sampler.sample(u, False) for u in batches.held[i:i + 20]]), False, 0)
                sums.append([float(first), float(each.mean()), float(phone), float(right), *each[[0, 1, 2, 6, 14]].tolist()])
        if sums:
            print(f"CHECK step {step} " + " ".join(f"{n} {v:.3f}" for n, v in zip(("first", "rest", "phone", "right", "g1", "g2", "g3", "g7", "g15"), np.mean(sums, 0))), flush=True)

    began, spent, first_step, shown, rows, source = time.time(), time.process_time(), step, {}, 0, batches()
    weights = (WEIGHTS / WEIGHTS.sum()).to(place)
    while step < args.steps and time.time() - began < args.minutes * 60:
        progress = step / args.steps
        rate = min(1, (step + 1) / 60) * (1 if progress < args.flat else max(0.03, (1 - progress) / (1 - args.flat)))
        b = sampler.collate([sampler.sample(u, True) for u in next(source)])
        rows += b["text"].numel()
        model.train()
        first, each, phone, guide, right = losses(model, phones, b, True, args.drop)
        loss = first + 1.5 * (each * weights).sum() + 0.4 * phone + (0.3 if progress < 0.5 else 0.1) * guide
        for w in model.parameters():
            w.grad = None
        adam.zero_grad()
        loss.backward()
        share([w.grad for w in [*model.parameters(), *phones.parameters()]])
        grad = nn.utils.clip_grad_norm_(others, 1.0)
        for g in adam.param_groups:
            g["lr"] = ADAM_RATE * rate
        muon.step(MUON_RATE * rate)
        adam.step()
        step += 1
        if RANK:
            continue                                        # what follows is the first process's
        if step % 4 == 0:
            keep = min(0.99, 0.9 + step / 3000) ** 4
            for k, v in model.state_dict().items():
                average[k].lerp_(v, 1 - keep)
        for k, v in dict(first=first, right=right, rest=each.mean(), g1=each[0], g3=each[2], g7=each[6], g15=each[14], phone=phone, guide=guide, grad=grad).items():
            v = float(v.detach() if torch.is_tensor(v) else v)
            shown[k] = v if k not in shown else 0.95 * shown[k] + 0.05 * v
        if step % 20 == 0:
            print(f"step {step} cpu {(time.process_time() - spent) / (step - first_step):.2f} s rows/s {rows / (time.time() - began):.0f} " + " ".join(f"{k} {v:.3f}" for k, v in shown.items()), flush=True)
        if step % 50 == 0:
            save()
        if step % 300 == 0:
            check()
    if RANK == 0:
        save()
        check()


if __name__ == "__main__":
    main()
