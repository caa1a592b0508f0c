"""Stage 6: the codec decoder. Codes -> waveform, first with spectral losses, then with an adversarial stage.

    python train_codec.py STEPS [--adversarial] [--hours H] [--minutes M]

Resumes from WORK/codec/decoder.pt by itself. Without --adversarial the losses are log-mel and spectra in three resolutions and a
training-only head that reads the log-mel off the 50 Hz latents. With it, small discriminators look at the complex spectrum in three
resolutions (hinge loss, feature matching). --minutes stops by the clock after saving. Threads: OMP_NUM_THREADS.
"""
import argparse
import glob
import math
import os
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

import codebook
import codec_model
import paths
from codebook import GROUPS
from features import HOP, MELS, magnitude, mel_filters
from synth import FRAME

SEED = 5
CONTEXT = 14            # frames before the crop that the transformer sees
WARM = 2                # of them, frames the waveform stack makes and the losses skip
CROP = 8                # frames in the losses
BATCH = int(os.environ.get("MYNAH_VOICE_BATCH", 6))
RATE = 6e-4
RESOLUTIONS = ((512, 120, 40), (1024, 240, 80), (2048, 480, 120))
FINE = 6               # groups from here on are fine levels of the spectrum
HELD_EVERY = 97         # sentence ids divisible by this are never trained on


def load(hours):
    """(codes [T, 16], audio [T * 1920], utterance start of each frame) of the shards that have both, held-out sentences removed."""
    codes, audio, starts, held, frames = [], [], [], [], 0
    for path in sorted(glob.glob(paths.file("codes", "[0-9]*.npz"))):
        sound = paths.file("speech", os.path.basename(path))
        if not os.path.exists(sound):
            continue                                # a sketched shard has codes only
        shard, speech = np.load(path), np.load(sound)
        c, a, begin = shard["codes"], speech["audio"], 0
        for end, i in zip(shard["ends"], shard["ids"]):
            if i % HELD_EVERY == 0:
                held.append((int(i), c[begin:end], a[begin * FRAME:end * FRAME]))
            else:
                codes.append(c[begin:end])
                audio.append(a[begin * FRAME:end * FRAME])
                starts.append(np.full(end - begin, frames))
                frames += end - begin
            begin = end
        if frames * 0.08 / 3600 > hours:
            break
    if not codes:
        raise SystemExit("codec: no shard has both codes and speech: run synth.py, then features.py")
    return np.concatenate(codes), np.concatenate(audio), np.concatenate(starts), held


def batch(codes, audio, starts, rng):
    """Random crops; frames before the utterance's start are marked invalid."""
    total = CONTEXT + CROP
    at = rng.integers(0, len(codes) - CROP, BATCH)
    index = at[:, None] + np.arange(-CONTEXT, CROP)
    first = starts[at][:, None]
    # A crop may run over the end into the next utterance: then it is moved back inside, or starts the next one.
    over = starts[np.minimum(at + CROP - 1, len(starts) - 1)]
    moved = np.where(over != starts[at], np.maximum(over - CROP, starts[at]), at)
    index = moved[:, None] + np.arange(-CONTEXT, CROP)
    valid = index >= first
    k = torch.from_numpy(codes[np.clip(index, 0, len(codes) - 1)].astype(np.int64)).transpose(1, 2)
    x = torch.from_numpy(np.stack([audio[m * FRAME:(m + CROP) * FRAME] for m in moved]).astype(np.float32) / 32768)
    # The predictor will sometimes be wrong: a few codes of the fine groups are exchanged.
    wrong = torch.from_numpy(rng.random((BATCH, GROUPS - FINE, total)) < 0.04)
    other = k[torch.from_numpy(rng.permutation(BATCH))][:, FINE:][:, :, torch.from_numpy(rng.permutation(total))]
    k = torch.cat([k[:, :FINE], torch.where(wrong, other, k[:, FINE:])], 1)
    return tuple(v.to(paths.DEVICE) for v in (k, x, torch.from_numpy(valid)))


