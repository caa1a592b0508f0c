"""Stage 5: the sixteen codebooks in closed form, and the codes of the corpus.

    python codebook.py fit       # WORK/features -> WORK/codec/codebooks.npz
    python codebook.py encode    # -> WORK/codes/NNNN.npz, new shards only
    python codebook.py hear      # what the judge understands of the first groups alone (Griffin-Lim, held-out sentences)

A frame is 80 ms: four rows of 80 log-mels and four rows of pitch. In 80 ms a phone ends and another begins, more than 256 entries can tell. So the
frame is cut in halves of 40 ms, which are mostly one phone: LEVELS residual k-means codebooks, the same for both halves, in the order of GROUPS_OF:
the first two groups say roughly what is heard, the next two most of the rest, then pitch (two codebooks of their own), then the fine levels. Earlier
layouts, with the same sixteen codes: one phonetic codebook for 80 ms (k-means with the teacher's phone labels) and a product quantiser of what it
left over runs of principal axes. Nobody understands the first code of that alone (word error rate 100 %), nor the first four (73 %); a talker that learned
it put what matters into codes that could hardly be predicted. LOG.md, session 5.
Pitch codes need the teacher's own pitch: codes are made once, with the corpus; nothing at run time encodes.
"""
import glob
import os
import sys

import numpy as np
import torch

import paths
from features import MELS

ENTRIES = 256
GROUPS = 16
PITCH_GROUPS = 2
ROWS = 4
HALF = 2                      # rows of a half
DIMS = 60                     # principal axes of a half that are kept
LEVELS = 7
SEED = 11
# What each group holds: (half, level) of the spectrum, or the number of a pitch codebook.
GROUPS_OF = ((0, 0), (1, 0), (0, 1), (1, 1), 0, 1, *((h, level) for level in range(2, LEVELS) for h in (0, 1)))


def load(shards=None):
    """The feature shards as a list of dicts."""
    files = sorted(glob.glob(paths.file("features", "[0-9]*.npz")))
    return [dict(np.load(f), name=os.path.basename(f)) for f in (files if shards is None else files[:shards])]


def spectrum_vectors(shard):
    """[2 T, 160]: the halves of all frames, log-mel."""
    return torch.from_numpy(shard["mel"].astype(np.float32, order="C")).view(-1, HALF * MELS)


def pitch_vectors(shard):
    """[T, 8]: log pitch in semitones about 150 Hz (carried through noise), and voicing times VOICING."""
    out, begin = [], 0
    for end in shard["ends"]:
        hertz = shard["pitch"][begin * ROWS:end * ROWS].astype(np.float32)
        voiced = hertz > 0
        if voiced.any():
            semitones = 12 * np.log2(np.maximum(hertz, 40) / 150)
            where = np.flatnonzero(voiced)
            semitones = np.interp(np.arange(len(hertz)), where, semitones[where])
        else:
            semitones = np.zeros(len(hertz))
        out.append(np.concatenate([semitones.reshape(-1, ROWS), 4.0 * voiced.reshape(-1, ROWS)], 1))
        begin = end
    return torch.from_numpy(np.concatenate(out).astype(np.float32))


def nearest(x, centres):
    half = centres.square().sum(1) / 2
    return torch.cat([(half - part @ centres.t()).argmin(1) for part in x.split(16384)])


def kmeans(x, entries, rounds, seed):
    """Lloyd's algorithm; entries that lose their points restart beside a crowded one."""
    g = torch.Generator().manual_seed(seed)
    centres = x[torch.randperm(len(x), generator=g)[:entries]].clone()
    spread = x.std(0)
    for k in range(rounds):
        which = nearest(x, centres)
        count = torch.bincount(which, minlength=entries)
        total = torch.zeros_like(centres).index_add_(0, which, x)
        alive = count > 0.05 * len(x) / entries
        centres[alive] = total[alive] / count[alive, None]
        if not alive.all() and k < rounds - 3:
            lost = int((~alive).sum())
            centres[~alive] = centres[count.topk(lost).indices] + 0.05 * spread * torch.randn(lost, x.shape[1], generator=g)
    return centres


def fit():
    torch.manual_seed(SEED)
    shards = load()
    x, pitch = torch.cat([spectrum_vectors(s) for s in shards]), torch.cat([pitch_vectors(s) for s in shards])
    x, pitch = x[torch.randperm(len(x))[:400000]], pitch[torch.randperm(len(pitch))[:400000]]
    mean = x.view(-1, MELS).mean(0).repeat(HALF)
    scale = x.std()
    y = (x - mean) / scale
    values, vectors = torch.linalg.eigh(y.t() @ y / len(y))
    basis = vectors.flip(1)[:, :DIMS].contiguous()
    print(f"codebook: {len(x)} halves, {DIMS} axes keep {float(values.flip(0)[:DIMS].sum() / values.sum()):.4f} of the variance")
    z = y @ basis
    energy, left, spectrum = z.square().sum(), z.clone(), []
    for level in range(LEVELS):
        book = kmeans(left, ENTRIES, 20, SEED + 10 + level)
        spectrum.append(book)
        left -= book[nearest(left, book)]
        error = ((z - left) @ basis.t() * scale + mean - x).abs().mean()
        print(f"codebook: level {level} leaves {float(left.square().sum() / energy):.4f}, log-mel error {float(error):.3f}", flush=True)
    melody, left = [], pitch
    for g in range(PITCH_GROUPS):
        book = kmeans(left, ENTRIES, 20, SEED + 1 + g)
        melody.append(book)
        left = left - book[nearest(left, book)]
        print(f"codebook: pitch {g}: error {float(left[:, :ROWS].abs().mean()):.3f} semitones, voicing {float((left[:, ROWS:].abs() > 2).float().mean()):.4f} wrong")
    path = os.path.join(paths.folder("codec"), "codebooks.npz")
    with open(path + ".tmp", "wb") as f:
        np.savez(f, mean=mean, scale=scale, basis=basis, spectrum=torch.stack(spectrum), pitch=torch.stack(melody))
    os.replace(path + ".tmp", path)


