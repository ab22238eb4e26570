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

_MOST = 1024
_Array = np.ndarray[Any, Any]


def known(value: Value | None) -> _Array | None:
    """The contents of a value, where a constant or static sizes tell them."""
    if value is None or value.dtype > dtypes.SEQUENCE:
        return None
    if value.const is not None:
        return value.const
    dims, shape = value.dims, value.shape
    if dims is None or shape is None or not all(isinstance(d, int) for d in (*dims, *shape)):
        return None
    return np.array(dims, dtypes.from_onnx(value.dtype).as_numpy_dtype).reshape(shape)


def folded(op: str, inputs: Sequence[Value | None], attrs: dict[str, Any]) -> _Array | None:
    """Return the result of a node that is shape code on known contents, else None.

    Args:
        op: Its operator, of our opset.
        inputs: What it is applied to.
        attrs: Its attributes.
    """
    if op == "Shape":
        return _shape(inputs[0], attrs)
    rule = _RULES.get(op)
    if rule is None or not inputs:
        return None
    arrays = []
    for value in inputs:
        array = known(value)
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


def _shape(value: Value | None, attrs: dict[str, Any]) -> _Array | None:
    if value is None or value.shape is None:
        return None
    dims = value.shape[attrs.get("start", 0) : attrs.get("end")]
    return np.array(dims, np.int64) if is_static(dims) else None


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


def _concat(arrays: list[Any], attrs: dict[str, Any]) -> _Array:
    return np.asarray(np.concatenate(arrays, int(attrs["axis"])))


def _gather(arrays: list[Any], attrs: dict[str, Any]) -> _Array:
    return np.asarray(np.take(arrays[0], arrays[1], int(attrs.get("axis", 0))))


def _slice(arrays: list[Any], attrs: dict[str, Any]) -> _Array:
    x, starts, ends, *rest = arrays
    axes = rest[0] if rest and rest[0] is not None else np.arange(len(starts))
    steps = rest[1] if len(rest) > 1 else np.ones(len(starts), np.int64)
    index = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        start, end, step = int(start), int(end), int(step)
        size = x.shape[int(axis)]
        # A negative end with a negative step, at or below -size-1, is "to the very front".
        stop = None if step < 0 and end < -size else end
        index[int(axis)] = slice(start, stop, step)
    return np.asarray(x[tuple(index)])


def _squeeze(arrays: list[Any], attrs: dict[str, Any]) -> _Array:
    axes = arrays[1] if len(arrays) > 1 and arrays[1] is not None else None
    where = None if axes is None else tuple(int(a) for a in axes)
    return np.asarray(np.squeeze(arrays[0], where))


def _unsqueeze(arrays: list[Any], attrs: dict[str, Any]) -> _Array:
    return np.asarray(np.expand_dims(arrays[0], tuple(int(a) for a in arrays[1])))


def _reshape(arrays: list[Any], attrs: dict[str, Any]) -> _Array:
    x, shape = arrays
    copied = not attrs.get("allowzero", 0)
    dims = [x.shape[i] if d == 0 and copied else int(d) for i, d in enumerate(shape)]
    return np.asarray(x.reshape(dims))


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
    "Abs": _same(np.abs),
    "Add": _same(np.add),
    "And": _truth(np.logical_and),
    "Cast": _cast,
    "CastLike": lambda arrays, attrs: arrays[0].astype(arrays[1].dtype),
    "Ceil": _same(np.ceil),
    "Concat": _concat,
    "ConstantOfShape": _filled,
    "Div": _same(_div),
    "Equal": _truth(np.equal),
    "Expand": _expand,
    "Floor": _same(np.floor),
    "Gather": _gather,
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
    "Reshape": _reshape,
    "Size": lambda arrays, attrs: np.array(arrays[0].size, np.int64),
    "Slice": _slice,
    "Sqrt": _same(np.sqrt),
    "Squeeze": _squeeze,
    "Sub": _same(np.subtract),
    "Transpose": lambda arrays, attrs: np.transpose(arrays[0], attrs.get("perm")),
    "Unsqueeze": _unsqueeze,
    "Where": lambda arrays, attrs: np.where(*arrays).astype(arrays[1].dtype),
}
