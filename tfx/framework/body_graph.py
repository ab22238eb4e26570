"""Graphs of branches and loop bodies while Python builds them.

A body may use the values of its enclosing graphs: nothing becomes an input, an outer tensor is just
its value. Constants belong to the function around, where equal ones are shared. Variables go on
being SSA: a body has its own current value of each variable that it touches, and whoever adds the
``If`` or ``Loop`` carries what was assigned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfx.core.errors import LeakedTensorError
from tfx.framework.func_graph import FuncGraph
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.graph import ir

if TYPE_CHECKING:
    from tfx.framework.variable import Variable


class BodyGraph(FuncGraph):
    """The graph of a branch.

    Args:
        name: Name, such as ``"cond_true"``.
        parent: The enclosing graph.

    Attributes:
        outer: By the ``id`` of a value from outside, the value and the tensor that it was used by.
        outer_variables: By the ``id`` of a value from outside, the variable that was read.
    """

    parent: FuncGraph

    def __init__(self, name: str, parent: FuncGraph) -> None:
        super().__init__(name, parent)
        self.graph = ir.Graph(name, parent.graph)
        self.is_body = True
        self.home = parent.home
        self.named_after_calls = parent.named_after_calls
        self.created_variables = None if parent.created_variables is None else []
        self.variable_class = parent.variable_class
        self.compares_by_identity = parent.compares_by_identity
        self.outer: dict[int, tuple[ir.Value, Tensor]] = {}
        self.outer_variables: dict[int, tuple[ir.Value, Variable]] = {}

    def value_of(self, tensor: Tensor) -> ir.Value:
        """The value that a tensor is; those of the enclosing graphs are used as they are."""
        if isinstance(tensor, SymbolicTensor):
            if tensor._graph is self:
                return tensor._symbol
            if not self._encloses(tensor._graph):
                raise LeakedTensorError(tensor._graph.leak_message(tensor, self.name))
        value = self.parent.value_of(tensor)
        self.outer.setdefault(id(value), (value, tensor))
        return value

    def _captured_constant(self, tensor: EagerTensor) -> ir.Value:
        return self.value_of(tensor)

    def constant(self, array: np.ndarray[Any, Any], dtype: int) -> ir.Value:
        """A constant of the function around."""
        return self.parent.constant(array, dtype)

    def scalar(self, value: float, dtype: int, numpy_dtype: type) -> ir.Value:
        """A number that gradients are computed with, of the function around."""
        return self.parent.scalar(value, dtype, numpy_dtype)

    def read(self, variable: Variable) -> SymbolicTensor:
        """The variable's value at this point of the program."""
        state = self.state_of(variable)
        if state.current is None:
            state.current = self._enter(variable)
        return SymbolicTensor(state.current, self)

    def _enter(self, variable: Variable) -> ir.Value:
        """The variable's value when the body begins."""
        value = self.parent.value_of(self.parent.read(variable))
        self.outer_variables[id(value)] = (value, variable)
        return value

    def generator_for(self, seed: Any) -> Any:
        """The random generator of an operation that is added now; see ``FuncGraph``."""
        return self.parent.generator_for(seed)

    def leak_message(self, tensor: SymbolicTensor, user: str) -> str:
        """Return the message for a tensor of this body that is used outside of it."""
        return (
            f"{tensor!r} was made in {self.name!r}, a branch or loop body, and cannot be used in "
            f"{user!r}: it exists only while that body runs. Return it from the body (from both "
            "branches; as a loop variable or through a TensorArray), or assign it to a Variable."
        )

    def evaluate(self, tensor: SymbolicTensor) -> EagerTensor:
        """Contents of a tensor for an initial value; see ``FuncGraph``.

        What a body computes without its own inputs has contents, too.
        """
        return self.parent.evaluate(tensor)


class LoopGraph(BodyGraph):
    """The graph of a loop's body: a variable that it touches may be another in each iteration.

    Attributes:
        entries: By the ``id`` of a variable, the input that holds its value at the start of an
            iteration, with the variable.
    """

    def __init__(self, name: str, parent: FuncGraph) -> None:
        super().__init__(name, parent)
        self.entries: dict[int, tuple[ir.Value, Variable]] = {}

    def enter(self, variable: Variable) -> ir.Value:
        """The input for a variable, made when first asked for."""
        known = self.entries.get(id(variable))
        if known is None:
            name = variable.name.removesuffix(":0")
            value = ir.Value(
                self.graph.unique_name(name), variable.dtype.onnx, variable.shape.symbolic
            )
            known = self.entries[id(variable)] = (value, variable)
        return known[0]

    _enter = enter
