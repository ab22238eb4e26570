"""Shape arithmetic on symbols: what ``Shape -> Slice -> Concat -> Reshape`` chains come to.

onnx infers one node from types and constant contents; a vector that holds ``(batch, 8)`` is
neither. ``propagate`` follows such vectors through the few operators that shape code is made of,
and ``refine_shapes`` uses them where an operator takes a shape as an input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core.dims import is_static
from tfx.graph.formulas.windows import window_of
from tfx.graph.ir import Attributes, Node, RawDim, RawShape, Value
from tfx.graph.shape_code import MOVES, Array, contents, sizes

_MAX_DIMS = 64
# int32 and int64, with their least and their greatest number.
_INTEGERS = {6: (-(2**31), 2**31 - 1), 7: (-(2**63), 2**63 - 1)}
# Operators whose input (by position) is the output's shape.
_SHAPE_INPUT = {"Reshape": 1, "ConstantOfShape": 0}


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
    return tuple(_combine(node.op, x, y) for x, y in zip(a, b, strict=True))


def _combine(op: str, x: RawDim, y: RawDim) -> RawDim:
    if isinstance(x, int) and isinstance(y, int):
        if op == "Add":
            return x + y
        if op == "Sub":
            return x - y
        if op == "Mul":
            return x * y
        return None if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    if op == "Mul" and 1 in (x, y):
        return y if x == 1 else x
    if op in ("Div", "Mul") and y == 1:
        return x
    if op in ("Add", "Sub") and y == 0:
        return x
    return None


def _reduce_prod(node: Node) -> tuple[RawDim, ...] | None:
    data = elements(node.inputs[0])
    if data is None or _rank(node.inputs[0]) != 1 or _keeps_elements(node):
        return None
    symbols = [d for d in data if not isinstance(d, int)]
    known = math.prod(d for d in data if isinstance(d, int))
    if not symbols or known == 0:
        return (known,)
    return (symbols[0],) if len(symbols) == 1 and known == 1 else (None,)


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


def refine_shapes(
    op: str,
    inputs: Sequence[Value | None],
    attrs: Attributes,
    types: list[tuple[int, RawShape]],
) -> list[tuple[int, RawShape]]:
    """Fill dimensions in that onnx left open but that symbols tell."""
    if op in ("Reshape", "ConstantOfShape"):
        target = elements(inputs[_SHAPE_INPUT[op]])
        if target is not None:
            data = inputs[0]
            shape = target
            if op == "Reshape":
                source = None if data is None else data.shape
                shape = reshaped(source, target, allow_zero=bool(attrs.get("allowzero")))
            return [(types[0][0], _merge(types[0][1], shape))]
    elif op == "Expand":
        target, data = elements(inputs[1]), inputs[0]
        if target is not None and data is not None and data.shape is not None:
            return [(types[0][0], _merge(types[0][1], _broadcast(data.shape, target)))]
    elif op in _SHAPES:
        return _SHAPES[op](inputs, attrs, types)
    elif op == "Tile":
        repeats, data = elements(inputs[1]), inputs[0]
        if repeats is not None and data is not None:
            shape = data.shape or (None,) * len(repeats)
            tiled = tuple(_combine("Mul", d, r) for d, r in zip(shape, repeats, strict=False))
            return [(types[0][0], _merge(types[0][1], tiled))]
    return types


def _slice_shape(inputs: _Inputs, attrs: Attributes, types: _Types) -> _Types:
    """Axes that are not cut keep their symbols, and so do those taken whole or turned around."""
    data, starts, ends, axes, steps = (*inputs, None, None)[:5]
    first, last = elements(starts), elements(ends)
    along = elements(axes) if axes is not None else None if first is None else range(len(first))
    if data is None or data.shape is None or along is None:
        return types
    by = [1] * len(along) if steps is None else elements(steps)
    shape = list(data.shape)
    for i, axis in enumerate(along):
        bounds = [None if v is None else v[i] for v in (first, last, by)]
        if not isinstance(axis, int):
            return types
        if not _takes_all(*bounds):
            shape[axis] = _cut(shape[axis], *bounds)
    return [(types[0][0], _merge(types[0][1], tuple(shape)))]


def _cut(size: RawDim, first: RawDim, last: RawDim, step: RawDim) -> RawDim:
    """Return the length of a slice of an axis if all arguments are known integers, else None."""
    if not (isinstance(size, int) and isinstance(first, int) and isinstance(last, int)):
        return None
    return len(range(size)[first:last:step]) if isinstance(step, int) and step else None


def _pad_shape(inputs: _Inputs, attrs: Attributes, types: _Types) -> _Types:
    """Axes that are padded by known amounts, whatever is padded to the others."""
    data, amounts = inputs[0], elements(inputs[1])
    if data is None or amounts is None or (len(inputs) > 3 and inputs[3] is not None):
        return types
    rank = len(amounts) // 2
    source = data.shape if data.shape is not None else (None,) * rank
    both = [_combine("Add", a, b) for a, b in zip(amounts[:rank], amounts[rank:], strict=True)]
    shape = tuple(_combine("Add", d, n) for d, n in zip(source, both, strict=False))
    return [(types[0][0], _merge(types[0][1], shape))]


def _takes_all(first: RawDim, last: RawDim, step: RawDim) -> bool:
    if not (isinstance(first, int) and isinstance(last, int)):
        return False
    if step == 1:
        return first == 0 and last >= _END
    return step == -1 and (first == -1 or first >= _END) and last <= -_END


# Bounds behind (or in front of) every tensor.
_END = 2**62


def _resize_shape(inputs: _Inputs, attrs: Attributes, types: _Types) -> _Types:
    """The sizes that are asked for, where all axes have one."""
    sizes = elements(inputs[3]) if len(inputs) > 3 else None
    if sizes is None or attrs.get("axes") or attrs.get("keep_aspect_ratio_policy"):
        return types
    return [(types[0][0], _merge(types[0][1], sizes))]


def _top_shape(inputs: _Inputs, attrs: Attributes, types: _Types) -> _Types:
    """The data's shape with ``k`` on one axis."""
    data, count = inputs[0], elements(inputs[1])
    if data is None or not data.shape:
        return types
    shape = list(data.shape)
    shape[attrs.get("axis", -1)] = None if count is None else count[0]
    return [(dtype, _merge(inferred, tuple(shape))) for dtype, inferred in types]


