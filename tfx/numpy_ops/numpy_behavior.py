"""``experimental_enable_numpy_behavior``: NumPy's methods, indices and dtypes on all tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.numpy_ops import elementwise, manipulation, promotion, reductions
from tfx.ops.array.concat import stack
from tfx.ops.array.gather import gather, gather_nd
from tfx.ops.array.where import boolean_mask
from tfx.ops.common import arguments
from tfx.ops.common.arguments import cast_to


def experimental_enable_numpy_behavior(
    prefer_float32: bool = False, dtype_conversion_mode: str = "legacy"
) -> None:
    """Give tensors NumPy's methods, and let operators convert dtypes as NumPy does.

    Afterwards tensors have ``T``, ``reshape``, ``ravel``, ``astype``, ``clip``, ``transpose``,
    ``max``, ``min``, ``mean``, ``tolist``, ``size``, ``data``, and take arrays, lists and masks as
    indices; operators on two dtypes give the one that NumPy gives. This cannot be taken back.

    Args:
        prefer_float32: Python floats are float32 instead of float64.
        dtype_conversion_mode: ``"legacy"`` (or ``"off"``: dtypes are not converted).

    Raises:
        ValueError: another mode.
    """
    if dtype_conversion_mode not in ("legacy", "off"):
        raise ValueError(
            f"dtype_conversion_mode must be 'legacy' or 'off'; got {dtype_conversion_mode!r}."
        )
    promotion.prefer_float32(prefer_float32)
    arguments.set_promotion(None if dtype_conversion_mode == "off" else _promoted)
    for name, value in _METHODS.items():
        setattr(Tensor, name, value)
    global _indexed
    if _indexed is None:
        _indexed = Tensor.__getitem__
        setattr(Tensor, "__getitem__", _item)  # noqa: B010
        setattr(Tensor, "__matmul__", manipulation.matmul)  # noqa: B010
        setattr(Tensor, "__rmatmul__", lambda x, y: manipulation.matmul(y, x))  # noqa: B010


_indexed: Any = None


def _promoted(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    a, b = promotion.shared(x, y)
    return a, b


def _item(self: Tensor, key: Any) -> Tensor:
    keys = key if isinstance(key, tuple) else (key,)
    places = [i for i, k in enumerate(keys) if _advanced(k)]
    if not places:
        return _indexed(self, key)  # type: ignore[no-any-return]
    if len(places) > 1 or any(k is None or k is Ellipsis for k in keys):
        return _several(self, keys)
    at = places[0]
    # Integers among the keys take their axes away.
    axis = sum(not isinstance(k, int) for k in keys[:at])
    plain = tuple(slice(None) if i == at else k for i, k in enumerate(keys))
    return _taken(_indexed(self, plain), convert_to_tensor(keys[at]), axis)


def _advanced(key: Any) -> bool:
    if isinstance(key, list | np.ndarray):
        return True
    return isinstance(key, Tensor) and (key.shape.rank != 0 or key.dtype.is_bool)


def _taken(x: Tensor, index: Tensor, axis: int) -> Tensor:
    if not index.dtype.is_bool:
        count = ox.Shape(x, start=axis, end=axis + 1)
        wide = cast_to(index, dtypes.int64)
        return gather(x, ox.Where(wide < 0, wide + count, wide), axis=axis)
    return boolean_mask(x, index, axis=axis)


def _several(x: Tensor, keys: tuple[Any, ...]) -> Tensor:
    """Arrays of indices for the first axes, all of them."""
    if not all(_advanced(k) or isinstance(k, int) for k in keys):
        raise TypeError(
            "Several arrays of indices cannot be mixed with slices, None or '...'; got "
            f"{keys!r}. Index in two steps."
        )
    wide = manipulation.broadcast_arrays(*[cast_to(promotion.array(k), dtypes.int64) for k in keys])
    counts = [ox.Shape(x, start=i, end=i + 1) for i in range(len(keys))]
    safe = [ox.Where(k < 0, k + n, k) for k, n in zip(wide, counts, strict=True)]
    return gather_nd(x, stack(safe, -1))


def _reshape(self: Tensor, *newshape: Any, order: str = "C") -> Tensor:
    sizes = newshape[0] if len(newshape) == 1 else newshape
    return manipulation.reshape(self, sizes, order)


def _transpose(self: Tensor, *axes: Any) -> Tensor:
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
    return manipulation.transpose(self, order)


def _astype(self: Tensor, dtype: Any) -> Tensor:
    return cast_to(self, dtypes.as_dtype(dtype))


def _tolist(self: Tensor) -> Any:
    if not isinstance(self, EagerTensor):
        raise ValueError("A tensor of a graph has no contents: tolist is for eager tensors.")
    return self.view().tolist()


_METHODS: dict[str, Any] = {
    "T": property(manipulation.transpose),
    "size": property(manipulation.size),
    "data": property(lambda self: self),
    "astype": _astype,
    "clip": elementwise.clip,
    "flatten": manipulation.ravel,
    "max": reductions.max,
    "mean": reductions.mean,
    "min": reductions.min,
    "ravel": manipulation.ravel,
    "reshape": _reshape,
    "tolist": _tolist,
    "transpose": _transpose,
}
