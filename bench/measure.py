"""How things are measured: best of several repeats, interleaved with what they are compared to."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple


class Result(NamedTuple):
    """A measurement beside its reference.

    Attributes:
        name: What was measured.
        ours: Our figure.
        reference: The figure that it is compared with.
        unit: Of both.
        target: Greatest ratio that the project asks for (least, if ``at_least``); None: none.
        at_least: Whether a higher ratio is better.
        note: What the reference is.
    """

    name: str
    ours: float
    reference: float
    unit: str
    target: float | None
    note: str
    at_least: bool = False

    @property
    def ratio(self) -> float:
        """Ours over the reference."""
        return self.ours / self.reference

    @property
    def met(self) -> bool:
        """True if the target, if there is one, is reached."""
        if self.target is None:
            return True
        return self.ratio >= self.target if self.at_least else self.ratio <= self.target


def best_of(
    functions: list[Callable[[], object]], *, number: int, repeats: int = 15
) -> list[float]:
    """Least time of one call of each function in microseconds; rounds are interleaved.

    Args:
        functions: What is called, without arguments.
        number: Calls in a round.
        repeats: Rounds.
    """
    for f in functions:
        f()
    best = [float("inf")] * len(functions)
    for _ in range(repeats):
        for i, f in enumerate(functions):
            started = time.perf_counter()
            for _ in range(number):
                f()
            best[i] = min(best[i], (time.perf_counter() - started) / number)
    return [b * 1e6 for b in best]
