"""Stage 6b: the decoder learns to begin. train_codec.py's crops always have sound before them, so that the zeros before the first sample of an utterance
were heard as a click of two milliseconds.

    python onset.py [STEPS]        # codec/decoder.pt -> the same, its averaged weights; the old file stays as decoder-before-onset.pt. Again: goes on

Of first frames, 10 ms are held to the teacher's sound; what comes after, and crops with sound before them, to what the decoder said before. Only the
waveform stack learns.
"""
import copy
import os
import shutil
import sys

import numpy as np
import torch

import codebook
import codec_model
import paths
from synth import FRAME
from train_codec import load, spectral_loss

SEED, RATE = 9, 1e-4
STARTS, CROPS = 6, 3          # of a step
FRAMES, WARM, ONSET = 2, 2, 240
CONTEXT = 14


def take(codes, at, frames):
    return torch.from_numpy(np.stack([codes[a:a + frames] for a in at]).astype(np.int64)).transpose(1, 2)


def click(decoder, codes, audio, begins):
    """Peak of the first 5 ms, and that of the teacher."""
    with torch.inference_mode():
        y = decoder(take(codes, begins, FRAMES))
    return float(y[:, :ONSET // 2].abs().max(1)[0].mean()), float(np.mean([np.abs(audio[b * FRAME:b * FRAME + ONSET // 2].astype(np.float32)).max() / 32768 for b in begins]))


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 1)))
    torch.manual_seed(SEED)
    path, kept = paths.file("codec", "decoder.pt"), paths.file("codec", "decoder-before-onset.pt")
    if not os.path.exists(kept):
        shutil.copy(path, kept)
    saved = torch.load(kept, weights_only=True, map_location="cpu")
    codes, audio, starts, held = load(1.0)
    begins = np.unique(starts)
    decoder = codec_model.Decoder()
    decoder.set_books(codebook.entries(codebook.read()))
    decoder.load_state_dict(saved["average"])
    before = copy.deepcopy(decoder).eval()
    decoder.load_state_dict(torch.load(path, weights_only=True, map_location="cpu")["average"])
    weights = []
    for name, p in decoder.named_parameters():
        p.requires_grad_(name.startswith("decoder."))
        if p.requires_grad:
            weights.append(p)
    print(f"onset: {sum(p.numel() for p in weights) / 1e6:.2f} million weights learn; first 5 ms peak at %.4f, the teacher's at %.4f" % click(decoder, codes, audio, begins[:32]), flush=True)
    opt = torch.optim.Adam(weights, RATE, betas=(0.9, 0.98))
    shown = {}
    for step in range(1, steps + 1):
        rng = np.random.default_rng((SEED, step))
        for group in opt.param_groups:
            group["lr"] = RATE * min(1, step / 20) * min(1, 2 * (1 - (step - 1) / steps))
        at = rng.choice(begins, STARTS, replace=False)
        k = take(codes, at, FRAMES)
        x = torch.from_numpy(np.stack([audio[a * FRAME:a * FRAME + ONSET] for a in at]).astype(np.float32) / 32768)
        y = decoder(k)
        some = rng.integers(CONTEXT, len(codes) - 4, CROPS)
        c = take(codes, some - CONTEXT, CONTEXT + 3)
        with torch.no_grad():
            told = before(k)
            latents = before.latents(c, None)[..., (CONTEXT - WARM) * 4:]
            same = before.wave(latents)[:, WARM * FRAME:]
        z = decoder.wave(latents)[:, WARM * FRAME:]
        numbers = dict(onset=(y[:, :ONSET] - x).abs().mean(), peaks=(y[:, :ONSET] - x).square().mean(), after=(y[:, ONSET:] - told[:, ONSET:]).abs().mean(), crop=(z - same).abs().mean(),
                       mel_after=spectral_loss(y[:, ONSET:], told[:, ONSET:])[0], mel_crop=spectral_loss(z, same)[0])
        total = 30 * numbers["onset"] + 5000 * numbers["peaks"] + 10 * numbers["after"] + 10 * numbers["crop"] + 0.3 * numbers["mel_after"] + numbers["mel_crop"]
        opt.zero_grad()
        total.backward()
        torch.nn.utils.clip_grad_norm_(weights, 2.0)
        opt.step()
        for name, v in numbers.items():
            shown[name] = float(v.detach()) if name not in shown else 0.9 * shown[name] + 0.1 * float(v.detach())
        if step % 25 == 0:
            print(f"step {step} " + " ".join(f"{n} {v:.5f}" for n, v in shown.items()), flush=True)
    print("onset: first 5 ms peak at %.4f, the teacher's at %.4f" % click(decoder, codes, audio, begins[-32:]), flush=True)
    saved["decoder"] = saved["average"] = decoder.state_dict()
    torch.save(saved, path + ".tmp")
    os.replace(path + ".tmp", path)


if __name__ == "__main__":
    main()
