"""Spoken words -> the teacher's phonemes, each with the index of the white-space token of the text it belongs to.

espeak-ng (American English, tied IPA) says how a clause sounds; its symbols are mapped to Kokoro's: affricates and diphthongs are
single letters, no ties, no length marks. espeak joins and splits words as it likes ("of the" -> "ʌvðə"), so ownership is found by
aligning the clause with its words spoken one by one (edit distance over the symbols).
"""
import ctypes
import ctypes.util
import re

import spoken

PUNCTUATION = ';:,.!?—…"“”()'
# Longest first. "^" is espeak's tie.
MAPPING = sorted({
    "a^ɪ": "I", "a^ʊ": "W", "d^ʒ": "ʤ", "e^ɪ": "A", "t^ʃ": "ʧ", "ɔ^ɪ": "Y", "o^ʊ": "O", "ə^l": "ᵊl", "ʔˌn̩": "tᵊn", "ʔn̩": "tᵊn",
    "n̩": "ᵊn", "l̩": "ᵊl", "m̩": "ᵊm", "ʲo": "jo", "ʲə": "jə", "ʲ": "", "ɜːɹ": "ɜɹ", "ɜː": "ɜɹ", "ɚ": "əɹ", "ɪ^ə": "iə", "ɪə": "iə", "ɐ": "ə", "r": "ɹ", "x": "k",
    "ç": "k", "ɬ": "l", "ɾ": "T", "ʔ": "t", "e": "A", "o": "ɔ", "̃": "", "ː": "", "^": "", "-": "", "_": "", "g": "ɡ", "n^j": "nj",
}.items(), key=lambda kv: -len(kv[0]))
_RULE = re.compile("|".join(re.escape(k) for k, _ in MAPPING))
_TO = dict(MAPPING)
KEPT = set("AIOWYabdfhijklmnpstuvwzæðŋɑɔəɛɜɡɪɹʃʊʌʒʤʧˈˌθᵊᵻT ")
# The labels of the phonetic codebook: symbols that carry sound. Stress marks, spaces and punctuation have none.
LABELS = ["pause"] + sorted("AIOWYbdfhijklmnpstuvwzæðŋɑɔəɛɜɡɪɹʃʊʌʒʤʧθᵊᵻTa")

_lib = None


def _espeak(text):
    """Tied IPA of a clause."""
    global _lib
    if _lib is None:
        _lib = ctypes.CDLL(ctypes.util.find_library("espeak-ng") or "libespeak-ng.so.1")
        _lib.espeak_TextToPhonemes.restype = ctypes.c_char_p
        _lib.espeak_TextToPhonemes.argtypes = [ctypes.POINTER(ctypes.c_char_p), ctypes.c_int, ctypes.c_int]
        _lib.espeak_Initialize(2, 0, None, 0)                       # synchronous, no audio
        if _lib.espeak_SetVoiceByName(b"en-us") != 0:
            raise RuntimeError("phonemes: espeak-ng has no voice en-us")
    pointer = ctypes.c_char_p(text.encode())
    out = []
    while pointer.value:
        out.append(_lib.espeak_TextToPhonemes(ctypes.byref(pointer), 1, (ord("^") << 8) | 0x82).decode())
    return " ".join(out)


def clause(text):
    """Kokoro symbols of one stretch of words without punctuation."""
    ipa = re.sub(r"\([a-z-]+\)", "", _espeak(text))                 # language switches such as "(fr)"
    mapped = _RULE.sub(lambda m: _TO[m[0]], ipa)
    return re.sub(r" +", " ", "".join(c for c in mapped if c in KEPT)).replace("ɹɹ", "ɹ").strip()


_alone = {}


def _word_alone(word):
    if word not in _alone:
        _alone[word] = clause(word).replace(" ", "")
    return _alone[word]


