"""Checks of the text side, without models: python -m unittest test_text. Cases of phonemes need espeak-ng, those of the judge its packages; without these they are skipped."""
import ctypes.util
import unittest

import phonemes
import spoken

try:
    import judge
except ImportError:
    judge = None

SPOKEN = {
    "The meeting is on March 14 at 3:30 p.m.": "the meeting is on march fourteenth at three thirty p m",
    "It costs $19.99 plus tax.": "it costs nineteen dollars and ninety nine cents plus tax",
    "She was born on June 21, 1987.": "she was born on june twenty first nineteen eighty seven",
    "In the 1960s, 3/4 of it cost £1.": "in the nineteen sixties three quarters of it cost one pound",
    "About $3 million, or 2.5%.": "about three million dollars or two point five percent",
    "Mr. and Mrs. Brown live at 221 Baker St.": "mister and missis brown live at two hundred twenty one baker street",
    "Call 555-0182.": "call five five five zero one eight two",
    "The FBI met on Mon. and Wed.": "the f b i met on monday and wednesday",
    "It was -5°C at 18:42 in room 304.": "it was minus five degrees celsius at eighteen forty two in room three oh four",
    "No. It was no. 5, 1st of 1,234,567.": "no it was number five first of one million two hundred thirty four thousand five hundred sixty seven",
    "Due 2024-03-15, i.e., in 2 min.": "due march fifteenth twenty twenty four that is in two minutes",
}


class Text(unittest.TestCase):
    def test_words(self):
        for text, want in SPOKEN.items():
            self.assertEqual(" ".join(spoken.words(text)), want, text)

    def test_one_entry_per_token(self):
        for text in SPOKEN:
            self.assertEqual(len(spoken.tokens(text)), len(text.split()), text)

    @unittest.skipUnless(ctypes.util.find_library("espeak-ng"), "espeak-ng is not installed")
    def test_owners(self):
        for text in SPOKEN:
            said, own = phonemes.of_text(text)
            self.assertEqual(len(said), len(own), text)
            named = [o for o in own if o >= 0]
            self.assertEqual(named, sorted(named), text)
            self.assertLess(named[-1], len(text.split()), text)
            self.assertLessEqual(set(said), phonemes.KEPT | set(phonemes.PUNCTUATION), text)

    @unittest.skipUnless(judge, "the judge's packages are not installed")
    def test_errors(self):
        for want, heard, wrong in [
            ("I am sorry, but I don't understand.", "I'm sorry but I do not understand.", 0),
            ("The train leaves at seven thirty.", "The train leaves at 7.30.", 0),
            ("It is 7.30 percent.", "It is 7.30%.", 0),
            ("I can't find it.", "Can't find it.", 1),
            ("We won't go.", "We want to go.", 2),
        ]:
            self.assertEqual(judge.errors(want, heard)[0], wrong, (want, heard))


if __name__ == "__main__":
    unittest.main()
