"""Tensors, names and mistakes in words, for messages and listings.

Owns the wording ``float32[batch, 8]``. Must not know of bundles. The one decision: what came and
what was wanted are always written in the same form, so that the eye finds the difference.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy.typing as npt

from tfx.bundle.dtypes import from_numpy
from tfx.bundle.python_values import Shape, TensorInfo
from tfx.core.dims import format_shape

_MOST_NAMES = 10


def describe(info: TensorInfo) -> str:
    """Return dtype and shape of a tensor as ``float32[batch, 8]``, ``float32`` for any rank.

    Example:
        >>> describe(TensorInfo("int64", ("batch", None, 3)))
        'int64[batch, None, 3]'
    """
    return describe_type(info.dtype, info.shape)


def describe_type(dtype: str, shape: Shape) -> str:
    """Return dtype and shape as ``float32[batch, 8]``."""
    return dtype if shape is None else f"{dtype}{format_shape(shape)}"


def describe_array(array: npt.NDArray[Any]) -> str:
    """Return dtype and shape of an array as ``float32[2, 8]``."""
    row = from_numpy(array.dtype)
    return describe_type(str(array.dtype) if row is None else row.name, array.shape)


def meant(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that an unknown one is most like, if it is like any."""
    import difflib  # only mistakes pay for it

    close = difflib.get_close_matches(name, list(known), 1)
    return close[0] if close else None


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message on an unknown name: the nearest name, or all of them."""
    names = list(known)
    close = meant(name, names)
    if close is not None:
        return f"did you mean {close!r}?"
    return f"there are: {listed(names)}" if names else "there are none"


def listed(names: Iterable[str]) -> str:
    """Return names in quotes, the first few of many."""
    names = list(names)
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(map(repr, names[:_MOST_NAMES])) + more
