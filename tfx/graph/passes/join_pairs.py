"""Compute with the pairs of complex numbers from one end of a graph to the other.

Each operator on complex numbers is written as operators on the pairs of their parts, between a view
of its operands as pairs and a view of its result as complex numbers (``complex_pairs``). ONNX
Runtime can do neither, so a graph is left with those alone that it cannot do without: of arguments,
variables and results that are complex. Where there is none, nothing of Python is left in it.

Calls that hand on complex numbers are replaced by the nodes of their functions, and what is carried
by a loop, or chosen by a branch, is made a pair.
"""

from __future__ import annotations

from collections.abc import Iterable

from tfx.graph.complex_pairs import (
    CALLS,
    PairCall,
    is_complex,
    makes_complex,
    makes_parts,
    parts_of_array,
    real_code,
)
from tfx.graph.ir import CALL, HOST, Graph, Node, RawShape, Value
from tfx.graph.passes.dead_code import remove_dead_nodes
from tfx.graph.passes.inline_calls import expand_calls
from tfx.graph.rewrite import Inputs, Rewriter


def join_pairs(graph: Graph) -> Graph:
    """A copy of the graph, bodies and callees included, without views that undo each other.

    Args:
        graph: The graph; itself if it has to do with no complex numbers.
    """
    if not _has_complex(graph, set()):
        return graph
    return _Joiner().run(graph)


def _has_complex(graph: Graph, seen: set[int]) -> bool:
    if id(graph) in seen:
        return False
    seen.add(id(graph))
    if any(map(is_complex, graph.inputs)) or any(map(is_complex, graph.outputs)):
        return True
    return any(
        makes_complex(node)
        or makes_parts(node)
        or any(_has_complex(body, seen) for body in node.bodies())
        for node in graph.nodes
    )


def hands_on_complex(call: Node) -> bool:
    """True if a call is given complex numbers, or returns some."""
    return any(map(is_complex, call.inputs)) or any(map(is_complex, call.outputs))


def pair_shape(shape: RawShape) -> RawShape:
    """The shape of the parts of complex numbers."""
    return None if shape is None else (*shape, 2)


def _is_last(axes: Value | None) -> bool:
    """True if a value is the constant ``[-1]``."""
    return axes is not None and axes.const is not None and axes.const.tolist() == [-1]


