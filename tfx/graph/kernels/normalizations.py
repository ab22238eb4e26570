"""Normalizations over many elements, by their definitions.

Seen in ONNX Runtime 1.31: the kernels add one element after the other, as its reductions do (see
``sums``), so that what they call a mean of ten million normals around 0 is off by 2e-3 standard
deviations, of normals around 100 by 3e-3. ``GroupNormalization`` has no kernel; the runtime puts
``mean(x**2) - mean(x)**2`` in its place, which has lost all digits there (4.6 standard deviations).
Mean and variance are therefore reductions of their own where the normalized axes are long, in two
passes. Up to a thousand elements the kernels are as accurate as a sum in pairs, up to 4096 where
the axes lie last; they are kept, since one kernel is faster than eight. On a GPU all are right.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tfx.core import dtypes
from tfx.core.dims import is_static
from tfx.graph.ir import Attributes, Graph, Node, RawDim, Value
from tfx.graph.kernels.accurate_sums import Correction, reduced_in_branch, write_branches
from tfx.graph.replacement_builder import ReplacementBuilder
from tfx.graph.tags import Mark

_FLOAT, _FLOAT16, _DOUBLE, _BFLOAT16 = 1, 10, 11, 16
_REAL = (_FLOAT, _FLOAT16, _DOUBLE, _BFLOAT16)
_EPSILON = 1e-5

# A reduction of the given name over axes that stay as axes of length 1.
Reduce: TypeAlias = Callable[[str, Value, Sequence[int]], Value]


@dataclass(frozen=True)
class _Kind:
    """The decomposition of an operator into the terms of its definition.

    Attributes:
        limit: Up to that many elements its kernel is accurate.
        axes: The normalized axes, given the rank and the attributes.
        write: Writes it; gives its outputs.
        parts: Into how many parts the product of the axes' sizes is divided.
    """

    limit: int
    axes: Callable[[int, Attributes], Sequence[int]]
    write: Callable[[_Definition], list[Value]]
    parts: Callable[[Attributes], int] = lambda attrs: 1


class _Definition:
    """A normalization that is being written.

    Args:
        write: Takes the nodes.
        node: The normalization.
        axes: What is normalized, counted from the front.
        reduce: Writes a reduction.
    """

    def __init__(
        self, write: ReplacementBuilder, node: Node, axes: Sequence[int], reduce: Reduce
    ) -> None:
        self.write, self.node, self.axes, self.reduce = write, node, axes, reduce
        x = node.inputs[0]
        assert x is not None
        self.x = write.Cast(x, to=_FLOAT) if x.dtype in (_FLOAT16, _BFLOAT16) else x
        self.given = x

    def number(self, value: float) -> Value:
        """A scalar of the type that is computed in."""
        kind = dtypes.from_onnx(self.x.dtype).as_numpy_dtype
        return self.write.graph.add_constant(np.array(value, kind), self.x.dtype)

    def typed(self, y: Value, dtype: int) -> Value:
        """``y`` in another type, if it is another."""
        return y if y.dtype == dtype else self.write.Cast(y, to=dtype)

    def like_result(self, y: Value) -> Value:
        return self.typed(y, self.node.outputs[0].dtype)

    def moments(self, x: Value, axes: Sequence[int]) -> tuple[Value, Value, Value]:
        """The mean, ``x`` without it, and the variance."""
        mean = self.reduce("ReduceMean", x, axes)
        centered = self.write.Sub(x, mean)
        squares = self.write.Mul(centered, centered)
        return mean, centered, self.reduce("ReduceMean", squares, axes)

    def deviation(self, variance: Value) -> Value:
        """The standard deviation, which is not 0."""
        epsilon = self.number(self.node.attrs.get("epsilon", _EPSILON))
        return self.write.Sqrt(self.write.Add(variance, epsilon))

    def per_channel(self, i: int, rank: int | None = None) -> Value:
        """An input with a number for each channel, in a form that broadcasts."""
        value = self.node.inputs[i]
        assert value is not None
        assert self.given.shape is not None
        behind = [1] * ((rank or len(self.given.shape)) - 2)
        value = self.typed(value, self.x.dtype)
        if not behind:
            return value
        return self.write.Reshape(value, self.write.ints([-1, *behind]))

    def scaled(self, h: Value, deviation: Value | None = None, rank: int | None = None) -> Value:
        """Times the second input, plus the third, channel by channel.

        A deviation of each channel divides the scale: that is one pass over the elements less.
        """
        scale = self.per_channel(1, rank)
        if deviation is not None:
            scale = self.write.Div(scale, deviation)
        y = self.write.Mul(h, scale)
        return self.like_result(self.write.Add(y, self.per_channel(2, rank)))


def _layer(d: _Definition) -> list[Value]:
    """Write a layer normalization; the result has the type of the scale, which may be narrow."""
    mean, centered, variance = d.moments(d.x, d.axes)
    deviation = d.deviation(variance)
    _, scale, *bias = d.node.inputs
    assert scale is not None
    y = d.write.Mul(d.like_result(d.write.Div(centered, deviation)), scale)
    if bias and bias[0] is not None:
        y = d.write.Add(y, bias[0])
    made = [y]
    for value, output in zip((mean, deviation), d.node.outputs[1:], strict=False):
        found = value if value is mean else d.write.Reciprocal(value)
        made.append(d.typed(found, output.dtype))
    return made


def _root_mean_square(d: _Definition) -> list[Value]:
    squares = d.reduce("ReduceMean", d.write.Mul(d.x, d.x), d.axes)
    h = d.write.Div(d.x, d.deviation(squares))
    scale = d.node.inputs[1]
    assert scale is not None
    return [d.like_result(d.write.Mul(d.typed(h, scale.dtype), scale))]


def _instance(d: _Definition) -> list[Value]:
    """Pixels of unknown number lie on one axis: an axis of size 0 among others cannot be cut."""
    assert d.given.shape is not None
    if len(d.given.shape) == 3 or is_static(d.given.shape[2:]):
        _, centered, variance = d.moments(d.x, d.axes)
        return [d.scaled(centered, d.deviation(variance))]
    size = d.write.ReduceProd(d.write.Shape(d.given, start=2))
    flat = d.write.Concat(d.write.ints([0, 0]), size, axis=0)
    _, centered, variance = d.moments(d.write.Reshape(d.x, flat), [2])
    y = d.scaled(centered, d.deviation(variance), rank=3)
    return [_in_shape_of(d, y)]


def _in_shape_of(d: _Definition, y: Value) -> Value:
    """Return `y` in the shape of the input."""
    made = d.write.Reshape(y, d.write.Shape(d.given), allowzero=1)
    made.shape = d.given.shape
    return made


def _group(d: _Definition) -> list[Value]:
    """Write a group normalization: the channels of a group are one axis."""
    grouped = d.write.Reshape(d.x, _grouped_shape(d))
    _, centered, variance = d.moments(grouped, [2])
    h = d.write.Div(centered, d.deviation(variance))
    return [d.scaled(_in_shape_of(d, h))]


def _grouped_shape(d: _Definition) -> Value:
    """Return the shape by groups, without -1: there may be no elements."""
    write, groups = d.write, int(d.node.attrs["num_groups"])
    assert d.given.shape is not None
    sizes = [size for size in d.given.shape[1:] if isinstance(size, int)]
    if len(sizes) == len(d.given.shape) - 1:
        return write.ints([0, groups, math.prod(sizes) // groups])
    behind = write.Shape(d.given, start=1)
    size = write.ReduceProd(behind, keepdims=1)
    length = write.Div(size, write.ints([groups]))
    assert length.node is not None
    length.node.tag = Mark.SAFE_DIVISOR
    return write.Concat(write.ints([0, groups]), length, axis=0)


def _mean_variance(d: _Definition) -> list[Value]:
    """Write ``MeanVarianceNormalization``, which has no epsilon in the root."""
    _, centered, variance = d.moments(d.x, d.axes)
    deviation = d.write.Add(d.write.Sqrt(variance), d.number(1e-9))
    return [d.like_result(d.write.Div(centered, deviation))]


def _batch(d: _Definition) -> list[Value]:
    """Write a batch normalization by the batch's moments, and update the running moments."""
    mean, centered, variance = d.moments(d.x, d.axes)
    made = [d.scaled(centered, d.deviation(variance))]
    momentum = d.node.attrs.get("momentum", 0.9)
    flat = d.write.ints([-1])
    for i, value in enumerate((mean, variance)[: len(d.node.outputs) - 1]):
        old, output = d.node.inputs[3 + i], d.node.outputs[1 + i]
        assert old is not None
        kept = d.write.Mul(d.typed(old, d.x.dtype), d.number(momentum))
        new = d.write.Reshape(value, flat)
        moved = d.write.Mul(new, d.number(1 - momentum))
        made.append(d.typed(d.write.Add(kept, moved), output.dtype))
    return made


