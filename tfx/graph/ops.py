"""Constructors of ONNX operators, ``b.Add(x, y)`` and ``b.Softmax(x, axis=-1)``, for every builder.

Everything that writes nodes has a builder: eager code and traces, passes, readers of models. Their
``apply`` differs; the constructors are the same, so mathematics is written once for all. Inputs are
positional in the standard's order (None for an optional one left out), attributes are keywords.
The types are in ``ops.pyi``, which ``tools/gen_operator_stubs.py`` writes from the standard.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from tfx.graph import schema

V = TypeVar("V")


class Ops(Generic[V]):
    """A builder's constructors: one method an operator, made when it is first used.

    An operator with one output gives a value, one with several a tuple. Where the standard leaves
    open how many there are, ``outputs=`` says so and gives a tuple; without it the first is given.
    """

    @abstractmethod
    def apply(self, op: str, inputs: Sequence[V | None], attrs: dict[str, Any] | None = None) -> V:
        """The first output of an operator.

        Args:
            op: ONNX operator type.
            inputs: Its inputs; None for an optional one left out.
            attrs: Its attributes.
        """

    @abstractmethod
    def apply_n(
        self,
        op: str,
        inputs: Sequence[V | None],
        attrs: dict[str, Any] | None = None,
        outputs: int | None = None,
    ) -> tuple[V, ...]:
        """All outputs of an operator.

        Args:
            op: ONNX operator type.
            inputs: Its inputs; None for an optional one left out.
            attrs: Its attributes.
            outputs: How many are wanted; None: those that the operator always has.
        """

    @abstractmethod
    def number(self, value: float) -> V:
        """A float64 scalar."""

    @abstractmethod
    def ints(self, values: Sequence[int] | int) -> V:
        """An int64 vector, or a scalar."""

    @abstractmethod
    def like(self, value: float, model: V) -> V:
        """A scalar of the dtype that another value has."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        try:
            operator = schema.operator(name)
        except LookupError as e:
            raise AttributeError(str(e)) from None
        setattr(Ops, name, _constructor(operator))
        method: Callable[..., Any] = getattr(self, name)
        return method


def _constructor(operator: schema.Operator) -> Callable[..., Any]:
    name = operator.name

    # A function for each kind, since this is called for every operator of every eager operation.
    if operator.max_outputs == 1 and not operator.attributes:

        def plain(b: Any, /, *inputs: Any) -> Any:
            return b.apply(name, inputs)

        return plain

    if operator.max_outputs == 1:

        def with_attributes(b: Any, /, *inputs: Any, **attrs: Any) -> Any:
            return b.apply(name, inputs, attrs)

        return with_attributes

    if operator.min_outputs == operator.max_outputs:

        def several(b: Any, /, *inputs: Any, **attrs: Any) -> Any:
            return b.apply_n(name, inputs, attrs)

        return several

    def optional(b: Any, /, *inputs: Any, outputs: int | None = None, **attrs: Any) -> Any:
        if outputs is None:
            return b.apply(name, inputs, attrs)
        return b.apply_n(name, inputs, attrs, outputs)

    return optional
