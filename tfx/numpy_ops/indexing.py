"""Indices as NumPy takes them: arrays of positions and masks beside numbers, slices and None."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.numpy_ops import manipulation, promotion
from tfx.ops.array.concat import stack
from tfx.ops.array.gather import gather, gather_nd
from tfx.ops.array.where import boolean_mask, where
from tfx.ops.common.arguments import cast_to

Keys = tuple[Any, ...]
_WHOLE = slice(None)


def item(x: Tensor, key: Any, basic: Callable[[Tensor, Any], Tensor]) -> Tensor:
    """What an index gives.

    Arrays of positions are broadcast with each other, and each takes one axis; the axes of the
    broadcast shape stand where the first of these was, or in front if others stand between them.
    A mask takes as many axes as it has.

    Args:
        x: A tensor.
        key: The index.
        basic: Takes an index without arrays.

    Raises:
        ValueError: ``...`` beside arrays, in a tensor of unknown rank.
    """
    keys = key if isinstance(key, tuple) else (key,)
    arrays = [k for k in keys if _is_array(k)]
    if not arrays:
        return basic(x, key)
    if len(arrays) == 1 and not any(k is None or k is Ellipsis for k in keys):
        at = next(i for i, k in enumerate(keys) if k is arrays[0])
        # Numbers among the keys take their axes away.
        axis = sum(not _is_number(k) for k in keys[:at])
        wide = [_WHOLE] * _axes_taken(arrays[0])
        return _taken(basic(x, (*keys[:at], *wide, *keys[at + 1 :])), arrays[0], axis)
    keys = tuple(part for k in keys for part in _without_masks(k))
    found = basic(x, tuple(_WHOLE if _is_array(k) else k for k in keys))
    return _picked(found, *_places(keys, x))


def _is_array(key: Any) -> bool:
    if isinstance(key, list | np.ndarray):
        return True
    return isinstance(key, Tensor) and (key.shape.rank != 0 or key.dtype.is_bool)


def _is_number(key: Any) -> bool:
    return not (key is None or key is Ellipsis or isinstance(key, slice) or _is_array(key))


def _is_mask(key: Any) -> bool:
    return promotion.array(key).dtype.is_bool


def _axes_taken(key: Any) -> int:
    return promotion.array(key).shape.rank or 0 if _is_mask(key) else 1


def _without_masks(key: Any) -> Sequence[Any]:
    """The positions of a mask's elements for each of its axes; other keys as they are."""
    if not _is_array(key) or not _is_mask(key):
        return (key,)
    mask = promotion.array(key)
    places = where(mask)
    return [places[:, axis] for axis in range(mask.shape.rank or 0)]


def _taken(x: Tensor, key: Any, axis: int) -> Tensor:
    index = convert_to_tensor(key)
    if index.dtype.is_bool:
        return boolean_mask(x, index, axis=axis)
    count = ox.Shape(x, start=axis, end=axis + 1)
    wide = cast_to(index, dtypes.int64)
    return gather(x, ox.Where(wide < 0, wide + count, wide), axis=axis)


def _places(keys: Keys, x: Tensor) -> tuple[list[Any], list[int]]:
    """The arrays among keys, and the axes that they take of what the other keys left."""
    arrays: list[Any] = []
    axes: list[int] = []
    axis = 0
    for k in keys:
        if k is Ellipsis:
            if x.shape.rank is None:
                raise ValueError(
                    f"Arrays of indices beside '...' need a tensor of known rank; got {x!r}."
                )
            axis += x.shape.rank - sum(
                other is not None and other is not Ellipsis for other in keys
            )
            continue
        if _is_array(k):
            arrays.append(k)
            axes.append(axis)
        axis += not _is_number(k)
    return arrays, axes


def _picked(x: Tensor, arrays: list[Any], axes: list[int]) -> Tensor:
    """The elements at positions along some axes, all others as a whole."""
    rank = len(x.shape)
    others = [axis for axis in range(rank) if axis not in axes]
    wide = [cast_to(promotion.array(k), dtypes.int64) for k in arrays]
    wide = manipulation.broadcast_arrays(*wide)
    counts = [ox.Shape(x, start=axis, end=axis + 1) for axis in axes]
    safe = [ox.Where(k < 0, k + n, k) for k, n in zip(wide, counts, strict=True)]
    found = gather_nd(manipulation.transpose(x, [*axes, *others]), stack(safe, -1))
    first = axes[0]
    if first == 0 or axes != list(range(first, first + len(axes))):
        return found
    made = len(wide[0].shape)
    order = [*range(made, made + first), *range(made), *range(made + first, made + len(others))]
    return manipulation.transpose(found, order)
