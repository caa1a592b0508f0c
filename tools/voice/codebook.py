"""Stage 5: the sixteen codebooks in closed form, and the codes of the corpus.

    python codebook.py fit       # WORK/features -> WORK/codec/codebooks.npz
    python codebook.py encode    # -> WORK/codes/NNNN.npz, new shards only
    python codebook.py compare   # residual energy of the split layout and of plain residual k-means

A frame is 80 ms: four rows of 80 log-mels (320 numbers, PCA to DIMS) and four rows of pitch. Group by group:
  0       k-means on [PCA | the teacher's phone labels]: phonetic, 256 entries
  1, 2    k-means on the pitch contour (log pitch and voicing of the four rows), then on what is left of it
  3..15   what group 0 left of the spectrum, turned to its own principal axes and cut into 13 runs of neighbouring axes, k-means in each
Plain residual k-means over all axes was the study's layout: its later groups depend on cell borders of the earlier ones and look like
noise to the talker and predictor. Here every group is a part of the sound by itself, so that a wrong code stays a small local mistake.
Codes need the teacher's labels and pitch: they are made once, with the corpus; nothing at run time encodes.
"""
import glob
import os
import sys

import numpy as np
import torch

import paths
import phonemes
from features import MELS

ENTRIES = 256
GROUPS = 16
PITCH_GROUPS = 2
DIMS = 96
LABEL_WEIGHT = 1.0            # of the phone labels against the acoustics in group 0
SEED = 11
ROWS = 4


def load(shards=None):
    """The feature shards as a list of dicts."""
    files = sorted(glob.glob(paths.file("features", "[0-9]*.npz")))
    return [dict(np.load(f), name=os.path.basename(f)) for f in (files if shards is None else files[:shards])]


def spectrum_vectors(shard):
    return torch.from_numpy(shard["mel"].astype(np.float32, order="C")).view(-1, ROWS * MELS)


def label_vectors(shard):
    """One-hot phone labels of the four rows, [T, 4 * labels]."""
    rows = torch.from_numpy(shard["label"].astype(np.int64)).view(-1, ROWS)
    return torch.nn.functional.one_hot(rows, len(phonemes.LABELS)).float().flatten(1)


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


def runs(variances, groups, bits=8.0):
    """Cuts the axes into runs of neighbours that minimise the distortion expected of `bits` bits each; the ends of the runs."""
    n = len(variances)
    logs = np.concatenate([[0], np.cumsum(np.log(np.maximum(variances, 1e-12)))])
    cost = lambda i, j: (j - i) * np.exp((logs[j] - logs[i]) / (j - i)) * 2.0 ** (-2 * bits / (j - i))
    best = np.full((groups + 1, n + 1), np.inf)
    back = np.zeros((groups + 1, n + 1), int)
    best[0, 0] = 0
    for g in range(1, groups + 1):
        for j in range(g, n + 1):
            for i in range(g - 1, j):
                # A run of very unequal axes behaves like its large ones: no better than dropping the small ones.
                c = best[g - 1, i] + min(cost(i, m) + variances[m:j].sum() for m in range(i + 1, j + 1))
                if c < best[g, j]:
                    best[g, j], back[g, j] = c, i
    ends, j = [], n
    for g in range(groups, 0, -1):
        ends.append(j)
        j = back[g, j]
    return ends[::-1]