def spectral_loss(y, x):
    """Log-mel, log spectrum and spectral convergence; also the plain log-mel error at 1024."""
    total, shown = 0.0, 0.0
    for n, hop, bands in RESOLUTIONS:
        a, b = magnitude(y, n, hop), magnitude(x, n, hop)
        filters = mel_filters(n, bands).to(y.device)
        mel = (torch.matmul(filters, a).clamp(min=5e-5).log() - torch.matmul(filters, b).clamp(min=5e-5).log()).abs().mean()
        fine = (a.clamp(min=1e-4).log() - b.clamp(min=1e-4).log()).abs().mean()
        shape = (a - b).norm() / b.norm().clamp(min=1e-2)
        total = total + mel + 0.5 * fine + 0.5 * shape
        shown = float(mel.detach()) if n == 1024 else shown
    return total / len(RESOLUTIONS), shown


class Discriminator(nn.Module):
    """Looks at the complex spectrum [B, 2, bins, frames] through strided 2D convolutions."""

    def __init__(self, n, hop, width=16):
        super().__init__()
        self.n, self.hop = n, hop
        norm = nn.utils.parametrizations.weight_norm
        self.convs = nn.ModuleList([
            norm(nn.Conv2d(2, width, (7, 5), (2, 1), (3, 2))), norm(nn.Conv2d(width, 2 * width, (5, 3), (2, 1), (2, 1))),
            norm(nn.Conv2d(2 * width, 2 * width, (5, 3), (2, 2), (2, 1))), norm(nn.Conv2d(2 * width, 4 * width, (5, 3), (2, 1), (2, 1)))])
        self.last = norm(nn.Conv2d(4 * width, 1, 3, 1, 1))

    def forward(self, x):
        s = torch.stft(F.pad(x, ((self.n - self.hop) // 2,) * 2), self.n, self.hop, self.n, torch.hann_window(self.n, device=x.device), center=False, return_complex=True)
        h = torch.stack([s.real, s.imag], 1) * (8.0 / math.sqrt(self.n))
        # Compress the range as hearing does, keep the phase.
        h = h * (h.square().sum(1, keepdim=True) + 1e-6).pow(-0.35)
        h = h.contiguous(memory_format=torch.channels_last)
        features = []
        for conv in self.convs:
            h = F.leaky_relu(conv(h), 0.2)
            features.append(h)
        return self.last(h), features


class Discriminators(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([Discriminator(n, n // 4) for n in (256, 512, 1024)])

    def forward(self, x):
        return [d(x) for d in self.parts]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("steps", type=int)
    parser.add_argument("--adversarial", action="store_true")
    parser.add_argument("--hours", type=float, default=3.0)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--decay-from", type=float, default=0.6, help="share of STEPS after which the learning rate falls to a tenth")
    args = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 1)))
    torch.manual_seed(SEED)
    torch._dynamo.config.recompile_limit = 64              # one kernel a width
    codec_model.compile_snake()
    codes, audio, starts, held = load(args.hours)
    print(f"codec: {len(codes) * 0.08 / 3600:.2f} hours, {len(held)} held-out sentences", flush=True)
    place = torch.device(paths.DEVICE)
    decoder = codec_model.Decoder().to(place)
    decoder.set_books(codebook.entries(codebook.read()))
    head = nn.Linear(decoder.c["latent_dim"], MELS).to(place)
    judges = Discriminators().to(place)
    weights = [p for p in [*decoder.parameters(), *head.parameters()] if p.requires_grad]
    opt = torch.optim.AdamW(weights, RATE, betas=(0.8, 0.98), weight_decay=1e-3)
    opt_judges = torch.optim.AdamW(judges.parameters(), 3e-4, betas=(0.8, 0.98))
    average = {k: v.clone() for k, v in decoder.state_dict().items()}
    step, path = 0, os.path.join(paths.folder("codec"), "decoder.pt")
    if os.path.exists(path):
        saved = torch.load(path, weights_only=True, map_location=place)
        decoder.load_state_dict(saved["decoder"])
        average, step = saved["average"], saved["step"]
        if "opt" in saved:                                  # not in what archive.py made
            head.load_state_dict(saved["head"])
            opt.load_state_dict(saved["opt"])
        if args.adversarial and "judges" in saved:
            judges.load_state_dict(saved["judges"])
            opt_judges.load_state_dict(saved["opt_judges"])
        print(f"codec: goes on from step {step}", flush=True)
    print(f"codec: {sum(p.numel() for p in decoder.parameters()) / 1e6:.2f} million weights", flush=True)

    def save():
        state = dict(decoder=decoder.state_dict(), average=average, head=head.state_dict(), opt=opt.state_dict(), step=step, config=decoder.c)
        if args.adversarial:
            state.update(judges=judges.state_dict(), opt_judges=opt_judges.state_dict())
        torch.save(state, path + ".tmp")
        os.replace(path + ".tmp", path)

    def check():
        """Log-mel error of the averaged weights on held-out sentences."""
        current = {k: v.clone() for k, v in decoder.state_dict().items()}
        decoder.load_state_dict(average)
        errors = []
        with torch.inference_mode():
            for _, c, a in held[:12]:
                y = decoder(torch.from_numpy(c.astype(np.int64)).t()[None].to(place))
                errors.append(spectral_loss(y, torch.from_numpy(a.astype(np.float32) / 32768)[None].to(place))[1])
        decoder.load_state_dict(current)
        return float(np.mean(errors)) if errors else float("nan")

    began, spent, shown = time.time(), time.process_time(), {}
    first = step
    while step < args.steps and time.time() - began < args.minutes * 60:
        rng = np.random.default_rng((SEED, step))
        progress = step / args.steps
        fall = 1.0 if progress < args.decay_from else max(0.1, 1 - 0.9 * (progress - args.decay_from) / (1 - args.decay_from))
        for group in opt.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / 200) * fall * (0.5 if args.adversarial else 1)
        k, x, valid = batch(codes, audio, starts, rng)
        latents = decoder.latents(k, valid)
        y = decoder.wave(latents[..., (CONTEXT - WARM) * 4:])
        # The losses look at the crop with the warm-up's samples before it, so that windows at its start see real context.
        y = y[:, WARM * FRAME:]
        loss, mel = spectral_loss(y, x)
        with torch.no_grad():
            target = torch.matmul(mel_filters(1024, MELS).to(place), magnitude(x, 1024, HOP)).clamp(min=5e-5).log()
        read = head(latents[:, :, 0, -CROP * 4:].transpose(1, 2)).transpose(1, 2) - 7.0
        helped = (read - target)[..., 1:-1].abs().mean()
        total = loss + max(0.1, 1 - step / 2000) * 0.5 * helped
        numbers = dict(loss=loss, mel=mel, head=helped)
        if args.adversarial:
            real = [(s.detach(), [f.detach() for f in fs]) for s, fs in judges(x)]
            fake = judges(y)
            fool = sum(-s.mean() for s, _ in fake) / len(fake)
            match = sum((a - b).abs().mean() / b.abs().mean().clamp(min=1e-3) for (_, fa), (_, fb) in zip(fake, real) for a, b in zip(fa, fb)) / sum(len(f) for _, f in real)
            warm = min(1.0, (step - first) / 200)
            total = total + warm * (0.08 * fool + 0.6 * match)
            numbers.update(fool=fool, match=match)
        opt.zero_grad()
        total.backward()
        numbers["grad"] = nn.utils.clip_grad_norm_(weights, 2.0)
        opt.step()
        if args.adversarial:
            opt_judges.zero_grad()
            lie = judges(y.detach())
            truth = judges(x)
            hinge = sum(F.relu(1 - a).mean() + F.relu(1 + b).mean() for (a, _), (b, _) in zip(truth, lie)) / len(lie)
            hinge.backward()
            opt_judges.step()
            numbers["hinge"] = hinge
        step += 1
        if step % 4 == 0:
            keep = min(0.998, 0.9 + step / 5000) ** 4
            for name, v in decoder.state_dict().items():
                average[name].lerp_(v, 1 - keep)
        for name, v in numbers.items():
            v = float(v.detach() if torch.is_tensor(v) else v)
            shown[name] = v if name not in shown else 0.97 * shown[name] + 0.03 * v
        if step % 25 == 0:
            print(f"step {step} cpu {(time.process_time() - spent) / (step - first):.2f} s wall {(time.time() - began) / (step - first):.2f} s " + " ".join(f"{n} {v:.3f}" for n, v in shown.items()), flush=True)
        if step % 100 == 0:
            save()
        if step % 500 == 0:
            print(f"CHECK step {step} held-out log-mel error {check():.3f}", flush=True)
    save()
    print(f"CHECK step {step} held-out log-mel error {check():.3f}", flush=True)


if __name__ == "__main__":
    main()
