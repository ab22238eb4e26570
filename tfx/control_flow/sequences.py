"""ONNX sequences of tensors: how a tensor array is kept where its elements are not known by number.

A sequence is a symbolic tensor whose value has a sequence type; users never see one. The gradient
of a sequence is a sequence of the same length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.framework.builder import ox
from tfx.framework.context import current, using
from tfx.framework.convert import convert_to_tensor, embed, int64_constant
from tfx.framework.func_graph import FuncGraph, graph_under_construction
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.tensor import is_sequence as is_sequence
from tfx.graph import ir
from tfx.graph.ir import Graph
from tfx.graph.tags import Mark
from tfx.ops.array import creation
from tfx.ops.common.arguments import cast_to, static_int

WRITER = "tensor_array_write"
_writers: dict[tuple[int, bool], Graph] = {}


def empty(dtype: DType) -> Tensor:
    """A sequence without elements."""
    return ox.SequenceEmpty(dtype=dtype.onnx)


def of(tensors: Sequence[Tensor], dtype: DType) -> Tensor:
    """A sequence of given elements."""
    return ox.SequenceConstruct(*tensors) if tensors else empty(dtype)


def split(x: Tensor) -> Tensor:
    """The slices of a tensor along its first axis."""
    if x.dtype.onnx in _UNSPLITTABLE:
        wide = ox.Cast(x, to=dtypes.int64.onnx)
        return _cast_all(split(wide), x.dtype)
    return ox.SplitToSequence(x, axis=0, keepdims=0)


# ONNX Runtime does not split them.
_UNSPLITTABLE = frozenset(
    d.onnx
    for d in (
        dtypes.int8,
        dtypes.int16,
        dtypes.uint8,
        dtypes.uint16,
        dtypes.uint32,
        dtypes.uint64,
    )
)


def stored(dtype: DType) -> DType:
    """The dtype that sequences of a dtype have: ONNX has none of bfloat16."""
    return dtypes.float32 if dtype is dtypes.bfloat16 else dtype


def to_stored(x: Tensor) -> Tensor:
    """A tensor as it is kept in a sequence."""
    return cast_to(x, stored(x.dtype))


def _cast_all(sequence: Tensor, dtype: DType) -> Tensor:
    """The elements of a sequence in another dtype."""
    graph = current().graph
    assert graph is not None
    body = Graph("cast_all", graph.graph)
    item = body.add_input("item", dtypes.int64.onnx, None)
    made = body.add_node("Cast", (item,), {"to": dtype.onnx}, [(dtype.onnx, None)])
    body.outputs = [made.outputs[0]]
    return mapped(graph, (sequence,), body, dtype.onnx)


def length(sequence: Tensor) -> Tensor:
    """The number of elements, an int64 scalar."""
    return ox.SequenceLength(sequence)


def at(sequence: Tensor, index: Tensor) -> Tensor:
    """Return one element."""
    return ox.SequenceAt(sequence, index)


def stacked(sequence: Tensor) -> Tensor:
    """The elements along a new first axis."""
    return ox.ConcatFromSequence(sequence, axis=0, new_axis=1)


def concatenated(sequence: Tensor) -> Tensor:
    """The elements one after another along their first axis."""
    return ox.ConcatFromSequence(sequence, axis=0, new_axis=0)


def write(sequence: Tensor, index: Tensor, value: Tensor, *, grows: bool) -> Tensor:
    """The sequence with another element at ``index``.

    Args:
        sequence: The sequence.
        index: An int64 scalar.
        value: The element.
        grows: Whether ``index`` may be behind the last element; zeros fill up what is between.
    """
    graph = current().graph
    assert graph is not None
    code = value.dtype.onnx
    callee = _writers.get((code, grows))
    if callee is None:
        callee = _writers[code, grows] = _writer(code, grows)
    values = [graph.value_of(t) for t in (sequence, index, value)]
    node = graph.graph.add_node(
        ir.CALL,
        values,
        {"graph": callee},
        [(dtypes.SEQUENCE + code, None)],
        name=f"{current().scope}TensorArrayWrite",
        tag=Mark.ARRAY_WRITE,
    )
    result = SymbolicTensor(node.outputs[0], graph)
    for tape in current().tapes:
        tape.record(ir.CALL, node.attrs, (sequence, index, value), (result,))
    return result


def _writer(code: int, grows: bool) -> Graph:
    traced = FuncGraph(f"{WRITER}_growing" if grows else WRITER)
    traced.named_after_calls, traced.graph.library = False, True
    with using(graph=traced, tapes=(), scope=""):
        sequence = traced.add_argument("sequence", dtypes.SEQUENCE + code, None)
        index = traced.add_argument("index", dtypes.int64.onnx, ())
        value = traced.add_argument("value", code, None)
        kept: Tensor = sequence
        place: Tensor = index
        if grows:
            kept = _shortened(traced, _filled(traced, sequence, index, value), index)
        else:
            place = from_front(index, length(sequence))
            kept = ox.SequenceErase(sequence, place)
        result = ox.SequenceInsert(kept, value, place)
        traced.graph.outputs = [traced.value_of(result)]
    return traced.graph


def _filled(graph: FuncGraph, sequence: Tensor, index: Tensor, value: Tensor) -> SymbolicTensor:
    """The sequence with zeros appended until ``index`` is its end or within."""
    missing = ox.Max(ox.Sub(index, length(sequence)), int64_constant(0))
    zero = zeros_of_shape(value.dtype, ox.Shape(value))
    kind = (graph.value_of(sequence).dtype, None)
    body = Graph("fill", graph.graph)
    body.add_input("iteration", dtypes.int64.onnx, ())
    going = body.add_input("going", dtypes.bool.onnx, ())
    before = body.add_input("sequence", *kind)
    made = body.add_node("SequenceInsert", (before, graph.value_of(zero)), {}, [kind])
    body.outputs = [going, made.outputs[0]]
    values = (graph.value_of(missing), None, graph.value_of(sequence))
    node = graph.graph.add_node("Loop", values, {"body": body}, [kind], name="fill")
    return SymbolicTensor(node.outputs[0], graph)


def _shortened(graph: FuncGraph, sequence: SymbolicTensor, index: Tensor) -> SymbolicTensor:
    """The sequence without what is at ``index``."""
    inside = graph.value_of(ox.Less(index, length(sequence)))
    kind = (sequence._symbol.dtype, None)
    yes, no = Graph("erase", graph.graph), Graph("keep", graph.graph)
    erased = yes.add_node("SequenceErase", (sequence._symbol, graph.value_of(index)), {}, [kind])
    yes.outputs = [erased.outputs[0]]
    same = no.add_node("Identity", (sequence._symbol,), {}, [kind])
    no.outputs = [same.outputs[0]]
    attrs = {"then_branch": yes, "else_branch": no}
    node = graph.graph.add_node("If", (inside,), attrs, [kind], name="erase")
    return SymbolicTensor(node.outputs[0], graph)


def zeros_of_shape(dtype: DType, shape: Tensor) -> Tensor:
    """Zeros (of strings: empty ones) of a shape given as an int64 vector."""
    return ox.Expand(zero(dtype), shape)


def zero(dtype: DType) -> Tensor:
    """A scalar zero, an empty string, False."""
    if dtype is dtypes.string:
        return convert_to_tensor("")
    return embed(np.zeros((), dtype.as_numpy_dtype))


_ZEROS, SUM, _LENGTHS = "sequence_zeros", "sequence_sum", "sequence_lengths"


def zeros(sequence: Tensor) -> Tensor:
    """A sequence of zeros like the elements of another."""
    graph, code = graph_under_construction(), sequence.dtype.onnx
    body = Graph(_ZEROS, graph.graph)
    item = body.add_input("item", code, None)
    shape = body.add_node("Shape", (item,), {}, [(dtypes.int64.onnx, (None,))])
    blank = graph.constant(np.zeros((), sequence.dtype.as_numpy_dtype), code)
    made = body.add_node("Expand", (blank, shape.outputs[0]), {}, [(code, None)])
    body.outputs = [made.outputs[0]]
    return mapped(graph, (sequence,), body, code)


def add(a: Tensor, b: Tensor) -> Tensor:
    """The sums of the elements of two sequences."""
    graph, code = graph_under_construction(), a.dtype.onnx
    body = Graph(SUM, graph.graph)
    items = [body.add_input(name, code, None) for name in ("a", "b")]
    made = body.add_node("Add", items, {}, [(code, None)])
    body.outputs = [made.outputs[0]]
    return mapped(graph, (a, b), body, code)


def lengths(sequence: Tensor, axis: int = 0) -> Tensor:
    """The lengths of the elements' first (or another) axes, an int64 vector."""
    graph, code = graph_under_construction(), dtypes.int64.onnx
    body = Graph(_LENGTHS, graph.graph)
    item = body.add_input("item", sequence.dtype.onnx, None)
    attrs = {"start": axis} if axis == -1 else {"start": axis, "end": axis + 1}
    made = body.add_node("Shape", (item,), attrs, [(code, (1,))])
    body.outputs = [made.outputs[0]]
    return concatenated(mapped(graph, (sequence,), body, code))