def _owners(phones, words):
    """The word index of each symbol of phones (None for spaces): cheapest alignment with the words said one by one."""
    letters = [(k, c) for k, w in enumerate(words) for c in _word_alone(w)]
    spots = [i for i, c in enumerate(phones) if c != " "]
    n, m = len(spots), len(letters)
    vowels = set("AIOWYaiuæɑɔəɛɜɪʊʌᵊᵻ")

    def price(a, b):
        return 0 if a == b else 1 if (a in vowels) == (b in vowels) else 1.7

    cost = [[0.0] * (m + 1) for _ in range(n + 1)]
    for i in range(n + 1):
        for j in range(m + 1):
            if i == 0 or j == 0:
                cost[i][j] = float(i + j)
                continue
            cost[i][j] = min(cost[i - 1][j - 1] + price(phones[spots[i - 1]], letters[j - 1][1]), cost[i - 1][j] + 1, cost[i][j - 1] + 1)
    own = [None] * len(phones)
    i, j = n, m
    while i:
        if j and cost[i][j] == cost[i - 1][j - 1] + price(phones[spots[i - 1]], letters[j - 1][1]):
            own[spots[i - 1]] = letters[j - 1][0]
            i, j = i - 1, j - 1
        elif cost[i][j] == cost[i - 1][j] + 1:
            own[spots[i - 1]] = letters[max(j - 1, 0)][0] if letters else 0
            i -= 1
        else:
            j -= 1
    # Ownership never goes backwards; stray symbols join the word before.
    last = 0
    for s in spots:
        last = own[s] = max(last, own[s])
    return own


# Words that espeak leaves without stress; the teacher learned them with one, and swallows them without, at the beginning of a sentence wholly.
STRESSED = {"i", "i'm", "i'll", "i've", "i'd"}


def of_text(text, stressed=True):
    """Text as written -> (phonemes, owner per phoneme): owner is the white-space token's index, -1 for spaces and punctuation. Without stressed the
    words of STRESSED are as espeak has them, which is how corpus.py counts."""
    pieces = []                                    # (token index, words or punctuation)
    for index, (_, said) in enumerate(spoken.tokens(text)):
        said = said.replace("...", "…").replace("«", '"').replace("»", '"')
        said = re.sub(r"--+", "—", said)
        for part in re.findall(r"[;:,.!?—…\"“”()]|[^;:,.!?—…\"“”()\s]+", said):
            pieces.append((index, part))
    phones, owners = "", []

    def flush(run):
        nonlocal phones
        if not run:
            return
        words = [w for _, w in run]
        said = clause(" ".join(words))
        own = _owners(said, words)
        if phones and phones[-1] not in ' ("“' and said:
            phones += " "
            owners.append(-1)
        for i, (c, o) in enumerate(zip(said, own)):
            if i and o is not None and own[i - 1] is not None and o != own[i - 1]:
                phones += " "                       # espeak had joined two words
                owners.append(-1)
            if stressed and c == "I" and o is not None and words[o].lower() in STRESSED and (not i or said[i - 1] not in "ˈˌ") and o not in own[:i]:
                phones += "ˌ"
                owners.append(run[o][0])
            phones += c
            owners.append(-1 if o is None else run[o][0])

    run = []
    opened = False
    for index, part in pieces:
        if part not in PUNCTUATION:
            run.append((index, part))
            continue
        flush(run)
        run = []
        if part == '"':
            part = "”" if opened else "“"
            opened = not opened
        if part in "“(" and phones and phones[-1] != " ":
            phones += " "
            owners.append(-1)
        if part in ",.!?;:" and (not phones or phones[-1] in ",.!?;: "):
            continue                                # a mark without words before it
        phones += part
        owners.append(-1)
    flush(run)
    return phones, owners


def count_unknown(text):
    """Characters of the spoken text that neither espeak nor the teacher can say."""
    return len(re.findall(r"[^\sA-Za-z'\-;:,.!?—…\"“”()éèêëáàâäíïóôöúüñçÉ]", " ".join(s for _, s in spoken.tokens(text))))


if __name__ == "__main__":
    import sys

    for line in sys.stdin:
        said, own = of_text(line.strip())
        print(said)
        names = line.split()
        print("   ", " ".join(f"{names[k]}={''.join(p for p, o in zip(said, own) if o == k)}" for k in range(len(names))))