def _over_norm(d: _Definition) -> list[Value]:
    """Zeros stay zeros."""
    op = "ReduceL1" if d.node.attrs.get("p", 2) == 1 else "ReduceL2"
    norm = d.reduce(op, d.x, d.axes)
    none = d.write.Equal(norm, d.number(0.0))
    norm = d.write.Where(none, d.number(1.0), norm)
    return [d.like_result(d.write.Div(d.x, norm))]


def _trailing(rank: int, attrs: Attributes) -> Sequence[int]:
    return range(attrs.get("axis", -1) % rank, rank)


def _positions(rank: int, attrs: Attributes) -> Sequence[int]:
    return range(2, rank)


def _all_but_channels(rank: int, attrs: Attributes) -> Sequence[int]:
    """Return the axes of a batch norm that computes moments, and none of one that does not."""
    return [0, *range(2, rank)] if attrs.get("training_mode") else []


def _named(rank: int, attrs: Attributes) -> Sequence[int]:
    return sorted({a % rank for a in attrs.get("axes", (0, 2, 3))})


_KINDS = {
    "BatchNormalization": _Kind(256, _all_but_channels, _batch),
    "GroupNormalization": _Kind(
        1024, lambda rank, attrs: range(1, rank), _group, lambda attrs: int(attrs["num_groups"])
    ),
    "InstanceNormalization": _Kind(256, _positions, _instance),
    "LayerNormalization": _Kind(4096, _trailing, _layer),
    "LpNormalization": _Kind(1024, lambda rank, attrs: [attrs.get("axis", -1) % rank], _over_norm),
    "MeanVarianceNormalization": _Kind(1024, _named, _mean_variance),
    "RMSNormalization": _Kind(4096, _trailing, _root_mean_square),
}


