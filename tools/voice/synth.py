"""Stage 3: the teacher speaks the corpus, shard by shard.

    python synth.py [RANK WORLD] [--threads N] [--engine torch|onnx] [--limit SHARDS]

Shard k holds sentences k*SHARD .. of corpus.jsonl and becomes WORK/speech/NNNN.npz:
    audio int16 [samples] of all utterances one after another, 24 kHz, `ends` their ends (multiples of FRAME samples),
    phones int16 [n] symbol ids, owners int16 [n] white-space token of each symbol or -1, durations int16 [n] in steps of 600 samples,
    `phone_ends` where each utterance ends in them, pitch float16 in Hz, two per duration step, `shift` the sample of the teacher's
    audio at which the stored utterance begins (below 0: silence was put before), ids.
Finished shards are skipped and a begun one goes on from NNNN.npz.part (written every KEEP utterances), so the stage may be stopped and
started at will. A shard is claimed by a lock file, so that several processes share the work; locks of dead processes are ignored.
"""
import argparse
import json
import os
import time

import numpy as np

import paths
import phonemes
from teacher import DURATION_HOP, SAMPLE_RATE, VOCAB, Teacher

SHARD = 40
KEEP = 5
FRAME = 1920
LEAD = int(0.06 * SAMPLE_RATE)       # silence kept before the first sound and after the last one
TAIL = int(0.14 * SAMPLE_RATE)
SYMBOLS = {c: i for i, c in enumerate(VOCAB)}


def place(audio, durations):
    """Cuts the silence at both ends to fixed lengths, fades the edges and pads to whole frames; returns (int16 audio, shift)."""
    level = np.abs(audio)
    loud = np.flatnonzero(level > max(0.012, 0.02 * level.max()))
    first, last = (loud[0], loud[-1]) if len(loud) else (0, len(audio) - 1)
    start, stop = first - LEAD, last + TAIL
    body = audio[max(0, start):min(len(audio), stop)]
    body = np.concatenate([np.zeros(max(0, -start), np.float32), body, np.zeros(max(0, stop - len(audio)), np.float32)])
    ramp = np.linspace(0, 1, 480, dtype=np.float32)
    body[:480] *= ramp
    body[-480:] *= ramp[::-1]
    body = np.concatenate([body, np.zeros(-len(body) % FRAME, np.float32)])
    return np.round(np.clip(body, -1, 1) * 32767).astype(np.int16), start


def claim(path):
    """Takes the shard unless another live process of these stages has it."""
    lock = path + ".lock"
    try:
        with open(lock) as f, open(f"/proc/{int(f.read() or 0)}/cmdline") as g:
            if "synth.py" in (command := g.read()) or "sketch.py" in command:
                return False
    except (FileNotFoundError, ProcessLookupError, ValueError):
        pass
    with open(lock, "w") as f:
        f.write(str(os.getpid()))
    return True


FIELDS = ("audio", "ends", "phones", "owners", "durations", "phone_ends", "pitch", "shift", "ids")
ENDS = ("ends", "phone_ends")
TYPES = dict(audio=np.int16, phones=np.int16, owners=np.int16, durations=np.int16, pitch=np.float16)


class Shard:
    """The growing arrays of one shard; written whole each time, so that a part file has the shard's own form."""

    def __init__(self, path):
        self.path, self.next = path, 0
        self.fields = {k: np.zeros(0, TYPES.get(k, np.int64)) for k in FIELDS}
        if os.path.exists(path + ".part"):
            part = np.load(path + ".part")
            self.fields, self.next = {k: part[k] for k in FIELDS}, int(part["next"])

    def add(self, **values):
        for k, v in values.items():
            if k in ENDS:
                v = [v + (self.fields[k][-1] if len(self.fields[k]) else 0)]
            self.fields[k] = np.concatenate([self.fields[k], np.asarray(v).astype(self.fields[k].dtype)])

    def write(self, done):
        with open(self.path + ".tmp", "wb") as f:
            np.savez(f, next=self.next, **self.fields)
        os.replace(self.path + ".tmp", self.path if done else self.path + ".part")
        if done:
            for end in (".part", ".lock"):
                if os.path.exists(self.path + end):
                    os.remove(self.path + end)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rank", nargs="?", type=int, default=0)
    parser.add_argument("world", nargs="?", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--engine", default="torch")
    parser.add_argument("--limit", type=int, default=10 ** 9)
    args = parser.parse_args()
    folder = paths.folder("speech")
    with open(paths.file("corpus", "corpus.jsonl"), encoding="utf-8") as f:
        lines = [json.loads(x) for x in f]
    if args.engine == "torch":
        import teacher_torch

        teacher = teacher_torch.Teacher(args.threads)
    else:
        teacher = Teacher(args.threads)
    for shard in range(args.rank, min(args.limit, (len(lines) + SHARD - 1) // SHARD), args.world):
        path = os.path.join(folder, f"{shard:04d}.npz")
        if os.path.exists(path) or not claim(path):
            continue
        began, spent = time.time(), time.process_time()
        work = Shard(path)
        for k, line in enumerate(lines[shard * SHARD:(shard + 1) * SHARD]):
            if k < work.next:
                continue
            said, own = phonemes.of_text(line["text"])
            wave, steps, pitch = teacher.speak(said, line["voice"])
            work.next = k + 1
            if len(wave) != steps.sum() * DURATION_HOP or not np.isfinite(wave).all() or np.abs(wave).max() < 0.02:
                print(f"synth: sentence {line['id']} gave no sound; left out", flush=True)
                continue
            pcm, shift = place(wave, steps)
            # Boundary tokens go in as symbol -1, so that durations add up from the very first sample.
            work.add(audio=pcm, ends=len(pcm), phones=[-1, *(SYMBOLS[c] for c in said), -1], owners=[-1, *own, -1], durations=steps, phone_ends=len(steps), pitch=pitch, shift=[shift], ids=[line["id"]])
            if work.next % KEEP == 0:
                work.write(False)
        work.write(True)
        ids, ends = work.fields["ids"], work.fields["ends"]
        seconds = ends[-1] / SAMPLE_RATE
        print(f"shard {shard} {len(ids)} utterances {seconds:.1f} s, {seconds / (time.process_time() - spent):.2f}x CPU, {seconds / (time.time() - began):.2f}x wall", flush=True)


if __name__ == "__main__":
    main()
