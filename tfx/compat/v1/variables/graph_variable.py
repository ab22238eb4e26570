"""``GraphVariable``: a variable of a graph. Its memory belongs to the sessions that run the graph.

In a graph that owns its memory (of ``wrap_function``) a variable has its value at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tfx.compat.v1.graph import pseudo_ops
from tfx.compat.v1.graph.collections import GraphKeys
from tfx.compat.v1.graph.pseudo_ops import Query
from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.core.errors import FailedPreconditionError, InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.core.source import user_frame
from tfx.framework import variable_locks
from tfx.framework.context import current, init_scope, using
from tfx.framework.convert import convert_to_tensor
from tfx.framework.device import placed, trace_device
from tfx.framework.func_graph import graph_under_construction
from tfx.framework.operation import Operation
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.framework.variable import (
    Variable,
    VariableAggregation,
    VariableSynchronization,
    new_variable_number,
)
from tfx.graph.ir import Node
from tfx.runtime.values import copy_to_device

if TYPE_CHECKING:
    from tfx.compat.v1.graph.graph import Graph


# What an assignment is called where nobody says.
ASSIGN_NAMES = {
    "": "AssignVariableOp",
    "add": "AssignAddVariableOp",
    "sub": "AssignSubVariableOp",
}


class GraphVariable(Variable):
    """A variable of a ``Graph``, made by ``Variable`` or ``get_variable`` while it is built.

    Args:
        initial_value: What the initializer assigns: a tensor, numbers, or a function without
            arguments that returns one.
        trainable: Whether it is in the collection of trainable variables; None means True.
        validate_shape: Accepted for compatibility: ``shape`` says what is left open.
        caching_device: Accepted for compatibility.
        name: Name; scopes prefix it, and a number makes it unique.
        variable_def: Not supported: pass None.
        dtype: Element type that ``initial_value`` is converted to.
        import_scope: Accepted for compatibility.
        constraint: Called by optimizers with the new value, returns the value to store.
        synchronization: Accepted for compatibility.
        aggregation: Accepted for compatibility.
        shape: Static shape.
        collections: The collections to add it to; None: the global variables.
        full_name: The whole name, scopes included.

    Raises:
        ValueError: no initial value, or one that does not fit ``shape``.
        TypeError: a tensor of another dtype.
    """

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: None = None,
        dtype: DTypeLike | None = None,
        import_scope: str | None = None,
        constraint: Callable[[Tensor], Any] | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: Any = None,
        *,
        collections: Sequence[Any] | None = None,
        full_name: str | None = None,
    ) -> None:
        graph = _graph()
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        graph.ordered.check_open()
        op_name = graph.ordered.unique_name(full_name or f"{current().scope}{name or 'Variable'}")
        self._graph = graph
        self._name = f"{op_name}:0"
        self.made_at = f" It was made in {user_frame().text()}."
        self._trainable = True if trainable is None else bool(trainable)
        self._constraint = constraint
        self.synchronization = synchronization
        self.aggregation = aggregation
        self._lock_number = variable_locks.new_number()
        self._number = new_variable_number()
        self._plans = None
        self.aside = None
        self.origin = None
        self._raw = None
        self._initializer: Node | None = None
        self._given = initial_value
        value = self._initial(initial_value, op_name, dtype)
        self._initial_value = value
        self._dtype = value.dtype
        self._shape = self._static_shape(value, shape)
        device = placed(current().device, "VariableV2", self._name, (value,))
        self._asked = "" if device is None else f"/device:{device}"
        self._home = trace_device(device)
        if isinstance(value, EagerTensor):
            self._raw = copy_to_device(value._raw, self._home)
        else:
            with graph.ordered.after(None):
                self._initializer = graph.add_initializer(self, value, f"{op_name}/Assign")
        graph.owned.append(self)
        graph.snapshot(self)
        names = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if self._trainable and GraphKeys.TRAINABLE_VARIABLES not in names:
            names.append(GraphKeys.TRAINABLE_VARIABLES)
        graph.add_to_collections(names, self)

    def _initial(self, given: Any, op_name: str, dtype: DTypeLike | None) -> Tensor:
        """The initial value: a tensor of the graph, or of its contents if it owns memory."""
        graph = self._graph
        wanted = None if dtype is None else dtypes.as_dtype(dtype)
        if graph.owns_memory:
            with init_scope():
                value = given() if callable(given) else given
            if isinstance(value, SymbolicTensor):
                value = graph.evaluate(value)
            with init_scope():
                return convert_to_tensor(value, wanted)
        with graph.ordered.after(None), using(scope=f"{op_name}/Initializer/", tapes=()):
            tensor = convert_to_tensor(given() if callable(given) else given, wanted)
            if isinstance(tensor, EagerTensor):
                tensor = SymbolicTensor(graph.value_of(tensor), graph)
            return tensor

    def _static_shape(self, value: Tensor, shape: Any) -> TensorShape:
        if shape is None:
            return value.shape
        wanted = TensorShape(shape)
        if not wanted.is_compatible_with(value.shape):
            raise ValueError(
                f"The initial value's shape ({value.shape}) is not compatible with the "
                f"explicitly supplied `shape` argument ({wanted})."
            )
        return wanted

    # Facts

    @property
    def op(self) -> VariableHandle:
        """The variable as an operation: it has a name."""
        return VariableHandle(self)

    @property
    def graph(self) -> Graph:
        """The graph that it belongs to."""
        return self._graph

    @property
    def device(self) -> str:
        """The device of the value: that of the scope; empty: decided by the session."""
        return self._asked if self._raw is None else super().device

    @property
    def initializer(self) -> Operation:
        """The operation that assigns the initial value."""
        if self._initializer is None:  # the graph owns its memory: nobody needed it so far
            graph, name = self._graph, self._name.removesuffix(":0")
            with graph.as_default(), graph.ordered.after(None):
                with using(scope=f"{name}/Initializer/", tapes=()):
                    value = self._given() if callable(self._given) else self._initial_value
                    tensor = convert_to_tensor(value, self._dtype)
                self._initializer = graph.add_initializer(self, tensor, f"{name}/Assign")
        return Operation(self._initializer, self._graph)

    def initialize_with(self, make: Callable[[], Tensor]) -> None:
        """Let the initializer, from now on, assign another value.

        Args:
            make: Returns the value, of the variable's dtype and shape.
        """
        graph, name = self._graph, self._name.removesuffix(":0")
        if graph.owns_memory:
            with init_scope():
                value = make()
            assert isinstance(value, EagerTensor)
            self._raw = copy_to_device(value._raw, self._home)
            return
        with graph.as_default(), graph.ordered.after(None):
            with using(scope=f"{name}/Initializer/", tapes=()):
                value = make()
            self._given, self._initial_value = make, value
            self._initializer = graph.add_initializer(self, value, f"{name}/Assign")

    @property
    def _in_graph_mode(self) -> bool:
        return True

    @property
    def initial_value(self) -> Tensor:
        """The tensor that the initializer assigns."""
        return self._initial_value

    def initialized_value(self) -> Tensor:
        """The variable's value, or its initial value as long as it has none."""
        graph = self._graph
        if isinstance(self._initial_value, EagerTensor):
            return self.value()
        initial = self._initial_value
        assert isinstance(initial, SymbolicTensor)
        node = graph.add_pseudo(
            pseudo_ops.INITIALIZED_VALUE,
            (initial._symbol,),
            [(self._dtype.onnx, self._shape.symbolic)],
            name=f"{current().scope}{self._name.removesuffix(':0')}/initialized_value",
            tag=Query([graph.state_of(self)]),
        )
        return SymbolicTensor(node.outputs[0], graph)

    def eval(self, session: Any = None) -> Any:
        """The value that a session holds.

        Args:
            session: The session; None: the default one.
        """
        return self._graph.snapshot(self).eval(session=session)

    def load(self, value: Any, session: Any = None) -> None:
        """Give the variable a value in a session.

        Args:
            value: The value.
            session: The session; None: the default one.
        """
        self._graph.run_in_session(self.initializer, {self.initializer.inputs[0]: value}, session)

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Return whether the session holds a value of the variable, as a tensor."""
        graph = self._graph
        node = graph.add_pseudo(
            pseudo_ops.IS_INITIALIZED,
            (),
            [(dtypes.bool.onnx, ())],
            name=f"{current().scope}{name or pseudo_ops.IS_INITIALIZED}",
            tag=Query([graph.state_of(self)]),
        )
        return SymbolicTensor(node.outputs[0], graph)

    # Reading and writing

    def value(self) -> Tensor:
        """The value: in the graph a new read."""
        self._check_place()
        return super().value()

    def _check_place(self) -> None:
        """Refuse what is done where operations run at once, unless there is a value.

        Raises:
            FailedPreconditionError: sessions hold the values.
        """
        if current().graph is None and not self._graph.owns_memory:
            raise FailedPreconditionError(
                f"Variable {self._name!r} belongs to {self._graph!r}, whose sessions hold its "
                "values: use session.run(variable)."
            )

    def _change(self, function: Callable[[Tensor], Tensor]) -> Variable:
        self._check_place()
        return super()._change(function)

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Add an operation that assigns a value; see ``Variable.assign``.

        Args:
            value: Anything convertible to a tensor of the variable's dtype and shape.
            use_locking: Accepted for compatibility.
            name: Name of the operation.
            read_value: False: return the operation.

        Returns:
            The assigned value as a tensor, or the operation. (The variable itself where there is
            no graph around.)
        """
        with self._naming(name or ASSIGN_NAMES[""]):
            return _as_asked(super().assign(value), read_value)

    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Add an operation that adds ``delta``; see ``assign``."""
        with self._naming(name or ASSIGN_NAMES["add"]):
            return _as_asked(super().assign_add(delta), read_value)

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Add an operation that subtracts ``delta``; see ``assign``."""
        with self._naming(name or ASSIGN_NAMES["sub"]):
            return _as_asked(super().assign_sub(delta), read_value)

    @contextmanager
    def _naming(self, name: str) -> Iterator[None]:
        """Call the assignment inside the block so, unless a block around it says otherwise."""
        self._check_place()
        graph = self._graph
        before = graph.assignment_name
        if before is None:
            graph.assignment_name = name
        try:
            yield
        finally:
            graph.assignment_name = before

    # Identity

    def __eq__(self, other: object) -> Any:
        if self._graph.compares_by_identity:
            return self is other
        return super().__eq__(other)

    def __ne__(self, other: object) -> Any:
        if self._graph.compares_by_identity:
            return self is not other
        return super().__ne__(other)

    def __hash__(self) -> int:
        return id(self) if self._graph.compares_by_identity else super().__hash__()

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        self._check_copy()
        return super().__deepcopy__(memo)

    def __reduce__(self) -> tuple[Any, ...]:
        self._check_copy()
        return super().__reduce__()

    def _check_copy(self) -> None:
        if self._raw is None:
            raise InvalidArgumentError(
                f"{self!r} cannot be copied or pickled: it belongs to {self._graph!r}, whose "
                "sessions hold its values. Save them with tf.compat.v1.train.Saver."
            )

    def __repr__(self) -> str:
        if self._raw is not None:
            return super().__repr__()
        return f"<tf.Variable '{self._name}' shape={self._shape} dtype={self._dtype.name}>"


class VariableHandle:
    """A variable as an operation."""

    __slots__ = ("_variable",)

    type = "VarHandleOp"

    def __init__(self, variable: GraphVariable) -> None:
        self._variable = variable

    @property
    def name(self) -> str:
        """The variable's name without ``:0``."""
        return self._variable.name.removesuffix(":0")

    @property
    def graph(self) -> Graph:
        """The graph that it belongs to."""
        return self._variable.graph

    def __repr__(self) -> str:
        return f"<tf.Operation {self.name!r} type={self.type}>"


def _graph() -> Graph:
    return graph_under_construction()  # type: ignore[return-value]


def _as_asked(changed: Any, read_value: bool) -> Any:
    if read_value or not isinstance(changed, SymbolicTensor):
        return changed
    node = changed._symbol.node
    assert node is not None
    return Operation(node, changed.graph)
