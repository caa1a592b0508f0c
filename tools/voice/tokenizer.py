"""Stage 7a: a small byte-level BPE in the published tokenizer's form, trained on the corpus text.

    python tokenizer.py          # WORK/corpus -> WORK/tokenizer/{vocab.json,merges.txt,tokenizer_config.json}

About two letters a token: the text of the streaming layout (one token a frame) stays ahead of the speech, and words that the corpus never
had are spelled from pieces it did have. "assistant" must be one token, because the prompt is cut by position.
"""
import json
import os

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

import paths

ENTRIES = 512
PATTERN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tts_pad>", "<tts_text_bos>", "<tts_text_eod>"]


def _dress(tokenizer):
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(PATTERN), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def build():
    with open(paths.file("corpus", "corpus.jsonl"), encoding="utf-8") as f:
        texts = [json.loads(line)["text"] for line in f]
    tokenizer = _dress(Tokenizer(models.BPE()))
    # Lower-case copies: users type in lower case too.
    tokenizer.train_from_iterator(texts + [t.lower() for t in texts[::3]], trainers.BpeTrainer(
        vocab_size=ENTRIES, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), special_tokens=[], show_progress=False))
    model = json.loads(tokenizer.to_str())["model"]
    vocab, merges = model["vocab"], [tuple(m) if isinstance(m, list) else tuple(m.split(" ")) for m in model["merges"]]
    pieces = Tokenizer(models.BPE(vocab=vocab, merges=merges)).encode("assistant").tokens
    while len(pieces) > 1:
        merges.append((pieces[0], pieces[1]))
        vocab.setdefault(pieces[0] + pieces[1], len(vocab))
        pieces = [pieces[0] + pieces[1], *pieces[2:]]
    folder = paths.folder("tokenizer")
    with open(os.path.join(folder, "vocab.json"), "w", encoding="utf-8") as f:
        json.dump(vocab, f, ensure_ascii=False)
    with open(os.path.join(folder, "merges.txt"), "w", encoding="utf-8") as f:
        f.write("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges))
    added = {str(len(vocab) + i): dict(content=s, lstrip=False, normalized=False, rstrip=False, single_word=False, special=True) for i, s in enumerate(SPECIAL)}
    config = dict(add_bos_token=False, add_prefix_space=False, added_tokens_decoder=added, additional_special_tokens=SPECIAL[1:], bos_token=None,
                  clean_up_tokenization_spaces=False, eos_token="<|im_end|>", errors="replace", model_max_length=32768, pad_token="<|endoftext|>", split_special_tokens=False,
                  tokenizer_class="Qwen2Tokenizer", unk_token=None, processor_class="Qwen3TTSProcessor", text_normalization="english")
    with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as f:
        json.dump(config, f, indent=1)
    letters = sum(len(t) for t in texts[:2000])
    print(f"tokenizer: {len(vocab)} entries, {letters / sum(len(load()[0].encode(t).ids) for t in texts[:2000]):.2f} letters a token")


def load(dropout=None):
    """(tokenizer, ids of the special tokens). dropout leaves merges out at random (training only)."""
    with open(paths.file("tokenizer", "vocab.json"), encoding="utf-8") as f:
        vocab = json.load(f)
    with open(paths.file("tokenizer", "merges.txt"), encoding="utf-8") as f:
        merges = [tuple(line.split(" ")) for line in f.read().split("\n")[1:] if line]
    return _dress(Tokenizer(models.BPE(vocab=vocab, merges=merges, dropout=dropout))), {s: len(vocab) + i for i, s in enumerate(SPECIAL)}


if __name__ == "__main__":
    build()
