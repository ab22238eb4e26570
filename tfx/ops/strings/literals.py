"""Texts taken apart and put together in a graph, at literal marks.

The one decision: ``StringSplit`` finds the marks, and a loop over the pieces writes them one behind
the other, for all texts at once. So what removes or replaces certain characters can be saved.
"""

from __future__ import annotations

import re

import numpy as np

from tfx.framework.builder import ox
from tfx.framework.convert import constant, embed, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.graph_loop import repeated

# What Python and TensorFlow split at where no separator is given, beside the space, at which the
# operator splits.
_OTHER_SPACES = "\t\n\v\f\r"
_MOST = 64
_ESCAPED = re.compile(r"\\([^0-9A-Za-z])|([^\\\[\](){}.*+?^$|])")
_IN_BRACKETS = re.compile(r"\\([^0-9A-Za-z])|([^\\\[\]])")


def literals_of(pattern: bytes) -> list[str] | None:
    """The texts that an expression matches, if it is one text, or one of some characters.

    Args:
        pattern: As RE2 takes it.
    """
    source = pattern.decode("utf-8", "surrogateescape")
    if len(source) > 2 and source[0] == "[" and source[-1] == "]" and source[1] != "^":
        return _characters(source[1:-1])
    found = [a or b for a, b in _ESCAPED.findall(source)]
    whole = _ESCAPED.sub("", source) == ""
    return ["".join(found)] if source and whole else None


def _characters(inside: str) -> list[str] | None:
    """The characters of a class, ranges written out; None: more than that, or too many."""
    if _IN_BRACKETS.sub("", inside):
        return None
    # What follows an escape is no sign of a range.
    items = [(a or b, bool(b)) for a, b in _IN_BRACKETS.findall(inside)]
    found: list[str] = []
    while items:
        first, _ = items.pop(0)
        if len(items) > 1 and items[0] == ("-", True):
            last = items[1][0]
            del items[:2]
            found += map(chr, range(ord(first), ord(last) + 1))
        else:
            found.append(first)
    return list(dict.fromkeys(found)) if 0 < len(found) <= _MOST else None


def replaceable(literals: list[str], rewrite: str) -> bool:
    """Whether replacing them one by one is replacing them at once."""
    return len(literals) == 1 or not any(c in rewrite for c in literals)


def replaced(x: Tensor, literals: list[str], rewrite: str) -> Tensor:
    """Texts, symbolic ones of any shape, with literals replaced."""
    shape = ox.Shape(x)
    flat = ox.Reshape(x, int64_constant([-1]))
    for literal in literals:
        flat = _replaced(flat, literal, rewrite)
    return ox.Reshape(flat, shape, allowzero=1)


def _replaced(flat: Tensor, literal: str, rewrite: str) -> Tensor:
    pieces, counts = ox.StringSplit(flat, delimiter=literal)
    most = ox.Squeeze(ox.Shape(pieces, start=1), int64_constant([0]))
    nothing = constant("")

    def append(i: Tensor, made: Tensor) -> tuple[Tensor, list[Tensor]]:
        piece = ox.Gather(pieces, i, axis=1)
        if rewrite:
            inside = ox.And(ox.Greater(i, int64_constant(0)), ox.Less(i, counts))
            piece = ox.StringConcat(ox.Where(inside, constant(rewrite), nothing), piece)
        return embed(np.array(True)), [ox.StringConcat(made, piece)]

    empty = ox.Expand(nothing, ox.Shape(flat))
    return repeated(most, [empty], append)[0]


def words(flat: Tensor) -> tuple[Tensor, Tensor]:
    """The words of each text of a symbolic vector, between any white space.

    Returns:
        Words, ``[texts, most]`` with empty texts behind the last ones; how many there are, int64.
    """
    spaced = replaced(flat, list(_OTHER_SPACES), " ")
    found, counts = ox.StringSplit(spaced)
    return found, counts
