"""The short cut from a call to the trace that served the same kind of call before.

Owns a second, cheaper key: numbers that tensors keep for their dtype and shape, Python values, and
the form of plain lists, tuples and dicts, met breadth first. It knows nothing of parameters, so a
call by name and the same call by position have two such keys. What it cannot express (objects,
arrays, variables, tensors of a trace) has no such key, and takes the long way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core import nest
from tfx.core.nest_kinds import classify_expanded
from tfx.core.specs import TensorSpec
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import EagerTensor, Tensor, kind_number
from tfx.framework.variable import Variable
from tfx.function.keys import VALUES, value_key
from tfx.function.signature import Parameters

_PLAIN = VALUES - {float, complex}
_MAX_GROUPS = 4096


def call_key(
    device: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, list[EagerTensor]]:
    """The key of a call, None if it has none, and the call's tensors as they were met.

    Args:
        device: What else decides: the device scope.
        args: Positional arguments.
        kwargs: Arguments by name.
    """
    parts: list[Any] = [device, len(args), tuple(kwargs)]
    tensors: list[EagerTensor] = []
    groups: list[Any] = [args, kwargs.values()] if kwargs else [args]
    for group in groups:  # which grows
        for x in group:
            kind: Any = type(x)
            if kind is EagerTensor:
                parts.append(x._kind or kind_number(x))
                tensors.append(x)
            elif kind is dict:
                parts.append(tuple(x))
                groups.append(x.values())
            elif kind is list or kind is tuple:
                parts.append(kind)
                parts.append(len(x))
                groups.append(x)
            elif kind in VALUES:
                parts.append(kind)
                parts.append(x if kind in _PLAIN else value_key(kind, x)[1])
            elif _identities.get(kind) or _goes_by_identity(kind):
                # A trace that knows an object goes with it, and all short cuts with the trace: no
                # other object of this address will meet this key.
                parts.append(kind)
                parts.append(id(x))
            else:
                return None, tensors
        if len(groups) > _MAX_GROUPS:  # it may contain itself
            return None, tensors
    return tuple(parts), tensors


_identities: dict[type, bool] = {}


def _goes_by_identity(kind: Any) -> bool:
    """Whether the keys of traces know objects of a class by identity, as ``keys`` decides it."""
    known = _identities.get(kind)
    if known is None:
        known = issubclass(kind, Variable) or (
            kind.__hash__ is object.__hash__
            and classify_expanded(kind) is None
            and not issubclass(kind, Tensor | TensorSpec | np.ndarray | np.generic)
            and not hasattr(kind, "__array__")
            and not hasattr(kind, "__dlpack__")
            and not getattr(kind, "_tfx_is_method", False)
            and kind.__weakrefoffset__ != 0
        )
        if len(_identities) >= _MAX_GROUPS:
            _identities.clear()
        _identities[kind] = known
    return known


def has_identities(key: Any) -> bool:
    """Whether a key holds the address of an object."""
    return any(isinstance(part, type) and _identities.get(part) for part in key)


def with_arrays_converted(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Arguments with tensors in the place of NumPy arrays and scalars.

    Returns:
        None if there are no arrays, or one that cannot be a tensor: the long way says so.
    """
    if not any(isinstance(x, np.ndarray | np.generic) for x in args):
        return None
    try:
        return tuple(
            [convert_to_tensor(x) if isinstance(x, np.ndarray | np.generic) else x for x in args]
        )
    except (TypeError, ValueError, NotImplementedError):
        return None


class _Mark:
    """Stands for tensor number ``number`` of a call."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


def order_of(
    parameters: Parameters,
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    met: Sequence[EagerTensor],
    wanted: Sequence[Any],
) -> list[int] | None:
    """Which of the tensors that ``call_key`` met is which tensor argument of the trace.

    Args:
        parameters: The function's parameters.
        name: The function's name.
        args: Positional arguments.
        kwargs: Arguments by name.
        met: The tensors as ``call_key`` met them.
        wanted: The tensor arguments in the order of the trace.

    Returns:
        A number for each tensor argument; None if some of them is none of the call's own tensors
        (a default, a number that was cast), or if keys of dicts are not texts.
    """
    marked = _marked(args, kwargs)
    if marked is None or len(met) != len(wanted):
        return None
    values = parameters.bind(name, tuple(marked[0]), marked[1])
    leaves = nest.flatten(list(values), expand_composites=True)
    order = [leaf.number for leaf in leaves if type(leaf) is _Mark]
    same = len(order) == len(wanted) and all(
        met[i] is x for i, x in zip(order, wanted, strict=True)
    )
    return order if same else None


def _marked(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]] | None:
    """The arguments with marks in place of tensors, numbered as ``call_key`` meets them."""
    new_args, new_kwargs = list(args), dict(kwargs)
    groups: list[Any] = [new_args, new_kwargs]
    number = 0
    for group in groups:  # which grows
        keys = list(group) if isinstance(group, dict) else range(len(group))
        if isinstance(group, dict) and not all(type(k) is str for k in keys):
            return None  # {1: x} is not {True: x}, but their keys would be equal
        for key in keys:
            kind: Any = type(group[key])
            if kind is EagerTensor:
                group[key] = _Mark(number)
                number += 1
            elif kind is list or kind is tuple:
                group[key] = list(group[key])
                groups.append(group[key])
            elif kind is dict:
                group[key] = dict(group[key])
                groups.append(group[key])
    return new_args, new_kwargs
