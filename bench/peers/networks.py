"""Sizes and contents of the networks whose gradients are compared, the same in all frameworks.

NumPy alone: every peer's process reads it.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np


class Mlp(NamedTuple):
    """A classifier of three dense layers with softmax cross entropy."""

    batch: int = 128
    inputs: int = 784
    hidden: int = 512
    classes: int = 10


class Block(NamedTuple):
    """Two 3x3 convolutions, each batch-normalized, around a shortcut."""

    batch: int = 16
    size: int = 28
    channels: int = 64


class Attention(NamedTuple):
    """Multi-head attention of a sequence to itself, with its four projections."""

    batch: int = 8
    length: int = 128
    width: int = 256
    heads: int = 8


MLP, BLOCK, ATTENTION = Mlp(), Block(), Attention()
EPSILON = 1e-5
NAMES = ("mlp", "block", "attention")
# Whose gradient by the input counts, too: a layer in the middle of a larger network.
INNER = ("block", "attention")


def arrays(name: str, batch: int | None = None) -> tuple[list[Any], list[Any]]:
    """Inputs and weights of a network.

    Args:
        name: One of ``NAMES``.
        batch: Another number of examples than the usual.
    """
    sizes, make = _MAKERS[name]
    return make(sizes if batch is None else sizes._replace(batch=batch))


def mlp_arrays(sizes: Mlp = MLP) -> tuple[list[Any], list[Any]]:
    """Images and one-hot labels; then three matrices and three biases, in turns."""
    rng = np.random.default_rng(1)
    images = rng.standard_normal((sizes.batch, sizes.inputs))
    labels = np.eye(sizes.classes)[rng.integers(0, sizes.classes, sizes.batch)]
    widths = [sizes.inputs, sizes.hidden, sizes.hidden, sizes.classes]
    weights: list[Any] = []
    for before, after in itertools.pairwise(widths):
        weights += [rng.standard_normal((before, after)) * before**-0.5, np.zeros(after)]
    return _floats([images, labels]), _floats(weights)


def block_arrays(sizes: Block = BLOCK) -> tuple[list[Any], list[Any]]:
    """Images; then filter, scale and offset of each layer. Channels are last, filters HWIO."""
    rng = np.random.default_rng(2)
    c = sizes.channels
    images = rng.standard_normal((sizes.batch, sizes.size, sizes.size, c))
    weights: list[Any] = []
    for _ in range(2):
        weights += [rng.standard_normal((3, 3, c, c)) * (9 * c) ** -0.5, np.ones(c), np.zeros(c)]
    return _floats([images]), _floats(weights)


def attention_arrays(sizes: Attention = ATTENTION) -> tuple[list[Any], list[Any]]:
    """Sequences; then the matrices that make queries, keys and values, and the result."""
    rng = np.random.default_rng(3)
    w = sizes.width
    sequences = rng.standard_normal((sizes.batch, sizes.length, w))
    return _floats([sequences]), _floats([rng.standard_normal((w, w)) * w**-0.5 for _ in range(4)])


def _floats(arrays: list[Any]) -> list[Any]:
    return [np.asarray(a, np.float32) for a in arrays]


_MAKERS: dict[str, Any] = {
    "mlp": (MLP, mlp_arrays),
    "block": (BLOCK, block_arrays),
    "attention": (ATTENTION, attention_arrays),
}


def number_of(loss: Any, gradients: list[Any]) -> float:
    """What peers must agree on: the loss and the size of its gradients (all as arrays)."""
    return float(np.sum(loss)) + sum(float(np.sum(np.asarray(g) ** 2)) for g in gradients)
