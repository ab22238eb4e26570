"""Operators that move elements and that the CPU provider gets wrong, written with others.

Seen in ONNX Runtime 1.31: a ``ScatterND`` that reduces spreads its updates over threads without a
lock, so that of two that meet at one place one is lost now and then (``ScatterElements`` runs in
one thread); ``Gather`` copies only the first string of every slice; ``ScatterElements`` claims
types that it then refuses to reduce; an ``Expand`` to no elements is taken for superfluous and left
out; ``OneHot`` has no float64. Nothing is assumed of shapes: a compiled operator knows none. Each
entry of ``CORRECTIONS`` appends its replacement and returns True, or False if the node is fine.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tfx.core import dtypes
from tfx.graph.ir import Graph, Node, Value
from tfx.graph.replacement_builder import ReplacementBuilder

_FLOAT, _UINT8, _INT64, _STRING, _BOOL, _FLOAT16, _DOUBLE, _BFLOAT16 = 1, 2, 7, 8, 9, 10, 11, 16
_REDUCED_AS = {_FLOAT16: _FLOAT, _BFLOAT16: _FLOAT, _BOOL: _UINT8}
_FAR = 1 << 40  # added to the row of an invalid index, so that the kernel refuses it


def _ordered_scatter(out: Graph, node: Node) -> bool:
    """A reducing ``ScatterND`` as a ``ScatterElements`` of the rows of a matrix."""
    if node.attrs.get("reduction", "none") == "none":
        return False
    data, indices, updates = node.inputs
    assert data is not None
    assert indices is not None
    assert updates is not None
    write = ReplacementBuilder(out, node)
    shape = write.Shape(data)
    depth = write.Shape(indices, start=-1)
    leading = write.Slice(shape, write.ints([0]), depth)
    width = _product(write, write.Slice(shape, depth, write.ints([2**62])))
    rows = _rows(write, indices, leading)
    count = write.Shape(rows, end=1)
    size = write.Concat(count, width, axis=0)
    matrix = write.Concat(_product(write, leading), width, axis=0)
    table = write.Reshape(data, matrix, allowzero=1)
    values = write.Reshape(updates, size, allowzero=1)
    places = write.Expand(rows, size)
    attrs = {"axis": 0, "reduction": node.attrs["reduction"]}
    scattered = write.ScatterElements(table, places, values, **attrs)
    write.Reshape(scattered, shape, allowzero=1)
    return write.finish()


def _product(write: ReplacementBuilder, vector: Value) -> Value:
    return write.ReduceProd(vector, keepdims=1)


def _rows(write: ReplacementBuilder, indices: Value, leading: Value) -> Value:
    """``[..., depth]`` indices into the leading axes as a column of row numbers."""
    column = write.ints([-1, 1])
    if indices.shape is not None and indices.shape[-1] == 1:
        return write.Reshape(indices, column)
    zero, one = write.constant(0, _INT64), write.constant(1, _INT64)
    behind = write.Less(indices, zero)
    places = write.Where(behind, write.Add(indices, leading), indices)
    inside = write.And(write.GreaterOrEqual(places, zero), write.Less(places, leading))
    penalty = write.Where(inside, zero, write.constant(_FAR, _INT64))
    # How many rows one step along an axis passes: the product of the leading axes behind it.
    depth = write.Shape(leading)
    square = write.Expand(leading, write.Concat(depth, depth, axis=0))
    upper = write.Trilu(square, one, upper=1)
    lengths = write.Where(write.Equal(upper, zero), one, upper)
    strides = write.ReduceProd(lengths, write.ints([1]), keepdims=0)
    steps = write.Add(write.Mul(places, strides), penalty)
    total = write.ReduceSum(steps, write.ints([-1]), keepdims=0)
    return write.Reshape(total, column)


def _reducible(out: Graph, node: Node) -> bool:
    """A reducing ``ScatterElements`` between casts to a type that it takes."""
    data, indices, updates = node.inputs
    assert data is not None
    assert indices is not None
    assert updates is not None
    wide = _REDUCED_AS.get(data.dtype)
    if wide is None or node.attrs.get("reduction", "none") == "none":
        return False
    write = ReplacementBuilder(out, node)
    inputs = (write.Cast(data, to=wide), indices, write.Cast(updates, to=wide))
    write.Cast(write.ScatterElements(*inputs, **node.attrs), to=data.dtype)
    return write.finish()


def _string_slices(out: Graph, node: Node) -> bool:
    """A ``Gather`` of strings, one by one: first of the strings' numbers, then by these."""
    data, indices = node.inputs
    assert data is not None
    assert indices is not None
    if data.dtype != _STRING:
        return False
    if data.shape is not None and len(data.shape) == 1:
        return False  # single strings are copied right
    write = ReplacementBuilder(out, node)
    zero, one = write.constant(0, _INT64), write.constant(1, _INT64)
    numbers = write.Range(zero, write.Size(data), one)
    table = write.Reshape(numbers, write.Shape(data), allowzero=1)
    chosen = write.Gather(table, indices, **node.attrs)
    flat = write.Reshape(data, write.ints([-1]))
    write.Gather(flat, chosen)
    return write.finish()


def _precise_one_hot(out: Graph, node: Node) -> bool:
    """A ``OneHot`` of float64 values, which are put in place by ``Where``."""
    indices, depth, values = node.inputs
    assert indices is not None
    assert depth is not None
    assert values is not None
    if values.dtype != _DOUBLE:
        return False
    write = ReplacementBuilder(out, node)
    inputs = (write.Cast(indices, to=_INT64), write.Cast(depth, to=_INT64), write.ints([0, 1]))
    hot = write.Cast(write.OneHot(*inputs, **node.attrs), to=_BOOL)
    off, on = (write.Gather(values, write.constant(i, _INT64)) for i in (0, 1))
    write.Where(hot, on, off)
    return write.finish()


def _expanded_to_nothing(out: Graph, node: Node) -> bool:
    """An ``Expand`` whose result is known to be empty, as an empty tensor."""
    (result,) = node.outputs
    if result.dtype == _STRING or result.shape is None or 0 not in result.shape:
        return False
    dims = [d for d in result.shape if isinstance(d, int)]
    if len(dims) < len(result.shape):
        return False
    write = ReplacementBuilder(out, node)
    zero = np.zeros(1, dtypes.from_onnx(result.dtype).as_numpy_dtype)
    write.ConstantOfShape(write.ints(dims), value=zero)
    return write.finish()


CORRECTIONS: dict[str, Callable[[Graph, Node], bool]] = {
    "Expand": _expanded_to_nothing,
    "Gather": _string_slices,
    "OneHot": _precise_one_hot,
    "ScatterElements": _reducible,
    "ScatterND": _ordered_scatter,
}
