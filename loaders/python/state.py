"""The variables of an open bundle: their values, and how they are replaced.

Owns the one mutable thing of a bundle. Must not know of graphs. The one decision: all values
together are one immutable snapshot. A call works on the snapshot it began with, and changing
variables is putting another snapshot in its place: nobody ever sees half of a change, and a reader
takes no lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tfx.bundle.manifest import TensorInfo, VariableEntry
from tfx.core.errors import FailedPreconditionError, NotFoundError
from tfx.loaders.convert import to_array
from tfx.loaders.messages import describe_type, nearest
from tfx.runtime.fork_safe_locks import fork_safe
from tfx.runtime.memory import borrow
from tfx.runtime.values import RawValue, to_numpy


class Value:
    """A tensor that never changes, as an array, an ORT value, or both: each made when asked for.

    Attributes:
        unchecked: The array whose file is checked before it is first used; None for others.
    """

    __slots__ = ("_array", "_check", "_raw", "unchecked")

    def __init__(
        self,
        array: npt.NDArray[Any] | None = None,
        raw: RawValue | None = None,
        check: Callable[[], None] | None = None,
    ) -> None:
        """Wrap an array that nobody will change, or a value, or both of the same content.

        Args:
            array: The array.
            raw: The value.
            check: Called before the array is used for the first time; it may refuse that.
        """
        self._array = array if check is None else None
        self._raw = raw
        self._check = check
        self.unchecked = None if check is None else array

    @property
    def array(self) -> npt.NDArray[Any]:
        """The tensor as a read-only array (strings as ``str``)."""
        array = self._array
        if array is None and self.unchecked is not None:
            assert self._check is not None
            self._check()
            array = self._array = self.unchecked
        if array is None:
            array = to_numpy(self._raw)
            if array.dtype == object:
                array = _decoded(array)
            array.flags.writeable = False
            self._array = array
        return array

    @property
    def raw(self) -> RawValue:
        """The tensor as an ORT value that shares the array's memory where that is possible."""
        raw = self._raw
        if raw is None:
            raw = self._raw = borrow(self.array)
        return raw


def _decoded(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    texts = np.empty(array.size, object)
    texts[:] = [item.decode("utf-8", "surrogateescape") for item in array.reshape(-1)]
    return texts.reshape(array.shape)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The values of all variables at one moment.

    Attributes:
        values: The values, in the manifest's order.
        changed: Ids of those that are not as loaded.
        version: Which version of the bundle they were loaded from: 0, and one more at each reload.
    """

    values: tuple[Value, ...]
    changed: frozenset[int] = frozenset()
    version: int = 0

    def replaced(self, updates: Mapping[int, Value]) -> Snapshot:
        """Return the snapshot with some variables replaced."""
        values = list(self.values)
        for index, value in updates.items():
            values[index] = value
        return Snapshot(tuple(values), self.changed | updates.keys(), self.version)


class State:
    """The current snapshot, and the turn of those who replace it.

    Attributes:
        turn: Held from reading a snapshot to replacing it: by a call that updates variables, and by
            an assignment. Calls that only read take no turn.
    """

    def __init__(
        self, entries: Sequence[VariableEntry], values: Sequence[Value], where: str
    ) -> None:
        """Take the loaded values; ``where`` names the bundle in messages."""
        self.entries = tuple(entries)
        self.turn = fork_safe(threading.RLock())
        self.where = where
        self._snapshot: Snapshot | None = Snapshot(tuple(values))

    @property
    def snapshot(self) -> Snapshot:
        """The current values; read it once and work with that.

        Raises:
            FailedPreconditionError: The bundle was closed.
        """
        if self._snapshot is None:
            raise FailedPreconditionError(
                f"{self.where}: the bundle was closed; open it again with Bundle.open"
            )
        return self._snapshot

    def commit(self, updates: Mapping[int, Value]) -> None:
        """Replace variables; the caller has held ``turn`` since it read the old values."""
        self._snapshot = self.snapshot.replaced(updates)

    def reload(self, values: Sequence[Value]) -> None:
        """Put the variables of another version in place of all; the caller holds ``turn``."""
        self._snapshot = Snapshot(tuple(values), version=self.snapshot.version + 1)

    def close(self) -> None:
        """Let go of the values."""
        self._snapshot = None


class Variables(Mapping[str, npt.NDArray[Any]]):
    """The variables of a bundle by name: read-only arrays, which can be replaced by others.

    An array that was read stays as it is when its variable is replaced.

    Example:
        ``bundle.variables["dense/kernel"] = array`` replaces one, ``bundle.variables.assign(...)``
        several at once: a call on another thread sees all of the new values or none.
    """

    __slots__ = ("_ids", "_state")

    def __init__(self, state: State) -> None:
        """Show ``state``."""
        self._state = state
        self._ids = {entry.name: index for index, entry in enumerate(state.entries)}

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self._state.snapshot.values[self._id(name)].array

    def __setitem__(self, name: str, value: object) -> None:
        self.assign({name: value})

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, name: object) -> bool:
        return name in self._ids

    def get(self, name: str, default: Any = None) -> Any:
        """Return the variable of this name, or ``default`` if there is none."""
        return self[name] if name in self._ids else default

    def __repr__(self) -> str:
        rows = [f"  {e.name}: {describe_type(e.dtype, e.shape)}" for e in self._state.entries[:20]]
        if len(self) > len(rows):
            rows.append(f"  ... and {len(self) - len(rows)} more")
        return "\n".join([f"<{len(self)} variables of {self._state.where}>", *rows])

    def entry(self, name: str) -> VariableEntry:
        """Return what the bundle's manifest says of a variable.

        Raises:
            NotFoundError: There is no such variable.
        """
        return self._state.entries[self._id(name)]

    def assign(self, values: Mapping[str, object]) -> None:
        """Replace variables, all of them or, if anything is wrong with one, none.

        Args:
            values: New values by name. They are copied. An array must have the variable's dtype;
                Python numbers and lists of them take it.

        Raises:
            NotFoundError: There is no variable of a name.
            InvalidArgumentError: A value does not fit its variable.
        """
        updates = {}
        for name, value in values.items():
            index = self._id(name)
            entry = self._state.entries[index]
            wanted = TensorInfo(entry.dtype, entry.shape, name)
            array = np.array(
                to_array(value, wanted, f"{self._state.where}: variable {name!r}"), order="C"
            )
            array.flags.writeable = False
            updates[index] = Value(array)
        with self._state.turn:
            self._state.commit(updates)

    def _id(self, name: str) -> int:
        index = self._ids.get(name)
        if index is None:
            raise NotFoundError(
                f"{self._state.where} has no variable {name!r}; {nearest(name, self._ids)}"
            )
        return index
