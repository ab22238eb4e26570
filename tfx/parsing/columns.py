"""Values of features as NumPy arrays: one row for each Example.

Owns reading; must not know tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.core.errors import InvalidArgumentError
from tfx.parsing.features import LISTS, SAID

Array: TypeAlias = npt.NDArray[Any]
# The features of each Example: a mapping from key to message; None among a sequence's steps.
Rows: TypeAlias = Sequence[Any]


def refuse(message: str) -> InvalidArgumentError:
    """The error for an Example that is not as wanted."""
    return InvalidArgumentError(message, op="ParseExample")


def named(names: Sequence[str] | None, i: int) -> str:
    """The name of an Example, for messages."""
    return f"Name: {names[i] if names else '<unknown>'}, "


def messages_of(data: Sequence[Any], kind: Any, names: Sequence[str] | None) -> list[Any]:
    """The messages in strings.

    What is wrong with one is said without its bytes: they are long, and no text.

    Raises:
        InvalidArgumentError: one of the strings is no such message.
    """
    from google.protobuf.message import DecodeError

    found = []
    for i, each in enumerate(data):
        try:
            found.append(kind.FromString(bytes(each)))
        except DecodeError as e:
            what = kind.DESCRIPTOR.name
            raise refuse(
                f"{named(names, i)}Index: {i}.  Could not parse example input: {len(each)} bytes "
                f"that are no serialized {what}; expected what SerializeToString() of a "
                f"tf.train.{what} returned."
            ) from e
    return found


def values_in(feature: Any, kind: DType, where: str) -> Any:
    """The values of a feature; None if it has none of any kind.

    Raises:
        InvalidArgumentError: values of another dtype.
    """
    held = feature.WhichOneof("kind")
    if held is None:
        return None
    wanted, said = LISTS[kind.name]
    if held != wanted:
        raise refuse(
            f"{where}.  Data types don't match. Data type: {SAID[held]} but expected type: {said}"
        )
    return getattr(feature, held).value


def as_array(values: Any, kind: DType) -> Array:
    """Values as a vector."""
    if kind is dtypes.string:
        found = np.empty(len(values), object)
        found[:] = list(values)
        return found
    return np.array(values, kind.as_numpy_dtype)


def empty(kind: DType, shape: Sequence[int] = (0,)) -> Array:
    """An array of zeros or empty strings."""
    if kind is dtypes.string:
        return np.full(shape, b"", object)
    return np.zeros(shape, kind.as_numpy_dtype)


def lists_of(rows: Rows, key: str, kind: DType, names: Sequence[str] | None) -> list[Array | None]:
    """The values of a feature in each Example; None where it is missing."""
    found: list[Array | None] = []
    for i, features in enumerate(rows):
        values = None
        if key in features:
            where = f"{named(names, i)}Key: {key}, Index: {i}"
            values = values_in(features[key], kind, where)
        found.append(None if values is None else as_array(values, kind))
    return found


def fixed(
    rows: Rows,
    key: str,
    kind: DType,
    shape: tuple[int, ...],
    default: Array | None,
    names: Sequence[str] | None,
) -> Array:
    """A dense feature: ``[batch, *shape]``.

    Raises:
        InvalidArgumentError: a missing one without default, or another number of values.
    """
    size = int(np.prod(shape, dtype=np.int64))
    found = empty(kind, (len(rows), size))
    said = LISTS[kind.name][1]
    for i, values in enumerate(lists_of(rows, key, kind, names)):
        if values is None:
            if default is None:
                raise refuse(
                    f"{named(names, i)}Feature: {key} (data type: {said}) is required but could "
                    f"not be found. Key: {key}.  Can't parse serialized Example."
                )
            values = default.reshape(-1)
        elif len(values) != size:
            raise refuse(
                f"{named(names, i)}Key: {key}, Index: {i}.  Number of {said} values != expected.  "
                f"Values size: {len(values)} but output shape: {list(shape)}. Key: {key}.  Can't "
                "parse serialized Example."
            )
        found[i] = values
    return found.reshape(len(rows), *shape)


def padded(
    rows: Rows,
    key: str,
    kind: DType,
    shape: tuple[int, ...],
    default: Any,
    names: Sequence[str] | None,
) -> Array:
    """A feature of values of one shape, filled up: ``[batch, longest, *shape]``."""
    lists = lists_of(rows, key, kind, names)
    size = int(np.prod(shape, dtype=np.int64))
    for i, values in enumerate(lists):
        if values is not None and (len(values) if not size else len(values) % size):
            raise refuse(
                f"{named(names, i)}Key: {key}, Index: {i}.  Number of {LISTS[kind.name][1]} values "
                f"is not a multiple of stride length. Saw {len(values)} values but output shape "
                f"is: {list(shape)}"
            )
    counts = [0 if values is None or not size else len(values) // size for values in lists]
    longest = max(counts, default=0)
    found = empty(kind, (len(lists), longest * size))
    if default is not None:
        found[:] = default
    for i, values in enumerate(lists):
        if values is not None:
            found[i, : len(values)] = values
    return found.reshape(len(lists), longest, *shape)


def flat(lists: Sequence[Array | None], kind: DType) -> tuple[Array, Array]:
    """Values behind one another, and how many each Example has."""
    some = [values for values in lists if values is not None]
    lengths = np.array([0 if values is None else len(values) for values in lists], np.int64)
    return (np.concatenate(some) if some else empty(kind)), lengths


def sparse(lists: Sequence[Array | None], kind: DType) -> tuple[Array, Array, Array]:
    """Indices, values and dense shape: ``[batch, longest]``."""
    values, lengths = flat(lists, kind)
    rows = np.repeat(np.arange(len(lists)), lengths)
    places = np.arange(len(values)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    shape = np.array([len(lists), lengths.max(initial=0)], np.int64)
    return np.stack([rows, places], axis=1).astype(np.int64), values, shape


Compute: TypeAlias = Callable[[Rows], list[Array]]
