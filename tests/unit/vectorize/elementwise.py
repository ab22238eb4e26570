"""A batching rule against one element after the other: what the tests of rules share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import tfx as tf
from tfx.framework.apply import apply_n

SIZE = 3
Array = np.ndarray[Any, Any]
Make = Callable[[np.random.Generator], Array]


class Case(NamedTuple):
    """An operator on inputs of one element.

    Attributes:
        op: ONNX operator.
        attrs: Its attributes.
        inputs: Each makes an input of one element from random numbers; None: left out.
        may: The inputs that may differ between elements.
        outputs: How many results are wanted.
        loops: Whether a loop over the elements is allowed.
    """

    op: str
    attrs: dict[str, Any]
    inputs: Sequence[Make | None]
    may: Sequence[int]
    outputs: int | None = None
    loops: bool = False

    def choices(self) -> Iterator[tuple[int, ...]]:
        """Which inputs differ between elements."""
        for count in range(1, len(self.may) + 1):
            yield from itertools.combinations(self.may, count)


def normal(*shape: int) -> Make:
    """Random normal numbers."""
    return lambda rng: rng.standard_normal(shape).astype(np.float32)


def fixed(value: Any, dtype: Any = np.int64) -> Make:
    """The same for all."""
    return lambda rng: np.asarray(value, dtype)


def whole(low: int, high: int, *shape: int, dtype: Any = np.int64) -> Make:
    """Random integers."""
    return lambda rng: np.asarray(rng.integers(low, high, shape), dtype)


def check(case: Case, differing: tuple[int, ...], *, traced: bool) -> None:
    """Compare all elements at once with one after the other."""
    rng = np.random.default_rng(0)
    made = [None if m is None else [m(rng) for _ in range(SIZE)] for m in case.inputs]

    def given(k: int, sources: Sequence[Any] | None) -> list[Any]:
        rest = iter(sources or ())
        found: list[Any] = []
        for i, values in enumerate(made):
            if values is None:
                found.append(None)
            elif i in differing:
                found.append(tf.constant(values[k]) if sources is None else next(rest))
            else:
                found.append(tf.constant(values[0]))
        while found[-1] is None:
            found.pop()
        return found

    def one(sources: Sequence[Any]) -> list[Any]:
        return list(apply_n(case.op, given(0, sources), case.attrs, case.outputs))

    def every(*batch: Any) -> Any:
        return tf.vectorized_map(one, list(batch), case.loops, warn=False)

    batch = [tf.constant(np.stack(made[i] or ())) for i in differing]
    found = (tf.function(every) if traced else every)(*batch)
    for k in range(SIZE):
        expected = apply_n(case.op, given(k, None), case.attrs, case.outputs)
        for got, want in zip(found, expected, strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got.numpy()[k], want.numpy(), rtol=1e-4, atol=1e-5)


def check_all(case: Case) -> None:
    """Every choice of differing inputs eagerly, the first and the last one in a function too."""
    choices = list(case.choices())
    for differing in choices:
        check(case, differing, traced=False)
    for differing in {choices[0], choices[-1]}:
        check(case, differing, traced=True)
