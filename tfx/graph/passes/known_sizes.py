"""A graph again, on values whose sizes are known better than when it was traced.

A trace serves all sizes that its signature leaves open. Where they are known, what computes with
shapes is constant: no run waits for shapes on the host, and what fuses, runs a loop as one program
or becomes a CUDA graph may ask for numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfx.core.dim_names import product_dim
from tfx.core.dims import is_static
from tfx.core.errors import OpError
from tfx.graph.control import Loop
from tfx.graph.copy_body import copy_node
from tfx.graph.infer import infer
from tfx.graph.ir import CALL, Graph, Node, RawDim, RawShape, Value
from tfx.graph.passes.inline_calls import expand_all_calls
from tfx.graph.rewrite import Inputs
from tfx.graph.shape_code import contents
from tfx.graph.symbolic_shapes import elements, propagate

_MOST_COUNTED = 1 << 10
_INTEGERS = (6, 7)


def with_known_sizes(graph: Graph, shapes: Sequence[RawShape]) -> Graph | None:
    """A copy of a graph, without calls, whose inputs have given shapes.

    Args:
        graph: As it was traced.
        shapes: For each input its shape; what is not known stays as it is in the graph.

    Returns:
        None if the shapes do not fit the graph.
    """
    flat = expand_all_calls(graph)
    made = Graph(graph.name)
    made.fuses = graph.fuses
    copier = SizedCopier(made, folds=True)
    for value, shape in zip(flat.inputs, shapes, strict=True):
        known = shape if is_static(shape) else value.shape
        copier.values[id(value)] = made.add_input(value.name, value.dtype, known)
    made.constants = list(flat.constants)
    try:
        copier.copy(flat, made)
    except OpError:  # which is for a run to say
        return None
    made.outputs = [copier.value(v) for v in flat.outputs]
    return made


def better_shape(formal: Value, actual: Value | None) -> RawShape:
    """The shape of a formal value that is given another one, if that knows more."""
    return actual.shape if actual is not None and is_static(actual.shape) else formal.shape


def _scalar(node: Node) -> tuple[RawDim, ...] | None:
    """The number that a node makes of known ones: of elements, or how often to loop."""
    first = node.inputs[0] if node.inputs else None
    if node.op == "Size" and first is not None and first.shape is not None:
        return (product_dim(first.shape),)
    if node.op != "Max":
        return None
    given = [elements(v) for v in node.inputs]
    numbers = [e[0] for e in given if e is not None and len(e) == 1 and isinstance(e[0], int)]
    return (max(numbers),) if len(numbers) == len(given) else None


class _ChangesError(Exception):
    """A loop carries values of other shapes than it begins with."""


class SizedCopier:
    """Nodes again, on values whose sizes are known better.

    Args:
        made: The graph that gets constants.
        folds: Make constants of what is known of shapes.

    Attributes:
        values: What became of each value, by its ``id``.
    """

    def __init__(self, made: Graph, *, folds: bool = False) -> None:
        self._made = made
        self._folds = folds
        self.values: dict[int, Value] = {}

    def value(self, v: Value) -> Value:
        """What became of a value."""
        return self.values.get(id(v), v)

    def copy(self, source: Graph, out: Graph) -> None:
        """Append the nodes of a graph, or of a body, to another one."""
        for node in source.nodes:
            if node.op == "Range" and self._is_counted(node):
                continue
            new = self._copied(node, out)
            results = [self._known(v, new) for v in new.outputs] if self._folds else new.outputs
            self.values.update((id(a), b) for a, b in zip(node.outputs, results, strict=True))

    def _known(self, value: Value, node: Node) -> Value:
        """The constant that a result is by what is known of shapes, or the result."""
        if value.dims is None and value.dtype in _INTEGERS:
            value.dims = _scalar(node)
        if value.dims is None or not is_static(value.shape) or not is_static(value.dims):
            return value
        kind = np.int32 if value.dtype == _INTEGERS[0] else np.int64
        numbers = np.array(elements(value), kind).reshape(value.shape)
        return self._made.add_constant(numbers, value.dtype, value.name)

    def _is_counted(self, node: Node) -> bool:
        """Whether a node counts in known steps, whose numbers are then a constant."""
        start, limit, step = (contents(v) for v in self._inputs(node))
        if start is None or limit is None or step is None or start.dtype.kind != "i":
            return False
        if not int(step):
            return False  # the run says what is wrong with it
        counted = range(int(start), int(limit), int(step))
        if len(counted) > _MOST_COUNTED:
            return False
        numbers = np.array(counted, start.dtype)
        (made,) = node.outputs
        self.values[id(made)] = self._made.add_constant(numbers, made.dtype, made.name)
        return True

    def _copied(self, node: Node, out: Graph) -> Node:
        if node.op == "Loop":
            try:
                return self._loop(node, out)
            except _ChangesError:
                return copy_node(node, out, self.value, self._constant)
        if node.op == CALL or any(True for _ in node.bodies()):
            return copy_node(node, out, self.value, self._constant)
        inputs = self._inputs(node)
        types = infer(node.op, inputs, node.attrs, len(node.outputs))
        new = out.add_another(node, inputs, dict(node.attrs), types)
        propagate(new)
        return new

    def _loop(self, node: Node, out: Graph) -> Node:
        loop, body = Loop(node), Graph(node.attrs["body"].name, out)
        for value in loop.body.constants:
            self.values[id(value)] = self._constant(value)
        carried = {id(c.before): c.initial for c in loop.carried}
        for formal in loop.body.inputs:
            initial = carried.get(id(formal))
            known = None if initial is None else self.value(initial)
            shape = better_shape(formal, known)
            self.values[id(formal)] = body.add_input(formal.name, formal.dtype, shape)
        self.copy(loop.body, body)
        body.outputs = [self.value(v) for v in loop.body.outputs]
        types = []
        for each in loop.carried:
            before, after = self.value(each.before), self.value(each.after)
            if before.shape != after.shape and is_static(before.shape):
                raise _ChangesError
            types.append((before.dtype, before.shape))
        count = self._trip_count(loop)
        for rows in loop.scanned:
            row = self.value(rows.each).shape
            types.append((rows.rows.dtype, rows.rows.shape if row is None else (count, *row)))
        return out.add_another(node, self._inputs(node), {**node.attrs, "body": body}, types)

    def _trip_count(self, loop: Loop) -> RawDim:
        if loop.limit is None or loop.condition is not None:
            return None
        known = elements(self.value(loop.limit))
        if known is None or len(known) != 1 or not isinstance(known[0], int):
            return None
        return max(known[0], 0)

    def _inputs(self, node: Node) -> Inputs:
        return tuple([None if v is None else self.value(v) for v in node.inputs])

    def _constant(self, value: Value) -> Value:
        self._made.constants.append(value)
        return value
