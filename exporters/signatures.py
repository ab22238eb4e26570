"""Which concrete functions a bundle offers by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfx.core import nest
from tfx.function.concrete import ConcreteFunction
from tfx.function.polymorphic import Function

DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"

Resolved = dict[str, tuple[ConcreteFunction, list[str]]]


def resolve_signatures(
    obj: Any, signatures: Any, functions: Sequence[tuple[Function | ConcreteFunction, str]]
) -> Resolved:
    """Name -> concrete function and the names of its results.

    Args:
        obj: The object being saved.
        signatures: What the user gave to ``save``.
        functions: The object's functions with their paths.

    Raises:
        ValueError: not a function, or one whose signature is not known.
    """
    if signatures is None:
        return _default(functions)
    if isinstance(signatures, Function | ConcreteFunction):
        signatures = {DEFAULT_SERVING_SIGNATURE_DEF_KEY: signatures}
    if not isinstance(signatures, Mapping):
        raise ValueError(
            "Expected signatures to be a tf.function, a concrete function or a dict of them by "
            f"name; got {signatures!r}."
        )
    resolved: Resolved = {}
    for name, function in signatures.items():
        if not isinstance(name, str) or not name:
            raise ValueError(f"Signature names are non-empty strings; got {name!r}.")
        concrete = _concrete(name, function)
        resolved[name] = (concrete, result_names(concrete))
    return resolved


def _default(functions: Sequence[tuple[Function | ConcreteFunction, str]]) -> Resolved:
    """The root's only function whose signature is known, if there is exactly one."""
    known = []
    for function, path in functions:
        if "/" in path:
            continue
        concrete = _single(function)
        if concrete is not None and not concrete.written_variables:
            known.append(concrete)
    if len(known) != 1:
        return {}
    return {DEFAULT_SERVING_SIGNATURE_DEF_KEY: (known[0], result_names(known[0]))}


def _single(function: Function | ConcreteFunction) -> ConcreteFunction | None:
    if isinstance(function, ConcreteFunction):
        return function
    if function.input_signature is not None:
        return function.get_concrete_function()
    traces = function.concrete_functions()
    return traces[0] if len(traces) == 1 else None


def _concrete(name: str, function: Any) -> ConcreteFunction:
    if not isinstance(function, Function | ConcreteFunction):
        raise ValueError(
            f"Signature {name!r} is {function!r}; expected a tf.function or a concrete function."
        )
    concrete = _single(function)
    if concrete is None:
        assert isinstance(function, Function)
        count = len(function.concrete_functions())
        raise ValueError(
            f"Signature {name!r}: function {function.name!r} has {count} traces and no "
            "input_signature, so it is unknown which one to save. Give it an input_signature, or "
            "pass function.get_concrete_function(tf.TensorSpec(...), ...)."
        )
    return concrete


def result_names(concrete: ConcreteFunction) -> list[str]:
    """Names of a signature's outputs: dict keys, else ``output_0``, ``output_1``..."""
    names = concrete.output_names()
    count = len([x for x in nest.flatten(concrete.structured_outputs) if x is not None])
    return names[:count]
