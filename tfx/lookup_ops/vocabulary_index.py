"""The position of keys in a vocabulary, in an ONNX graph.

The one decision: ``TfIdfVectorizer`` is the standard operator that has a hash map of words (and of
integers). Alone it gives a row as long as the vocabulary for each word. So several of them look the
word up, and each gives one digit of its position, in a base of a few dozen: for 100,000 words three
short rows, in which ``ArgMax`` reads the digit. A word that is not there gives rows of zeros.

Measured with 100,000 words (ONNX Runtime 1.31, one core): 1,000 lookups take 1.9 ms and the model 4
MB, in Node and browsers alike; comparing with every word (``Equal``) takes 1,040 ms.
``LabelEncoder`` of ai.onnx.ml is as quick, but is no operator of the standard domain.
"""

from __future__ import annotations

import math
from typing import Any

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.convert import constant, int64_constant
from tfx.framework.tensor import Tensor

# A digit costs a copy of the words in the model, its row costs time: about equal at this length.
_LONGEST_ROW = 64


def positions(keys: Tensor, words: list[Any]) -> Tensor:
    """Return the positions of keys in a vocabulary.

    Args:
        keys: Strings, or int64, of any shape.
        words: The vocabulary, without repetitions: bytes, or integers.

    Returns:
        int64 of the shape of ``keys``; the length of the vocabulary for what is not in it.
    """
    missing = int64_constant(len(words))
    shape = ox.Shape(keys)
    if not words:
        return ox.Expand(missing, shape)
    # The operator refuses to have nothing to do: there is always one key more.
    flat = ox.Reshape(keys, int64_constant([-1]))
    more = ox.Concat(flat, constant([words[0]], keys.dtype), axis=0)
    rows = ox.Reshape(more, int64_constant([-1, 1]))
    base, digits = _base(len(words))
    found: Tensor | None = None
    total: Tensor | None = None
    for digit in range(digits):
        weight = base**digit
        row = _lookup(rows, words, [i // weight % base for i in range(len(words))])
        place = ox.ArgMax(row, axis=1, keepdims=0)
        if digit:
            place = ox.Mul(place, int64_constant(weight))
        total = place if total is None else ox.Add(total, place)
        if found is None:
            best = ox.ReduceMax(row, int64_constant([1]), keepdims=0)
            found = ox.Greater(best, constant(0.0))
    assert found is not None
    assert total is not None
    chosen = ox.Where(found, total, missing)
    asked = ox.Slice(chosen, int64_constant([0]), int64_constant([-1]))
    return ox.Reshape(asked, shape, allowzero=1)


def _base(count: int) -> tuple[int, int]:
    digits = 1
    while count > _LONGEST_ROW**digits:
        digits += 1
    base = max(2, math.ceil(count ** (1 / digits)))
    while base**digits < count:  # a root may be rounded down
        base += 1
    return base, digits


def _lookup(rows: Tensor, words: list[Any], columns: list[int]) -> Tensor:
    pool = "pool_strings" if rows.dtype is dtypes.string else "pool_int64s"
    attributes: dict[str, Any] = {
        "max_gram_length": 1,
        "min_gram_length": 1,
        "max_skip_count": 0,
        "mode": "TF",
        "ngram_counts": [0],
        "ngram_indexes": columns,
        pool: words,
    }
    return ox.TfIdfVectorizer(rows, **attributes)
