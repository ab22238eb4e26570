"""The concrete functions that a bundle offers, and the names of their inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from tfx.exporters.names import unique_names
from tfx.function.execution.concrete_function import ConcreteFunction
from tfx.function.tracing.function import Function
from tfx.function.tracing.input_signature import is_closed

DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"


@runtime_checkable
class NamedSignature(Protocol):
    """A signature of a loaded bundle, to be saved again under its names."""

    @property
    def concrete_function(self) -> ConcreteFunction:
        """The function that the signature calls."""

    @property
    def input_names(self) -> Sequence[str]:
        """A name for each tensor argument of the concrete function."""

    @property
    def output_names(self) -> Sequence[str]:
        """A name for each tensor result."""


@dataclass(frozen=True, slots=True)
class ResolvedSignature:
    """A signature that will be saved: names of all tensor arguments and results, in order."""

    name: str
    concrete: ConcreteFunction
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def resolve_signatures(
    obj: Any, signatures: Any, functions: Sequence[tuple[Function | ConcreteFunction, str]]
) -> list[ResolvedSignature]:
    """The signatures of a bundle.

    Args:
        obj: The object being saved.
        signatures: What the user gave to ``save``.
        functions: The object's functions with their paths.

    Raises:
        ValueError: not a function, or one whose signature is not known.
    """
    if signatures is None:
        signatures = _loaded_signatures(obj) or _own_signatures(obj)
        if signatures is None:
            return _default(obj, functions)
    if isinstance(signatures, Function | ConcreteFunction | NamedSignature):
        signatures = {DEFAULT_SERVING_SIGNATURE_DEF_KEY: signatures}
    if not isinstance(signatures, Mapping):
        raise ValueError(
            "Expected signatures to be a tf.function, a concrete function or a dict of them by "
            f"name; got {signatures!r:.200} of type {type(signatures).__name__}."
        )
    resolved = []
    for name, function in signatures.items():
        if not isinstance(name, str) or not name:
            raise ValueError(f"Signature names are non-empty strings; got {name!r}.")
        resolved.append(_resolved(name, function))
    return resolved


def _loaded_signatures(obj: Any) -> Mapping[str, Any] | None:
    """Return the signatures of a loaded object, which it keeps when it is saved again."""
    found = getattr(obj, "signatures", None)
    if not isinstance(found, Mapping) or not found:
        return None
    return found if all(isinstance(s, NamedSignature) for s in found.values()) else None


def _own_signatures(obj: Any) -> Mapping[str, Any] | None:
    """Those that a library's class names by ``_default_save_signatures()``, as Keras models do."""
    named = getattr(type(obj), "_default_save_signatures", None)
    return (named(obj) or None) if named is not None else None


def _default(
    obj: Any,
    functions: Sequence[tuple[Function | ConcreteFunction, str]],
) -> list[ResolvedSignature]:
    """The root, or its only function with a declared signature, that writes no state, if any."""
    known = []
    for function, path in functions:
        if "/" in path:
            continue
        # As in TensorFlow: a trace that a program happened to make is no promise to others.
        if (
            function is not obj
            and isinstance(function, Function)
            and not is_closed(function.input_signature)
        ):
            continue
        concrete = _single(function)
        if concrete is not None and _can_serve(concrete):
            known.append(concrete)
    if len(known) != 1:
        return []
    return [_resolved(DEFAULT_SERVING_SIGNATURE_DEF_KEY, known[0])]


def _can_serve(concrete: ConcreteFunction) -> bool:
    """True if a function gives something and leaves all state as it was."""
    return bool(concrete.outputs) and not concrete.written_variables and not concrete.graph.captured


def _single(function: Function | ConcreteFunction) -> ConcreteFunction | None:
    if isinstance(function, ConcreteFunction):
        return function
    if is_closed(function.input_signature):
        return function.get_concrete_function()
    traces = function.concrete_functions
    return traces[0] if len(traces) == 1 else None


def _resolved(name: str, function: Any) -> ResolvedSignature:
    if isinstance(function, NamedSignature):
        return ResolvedSignature(
            name,
            function.concrete_function,
            tuple(function.input_names),
            _in_order_of_results(function),
        )
    if not isinstance(function, Function | ConcreteFunction):
        raise ValueError(
            f"Signature {name!r} is {function!r} of type {type(function).__name__}; expected a "
            "tf.function or a concrete function. Decorate it with tf.function."
        )
    concrete = _single(function)
    if concrete is None:
        assert isinstance(function, Function)
        count = len(function.concrete_functions)
        raise ValueError(
            f"Signature {name!r}: function {function.name!r} has {count} traces and no "
            "input_signature, so it is unknown which one to save. Give it an input_signature, or "
            "pass function.get_concrete_function(tf.TensorSpec(...), ...)."
        )
    if concrete.graph.captured:
        raise ValueError(
            f"Signature {name!r}: function {function.name!r} uses tensors of the function that it "
            "was defined in, which exist only while that one runs; pass them as arguments."
        )
    outputs = result_names(concrete)
    if not outputs and not concrete.written_variables:
        raise ValueError(
            f"Signature {name!r}: function {function.name!r} returns no tensor and changes no "
            "variable, so there is nothing to run. Return a tensor or a dict of tensors."
        )
    return ResolvedSignature(name, concrete, tuple(input_names(concrete)), tuple(outputs))


def _in_order_of_results(signature: NamedSignature) -> tuple[str, ...]:
    """Names of the results; those of a dict lie in the order of its sorted keys."""
    names = tuple(signature.output_names)
    results = signature.concrete_function.structured_outputs
    count = len(signature.concrete_function.outputs)
    if isinstance(results, dict) and len(names) == count and {*results} == {*names}:
        return tuple(sorted(names))
    return names


def input_names(concrete: ConcreteFunction) -> list[str]:
    """Names of a function's tensor arguments: those of their specs, else the parameters'."""
    signature = concrete.signature
    given = [s.name or n for s, n in zip(signature.specs, signature.names, strict=True)]
    return given if len({*given}) == len(given) else unique_names(signature.names)


def result_names(concrete: ConcreteFunction) -> list[str]:
    """Names of a function's results: keys of a dict, else ``output_0``, ``output_1``..."""
    count = len(concrete.outputs)
    return unique_names(concrete.output_names()[:count])
