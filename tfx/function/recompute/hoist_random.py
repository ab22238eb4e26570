"""Random draws in branches and loops as results of the enclosing graph, and their replay.

A loop collects what each iteration drew, as its gradient would; a branch that was not taken gives
nothing. A second computation reads from there. Calls that draw are expanded first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from tfx.control_flow.control_nodes import CONTROL_OPS
from tfx.core import dtypes
from tfx.core.errors import InternalError
from tfx.framework.body_graph import BodyGraph
from tfx.framework.builder import ox
from tfx.framework.context import using
from tfx.framework.convert import int64_constant
from tfx.framework.func_graph import FuncGraph
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.function.recompute.nonrepeatable import (
    DROPOUT,
    drawn_of,
    give_results,
    is_random,
    results_of,
)
from tfx.graph.control import If, Loop, add_result, extend_call
from tfx.graph.copy_body import copy_body, copy_node, replace_values
from tfx.graph.ir import CALL, HOST, Graph, Node, RawShape, Value, bodies_below
from tfx.graph.tags import Tag
from tfx.graph.traits import traits
from tfx.ops.nn.dropout import dropped

# Whether something is drawn in a called graph.
_drawing: WeakKeyDictionary[Graph, bool] = WeakKeyDictionary()


def draws_inside(node: Node) -> bool:
    """True if a node draws, or one in its bodies or its callee."""
    if node.op == CALL:
        callee: Graph = node.attrs["graph"]
        known = _drawing.get(callee)
        if known is None:  # a finished graph: many calls may be of it
            known = _drawing[callee] = any(map(draws_inside, callee.nodes))
        return known
    if traits(node.op).bodies and node.op != HOST:
        return any(draws_inside(n) for body in node.bodies() for n in body.nodes)
    return is_random(node)


def expand_drawing(graph: Graph, constant: Callable[[Value], Value]) -> None:
    """Put what calls that draw compute in place of the calls, in bodies too.

    Args:
        graph: Changed in place.
        constant: The value in this graph of a callee's constant.
    """
    nodes = graph.nodes
    while any(calls_drawing(node) for node in nodes):
        graph.nodes = []
        for node in nodes:
            if calls_drawing(node):
                _expand(node, graph, constant)
            else:
                graph.nodes.append(node)
        nodes = graph.nodes
    for node in nodes:
        if traits(node.op).bodies and node.op != CALL:
            for body in node.bodies():
                expand_drawing(body, constant)


def calls_drawing(node: Node) -> bool:
    """True if a node is a call, and something is drawn in what it calls."""
    return node.op == CALL and draws_inside(node)


def _expand(call: Node, graph: Graph, constant: Callable[[Value], Value]) -> None:
    callee: Graph = call.attrs["graph"]
    known = {id(f): v for f, v in zip(callee.inputs, call.inputs, strict=True) if v is not None}
    known.update((id(v), constant(v)) for v in callee.constants)
    for node in callee.nodes:
        made = copy_node(node, graph, lambda v: known[id(v)], constant)
        made.device = made.device or call.device
        known.update((id(v), new) for v, new in zip(node.outputs, made.outputs, strict=True))
    for value, formal in zip(call.outputs, callee.outputs, strict=True):
        name = graph.unique_name(f"{call.name}/result")
        alias = Node(
            "Identity",
            (known[id(formal)],),
            {},
            name,
            call.source,
            outputs=(value,),
            device=call.device,
        )
        value.node = alias
        graph.nodes.append(alias)


@dataclass(frozen=True, eq=False, slots=True)
class Packed(Tag):
    """Tag of the ``Concat`` that packs what each iteration drew into one vector.

    Attributes:
        value: What is drawn: a value whose shape differs from iteration to iteration.
        start: Where its elements begin in the vector.
        shape: Its shape.
    """

    value: Value
    start: Value
    shape: Value


def hoist_random(graph: Graph, top: Graph | None = None) -> list[Value]:
    """Let branches and loops return what was drawn inside.

    Args:
        graph: Without calls that draw; its ``If`` and ``Loop`` nodes are changed in place.
        top: The graph that gets constants, if it is another one.

    Returns:
        Values of the graph that hold all that is drawn in it.
    """
    return _lift(graph, graph if top is None else top)


def _lift(graph: Graph, top: Graph) -> list[Value]:
    values: list[Value] = []
    for i, node in enumerate(graph.nodes):
        if node.op in CONTROL_OPS:
            if draws_inside(node):
                values += _lift_if(node, top) if node.op == "If" else _lift_loop(node, top)
        elif is_random(node):
            graph.nodes[i] = _with_mask(node, graph)
            values += drawn_of(graph.nodes[i])
    return values


def _with_mask(node: Node, graph: Graph) -> Node:
    """A dropout that also tells what it dropped; other nodes as they are."""
    if node.op != DROPOUT or len(node.outputs) == results_of(node):
        return node
    (y,) = node.outputs
    mask = Value(graph.unique_name(f"{node.name}_mask"), dtypes.bool.onnx, y.shape)
    made = mask.node = node.replaced(outputs=(y, mask))
    return made


def _lift_if(node: Node, top: Graph) -> list[Value]:
    choice = If(node)
    values: list[Value] = []
    for branch in choice.branches:
        for v in _lift(branch, top):
            place = next((i for i, y in enumerate(branch.outputs) if y is v), None)
            if place is not None:
                values.append(node.outputs[place])
                continue
            rank = 1 if v.shape is None else len(v.shape)
            empty = np.zeros((0,) * rank, dtypes.from_onnx(v.dtype).as_numpy_dtype)
            nothing = top.add_constant(empty, v.dtype)
            values.append(choice.add_of_branch(branch, v, nothing, f"{v.name}_drawn"))
    return values


def _lift_loop(node: Node, top: Graph) -> list[Value]:
    loop = Loop(node)
    return [y for v in _lift(loop.body, top) for y in _collected(v, loop, top)]


def _collected(value: Value, loop: Loop, top: Graph) -> list[Value]:
    """The results of a loop that hold a value of each iteration."""
    known = loop.rows_of(value)
    if known is not None:
        return [known]
    if value.shape is None or None in value.shape:
        return _packed(value, loop, top)
    return [loop.collect(value, f"{value.name}_drawn")]


def _packed(value: Value, loop: Loop, top: Graph) -> list[Value]:
    """The same where shapes differ: the elements of all, where they begin, and the shapes."""
    body = loop.body
    rank = None if value.shape is None else len(value.shape)
    vector: RawShape = (None,)
    before = Value(body.unique_name(f"{value.name}_before"), value.dtype, vector)
    minus_one = top.add_constant(np.array([-1]), dtypes.int64.onnx)
    flat = body.add_node("Reshape", (value, minus_one), {}, [(value.dtype, vector)]).outputs[0]
    start = body.add_node("Shape", (before,), {}, [(dtypes.int64.onnx, (1,))]).outputs[0]
    shape = body.add_node("Shape", (value,), {}, [(dtypes.int64.onnx, (rank,))]).outputs[0]
    grown = body.add_node(
        "Concat",
        (before, flat),
        {"axis": 0},
        [(value.dtype, vector)],
        tag=Packed(value, start, shape),
    )
    nothing = top.add_constant(
        np.zeros(0, dtypes.from_onnx(value.dtype).as_numpy_dtype), value.dtype
    )
    whole = loop.carry(nothing, before, grown.outputs[0], f"{value.name}_drawn")
    return [whole, *_collected(start, loop, top), *_collected(shape, loop, top)]


def expect_gradients(graph: Graph) -> None:
    """Let what Python does be kept so that its gradient is of the same run."""
    for part in (graph, *bodies_below(graph)):
        for node in part.nodes:
            if node.op == HOST and node.attrs["call"].expect_gradient is not None:
                node.attrs["call"].expect_gradient()


# Attribute of a call's record: see ``Returning``.
RETURNING = "returning"


class Returning(NamedTuple):
    """A called graph that also returns what it drew.

    Attributes:
        graph: The graph.
        places: Which of its results that is.
    """

    graph: Graph
    places: tuple[int, ...]


_returning: WeakKeyDictionary[Graph, Returning] = WeakKeyDictionary()


def returning_draws(graph: Graph) -> Returning:
    """A called graph that also returns what it drew; its first results are the same."""
    known = _returning.get(graph)
    if known is None:
        known = _returning[graph] = _made_returning(graph)
    return known


def _made_returning(graph: Graph) -> Returning:
    around = Graph(graph.name)

    def constant(value: Value) -> Value:
        assert value.const is not None
        return around.add_constant(value.const, value.dtype)

    made = copy_body(graph, around, _nowhere, constant)
    for new, old in zip(made.inputs, graph.inputs, strict=True):
        new.dims = old.dims
    made.parent = None
    expand_drawing(made, constant)
    made.constants = around.constants
    places = []
    for value in hoist_random(made):
        place = next((i for i, y in enumerate(made.outputs) if y is value), None)
        if place is None:
            place = len(made.outputs)
            made.outputs.append(value)
        places.append(place)
    found = Returning(made, tuple(places))
    _returning[made] = found
    return found


def _nowhere(value: Value) -> Value:
    raise InternalError(f"A called graph uses {value!r} from outside.")


def widen_call(node: Node, home: Graph) -> Returning:
    """Let a call that draws return what it drew.

    Args:
        node: Changed in place.
        home: The graph that it is in.
    """
    found = returning_draws(node.attrs["graph"])
    extend_call(node, found.graph)
    for y in found.graph.outputs[len(node.outputs) :]:
        new = Value(home.unique_name(f"{y.name}_drawn"), y.dtype, y.shape)
        add_result(node, new)
    return found


def replay_random(node: Node, copy: Node, given: Mapping[int, Tensor], owner: FuncGraph) -> None:
    """Let a copy of an ``If`` or ``Loop`` use what the first one drew.

    Args:
        node: The first one.
        copy: The same, with bodies of its own; they are changed in place.
        given: By the ``id`` of results of ``node``, what was drawn.
        owner: The graph that ``copy`` is in.
    """
    for old, new in zip(node.bodies(), copy.bodies(), strict=True):
        body = BodyGraph(new.name, owner)
        body.graph = new
        with using(graph=body, tapes=()):
            inside, nodes = _given_inside(node, old, new, body, given)
            drawing = iter([n for n in old.nodes if draws_inside(n)])
            replacements: dict[int, Value] = {}
            for made in list(new.nodes):
                first = next(drawing, None) if draws_inside(made) else None
                if first is None:
                    nodes.append(made)
                elif first.op in CONTROL_OPS:
                    replay_random(first, made, inside, body)
                    nodes.append(made)
                else:
                    mark = len(new.nodes)
                    replacements |= _drawn_before(first, made, inside, body)
                    nodes += new.nodes[mark:]
                    del new.nodes[mark:]
        new.nodes[:] = nodes
        replace_values(new, replacements)


def _given_inside(
    node: Node,
    old: Graph,
    new: Graph,
    body: BodyGraph,
    given: Mapping[int, Tensor],
) -> tuple[dict[int, Tensor], list[Node]]:
    """Return the given draws by ``id`` of the body's values, and the nodes that read them."""
    if node.op == "If":
        pairs = zip(old.outputs, node.outputs, strict=True)
        return {id(value): given[id(y)] for value, y in pairs if id(y) in given}, []
    loop = Loop(node)
    inside: dict[int, Tensor] = {}
    mark = len(new.nodes)
    number = SymbolicTensor(new.inputs[0], body)
    for value, rows in loop.scanned:
        if id(rows) in given:
            inside[id(value)] = _typed(ox.Gather(given[id(rows)], number), value, body)
    for carried in reversed(loop.carried):  # a shape that differs was packed after what it is of
        made = carried.after.node
        if id(carried.final) in given and made is not None and isinstance(made.tag, Packed):
            kept = given[id(carried.final)]
            inside[id(made.tag.value)] = _unpacked(kept, inside, made.tag, body)
    taking = new.nodes[mark:]
    del new.nodes[mark:]
    return inside, taking


