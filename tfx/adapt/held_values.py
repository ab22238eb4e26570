"""The values of an adapter while it is not active: references to immutable tensors, no copies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tfx.runtime.values import RawValue, from_numpy, to_numpy

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class AdapterValues:
    """One adapter's values.

    Attributes:
        a: First factors by the weight's name.
        b: Second factors by the weight's name.
        alpha: Numerator of the scale.
        rank: Its denominator; factors are zeros beyond it.
    """

    a: Mapping[str, RawValue]
    b: Mapping[str, RawValue]
    alpha: float
    rank: int

    @property
    def scale(self) -> float:
        """The factor of the product."""
        return self.alpha / self.rank

    def as_arrays(self) -> tuple[dict[str, Array], dict[str, Array], float, int]:
        """The factors with no more than their rank, as arrays that share their memory."""
        a = {n: array_of(x)[..., : self.rank] for n, x in self.a.items()}
        b = {n: array_of(x)[: self.rank] for n, x in self.b.items()}
        return a, b, self.alpha, self.rank

    @classmethod
    def from_arrays(
        cls, a: Mapping[str, Array], b: Mapping[str, Array], alpha: float, rank: int
    ) -> AdapterValues:
        """The values that arrays hold; see ``as_arrays``."""
        return cls(
            {n: raw_of_array(x) for n, x in a.items()},
            {n: raw_of_array(x) for n, x in b.items()},
            alpha,
            rank,
        )

    def widened(self, rank: int) -> AdapterValues:
        """The same adapter in factors of a larger rank, filled up with zeros."""
        a, b, alpha, own = self.as_arrays()
        more = rank - own
        wide_a = {n: np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, more)]) for n, x in a.items()}
        wide_b = {n: np.pad(x, [(0, more), (0, 0)]) for n, x in b.items()}
        return AdapterValues(
            {n: raw_of_array(x) for n, x in wide_a.items()},
            {n: raw_of_array(x) for n, x in wide_b.items()},
            alpha,
            own,
        )


def array_of(value: RawValue) -> Array:
    """The contents as a read-only array that shares the memory."""
    return to_numpy(value)


def raw_of_array(array: Array) -> RawValue:
    """An immutable value with a copy of an array."""
    return from_numpy(np.array(array, order="C"), owned=True)
