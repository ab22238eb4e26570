"""``experimental_enable_numpy_behavior``: NumPy's methods, indices and dtypes on all tensors."""

from __future__ import annotations

from typing import Any

from tfx.core.dtypes import as_dtype
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.numpy_ops import elementwise, indexing, manipulation, promotion, reductions
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
    return indexing.item(self, key, _indexed)


def _reshape(self: Tensor, *newshape: Any, order: str = "C") -> Tensor:
    sizes = newshape[0] if len(newshape) == 1 else newshape
    return manipulation.reshape(self, sizes, order)


def _transpose(self: Tensor, *axes: Any) -> Tensor:
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
    return manipulation.transpose(self, order)


def _astype(self: Tensor, dtype: Any) -> Tensor:
    # As TensorFlow has it: float is float32 here.
    return cast_to(self, as_dtype(dtype) if dtype is float else promotion.named_dtype(dtype))


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
    "flatten": manipulation.flatten,
    "max": reductions.max,
    "mean": reductions.mean,
    "min": reductions.min,
    "ravel": manipulation.ravel,
    "reshape": _reshape,
    "tolist": _tolist,
    "transpose": _transpose,
}