def fit():
    torch.manual_seed(SEED)
    shards = load()
    x = torch.cat([spectrum_vectors(s) for s in shards])
    labels = torch.cat([label_vectors(s) for s in shards])
    pitch = torch.cat([pitch_vectors(s) for s in shards])
    keep = torch.randperm(len(x))[:400000]
    x, labels, pitch = x[keep], labels[keep], pitch[keep]
    mean = x.view(-1, MELS).mean(0).repeat(ROWS)
    scale = x.std()
    y = (x - mean) / scale
    values, vectors = torch.linalg.eigh(y.t() @ y / len(y))
    basis = vectors.flip(1)[:, :DIMS].contiguous()
    print(f"codebook: {len(x)} frames, {DIMS} axes keep {float(values.flip(0)[:DIMS].sum() / values.sum()):.4f} of the variance")
    z = y @ basis
    size = z.var(0).sum().sqrt()
    label_size = labels.var(0).sum().sqrt()
    joint = torch.cat([z / size, LABEL_WEIGHT * labels / label_size], 1)
    first = kmeans(joint, ENTRIES, 25, SEED)
    which = nearest(joint, first)
    centres = torch.zeros(ENTRIES, DIMS).index_add_(0, which, z) / torch.bincount(which, minlength=ENTRIES).clamp(min=1)[:, None]
    rest = z - centres[which]
    energy = z.square().sum()
    print(f"codebook: group 0 leaves {float(rest.square().sum() / energy):.4f}")
    melody, left = [], pitch
    for g in range(PITCH_GROUPS):
        book = kmeans(left, ENTRIES, 20, SEED + 1 + g)
        melody.append(book)
        left = left - book[nearest(left, book)]
        print(f"codebook: pitch group {g + 1}: error {float(left[:, :ROWS].abs().mean()):.3f} semitones, voicing {float((left[:, ROWS:].abs() > 2).float().mean()):.4f} wrong")
    values, axes = torch.linalg.eigh(rest.t() @ rest / len(rest))
    axes = axes.flip(1).contiguous()
    turned = rest @ axes
    ends = runs(values.flip(0).numpy().astype(np.float64), GROUPS - 1 - PITCH_GROUPS)
    print("codebook: runs end at", ends)
    parts, begin = [], 0
    for g, end in enumerate(ends):
        part = turned[:, begin:end].contiguous()
        book = kmeans(part, ENTRIES, 16, SEED + 10 + g)
        turned[:, begin:end] = part - book[nearest(part, book)]
        full = torch.zeros(ENTRIES, DIMS)
        full[:, begin:end] = book
        parts.append(full)
        print(f"codebook: group {1 + PITCH_GROUPS + g} ({end - begin} axes) leaves {float(turned.square().sum() / energy):.4f}")
        begin = end
    back = (z - turned @ axes.t()) @ basis.t() * scale + mean
    print(f"codebook: log-mel error {float((back - x).abs().mean()):.3f}, of which the axes alone {float((z @ basis.t() * scale + mean - x).abs().mean()):.3f}")
    path = os.path.join(paths.folder("codec"), "codebooks.npz")
    with open(path + ".tmp", "wb") as f:
        np.savez(f, mean=mean, scale=scale, basis=basis, size=size, label_size=label_size, first=first, centres=centres, pitch=torch.stack(melody), axes=axes,
                 parts=torch.stack(parts), ends=np.array(ends))
    os.replace(path + ".tmp", path)


def compare(shards):
    """Plain residual k-means for the same thirteen groups, to see what the split costs."""
    shards = load(shards)
    books = {k: torch.from_numpy(v) if v.ndim else float(v) for k, v in np.load(paths.file("codec", "codebooks.npz")).items()}
    x = torch.cat([spectrum_vectors(s) for s in shards])
    z = (x - books["mean"]) / books["scale"] @ books["basis"]
    labels = torch.cat([label_vectors(s) for s in shards])
    which = nearest(torch.cat([z / books["size"], LABEL_WEIGHT * labels / books["label_size"]], 1), books["first"])
    rest = z - books["centres"][which]
    energy = z.square().sum()
    for g in range(GROUPS - 1 - PITCH_GROUPS):
        book = kmeans(rest, ENTRIES, 12, SEED + 30 + g)
        rest = rest - book[nearest(rest, book)]
        print(f"residual k-means group {g + 3} leaves {float(rest.square().sum() / energy):.4f}")


def encode_shard(shard, books):
    """Codes uint8 [T, 16]."""
    z = (spectrum_vectors(shard) - books["mean"]) / books["scale"] @ books["basis"]
    joint = torch.cat([z / books["size"], LABEL_WEIGHT * label_vectors(shard) / books["label_size"]], 1)
    codes = [nearest(joint, books["first"])]
    left = pitch_vectors(shard)
    for book in books["pitch"]:
        codes.append(nearest(left, book))
        left = left - book[codes[-1]]
    turned = (z - books["centres"][codes[0]]) @ books["axes"]
    begin = 0
    for part, end in zip(books["parts"], books["ends"].tolist()):
        codes.append(nearest(turned[:, begin:end].contiguous(), part[:, begin:end].contiguous()))
        begin = end
    return torch.stack(codes, 1).numpy().astype(np.uint8)


def encode():
    books = {k: torch.from_numpy(v) if v.ndim else float(v) for k, v in np.load(paths.file("codec", "codebooks.npz")).items()}
    folder = paths.folder("codes")
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


if __name__ == "__main__":
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 1)))
    what = sys.argv[1] if len(sys.argv) > 1 else "fit"
    {"fit": fit, "encode": encode, "compare": lambda: compare(int(sys.argv[2]) if len(sys.argv) > 2 else None)}[what]()
