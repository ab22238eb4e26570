"""``Operation``: one node of a graph as TensorFlow programs see it.

Owns what the parts of a graph are called there. A node is its ONNX operator; inputs, constants and
what is not an operator of ONNX (assignments, calls) have the types that TensorFlow gives them.
Objects are made when somebody asks: two for one node are equal, with equal hashes.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

from tfx.core import dtypes
from tfx.core.source import SourceLocation
from tfx.framework.tensor import SymbolicTensor
from tfx.graph import schema
from tfx.graph.ir import CALL, HOST, Graph, HostCall, Node, Value
from tfx.graph.passes.dead_code import has_effects
from tfx.graph.serialization.serialize import to_model

if TYPE_CHECKING:
    from tfx.framework.func_graph import FuncGraph

PLACEHOLDER = "Placeholder"
CONSTANT = "Const"
READ = "ReadVariableOp"
ASSIGN = "AssignVariableOp"


def is_variable_handle(x: Any) -> bool:
    """True for a variable of TensorFlow 1 as an operation, for which nothing has to wait."""
    return getattr(x, "type", None) == "VarHandleOp"


class Operation:
    """A node of a graph, an input of it, or a constant. Made by graphs, never by calling the class.

    Args:
        item: The node, or the value that no node makes.
        graph: The graph that it belongs to.

    Example:
        >>> import tfx as tf
        >>> @tf.function
        ... def f(x):
        ...     return tf.square(x)
        >>> op = f.get_concrete_function(tf.TensorSpec([], tf.float32)).outputs[0].op
        >>> op.name, op.type, [t.name for t in op.inputs]
        ('Square', 'Mul', ['x:0', 'x:0'])
    """

    __slots__ = ("_graph", "_item")

    def __init__(self, item: Node | Value, graph: FuncGraph) -> None:
        self._item = item
        self._graph = graph

    @property
    def graph(self) -> FuncGraph:
        """The graph that it belongs to."""
        return self._graph

    @property
    def name(self) -> str:
        """Its name, unique in the graph: that of the public function that made it, with scopes."""
        return self._item.name

    @property
    def type(self) -> str:
        """The ONNX operator (``"Mul"`` for ``tf.square``).

        ``"Placeholder"``, ``"ReadVariableOp"`` and ``"Const"`` are what goes into a graph,
        ``"AssignVariableOp"`` changes a variable, ``"PartitionedCall"`` calls another function
        (``"StatefulPartitionedCall"`` one that has effects). What Python does in the middle of the
        graph has its kind, such as ``"print"``.
        """
        item = self._item
        if isinstance(item, Value):
            if item.const is not None:
                return CONSTANT
            return READ if self._graph.state_entering_by(item) is not None else PLACEHOLDER
        if item.op == HOST:
            call: HostCall = item.attrs["call"]
            return call.kind
        if item.op == CALL:
            acts = self.assigns or has_effects(item.attrs["graph"])
            return "StatefulPartitionedCall" if acts else "PartitionedCall"
        return ASSIGN if self.assigns and item.op == "Identity" else item.op

    @property
    def assigns(self) -> tuple[str, ...]:
        """Names of the variables that it gives a new value."""
        tag = getattr(self._item, "tag", None)
        if getattr(tag, "reads", False):
            return ()
        outputs = getattr(tag, "outputs", None)
        return tuple(s.name for s in outputs.values()) if isinstance(outputs, dict) else ()

    @property
    def inputs(self) -> tuple[SymbolicTensor, ...]:
        """The tensors that it takes; optional ones that were left out are not among them."""
        if isinstance(self._item, Value):
            return ()
        return tuple(SymbolicTensor(v, self._graph) for v in self._item.inputs if v is not None)

    @property
    def outputs(self) -> list[SymbolicTensor]:
        """The tensors that it makes."""
        made = (self._item,) if isinstance(self._item, Value) else self._item.outputs
        return [SymbolicTensor(v, self._graph) for v in made]

    def values(self) -> tuple[SymbolicTensor, ...]:
        """``outputs`` as a tuple."""
        return tuple(self.outputs)

    @property
    def control_inputs(self) -> list[Operation]:
        """The operations that must run before this one, beside those of its inputs.

        State is values in a graph, so order follows from inputs; only what Python does (printing,
        asserting) follows the one before it.
        """
        item = self._item
        if isinstance(item, Value):
            return []
        control = getattr(self._graph.graph, "control", None)
        if control is not None:
            return [Operation(n, self._graph) for n in control.get(id(item), ())]
        if item.op != HOST or not item.attrs["call"].effect:
            return []
        before = None
        for node in self._graph.graph.nodes:
            if node is item:
                break
            if node.op == HOST and node.attrs["call"].effect:
                before = node
        return [] if before is None else [Operation(before, self._graph)]

    @property
    def device(self) -> str:
        """The device that it was put on; empty: the function's own."""
        item = self._item
        return self._graph.device_of(item)

    @property
    def source(self) -> SourceLocation | None:
        """The line of the program that made it, if it is known."""
        return getattr(self._item, "source", None)

    @property
    def traceback(self) -> traceback.StackSummary:
        """``source`` as a stack of one frame."""
        where = self.source
        frames = [] if where is None else [(where.file, where.line, where.function, None)]
        return traceback.StackSummary.from_list(frames)

    def get_attr(self, name: str) -> Any:
        """An attribute of the operator: its own value, or ONNX's default.

        ``"T"`` and ``"dtype"`` are the dtype of the first output; ``"value"`` of a constant is an
        array; the body or callee of control flow and calls is the graph as text.

        Args:
            name: The attribute's name.

        Raises:
            ValueError: the operation has no such attribute.
        """
        attributes = self._attributes()
        if name in attributes:
            value = attributes[name]
            return str(value) if isinstance(value, Graph | HostCall) else value
        if name in ("T", "dtype") and self.outputs:
            return self.outputs[0].dtype
        raise ValueError(
            f"Operation '{self.name}' has no attr named '{name}'; it has "
            f"{', '.join(sorted(attributes)) or 'none'}."
        )

    def _attributes(self) -> dict[str, Any]:
        item = self._item
        if isinstance(item, Value):
            if item.const is not None:
                return {"value": item.const, "dtype": dtypes.from_onnx(item.dtype)}
            return {"shape": self.outputs[0].shape, "dtype": dtypes.from_onnx(item.dtype)}
        if item.op in (CALL, HOST) or item.op not in schema.operator_names():
            return item.attrs
        known = schema.operator(item.op).attributes
        defaults = {n: default for n, (_, required, default) in known.items() if not required}
        return {**{n: v for n, v in defaults.items() if v is not None}, **item.attrs}

    @property
    def node_def(self) -> Any:
        """The operation as ONNX has it.

        A ``NodeProto``; a ``ValueInfoProto`` of an input, a ``TensorProto`` of a constant, None of
        what ONNX does not have, such as printing.
        """
        item = self._item
        alone = Graph(self.name)
        if isinstance(item, Value):
            if item.const is None:
                alone.inputs = [item]
                return to_model(alone).graph.input[0]
            alone.constants = [item]
            return to_model(alone).graph.initializer[0]
        if item.op == HOST or (item.op != CALL and item.op not in schema.operator_names()):
            return None
        alone.inputs = list({id(v): v for v in item.inputs if v is not None}.values())
        alone.nodes, alone.outputs = [item], list(item.outputs)
        return to_model(alone).graph.node[0]

    @property
    def op_def(self) -> Any:
        """ONNX's description of the operator (``onnx.defs.OpSchema``); None if it has none."""
        item = self._item
        if isinstance(item, Node) and item.op in schema.operator_names():
            return schema.operator(item.op).schema
        return None

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Run it in a session: only for operations of a ``compat.v1.Graph``.

        Args:
            feed_dict: What to put in place of tensors.
            session: The session; None: the default one.

        Raises:
            RuntimeError: it belongs to a function.
        """
        self._graph.run_in_session(self, feed_dict, session)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operation) and self._item is other._item

    def __hash__(self) -> int:
        return id(self._item)

    def __str__(self) -> str:
        return str(self.node_def or repr(self))

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"


def operations_of(graph: FuncGraph) -> list[Operation]:
    """Inputs, constants and then nodes in program order."""
    inner = graph.graph
    items: list[Node | Value] = [*inner.inputs, *inner.constants, *inner.nodes]
    return [Operation(item, graph) for item in items]


def operation_of(tensor: SymbolicTensor) -> Operation:
    """Return the operation that produces a tensor."""
    value = tensor._symbol
    return Operation(value.node or value, tensor._graph)


def consumers_of(tensor: SymbolicTensor) -> list[Operation]:
    """The operations of the graph that take a tensor, those with bodies that use it included."""
    value, graph = tensor._symbol, tensor._graph
    return [Operation(n, graph) for n in graph.graph.nodes if _takes(n, value)]


def _takes(node: Node, value: Value) -> bool:
    if any(v is value for v in node.inputs):
        return True
    if node.op == CALL:
        return False
    return any(_uses(body, value) for body in node.bodies())


def _uses(body: Graph, value: Value) -> bool:
    return any(v is value for v in body.outputs) or any(_takes(n, value) for n in body.nodes)
