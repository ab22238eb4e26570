"""Matching of a call's arguments with those that a saved trace was made for.

The one decision: a structure is known by its keys and not by its class, because the classes of a
saved program are not there when it is loaded. A list serves for a tuple, and a named tuple for
another one with the same fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfx.core.dims import format_shape
from tfx.core.errors import InvalidArgumentError
from tfx.core.nest_kinds import Kind, expanded_kind_of, in_order_of, kind_of, namedtuple_fields
from tfx.core.specs import TensorSpec
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.function.tracing.call_signature import check_names, has_named_dims

_PYTHON = (bool, int, float, complex, str, bytes, list, tuple)


class MismatchError(Exception):
    """The arguments are not those of the trace; the message says which and why."""


def match(
    names: Sequence[str], expected: Sequence[Any], given: Sequence[Any], *, convert: bool
) -> list[Any]:
    """The tensors of a call in the order in which a trace takes them.

    Args:
        names: Names of the parameters.
        expected: What the trace was made for: one value for each parameter, with specs for tensors.
        given: One value for each parameter of the call.
        convert: Whether Python numbers, and lists of them, may be made tensors.

    Returns:
        A tensor for each spec, or the spec itself where one was given.

    Raises:
        MismatchError: the trace does not serve this call.
    """
    found: list[tuple[str, TensorSpec, Any]] = []
    for name, want, value in zip(names, expected, given, strict=True):
        _match(f"argument {name!r}", want, value, convert, found)
    specs, tensors = [spec for _, spec, _ in found], [tensor for _, _, tensor in found]
    if has_named_dims(specs):
        try:
            check_names("the trace", [where for where, _, _ in found], specs, tensors)
        except InvalidArgumentError as e:
            raise MismatchError(e.message) from e
    return tensors


def _match(
    where: str, want: Any, value: Any, convert: bool, found: list[tuple[str, TensorSpec, Any]]
) -> None:
    if isinstance(want, TensorSpec):
        found.append((where, want, _tensor(where, want, value, convert)))
        return
    kind = kind_of(want)
    if kind is None:
        if not _same(want, value):
            raise MismatchError(f"{where} is {shown(value)}, the trace is for {shown(want)}")
        return
    given = _kind_of(value)
    keys = kind.keys(want)
    values = None if given is None else _parts(want, value, keys, given)
    if values is None:
        raise MismatchError(f"{where} is {shown(value)}, the trace is for {shown(want)}")
    if len(keys) > len(values):
        values.append(value.__tf_flatten__()[0])
    for key, part, inner in zip(keys, kind.values(want), values, strict=True):
        _match(f"{where}[{key!r}]", part, inner, convert, found)


def _kind_of(value: Any) -> Kind | None:
    """Return how an argument was decomposed for saving: dataclasses into their fields."""
    return expanded_kind_of(value) or kind_of(value)


def _parts(want: Any, value: Any, keys: list[Any], kind: Kind) -> list[Any] | None:
    """The parts of a value in the order of ``keys``; None: it is not alike."""
    parts: list[Any] = list(kind.values(value))
    if hasattr(value, "__tf_flatten__"):  # its parts have no names
        # What it has beside its tensors is the last part of what was saved.
        count = len(parts) + (keys[-1:] == ["metadata"])
        return parts if namedtuple_fields(type(want)) is not None and len(keys) == count else None
    if isinstance(want, Mapping) != isinstance(value, Mapping):
        return None
    found: list[Any] | None = in_order_of(keys, kind.keys(value), parts)
    return found


def _tensor(where: str, spec: TensorSpec, value: Any, convert: bool) -> Any:
    if isinstance(value, Variable):
        value = value.value()
    elif not isinstance(value, Tensor | TensorSpec):
        value = _converted(where, spec, value, convert)
    if value.dtype is not spec.dtype or not spec.shape.is_compatible_with(value.shape):
        raise MismatchError(f"{where} is {shown(value)}, the trace is for {shown(spec)}")
    return value


def _converted(where: str, spec: TensorSpec, value: Any, convert: bool) -> Tensor:
    python = type(value) in _PYTHON
    if value is None or (python and not convert):
        raise MismatchError(f"{where} is {shown(value)}, the trace is for {shown(spec)}")
    try:
        return convert_to_tensor(value, spec.dtype if python else None)
    except (TypeError, ValueError) as e:
        raise MismatchError(f"{where} is {shown(value)}, the trace is for {shown(spec)}") from e


def _same(want: Any, value: Any) -> bool:
    """True if a value is the one that a trace was specialised on."""
    if isinstance(value, Tensor | Variable | np.ndarray) or type(want) is not type(value):
        return False
    return bool(want == value) or (want != want and value != value)


def shown(value: Any) -> str:
    """A value in a message: tensors by their types, structures of them too."""
    if isinstance(value, Tensor | TensorSpec | Variable):
        return f"{value.dtype.name}{format_shape(value.shape.symbolic)}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{format_shape(value.shape)}"
    kind = _kind_of(value)
    if kind is None:
        return f"{value!r:.80}"
    parts = [shown(v) for v in kind.values(value)]
    keys = kind.keys(value)
    if keys and all(isinstance(k, str) for k in keys):
        return "{" + ", ".join(f"{k!r}: {p}" for k, p in zip(keys, parts, strict=True)) + "}"
    text = ", ".join(parts)
    return f"[{text}]" if isinstance(value, list) else f"({text})"


def shown_call(names: Sequence[str], values: Sequence[Any]) -> str:
    """Arguments in a message: ``(x=float32[2], training=True)``."""
    return f"({', '.join(f'{n}={shown(v)}' for n, v in zip(names, values, strict=True))})"
