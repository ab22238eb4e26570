"""Inputs to try a model with, where nobody gave any: small, the same in every run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType

Array: TypeAlias = "np.ndarray[Any, Any]"


def made_up(
    draws: np.random.Generator,
    dtype: DType,
    shape: Sequence[int],
    words: Sequence[str] = ("a", "b"),
) -> Array:
    """An array of a dtype and shape: normal numbers, 0 and 1, or words.

    Args:
        draws: Where the numbers come from.
        dtype: The dtype.
        shape: The shape.
        words: What texts consist of: four words where the shape has one axis, one elsewhere.
    """
    if dtype is dtypes.string:
        count = 4 if len(shape) == 1 else 1
        texts = [" ".join(draws.choice(list(words), count)) for _ in range(int(np.prod(shape)))]
        return np.array(texts, object).reshape(shape)
    if dtype.is_floating or dtype.is_complex:
        return np.asarray(draws.normal(size=shape), dtype.as_numpy_dtype)
    return np.asarray(draws.integers(0, 2, shape), dtype.as_numpy_dtype)