def add_lengths(graph: Graph, sequence: ir.Value) -> ir.Value:
    """Append to a graph what computes the lengths of the elements' first axes."""
    code = dtypes.int64.onnx
    body = Graph(_LENGTHS, graph)
    item = body.add_input("item", sequence.dtype - dtypes.SEQUENCE, None)
    made = body.add_node("Shape", (item,), {"end": 1}, [(code, (1,))])
    body.outputs = [made.outputs[0]]
    kinds: list[tuple[int, ir.RawShape]] = [(dtypes.SEQUENCE + code, None)]
    mapped = graph.add_node("SequenceMap", (sequence,), {"body": body}, kinds)
    joined: list[tuple[int, ir.RawShape]] = [(code, (None,))]
    attrs = {"axis": 0, "new_axis": 0}
    return graph.add_node("ConcatFromSequence", mapped.outputs, attrs, joined).outputs[0]


def cut(x: Tensor, lengths: Tensor) -> Tensor:
    """The pieces of a tensor along its first axis, of given lengths."""
    if x.dtype.onnx in _UNSPLITTABLE:
        wide = ox.Cast(x, to=dtypes.int64.onnx)
        return _cast_all(cut(wide, lengths), x.dtype)
    return ox.SplitToSequence(x, lengths, axis=0, keepdims=1)


