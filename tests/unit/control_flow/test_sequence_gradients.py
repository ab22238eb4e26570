"""Gradients through operators on sequences, as imported models have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.framework.apply import apply
from tfx.framework.convert import int64_constant as number

Program = Callable[[Any], Any]


def _split(x: Any) -> Any:
    return apply("SplitToSequence", (x, number(1)), {"axis": 0})


def _joined(sequence: Any) -> Any:
    return apply("ConcatFromSequence", (sequence,), {"axis": 0})


def _at(x: Any) -> Any:
    s = _split(x)
    return apply("SequenceAt", (s, number(0))) * apply("SequenceAt", (s, number(-1)))


def _erased(x: Any) -> Any:
    return _joined(apply("SequenceErase", (_split(x), number(1)))) ** 2


def _erased_at_the_end(x: Any) -> Any:
    return _joined(apply("SequenceErase", (_split(x),))) ** 2


def _inserted(x: Any) -> Any:
    return _joined(apply("SequenceInsert", (_split(x), tf.sin(x), number(1)))) ** 2


def _constructed(x: Any) -> Any:
    return _joined(apply("SequenceConstruct", (tf.sin(x), x * x, tf.exp(x)))) ** 2


def _columns(x: Any) -> Any:
    columns = apply("SplitToSequence", (x, number([2, 1])), {"axis": 1})
    last = apply("SequenceAt", (columns, number(1)))
    first = apply("SplitToSequence", (apply("SequenceAt", (columns, number(0))),), {"axis": -1})
    kept = apply("SequenceInsert", (apply("SequenceErase", (first, number(1))), last))
    return apply("ConcatFromSequence", (kept,), {"axis": -1}) ** 2


def _stacked(x: Any) -> Any:
    pair = apply("SequenceConstruct", (x, x * x))
    return apply("ConcatFromSequence", (pair,), {"axis": 1, "new_axis": 1}) ** 2


def _column(x: Any) -> Any:
    columns = apply("SplitToSequence", (x,), {"axis": 1, "keepdims": 0})
    return apply("SequenceAt", (columns, number(1))) ** 2


# The same functions in NumPy.
PROGRAMS: dict[str, tuple[Program, Program]] = {
    "SplitToSequence": (lambda x: _joined(_split(x)) ** 2, lambda x: x**2),
    "SequenceAt": (_at, lambda x: x[:1] * x[-1:]),
    "SequenceErase": (_erased, lambda x: np.delete(x, 1, 0) ** 2),
    "SequenceErase_end": (_erased_at_the_end, lambda x: x[:-1] ** 2),
    "SequenceInsert": (
        _inserted,
        lambda x: np.concatenate([x[:1], np.sin(x), x[1:]]) ** 2,
    ),
    "SequenceErase_from_the_end": (
        lambda x: _joined(apply("SequenceErase", (_split(x), number(-2)))) ** 2,
        lambda x: np.delete(x, -2, 0) ** 2,
    ),
    "SequenceInsert_from_the_end": (
        lambda x: _joined(apply("SequenceInsert", (_split(x), tf.sin(x), number(-1)))) ** 2,
        lambda x: np.concatenate([x[:-1], np.sin(x), x[-1:]]) ** 2,
    ),
    "SequenceAt_computed": (
        lambda x: apply("SequenceAt", (_split(x), tf.cast(tf.size(x), tf.int64) - 14)) ** 2,
        lambda x: x[-2:-1] ** 2,
    ),
    "along_the_second_axis": (_columns, lambda x: np.delete(x, 1, 1) ** 2),
    "stacked_along_the_second_axis": (_stacked, lambda x: np.stack([x, x * x], 1) ** 2),
    "slices_of_the_second_axis": (_column, lambda x: x[:, 1] ** 2),
    "SequenceConstruct": (
        _constructed,
        lambda x: np.concatenate([np.sin(x), x * x, np.exp(x)]) ** 2,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient_agrees_with_differences(name: str, rng: np.random.Generator) -> None:
    program, in_numpy = PROGRAMS[name]
    x = rng.standard_normal((4, 3))
    weights = rng.standard_normal(in_numpy(x).shape)

    @tf.function
    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(program(x) * weights)
        return y, tape.gradient(y, x)

    y, found = f(tf.constant(x))
    np.testing.assert_allclose(y.numpy(), (in_numpy(x) * weights).sum())
    wanted = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-6
        ahead, behind = (in_numpy(x + s) * weights for s in (step, -step))
        wanted[place] = (ahead - behind).sum() / 2e-6
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6, atol=1e-8)
