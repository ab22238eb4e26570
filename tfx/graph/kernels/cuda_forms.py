"""What the CUDA provider has no kernels for, by operators that it has kernels for.

For plans on a GPU alone: a node without a kernel runs on the CPU, and its operands and results are
copied in every run. What the programs of ``model_zoo`` need is here; what is not stays, and
``placement("/GPU:0")`` names it. Each form gives the same numbers, to the last bit; where it cannot
(extremes over unknown axes), the node stays. Whether a node has a kernel is the question of
``cuda_kernels``, so a runtime with more kernels gets fewer of these forms. And what has a slow
kernel there, by quick ones (``cuda_reductions``), which round otherwise.

Bits: there is no kernel for shifts and bitwise operators. A shift is a product with a power of two,
or a quotient. The others are taken apart, on a new last axis, into bools, which have kernels for
And, Or and Xor; the sum of powers of two puts a number together again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tfx.core.dtypes import from_onnx
from tfx.graph.ir import CALL, Graph, Node, Value, bodies_below
from tfx.graph.kernels.cuda_kernels import has_cuda_kernel
from tfx.graph.kernels.cuda_reductions import in_two_steps
from tfx.graph.replacement_builder import ReplacementBuilder
from tfx.graph.rewrite import Inputs, Rewriter
from tfx.graph.serialization.serialize import opset_of
from tfx.graph.tags import Mark
from tfx.graph.traits import traits

_INT32, _INT64, _BOOL, _DOUBLE, _UINT64 = 6, 7, 9, 11, 13
_BITWISE = {"BitwiseAnd": "And", "BitwiseOr": "Or", "BitwiseXor": "Xor"}
# Of what types there are kernels of comparisons, and of TopK.
_SORTED = ("float16", "float32", "float64", "int32", "int64")
_COMPARED = (*_SORTED, "uint32", "uint64")
_STEPS = 32


def use_cuda_forms(graph: Graph) -> Graph:
    """A copy of the graph in which fewer nodes have no CUDA kernel."""
    nodes = (node for g in (graph, *bodies_below(graph)) for node in g.nodes)
    if not any(n.op in _FORMS or traits(n.op).stepwise or n.op == CALL for n in nodes):
        return graph
    return _CudaForms(opset_of(graph)).run(graph)


class _CudaForms(Rewriter):
    def __init__(self, opset: int) -> None:
        super().__init__()
        self._opset = opset

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        """See ``Rewriter``."""
        form = _FORMS.get(node.op)
        if has_cuda_kernel(node, self._opset):
            form = _in_two_steps if traits(node.op).stepwise else None
        elif node.tag is not None and node.tag is not Mark.WITHOUT_NAN:
            form = None  # a tag says what a node means to others, but for this one
        if form is None:
            super().rewrite(node, inputs, out)
            return
        rewired = self.rewired(node, inputs)
        results = form(ReplacementBuilder(out, node), rewired)
        if results is None:
            out.nodes.append(rewired)
            return
        for old, new in zip(node.outputs, results, strict=True):
            if new is not None:
                if new.shape is None:
                    new.shape = old.shape
                self.use(old, new)


Results = tuple[Value | None, ...]
_Form = Callable[[ReplacementBuilder, Node], Results | None]


def _in_two_steps(b: ReplacementBuilder, node: Node) -> Results | None:
    found = in_two_steps(b, node)
    return None if found is None else (found,)


def _operands(node: Node) -> list[Value]:
    return [v for v in node.inputs if v is not None]


def _equal(b: ReplacementBuilder, node: Node) -> Results | None:
    x, y = _operands(node)
    if x.dtype == _BOOL:
        return (b.Not(b.Xor(x, y)),)
    if from_onnx(x.dtype).name not in _COMPARED:
        return None
    # Not by "neither less nor greater": NaN is not equal to itself.
    return (b.And(b.GreaterOrEqual(x, y), b.LessOrEqual(x, y)),)


def _shift(b: ReplacementBuilder, node: Node) -> Results | None:
    x, y = _operands(node)
    # Numbers of the operand's own width wrap around as its bits leave it.
    width = from_onnx(x.dtype).size * 8
    table = b.graph.add_constant(
        np.left_shift(np.uint64(1), np.arange(width, dtype=np.uint64)), _UINT64
    )
    power = b.Cast(b.Gather(table, b.Cast(y, to=_INT64)), to=x.dtype)
    left = node.attrs["direction"] == "LEFT"
    return (b.Mul(x, power) if left else b.Div(x, power),)


def _bitwise(b: ReplacementBuilder, node: Node) -> Results | None:
    x, y = _operands(node)
    width = from_onnx(x.dtype).size * 8
    powers = b.graph.add_constant(
        np.left_shift(np.uint64(1), np.arange(width, dtype=np.uint64)), _UINT64
    )
    last = b.ints([-1])
    two = b.constant(2, _UINT64)

    def bits(value: Value) -> Value:
        column = b.Unsqueeze(b.Cast(value, to=_UINT64), last)
        return b.Cast(b.Mod(b.Div(column, powers), two), to=_BOOL)

    chosen = b.apply(_BITWISE[node.op], (bits(x), bits(y)))
    # A sum of int64 wraps around as the bits of uint64 do; there is no sum of that.
    parts = b.Mul(b.Cast(chosen, to=_UINT64), powers)
    total = b.ReduceSum(b.Cast(parts, to=_INT64), last, keepdims=0)
    return (b.Cast(total, to=x.dtype),)


def _extreme(b: ReplacementBuilder, node: Node) -> Results | None:
    """The first of the sorted elements; NaN is a matter of ``nan_extremes``, which came before."""
    x, axes = (*node.inputs, None)[:2]
    assert x is not None
    keep = bool(node.attrs.get("keepdims", 1))
    if from_onnx(x.dtype).name not in _SORTED:
        return None
    if axes is None:
        return _extreme_of_all(b, x, node, keep=keep)
    if axes.const is None or axes.const.size == 0 or x.shape is None:
        return None
    over = sorted({int(a) % len(x.shape) for a in axes.const.reshape(-1)}, reverse=True)
    # There is no first one of nothing, but an extreme.
    if not all(isinstance(x.shape[a], int) and x.shape[a] for a in over):
        return None
    for axis in over:
        x = _first(b, x, axis, node.op, keep=keep)
    return (x,)


def _extreme_of_all(b: ReplacementBuilder, x: Value, node: Node, *, keep: bool) -> Results | None:
    if node.attrs.get("noop_with_empty_axes", 0) or (keep and x.shape is None):
        return None
    dtype = from_onnx(x.dtype)
    limits = (dtype.max, dtype.min) if not dtype.is_floating else (np.inf, -np.inf)
    neutral = np.array([limits[node.op == "ReduceMax"]], dtype.as_numpy_dtype)
    flat = b.Concat(b.Reshape(x, b.ints([-1])), b.graph.add_constant(neutral, x.dtype), axis=0)
    found = _first(b, flat, 0, node.op, keep=False)
    if keep:
        assert x.shape is not None
        found = b.Reshape(found, b.ints([1] * len(x.shape)))
    return (found,)


def _first(b: ReplacementBuilder, x: Value, axis: int, op: str, *, keep: bool) -> Value:
    largest = int(op == "ReduceMax")
    values, _ = b.apply_n("TopK", (x, b.ints([1])), {"axis": axis, "largest": largest}, 2)
    return values if keep else b.Squeeze(values, b.ints([axis]))


def _product(b: ReplacementBuilder, node: Node) -> Results | None:
    x = node.inputs[0]
    assert x is not None
    if x.dtype != _INT64 or not _is_size(x):
        return None
    attrs = {k: v for k, v in node.attrs.items() if k != "axes"}
    found = b.apply("ReduceProd", (b.Cast(x, to=_DOUBLE), *node.inputs[1:]), attrs)
    return (b.Cast(found, to=_INT64),)


def _is_size(value: Value) -> bool:
    """True if a value is made of shapes, and of constants, alone."""
    waiting, steps = [value], 0
    while waiting:
        found = waiting.pop()
        node, steps = found.node, steps + 1
        if steps > _STEPS:
            return False
        if found.const is not None or (node is not None and node.op in ("Shape", "Size")):
            continue
        # What only moves numbers makes sizes of sizes, which float64 holds exactly.
        if node is None or not (traits(node.op).moves or traits(node.op).form):
            return False
        waiting += [v for v in node.inputs if v is not None]
    return True


def _evenly_padded(b: ReplacementBuilder, node: Node) -> Results | None:
    """As much cut off on both sides as is possible, the rest behind it."""
    pads = node.attrs.get("pads")
    if not pads or node.attrs.get("output_shape"):
        return None
    if node.attrs.get("auto_pad", "NOTSET") != "NOTSET":
        return None
    axes = len(pads) // 2
    both = list(zip(pads[:axes], pads[axes:], strict=True))
    even = [min(pair) for pair in both]
    if min(even) < 0:
        return None
    full = b.apply("ConvTranspose", node.inputs, {**node.attrs, "pads": (*even, *even)})
    starts = [before - e for (before, _), e in zip(both, even, strict=True)]
    ends = [e - after or 2**62 for (_, after), e in zip(both, even, strict=True)]
    where = b.ints(range(2, axes + 2))
    return (b.Slice(full, b.ints(starts), b.ints(ends), where),)


def _unique(b: ReplacementBuilder, node: Node) -> Results | None:
    """By sorting: a number is new where it is not the one before it."""
    (x,) = _operands(node)
    if from_onnx(x.dtype).name not in _SORTED:
        return None
    if not node.attrs.get("sorted", 1) or node.attrs.get("axis") is not None:
        return None
    zero, one = b.ints([0]), b.ints([1])
    flat = b.Reshape(x, b.ints([-1]))
    count = b.Shape(flat)
    attrs = {"largest": 0, "sorted": 1, "axis": 0}
    ordered, origin = b.apply_n("TopK", (flat, count), attrs, 2)
    before = b.Slice(ordered, zero, b.ints([-1]))
    behind = b.Slice(ordered, one, b.ints([2**62]))
    changes = b.Greater(behind, before)
    true = b.graph.add_constant(np.array([True]), _BOOL)
    # Cut to the count: of no numbers none is new.
    new = b.Slice(b.Concat(true, changes, axis=0), zero, count)
    rank = b.Sub(b.CumSum(b.Cast(new, to=_INT64), b.ints(0)), one)
    values = b.Compress(ordered, new, axis=0)
    if len(node.outputs) == 1:
        return (values,)
    inverse = b.ScatterElements(b.Sub(rank, rank), origin, rank, axis=0)
    # Of equal numbers the place of the first one, and how many there are.
    number = b.Shape(values)
    nothing = b.Expand(b.ints([0]), number)
    counts = b.ScatterElements(nothing, inverse, b.Expand(one, count), axis=0, reduction="add")
    firsts = _first_places(b, inverse, number, count)
    return (values, firsts, inverse, counts)[: len(node.outputs)]


def _first_places(b: ReplacementBuilder, inverse: Value, number: Value, count: Value) -> Value:
    """For each of the different numbers, where it stands first."""
    places = b.Sub(b.CumSum(b.Expand(b.ints([1]), count), b.ints(0)), b.ints([1]))
    return b.ScatterElements(b.Expand(count, number), inverse, places, axis=0, reduction="min")


_FORMS: dict[str, _Form] = {
    "BitShift": _shift,
    "BitwiseAnd": _bitwise,
    "BitwiseOr": _bitwise,
    "BitwiseXor": _bitwise,
    "ConvTranspose": _evenly_padded,
    "Equal": _equal,
    "ReduceMax": _extreme,
    "ReduceMin": _extreme,
    "ReduceProd": _product,
    "Unique": _unique,
}
