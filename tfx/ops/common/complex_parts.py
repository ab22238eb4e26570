"""Real and imaginary parts as two tensors, for what computes with each of them."""

from __future__ import annotations

import numpy as np

from tfx.framework.builder import ox
from tfx.framework.composite.complex_pairs import joined, parts
from tfx.framework.convert import embed, int64_constant
from tfx.framework.tensor import Tensor


def halves(z: Tensor) -> tuple[Tensor, Tensor]:
    """Real and imaginary parts of complex numbers."""
    return halves_of_pairs(parts(z))


def halves_of_pairs(pairs: Tensor) -> tuple[Tensor, Tensor]:
    """What is first, and what is second along the last axis."""
    real, imag = ox.Split(pairs, axis=-1, num_outputs=2, outputs=2)
    last = int64_constant([-1])
    return ox.Squeeze(real, last), ox.Squeeze(imag, last)


def pairs_of(real: Tensor, imag: Tensor) -> Tensor:
    """Two tensors of one shape as pairs along a new last axis."""
    last = int64_constant([-1])
    return ox.Concat(ox.Unsqueeze(real, last), ox.Unsqueeze(imag, last), axis=-1)


def whole(real: Tensor, imag: Tensor) -> Tensor:
    """The complex numbers of two tensors of one shape."""
    return joined(pairs_of(real, imag))


def pairs_of_real(x: Tensor) -> Tensor:
    """Real numbers as pairs with an imaginary part of 0."""
    last = int64_constant([-1])
    return ox.Pad(ox.Unsqueeze(x, last), int64_constant([0, 1]), None, last)


def conjugate(x: Tensor) -> Tensor:
    """The conjugates of complex numbers; real ones as they are."""
    if not x.dtype.is_complex:
        return x
    pairs = parts(x)
    return joined(ox.Mul(pairs, embed(np.array([1, -1], pairs.dtype.as_numpy_dtype))))
