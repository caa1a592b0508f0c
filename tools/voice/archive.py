"""Stage 11: what training needs to go on elsewhere, in little space.

    python archive.py save [--weights EXPORT]     # WORK -> archive/ beside this file
    python archive.py load                        # archive/ -> WORK, for what is not there yet
    python archive.py check                       # whether corpus.jsonl is the text of the codes

archive/corpus.npz has the codes of the whole corpus with phone labels, owners and sentence ids (7 MB for 10 hours), archive/codebooks.npz what they
mean; `corpus.py` makes the text again, to the byte. With --weights, archive/weights/ has the exported checkpoint of that moment in compact form,
from which `load` makes talker.pt and decoder.pt: training goes on from there with fresh optimisers.
Speech and features are not kept: only the codec's training needs them, and `synth.py` makes them again.
"""
import argparse
import collections
import glob
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import paths

HERE = os.path.dirname(os.path.abspath(__file__))
ARCHIVE = os.path.join(HERE, "archive")
PARTS = ("codes", "label", "owner", "ends", "ids")


def save_corpus():
    names = sorted(glob.glob(paths.file("codes", "[0-9]*.npz")))
    shards = [dict(np.load(name)) for name in names]
    whole = {part: np.concatenate([s[part] for s in shards]) for part in PARTS}
    frames = len(whole["codes"])
    # One group after the other, as bytes: that is what compresses best.
    np.savez_compressed(os.path.join(ARCHIVE, "corpus.npz"), codes=np.ascontiguousarray(whole["codes"].T), label=whole["label"], owner=whole["owner"], ends=whole["ends"].astype(np.int32),
                        ids=whole["ids"].astype(np.int32), shards=np.array([int(os.path.basename(n)[:4]) for n in names], np.int16),
                        frames=np.array([len(s["codes"]) for s in shards], np.int32), sentences=np.array([len(s["ids"]) for s in shards], np.int16))
    shutil.copy(paths.file("codec", "codebooks.npz"), ARCHIVE)
    print(f"archive: {len(names)} shards, {len(whole['ids'])} sentences, {frames * 0.08 / 3600:.2f} hours")


def save_weights(export, steps):
    target = os.path.join(ARCHIVE, "weights")
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run([sys.executable, os.path.join(HERE, "compact.py"), export, target], check=True)
    with open(os.path.join(target, "steps.json"), "w", encoding="utf-8") as f:
        json.dump(steps, f)
        f.write("\n")


def steps_done():
    import torch

    read = lambda *p: int(torch.load(paths.file(*p), weights_only=False, map_location="cpu")["step"])
    return dict(talker=read("talker", "talker.pt"), codec=read("codec", "decoder.pt"))


def load_corpus():
    whole = dict(np.load(os.path.join(ARCHIVE, "corpus.npz")))
    codes, folder = whole["codes"].T, paths.folder("codes")
    row = sentence = made = 0
    for shard, frames, sentences in zip(whole["shards"], whole["frames"], whole["sentences"]):
        rows, lines = slice(row, row + frames), slice(sentence, sentence + sentences)
        row, sentence = row + frames, sentence + sentences
        path = os.path.join(folder, f"{shard:04d}.npz")
        if os.path.exists(path):
            continue
        with open(path + ".tmp", "wb") as f:
            np.savez(f, codes=np.ascontiguousarray(codes[rows]), label=whole["label"][rows], owner=whole["owner"][rows], ends=whole["ends"][lines].astype(np.int64), ids=whole["ids"][lines].astype(np.int64))
        os.replace(path + ".tmp", path)
        made += 1
    books = os.path.join(paths.folder("codec"), "codebooks.npz")
    if not os.path.exists(books):
        shutil.copy(os.path.join(ARCHIVE, "codebooks.npz"), books)
    print(f"archive: {made} shards made of {len(whole['shards'])}")


def check(every=20):
    """Compares the phones of the corpus text with the labels of the codes: sources that differ give another text, and a training on that learns nothing."""
    import phonemes

    sounds = set(phonemes.LABELS)
    with open(paths.file("corpus", "corpus.jsonl"), encoding="utf-8") as f:
        lines = [json.loads(x) for x in f]
    seen, wrong = collections.Counter(), collections.Counter()
    for path in sorted(glob.glob(paths.file("codes", "[0-9]*.npz"))):
        shard, begin = np.load(path), 0
        for end, i in zip(shard["ends"], shard["ids"]):
            told, begin = [phonemes.LABELS[x] for x in shard["label"][begin:end].reshape(-1)], end
            if i % every:
                continue
            heard = "".join(a for a, _ in itertools.groupby(x for x in told if x in sounds and x != "pause"))
            meant = "".join(a for a, _ in itertools.groupby(c for c in phonemes.of_text(lines[i]["text"])[0] if c in sounds))
            seen[lines[i]["kind"]] += 1
            wrong[lines[i]["kind"]] += not meant.startswith(heard[:-2])       # the last sound of some is too soft to have a frame
    bad = {kind: f"{n} of {seen[kind]}" for kind, n in wrong.items() if n > 0.02 * seen[kind] + 1}
    if bad:
        raise SystemExit(f"archive: corpus.jsonl is not the text of the codes: {bad}; SOURCES.md says which files it is made of")
    print(f"archive: {sum(seen.values())} sentences looked at, {sum(wrong.values())} unlike their text")


def load_weights():
    import torch
    from safetensors.torch import load_file

    import codec_model

    source = os.path.join(ARCHIVE, "weights")
    if not os.path.isdir(source):
        return
    with open(os.path.join(source, "steps.json"), encoding="utf-8") as f:
        steps = json.load(f)
    with tempfile.TemporaryDirectory() as plain:
        subprocess.run([sys.executable, os.path.join(HERE, "compact.py"), "--expand", source, plain], check=True, stdout=subprocess.DEVNULL)
        config = lambda *p: json.load(open(os.path.join(plain, *p), encoding="utf-8"))
        tensors = lambda prefix, *p: {k.removeprefix(prefix): v.float() for k, v in load_file(os.path.join(plain, *p)).items() if k.startswith(prefix)}
        for name in ("vocab.json", "merges.txt", "tokenizer_config.json"):
            target = os.path.join(paths.folder("tokenizer"), name)
            if not os.path.exists(target):
                shutil.copy(os.path.join(plain, name), target)
        talker, codec = os.path.join(paths.folder("talker"), "talker.pt"), os.path.join(paths.folder("codec"), "decoder.pt")
        if not os.path.exists(talker):
            weights = tensors("talker.", "model.safetensors")
            torch.save(dict(model=weights, average=weights, step=steps["talker"], config=config("config.json")["talker_config"]), talker)
            print(f"archive: talker of step {steps['talker']}")
        if not os.path.exists(codec):
            weights = tensors("decoder.", "speech_tokenizer", "model.safetensors")
            sizes = {k: v for k, v in config("speech_tokenizer", "config.json")["decoder_config"].items() if k in codec_model.CONFIG}
            torch.save(dict(decoder=weights, average=weights, step=steps["codec"], config=sizes), codec)
            print(f"archive: codec of step {steps['codec']}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("save", "load", "check"))
    parser.add_argument("--weights", metavar="EXPORT", help="the folder that export.py wrote")
    args = parser.parse_args()
    if args.what == "save":
        os.makedirs(ARCHIVE, exist_ok=True)
        save_corpus()
        if args.weights:
            save_weights(args.weights, steps_done())
    elif args.what == "check":
        check()
    else:
        load_corpus()
        load_weights()