def is_long(op: str, shape: Sequence[RawDim], attrs: Attributes) -> bool:
    """Return whether more elements are normalized than the kernel sums accurately.

    Args:
        op: The operator.
        shape: The shape of its input. What has unknown sizes is not long.
        attrs: Its attributes.
    """
    kind = _KINDS[op]
    sizes = [shape[a] for a in kind.axes(len(shape), attrs)] if shape else []
    known = [d for d in sizes if isinstance(d, int)]
    if not sizes or len(known) < len(sizes):
        return False
    return math.prod(known) > kind.limit * kind.parts(attrs)


def _normalization(out: Graph, node: Node, asks: bool) -> bool:
    """Write a normalization by its definition if it is long."""
    x = node.inputs[0]
    if node.tag is not None or x is None or not x.shape or x.dtype not in _REAL:
        return False
    kind, rank = _KINDS[node.op], len(x.shape)
    if node.op != "LpNormalization" and rank < 2 and kind.axes is not _trailing:
        return False
    axes = kind.axes(rank, node.attrs)
    if not axes:
        return False
    if all(isinstance(d, int) for d in (x.shape[a] for a in axes)):
        if not is_long(node.op, x.shape, node.attrs):
            return False
    elif _is_short(node, axes):
        return False
    elif asks:
        limit = kind.limit * kind.parts(node.attrs)
        write_long = functools.partial(_in_branch, kind=kind, axes=axes)
        # The kernel of images without pixels never ends.
        empty = node.op == "InstanceNormalization"
        write_branches(out, node, x, tuple(axes), limit, write_long, or_nothing=empty)
        return True
    write = ReplacementBuilder(out, node)

    def reduce(op: str, y: Value, places: Sequence[int]) -> Value:
        return write.apply(op, (y, write.ints(places)), {"keepdims": 1})

    made = kind.write(_Definition(write, node, axes, reduce))
    if len(made) == 1:
        return write.finish()
    for value, output in zip(made, node.outputs, strict=True):
        name = node.name if output is node.outputs[0] else out.unique_name(node.name)
        copy = Node("Identity", (value,), {}, name, node.source, outputs=(output,))
        out.nodes.append(copy)
    return True


def _in_branch(
    write: ReplacementBuilder, node: Node, *, kind: _Kind, axes: Sequence[int]
) -> list[Value]:
    """Write a normalization whose sizes are known at run time only, for one branch of an ``If``."""

    def reduce(op: str, y: Value, places: Sequence[int]) -> Value:
        return reduced_in_branch(write, node, op, y, tuple(places))

    return kind.write(_Definition(write, node, axes, reduce))


def _is_short(node: Node, axes: Sequence[int]) -> bool:
    """Return whether the scale's shape proves that few elements are normalized."""
    kind = _KINDS[node.op]
    scale = node.inputs[1] if kind.axes is _trailing else None
    if scale is None or scale.shape is None or len(scale.shape) != len(axes):
        return False
    sizes = [d for d in scale.shape if isinstance(d, int) and d != 1]
    return len(sizes) == len(axes) and math.prod(sizes) <= kind.limit


NORMALIZED = frozenset(_KINDS)
CORRECTIONS: dict[str, Correction] = dict.fromkeys(NORMALIZED, _normalization)
