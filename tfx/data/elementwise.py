"""Steps with a function of each element: map, filter, take_while, scan; and ignoring errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import log
from tfx.core.errors import OpError
from tfx.data.functions import DataFunction, argument_structures, predicate
from tfx.data.indexed import Indexed
from tfx.data.leaves import Leaves, array_of
from tfx.data.nodes import UNKNOWN, Node, Run, Stage, Unary, UnknownMany, open_stage
from tfx.data.parallel import ParallelMap, thread_count
from tfx.data.structure import Structure, merged_spec


class Map(Unary):
    """What a function makes of each element.

    Args:
        source: The elements.
        function: The function.
        parallel: How many calls at a time; None: one.
        deterministic: Whether the order stays; None: as the options say.
    """

    def __init__(
        self, source: Node, function: Any, parallel: Any = None, deterministic: bool | None = None
    ) -> None:
        made = DataFunction(function, argument_structures(source.structure), "map")
        super().__init__(source, made.output)
        self.function = made
        self.parallel = parallel
        self.deterministic = deterministic

    def is_deferrable(self, run: Run) -> bool:
        """True if it can be computed for whole batches, by whoever makes them."""
        allowed = run.options.experimental_optimization.map_vectorization is not False
        return allowed and self.function.batched() is not None

    def indexed(self, run: Run, functions: bool) -> Indexed | None:
        """See ``Node``."""
        if not functions or not self.is_deferrable(run):
            return None
        found = self.source.indexed(run, True)
        return None if found is None else found.then(self.function)

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        source = open_stage(self.source, run)
        # What writes variables waits for itself anyway, and keeps its order so.
        alone = self.function.writes
        threads = 1 if alone else thread_count(self.parallel, run.options)
        if threads > 1:
            ordered = run.deterministic if self.deterministic is None else self.deterministic
            return ParallelMap(source, self.function, threads, ordered)
        return _MapStage(source, self.function)


class _MapStage(Stage):
    __slots__ = ("_function",)

    def __init__(self, source: Stage, function: DataFunction) -> None:
        super().__init__(source)
        self._function = function
        function.begin()

    def next(self) -> Leaves:
        """See ``Stage``."""
        return self._function(self.inputs[0].next())


class Filter(UnknownMany):
    """The elements of which a function says yes."""

    def __init__(self, source: Node, function: Any) -> None:
        super().__init__(source)
        self.function = predicate(function, source.structure, "filter")

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return _FilterStage(open_stage(self.source, run), self.function)


class _FilterStage(_MapStage):
    __slots__ = ()

    def next(self) -> Leaves:
        """See ``Stage``."""
        (source,) = self.inputs
        while True:
            found = source.next()
            if array_of(self._function(found)[0]):
                return found


class TakeWhile(UnknownMany):
    """The elements up to the first of which a function says no."""

    def __init__(self, source: Node, function: Any) -> None:
        super().__init__(source)
        self.function = predicate(function, source.structure, "take_while")

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return _TakeWhileStage(open_stage(self.source, run), self.function)


class _TakeWhileStage(_MapStage):
    __slots__ = ("_done",)
    _position = ("_done",)

    def __init__(self, source: Stage, function: DataFunction) -> None:
        super().__init__(source, function)
        self._done = False

    def next(self) -> Leaves:
        """See ``Stage``."""
        if self._done:
            raise StopIteration
        found = self.inputs[0].next()
        if not array_of(self._function(found)[0]):
            self._done = True
            raise StopIteration
        return found


def stateful_function(
    function: Any, state: Structure, element: Structure, what: str, *, pair: bool
) -> tuple[DataFunction, Structure]:
    """A function of a state and an element, traced for a state whose shapes may change.

    Args:
        function: The user's.
        state: The structure of the initial state.
        element: That of the elements.
        what: The method that got it.
        pair: Whether it returns a new state and an output, or a new state only.

    Returns:
        The function, and the structure of the state.
    """
    while True:
        made = DataFunction(function, [state, element], what)
        returned = made.output.spec
        if pair:
            if type(returned) is not tuple or len(returned) != 2:
                raise TypeError(
                    "The function of Dataset.scan must return a pair comprising the new state and "
                    f"the output value; it returns {returned!r}."
                )
            returned = returned[0]
        try:
            merged = merged_spec(state.spec, returned)
        except TypeError as e:
            raise TypeError(
                f"The function of Dataset.{what} must return a state of the structure and types "
                f"of the initial one, {state!r}; it returns {returned!r}."
            ) from e
        if merged == state.spec:
            return made, state
        state = Structure(merged)


class Scan(Unary):
    """A function of a state and an element, which gives the next state and an output."""

    def __init__(self, source: Node, initial: tuple[Any, ...], state: Structure, function: Any):
        made, _ = stateful_function(function, state, source.structure, "scan", pair=True)
        super().__init__(source, Structure(made.output.spec[1]))
        self.initial = initial
        self.function = made

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return _ScanStage(open_stage(self.source, run), self.function, self.initial)


class _ScanStage(_MapStage):
    __slots__ = ("_state",)
    _position = ("_state",)

    def __init__(self, source: Stage, function: DataFunction, initial: Leaves) -> None:
        super().__init__(source, function)
        self._state = initial

    def next(self) -> Leaves:
        """See ``Stage``."""
        found = self._function(self._state, self.inputs[0].next())
        count = len(self._state)
        self._state = found[:count]
        return found[count:]

    def restore(self, state: Any) -> None:
        """See ``Stage``."""
        super().restore(state)
        self._state = tuple(self._state)


class IgnoreErrors(UnknownMany):
    """The elements that can be had without an error."""

    def __init__(self, source: Node, log_warning: bool) -> None:
        super().__init__(source)
        self.log_warning = log_warning

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return _IgnoreStage(open_stage(self.source, run), self.log_warning)


class _IgnoreStage(Stage):
    __slots__ = ("_log",)

    def __init__(self, source: Stage, log_warning: bool) -> None:
        super().__init__(source)
        self._log = log_warning

    def next(self) -> Leaves:
        """See ``Stage``."""
        while True:
            try:
                return self.inputs[0].next()
            except OpError as e:
                if self._log:
                    log.get_logger().warning("Error raised with error message %s", e)


class Unique(Unary):
    """Each value once, when it comes first."""

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return _UniqueStage(open_stage(self.source, run))

    def cardinality(self) -> int:
        """See ``Node``."""
        return UNKNOWN


class _UniqueStage(Stage):
    __slots__ = ("_seen",)

    def __init__(self, source: Stage) -> None:
        super().__init__(source)
        self._seen: dict[bytes, None] = {}

    def next(self) -> Leaves:
        """See ``Stage``."""
        while True:
            found = self.inputs[0].next()
            key = _key(array_of(found[0]))
            if key not in self._seen:
                self._seen[key] = None
                return found

    def save(self) -> Any:
        """See ``Stage``."""
        return {**super().save(), "seen": list(self._seen)}

    def restore(self, state: Any) -> None:
        """See ``Stage``."""
        super().restore(state)
        self._seen = dict.fromkeys(state["seen"])


def _key(array: np.ndarray[Any, Any]) -> bytes:
    if array.dtype == object:
        parts = [bytes(x) for x in array.reshape(-1)]
        return b"".join(len(p).to_bytes(8, "little") + p for p in parts)
    return array.tobytes()
