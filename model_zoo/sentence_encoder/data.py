"""Sentences that ship with Python, by subject: the first sentence of each docstring of the library.

The numbers of sentences differ a little from one version of Python to the next.
"""

from __future__ import annotations

import importlib
import inspect
import re

import numpy as np

import tfx as tf
from tfx.model_zoo.sentence_encoder.wordpiece import WordPiece

SUBJECTS = {
    "text": "string re textwrap difflib unicodedata codecs html csv json",
    "numbers": "math cmath decimal fractions statistics random numbers operator",
    "files": "os shutil pathlib tempfile zipfile tarfile glob io fileinput",
    "network": "socket ssl urllib.request urllib.parse http.client http.server ftplib smtplib",
    "time": "datetime calendar time sched zoneinfo",
    "tasks": "threading multiprocessing asyncio concurrent.futures subprocess queue signal",
}
NAMES = tuple(SUBJECTS)
_SENTENCE = re.compile(r"^(.+?[.!?])(?:\s|$)", re.DOTALL)
_SIGNATURE = re.compile(r"^[\w.]+\(.*?\)\s*(?:->\s*\S+)?\s*(?:--?)?\s*", re.DOTALL)


def sentences() -> tuple[list[str], np.ndarray]:
    """All sentences, each once, and the number of each one's subject."""
    found: dict[str, int | None] = {}
    for number, modules in enumerate(SUBJECTS.values()):
        for name in modules.split():
            for text in _docstrings(importlib.import_module(name)):
                sentence = _first_sentence(text)
                if sentence:
                    other = found.setdefault(sentence, number)
                    if other != number:  # said of two subjects, so it tells neither
                        found[sentence] = None
    kept = [(s, n) for s, n in sorted(found.items()) if n is not None]
    return [s for s, _ in kept], np.array([n for _, n in kept], np.int64)


def _docstrings(module: object) -> list[str]:
    texts = []
    for name, item in sorted(vars(module).items()):
        if name.startswith("_") or getattr(item, "__module__", None) is None:
            continue
        if inspect.isclass(item):
            texts += [item, *(v for k, v in sorted(vars(item).items()) if not k.startswith("_"))]
        elif callable(item):
            texts.append(item)
    found = [getattr(x, "__doc__", None) for x in texts]
    return [x for x in found if isinstance(x, str)]


def _first_sentence(text: str) -> str | None:
    text = _SIGNATURE.sub("", text.strip())
    match = _SENTENCE.match(text.split("\n\n")[0])
    sentence = " ".join(match.group(1).split()) if match else ""
    words = sentence.split()
    return sentence if 5 <= len(words) <= 30 and sentence.isascii() else None


def split(held_out: int = 3) -> tuple[tuple[list[str], np.ndarray], tuple[list[str], np.ndarray]]:
    """Sentences to learn from, and every ``held_out``-th one to judge by."""
    texts, labels = sentences()
    judged = np.arange(len(texts)) % held_out == 0
    parts = []
    for chosen in (~judged, judged):
        places = np.flatnonzero(chosen)
        parts.append(([texts[i] for i in places], labels[places]))
    return parts[0], parts[1]


def batches(
    texts: list[str], labels: np.ndarray, tokenizer: WordPiece, batch: int, length: int, seed: int
) -> tf.data.Dataset:
    """Batches in random order, without end: tokens, mask and labels."""
    tokens, mask = tokenizer.batch(texts, length)
    data = tf.data.Dataset.from_tensor_slices((tokens, mask, labels))
    return data.shuffle(len(texts), seed=seed).repeat().batch(batch, drop_remainder=True)
