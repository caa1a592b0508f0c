"""Stage 3b: features of further sentences without their sound, about seven times cheaper than speech.

    python sketch.py fit STEPS                     # learns log-mel from the teacher's inner features and speech, WORK/sketch/reader.pt
    python sketch.py fit-codes STEPS [--sentences N]    # the same from codes that were made before, where no speech is at hand
    python sketch.py run RANK WORLD [--limit K]    # WORK/features/NNNN.npz of shards that have no speech
    python sketch.py redo RANK WORLD               # WORK/features/8NNN.npz: once more those that were spoken without the stress of phonemes.STRESSED

Nine tenths of the teacher's work turn its inner features (512 numbers, 80 times a second) into samples. The codec needs samples of an hour or
two only; the talker needs codes, and those need log-mel, pitch and labels. Pitch and labels come with the inner features; a small
convolutional reader learns the log-mel from the hours that were spoken in full. The teacher is deterministic, so there is little
to guess. Rows are 60 samples apart, so that frames may begin at any multiple of 60.

Codes say the log-mel too, but for what their levels leave (0.15 in the mean, without a bias). So the reader of a work folder that is gone comes
back from the archive: where a sentence's frames begin is found by its labels, to 60 samples.
"""
import argparse
import glob
import json
import os
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

import paths
import phonemes
from features import FLOOR, HOP, MELS, labels, log_mel
from synth import FRAME, LEAD, SHARD, SYMBOLS, TAIL, claim
from teacher import DURATION_HOP, DURATIONS, PITCH, VOCAB
from teacher_torch import FEATURES

STEP = 300                    # samples of one inner feature
GRID = 60                     # samples of one row; STEP / GRID rows a feature
PHASES = STEP // GRID
SEED = 21
REDONE = 8000                 # the first shard of sentences that are made once more
CROP = 64                     # features of a training crop
BATCH = 12
AROUND = 12                   # rows in which the windows of what is kept reach over its ends
LOUD_FLOOR, LOUD_SHARE = 0.015, 0.02   # of loud(); with EARLY and LATE the starts and ends of speech agree in the median
EARLY, LATE = 120, 0                   # samples by which the window of a row makes it heard before speech begins and after it ends


