"""WordPiece: texts to numbers, as BERT's uncased models read them.

Written here, in about fifty lines, and not taken from the package ``tokenizers``: the page in the
browser needs the same in JavaScript anyway, and a test compares the two with each other and with
that package.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

PAD, UNKNOWN, BEGIN, END = "[PAD]", "[UNK]", "[CLS]", "[SEP]"
_LONGEST = 100


class WordPiece:
    """Splits texts into pieces of words that are in a vocabulary.

    Args:
        vocabulary: The pieces; one that goes on inside of a word begins with ``##``.

    Example:
        >>> from tfx.model_zoo.sentence_encoder.wordpiece import WordPiece
        >>> WordPiece("[PAD] [UNK] [CLS] [SEP] un ##do !".split()).encode("Undo!")
        [2, 4, 5, 6, 3]
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self.vocabulary = list(vocabulary)
        self._numbers = {piece: i for i, piece in enumerate(self.vocabulary)}
        missing = [p for p in (PAD, UNKNOWN, BEGIN, END) if p not in self._numbers]
        if missing:
            raise ValueError(f"the vocabulary lacks {', '.join(missing)}")

    @classmethod
    def read(cls, path: Path) -> WordPiece:
        """A vocabulary from a file with one piece a line."""
        return cls(path.read_text(encoding="utf-8").split("\n")[:-1])

    def encode(self, text: str, length: int = 512) -> list[int]:
        """Numbers of the pieces between ``[CLS]`` and ``[SEP]``, at most ``length`` in all."""
        pieces = [n for word in words(text) for n in self._pieces(word)]
        begin, end = self._numbers[BEGIN], self._numbers[END]
        return [begin, *pieces[: length - 2], end]

    def batch(self, texts: Iterable[str], length: int = 512) -> tuple[np.ndarray, np.ndarray]:
        """Several texts: ``tokens`` and ``mask``, ``[batch, time]``, filled up with ``[PAD]``."""
        rows = [self.encode(text, length) for text in texts]
        time = max(map(len, rows))
        tokens = np.full([len(rows), time], self._numbers[PAD], np.int64)
        mask = np.zeros([len(rows), time], np.int64)
        for i, row in enumerate(rows):
            tokens[i, : len(row)] = row
            mask[i, : len(row)] = 1
        return tokens, mask

    def _pieces(self, word: str) -> list[int]:
        """The longest piece at each place; one unknown where the word does not come out even."""
        found: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            ends = range(len(word), start, -1) if len(word) <= _LONGEST else ()
            end = next((e for e in ends if mark + word[start:e] in self._numbers), None)
            if end is None:
                return [self._numbers[UNKNOWN]]
            found.append(self._numbers[mark + word[start:end]])
            start = end
        return found


def words(text: str) -> list[str]:
    """Words in lower case without accents; each punctuation mark and Chinese character alone."""
    found: list[str] = []
    inside = False
    for raw in text:
        if raw in "\0\ufffd" or (unicodedata.category(raw)[0] == "C" and raw not in "\t\n\r"):
            continue
        for char in unicodedata.normalize("NFD", raw.lower()):
            if unicodedata.category(char) == "Mn":
                continue
            if char.isspace():
                inside = False
            elif _is_alone(char):
                found.append(char)
                inside = False
            elif inside:
                found[-1] += char
            else:
                found.append(char)
                inside = True
    return found


def _is_alone(char: str) -> bool:
    code = ord(char)
    ascii_mark = 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
    chinese = (
        0x4E00 <= code <= 0x9FFF
        or 0x3400 <= code <= 0x4DBF
        or 0xF900 <= code <= 0xFAFF
        or 0x20000 <= code <= 0x2FA1F
    )
    return ascii_mark or chinese or unicodedata.category(char)[0] == "P"


def small_vocabulary(texts: Iterable[str], size: int) -> list[str]:
    """Special pieces, all ASCII letters and marks, and the most frequent words of some texts."""
    letters = [chr(i) for i in range(33, 127) if not chr(i).isupper()]
    known = [PAD, UNKNOWN, BEGIN, END, *letters, *(f"##{c}" for c in letters if c.isalnum())]
    counts = Counter(word for text in texts for word in words(text) if len(word) > 1)
    frequent = sorted(counts, key=lambda word: (-counts[word], word))
    return known + frequent[: max(0, size - len(known))]
