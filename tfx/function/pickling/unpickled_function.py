"""A function that was pickled without its Python code: it has the traces that it had then."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import Any

from tfx.core import nest
from tfx.core.errors import InvalidArgumentError
from tfx.core.signatures import show_signature
from tfx.core.specs import TensorSpec
from tfx.core.tracebacks import cover
from tfx.framework.tensor import Tensor
from tfx.function.execution.concrete_function import ConcreteFunction
from tfx.function.pickling.concrete_functions import carry
from tfx.function.tracing.function import Function


@cover
class CarriedFunction(Function):
    """A function with traces and no Python code.

    Args:
        name: Name of the function.
        doc: Its documentation.
        signature: Its parameters.
        input_signature: The one that it was made with.
        traces: Its traces.
        place: Its module and qualified name.
    """

    def __init__(
        self,
        name: str,
        doc: str | None,
        signature: inspect.Signature,
        input_signature: Any,
        traces: Sequence[ConcreteFunction],
        place: tuple[str, str],
    ) -> None:
        def carried(*args: Any, **kwargs: Any) -> Any:
            concrete, tensors = self._concrete_for(args, kwargs)
            return concrete.call_flat(tensors)

        carried.__name__ = name
        carried.__module__, carried.__qualname__ = place
        carried.__doc__ = doc
        show_signature(carried, signature)
        super().__init__(carried, name, input_signature)
        self._traces_carried = list(traces)
        self._tracer.first_call_done = True

    @property
    def concrete_functions(self) -> list[ConcreteFunction]:
        """The traces, in the order in which they were made."""
        return list(self._traces_carried)

    def _concrete_for(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], *, exact: bool = False
    ) -> tuple[ConcreteFunction, list[Any]]:
        values = self._parameters.bind(self._name, args, kwargs)
        if any(isinstance(x, TensorSpec) for x in nest.flatten(list(values), True)):
            for concrete in self._traces_carried:
                if _fits(values, concrete.signature.values):
                    return concrete, []
            raise self._refusal(["none takes such tensors"] * len(self._traces_carried))
        values = self._cast_to_signature(values)
        args, kwargs = self._parameters.call_of(values)
        reasons = []
        for concrete in reversed(self._traces_carried):
            try:
                return concrete, concrete.signature.tensors_of(self._name, args, kwargs)
            except (TypeError, ValueError) as e:
                reasons.append(str(e))
        raise self._refusal(reasons)

    def _refusal(self, reasons: list[str]) -> InvalidArgumentError:
        pairs = zip(reversed(self._traces_carried), reasons, strict=True)
        options = "".join(f"\n  {self._name}{c.signature}: {reason}" for c, reason in pairs)
        return InvalidArgumentError(
            f"Function {self._name!r} was pickled without its Python code and cannot be traced "
            f"again; it has {len(reasons)} traces, which do not take these arguments:{options}\n"
            "Call it with such arguments before it is pickled, or define it where it can be "
            "imported: at the top of a module."
        )

    def __reduce__(self) -> Any:
        """Pickle with the same traces."""
        return carry(self, self._traces_carried)

    def __deepcopy__(self, memo: dict[int, Any]) -> CarriedFunction:
        """The traces over copies of their variables."""
        restore, parts = carry(self, self._traces_carried)
        made: CarriedFunction = restore(*copy.deepcopy(parts, memo))
        memo[id(self)] = made
        return made


def _fits(values: Sequence[Any], expected: Sequence[Any]) -> bool:
    """True if arguments, specs among them, are what a trace was made for."""
    have, want = nest.flatten(list(values), True), nest.flatten(list(expected), True)
    return len(have) == len(want) and all(map(_is_taken, have, want))


def _is_taken(have: Any, want: Any) -> bool:
    if isinstance(want, TensorSpec):
        return (
            isinstance(have, TensorSpec | Tensor)
            and have.dtype is want.dtype
            and want.shape.is_compatible_with(have.shape)
        )
    return not isinstance(have, TensorSpec | Tensor) and bool(have == want)