class Front:
    """The teacher up to its inner features: features [T, 512], durations, pitch [T]."""

    def __init__(self):
        import onnx
        import onnxruntime

        path = paths.file("teacher", "sketch.onnx")
        if not os.path.exists(path):
            part = onnx.utils.Extractor(onnx.load(paths.file("teacher", "kokoro.onnx"))).extract_model(["tokens", "style", "speed"], [FEATURES, DURATIONS, PITCH])
            onnx.save(part, f"{path}.{os.getpid()}")
            os.replace(f"{path}.{os.getpid()}", path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS", 1))
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.styles = np.load(paths.file("teacher", "voices.npz"))

    def __call__(self, said, voice):
        ids = [VOCAB[p] for p in said]
        features, durations, pitch = self.session.run([FEATURES, DURATIONS, PITCH], {
            "tokens": np.array([[0, *ids, 0]], np.int64), "style": self.styles[voice][len(ids) - 1][None], "speed": np.ones(1, np.float32)})
        return features[0].T, durations.reshape(-1).astype(np.int64), pitch.reshape(-1)


class Reader(nn.Module):
    """[B, T, 514] (features, log pitch, voiced) -> [B, T * PHASES, MELS]: log-mel of rows centred on multiples of GRID."""

    def __init__(self, width=320):
        super().__init__()
        self.norm = nn.LayerNorm(514)
        self.first = nn.Conv1d(514, width, 5, padding=2)
        self.blocks = nn.ModuleList([nn.Sequential(nn.GELU(), nn.Conv1d(width, width, 5, padding=2), nn.GELU(), nn.Conv1d(width, width, 1)) for _ in range(3)])
        self.last = nn.Linear(width, PHASES * MELS)

    def forward(self, x):
        x = self.first(self.norm(x).transpose(1, 2))
        for block in self.blocks:
            x = x + block(x)
        x = self.last(F.gelu(x).transpose(1, 2))
        return x.reshape(x.shape[0], -1, MELS) - 7.0


def inputs(features, pitch):
    hertz = torch.from_numpy(pitch.astype(np.float32))[:len(features)]
    return torch.cat([torch.from_numpy(features.astype(np.float32)), (hertz.clamp(min=40) / 150).log()[:, None], (hertz > 60).float()[:, None]], 1)


def rows_of(audio):
    """[B, n * GRID] -> [B, n, MELS], row k centred on sample k * GRID + GRID / 2."""
    return log_mel(audio, hop=GRID).transpose(1, 2)


def loud(rows):
    """Indexes of the rows [n, MELS] that are heard: their magnitude over all bands is above a floor, and above a share of the loudest row's."""
    level = np.exp(rows).sum(1)
    return np.flatnonzero(level > max(LOUD_FLOOR, LOUD_SHARE * level.max())) if level.max() > 4 * LOUD_FLOOR else np.zeros(0, int)


def cached_front(name, front, lines):
    """Inner features of a spoken shard, one array an utterance."""
    path = os.path.join(paths.folder("sketch"), name)
    if not os.path.exists(path):
        shard = np.load(paths.file("speech", name))
        parts = [front(phonemes.of_text(lines[i]["text"])[0], lines[i]["voice"])[0] for i in shard["ids"]]
        with open(path + ".tmp", "wb") as f:
            np.savez(f, features=np.concatenate(parts).astype(np.float16), ends=np.cumsum([len(p) for p in parts]))
        os.replace(path + ".tmp", path)
    return np.load(path)


def fit(steps):
    torch.manual_seed(SEED)
    with open(paths.file("corpus", "corpus.jsonl"), encoding="utf-8") as f:
        lines = [json.loads(x) for x in f]
    front, data = Front(), []
    for path in sorted(glob.glob(paths.file("speech", "[0-9]*.npz"))):
        shard, cache = dict(np.load(path)), cached_front(os.path.basename(path), front, lines)
        features, begin, a0, f0, p0 = cache["features"], 0, 0, 0, 0
        for a1, f1, p1, shift in zip(shard["ends"], cache["ends"], shard["phone_ends"], shard["shift"]):
            pitch = shard["pitch"][2 * shard["durations"][:p0].sum():2 * shard["durations"][:p1].sum()]
            if len(pitch) == f1 - f0 and f1 - f0 > CROP // 2:
                data.append((inputs(features[f0:f1], pitch), shard["audio"][a0:a1], int(shift)))
            a0, f0, p0 = a1, f1, p1
    held, data = data[::25], [d for k, d in enumerate(data) if k % 25]
    print(f"sketch: {len(data)} utterances, {sum(len(d[1]) for d in data) / 24000 / 60:.1f} minutes", flush=True)
    reader = Reader()
    opt = torch.optim.AdamW(reader.parameters(), 1e-3, weight_decay=1e-2)
    path = os.path.join(paths.folder("sketch"), "reader.pt")
    sizes = np.array([len(d[0]) for d in data], float)

    def crop(item, begin, count):
        """Inputs of `count` features from `begin` and the true rows; rows outside the stored sound are marked."""
        x, audio, shift = item
        # Row q is centred on the teacher's sample q * GRID; its first sample is GRID / 2 before.
        first = begin * STEP - GRID // 2 - shift
        need = np.arange(first - 512, first + count * STEP + 512)
        piece = np.where((need >= 0) & (need < len(audio)), audio[np.clip(need, 0, len(audio) - 1)], 0).astype(np.float32) / 32768
        sure = np.arange(count * PHASES) * GRID + first
        pad = np.zeros((max(0, begin + count - len(x)), 514), np.float32)
        return torch.cat([x[begin:begin + count], torch.from_numpy(pad)]), piece, torch.from_numpy((sure > 600) & (sure < len(audio) - 1100))

    def true_rows(pieces):
        long = torch.from_numpy(np.stack(pieces))
        # 512 extra samples on both sides keep windows away from the padding; 480 = 8 rows are dropped, 32 samples are cut before.
        return rows_of(long[:, 32:-32])[:, 8:-8]

    def error(item):
        n = len(item[0])
        x, piece, sure = crop(item, 0, n)
        with torch.inference_mode():
            gap = (reader(x[None])[0] - true_rows([piece])[0]).abs()[sure]
        return float(gap.mean())

    began = time.time()
    for step in range(steps):
        rng = np.random.default_rng((SEED, step))
        xs, pieces, sures = [], [], []
        for k in rng.choice(len(data), BATCH, p=sizes / sizes.sum()):
            x, piece, sure = crop(data[k], int(rng.integers(0, max(1, len(data[k][0]) - CROP))), CROP)
            xs.append(x)
            pieces.append(piece)
            sures.append(sure)
        for g in opt.param_groups:
            g["lr"] = 1e-3 * min(1, (step + 1) / 50) * max(0.03, 1 - step / steps)
        y = reader(torch.stack(xs))
        sure = torch.stack(sures)
        loss = (y - true_rows(pieces)).abs()[sure].mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        opt.step()
        if (step + 1) % 100 == 0 or step + 1 == steps:
            print(f"step {step + 1} {time.time() - began:.0f} s training {float(loss.detach()):.3f} held-out log-mel {np.mean([error(h) for h in held]):.3f}", flush=True)
            torch.save(reader.state_dict(), path + ".tmp")
            os.replace(path + ".tmp", path)


def edges(heard):
    """(start, stop) in the teacher's samples of an utterance whose rows `heard` are loud."""
    return (heard[0] * GRID + EARLY - LEAD) // GRID * GRID, heard[-1] * GRID - LATE + TAIL


def begins(steps, phones, label):
    """The teacher's sample at which an utterance with labels [4 T] begins: the middle of all multiples of GRID that give these labels, None without one."""
    names, index = list(VOCAB), {c: i for i, c in enumerate(phonemes.LABELS)}
    which = np.repeat(np.arange(len(steps)), steps)
    marks = np.array([p >= 0 and names[p] in "ˈˌ" for p in phones])
    of = np.array([index.get(names[p], 0) if p >= 0 else 0 for p in phones])
    of = np.where(marks, np.r_[of[1:], 0], of)[which]                          # stress marks belong to the sound that follows
    starts = np.arange(-60, 250) * GRID
    centre = starts[:, None] + HOP // 2 + np.arange(len(label)) * HOP
    at = centre // DURATION_HOP
    told = np.where((centre >= 0) & (at < len(of)), of[np.clip(at, 0, len(of) - 1)], 0)
    wrong = (told != label).sum(1)
    best = np.flatnonzero(wrong == wrong.min())
    return None if wrong.min() > 1 or len(best) > 8 else int(starts[best[len(best) // 2]])


def fit_codes(steps, sentences):
    import codebook

    torch.manual_seed(SEED)
    with open(paths.file("corpus", "corpus.jsonl"), encoding="utf-8") as f:
        lines = [json.loads(x) for x in f]
    front, books, data, missed, seconds = Front(), codebook.read(), [], 0, 0.0
    files = sorted(glob.glob(paths.file("codes", "[0-9]*.npz")))
    for path in files[::max(1, len(files) * SHARD // sentences)]:
        shard, begin = np.load(path), 0
        for end, i in zip(shard["ends"], shard["ids"]):
            said, _ = phonemes.of_text(lines[i]["text"], stressed=False)      # as it was when these codes were made
            inner, durations, pitch = front(said, lines[i]["voice"])
            start = begins(durations, [-1, *(SYMBOLS[c] for c in said), -1], shard["label"][begin:end].reshape(-1))
            mel = codebook.decode_mel(torch.from_numpy(shard["codes"][begin:end].astype(np.int64)), books).numpy()
            begin = end
            row = (0 if start is None else start + HOP // 2 + np.arange(len(mel)) * HOP) // GRID
            if start is None or not ((row >= 0) & (row < len(inner) * PHASES))[:-12].all():
                missed += 1
                continue
            inside = (row >= 0) & (row < len(inner) * PHASES)
            # What was cut off was silence; without it the reader makes something up there, and no end is found.
            around = np.arange(row[0] % 8, len(inner) * PHASES, 8)
            around = around[(around < row[0] - AROUND) | (around > row[-1] + AROUND)]
            quiet = np.full((len(around), MELS), np.log(FLOOR), np.float32)
            data.append((inputs(inner, pitch), np.r_[row[inside], around], np.concatenate([mel[inside].astype(np.float32), quiet]), start, len(mel)))
            seconds += len(mel) * HOP / 24000
    held, data = data[::25], [d for k, d in enumerate(data) if k % 25]
    print(f"sketch: {len(data)} utterances, {seconds / 60:.1f} minutes, {missed} whose beginning was not found", flush=True)
    reader, sizes = Reader(), np.array([len(d[0]) for d in data], float)
    opt = torch.optim.AdamW(reader.parameters(), 1e-3, weight_decay=1e-2)
    path, began = os.path.join(paths.folder("sketch"), "reader.pt"), time.time()
    if os.path.exists(path):
        reader.load_state_dict(torch.load(path, weights_only=True))
    for step in range(steps):
        rng = np.random.default_rng((SEED, step))
        xs, rows, mels = [], [], []
        for b, k in enumerate(rng.choice(len(data), BATCH, p=sizes / sizes.sum())):
            x, row, mel, _, _ = data[k]
            first = int(rng.integers(0, max(1, len(x) - CROP)))
            piece = x[first:first + CROP]
            xs.append(torch.cat([piece, torch.zeros(CROP - len(piece), 514)]))
            # The crop's edges lack what the convolutions would see beyond them.
            near = (row >= (first + (12 if first else 0)) * PHASES) & (row < (first + len(piece) - (12 if first + CROP < len(x) else 0)) * PHASES)
            rows.append(row[near] - first * PHASES + b * CROP * PHASES)
            mels.append(mel[near])
        for g in opt.param_groups:
            g["lr"] = 1e-3 * min(1, (step + 1) / 50) * max(0.03, 1 - step / steps)
        y = reader(torch.stack(xs)).reshape(-1, MELS)
        loss = (y[torch.from_numpy(np.concatenate(rows))] - torch.from_numpy(np.concatenate(mels))).abs().mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        opt.step()
        if (step + 1) % 100 == 0 or step + 1 == steps:
            with torch.inference_mode():
                told = [reader(h[0][None])[0].numpy() for h in held]
            gap = np.mean([np.abs(t[h[1]] - h[2]).mean() for t, h in zip(told, held)])
            ends = [(edges(loud(t)), h) for t, h in zip(told, held) if len(loud(t))] or [((0, 0), held[0])]
            print(f"step {step + 1} {time.time() - began:.0f} s training {float(loss.detach()):.3f} held-out log-mel {gap:.3f}; start off by {np.percentile([e[0] - h[3] for e, h in ends], [10, 50, 90])} samples, "
                  f"frames by {np.percentile([-(-(e[1] - e[0]) // FRAME) - h[4] / 4 for e, h in ends], [10, 50, 90])}", flush=True)
            torch.save(reader.state_dict(), path + ".tmp")
            os.replace(path + ".tmp", path)


def unstressed(lines):
    """Lines whose codes were made before phonemes.STRESSED had stress."""
    known = set()
    for path in glob.glob(paths.file("codes", "[0-7]*.npz")):
        known.update(np.load(path)["ids"].tolist())
    return [x for x in lines if x["id"] in known and phonemes.of_text(x["text"])[0] != phonemes.of_text(x["text"], stressed=False)[0]]


@torch.inference_mode()
def run(rank, world, limit, redo=False):
    with open(paths.file("corpus", "corpus.jsonl"), encoding="utf-8") as f:
        lines = [json.loads(x) for x in f]
    if redo:
        lines = unstressed(lines)
    front, reader = Front(), Reader().eval()
    reader.load_state_dict(torch.load(paths.file("sketch", "reader.pt"), weights_only=True))
    folder = paths.folder("features")
    for shard in range(rank, min(limit, (len(lines) + SHARD - 1) // SHARD), world):
        name = f"{shard + REDONE * redo:04d}.npz"
        path = os.path.join(folder, name)
        if os.path.exists(path) or os.path.exists(paths.file("speech", name)) or not redo and os.path.exists(paths.file("codes", name)) or not claim(path):
            continue
        began, spent = time.time(), time.process_time()
        mels, ends, phones, owners, steps, phone_ends, pitches, shifts, ids = ([] for _ in range(9))
        for line in lines[shard * SHARD:(shard + 1) * SHARD]:
            said, own = phonemes.of_text(line["text"])
            inner, durations, pitch = front(said, line["voice"])
            rows = reader(inputs(inner, pitch)[None])[0].numpy()
            heard = loud(rows)
            if not len(heard):
                print(f"sketch: sentence {line['id']} gave no sound; left out", flush=True)
                continue
            start, stop = edges(heard)
            frames = -(-(stop - start) // FRAME)
            centre = (start + HOP // 2 + np.arange(frames * 4) * HOP) // GRID
            inside = (centre >= 0) & (centre < len(rows)) & (centre * GRID < stop)
            mel = np.where(inside[:, None], rows[np.clip(centre, 0, len(rows) - 1)], np.log(FLOOR))
            mels.append(np.maximum(mel, np.log(FLOOR)).astype(np.float16))
            ends.append(frames * FRAME + (ends[-1] if ends else 0))
            phones.append([-1, *(SYMBOLS[c] for c in said), -1])
            owners.append([-1, *own, -1])
            steps.append(durations)
            phone_ends.append(len(durations) + (phone_ends[-1] if phone_ends else 0))
            pitches.append(pitch)
            shifts.append(start)
            ids.append(line["id"])
        told = labels(dict(ends=np.array(ends), phone_ends=np.array(phone_ends), shift=np.array(shifts), phones=np.concatenate(phones), owners=np.concatenate(owners),
                           durations=np.concatenate(steps), pitch=np.concatenate(pitches)))
        with open(path + ".tmp", "wb") as f:
            np.savez(f, mel=np.concatenate(mels), pitch=np.concatenate([r[0] for r in told]), label=np.concatenate([r[1] for r in told]), owner=np.concatenate([r[2] for r in told]),
                     ends=np.array(ends) // FRAME, ids=np.array(ids))
        os.replace(path + ".tmp", path)
        os.remove(path + ".lock")
        seconds = ends[-1] / 24000
        print(f"shard {shard} {seconds:.1f} s, {seconds / (time.process_time() - spent):.1f}x CPU, {seconds / (time.time() - began):.1f}x wall", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("fit", "fit-codes", "run", "redo"))
    parser.add_argument("numbers", nargs="+", type=int)
    parser.add_argument("--limit", type=int, default=10 ** 9)
    parser.add_argument("--sentences", type=int, default=2000)
    args = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 1)))
    if args.what == "fit":
        fit(args.numbers[0])
    elif args.what == "fit-codes":
        fit_codes(args.numbers[0], args.sentences)
    else:
        run(args.numbers[0], args.numbers[1], args.limit, args.what == "redo")