def _range_shape(inputs: _Inputs, attrs: Attributes, types: _Types) -> _Types:
    """0, 1, 2... up to a dimension has its length."""
    start, limit, delta = (elements(v) for v in inputs)
    if start == (0,) and delta == (1,) and limit is not None:
        return [(types[0][0], _merge(types[0][1], (limit[0],)))]
    return types


def _pool_shape(inputs: _Inputs, attrs: Attributes, types: _Types) -> _Types:
    """Correct onnx's ``ceil_mode``: no window begins behind the image and its front padding."""
    source = inputs[0].shape if inputs[0] is not None else None
    if not attrs.get("ceil_mode") or source is None or types[0][1] is None:
        return types
    window = window_of(attrs, attrs["kernel_shape"])
    if isinstance(window.padding, str):
        return types
    counts = []
    for i, count in enumerate(types[0][1][2:]):
        size, stride = source[2 + i], window.strides[i]
        if isinstance(count, int) and isinstance(size, int):
            count -= (count - 1) * stride >= size + window.padding[i][0]
        counts.append(count)
    shape = (*types[0][1][:2], *counts)
    return [(code, shape) for code, _ in types]


_Types = list[tuple[int, RawShape]]
_Inputs = Sequence[Value | None]
_SHAPES: dict[str, Callable[[_Inputs, Attributes, _Types], _Types]] = {
    "AveragePool": _pool_shape,
    "LpPool": _pool_shape,
    "MaxPool": _pool_shape,
    "Pad": _pad_shape,
    "Range": _range_shape,
    "Resize": _resize_shape,
    "Slice": _slice_shape,
    "TopK": _top_shape,
}


def _merge(a: RawShape, b: RawShape) -> RawShape:
    if a is None or b is None or len(a) != len(b):
        return b if a is None else a
    return tuple(
        y if x is None or (isinstance(x, str) and y is not None) else x
        for x, y in zip(a, b, strict=True)
    )


def reshaped(
    source: RawShape, target: tuple[RawDim, ...], *, allow_zero: bool
) -> tuple[RawDim, ...]:
    """The shape that Reshape gives a tensor of shape ``source`` for the elements ``target``."""
    shape: list[RawDim] = []
    for i, dim in enumerate(target):
        if dim == 0 and not allow_zero:
            shape.append(source[i] if source is not None and i < len(source) else None)
        else:
            shape.append(dim)
    if -1 in shape:
        shape[shape.index(-1)] = _remaining(source, shape)
    return tuple(shape)


def _remaining(source: RawShape, target: Sequence[RawDim]) -> RawDim:
    """Return the size that -1 stands for: the source's elements over the target's; else None."""
    if source is None:
        return None
    rest = list(source)
    known = 1
    for dim in target:
        if dim == -1:
            continue
        if isinstance(dim, int):
            known *= dim
        elif dim is not None and dim in rest:
            rest.remove(dim)
        else:
            return None
    numbers = math.prod(d for d in rest if isinstance(d, int))
    symbols = [d for d in rest if not isinstance(d, int)]
    if not symbols:
        return numbers // known if known and numbers % known == 0 else None
    return symbols[0] if len(symbols) == 1 and numbers == known else None


def _broadcast(a: tuple[RawDim, ...], b: tuple[RawDim, ...]) -> tuple[RawDim, ...]:
    width = max(len(a), len(b))
    a, b = (1,) * (width - len(a)) + a, (1,) * (width - len(b)) + b
    return tuple(
        y
        if x == 1
        else x
        if y == 1 or x == y
        else (x if isinstance(x, int) else y if isinstance(y, int) else None)
        for x, y in zip(a, b, strict=True)
    )
