"""Operators that only copy, as programs of loops do it: rows, parts, places and joins of tensors.

Between other operators ONNX Runtime's own are as quick, but for other axes of few numbers; in the
body of a loop they are all that stands between it and one program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfx.core.dims import is_static
from tfx.graph.fusion.symbols import Shape, Symbols
from tfx.graph.ir import Node, Value
from tfx.kernels.programs import MAX_JOINED, MAX_LENGTH, MAX_RANK, Join, Place, Row, View, bits

_INTEGERS = (6, 7)
# Types that programs have, by ONNX's codes.
_KINDS = (1, 2, 6, 7, 9, 11, 12, 13)
# Of the whole tensor: a view of one that large is not worth a program.
_MOST_ELEMENTS = 1 << 24

_FLOATS = (1, 11)
# Of more elements, a copy takes longer than an operator that leaves them where they are.
_SMALL_RESHAPE = 2048

_Bytes = np.ndarray[Any, np.dtype[np.int8]]


class _Part(NamedTuple):
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


def is_copy(node: Node) -> bool:
    """True if a node is copied by a loop of its own: in bodies of loops, few elements elsewhere."""
    if node.op not in _VIEWS and node.op not in ("Concat", "Pad"):
        return False
    if len(node.outputs) != 1 or node.outputs[0].dtype not in _KINDS:
        return False
    return _takes_row(node) or _part(node) is not None or _place(node) is not None or _joins(node)


def is_small_reshape(node: Node) -> bool:
    """True if a node which ``is_copy`` only gives few floats other axes.

    Where it stands between operators that run together it would part them, for the sake of what
    takes a program no time.
    """
    if _VIEWS.get(node.op) is not _reshape or node.outputs[0].dtype not in _FLOATS:
        return False
    sizes = _static(node.outputs[0])
    return sizes is not None and math.prod(sizes) <= _SMALL_RESHAPE and is_copy(node)


def copied(node: Node) -> list[Value]:
    """The tensors that a node which ``is_copy`` reads; its other inputs say what is copied."""
    if _takes_row(node) or _joins(node):
        return [value for value in node.inputs if value is not None]
    return [value for value in node.inputs[:1] if value is not None]


def write_copy(node: Node, tensors: Sequence[int], output: int) -> Row | View | Place | Join:
    """The copy that a node is.

    Args:
        node: One that ``is_copy``.
        tensors: The numbers of what ``copied`` says.
        output: The output that it writes.
    """
    if _takes_row(node):
        return Row(tensors[0], tensors[1], output)
    if _joins(node):
        return Join(_axis(node), tuple(tensors), output)
    whole, place, part = (node.inputs[0], node.outputs[0]), _place(node), _part(node)
    sizes = [_static(value) or () for value in whole if value is not None]
    if place is not None:
        return Place(tensors[0], sizes[1], *place, _fill(node), output)
    assert part is not None  # as ``is_copy`` says
    return View(tensors[0], sizes[0], *part, output)


def learn_copy(node: Node, symbols: Symbols) -> Shape | None:
    """The shape of the result of a node that ``is_copy``, from now on; None: it is not known."""
    shapes = [symbols.shape(value) for value in copied(node)]
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes):
        return None
    if _takes_row(node):
        data, index = known
        return symbols.learnt(node, (*(1 for _ in index), *data[1:]))
    if not _joins(node):
        return symbols.learnt(node, _static(node.outputs[0]))
    axis, first = _axis(node), known[0]
    said = node.outputs[0].shape
    if said is None or len(said) != len(first):
        return None
    sizes = [shape[axis] for shape in known]
    numbers = [size for size in sizes if isinstance(size, int)]
    length = sum(numbers) if len(numbers) == len(sizes) else said[axis]
    if length is None:
        return None
    return symbols.learnt(node, (*first[:axis], length, *first[axis + 1 :]))


def _static(value: Value) -> tuple[int, ...] | None:
    if value.shape is None:
        return None
    sizes = [size for size in value.shape if isinstance(size, int)]
    return tuple(sizes) if len(sizes) == len(value.shape) else None


def _is_tensor(value: Value | None) -> bool:
    """True if a program can be given a value; a constant of one number is a part of it."""
    return value is not None and (value.const is None or value.const.size != 1)


def _takes_row(node: Node) -> bool:
    if node.op != "Gather" or node.attrs.get("axis", 0) != 0:
        return False
    data, index = node.inputs
    if not _is_tensor(data) or not _is_tensor(index) or data is None or index is None:
        return False
    if index.dtype not in _INTEGERS or index.shape not in ((), (1,)) or index.const is not None:
        return False
    return data.shape is not None and 1 <= len(data.shape) <= MAX_RANK


def _joins(node: Node) -> bool:
    if node.op != "Concat" or not 1 <= len(node.inputs) <= MAX_JOINED:
        return False
    shapes = [None if value is None else value.shape for value in node.inputs]
    if any(shape is None or len(shape) > MAX_RANK for shape in shapes):
        return False
    return all(map(_is_tensor, node.inputs)) and -len(shapes[0] or ()) <= node.attrs["axis"]


def _axis(node: Node) -> int:
    shape = node.outputs[0].shape or node.inputs[0].shape  # type: ignore[union-attr]
    return int(node.attrs["axis"]) % max(len(shape or ()), 1)


def _slice(x: _Bytes, node: Node) -> _Bytes | None:
    given = [None if v is None or v.const is None else v.const.reshape(-1) for v in node.inputs[1:]]
    if len(given) < 2 or any(g is None for g in given):
        return None
    starts, ends, *rest = ([int(n) for n in g] for g in given if g is not None)
    axes = rest[0] if rest else range(len(starts))
    steps = rest[1] if len(rest) > 1 else [1] * len(starts)
    parts = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        size = x.shape[axis]
        start, end = (n + size if n < 0 else n for n in (start, end))
        if step > 0:
            parts[axis] = slice(min(max(start, 0), size), min(max(end, 0), size), step)
        else:
            # In front of the first is -1, which Python's slices would count from the end.
            start, end = min(max(start, 0), size - 1), min(max(end, -1), size - 1)
            parts[axis] = slice(start, None if end < 0 else end, step)
    return x[tuple(parts)]


def _gather(x: _Bytes, node: Node) -> _Bytes | None:
    index = node.inputs[1]
    if index is None or index.const is None or index.const.ndim != 0:
        return None
    axis, row = node.attrs.get("axis", 0), int(index.const)
    if not -x.shape[axis] <= row < x.shape[axis]:
        return None  # ONNX Runtime says what is wrong with it
    rows: _Bytes = np.moveaxis(x, axis, 0)
    seen: _Bytes = rows[row, ...]
    return seen


def _sizes_made(node: Node) -> tuple[int, ...] | None:
    """The sizes of a result that is given a shape; None where that is not known to be this one.

    A shape that only a run tells may be refused: a guard asks for an impossible size.
    """
    given = node.inputs[1] if len(node.inputs) > 1 else None
    if given is not None and given.const is None and not is_static(given.dims):
        return None
    return _static(node.outputs[0])


def _reshape(x: _Bytes, node: Node) -> _Bytes | None:
    sizes = _sizes_made(node)
    return x.reshape(sizes) if sizes is not None and np.prod(sizes) == x.size else None


def _expand(x: _Bytes, node: Node) -> _Bytes | None:
    sizes = _sizes_made(node)
    try:
        return None if sizes is None else np.broadcast_to(x, sizes)
    except ValueError:
        return None


# What each operator sees of a tensor of bytes in order: a view, whose strides say what is copied.
_VIEWS: dict[str, Callable[[_Bytes, Node], _Bytes | None]] = {
    "Slice": _slice,
    "Gather": _gather,
    "Expand": _expand,
    "Transpose": lambda x, node: x.transpose(node.attrs.get("perm")),
    **dict.fromkeys(("Reshape", "Squeeze", "Unsqueeze", "Flatten"), _reshape),
}


def _part(node: Node) -> _Part | None:
    """The part of its input that a node copies; None if it is not the same in every run."""
    see = _VIEWS.get(node.op)
    x = node.inputs[0] if see is not None else None
    if see is None or x is None or not _is_tensor(x):
        return None
    sizes = _static(x)
    if sizes is None or len(sizes) > MAX_RANK or not 0 < np.prod(sizes) <= _MOST_ELEMENTS:
        return None
    whole: _Bytes = np.empty(sizes, np.int8)  # memory that is never touched
    seen = see(whole, node)
    if seen is None or seen.ndim > MAX_RANK or max(seen.shape, default=0) > MAX_LENGTH:
        return None
    if seen.size == 0 or _static(node.outputs[0]) != seen.shape:
        return None
    return _part_of(whole, seen)


def _part_of(whole: _Bytes, seen: _Bytes) -> _Part:
    first = seen.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return _Part(first, seen.shape, seen.strides)


def _place(node: Node) -> _Part | None:
    """Where a node that pads puts its input; None if it is no such node, or cuts."""
    if node.op != "Pad" or node.attrs.get("mode", "constant") not in ("constant", b"constant"):
        return None
    x, pads, fill, axes = [*node.inputs, None, None][:4]
    sizes = None if x is None or not _is_tensor(x) else _static(x)
    if sizes is None or pads is None or pads.const is None or len(sizes) > MAX_RANK:
        return None
    if (fill is not None and fill.const is None) or (axes is not None and axes.const is None):
        return None
    named = range(len(sizes)) if axes is None or axes.const is None else axes.const.reshape(-1)
    before, after = pads.const.reshape(2, -1).tolist()
    begins, wholes = [0] * len(sizes), list(sizes)
    for axis, front, behind in zip(named, before, after, strict=True):
        if min(front, behind) < 0:
            return None
        begins[axis], wholes[axis] = front, sizes[axis] + front + behind
    result = _static(node.outputs[0])
    if 0 in sizes or tuple(wholes) != result or not np.prod(wholes) <= _MOST_ELEMENTS:
        return None
    whole: _Bytes = np.empty(result, np.int8)
    parts = [slice(begin, begin + size) for begin, size in zip(begins, sizes, strict=True)]
    return _part_of(whole, whole[tuple(parts)])


def _fill(node: Node) -> int:
    fill = node.inputs[2] if len(node.inputs) > 2 else None
    return 0 if fill is None or fill.const is None else bits(fill.const)
