"""Stage 7b: talker and code predictor, teacher forced on the corpus codes.

    python train_talker.py STEPS [--minutes M] [--flat SHARE] [--rate R]

Resumes from WORK/talker/talker.pt by itself; shards of codes that appear meanwhile are taken in at the next epoch. Both text layouts are
trained, STREAMING of the samples in the streaming one. Training-only helps: head 0 of two layers is pulled to the text tokens of the word
being said, and the phone of every 20 ms is read off a middle layer. Layer matrices go by Muon, everything else by AdamW.

WORLD processes share a step when MYNAH_VOICE_WORLD is set and each is started with its MYNAH_VOICE_RANK (0 .. WORLD - 1): each takes a part of the
batch and of Muon's matrices. Two processes do 1.9 times the steps of one (LOG.md, session 5).
"""
import argparse
import functools
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

import codebook
import paths
import phonemes
import spoken
import tokenizer as tok
from muon import RANK, WORLD, Muon
from talker_model import ENTRIES, GROUPS, IDS, TEACHER, Layer, Talker, config, prompt
from train_codec import HELD_EVERY

SEED = 3
STREAMING = 0.5
DELAY = 2                    # silent frames before an utterance of the streaming layout, in which its text gets ahead: a word cannot be begun by its first letters alone
AUTO = 0.1                   # samples without a language tag
POSITIONS = int(os.environ.get("MYNAH_VOICE_ROWS", 3200)) // WORLD      # of a batch, padding included
NEAR = 4                     # groups that make speech understood (codebook.py hear): the predictor learns them in every step, from all frames,
WHOLE_EVERY, WHOLE_SHARE = 2, 0.16           # and all 16 every so many steps, from a share of the frames
NEAR_TRUNK, WHOLE_TRUNK = 0.5, 0.25          # of the predictor's gradient that reach the trunk: what few frames say is mostly noise
WRONG_FRAMES, WRONG_CODES = 0.06, 0.03       # share of frames, and of single codes, exchanged in the input
OWN = 0.75                   # of the utterances hear some of their frames as the model itself says them,
OWN_FRAMES = (0.3, 1.0)      # this share of them, drawn anew for each;
OWN_HEAT = (0.3, 0.7)        # code 0 and the near groups drawn at a temperature between these,
OWN_FINE = 0.15              # the others at this one, as they are when it speaks: much alike
OWN_CODES = 0.5              # of the frames whose residual groups are learned after codes of the model's own
WEIGHTS = torch.tensor([0.8, 0.4, 0.4, 0.25, 0.2, *[0.12] * 10])        # of groups 1 .. 15 in the loss; codebook.GROUPS_OF says what they hold
SIDES = torch.tensor([0.6, 0.3, 0.3])        # of groups 1 .. 3 as the helper reads them off the trunk
LABELS = len(phonemes.LABELS)
ROWS = 4                     # of 20 ms in a frame
MUON_RATE, ADAM_RATE = 0.02, 2e-3
WARM = 80                    # steps in which a fresh optimizer's rate rises, and what fresh helpers tell the trunk


def load():
    """Utterances {id, text, words, speaker, codes, label, owner} of all code shards: the text as the program has it read (spoken.said), and the token of the
    written text that each of its words says."""
    with open(paths.file("corpus", "corpus.jsonl"), encoding="utf-8") as f:
        lines = [json.loads(x) for x in f]
    out = {}
    for path in sorted(glob.glob(paths.file("codes", "[0-9]*.npz"))):
        shard, begin = np.load(path), 0
        codes, label, owner = shard["codes"], shard["label"], shard["owner"]
        for end, i in zip(shard["ends"], shard["ids"]):
            text, words = read(lines[i]["text"])
            # What sketch.py made once more comes last and counts.
            out[int(i)] = dict(id=int(i), text=text, words=words, speaker=TEACHER[lines[i]["voice"]], codes=codes[begin:end].astype(np.int64), label=label[begin:end].astype(np.int64),
                               owner=owner[begin:end])
            begin = end
    return list(out.values())


@functools.cache
def read(text):
    """(text as words, as the program has it read, and of each of its words the token of text that it says). What spoken.said does beyond spoken.tokens
    is for texts that the corpus has not, and the teacher read this."""
    out, words = "", []
    for i, (token, told) in enumerate(spoken.tokens(spoken.fold(text))):
        told = " ".join(told.split())
        if not told:
            continue
        if told[0].islower() and (re.match(r"[\"'(\[]*[A-Z]", token) and not told.startswith("the ") or not out and re.match(r"[\"'(\[$£€]*\d", token)):
            told = told[0].upper() + told[1:]
        joined = out and told[0] in ".,;:!?…"
        out += told if joined or not out else " " + told
        words += [i] * (len(told.split()) - bool(joined))
    if text.endswith(".") and out[-1:].isalpha():
        out += "."
    return out, words


