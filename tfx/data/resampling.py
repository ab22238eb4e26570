"""``rejection_resample``: elements are left out at random, so that classes get a frequency."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core.specs import TensorSpec
from tfx.data.functions import DataFunction, argument_structures
from tfx.data.leaves import Array, Leaves, array_of
from tfx.data.nodes import UNKNOWN, Node, Run, Stage, Unary, open_stage
from tfx.data.random_draws import Seeds
from tfx.data.structure import Structure
from tfx.framework.convert import convert_to_tensor

# Classes count as seen so often before there is anything, so that none is impossible.
_PRIOR = 1.0


class Resample(Unary):
    """Pairs of class and element.

    Args:
        source: The elements.
        class_func: Gives the class of one.
        target: How frequent each class is to be.
        initial: How frequent it is; None: what was seen so far.
        seed: The user's seed.
    """

    def __init__(self, source: Node, class_func: Any, target: Any, initial: Any, seed: Any) -> None:
        self.function = DataFunction(
            class_func, argument_structures(source.structure), "rejection_resample"
        )
        spec = self.function.output.spec
        if not isinstance(spec, TensorSpec) or not spec.dtype.is_integer or spec.shape.rank:
            raise ValueError(
                "The class_func of Dataset.rejection_resample must return an integer scalar; it "
                f"returns {spec!r}."
            )
        super().__init__(source, Structure((spec, source.structure.spec)))
        self.target = convert_to_tensor(target)
        self.initial = None if initial is None else convert_to_tensor(initial)
        self.seeds = Seeds(seed)

    def cardinality(self) -> int:
        """See ``Node``."""
        return UNKNOWN

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return _ResampleStage(open_stage(self.source, run), self)


class _ResampleStage(Stage):
    __slots__ = ("_draws", "_function", "_initial", "_seen", "_target")
    _position = ("_draws", "_seen")

    def __init__(self, source: Stage, node: Resample) -> None:
        super().__init__(source)
        self._function = node.function
        self._target: Array = array_of(node.target).astype(np.float64)
        initial = node.initial
        self._initial = None if initial is None else array_of(initial).astype(np.float64)
        self._seen: Array = np.full(len(self._target), _PRIOR)
        self._draws = node.seeds.next()

    def next(self) -> Leaves:
        """See ``Stage``."""
        while True:
            element = self.inputs[0].next()
            (found,) = self._function(element)
            kind = int(array_of(found))
            self._seen[kind] += 1
            known = self._seen / self._seen.sum() if self._initial is None else self._initial
            ratios = self._target / np.maximum(known, 1e-12)
            if self._draws.uniform(1)[0] * ratios.max() < ratios[kind]:
                return (found, *element)
