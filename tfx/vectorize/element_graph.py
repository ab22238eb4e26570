"""The graph of the function of one element, and what its values are outside.

``fn`` is traced once, on placeholders of one element. What it uses from outside are captures, which
stay the tensors that they are: tapes around know them by identity.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfx.core.dtypes import SEQUENCE
from tfx.framework.context import current
from tfx.framework.func_graph import FuncGraph, TracedVariable
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.graph.ir import RawShape, Value


class ElementGraph(FuncGraph):
    """The graph of the function of one element.

    Args:
        name: Name for messages.
    """

    is_element = True

    def __init__(self, name: str) -> None:
        super().__init__(name, parent=current().graph)
        if self.parent is not None:
            self.compares_by_identity = self.parent.compares_by_identity
        self.named_after_calls = False
        self._sequences: dict[int, tuple[EagerTensor, Value]] = {}

    def _captured_constant(self, tensor: EagerTensor) -> Value:
        """A tensor from outside; a sequence, which cannot be a constant, is an input."""
        if tensor._raw.is_tensor():
            return super()._captured_constant(tensor)
        known = self._sequences.get(id(tensor))
        if known is None:
            value = self.graph.add_input("sequence", SEQUENCE + tensor.dtype.onnx, None)
            known = self._sequences[id(tensor)] = (tensor, value)
        return known[1]

    def generator_for(self, seed: Any) -> Any:
        """The random generator of an operation that is added now; see ``FuncGraph``."""
        # A graph that sessions run has its own; else each operation here has one.
        return None if self.parent is None else self.parent.generator_for(seed)

    def placeholder(self, name: str, dtype: int, shape: RawShape) -> SymbolicTensor:
        """An input for one element."""
        return self.add_argument(name, dtype, shape)

    def from_outside(self) -> Iterator[tuple[Value, Tensor]]:
        """The tensors from outside that are used, and the values that stand for them."""
        for outer, value in self.captured.values():
            yield value, outer
        for constant, value in self.captured_eager.values():
            yield value, constant
        for sequence, value in self._sequences.values():
            yield value, sequence

    def reads(self) -> Iterator[tuple[Value, TracedVariable]]:
        """The variables from outside that are read, and the values that stand for them."""
        for state in self.read_states():
            assert state.entry is not None
            yield state.entry, state
