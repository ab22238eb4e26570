"""Cut a part out of a graph: from values that will be given to values that are wanted.

The part is emitted again, so that what happens to it never touches what was traced. Names survive.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tfx.core.dims import is_static, sizes_alone
from tfx.core.errors import OpError
from tfx.graph.copy_body import copy_body, forget_sizes
from tfx.graph.infer import Types, infer
from tfx.graph.ir import CALL, HOST, Graph, Node, Value
from tfx.graph.passes.dead_code import used_values
from tfx.graph.symbolic_shapes import propagate


class Part:
    """The part of a graph that must run to compute given values.

    Args:
        graph: The graph.
        given: Values that need not be computed.
        wanted: Values to compute.
        required: ``id`` of nodes that must run although nothing wanted needs them.

    Attributes:
        nodes: The nodes to run, in order.
        used: ``id`` of everything that they read, and of what is wanted.
    """

    def __init__(
        self,
        graph: Graph,
        given: Iterable[Value],
        wanted: Iterable[Value],
        required: Collection[int] = (),
    ) -> None:
        known = {id(v) for v in given}
        used = {id(v) for v in wanted}
        nodes: list[Node] = []
        for node in reversed(graph.nodes):
            made = any(id(v) in used and id(v) not in known for v in node.outputs)
            if made or id(node) in required:
                nodes.append(node)
                used.update(id(v) for v in used_values(node))
        self.nodes = nodes[::-1]
        self.used = used
        self._given = known

    def path(self, start: Value, ends: Sequence[Value]) -> list[Value]:
        """Values along which ``start`` reaches one of ``ends``, itself first.

        It ends with an output of the node that must run where none of ``ends`` is reached.
        """
        follows: dict[int, Node] = {}
        for node in reversed(self.nodes):
            for value in used_values(node):
                follows[id(value)] = node
        path, wanted = [start], {id(v) for v in ends}
        while id(path[-1]) not in wanted and id(path[-1]) not in self._given:
            following = follows.get(id(path[-1]))
            if following is None or not following.outputs:
                break
            used = [v for v in following.outputs if id(v) in self.used - self._given]
            path.append((used or following.outputs)[0])
        return path


class Emitter:
    """Appends copies of nodes to another graph.

    Args:
        target: The graph that gets them.

    Attributes:
        values: The value there for each value here, by ``id``; must hold what is given.
    """

    def __init__(self, target: Graph) -> None:
        self.target = target
        self.values: dict[int, Value] = {}
        # Values whose types cannot be taken over: shapes may have been derived from what is now
        # given in their place.
        self._unsure: set[int] = set()

    def give(self, value: Value, stand_in: Value, *, computed: bool) -> None:
        """Put a value of the target in place of one that will not be computed.

        Args:
            value: The value here.
            stand_in: The value there.
            computed: Whether it was computed: where shapes were derived from what it was, they
                are not known any more.
        """
        self.values[id(value)] = stand_in
        if not computed:
            stand_in.dims = value.dims
        elif value.dims is not None or value.const is not None or not is_static(value.shape):
            self._unsure.add(id(stand_in))

    def get(self, value: Value) -> Value:
        """The value there; constants are made at first use."""
        known = self.values.get(id(value))
        if known is None:
            if value.const is None:
                raise KeyError(value.name)
            known = self.target.add_constant(value.const, value.dtype, value.name)
            self.values[id(value)] = known
        return known

    def emit(self, node: Node) -> Node:
        """Append a node."""
        inputs = [None if v is None else self.get(v) for v in node.inputs]
        attrs = node.attrs
        if node.op != CALL and any(True for _ in node.bodies()):
            attrs = {
                k: copy_body(v, self.target, self.get, self.get) if isinstance(v, Graph) else v
                for k, v in attrs.items()
            }
        types = [(v.dtype, v.shape) for v in node.outputs]
        unsure = any(v is not None and id(v) in self._unsure for v in inputs)
        plain = attrs is node.attrs and node.op not in (CALL, HOST)
        if unsure:
            alone: Types = [(code, sizes_alone(shape)) for code, shape in types]
            types = (_inferred(node, inputs) if plain else None) or alone
            for body in () if node.op == CALL else attrs.values():
                if isinstance(body, Graph):
                    forget_sizes(body)
        made = self.target.add_another(node, inputs, attrs, types)
        for old, new in zip(node.outputs, made.outputs, strict=True):
            self.values.setdefault(id(old), new)
            if not unsure:
                new.dims = old.dims
        if unsure:
            self._unsure.update(id(v) for v in made.outputs)
            if plain:
                propagate(made)
        return made


def _inferred(node: Node, inputs: Sequence[Value | None]) -> Types | None:
    """Types of a node's outputs for other inputs; None if onnx takes them for wrong."""
    try:
        return infer(node.op, inputs, node.attrs, len(node.outputs))
    except OpError:
        return None
