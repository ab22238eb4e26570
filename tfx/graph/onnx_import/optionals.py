"""Optional values and sequences, decided while a model is read.

A graph has no optional values: whether one is there is known when a model is read, since the call
says so. A sequence whose elements are known one by one is a list of them; it becomes a value only
where an operator or a body needs one whose elements are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError, UnimplementedError
from tfx.graph.ir import Value
from tfx.graph.onnx_import.import_builder import ImportBuilder
from tfx.graph.shape_code import contents

_MOST = 4096


class Absent:
    """An optional value without contents."""


ABSENT = Absent()


@dataclass(frozen=True, slots=True)
class Items:
    """A sequence whose elements are known; ``dtype`` is theirs."""

    dtype: int
    values: tuple[Value, ...]

    def as_value(self, e: ImportBuilder) -> Value:
        """The sequence as a value of the graph."""
        if not self.values:
            return e.SequenceEmpty(dtype=self.dtype)
        return e.apply_n("SequenceConstruct", self.values, {})[0]


Known: TypeAlias = "Value | Absent | Items | None"
Handler: TypeAlias = "Callable[[ImportBuilder, Sequence[Known], dict[str, Any]], Known | None]"


def decide(
    e: ImportBuilder, op: str, given: Sequence[Known], attrs: dict[str, Any]
) -> Sequence[Known] | None:
    """The results of an operator on optional values or sequences, if they are known now.

    Args:
        e: Adds nodes in the node's place.
        op: Its operator.
        given: What it is applied to.
        attrs: Its attributes.

    Returns:
        None for other operators, and where the elements are not known.
    """
    if op.startswith("Optional"):
        return [_optional(e, op, given)]
    handler = _HANDLERS.get(op)
    result = None if handler is None else handler(e, given, attrs)
    return None if result is None else [result]


def _optional(e: ImportBuilder, op: str, given: Sequence[Known]) -> Known:
    value = given[0] if given else None
    if op == "Optional":
        return ABSENT if value is None else value
    if op == "OptionalHasElement":
        present = np.asarray(isinstance(value, Value | Items))
        return e.graph.add_constant(present, dtypes.bool.onnx)
    if op == "OptionalGetElement" and isinstance(value, Value | Items):
        return value
    raise InvalidArgumentError(f"{op} is applied to an optional value without contents.")


def _construct(e: ImportBuilder, given: Sequence[Known], attrs: dict[str, Any]) -> Known | None:
    values = [v for v in given if isinstance(v, Value) and v.dtype < dtypes.SEQUENCE]
    if len(values) < len(given) or not values:
        return None
    if len({v.dtype for v in values}) > 1:
        raise InvalidArgumentError("the elements of a sequence have different dtypes.")
    return Items(values[0].dtype, tuple(values))


def _empty(e: ImportBuilder, given: Sequence[Known], attrs: dict[str, Any]) -> Known | None:
    return Items(int(attrs.get("dtype", dtypes.float32.onnx)), ())


def _position(value: Known, size: int, most: int) -> int | None:
    array = contents(value) if isinstance(value, Value) else None
    if array is None or array.size != 1:
        return None
    index = int(array.reshape(-1)[0])
    if not -size <= index < most:
        raise InvalidArgumentError(f"position {index} is outside of a sequence of {size}.")
    return index + size if index < 0 else index


def _at(e: ImportBuilder, given: Sequence[Known], attrs: dict[str, Any]) -> Known | None:
    items = given[0]
    if not isinstance(items, Items):
        return None
    index = _position(given[1], len(items.values), len(items.values))
    return None if index is None else items.values[index]


def _insert(e: ImportBuilder, given: Sequence[Known], attrs: dict[str, Any]) -> Known | None:
    items, value = given[0], given[1]
    if not isinstance(items, Items) or not isinstance(value, Value):
        return None
    size = len(items.values)
    index: int | None = size
    if len(given) > 2 and given[2] is not None:
        index = _position(given[2], size, size + 1)
    if index is None:
        return None
    values = list(items.values)
    values.insert(index, value)
    return Items(value.dtype, tuple(values))


def _erase(e: ImportBuilder, given: Sequence[Known], attrs: dict[str, Any]) -> Known | None:
    items = given[0]
    if not isinstance(items, Items):
        return None
    size = len(items.values)
    index: int | None = size - 1
    if len(given) > 1 and given[1] is not None:
        index = _position(given[1], size, size)
    if index is None:
        return None
    return Items(items.dtype, items.values[:index] + items.values[index + 1 :])


def _length(e: ImportBuilder, given: Sequence[Known], attrs: dict[str, Any]) -> Known | None:
    items = given[0]
    if not isinstance(items, Items):
        return None
    return e.graph.add_constant(np.asarray(len(items.values), np.int64), dtypes.int64.onnx)


def _split(e: ImportBuilder, given: Sequence[Known], attrs: dict[str, Any]) -> Known | None:
    x = given[0]
    if not isinstance(x, Value) or x.shape is None or not x.shape:
        return None
    axis = int(attrs.get("axis", 0)) % len(x.shape)
    size = x.shape[axis]
    if not isinstance(size, int):
        return None
    sizes = [1] * size
    keeps = True
    if len(given) > 1 and given[1] is not None:
        split = contents(given[1]) if isinstance(given[1], Value) else None
        if split is None:
            return None
        if split.ndim:
            sizes = [int(s) for s in split]
        else:
            step = int(split)
            if step <= 0:
                raise InvalidArgumentError(f"SplitToSequence into parts of {step}.")
            sizes = [min(step, size - i) for i in range(0, size, step)]
    else:
        keeps = bool(attrs.get("keepdims", 1))
    if not sizes or len(sizes) > _MOST:
        return None
    parts = e.Split(x, e.ints(sizes), axis=axis, outputs=len(sizes))
    if not keeps:
        parts = tuple(e.Squeeze(p, e.ints([axis])) for p in parts)
    return Items(x.dtype, parts)


def _concat(e: ImportBuilder, given: Sequence[Known], attrs: dict[str, Any]) -> Known | None:
    items = given[0]
    if not isinstance(items, Items) or not items.values:
        return None
    axis = int(attrs.get("axis", 0))
    values = list(items.values)
    if attrs.get("new_axis", 0):
        values = [e.Unsqueeze(v, e.ints([axis])) for v in values]
    return e.apply_n("Concat", values, {"axis": axis})[0]


_HANDLERS: dict[str, Handler] = {
    "ConcatFromSequence": _concat,
    "SequenceAt": _at,
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceErase": _erase,
    "SequenceInsert": _insert,
    "SequenceLength": _length,
    "SplitToSequence": _split,
}


def plain(e: ImportBuilder, value: Known, name: str) -> Value | None:
    """Return the plain value of a possibly optional one, for operators that take no optional.

    Raises:
        UnimplementedError: it is an optional value without contents.
    """
    if isinstance(value, Absent):
        raise UnimplementedError(f"{name!r} is an optional value, which it cannot take")
    return value.as_value(e) if isinstance(value, Items) else value
