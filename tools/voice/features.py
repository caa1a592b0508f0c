"""Stage 4: what the codec is built from. Log-mel, pitch, phone and text-token labels of every utterance, four rows a frame (20 ms each).

    python features.py           # WORK/speech/NNNN.npz -> WORK/features/NNNN.npz, new shards only

    mel float16 [4T, 80], natural logarithm; pitch float16 [4T] in Hz, 0 without voice;
    label int8 [4T] index into phonemes.LABELS; owner int16 [4T] white-space token being said, -1 in pauses; ends [n] in frames; ids [n].
"""
import glob
import os

import numpy as np
import torch

import paths
import phonemes
from synth import FRAME
from teacher import DURATION_HOP, SAMPLE_RATE, VOCAB

HOP = 480                     # 20 ms; four hops are one frame
MELS = 80
LOWEST_PITCH = 60.0          # the teacher's curve falls to 0 between voiced stretches; what lies below is such a slope
FLOOR = 5e-5                  # magnitudes below this are silence: 60 dB under loud vowels

_filters = {}


def mel_filters(n_fft, bands, low=20.0, high=11900.0):
    """Triangles on the mel scale, each with unit sum of its weights' area, float32 [bands, n_fft // 2 + 1]."""
    key = (n_fft, bands)
    if key not in _filters:
        to_mel = lambda f: 2595.0 * np.log10(1.0 + f / 700.0)
        edges = 700.0 * (10.0 ** (np.linspace(to_mel(low), to_mel(high), bands + 2) / 2595.0) - 1.0)
        bins = np.arange(n_fft // 2 + 1) * SAMPLE_RATE / n_fft
        up = (bins[None] - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
        down = (edges[2:, None] - bins[None]) / (edges[2:] - edges[1:-1])[:, None]
        tri = np.maximum(0.0, np.minimum(up, down))
        # A band narrower than one bin takes its nearest bin.
        for b in np.flatnonzero(tri.sum(1) < 0.5):
            tri[b, int(round(edges[b + 1] * n_fft / SAMPLE_RATE))] = 1.0
        _filters[key] = torch.from_numpy((tri / tri.sum(1, keepdims=True)).astype(np.float32))
    return _filters[key]


def magnitude(x, n_fft, hop, window=None):
    """[B, T] -> [B, n_fft / 2 + 1, T / hop]; column k is centred on sample k * hop + hop / 2; a full-scale sine gives about 0.5."""
    size = window or n_fft
    left = (n_fft - hop) // 2
    x = torch.nn.functional.pad(x, (left, n_fft - hop - left))
    shape = torch.hann_window(size, device=x.device)
    spectrum = torch.stft(x, n_fft, hop, size, shape, center=False, return_complex=True)
    return (spectrum.real.square() + spectrum.imag.square() + 1e-9).sqrt() * (2.0 / size)


def log_mel(x, n_fft=1024, hop=HOP, bands=MELS):
    return torch.matmul(mel_filters(n_fft, bands).to(x.device), magnitude(x, n_fft, hop)).clamp(min=FLOOR).log()


def labels(shard):
    """(pitch, label, owner) rows of every utterance of a shard, as lists."""
    names = list(VOCAB)
    index = {c: i for i, c in enumerate(phonemes.LABELS)}
    to_label = np.array([index.get(c, 0) for c in names] + [0])               # symbol -1 -> pause
    silent = np.array([c not in index for c in names] + [True])
    out = []
    begin = p0 = 0
    for end, p1, shift in zip(shard["ends"], shard["phone_ends"], shard["shift"]):
        rows = (end - begin) // HOP
        steps = shard["durations"][p0:p1].astype(np.int64)
        phones, owners = shard["phones"][p0:p1].astype(np.int64), shard["owners"][p0:p1].astype(np.int64)
        centre = np.arange(rows) * HOP + HOP // 2 + shift                       # in the teacher's samples
        which = np.searchsorted(np.cumsum(steps) * DURATION_HOP, centre, side="right")
        inside = (centre >= 0) & (which < len(steps))
        which = np.clip(which, 0, len(steps) - 1)
        label = np.where(inside, to_label[phones[which]], 0)
        owner = np.where(inside, owners[which], -1)
        # Stress marks take time too: they belong to the sound that follows.
        mark = np.array([names[p] in "ˈˌ" if p >= 0 else False for p in phones])
        for i in np.flatnonzero(mark[which] & inside):
            nxt = which[i] + 1
            if nxt < len(phones):
                label[i] = to_label[phones[nxt]]
        pitch = shard["pitch"][2 * shard["durations"][:p0].sum():2 * shard["durations"][:p1].sum()].astype(np.float32)
        at = np.clip(centre // (DURATION_HOP // 2), 0, len(pitch) - 1)
        hertz = np.where(inside & (pitch[at] > LOWEST_PITCH), pitch[at], 0)
        out.append((hertz.astype(np.float16), label.astype(np.int8), owner.astype(np.int16)))
        begin, p0 = end, p1
    return out


def main():
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 1)))
    folder = paths.folder("features")
    total = 0
    for path in sorted(glob.glob(paths.file("speech", "[0-9]*.npz"))):
        target = os.path.join(folder, os.path.basename(path))
        if os.path.exists(target):
            continue
        shard = dict(np.load(path))
        mels, begin = [], 0
        for end in shard["ends"]:
            x = torch.from_numpy(shard["audio"][begin:end].astype(np.float32) / 32768)[None]
            mels.append(log_mel(x)[0].t().numpy().astype(np.float16))
            begin = end
        rows = labels(shard)
        with open(target + ".tmp", "wb") as f:
            np.savez(f, mel=np.ascontiguousarray(np.concatenate(mels)), pitch=np.concatenate([r[0] for r in rows]), label=np.concatenate([r[1] for r in rows]),
                     owner=np.concatenate([r[2] for r in rows]), ends=shard["ends"] // FRAME, ids=shard["ids"])
        os.replace(target + ".tmp", target)
        total += shard["ends"][-1] / SAMPLE_RATE
    print(f"features: {total / 60:.1f} minutes of new speech")


if __name__ == "__main__":
    main()
