"""Random numbers of pipelines: from a seed, and the same again from a saved position.

They are those of NumPy's Philox, of which any block can be computed by its number: a position is
two integers. The key of each epoch follows from the dataset's seeds and the epoch's number.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from tfx.data.leaves import is_known, number
from tfx.data.position import HasPosition
from tfx.ops.random.generator import seeds_of_pipeline

_BLOCK = 512


class Draws(HasPosition):
    """A sequence of random numbers.

    Args:
        seeds: Whose numbers these are.
        *words: Integers that the sequence follows from.
    """

    _position = ("_key", "_drawn", "_permuted", "_seeds")

    def __init__(self, seeds: Seeds, *words: int) -> None:
        sequence = np.random.SeedSequence([word % 2**64 for word in words])
        self._seeds = seeds
        self._key: npt.NDArray[Any] = sequence.generate_state(2, np.uint64)
        self._drawn = 0
        self._permuted = 0
        self._block = -1
        self._numbers: npt.NDArray[np.float64] = np.empty(0)

    def _generator(self, *counter: int) -> np.random.Generator:
        words = np.array([*counter, 0, 0, 0, 0][:4], np.uint64)
        return np.random.Generator(np.random.Philox(key=self._key, counter=words))

    def uniform(self, count: int) -> npt.NDArray[np.float64]:
        """Numbers from 0 up to 1."""
        parts = []
        while count:
            block, start = divmod(self._drawn, _BLOCK)
            if block != self._block:
                self._numbers, self._block = self._generator(block * _BLOCK).random(_BLOCK), block
            part = self._numbers[start : start + count]
            self._drawn += len(part)
            count -= len(part)
            parts.append(part)
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0), *parts])

    def below(self, bound: int, count: int) -> npt.NDArray[np.int64]:
        """Integers from 0 up to ``bound``."""
        return (self.uniform(count) * bound).astype(np.int64)

    def one_below(self, bound: int) -> int:
        """An integer from 0 up to ``bound``."""
        block, start = divmod(self._drawn, _BLOCK)
        if block != self._block:
            return int(self.below(bound, 1)[0])
        self._drawn += 1
        return int(self._numbers[start] * bound)

    def integers(self, count: int) -> npt.NDArray[np.int64]:
        """Any integers from 0 up to the largest int64."""
        self._permuted += 1
        return self._generator(0, self._permuted).integers(0, 2**63, count, np.int64)

    def permutation(self, size: int) -> npt.NDArray[np.int64]:
        """The numbers below ``size`` in random order."""
        self._permuted += 1
        return self._generator(0, self._permuted).permutation(size)

    def restore(self, state: Any) -> None:
        """See ``HasPosition``."""
        super().restore(state)
        self._block = -1


class Seeds(HasPosition):
    """The seeds of a step of a pipeline, which follow one another from epoch to epoch.

    Args:
        seed: The user's seed; None: none.
        renewed: Whether each epoch gets another one.

    Attributes:
        renewed: The same.
    """

    _position = ("_epoch",)

    def __init__(self, seed: Any, renewed: bool = True) -> None:
        self._seed = seed
        self._pair = seeds_of_pipeline(None) if seed is None else None
        self.renewed = renewed
        self._epoch = 0
        self._lock = threading.Lock()

    def next(self) -> Draws:
        """The random numbers of the next epoch."""
        with self._lock:
            if self._pair is None:
                assert is_known(self._seed)
                self._pair = seeds_of_pipeline(number(self._seed))
            epoch = self._epoch
            self._epoch += self.renewed
            return Draws(self, *self._pair, epoch)
