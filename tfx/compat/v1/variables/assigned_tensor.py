"""``AssignedTensor``: what an assignment returns while a graph is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfx.framework.tensor import SymbolicTensor
from tfx.framework.variable import Variable
from tfx.graph.ir import Value

if TYPE_CHECKING:
    from tfx.compat.v1.graph.graph import Graph


class AssignedTensor(SymbolicTensor):
    """The new value of a variable: fetching it, or waiting for it, runs the assignment."""

    __slots__ = ("_variable",)

    def __init__(self, value: Value, graph: Graph, variable: Variable) -> None:
        super().__init__(value, graph)
        self._variable = variable

    def value(self) -> SymbolicTensor:
        """The assigned value."""
        return self

    def read_value(self) -> SymbolicTensor:
        """The assigned value."""
        return self

    def assign(self, value: Any, **options: Any) -> Any:
        """Assign the variable again, after this assignment."""
        return self._after(lambda: self._variable.assign(value, **options))

    def assign_add(self, delta: Any, **options: Any) -> Any:
        """Add to the variable, after this assignment."""
        return self._after(lambda: self._variable.assign_add(delta, **options))

    def assign_sub(self, delta: Any, **options: Any) -> Any:
        """Subtract from the variable, after this assignment."""
        return self._after(lambda: self._variable.assign_sub(delta, **options))

    def _after(self, change: Any) -> Any:
        with self._graph.control_dependencies([self]):
            return change()
