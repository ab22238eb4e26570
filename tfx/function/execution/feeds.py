"""Dictionaries of inputs for ONNX Runtime, made by generated functions.

A dictionary display of names that are constants takes a fifth of the time of ``dict(zip(...))``,
a quarter of a microsecond in a call of three. One function for each number of inputs: plans name
their inputs all alike.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tfx.runtime.values import RawValue

# Of more inputs a display is no faster.
_MOST = 32


def feeds_from_tensors(names: Sequence[str]) -> Callable[..., dict[str, RawValue]]:
    """A function from eager tensors, as positional arguments, to inputs by name."""
    if len(names) <= _MOST:
        return _generated(tuple(names), "._raw")
    return lambda *tensors: dict(zip(names, [t._raw for t in tensors], strict=True))


def by_values(names: Sequence[str]) -> Callable[..., dict[str, RawValue]]:
    """A function from raw values, as positional arguments, to inputs by name."""
    if len(names) <= _MOST:
        return _generated(tuple(names), "")
    return lambda *values: dict(zip(names, values, strict=True))


def by_state(
    names: Sequence[str], arguments: Sequence[int | None]
) -> Callable[..., dict[str, RawValue]]:
    """A function from a raw value and eager tensors to inputs by name.

    Args:
        names: Of the inputs.
        arguments: Which argument each of them is; None: the raw value.
    """
    if len(names) <= _MOST:
        return _by_state(tuple(names), tuple(arguments))

    def feeds(state: RawValue, *tensors: Any) -> dict[str, RawValue]:
        values = [state if i is None else tensors[i]._raw for i in arguments]
        return dict(zip(names, values, strict=True))

    return feeds


@functools.lru_cache(maxsize=256)
def _by_state(
    names: tuple[str, ...], arguments: tuple[int | None, ...]
) -> Callable[..., dict[str, RawValue]]:
    given = sorted(i for i in arguments if i is not None)
    items = [
        f"{name!r}: {'state' if i is None else f'v{i}._raw'}"
        for name, i in zip(names, arguments, strict=True)
    ]
    return _made(["state", *(f"v{i}" for i in given)], items)


@functools.lru_cache(maxsize=256)
def _generated(names: tuple[str, ...], part: str) -> Callable[..., dict[str, RawValue]]:
    variables = [f"v{i}" for i in range(len(names))]
    items = [f"{name!r}: {v}{part}" for name, v in zip(names, variables, strict=True)]
    return _made(variables, items)


def _made(variables: list[str], items: list[str]) -> Callable[..., dict[str, RawValue]]:
    space: dict[str, Any] = {}
    text = f"def feeds({', '.join(variables)}): return {{{', '.join(items)}}}"
    # Under this file's name: ``runtime.running_threads`` knows it.
    exec(compile(text, __file__, "exec"), space)
    feeds: Callable[..., dict[str, RawValue]] = space["feeds"]
    return feeds
