"""Shape arithmetic on symbols: what ``Shape -> Slice -> Concat -> Reshape`` chains come to.

onnx infers one node from types and constant contents; a vector that holds ``(batch, 8)`` is
neither. ``propagate`` follows such vectors through the few operators that shape code is made of.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core.dim_names import product_dim, quotient_dim, sum_dim
from tfx.core.dims import is_static
from tfx.graph.ir import Node, RawDim, Value
from tfx.graph.shape_code import MOVES, Array, contents, sizes

_MAX_DIMS = 64
# int32 and int64, with their least and their greatest number.
_INTEGERS = {6: (-(2**31), 2**31 - 1), 7: (-(2**63), 2**63 - 1)}


def elements(value: Value | None) -> tuple[RawDim, ...] | None:
    """The known elements, in row-major order, of a small tensor of integers; else None."""
    if value is None:
        return None
    if value.dims is not None:
        return value.dims
    const = value.const
    if const is not None and value.dtype in _INTEGERS and const.size <= _MAX_DIMS:
        value.dims = tuple(const.reshape(-1).tolist())
        return value.dims
    return None


def propagate(node: Node) -> None:
    """Set ``dims`` on a new node's output where its elements can be known."""
    rule = _RULES.get(node.op)
    if rule is not None and (output := node.outputs[0]).dtype in _INTEGERS:
        dims = rule(node)
        if dims is not None and len(dims) <= _MAX_DIMS and _fit(dims, output.dtype):
            output.dims = dims


def _fit(dims: tuple[RawDim, ...], dtype: int) -> bool:
    """True if numbers are of an integer type; others wrap around when the graph runs."""
    least, most = _INTEGERS[dtype]
    return all(least <= d <= most for d in dims if isinstance(d, int))


def _shape(node: Node) -> tuple[RawDim, ...] | None:
    return sizes(node.inputs[0], node.attrs)


def _moved(node: Node) -> tuple[RawDim, ...] | None:
    """By the rule for elements that are all known, which does not look at those that it moves."""
    symbols = len(node.inputs) if node.op == "Concat" else 1
    if all(elements(v) is None for v in node.inputs[:symbols]):
        return None
    arrays = [_array(v) if i < symbols else contents(v) for i, v in enumerate(node.inputs)]
    if any(a is None and v is not None for a, v in zip(arrays, node.inputs, strict=True)):
        return None
    try:
        found = MOVES[node.op](arrays, node.attrs)
    except (ValueError, IndexError, TypeError):
        return None  # the node itself says what is wrong
    return None if found is None else tuple(found.reshape(-1).tolist())


def _array(value: Value | None) -> Array | None:
    """What is known of a value's elements, in its shape; None where that is not static."""
    dims, shape = _open(value), None if value is None else value.shape
    if dims is None or shape is None:
        return None
    if len(shape) == 1:
        shape = (len(dims),)
    elif not is_static(shape):
        return None
    found = np.empty(len(dims), object)
    found[:] = dims
    return found.reshape(shape)


def _same(node: Node) -> tuple[RawDim, ...] | None:
    return elements(node.inputs[0]) if node.outputs[0].dtype in _INTEGERS else None


def _reshape(node: Node) -> tuple[RawDim, ...] | None:
    """Return the known elements of a reshape; None if they would replace one that may fail."""
    found = _same(node)
    if found is None or elements(node.inputs[1]) is not None:
        return found
    return None if is_static(found) else found


def _open(value: Value | None) -> tuple[RawDim, ...] | None:
    """Return ``elements``; for a vector of known length only, as many unknown ones."""
    known = elements(value)
    if known is not None or value is None or value.shape is None or len(value.shape) != 1:
        return known
    length = value.shape[0]
    return (None,) * length if isinstance(length, int) and length <= _MAX_DIMS else None


def _rank(value: Value | None) -> int | None:
    return None if value is None or value.shape is None else len(value.shape)


def _is_vector(node: Node) -> bool:
    """True if the result is a scalar or a vector, so that elements line up by their position."""
    return _rank(node.outputs[0]) in (0, 1)


def _arithmetic(node: Node) -> tuple[RawDim, ...] | None:
    if all(elements(v) is None for v in node.inputs):
        return None
    a, b = _open(node.inputs[0]), _open(node.inputs[1])
    if a is None or b is None or not _is_vector(node):
        return None
    if len(a) != len(b):
        a, b = (a * len(b), b) if len(a) == 1 else (a, b * len(a)) if len(b) == 1 else (a, b)
    if len(a) != len(b):
        return None
    return tuple(combine(node.op, x, y) for x, y in zip(a, b, strict=True))


def combine(op: str, x: RawDim, y: RawDim) -> RawDim:
    """An element of a sum, difference, product or quotient of integers, names being sizes."""
    if isinstance(x, int) and isinstance(y, int):
        if op == "Add":
            return x + y
        if op == "Sub":
            return x - y
        if op == "Mul":
            return x * y
        return None if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    if op == "Sub":
        return x if y == 0 else None
    if any(isinstance(d, int) and d < 0 for d in (x, y)):
        return None  # no size
    if op == "Add":
        return sum_dim((x, y))
    return product_dim((x, y)) if op == "Mul" else quotient_dim((x,), (y,))


def _reduce_prod(node: Node) -> tuple[RawDim, ...] | None:
    data = elements(node.inputs[0])
    if data is None or _rank(node.inputs[0]) != 1 or _keeps_elements(node):
        return None
    return (product_dim(data),)


def _keeps_elements(node: Node) -> bool:
    """True if a reduction reduces nothing, because its axes are empty or may be."""
    axes = node.inputs[1] if len(node.inputs) > 1 else None
    return bool(node.attrs.get("noop_with_empty_axes", 0)) and not elements(axes)


def _range(node: Node) -> tuple[RawDim, ...] | None:
    bounds = [elements(v) for v in node.inputs]
    numbers = [b[0] for b in bounds if b is not None and len(b) == 1 and isinstance(b[0], int)]
    if len(numbers) != 3 or numbers[2] == 0:
        return None
    found = range(*numbers)
    return tuple(found) if len(found) <= _MAX_DIMS else None


_RULES: dict[str, Any] = {
    "Shape": _shape,
    "Cast": _same,
    "Identity": _same,
    "Squeeze": _same,
    "Unsqueeze": _same,
    "Reshape": _reshape,
    "Range": _range,
    "Concat": _moved,
    "Gather": _moved,
    "Slice": _moved,
    "Transpose": _moved,
    "Add": _arithmetic,
    "Sub": _arithmetic,
    "Mul": _arithmetic,
    "Div": _arithmetic,
    "ReduceProd": _reduce_prod,
}