def mapped(graph: FuncGraph, inputs: Sequence[Tensor], body: Graph, code: int) -> Tensor:
    """Return a sequence of dtype ``code`` with the body's result for each element of sequences."""
    values = [graph.value_of(t) for t in inputs]
    attrs = {"body": body}
    types: list[tuple[int, ir.RawShape]] = [(dtypes.SEQUENCE + code, None)]
    name = f"{current().scope}{body.name}"
    node = graph.graph.add_node("SequenceMap", values, attrs, types, name=name)
    result = SymbolicTensor(node.outputs[0], graph)
    for tape in current().tapes:
        tape.record("SequenceMap", attrs, tuple(inputs), (result,))
    return result


def from_front(index: Tensor, count: Tensor) -> Tensor:
    """A place among ``count``, where negative ones count from the end, from the front."""
    known = static_int(index)
    if known is not None and known >= 0:
        return index
    behind = ox.Add(index, count)
    if known is not None:
        return behind
    return ox.Where(ox.Less(index, int64_constant(0)), behind, index)


def in_int64(index: Tensor) -> Tensor:
    """An integer tensor as int64."""
    if index.dtype is dtypes.int64:
        return index
    return ox.Cast(index, to=dtypes.int64.onnx)


def zeros_like(x: Any) -> Tensor:
    """Zeros like a tensor, a variable or a sequence."""
    return zeros(x) if is_sequence(x) else creation.zeros_like(x)
