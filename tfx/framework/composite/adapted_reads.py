"""Reads of a variable that give something else than its value: the value with an adapter.

Owns the two ends of the mechanism: what a variable asks when it is read, and the kind of tensor
that says itself what an operator makes of it. Must not know any adapter. The one decision: such a
tensor *is* the adapted weight, a value of the graph like any other, so whatever takes it is right;
an operator for which there is a quicker way to the same result is answered by the tensor instead,
and the adapted weight, which nobody uses then, is dropped from the graph with all dead code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tfx.framework.tensor import SymbolicTensor, Tensor


class Adaptation(Protocol):
    """What changes the reads of one variable."""

    def adapted(self, value: Tensor) -> Tensor:
        """The tensor that a read gives.

        Args:
            value: The variable's value, symbolic while a function is traced.
        """


class AnsweringTensor(SymbolicTensor):
    """A tensor of a graph that is asked what an operator makes of it."""

    __slots__ = ()

    def answer(
        self, op: str, inputs: Sequence[Tensor | None], attrs: Mapping[str, Any]
    ) -> tuple[Tensor, ...] | None:
        """The results of an operator that has this tensor among its inputs.

        Args:
            op: ONNX operator type.
            inputs: Its inputs.
            attrs: Its attributes.

        Returns:
            All its results; None: the operator is applied as to any tensor.
        """
        raise AssertionError(f"{type(self).__name__} does not say what it answers")


def answer(
    op: str, inputs: Sequence[Tensor | None], attrs: Mapping[str, Any]
) -> tuple[Tensor, ...] | None:
    """What the first input that has an answer says; None: nobody has one."""
    for x in inputs:
        if isinstance(x, AnsweringTensor):
            results = x.answer(op, inputs, attrs)
            if results is not None:
                return results
    return None
