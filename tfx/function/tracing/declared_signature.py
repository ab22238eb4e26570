"""``DeclaredSignature``: the input signature of one function, laid over its parameters.

Owns the comparison of whole calls with the signature: which parameter takes which element, the
casts, and what a trace is made for. The elements themselves are in ``input_signature``.
"""

from __future__ import annotations

from typing import Any

from tfx.core import nest
from tfx.core.specs import TensorSpec
from tfx.function.tracing.call_signature import check_names, has_named_dims
from tfx.function.tracing.input_signature import fit, is_closed, trace_specs
from tfx.function.tracing.parameters import Parameters
from tfx.function.tracing.trace_key import TraceKey, leaf_names


class DeclaredSignature:
    """An input signature.

    Args:
        elements: One element for each argument.
        name: The function's name, for messages.
        parameters: The function's parameters.

    Attributes:
        closed: Whether nothing is left to the calls: one trace serves them all.
    """

    def __init__(self, elements: tuple[Any, ...], name: str, parameters: Parameters) -> None:
        self.closed = is_closed(elements)
        self._elements = elements
        self._name = name
        self._parameters = parameters
        # Made late: a method's parameters are not known before it has its instance.
        self._assigned: tuple[Any, ...] | None = None
        self._specs: TraceKey | None = None

    def by_parameter(self) -> tuple[Any, ...]:
        """An element for each parameter, as far as the signature reaches.

        Raises:
            TypeError: the signature and the parameters do not match.
        """
        if self._assigned is None:
            self._assigned = self._parameters.assign_specs(self._name, self._elements)
        return self._assigned

    def call(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The call that the signature describes.

        Raises:
            TypeError: it leaves something to the calls.
        """
        assigned = self.by_parameter()
        if not self.closed:
            given = ", ".join(
                f"{n}={e!r}" for n, e in zip(self._parameters.names, assigned, strict=False)
            )
            raise TypeError(
                f"{self._name}: the input signature ({given}) leaves arguments to the call, so "
                "there is no trace without any; pass get_concrete_function the arguments, with "
                "TensorSpecs for tensors."
            )
        return self._parameters.call_of(assigned)

    def cast(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments as tensors that fit.

        Args:
            values: One value for each parameter.

        Raises:
            TypeError: the structure differs, or the signature and the parameters do not match.
            InvalidArgumentError: a dtype or shape does not fit.
        """
        assigned, names = self.by_parameter(), self._parameters.names
        extra = values[-1] if self._parameters.var_keyword is not None else None
        if extra:
            raise TypeError(
                f"{self._name}() got unexpected keyword arguments {sorted(extra)}: a function with "
                "an input_signature takes only the arguments in it, expected "
                f"{dict(zip(names, assigned, strict=False))!r}."
            )
        cast = [fit(self._name, n, s, v) for n, s, v in zip(names, assigned, values, strict=False)]
        wanted: list[Any] = list(assigned[: len(cast)])
        if not self.closed:
            wanted = [trace_specs(s, v) for s, v in zip(wanted, cast, strict=True)]
        leaves = nest.flatten(wanted, expand_composites=True)
        specs = [s for s in leaves if isinstance(s, TensorSpec)]
        if has_named_dims(specs):
            named = zip(leaf_names(names[: len(cast)], wanted), leaves, strict=True)
            tensors = zip(leaves, nest.flatten(cast, expand_composites=True), strict=True)
            check_names(
                self._name,
                [n for n, leaf in named if isinstance(leaf, TensorSpec)],
                specs,
                [t for leaf, t in tensors if isinstance(leaf, TensorSpec)],
            )
        return tuple(cast) + values[len(cast) :]

    def specs(self, values: tuple[Any, ...]) -> TraceKey:
        """The arguments with specs in place of those that the signature covers.

        Args:
            values: What ``cast`` gave.
        """
        assigned, names = self.by_parameter(), self._parameters.names
        covered = values[: len(assigned)]
        if not self.closed:
            open_specs = [trace_specs(s, v) for s, v in zip(assigned, covered, strict=True)]
            return TraceKey((*open_specs, *values[len(assigned) :]), names)
        if len(assigned) < len(values):
            return TraceKey(assigned + values[len(assigned) :], names)
        if self._specs is None:
            self._specs = TraceKey(assigned, names)
        return self._specs
