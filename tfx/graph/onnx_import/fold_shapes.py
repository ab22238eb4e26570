"""Small constants computed while a model is read, so that the shapes it computes are static.

Exporters write shape code: a ``Shape``, a ``Gather``, some arithmetic, a ``Concat``, a ``Reshape``.
Where all of it is known, what follows has a static rank and static sizes. Only operators of shape
code are here, on few elements, with NumPy: nothing that could be slow or depend on a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dims import is_static
from tfx.graph.ir import Value
from tfx.graph.shape_code import MOVES, contents, sizes

_MOST = 1024
_Array = np.ndarray[Any, Any]


def folded(op: str, inputs: Sequence[Value | None], attrs: dict[str, Any]) -> _Array | None:
    """Return the result of a node that is shape code on known contents, else None.

    Args:
        op: Its operator, of our opset.
        inputs: What it is applied to.
        attrs: Its attributes.
    """
    if op == "Shape":
        dims = sizes(inputs[0], attrs)
        return np.array(dims, np.int64) if is_static(dims) else None
    rule = _RULES.get(op)
    if rule is None or not inputs:
        return None
    arrays = []
    for value in inputs:
        array = contents(value)
        if array is None and value is not None:
            return None
        if array is not None and (array.size > _MOST or array.dtype.kind not in "iubf"):
            return None
        arrays.append(array)
    try:
        with np.errstate(all="ignore"):
            result = rule(arrays, attrs)
    except (ValueError, IndexError, TypeError, ZeroDivisionError, OverflowError):
        return None  # the node itself says what is wrong
    return None if result is None or result.size > _MOST else np.asarray(result)


def _same(function: Callable[..., Any]) -> Callable[[list[Any], dict[str, Any]], _Array]:
    """An elementwise rule whose result has the dtype of its first input."""

    def rule(arrays: list[Any], attrs: dict[str, Any]) -> _Array:
        return np.asarray(function(*arrays)).astype(arrays[0].dtype, copy=False)

    return rule


def _truth(function: Callable[..., Any]) -> Callable[[list[Any], dict[str, Any]], _Array]:
    return lambda arrays, attrs: np.asarray(function(*arrays), np.bool_)


def _div(a: _Array, b: _Array) -> _Array:
    if a.dtype.kind == "f":
        return a / b
    if not b.all():
        raise ZeroDivisionError
    quotient = np.abs(a.astype(np.int64)) // np.abs(b.astype(np.int64))  # ONNX cuts off
    sign = np.sign(a).astype(np.int64) * np.sign(b).astype(np.int64)
    return np.asarray(sign * quotient)


def _cast(arrays: list[Any], attrs: dict[str, Any]) -> _Array | None:
    (x,) = arrays
    dtype = dtypes.from_onnx(int(attrs["to"]))
    simple = dtype.is_integer or dtype.is_floating or dtype is dtypes.bool
    if not simple or np.dtype(dtype.as_numpy_dtype).kind == "V":
        return None
    if x.dtype.kind == "f" and dtype.is_integer and not np.isfinite(x).all():
        return None
    return np.asarray(x.astype(dtype.as_numpy_dtype))


def _range(arrays: list[Any], attrs: dict[str, Any]) -> _Array | None:
    start, limit, delta = (a.item() for a in arrays)
    if delta == 0 or abs((limit - start) / delta) > _MOST:
        return None
    made: _Array = np.arange(start, limit, delta).astype(arrays[0].dtype)
    return made


def _filled(arrays: list[Any], attrs: dict[str, Any]) -> _Array | None:
    shape = [int(d) for d in arrays[0]]
    if np.prod([*shape, 1], dtype=np.float64) > _MOST:
        return None
    value = attrs.get("value")
    value = np.zeros(1, np.float32) if value is None else np.asarray(value)
    return np.full(shape, value.reshape(-1)[0], value.dtype)


def _expand(arrays: list[Any], attrs: dict[str, Any]) -> _Array | None:
    shape = np.broadcast_shapes(arrays[0].shape, tuple(int(d) for d in arrays[1]))
    if np.prod([*shape, 1], dtype=np.float64) > _MOST:
        return None
    return np.array(np.broadcast_to(arrays[0], shape))


def _reduced(function: Callable[..., Any]) -> Callable[[list[Any], dict[str, Any]], Any]:
    def rule(arrays: list[Any], attrs: dict[str, Any]) -> _Array | None:
        axes = arrays[1] if len(arrays) > 1 else None
        if axes is None and attrs.get("noop_with_empty_axes", 0):
            return None
        where = None if axes is None or not len(axes) else tuple(int(a) for a in axes)
        keep = bool(attrs.get("keepdims", 1))
        return np.asarray(function(arrays[0], axis=where, keepdims=keep), arrays[0].dtype)

    return rule


_RULES: dict[str, Callable[[list[Any], dict[str, Any]], _Array | None]] = {
    **MOVES,
    "Abs": _same(np.abs),
    "Add": _same(np.add),
    "And": _truth(np.logical_and),
    "Cast": _cast,
    "CastLike": lambda arrays, attrs: arrays[0].astype(arrays[1].dtype),
    "Ceil": _same(np.ceil),
    "ConstantOfShape": _filled,
    "Div": _same(_div),
    "Equal": _truth(np.equal),
    "Expand": _expand,
    "Floor": _same(np.floor),
    "Greater": _truth(np.greater),
    "GreaterOrEqual": _truth(np.greater_equal),
    "Identity": _same(np.asarray),
    "Less": _truth(np.less),
    "LessOrEqual": _truth(np.less_equal),
    "Max": _same(lambda *a: np.maximum.reduce(np.broadcast_arrays(*a))),
    "Min": _same(lambda *a: np.minimum.reduce(np.broadcast_arrays(*a))),
    "Mul": _same(np.multiply),
    "Neg": _same(np.negative),
    "Not": _truth(np.logical_not),
    "Or": _truth(np.logical_or),
    "Range": _range,
    "ReduceMax": _reduced(np.max),
    "ReduceMin": _reduced(np.min),
    "ReduceProd": _reduced(np.prod),
    "ReduceSum": _reduced(np.sum),
    "Size": lambda arrays, attrs: np.array(arrays[0].size, np.int64),
    "Sqrt": _same(np.sqrt),
    "Sub": _same(np.subtract),
    "Where": lambda arrays, attrs: np.where(*arrays).astype(arrays[1].dtype),
}