NO_WORD = (-9, 0.0, 0.0)
MARGIN = 0.2                 # of a word: letters are not spread over it as evenly as its sounds


def spans(text, offsets, words):
    """(token, begin, end) of each text token: the token of the written text that it says (words has it of each word of text) and which part of its
    letters, 0 .. 1."""
    begins = [0, *(i + 1 for i, c in enumerate(text) if c == " ")]
    ends = [*(b - 1 for b in begins[1:]), len(text)]
    first, last = {}, {}
    for w, owner in enumerate(words):
        first.setdefault(owner, begins[w])
        last[owner] = ends[w]
    out = []
    for a, e in offsets:
        w = text.count(" ", 0, max(e, 1))
        if e > 0 and text[e - 1] == " ":
            w -= 1
        owner = words[w]
        size = max(1, last[owner] - first[owner])
        out.append((owner, max(0, a - first[owner]) / size, (e - first[owner]) / size))
    return out


def said(owner):
    """Of each row of 20 ms the word said last and how much of it (word, 0 .. 1), and the same for the word that is said next; in a word the two are equal."""
    rows = np.arange(len(owner))
    starts = np.r_[True, owner[1:] != owner[:-1]]
    run = np.cumsum(starts) - 1
    part = (rows - rows[starts][run] + 0.5) / np.bincount(run)[run]
    inside = owner >= 0
    before = np.maximum.accumulate(np.where(inside, rows, -1))
    after = np.minimum.accumulate(np.where(inside, rows, len(owner))[::-1])[::-1]
    low, high = np.where(before >= 0, before, np.clip(after, 0, len(owner) - 1)), np.where(after < len(owner), after, np.clip(before, 0, None))
    return (owner[low], np.where(inside, part, np.where(before >= 0, 1.0, 0.0))), (owner[high], np.where(inside, part, np.where(after < len(owner), 0.0, 1.0)))


class Sampler:
    """Turns utterances into prompt rows, frame rows and targets."""

    def __init__(self):
        self.plain, self.special = tok.load()
        self.loose, _ = tok.load(0.08)
        self.silence = codebook.silence(codebook.read()).astype(np.int64)
        self.role = [self.special["<|im_start|>"], *self.plain.encode("assistant\n").ids]
        self.vocab = max(self.special.values()) + 1
        assert len(self.role) == 3, "assistant must be one token"

    def later(self, u):
        """The utterance after DELAY frames of silence at its first pitch."""
        quiet = np.repeat(self.silence[None], DELAY, 0)
        pitch = [g for g, what in enumerate(codebook.GROUPS_OF) if isinstance(what, int)]
        quiet[:, pitch] = u["codes"][0, pitch]
        before = lambda rows, value: np.concatenate([np.full((DELAY, ROWS), value, rows.dtype), rows])
        return dict(u, codes=np.concatenate([quiet, u["codes"]]), label=before(u["label"], 0), owner=before(u["owner"], -1))

    def sample(self, u, training):
        text = u["text"]
        if training and text.endswith(".") and text.count(".") == 1:
            pick = random.random()
            text = text[:-1].lower() if pick < 0.08 else text[:-1] if pick < 0.13 else text
        encoded = (self.loose if training else self.plain).encode(text)
        said_by = spans(text, encoded.offsets, u["words"])
        streaming = training and random.random() < STREAMING
        if streaming:
            u = self.later(u)
        rows_text, rows_codec, trail = prompt(encoded.ids, self.special, self.role, u["speaker"], streaming, training and random.random() < AUTO)
        n, first = len(u["codes"]), len(rows_text) - 1
        if streaming:
            rows_word = [NO_WORD] * first + said_by[:1]
            follow_word = said_by[1:] + [NO_WORD]
        else:
            rows_word = [NO_WORD] * (len(rows_text) - len(said_by) - 2) + said_by + [NO_WORD] * 2
            follow_word = []
        pad = self.special["<tts_pad>"]
        follow = (trail + [pad] * n)[:n]
        follow_word = (follow_word + [NO_WORD] * n)[:n]
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
            # Tokens of what each frame says; a pause belongs to the end and the beginning of the words on both sides of it.
            word, begin, end = np.full(t, NO_WORD[0]), np.zeros(t), np.zeros(t)
            word[:size], begin[:size], end[:size] = s["word"].T
            rows = np.zeros((n, t), bool)
            for owner, part in said(s["owner"].reshape(-1)):
                owner, part = owner.reshape(n, -1, 1), part.reshape(n, -1, 1)
                rows |= ((word == owner) & (begin <= part + MARGIN) & (end >= part - MARGIN)).any(1)
            # Frame j is decided at row first + j: text that comes later cannot be looked at.
            rows &= np.arange(t)[None] <= (first + np.arange(n))[:, None]
            guide.append(rows)
        tensor = lambda v: torch.from_numpy(v).to(paths.DEVICE)
        return dict(text=tensor(text), codec=tensor(codec), frames=tensor(frames), is_frame=tensor(is_frame), target=tensor(target), where=tensor(np.concatenate(where)),
                    codes=tensor(np.concatenate(codes)), label=tensor(np.concatenate(label)), guide=tensor(np.concatenate(guide)))


