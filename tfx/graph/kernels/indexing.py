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
from tfx.graph.writer import Writer

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
    write = Writer(out, node)
    shape = write.op("Shape", data)
    depth = write.add("Shape", (indices,), {"start": -1})
    leading = write.op("Slice", shape, write.ints([0]), depth)
    width = _product(write, write.op("Slice", shape, depth, write.ints([2**62])))
    rows = _rows(write, indices, leading)
    count = write.add("Shape", (rows,), {"end": 1})
    size = write.add("Concat", (count, width), {"axis": 0})
    matrix = write.add("Concat", (_product(write, leading), width), {"axis": 0})
    table = write.add("Reshape", (data, matrix), {"allowzero": 1})
    values = write.add("Reshape", (updates, size), {"allowzero": 1})
    places = write.op("Expand", rows, size)
    attrs = {"axis": 0, "reduction": node.attrs["reduction"]}
    scattered = write.add("ScatterElements", (table, places, values), attrs)
    write.add("Reshape", (scattered, shape), {"allowzero": 1})
    return write.finish()


def _product(write: Writer, vector: Value) -> Value:
    return write.add("ReduceProd", (vector,), {"keepdims": 1})


def _rows(write: Writer, indices: Value, leading: Value) -> Value:
    """``[..., depth]`` indices into the leading axes as a column of row numbers."""
    column = write.ints([-1, 1])
    if indices.shape is not None and indices.shape[-1] == 1:
        return write.op("Reshape", indices, column)
    zero, one = write.constant(0, _INT64), write.constant(1, _INT64)
    behind = write.op("Less", indices, zero)
    places = write.op("Where", behind, write.op("Add", indices, leading), indices)
    inside = write.op(
        "And", write.op("GreaterOrEqual", places, zero), write.op("Less", places, leading)
    )
    penalty = write.op("Where", inside, zero, write.constant(_FAR, _INT64))
    # How many rows one step along an axis passes: the product of the leading axes behind it.
    depth = write.op("Shape", leading)
    square = write.op("Expand", leading, write.add("Concat", (depth, depth), {"axis": 0}))
    upper = write.add("Trilu", (square, one), {"upper": 1})
    lengths = write.op("Where", write.op("Equal", upper, zero), one, upper)
    strides = write.add("ReduceProd", (lengths, write.ints([1])), {"keepdims": 0})
    steps = write.op("Add", write.op("Mul", places, strides), penalty)
    total = write.add("ReduceSum", (steps, write.ints([-1])), {"keepdims": 0})
    return write.op("Reshape", total, column)


def _reducible(out: Graph, node: Node) -> bool:
    """A reducing ``ScatterElements`` between casts to a type that it takes."""
    data, indices, updates = node.inputs
    assert data is not None
    assert indices is not None
    assert updates is not None
    wide = _REDUCED_AS.get(data.dtype)
    if wide is None or node.attrs.get("reduction", "none") == "none":
        return False
    write = Writer(out, node)
    inputs = (write.cast(data, wide), indices, write.cast(updates, wide))
    write.cast(write.add("ScatterElements", inputs, node.attrs), data.dtype)
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
    write = Writer(out, node)
    zero, one = write.constant(0, _INT64), write.constant(1, _INT64)
    numbers = write.op("Range", zero, write.op("Size", data), one)
    table = write.add("Reshape", (numbers, write.op("Shape", data)), {"allowzero": 1})
    chosen = write.add("Gather", (table, indices), node.attrs)
    flat = write.op("Reshape", data, write.ints([-1]))
    write.op("Gather", flat, chosen)
    return write.finish()


def _precise_one_hot(out: Graph, node: Node) -> bool:
    """A ``OneHot`` of float64 values, which are put in place by ``Where``."""
    indices, depth, values = node.inputs
    assert indices is not None
    assert depth is not None
    assert values is not None
    if values.dtype != _DOUBLE:
        return False
    write = Writer(out, node)
    inputs = (write.cast(indices, _INT64), write.cast(depth, _INT64), write.ints([0, 1]))
    hot = write.cast(write.add("OneHot", inputs, node.attrs), _BOOL)
    off, on = (write.op("Gather", values, write.constant(i, _INT64)) for i in (0, 1))
    write.op("Where", hot, on, off)
    return write.finish()


def _expanded_to_nothing(out: Graph, node: Node) -> bool:
    """An ``Expand`` whose result is known to be empty, as an empty tensor."""
    (result,) = node.outputs
    if result.dtype == _STRING or result.shape is None or 0 not in result.shape:
        return False
    dims = [d for d in result.shape if isinstance(d, int)]
    if len(dims) < len(result.shape):
        return False
    write = Writer(out, node)
    zero = np.zeros(1, dtypes.from_onnx(result.dtype).as_numpy_dtype)
    write.add("ConstantOfShape", (write.ints(dims),), {"value": zero})
    return write.finish()


CORRECTIONS: dict[str, Callable[[Graph, Node], bool]] = {
    "Expand": _expanded_to_nothing,
    "Gather": _string_slices,
    "OneHot": _precise_one_hot,
    "ScatterElements": _reducible,
    "ScatterND": _ordered_scatter,
}
