"""The graph of a function while Python builds it: captures, variables, names.

``FuncGraph`` owns an ``ir.Graph`` and everything that ties its values to the world outside: which
inputs are arguments, which stand for tensors of an enclosing function (captures) and which are the
entry values of variables. State is SSA: a variable is its current value here, an assignment
replaces it, and the last value of every assigned variable becomes an output.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from tfx.core.errors import FailedPreconditionError, LeakedTensorError
from tfx.core.source import SourceLocation
from tfx.framework.context import current
from tfx.framework.device import placed, trace_device
from tfx.framework.graph_api import GraphApi
from tfx.framework.node_names import Place, name_node
from tfx.framework.operation import Operation
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.graph import ir
from tfx.graph.infer import infer
from tfx.graph.symbolic_shapes import propagate
from tfx.graph.tags import Tag

if TYPE_CHECKING:
    from tfx.framework.variable import Variable


_INT64 = 7

# NumPy's kinds of dtypes that no derivative is taken by.
_SHARED_KINDS = "biu"


class TracedVariable:
    """A variable inside a graph: the input it enters by and its current value.

    Attributes:
        ref: Weak reference to the variable.
        name: The variable's name, for messages after it is gone.
        entry: The graph input that holds the value at the start; None if written before any read.
        current: The value at this point of the program.
        written: Whether it was assigned.
    """

    __slots__ = ("_kept", "current", "entry", "name", "ref", "written")

    def __init__(self, variable: Variable) -> None:
        self.ref = weakref.ref(variable)
        # The state of a random operation belongs to the graphs that have it; see ``seeds_of``.
        self._kept = variable if getattr(variable, "seeds", None) is not None else None
        self.name = variable.name
        self.entry: ir.Value | None = None
        self.current: ir.Value | None = None
        self.written = False

    def variable(self) -> Variable:
        """The variable itself.

        Raises:
            FailedPreconditionError: it was deleted.
        """
        variable = self.ref()
        if variable is None:
            raise FailedPreconditionError(
                f"Variable {self.name!r} that the function uses was deleted: a function keeps only "
                "weak references to variables. Keep a reference to it, for example as an "
                "attribute of a Module."
            )
        return variable


class Assigned(Tag):
    """Tag of a node whose output number ``output`` is the new value of a variable.

    Gradients do not flow through an assignment: a later read depends on the variable, not on what
    was assigned.

    Args:
        outputs: By the numbers of outputs, the variables.
        again: Whether that was assigned already, and is not by the node: it is part of a
            computation that is done a second time.
    """

    __slots__ = ("again", "outputs")

    def __init__(self, outputs: dict[int, TracedVariable], again: bool = False) -> None:
        self.outputs = outputs
        self.again = again


class FuncGraph(GraphApi):
    """A graph under construction.

    Args:
        name: Name of the function.
        parent: The function being traced around this one, whose tensors may be captured.

    Attributes:
        variable_class: What ``Variable(...)`` makes while this graph is built; None: a variable
            that exists at once.
        compares_by_identity: Whether its tensors are equal, and hash, as objects.
        names_constants: Whether ``tf.constant`` makes an operation that can be found by its name.
        named_after_calls: Whether nodes are named after the functions that the user calls (see
            ``node_names``); False for graphs that are kept for others than who happens to call
            first.
        is_element: Whether it is the program of one of many elements, which is then carried out for
            all of them in the enclosing graph.
        overrides: Asked first for the results of an operator; it may have None.
        shared_name: What the names of all nodes that are made now have in common, if that is known.
    """

    variable_class: type[Variable] | None = None
    compares_by_identity = False
    names_constants = False
    named_after_calls = True
    is_element = False
    shared_name: Place | None = None
    overrides: Callable[..., tuple[Any, ...] | None] | None = None

    def __init__(self, name: str = "graph", parent: FuncGraph | None = None) -> None:
        self.name = name
        self.graph = ir.Graph(name)
        self.parent = parent
        # Where it was traced, canonical.
        self.home = trace_device(current().device)
        self.arguments: list[ir.Value] = []
        # id of a node -> the device of the scope that it was made in, the graph's own one included
        self.requested: dict[int, str] = {}
        # id of the outer tensor -> (the tensor, its stand-in here)
        self.captured: dict[int, tuple[SymbolicTensor, ir.Value]] = {}
        self.states: dict[int, TracedVariable] = {}
        # Variables made while tracing (first call of a function only); None: not allowed.
        self.created_variables: list[Variable] | None = None
        # Part of the function around, not a function: what it creates is created by that one.
        self.is_body = False
        # How many random operations without a seed of their own were added.
        self.unseeded = 0
        self._constants: dict[Any, ir.Value] = {}
        # id of an eager tensor used in the graph -> (the tensor, the constant it became)
        self.captured_eager: dict[int, tuple[EagerTensor, ir.Value]] = {}
        # Computes a symbolic tensor while tracing (initial values of variables); set by `function`.
        self.evaluator: Callable[[SymbolicTensor], EagerTensor] | None = None

    # Nodes and constants

    def add_argument(self, name: str, dtype: int, shape: ir.RawShape) -> SymbolicTensor:
        """A new input that the caller gives."""
        value = self.graph.add_input(name, dtype, shape)
        self.arguments.append(value)
        return SymbolicTensor(value, self)

    def add_op(
        self,
        op: str,
        inputs: Sequence[ir.Value | None],
        attrs: ir.Attributes,
        outputs: int | None,
        *,
        name: str,
        source: SourceLocation | None,
    ) -> ir.Node:
        """Append an ONNX operator."""
        types = infer(op, inputs, attrs, outputs)
        node = self.graph.add_node(op, inputs, attrs, types, name=name, source=source)
        self.place(node)
        propagate(node)
        return node

    def add_host(
        self,
        call: ir.HostCall,
        inputs: Sequence[ir.Value],
        types: Sequence[tuple[int, ir.RawShape]],
        *,
        name: str,
        source: SourceLocation | None,
    ) -> ir.Node:
        """Append something that Python does."""
        return self.graph.add_node(ir.HOST, inputs, {"call": call}, types, name=name, source=source)

    def place(self, node: ir.Node) -> None:
        """Put a node on the device of the scope around it, where that is not the graph's own."""
        scope = current().device
        if scope is None:
            return
        inputs = [None if v is None else SymbolicTensor(v, self) for v in node.inputs]
        device = placed(scope, node.op, node.name, inputs)
        if device is None:
            return
        self.requested[id(node)] = device
        if device != self.home:
            node.device = device

    def device_of(self, made: ir.Node | ir.Value) -> str:
        """The device that a scope gave a node, or what makes a value; empty: the graph's own."""
        if isinstance(made, ir.Value):
            made = made.node or made
        own = made.device if isinstance(made, ir.Node) else None
        device = self.requested.get(id(made), own)
        return f"/device:{device}" if device else ""

    def place_constant(self, value: ir.Value) -> None:
        """Place a constant that is not shared on the device of the current scope."""
        device = placed(current().device, "Const", value.name, ())
        if device is not None:
            self.requested[id(value)] = device

    def value_of(self, tensor: Tensor) -> ir.Value:
        """The value of this graph that a tensor is, captured if it comes from elsewhere."""
        if isinstance(tensor, SymbolicTensor):
            if tensor._graph is self:
                return tensor._symbol
            return self._capture(tensor)
        assert isinstance(tensor, EagerTensor)
        return self._captured_constant(tensor)

    def _captured_constant(self, tensor: EagerTensor) -> ir.Value:
        known = self.captured_eager.get(id(tensor))
        if known is None:
            # Not shared with equal constants: a tape may watch just this tensor.
            value = self.graph.add_constant(tensor.view(), tensor.dtype.onnx, "Const")
            known = self.captured_eager[id(tensor)] = (tensor, value)
        return known[1]

    def same_constant(self, value: ir.Value) -> ir.Value:
        """A constant of another graph as one of this graph."""
        assert value.const is not None
        return self.constant(value.const, value.dtype)

    def constant(self, array: np.ndarray[Any, Any], dtype: int) -> ir.Value:
        """A constant; small equal ones are shared, unless a derivative may be taken by one."""
        # In bodies, constants are distinguished by their values: 2.0 that is watched, and 2.0 that
        # is not, are two. The pass `share` makes one of them when all gradients are taken.
        if array.size > 64 or array.dtype.kind not in _SHARED_KINDS:
            value = self.graph.add_constant(array, dtype, "Const")
            if isinstance(current().device, str):
                self.place_constant(value)
            return value
        scope = current().device
        device = scope if isinstance(scope, str) else None
        key = (dtype, array.shape, array.tobytes(), device)
        known = self._constants.get(key)
        if known is None:
            known = self._constants[key] = self.graph.add_constant(array, dtype, "Const")
            if device is not None:
                self.requested[id(known)] = device
        return known

    def named_constant(self, array: np.ndarray[Any, Any], dtype: int, name: str) -> ir.Value:
        """A constant of its own, with a name."""
        return self.graph.add_constant(array, dtype, name)

    def scalar(self, value: float, dtype: int, numpy_dtype: type) -> ir.Value:
        """A number that gradients are computed with: equal ones are shared, as nobody sees them."""
        key = (dtype, repr(value))
        known = self._constants.get(key)
        if known is None:
            array: np.ndarray[Any, Any] = np.array(value, numpy_dtype)
            known = self._constants[key] = self.graph.add_constant(array, dtype, "Const")
        return known

    def int64_constant(self, items: tuple[int, ...] | int) -> ir.Value:
        """The constant of a vector, or a scalar, of integers."""
        value = self._constants.get(items)
        if value is None:
            value = self.constant(np.array(items, np.int64), _INT64)
            self._constants[items] = value
        return value

    def _capture(self, tensor: SymbolicTensor) -> ir.Value:
        known = self.captured.get(id(tensor))
        if known is not None:
            return known[1]
        self.check_reach(tensor)
        outer = tensor._symbol
        value = self.graph.add_input(outer.name, outer.dtype, outer.shape)
        value.dims = outer.dims
        self.captured[id(tensor)] = (tensor, value)
        return value

    def leak_message(self, tensor: SymbolicTensor, user: str) -> str:
        """Return the message for a tensor of this graph that is used outside of it."""
        return (
            f"{tensor!r} belongs to function {self.name!r} and cannot be used in {user!r}: it "
            "leaked out of the trace. Return it from the function, or store it in a Variable."
        )

    def check_reach(self, tensor: SymbolicTensor) -> None:
        """Refuse a tensor that is neither of this graph nor of one around it.

        Raises:
            LeakedTensorError: it leaked out of the trace that it belongs to.
        """
        if tensor._graph is not self and not self._encloses(tensor._graph):
            raise LeakedTensorError(tensor._graph.leak_message(tensor, self.name))

    def _encloses(self, other: FuncGraph) -> bool:
        graph = self.parent
        while graph is not None and graph is not other:
            graph = graph.parent
        return graph is other

    # Variables

    def state_of(self, variable: Variable) -> TracedVariable:
        """The record of a variable in this graph, made when it is first touched."""
        state = self.states.get(id(variable))
        if state is None or state.ref() is not variable:
            if state is not None:  # of a deleted variable, whose input the graph still has
                self.states[-len(self.states)] = state
            state = self.states[id(variable)] = TracedVariable(variable)
        return state

    def read(self, variable: Variable) -> SymbolicTensor:
        """The variable's value at this point of the program."""
        state = self.state_of(variable)
        if state.current is None:
            shape = variable.shape
            raw = shape.symbolic
            state.entry = self.graph.add_input(_input_name(variable), variable.dtype.onnx, raw)
            state.current = state.entry
        return SymbolicTensor(state.current, self)

    def assign(self, variable: Variable, value: Tensor) -> Any:
        """Make ``value`` the variable's value from here on.

        Returns:
            What ``variable.assign`` returns.
        """
        state = self.state_of(variable)
        source = self.value_of(value)
        name = name_node(self, "Assign", result=False)
        node = self.graph.add_node(
            "Identity",
            (source,),
            {},
            [(source.dtype, source.shape)],
            name=name.text,
            source=name.source,
        )
        name.given_to(node)
        node.tag = Assigned({0: state})
        state.current = node.outputs[0]
        state.written = True
        return variable

    def is_assigned(self, variable: Variable) -> bool:
        """True if an operation of this graph has assigned a variable."""
        state = self.states.get(id(variable))
        return state is not None and state.written and state.ref() is variable

    def assignment_of(self, variable: Variable) -> Operation:
        """The operation that assigned a variable last."""
        value = self.state_of(variable).current
        assert value is not None and value.node is not None
        return Operation(value.node, self)

    def written_states(self) -> list[TracedVariable]:
        """The assigned variables, in order of first use."""
        return [s for s in self.states.values() if s.written]

    def read_states(self) -> list[TracedVariable]:
        """The variables whose entry value is an input, in order of the inputs."""
        # A variable that a branch or loop assigned may be known before it is read.
        places = {id(v): i for i, v in enumerate(self.graph.inputs)}
        read = [s for s in self.states.values() if s.entry is not None]
        return sorted(read, key=lambda s: places.get(id(s.entry), len(places)))

    def generator_for(self, seed: Any) -> Any:
        """The random generator of an operation that is added now; None: one for it alone."""
        return None

    def draws_from(self, variable: Variable) -> None:
        """Random numbers are about to be drawn from a state, which will be advanced."""

    def control_dependencies(self, control_inputs: Any) -> AbstractContextManager[Any]:
        """Return a context that does nothing: a function's operations run in program order."""
        return nullcontext()

    def add_no_op(self, inputs: Sequence[Any], name: str) -> Any:
        """An operation that stands for others, where there is such a thing; None here."""
        return None

    def check_part(self, inputs: Any, outputs: Any) -> None:
        """Refuse a part of the graph that cannot be a function; here every part can."""

    def run_in_session(self, fetch: Any, feed_dict: Any, session: Any) -> Any:
        """Run a fetch for ``Tensor.eval`` or ``Operation.run``; only graphs of sessions can.

        Raises:
            RuntimeError: this is the graph of a function.
        """
        raise RuntimeError(
            f"{fetch!r} belongs to function {self.name!r}, which no session runs: call the function"
            " and use what it returns. Sessions run tensors of a tf.compat.v1.Graph."
        )

    def evaluate(self, tensor: SymbolicTensor) -> EagerTensor:
        """The contents of a tensor of this graph, computed now: for initial values of variables.

        Raises:
            FailedPreconditionError: it depends on arguments that have no contents yet.
        """
        if self.evaluator is None:
            raise FailedPreconditionError(
                f"{tensor!r} cannot be the initial value of a variable: its contents do not exist "
                f"while {self.name!r} is traced. Pass a callable that makes the initial value."
            )
        return self.evaluator(tensor)


def _input_name(variable: Variable) -> str:
    return variable.name.removesuffix(":0")


# The public name: what TensorFlow calls a graph is the graph of a function here.
Graph = FuncGraph


def graph_under_construction() -> FuncGraph:
    """The graph that is being traced; there must be one."""
    graph = current().graph
    assert graph is not None
    return graph
