"""``reduce``: one result of all elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.data.elementwise import stateful_function
from tfx.data.leaves import Leaves, tensor_of
from tfx.data.nodes import Node, Run, Unary, open_stage
from tfx.data.structure import Structure


class Reduce(Unary):
    """A state that a function of the state and each element changes.

    Args:
        source: The elements.
        initial: The components of the first state.
        state: Its structure.
        function: Gives the next state.
    """

    def __init__(
        self, source: Node, initial: Sequence[Any], state: Structure, function: Any
    ) -> None:
        made, structure = stateful_function(function, state, source.structure, "reduce", pair=False)
        super().__init__(source, structure)
        self.initial = tuple(initial)
        self.function = made

    def result(self) -> Leaves:
        """The last state."""
        state = tuple([tensor_of(x) for x in self.initial])
        stage = open_stage(self.source, Run(self.options()))
        try:
            while True:
                try:
                    element = stage.next()
                except StopIteration:
                    return state
                state = self.function(state, element)
        finally:
            stage.close()


class Single(Unary):
    """The only element."""

    def result(self) -> Leaves:
        """The element.

        Raises:
            InvalidArgumentError: there is none, or more than one.
        """
        stage = open_stage(self.source, Run(self.options()))
        try:
            try:
                found = stage.next()
            except StopIteration:
                raise InvalidArgumentError(
                    "Dataset was empty; expected one element.", op="DatasetToSingleElement"
                ) from None
            try:
                stage.next()
            except StopIteration:
                return tuple([x if isinstance(x, Node) else tensor_of(x) for x in found])
            raise InvalidArgumentError(
                "Dataset had more than one element.", op="DatasetToSingleElement"
            )
        finally:
            stage.close()
