"""Stage 2: the corpus text. Mixes the free text collections of SOURCES.md with sentences of our own into one fixed order.

    python corpus.py             # writes WORK/corpus/corpus.jsonl and WORK/corpus/random500.txt
    python corpus.py --more N    # puts N further lines behind those that are there, of what they left

A line is {"id", "kind", "voice", "text"}. Any prefix of the file has the same mixture of kinds and both voices, so that synthesis may stop
anywhere. Sentences that share their words with a held-out one are left out.
"""
import argparse
import collections
import glob
import json
import os
import random
import re

import paths
import phonemes
import spoken
import templates
from teacher import MAX_PHONEMES

SEED = 20261
VOICES = ("af_heart", "am_michael")
COUNT = 16000                       # sentences in the file, about 13 hours
# Utterances of each kind in a hundred.
MIXTURE = {"everyday": 33, "examples": 13, "chat": 8, "facts": 8, "numbers": 11, "written_numbers": 3, "abbreviations": 3, "names": 3, "lists": 3, "replies": 5,
           "templates": 3, "long": 7}
UNWANTED = re.compile(r"(?i)\b(sex\w*|rape\w*|nigg\w*|bikini|porn\w*|whore\w*|slut\w*|nazi\w*|hitler|suicid\w*|fuck\w*|shit\w*|bitch\w*|cunt\w*|dick|penis\w*|vagina\w*|breasts?|naked|nude|negro\w*|savages?|jew\w*|heathen\w*|darkies|genital\w*|"
                      r"orgasm\w*|testic\w*|semen|sperm|prostitut\w*|masturbat\w*|erotic\w*|virgin|intercourse|faggot\w*|faeces|feces|urin\w+|kill himself|kill herself)\b")
ALLOWED = re.compile(r"[A-Za-z0-9 ,.?!;:'\"()$£€%&@#/+\-—…°]+")