def spectra(codes, books):
    """What the spectral codes of frames [N, GROUPS] say of their halves, [N, 2, axes] in the space of the codebooks."""
    z = torch.zeros(len(codes), 2, books.shape[2], device=codes.device)
    for g, what in enumerate(codebook.GROUPS_OF):
        if not isinstance(what, int):
            z[:, what[0]] += books[what[1]][codes[:, g]]
    return z


def reconsider(codes, near, books):
    """Frames [N, GROUPS] whose first groups are near [N, up to 4] and whose finer ones make up for that as well as they can, and the best code of each
    group after what the frame has before it. A level of the codebooks holds what those before it left over: after another code another one is right."""
    left, said, best = spectra(codes, books), codes.clone(), codes.clone()
    for g, what in enumerate(codebook.GROUPS_OF):
        if isinstance(what, int):
            continue
        half, level = what
        best[:, g] = codebook.nearest(left[:, half], books[level])
        said[:, g] = near[:, g] if g < near.shape[1] else best[:, g]
        left[:, half] -= books[level][said[:, g]]
    return said, best


@torch.no_grad()
def own_frames(model, b, books):
    """The frames of a batch as the model begins them after the true ones, [N, GROUPS], with the best codes after each of theirs; and frames that are
    its own to the end: what it hears when it speaks by itself, where nobody corrects it. The last are of OWN of the utterances only, the others as they are."""
    heat = random.uniform(*OWN_HEAT)
    draw = lambda logits, heat: torch.multinomial(F.softmax(logits.reshape(-1, ENTRIES) / heat, -1), 1).view(logits.shape[:-1])
    h, _, _ = model.trunk(embed(model, b, False))
    flat = h.reshape(-1, h.shape[-1])[b["where"]]
    first = draw(model.codec_head(flat)[:, :ENTRIES], heat)
    said, _ = reconsider(b["codes"], first[:, None], books)
    near = draw(model.predictor(flat, said[:, :NEAR]), heat)
    said, best = reconsider(b["codes"], torch.cat([first[:, None], near], 1), books)
    heard = b["codes"].clone()
    share = torch.empty(len(b["text"]), device=flat.device).uniform_(*OWN_FRAMES) * (torch.rand(len(b["text"]), device=flat.device) < OWN)
    at = (torch.rand(len(flat), device=flat.device) < share[b["where"] // b["text"].shape[1]]).nonzero()[:, 0]
    heard[at, :NEAR] = said[at, :NEAR]
    if len(at):                                             # a batch of a few long utterances may have none
        heard[at, NEAR:] = draw(model.predictor(flat[at], said[at])[:, NEAR - 1:], OWN_FINE)
    return said, best, heard


def embed(model, b, training, own=None):
    """Input rows. In training some frames are those that the model says itself, and some frames and single codes are exchanged for others: the model
    learns to go on after a mistake, and to read the text rather than to guess from the sound before."""
    table = model.text_table()
    x = F.embedding(b["text"].clamp(min=0), table) * (b["text"] >= 0)[..., None]
    x = x + model.model.codec_embedding(b["codec"].clamp(min=0)) * (b["codec"] >= 0)[..., None]
    frames = b["frames"][b["is_frame"]]
    if training:
        n = len(frames)
        at = frames.device
        if own is not None:
            frames = own
        other = frames[torch.randint(n, (n,), device=at)]
        frames = torch.where((torch.rand(n, 1, device=at) < WRONG_FRAMES) | (torch.rand(n, GROUPS, device=at) < WRONG_CODES), other, frames)
    return x.index_put((b["is_frame"],), x[b["is_frame"]] + model.frame(frames))


class Helpers(nn.Module):
    """What only training needs: the phones of a frame's four rows off a middle layer, and its groups 1 .. 3 off the last, from all frames."""

    def __init__(self, width):
        super().__init__()
        self.phones = nn.Sequential(nn.Linear(width, 256), nn.SiLU(), nn.Linear(256, ROWS * LABELS))
        self.sides = nn.Linear(width, len(SIDES) * ENTRIES)


def residual(model, flat, codes, target, trunk, drop):
    """Cross-entropy of each residual group; flat [N, d] are hidden states, codes and target [N, groups] what was said and what is right after it, trunk is
    the share of the gradient that flat gets."""
    hidden = flat.detach() + trunk * (flat - flat.detach())
    rest = model.predictor(hidden, codes, drop)
    return F.cross_entropy(rest.reshape(-1, ENTRIES), target[:, 1:].reshape(-1), reduction="none").view(len(flat), -1).mean(0)


def losses(model, helpers, b, training, drop, whole=True, own=None, helped=1.0):
    """own is what own_frames returned, helped how much of the helpers' gradient reaches the trunk. (code 0, each residual group, phones, sides, guide, share of codes 0 that are right); in training without whole only the near groups."""
    h, scores, middle = model.trunk(embed(model, b, training, own and own[2]), drop)
    known = b["target"] >= 0
    logits, wanted = model.codec_head(h[known]), b["target"][known]
    first = F.cross_entropy(logits, wanted)
    flat = h.reshape(-1, h.shape[-1])[b["where"]]
    codes = target = b["codes"]
    if training:
        if own:
            mine = torch.rand(len(flat), 1, device=flat.device) < OWN_CODES
            codes, target = torch.where(mine, own[0], codes), torch.where(mine, own[1], target)
        each = residual(model, flat, codes[:, :NEAR], target[:, :NEAR], NEAR_TRUNK, drop)
        if whole:
            few = torch.randperm(len(flat), device=flat.device)[:max(16, int(len(flat) * WHOLE_SHARE))]
            each = torch.cat([each, residual(model, flat[few], codes[few], target[few], WHOLE_TRUNK, drop)[NEAR - 1:]])
    else:
        each = residual(model, flat, codes, target, 0, drop)
    part = lambda x: x.detach() + helped * (x - x.detach())
    middle, flat = part(middle), part(flat)
    phone = F.cross_entropy(helpers.phones(middle.reshape(-1, middle.shape[-1])[b["where"]]).view(-1, LABELS), b["label"].reshape(-1))
    sides = F.cross_entropy(helpers.sides(flat).view(-1, ENTRIES), b["codes"][:, 1:1 + len(SIDES)].reshape(-1), reduction="none").view(-1, len(SIDES)).mean(0)
    guide = torch.zeros((), device=h.device)
    if scores:
        seen = b["guide"].any(1)
        row, step = b["where"] // h.shape[1], b["where"] % h.shape[1]
        future = torch.arange(h.shape[1], device=h.device)[None] > step[:, None]
        for s in scores:
            s = s[row, step].masked_fill(future, -1e4)
            guide = guide + (torch.logsumexp(s, 1) - torch.logsumexp(s.masked_fill(~b["guide"], -1e4), 1))[seen].mean() / len(scores)
    return first, each, phone, sides, guide, (logits.argmax(1) == wanted).float().mean()


def share(tensors):
    """Replaces each tensor by its mean over the processes."""
    if WORLD == 1:
        return
    flat = torch.cat([t.reshape(-1) for t in tensors])
    dist.all_reduce(flat)
    flat /= WORLD
    for t, part in zip(tensors, flat.split([t.numel() for t in tensors])):
        t.copy_(part.view_as(t))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("steps", type=int)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--flat", type=float, default=0.5, help="share of STEPS before the learning rate falls")
    parser.add_argument("--rate", type=float, default=1, help="of the top learning rate")
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
    helpers = Helpers(model.c["hidden_size"]).to(place)
    matrices = [w for n, w in model.named_parameters() if w.ndim == 2 and ".layers." in n]
    chosen = set(map(id, matrices))
    others = [w for w in [*model.parameters(), *helpers.parameters()] if id(w) not in chosen]
    of_predictor = [w for n, w in model.named_parameters() if id(w) in chosen and n.startswith("code_predictor.")]
    inside = set(map(id, of_predictor))
    muons, adam = [Muon([w for w in matrices if id(w) not in inside]), Muon(of_predictor)], torch.optim.AdamW(others, ADAM_RATE, betas=(0.9, 0.98), weight_decay=0.0)
    average = {k: v.clone() for k, v in model.state_dict().items()}
    step, new, path = 0, 0, os.path.join(paths.folder("talker"), "talker.pt")
    if os.path.exists(path):
        saved = torch.load(path, weights_only=False, map_location=place)
        model.load_state_dict(saved["model"])
        average, step = saved["average"], saved["step"]
        if "adam" in saved:                                 # not in what archive.py made
            helpers.load_state_dict(saved["helpers"])
            adam.load_state_dict(saved["adam"])
            for muon, state in zip(muons, saved["muon"]):
                muon.state = {shape: m.to(place) for shape, m in state.items()}
            new = saved.get("new", 0)
        else:
            new = step
        print(f"talker: goes on from step {step}", flush=True)
    random.seed(SEED + step + 1000003 * RANK)
    torch.manual_seed(SEED + step + 1000003 * RANK)
    print(f"talker: {sum(p.numel() for p in model.parameters()) / 1e6:.2f} million weights, {sampler.vocab} text tokens", flush=True)

    def batches():
        while True:
            data = load()
            train = [u for u in data if u["id"] % HELD_EVERY]
            batches.held = [u for u in data if u["id"] % HELD_EVERY == 0][:100]
            batches.known = train[::max(1, len(train) // 100)][:100]
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
        torch.save(dict(model=model.state_dict(), helpers=helpers.state_dict(), adam=adam.state_dict(), muon=[m.state for m in muons], average=average, step=step, new=new, config=model.c), path + ".tmp")
        os.replace(path + ".tmp", path)

    def check():
        """Losses of the averaged weights on held-out text, and on text that they know."""
        twin = Talker(model.c).to(place).eval()
        twin.load_state_dict(average)
        for name, those in ("CHECK", batches.held), ("KNOWN", batches.known):
            sums = []
            with torch.no_grad():
                for i in range(0, len(those), 20):
                    first, each, phone, _, _, right = losses(twin, helpers, sampler.collate([sampler.sample(u, False) for u in those[i:i + 20]]), False, 0)
                    sums.append([float(first), float(each.mean()), float(phone), float(right), *each[[0, 1, 2, 6, 14]].tolist()])
            if sums:
                print(f"{name} step {step} " + " ".join(f"{n} {v:.3f}" for n, v in zip(("first", "rest", "phone", "right", "g1", "g2", "g3", "g7", "g15"), np.mean(sums, 0))), flush=True)

    began, spent, first_step, shown, rows, source = time.time(), time.process_time(), step, {}, 0, batches()
    books = codebook.read()["spectrum"].to(place)
    weights, side_weights = WEIGHTS.to(place), SIDES.to(place)
    while step < args.steps and time.time() - began < args.minutes * 60:
        progress = step / args.steps
        begun = min(1, (step - new + 1) / WARM)
        rate = args.rate * begun * (1 if progress < args.flat else max(0.03, (1 - progress) / (1 - args.flat)))
        b = sampler.collate([sampler.sample(u, True) for u in next(source)])
        rows += b["text"].numel()
        model.eval()
        own = own_frames(model, b, books)
        model.train()
        first, each, phone, sides, guide, right = losses(model, helpers, b, True, args.drop, step % WHOLE_EVERY == 0, own, begun)
        loss = first + phone + 0.4 * guide + (sides * side_weights).sum() + (each * weights[:len(each)]).sum()
        shows = dict(first=first, right=right, side=sides[0], phone=phone, guide=guide, g1=each[0], g2=each[1], g3=each[2])
        if len(each) == GROUPS - 1:
            shows.update(rest=each.mean(), g7=each[6], g15=each[14])
        for w in model.parameters():
            w.grad = None
        adam.zero_grad()
        loss.backward()
        share([w.grad for w in [*model.parameters(), *helpers.parameters()] if w.grad is not None])
        grad = nn.utils.clip_grad_norm_(others, 1.0)
        for g in adam.param_groups:
            g["lr"] = ADAM_RATE * rate
        for muon in muons:
            muon.step(MUON_RATE * rate)
        adam.step()
        step += 1
        if RANK:
            continue                                        # what follows is the first process's
        if step % 4 == 0:
            keep = min(0.997, 0.9 + step / 3000) ** 4
            for k, v in model.state_dict().items():
                average[k].lerp_(v, 1 - keep)
        for k, v in dict(shows, grad=grad).items():
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
