"""The operators that a graph has beside ONNX's until ``resolve_state`` replaces them.

Owns their names and tags. The decision: the node of a read is tagged as an assignment is, so that
to differentiation its output is the variable.
"""

from __future__ import annotations

from tfx.framework.func_graph import Assigned, TracedVariable
from tfx.graph.tags import Tag

PLACEHOLDER = "Placeholder"
NO_OP = "NoOp"
READ = "ReadVariableOp"
ASSIGN = "AssignVariableOp"
# The variable where it has a value, else the node's input.
INITIALIZED_VALUE = "InitializedValue"
IS_INITIALIZED = "VarIsInitializedOp"
# The names of those of the tagged variables that have no value.
UNINITIALIZED_NAMES = "UninitializedNames"


class Access(Assigned):
    """Tag of a node that reads or assigns one variable, its output 0.

    Attributes:
        state: The variable in the graph.
        initial: Whether the node gives the variable its initial value.
        reads: Whether the node only reads it.
    """

    __slots__ = ("initial", "reads", "state")

    def __init__(
        self, state: TracedVariable, *, initial: bool = False, reads: bool = False
    ) -> None:
        super().__init__({0: state})
        self.state = state
        self.initial = initial
        self.reads = reads


class Query(Tag):
    """Tag of a node that asks which variables have a value."""

    __slots__ = ("states",)

    def __init__(self, states: list[TracedVariable]) -> None:
        self.states = states