def clean(text):
    """One tidy line, or None when the sentence is not for us."""
    text = text.replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"').replace("\u2060", "").replace("_", "").replace("–", "—").replace("`", "'")
    text = re.sub(r"\s*--+\s*", " — ", text)
    text = re.sub(r"\s+", " ", text).strip()
    if text.count('"') % 2 or (text.startswith('"') and text.endswith('"') and text.count('"') == 2):
        text = text.replace('"', "").strip()
    text = re.sub(r"(?<![A-Za-z])'(?![a-z0-9])|(?<![A-Za-z])'(?=[A-Z])", "", text)
    if not text or not ALLOWED.fullmatch(text) or UNWANTED.search(text) or not re.search(r"[A-Za-z0-9]", text):
        return None
    text = text[0].upper() + text[1:]
    if text[-1] in ",;:—-":
        text = text[:-1].rstrip()
    if text[-1] not in ".?!\"')…":
        text += "."
    return text


def sentences(paragraph):
    """Splits prose at sentence ends, but not after Mr. and the like."""
    parts = re.split(r"(?<=[.?!])[\"']?\s+(?=[\"']?[A-Z0-9])", paragraph)
    out = []
    for part in parts:
        if out and re.search(r"\b(Mr|Mrs|Ms|Dr|St|Prof|Jr|No|vs|[A-Z])\.$", out[-1]):
            out[-1] += " " + part
        else:
            out.append(part)
    return out


def common_voice():
    for path in sorted(glob.glob(paths.file("sources", "common-voice-en", "*.txt"))):
        if os.path.basename(path) in ("DictionaryofForeignPhrases.txt", "activate.txt", "fxvoice-cues.txt"):
            continue
        with open(path, encoding="utf-8") as f:
            yield from (line.strip() for line in f)


def wordnet():
    for part in ("noun", "verb", "adj", "adv"):
        path = paths.file("sources", "wordnet", f"data.{part}")
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as f:
            for line in f:
                for text in re.findall(r'"([^"]+)"', line.split("|", 1)[-1]):
                    if len(text.split()) >= 4 and ";" not in text:
                        yield text


def chat():
    import yaml

    for path in sorted(glob.glob(paths.file("sources", "pip", "chatterbot_corpus", "data", "english", "*.yml"))):
        with open(path, encoding="utf-8") as f:
            for turns in yaml.safe_load(f)["conversations"]:
                for turn in turns:
                    yield from sentences(str(turn))
    for path in sorted(glob.glob(paths.file("sources", "nlu", "*.json"))):
        with open(path, encoding="utf-8", errors="replace") as f:
            for items in json.load(f).values():
                for item in items:
                    text = "".join(part["text"] for part in item["data"]).strip()
                    yield text + ("?" if re.match(r"(?i)(what|who|when|where|how|is|are|will|can|does|do|which)\b", text) and text[-1:] not in ".?!" else "")


def facts():
    path = paths.file("sources", "pip", "randfacts", "safe.txt")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            for line in f:
                yield from sentences(line.strip())


def prose():
    """Long sentences, and neighbours joined into small paragraphs, from the books."""
    for path in sorted(glob.glob(paths.file("sources", "books", "*.txt"))):
        with open(path, encoding="utf-8", errors="ignore") as f:
            body = f.read().replace("\r", "")
        body = re.sub(r"(?s)^.*?\*\*\* ?START OF.*?\*\*\*", "", body)
        body = re.sub(r"(?s)\*\*\* ?END OF.*$", "", body)
        for paragraph in re.split(r"\n\s*\n", body):
            if re.search(r"[A-Z]{6}", paragraph):
                continue
            run = []
            for s in sentences(re.sub(r"\s+", " ", paragraph).strip()):
                n = len(s.split())
                if 20 <= n <= 42:
                    yield s
                    run = []
                    continue
                run.append(s)
                if 18 <= sum(len(x.split()) for x in run):
                    if sum(len(x.split()) for x in run) <= 42:
                        yield " ".join(run)
                    run = []


def key(text):
    return " ".join(spoken.words(text))


def coverage_order(pool, rng):
    """Alternates a greedy order (sentences with words not seen yet come first) with a random order."""
    rng.shuffle(pool)
    frequency = collections.Counter(w for s in pool for w in set(spoken.words(s)))
    seen, taken, greedy = collections.Counter(), set(), []
    for times in (1, 2, 4, 8):
        for i, s in enumerate(pool):
            if i in taken:
                continue
            ws = [w for w in spoken.words(s) if frequency[w] >= 3]
            if sum(seen[w] < times for w in ws) >= max(1, len(ws) / 8):
                taken.add(i)
                greedy.append(i)
                seen.update(ws)
    order, used, rest = [], set(), iter(range(len(pool)))
    for i in greedy:
        for j in (i, next(rest, None)):
            if j is not None and j not in used:
                used.add(j)
                order.append(pool[j])
    order += [s for j, s in enumerate(pool) if j not in used]
    return order


def read(*name):
    with open(paths.file("corpus", *name), encoding="utf-8") as f:
        return [line.strip() for line in f]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--more", type=int, metavar="N")
    more = parser.parse_args().more
    old = [json.loads(line) for line in read("corpus.jsonl")] if more else []
    count = more or COUNT
    rng = random.Random(SEED + len(old))
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "heldout")
    held = set()
    for path in glob.glob(os.path.join(folder, "*.txt")):
        with open(path, encoding="utf-8") as f:
            held.update(key(line) for line in f)
    if more:
        held.update(key(line) for line in read("random500.txt"))
    seen = held | {key(line["text"]) for line in old}

    def fresh(source, low, high):
        out, raw = [], 0
        for text in source:
            raw += 1
            text = clean(text)
            if text is None or not low <= len(text.split()) <= high:
                continue
            k = key(text)
            if not k or k in seen:
                continue
            seen.add(k)
            out.append(text)
        return out, raw

    pools = {}
    for kind, source, low, high in (("everyday", common_voice(), 2, 24), ("examples", wordnet(), 4, 24), ("chat", chat(), 2, 24), ("facts", facts(), 4, 30), ("long", prose(), 18, 42)):
        pools[kind], raw = fresh(source, low, high)
        print(f"corpus: {kind}: {len(pools[kind])} sentences of {raw}")
        if not pools[kind]:
            print(f"corpus: {kind}: source missing, the other kinds take its share")
            del pools[kind]
    # 500 random sentences for the runaway test come out of the everyday pool before anything is chosen.
    rng.shuffle(pools["everyday"])
    if not more:
        test = [s for s in pools["everyday"][:700] if len(s.split()) <= 30][:500]
        pools["everyday"] = pools["everyday"][700:]
    for kind in ("everyday", "examples", "chat", "facts", "long"):
        if kind in pools:
            pools[kind] = coverage_order(pools[kind], rng)
    for kind, make in templates.KINDS.items():
        want, out = count * MIXTURE[kind] // 100 + 50, []
        for _ in range(want * 20):
            text = make(rng)
            # Replies may repeat (there are few words), everything else may not.
            k = text if kind == "replies" else key(text)
            if (k in seen and rng.random() > (0.02 if kind == "replies" else 0)) or key(text) in held or len(text.split()) > 24:
                continue
            seen.add(k)
            out.append(text)
            if len(out) >= want:
                break
        pools[kind] = out
    os.makedirs(paths.folder("corpus"), exist_ok=True)
    credit, taken, lines, dropped, turn = collections.Counter(), collections.Counter(), [], 0, collections.Counter()
    while len(lines) < count:
        live = [k for k in pools if taken[k] < len(pools[k])]
        if not live:
            break
        for k in live:
            credit[k] += MIXTURE[k]
        kind = max(live, key=lambda k: credit[k])
        credit[kind] -= sum(MIXTURE[k] for k in live)
        text = pools[kind][taken[kind]]
        taken[kind] += 1
        said, _ = phonemes.of_text(text, stressed=False)
        if not 2 <= len(said) <= min(MAX_PHONEMES, 340) or phonemes.count_unknown(text):
            dropped += 1
            continue
        voice = VOICES[turn[kind] % len(VOICES)]
        turn[kind] += 1
        lines.append({"id": len(old) + len(lines), "kind": kind, "voice": voice, "text": text, "phones": len(said)})
    path = paths.file("corpus", "corpus.jsonl")
    with open(path + ".tmp", "w", encoding="utf-8") as f:
        for line in [*old, *lines]:
            f.write(json.dumps(line, ensure_ascii=False) + "\n")
    os.replace(path + ".tmp", path)
    if not more:
        with open(paths.file("corpus", "random500.txt"), "w", encoding="utf-8") as f:
            f.write("\n".join(test) + "\n")
    phones = sum(x["phones"] for x in lines)
    types = len({w for x in lines for w in spoken.words(x["text"])})
    print(f"corpus: {len(lines)} sentences, {dropped} dropped, {types} word types, {phones} phonemes, about {phones / 14.5 / 3600:.1f} hours;", dict(taken))


if __name__ == "__main__":
    main()
