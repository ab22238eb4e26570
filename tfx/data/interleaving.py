"""Steps that make datasets of elements and mix them: flat_map, interleave, choose, sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tfx.core.errors import InvalidArgumentError
from tfx.data.functions import DataFunction, argument_structures
from tfx.data.leaves import Leaves, array_of, number
from tfx.data.nodes import INFINITE, UNKNOWN, Node, Run, Stage, UnknownMany, known, open_stage
from tfx.data.parallel import AUTOTUNE, Prefetching, thread_count
from tfx.data.random_draws import Draws, Seeds
from tfx.data.structure import DatasetSpec, Structure, merged_spec

# How many datasets are open at a time where the user does not say.
_CYCLE = 4


class Interleave(UnknownMany):
    """The elements of the datasets that a function makes of elements, in turns.

    Args:
        source: The elements.
        function: Makes a dataset of one.
        cycle: From how many datasets elements come in turns.
        block: How many elements come from one before it is the next one's turn.
        parallel: How many datasets are read at a time; None: one.
        what: The method, for messages.
    """

    def __init__(
        self, source: Node, function: Any, cycle: Any, block: Any, parallel: Any, what: str
    ) -> None:
        self.function = DataFunction(function, argument_structures(source.structure), what)
        spec = self.function.output.spec
        if not isinstance(spec, DatasetSpec):
            raise TypeError(
                f"The function of Dataset.{what} must return a dataset; it returns {spec!r}."
            )
        super().__init__(source, Structure(spec.element_spec))
        self.cycle = cycle
        self.block = block
        self.parallel = parallel
        for name in ("cycle", "block"):
            if known(self, name):
                self._positive(name)

    def _positive(self, name: str) -> int:
        found = number(getattr(self, name))
        if name == "cycle" and found == AUTOTUNE:
            return _CYCLE
        if found < 1:
            raise InvalidArgumentError(
                f"{name}_length must be greater than zero; got {found}.", op="InterleaveDataset"
            )
        return found

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        source = open_stage(self.source, run)
        # A thread for each open dataset pays only if reading takes long, which the user knows.
        asked = self.parallel is not None and number(self.parallel) != AUTOTUNE
        ahead = asked and thread_count(self.parallel, run.options) > 1
        numbers = self._positive("cycle"), self._positive("block")
        return _InterleaveStage(source, self.function, *numbers, ahead, run)


class _InterleaveStage(Stage):
    """Has as inputs the source and the open datasets.

    An open dataset is a place of the cycle; None: the place is empty.
    """

    __slots__ = ("_ahead", "_block", "_ended", "_function", "_made_of", "_places", "_run", "_taken",
                 "_turn")  # fmt: skip
    _position = ("_ended", "_taken", "_turn")

    def __init__(
        self, source: Stage, function: DataFunction, cycle: int, block: int, ahead: bool, run: Run
    ) -> None:
        super().__init__(source)
        self._function = function
        self._block = block
        self._ahead = ahead
        self._run = run
        self._places: list[Stage | None] = [None] * cycle
        # The elements that the open datasets were made of.
        self._made_of: list[Leaves | None] = [None] * cycle
        self._turn = 0
        self._taken = 0
        self._ended = False

    def next(self) -> Leaves:
        """See ``Stage``."""
        idle = 0
        while idle <= len(self._places):
            stage = self._places[self._turn]
            if stage is None:
                if not self._ended:
                    self._open(self._turn)
                    continue
                idle += 1
                self._advance()
                continue
            try:
                found = stage.next()
            except StopIteration:
                self._places[self._turn] = self._made_of[self._turn] = None
                stage.close()
                idle = 0
                self._advance()
                continue
            self._taken += 1
            if self._taken == self._block:
                self._advance()
            return found
        raise StopIteration

    def _advance(self) -> None:
        self._turn = (self._turn + 1) % len(self._places)
        self._taken = 0

    def _open(self, place: int) -> None:
        try:
            element = self.inputs[0].next()
        except StopIteration:
            self._ended = True
            return
        self._begin(place, element)

    def _begin(self, place: int, element: Leaves) -> None:
        (node,) = self._function(element)
        stage = open_stage(node, self._run)
        self._places[place] = Prefetching(stage, 2) if self._ahead else stage
        self._made_of[place] = element

    def save(self) -> Any:
        """See ``Stage``."""
        return {
            **super().save(),
            "open": [
                None if stage is None else [list(self._made_of[i] or ()), stage.save()]
                for i, stage in enumerate(self._places)
            ],
        }

    def restore(self, state: Any) -> None:
        """See ``Stage``."""
        self._close_places()
        super().restore(state)
        for i, saved in enumerate(state["open"]):
            if saved is not None:
                self._begin(i, tuple(saved[0]))
                stage = self._places[i]
                assert stage is not None
                stage.restore(saved[1])

    def _close_places(self) -> None:
        for i, stage in enumerate(self._places):
            self._places[i] = self._made_of[i] = None
            if stage is not None:
                stage.close()

    def close(self) -> None:
        """See ``Stage``."""
        self._close_places()
        super().close()


def common_structure(sources: Sequence[Node], what: str) -> Structure:
    """The structure that covers the elements of several datasets.

    Raises:
        TypeError: there is none.
    """
    found = sources[0].structure.spec
    for source in sources[1:]:
        try:
            found = merged_spec(found, source.structure.spec)
        except TypeError as e:
            raise TypeError(
                f"{what} takes datasets with elements of one structure and type; got {found!r} "
                f"and {source.structure!r}."
            ) from e
    return Structure(found)


class Choose(Node):
    """Elements of several datasets, in the order of another one's numbers.

    Args:
        sources: The datasets.
        choice: Which one's turn it is.
        stop: Whether it ends with the first dataset that does.
    """

    def __init__(self, sources: Sequence[Node], choice: Node, stop: bool) -> None:
        self.sources = tuple(sources)
        self.choice = choice
        self.stop = stop
        self.structure = common_structure(sources, "Dataset.choose_from_datasets")

    def cardinality(self) -> int:
        """See ``Node``."""
        return UNKNOWN

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        stages = [open_stage(source, run) for source in self.sources]
        return _ChooseStage(open_stage(self.choice, run), stages, self.stop)


class _ChooseStage(Stage):
    __slots__ = ("_open", "_stop")
    _position: ClassVar[tuple[str, ...]] = ("_open",)

    def __init__(self, choice: Stage, stages: Sequence[Stage], stop: bool) -> None:
        super().__init__(choice, *stages)
        self._open = [True] * len(stages)
        self._stop = stop

    def next(self) -> Leaves:
        """See ``Stage``."""
        while any(self._open):
            place = self._chosen()
            if not 0 <= place < len(self._open):
                raise InvalidArgumentError(
                    f"Selector index out of range: {place} >= {len(self._open)}.",
                    op="DirectedInterleaveDataset",
                )
            if not self._open[place]:
                continue
            try:
                return self.inputs[1 + place].next()
            except StopIteration:
                self._open = [False] * len(self._open) if self._stop else self._open
                self._open[place] = False
        raise StopIteration

    def _chosen(self) -> int:
        return int(array_of(self.inputs[0].next()[0]))


class Sample(Node):
    """Elements of several datasets, at random.

    Args:
        sources: The datasets.
        weights: How often each is taken from: a vector; or a dataset of vectors.
        seed: The user's seed.
        stop: Whether it ends with the first dataset that does.
        renewed: Whether each iteration chooses otherwise.
    """

    def __init__(
        self, sources: Sequence[Node], weights: Any, seed: Any, stop: bool, renewed: bool
    ) -> None:
        self.sources = tuple(sources)
        self.weights = weights
        self.seeds = Seeds(seed, renewed)
        self.stop = stop
        self.structure = common_structure(sources, "Dataset.sample_from_datasets")

    def cardinality(self) -> int:
        """See ``Node``."""
        sizes = [source.cardinality() for source in self.sources]
        if self.stop or UNKNOWN in sizes:
            return UNKNOWN
        return INFINITE if INFINITE in sizes else sum(sizes)

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        stages = [open_stage(source, run) for source in self.sources]
        draws = self.seeds.next()
        if isinstance(self.weights, Node):
            return _SampleStage(open_stage(self.weights, run), stages, self.stop, draws, None)
        return _SampleStage(Stage(), stages, self.stop, draws, array_of(self.weights))


class _SampleStage(_ChooseStage):
    __slots__ = ("_draws", "_weights")
    _position: ClassVar[tuple[str, ...]] = ("_open", "_draws")

    def __init__(
        self,
        weights: Stage,
        stages: Sequence[Stage],
        stop: bool,
        draws: Draws,
        fixed: np.ndarray[Any, Any] | None,
    ) -> None:
        super().__init__(weights, stages, stop)
        self._weights = fixed
        self._draws = draws

    def _chosen(self) -> int:
        weights = self._weights
        if weights is None:
            weights = array_of(self.inputs[0].next()[0])
        # Those that have ended are not drawn: the others keep their proportions.
        sums = np.cumsum(np.where(self._open, weights, 0.0).astype(np.float64))
        drawn = float(self._draws.uniform(1)[0]) * sums[-1]
        if not sums[-1] > 0:
            self._open = [False] * len(self._open)
            raise StopIteration
        return int(np.searchsorted(sums, drawn, side="right"))
