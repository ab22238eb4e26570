"""A peer's side of the protocol: times the case that each line of its input names.

The first line out is ``{"peer", "version"}``. A request is ``{"case", "seconds"}``; the answer has
``us``, the microseconds a call in one round of about that length, and ``value``, a number made from
the results that all peers must agree on; ``us`` is null where the peer has no such case.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

# Seconds of a call that is not repeated to see how long it takes.
_LONG = 1.0


class Pair(NamedTuple):
    """A structure of two tensors."""

    left: Any
    right: Any


class Case:
    """Something to time.

    Args:
        call: What is timed; given what ``prepare`` returned, if there is such a function.
        value: A number made from a result of ``call``.
        prepare: Makes a fresh argument for each call, outside of the time.
        wait: Given a result, returns when it is there; called at the end of a round, within the
            time: what a framework does in the background counts.
    """

    def __init__(
        self,
        call: Callable[..., Any],
        value: Callable[[Any], float],
        prepare: Callable[[], Any] | None = None,
        wait: Callable[[Any], object] | None = None,
    ) -> None:
        self._call = call
        self._value = value
        self._prepare = prepare
        self._wait = wait
        self._number = 0
        self.first_value = 0.0

    def round(self, seconds: float) -> float:
        """Microseconds a call in a round of about that many seconds."""
        if not self._number:
            self.first_value = self._value(self._run_once())
            once = self._seconds(1)
            if once < _LONG:
                once = min(once, self._seconds(1), self._seconds(1))
            self._number = max(1, min(100_000, int(seconds / max(once, 1e-7))))
        return self._seconds(self._number) / self._number * 1e6

    def _run_once(self) -> Any:
        result = self._call() if self._prepare is None else self._call(self._prepare())
        if self._wait is not None:
            self._wait(result)
        return result

    def _seconds(self, number: int) -> float:
        call, prepare, wait = self._call, self._prepare, self._wait
        result = None
        if prepare is None:
            started = time.perf_counter()
            for _ in itertools.repeat(None, number):
                result = call()
            if wait is not None:
                wait(result)
            return time.perf_counter() - started
        total = 0.0
        for _ in itertools.repeat(None, number):
            given = prepare()
            started = time.perf_counter()
            result = call(given)
            if wait is not None:
                wait(result)
            total += time.perf_counter() - started
        return total


def matrix() -> Any:
    """The contents of every argument."""
    return np.ones((2, 2), np.float32)


def lstm_arrays(units: int, steps: int, batch: int) -> list[Any]:
    """Inputs, the two matrices and the bias of an LSTM, the same in all frameworks.

    Args:
        units: Size of the state, and of the inputs.
        steps: Length of the sequence.
        batch: Sequences.
    """
    rng = np.random.default_rng(0)
    shapes = [(steps, batch, units), (units, 4 * units), (units, 4 * units), (4 * units,)]
    scales = (1.0, 0.1, 0.1, 0.1)
    return [
        (rng.standard_normal(shape) * scale).astype(np.float32)
        for shape, scale in zip(shapes, scales, strict=True)
    ]


def growing() -> Iterator[Any]:
    """Arguments of which no two have the same shape."""
    for rows in itertools.count(2):
        yield np.ones((rows, 2), np.float32)


def ten_in_a_nest(tensors: list[Any]) -> dict[str, Any]:
    """Ten tensors in dicts, a list and a named tuple."""
    a, b, c, d, e, f, g, h, i, j = tensors
    more = {"first": h, "second": i, "third": j}
    return {"image": a, "boxes": [b, c, d, e], "pair": Pair(f, g), "more": more}


def parts_of_nest(nested: dict[str, Any]) -> list[Any]:
    """The ten tensors again."""
    return [nested["image"], *nested["boxes"], *nested["pair"], *nested["more"].values()]


def with_parameters(count: int, add: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    """A Python function of that many parameters which adds them up.

    Args:
        count: How many.
        add: The framework's sum of a list.
    """
    names = ", ".join(f"a{i}" for i in range(count))
    space: dict[str, Any] = {"add": add}
    exec(f"def add_{count}({names}):\n    return add([{names}])", space)
    function: Callable[..., Any] = space[f"add_{count}"]
    return function


def serve(peer: str, version: str, makers: dict[str, Callable[[], Case]]) -> None:
    """Answer requests until the input ends.

    Args:
        peer: Name of the framework.
        version: Of the framework.
        makers: What makes each case; called when it is first asked for.
    """
    # Libraries print: what they print must not come between the answers.
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    cases: dict[str, Case] = {}
    out.write(json.dumps({"peer": peer, "version": version}) + "\n")
    for line in sys.stdin:
        request = json.loads(line)
        out.write(json.dumps(_answer(makers, cases, request)) + "\n")


def _answer(
    makers: dict[str, Callable[[], Case]], cases: dict[str, Case], request: dict[str, Any]
) -> dict[str, Any]:
    name = request["case"]
    if name not in makers:
        return {"case": name, "us": None, "value": None}
    if name not in cases:
        cases[name] = makers[name]()
    us = cases[name].round(float(request["seconds"]))
    return {"case": name, "us": us, "value": cases[name].first_value}