def _unpacked(
    vector: Tensor, inside: Mapping[int, Tensor], packed: Packed, body: BodyGraph
) -> Tensor:
    """Return one value from the vector of all."""
    start, sizes = inside[id(packed.start)], inside[id(packed.shape)]
    count = ox.ReduceProd(sizes, int64_constant([0]), keepdims=1)
    flat = ox.Slice(vector, start, ox.Add(start, count))
    return _typed(ox.Reshape(flat, sizes, allowzero=1), packed.value, body)


def _typed(x: Tensor, like: Value, body: BodyGraph) -> SymbolicTensor:
    """A tensor with the static shape of the value that it stands for."""
    value = body.value_of(x)
    value.shape, value.dims = like.shape, like.dims
    return SymbolicTensor(value, body)


def _drawn_before(
    node: Node, copy: Node, inside: Mapping[int, Tensor], body: BodyGraph
) -> dict[int, Value]:
    """Return the values that replace the results of ``copy``, by ``id``."""
    if node.op != DROPOUT:
        given: Sequence[Tensor] = [inside[id(v)] for v in node.outputs]
        if node.op == HOST:
            inputs = [SymbolicTensor(v, body) for v in copy.inputs if v is not None]
            given = give_results(node, inputs, given)
        return {id(v): body.value_of(x) for v, x in zip(copy.outputs, given, strict=True)}
    mask = inside[id(node.outputs[1])]
    x, ratio, training = [None if v is None else SymbolicTensor(v, body) for v in copy.inputs]
    assert x is not None
    assert training is not None
    y = dropped(x, ratio, training, mask)
    return {
        id(copy.outputs[0]): body.value_of(y),
        **{id(v): body.value_of(mask) for v in copy.outputs[1:]},
    }