class _Joiner(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        # By the id of a complex value, its parts, where they are known.
        self._pairs: dict[int, Value] = {}
        # By the id of a value, what it is with a last axis of 1, and the two of which it is made.
        self._widened: dict[int, Value] = {}
        self._halves: dict[int, tuple[Value, Value]] = {}
        self._depth = 0

    def run(self, graph: Graph) -> Graph:
        if any(node.op == CALL and hands_on_complex(node) for node in graph.nodes):
            graph = expand_calls(graph, hands_on_complex)
        self._depth += 1
        result = super().run(graph)
        self._depth -= 1
        if not self._depth:
            self._own_outputs(result)
        return remove_dead_nodes(result)

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        if makes_parts(node):
            (z,) = inputs
            assert z is not None
            pairs = self._parts(z, out)
            if pairs is not None:
                self.use(node.outputs[0], pairs)
                return
        elif makes_complex(node):
            pairs = inputs[0]
            assert pairs is not None
            self._pairs[id(node.outputs[0])] = pairs
        elif node.op == "Identity" and is_complex(inputs[0]):
            assert inputs[0] is not None
            pairs = self._parted(inputs[0], out)
            self._pairs[id(node.outputs[0])] = pairs
            node = node.replaced((pairs,), {"call": CALLS[True]}, op=HOST)
            out.nodes.append(node)
            return
        elif node.op in ("If", "Loop"):
            self._control(node, inputs, out)
            return
        elif node.tag is None and self._undoes(node, inputs):
            return
        super().rewrite(node, inputs, out)
        if node.op == HOST and not isinstance(node.attrs["call"], PairCall):
            self._see(node.outputs, out)

    def _see(self, values: Iterable[Value], out: Graph) -> None:
        """View complex numbers as pairs where they come from: bodies that need them find them."""
        for z in values:
            if is_complex(z):
                self._pairs[id(z)] = _view(out, z, joins=False)

    def enter(self, graph: Graph, out: Graph) -> None:
        """See what is given as pairs; let a body be given pairs."""
        if self._depth == 1:
            self._see(out.inputs, out)
            return
        if not any(map(is_complex, graph.inputs)):
            return
        out.inputs = list(graph.inputs)
        for i, z in enumerate(graph.inputs):
            if is_complex(z):
                pairs = out.inputs[i] = _pairs_like(z, out)
                self._join(pairs, z, out)

    def leave(self, out: Graph) -> None:
        """Let a body give pairs."""
        if self._depth > 1:
            out.outputs = [self._parted(v, out) if is_complex(v) else v for v in out.outputs]

    def _control(self, node: Node, inputs: Inputs, out: Graph) -> None:
        """A branch or a loop that chooses, carries or collects pairs."""
        given = tuple(
            self._parted(v, out) if v is not None and is_complex(v) else v for v in inputs
        )
        made = self.rewired(node, given)
        results = tuple(_pairs_like(v, out) if is_complex(v) else v for v in node.outputs)
        out.nodes.append(made.replaced(outputs=results))
        for pairs, z in zip(results, node.outputs, strict=True):
            if pairs is not z:
                self._join(pairs, z, out)

    def _join(self, pairs: Value, z: Value, out: Graph) -> None:
        """Let a value be the complex numbers of pairs."""
        self._pairs[id(z)] = pairs
        call = CALLS[True]
        name = out.unique_name(call.kind)
        out.nodes.append(Node(HOST, (pairs,), {"call": call}, name, None, outputs=(z,)))

    def _parted(self, z: Value, out: Graph) -> Value:
        """The parts of a complex value, by a view if there is no other way."""
        return self._parts(z, out) or _view(out, z, joins=False)

    def _undoes(self, node: Node, inputs: Inputs) -> bool:
        """Whether the parts that a node takes from pairs are there already; they are used then."""
        x = inputs[0] if inputs else None
        if x is None:
            return False
        if node.op == "Unsqueeze" and _is_last(inputs[1]):
            self._widened[id(node.outputs[0])] = x
        elif node.op == "Concat" and node.attrs["axis"] == -1 and len(inputs) == 2:
            first, second = inputs
            assert first is not None
            assert second is not None
            if id(first) in self._widened and id(second) in self._widened:
                self._halves[id(node.outputs[0])] = first, second
        elif node.op == "Split" and id(x) in self._halves and len(node.outputs) == 2:
            if node.attrs.get("axis", 0) == -1:
                for output, half in zip(node.outputs, self._halves[id(x)], strict=True):
                    self.use(output, half)
                return True
        elif node.op == "Squeeze" and id(x) in self._widened and _is_last(inputs[1]):
            self.use(node.outputs[0], self._widened[id(x)])
            return True
        return False

    def _parts(self, z: Value, out: Graph) -> Value | None:
        """The parts of a complex value that are there already, or are constant."""
        known = self._pairs.get(id(z))
        if known is None and z.const is not None:
            known = out.add_constant(parts_of_array(z.const), real_code(z.dtype))
            if self._depth == 1:  # a constant of a body is not seen outside of it
                self._pairs[id(z)] = known
        return known

    def _own_outputs(self, graph: Graph) -> None:
        """Make complex results that are inputs or constants, or are given twice, by a view each."""
        made = {id(v) for node in graph.nodes for v in node.outputs}
        for i, value in enumerate(graph.outputs):
            if is_complex(value) and id(value) not in made:
                graph.outputs[i] = _view(graph, self._parted(value, graph), joins=True)
            made.discard(id(value))


def _pairs_like(z: Value, graph: Graph) -> Value:
    """A new value for the parts of complex numbers."""
    return Value(graph.unique_name(f"{z.name}.parts"), real_code(z.dtype), pair_shape(z.shape))


def _view(graph: Graph, value: Value, *, joins: bool) -> Value:
    """A new node that sees a value in the other way."""
    if joins:
        code = 14 if value.dtype == 1 else 15
        shape = None if value.shape is None else value.shape[:-1]
    else:
        code, shape = real_code(value.dtype), pair_shape(value.shape)
    call = CALLS[joins]
    name = graph.unique_name(call.kind)
    node = graph.add_node(HOST, (value,), {"call": call}, [(code, shape)], name=name)
    return node.outputs[0]
