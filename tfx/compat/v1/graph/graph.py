"""``Graph``: operations that are collected now and run by sessions later."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, cast

import numpy as np

from tfx.compat.v1.graph import pseudo_ops
from tfx.compat.v1.graph.collections import Collections
from tfx.compat.v1.graph.default_session import get_default_session
from tfx.compat.v1.graph.gradient_overrides import GradientOverrides
from tfx.compat.v1.graph.graph_def import graph_def_of
from tfx.compat.v1.graph.ordered_graph import OrderedGraph
from tfx.compat.v1.graph.pseudo_ops import Access
from tfx.compat.v1.variables.assigned_tensor import AssignedTensor
from tfx.compat.v1.variables.graph_variable import GraphVariable
from tfx.core import nest
from tfx.core.errors import InvalidArgumentError, LeakedTensorError
from tfx.core.source import user_frame
from tfx.framework.context import current, init_scope, using
from tfx.framework.device import device as device_scope
from tfx.framework.func_graph import FuncGraph, TracedVariable
from tfx.framework.operation import Operation, is_variable_handle
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.variable import Variable
from tfx.graph.ir import Node, RawShape, Value
from tfx.graph.tags import Tag
from tfx.ops.random.generator import Generator


class GraphState(TracedVariable):
    """A variable in a graph that is built for sessions: looking at its value adds a read."""

    __slots__ = ("_graph",)

    def __init__(self, variable: Variable, graph: Graph) -> None:
        self._graph = graph
        super().__init__(variable)

    @property
    def current(self) -> Value | None:
        """The value at this point: a new read."""
        return self._graph.read(self.variable())._symbol

    @current.setter
    def current(self, value: Value | None) -> None:
        """Assigned by a part of the graph, such as a called function: whenever that runs."""
        if value is not None:
            self._graph.assigned_by(self, value)


class Graph(FuncGraph, Collections):
    """A graph of operations, run by a ``Session``.

    Nothing runs while it is built. Make it the default graph with ``as_default()``; then every
    operation is added to it.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.placeholder(tf.float32, name="x")
        ...     y = tf.square(x)
        >>> y.name
        'Square:0'
        >>> with tf.Session(graph=graph) as session:
        ...     session.run(y, feed_dict={x: 3.0})
        np.float32(9.0)
    """

    variable_class = GraphVariable
    compares_by_identity = True
    names_constants = True
    # Whether variables exist apart from any session.
    owns_memory = False

    def __init__(self, name: str = "graph") -> None:
        with using(graph=None):
            FuncGraph.__init__(self, name)
        Collections.__init__(self)
        self.ordered = OrderedGraph(name)
        self.graph = self.ordered
        self.seed: int | None = None
        # The variables made here live as long as the graph.
        self.owned: list[Variable] = []
        # What else must live as long: loaded models.
        self.owned_objects: list[Any] = []
        # The states of random operations, by id, and whether a seed was given.
        self.hidden: dict[int, tuple[Variable, bool]] = {}
        self._last_reads: dict[int, Node] = {}
        self._drawing: Variable | None = None
        self._snapshots: dict[int, Node] = {}
        # What the next assignment is called; None: after its operator.
        self.assignment_name: str | None = None
        self.created_variables = self.owned
        # Made by ``variable_store`` when it is first needed.
        self.variable_store: Any = None

    # Building

    @property
    def building_function(self) -> bool:  # type: ignore[override]
        """True if this is the graph of a function."""
        return self.owns_memory

    @property
    def finalized(self) -> bool:  # type: ignore[override]
        """True if nothing may be added any more."""
        return self.ordered.finalized

    def finalize(self) -> None:
        """Refuse further operations."""
        self.ordered.finalized = True

    def add_pseudo(
        self,
        op: str,
        inputs: Sequence[Value] = (),
        types: Sequence[tuple[int, RawShape]] = (),
        *,
        name: str,
        tag: Tag | None = None,
    ) -> Node:
        """Append a node of the graph's own; see ``pseudo_ops``."""
        node = self.ordered.add_node(op, inputs, {}, types, name=name, source=user_frame(), tag=tag)
        return node

    def constant(self, array: np.ndarray[Any, Any], dtype: int) -> Value:
        """A constant; small equal ones are shared."""
        self.ordered.check_open()
        return super().constant(array, dtype)

    def named_constant(self, array: np.ndarray[Any, Any], dtype: int, name: str) -> Value:
        """A constant of its own, with a name: it can be fetched and fed."""
        return self.ordered.add_named_constant(array, dtype, name)

    def _capture(self, tensor: SymbolicTensor) -> Value:
        try:
            return super()._capture(tensor)
        except LeakedTensorError:
            raise ValueError(
                f"{tensor!r} must be from the same graph as what it is used with (graphs are "
                f"{tensor.graph!r} and {self!r})."
            ) from None

    # Variables

    def state_of(self, variable: Variable) -> TracedVariable:
        """The record of a variable in this graph."""
        state = self.states.get(id(variable))
        if state is None or state.ref() is not variable:
            if state is not None:
                self.states[-len(self.states)] = state
            state = self.states[id(variable)] = GraphState(variable, self)
        return state

    def read(self, variable: Variable) -> SymbolicTensor:
        """A new read of the variable at this point."""
        state = self.state_of(variable)
        types = [(variable.dtype.onnx, variable.shape.symbolic)]
        name = f"{current().scope}{pseudo_ops.READ}"
        node = self.add_pseudo(pseudo_ops.READ, (), types, name=name, tag=Access(state, reads=True))
        self._last_reads[id(variable)] = node
        return SymbolicTensor(node.outputs[0], self)

    def snapshot(self, variable: Variable) -> SymbolicTensor:
        """The read of the variable that fetching and feeding it means."""
        node = self._snapshots.get(id(variable))
        # The address of a deleted variable may be another one's by now.
        if node is None or cast("Access", node.tag).state.ref() is not variable:
            scope = f"{variable.name.removesuffix(':0')}/Read/"
            with self.ordered.after(None), using(graph=self, tapes=(), scope=scope):
                self.read(variable)
            node = self._snapshots[id(variable)] = self._last_reads[id(variable)]
        return SymbolicTensor(node.outputs[0], self)

    def assign(self, variable: Variable, value: Tensor) -> Any:
        """A new assignment at this point.

        Returns:
            The assigned value as a tensor that can be fetched.
        """
        state = self.state_of(variable)
        label = self.assignment_name or pseudo_ops.ASSIGN
        node = self._add_assignment(state, self.value_of(value), f"{current().scope}{label}")
        if self._drawing is variable:
            # Who draws random numbers advances the state.
            self.ordered.accompany(self._last_reads[id(variable)], node)
            self._drawing = None
        return AssignedTensor(node.outputs[0], self, variable)

    def assigned_by(self, state: GraphState, value: Value) -> None:
        """A part of this graph assigned a variable, which happens whenever that part runs."""
        node = self._add_assignment(state, value, pseudo_ops.ASSIGN)
        if value.node is not None:
            self.ordered.accompany(value.node, node)

    def add_initializer(self, variable: Variable, value: Tensor, name: str) -> Node:
        """The node that gives a variable its initial value."""
        state = self.state_of(variable)
        return self._add_assignment(state, self.value_of(value), name, initial=True)

    def _add_assignment(
        self, state: TracedVariable, value: Value, name: str, *, initial: bool = False
    ) -> Node:
        tag = Access(state, initial=initial)
        types = [(value.dtype, value.shape)]
        return self.add_pseudo(pseudo_ops.ASSIGN, (value,), types, name=name, tag=tag)

    def generator_for(self, seed: Any) -> Generator | None:
        """Return a generator for one operation, whose state each session has its own copy of."""
        with init_scope():
            if seed is None and self.seed is None:
                generator = Generator.from_non_deterministic_state()
            else:
                number = len(self.ordered.nodes) if seed is None else int(seed)
                base = _DEFAULT_SEED if self.seed is None else self.seed
                generator = Generator.from_seed(_key(base, number, given=seed is not None))
        self.hide(generator.state, seeded=seed is not None or self.seed is not None)
        return generator

    def draws_from(self, variable: Variable) -> None:
        """The next assignment of this state belongs to the read before it."""
        self._drawing = variable

    def hide(self, variable: Variable, *, seeded: bool) -> None:
        """Keep the state of a random operation; reading it advances it."""
        self.hidden[id(variable)] = (variable, seeded)

    # Order and names

    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Any:
        """Let the operations made inside the ``with`` block come after ``control_inputs``.

        Args:
            control_inputs: Operations, tensors, variables or their names; None: after nothing, not
                even what the blocks around this one say.
        """
        if control_inputs is None:
            return self.ordered.after(None)
        return self.ordered.after(self.nodes_of(control_inputs))

    def add_no_op(self, inputs: Sequence[Any], name: str) -> Operation:
        """An operation that comes after others and does nothing."""
        with self.control_dependencies(inputs):
            node = self.add_pseudo(pseudo_ops.NO_OP, name=f"{current().scope}{name}")
        return Operation(node, self)

    def name_scope(self, name: str | None) -> AbstractContextManager[str]:
        """Prefix the names of operations made inside the ``with`` block.

        Args:
            name: The scope; a name that was used before gets a number. One that ends with ``/`` is
                the whole prefix; None or the empty name is no prefix at all.
        """
        return self._unique_scope(name)

    @contextmanager
    def _unique_scope(self, name: str | None) -> Iterator[str]:
        if not name:
            prefix = ""
        elif name.endswith("/"):
            prefix = name
        else:
            prefix = f"{self.graph.unique_scope(current().scope + name)}/"
        with using(scope=prefix):
            yield prefix

    @contextmanager
    def gradient_override_map(self, op_type_map: dict[str, str]) -> Iterator[None]:
        """Give operations that are made inside the ``with`` block other gradients.

        Args:
            op_type_map: By the operation's type (``"Relu"``), the name that
                ``tf.RegisterGradient`` registered the gradient by. Types are TensorFlow's, of
                operations that are one ONNX operator.

        Raises:
            TypeError: no dictionary of strings.
            ValueError: a type that is not one ONNX operator.

        Example:
            >>> import tfx.compat.v1 as tf
            >>> @tf.RegisterGradient("StraightThrough")
            ... def _straight_through(op, grad):
            ...     return grad
            >>> with tf.Graph().as_default() as graph, tf.Session() as session:
            ...     x = tf.constant([-0.3, 2.0])
            ...     with graph.gradient_override_map({"Sign": "StraightThrough"}):
            ...         y = tf.sign(x)
            ...     session.run(tf.gradients(y, x)[0])
            array([1., 1.], dtype=float32)
        """
        outer = self.overrides
        self.overrides = GradientOverrides(op_type_map, outer)
        try:
            yield
        finally:
            self.overrides = outer

    def device(self, device_name_or_function: Any) -> AbstractContextManager[None]:
        """Put the operations made inside the ``with`` block on a device."""
        return device_scope(device_name_or_function)

    # Elements

    def nodes_of(self, elements: Iterable[Any]) -> list[Node]:
        """The nodes behind tensors, operations, variables and names; constants have none.

        Raises:
            TypeError: something else.
        """
        nodes = []
        for x in nest.flatten(list(elements)):
            if is_variable_handle(x):
                continue
            found = self.as_graph_element(x)
            item = found._item if isinstance(found, Operation) else found._symbol.node
            if isinstance(item, Node):
                nodes.append(item)
        return nodes

    def _operation(self, name: str) -> Operation | None:
        found = super()._operation(name)
        if found is None:
            # A variable's own name means its value.
            named = (v for v in self.owned if v.name == f"{name}:0")
            variable = next(named, None)
            found = None if variable is None else self.snapshot(variable).op
        return found

    def _variable_value(self, variable: Any) -> SymbolicTensor:
        return self.snapshot(variable)

    def as_graph_def(self, from_version: Any = None, add_shapes: bool = False) -> Any:
        """The computation as ONNX's ``GraphProto``.

        Placeholders, the values of variables and what Python makes (elements of queues, results of
        ``py_func``) are its inputs; its outputs are the results that nothing uses, and the new
        values of variables. Initializers and summaries are left out.

        Args:
            from_version: Accepted for compatibility.
            add_shapes: Accepted for compatibility: shapes are there.
        """
        return graph_def_of(self)

    def check_part(self, inputs: Any, outputs: Any) -> None:
        """Refuse to make a function of a part that uses variables, which sessions hold.

        Raises:
            InvalidArgumentError: naming a variable.
        """
        given = [self.as_graph_element(x) for x in nest.flatten(inputs)]
        fed = {id(x._symbol): x._symbol for x in given if isinstance(x, SymbolicTensor)}
        fetched = [self.as_graph_element(x) for x in nest.flatten(outputs)]
        values = [x._symbol for x in fetched if isinstance(x, SymbolicTensor)]
        nodes = [x._item for x in fetched if isinstance(x, Operation)]
        for node in self.ordered.closure(values, [n for n in nodes if isinstance(n, Node)], fed):
            if isinstance(node.tag, Access):
                raise InvalidArgumentError(
                    f"No function can be made of a part of {self!r} that uses the variable "
                    f"{node.tag.state.name!r}: sessions hold its values. Run it in a session, save "
                    "it with tf.compat.v1.saved_model.simple_save, or build it in "
                    "tf.compat.v1.wrap_function."
                )

    def is_feedable(self, tensor: Any) -> bool:
        """Return True: every tensor can be fed."""
        return True

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        """Return True: everything can be fetched."""
        return True

    def run_in_session(self, fetch: Any, feed_dict: Any, session: Any) -> Any:
        """What ``Tensor.eval`` and ``Operation.run`` do."""
        if session is None:
            session = get_default_session()
        if session is None:
            what, how = (
                ("execute operation", "run")
                if isinstance(fetch, Operation)
                else ("evaluate tensor", "eval")
            )
            raise ValueError(
                f"Cannot {what} using `{how}()`: No default session is registered. Use `with "
                f"sess.as_default()` or pass an explicit session to `{how}(session=sess)`"
            )
        if session.graph is not self:
            raise ValueError(
                f"Cannot use the default session for {fetch!r}: the session's graph is another "
                "one. Pass a session of its own graph."
            )
        return session.run(fetch, feed_dict)

    def __repr__(self) -> str:
        return f"<tf.Graph {self.name!r} of {len(self.ordered.nodes)} operations>"


def _key(seed: int, number: int, *, given: bool) -> int:
    """One number from the graph's seed and an operation's own, or its place in the graph."""
    digest = hashlib.sha256(f"{seed}:{number}:{given}".encode()).digest()
    return int.from_bytes(digest[:8], "little", signed=True)


# The seed of operations that are given one where the graph has none.
_DEFAULT_SEED = 87654321