def read():
    return {k: torch.from_numpy(v) if v.ndim else float(v) for k, v in np.load(paths.file("codec", "codebooks.npz")).items()}


def entries(books):
    """What each group's entries are in one space [GROUPS, ENTRIES, 2 DIMS + 8]: axes of the first half, of the second, pitch. A frame is the sum of its entries."""
    out = torch.zeros(GROUPS, ENTRIES, 2 * DIMS + 2 * ROWS)
    for g, what in enumerate(GROUPS_OF):
        if isinstance(what, int):
            out[g, :, 2 * DIMS:] = books["pitch"][what]
        else:
            half, level = what
            out[g, :, half * DIMS:(half + 1) * DIMS] = books["spectrum"][level]
    return out


def encode_shard(shard, books):
    """Codes uint8 [T, 16]."""
    left = ((spectrum_vectors(shard) - books["mean"]) / books["scale"] @ books["basis"])
    melody, codes = pitch_vectors(shard), [None] * GROUPS
    for level, book in enumerate(books["spectrum"]):
        which = nearest(left, book)
        left = left - book[which]
        for half in (0, 1):
            codes[GROUPS_OF.index((half, level))] = which.view(-1, 2)[:, half]
    for g, book in enumerate(books["pitch"]):
        which = nearest(melody, book)
        melody = melody - book[which]
        codes[GROUPS_OF.index(g)] = which
    return torch.stack(codes, 1).numpy().astype(np.uint8)


def silence(books):
    """Codes [16] of a frame without sound; what its pitch codes say is not heard."""
    from features import FLOOR

    return encode_shard(dict(mel=np.full((ROWS, MELS), np.log(FLOOR)), pitch=np.zeros(ROWS), ends=[1]), books)[0]


def decode_mel(codes, books, groups=GROUPS):
    """Log-mel [4 T, 80] that the first groups of codes [T, 16] say."""
    table = entries(books)
    z = sum(table[g][codes[:, g].long()] for g in range(groups))[:, :2 * DIMS]
    return (z.reshape(-1, DIMS) @ books["basis"].t() * books["scale"] + books["mean"]).view(-1, MELS)


def encode():
    books, folder = read(), paths.folder("codes")
    use = np.zeros((GROUPS, ENTRIES), np.int64)
    frames = 0
    for shard in load():
        target = os.path.join(folder, shard["name"])
        if os.path.exists(target):
            continue
        codes = encode_shard(shard, books)
        with open(target + ".tmp", "wb") as f:
            np.savez(f, codes=codes, label=shard["label"].reshape(-1, ROWS), owner=shard["owner"].reshape(-1, ROWS), ends=shard["ends"], ids=shard["ids"])
        os.replace(target + ".tmp", target)
        frames += len(codes)
        for g in range(GROUPS):
            use[g] += np.bincount(codes[:, g], minlength=ENTRIES)
    if frames:
        p = use / use.sum(1, keepdims=True)
        print(f"codebook: {frames} new frames; bits of each group alone:", np.round(-(p * np.log2(p + 1e-12)).sum(1), 2))


def sound(mel, n=1024, hop=120, rounds=60):
    """Samples whose spectrum is log-mel [80, T] at 20 ms, phases by Griffin and Lim (1984) with momentum."""
    from features import HOP, mel_filters

    mel = torch.nn.functional.interpolate(mel[None], size=mel.shape[1] * (HOP // hop), mode="linear", align_corners=False)[0].exp()
    filters = mel_filters(n, MELS)
    size = (torch.linalg.pinv(filters) @ mel).clamp(min=1e-6)
    for _ in range(60):
        size = size * ((filters.t() @ (mel / (filters @ size + 1e-9))) / (filters.sum(0)[:, None] + 1e-9)).clamp(0, 10)
    size, window = size * (n / 2), torch.hann_window(n)
    x, last = size * torch.exp(2j * np.pi * torch.rand_like(size)), 0
    for _ in range(rounds):
        y = torch.stft(torch.istft(x, n, hop, n, window, center=True), n, hop, n, window, center=True, return_complex=True)
        x, last = y + 0.9 * (y - last), y
        x = size[:, :y.shape[1]] * x / (x.abs() + 1e-9)
    return torch.istft(x, n, hop, n, window, center=True).numpy()


def hear(sentences=16):
    import json

    import judge
    from train_codec import load as load_speech

    torch.manual_seed(SEED)
    books, held = read(), load_speech(1e9)[3][:sentences]
    with open(paths.file("corpus", "corpus.jsonl"), encoding="utf-8") as f:
        lines = [json.loads(x) for x in f]
    for groups in (1, 2, 4, 8, GROUPS):
        judge.judge(f"codes-{groups}", [lines[i]["text"] for i, _, _ in held], [sound(decode_mel(torch.from_numpy(c), books, groups).t()) for _, c, _ in held])


if __name__ == "__main__":
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 1)))
    {"fit": fit, "encode": encode, "hear": hear}[sys.argv[1] if len(sys.argv) > 1 else "fit"]()
