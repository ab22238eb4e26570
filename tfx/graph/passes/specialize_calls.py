"""Parts of this library as each call of them knows their sizes: for CPU plans alone.

A random operation, or another composite, is traced once for all shapes. A call of it with a
constant shape, or with tensors of known sizes, leads to the same nodes with that constant in place
of an input, and the sizes that follow: what fuses, and what runs a loop as one program, asks for
these. Calls alike share a graph.
"""

from __future__ import annotations

import math
from collections.abc import Hashable

import numpy as np

from tfx.core.dims import is_static
from tfx.core.errors import InvalidArgumentError
from tfx.graph.control import Loop
from tfx.graph.copy_body import copy_node
from tfx.graph.infer import infer
from tfx.graph.ir import CALL, Graph, Node, RawShape, Value
from tfx.graph.rewrite import Inputs, Rewriter
from tfx.graph.shape_code import contents
from tfx.graph.symbolic_shapes import propagate

# Numbers of a result: of more, the operators take so long that nothing else counts.
_MOST_ELEMENTS = 1 << 12
_MOST_COUNTED = 1 << 10
# Of an input that says what the sizes are.
_FEW = 64
_INTEGERS = (6, 7)


def specialize_calls(graph: Graph) -> Graph:
    """A copy of the graph, bodies and callees included, whose calls of composites know sizes.

    Args:
        graph: As it was traced.
    """
    wanted = any(_is_wanted(node, node.inputs) for node in graph.all_nodes())
    return _Specializer().run(graph) if wanted else graph


class _Specializer(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        # With the callee, which is kept: else another one could get its ``id``.
        self._known: dict[Hashable, tuple[Graph, Graph | None]] = {}

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        if not _is_wanted(node, inputs):
            super().rewrite(node, inputs, out)
            return
        callee: Graph = node.attrs["graph"]
        key = (id(callee), *[v and _what_counts(v) for v in inputs])
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = callee, _specialized(callee, inputs)
        made = known[1]
        if made is None:
            super().rewrite(node, inputs, out)
        else:
            out.nodes.append(node.replaced(inputs, {**node.attrs, "graph": made}))


def _is_wanted(node: Node, inputs: Inputs) -> bool:
    """True if a node calls a composite, for few numbers, and tells it sizes."""
    if node.op != CALL or node.tag is not None or not node.attrs["graph"].library:
        return False
    callee: Graph = node.attrs["graph"]
    if callee.routine is not None or callee.kernel is not None:
        return False
    told = zip(callee.inputs, inputs, strict=True)
    if not any(actual is not None and _tells(formal, actual) for formal, actual in told):
        return False
    return all(_is_small(v) for v in node.outputs)


def _is_small(value: Value) -> bool:
    sizes = [size for size in value.shape or () if isinstance(size, int)]
    known = value.shape is not None and len(sizes) == len(value.shape)
    return known and math.prod(sizes) <= _MOST_ELEMENTS


def _tells(formal: Value, actual: Value) -> bool:
    """True if a callee can know sizes better by what it is given."""
    return _decides(actual) or (is_static(actual.shape) and not is_static(formal.shape))


def _decides(value: Value) -> bool:
    """True of a constant that may say what sizes there are."""
    return value.const is not None and value.dtype in _INTEGERS and value.const.size <= _FEW


def _what_counts(value: Value) -> Hashable:
    contents = value.const.tobytes() if value.const is not None and _decides(value) else None
    shape = value.shape if is_static(value.shape) else None
    return value.dtype, shape, contents


def _specialized(callee: Graph, given: Inputs) -> Graph | None:
    """The callee for such inputs; None if they do not fit it, which is for the run to say."""
    made = Graph(callee.name)
    made.library, made.slopes = callee.library, callee.slopes
    made.constants = list(callee.constants)
    copier = _Copier(made)
    for formal, actual in zip(callee.inputs, given, strict=True):
        value = made.add_input(formal.name, formal.dtype, _better(formal, actual))
        if actual is not None and actual.const is not None and _decides(actual):
            value = made.add_constant(actual.const, formal.dtype, formal.name)
        copier.values[id(formal)] = value
    try:
        copier.copy(callee, made)
    except InvalidArgumentError:
        return None
    made.outputs = [copier.value(v) for v in callee.outputs]
    return made


def _better(formal: Value, actual: Value | None) -> RawShape:
    """The shape of a formal value that is given another one, if that knows more."""
    return actual.shape if actual is not None and is_static(actual.shape) else formal.shape


class _ChangesError(Exception):
    """A loop carries values of other shapes than it begins with."""


class _Copier:
    """Nodes again, on values whose sizes are known better.

    Args:
        made: The graph that gets constants.

    Attributes:
        values: What became of each value, by its ``id``.
    """

    def __init__(self, made: Graph) -> None:
        self._made = made
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
            self.values.update((id(a), b) for a, b in zip(node.outputs, new.outputs, strict=True))

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
            shape = _better(formal, known)
            self.values[id(formal)] = body.add_input(formal.name, formal.dtype, shape)
        self.copy(loop.body, body)
        body.outputs = [self.value(v) for v in loop.body.outputs]
        types = []
        for each in loop.carried:
            before, after = self.value(each.before), self.value(each.after)
            if before.shape != after.shape and is_static(before.shape):
                raise _ChangesError
            types.append((before.dtype, before.shape))
        for rows in loop.scanned:
            row = self.value(rows.each).shape
            types.append((rows.rows.dtype, rows.rows.shape if row is None else (None, *row)))
        return out.add_another(node, self._inputs(node), {**node.attrs, "body": body}, types)

    def _inputs(self, node: Node) -> Inputs:
        return tuple([None if v is None else self.value(v) for v in node.inputs])

    def _constant(self, value: Value) -> Value:
        self._made.constants.append(value)
        return value
