"""Forward mode through random branches, loops, calls and variables, every way there is.

Eagerly the loops are Python loops and every operation has its own tangent. In the graph, ``If`` and
``Loop`` carry the tangents; the accumulator may be around the function or inside it, and around or
inside a tape. All must give the same numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import tfx as tf
from tests.unit.control_flow.test_random_arrays import SIZE, _in_tensors
from tests.unit.control_flow.test_random_arrays import programs as array_programs
from tests.unit.control_flow.test_random_programs import VARIABLES, Program, programs

Accumulator = tf.autodiff.ForwardAccumulator
_DIRECTION = (0.7, -1.3, 0.4, 1.1, -0.6)


def _directions(primals: list[Any]) -> list[Any]:
    return [tf.zeros_like(p) + d for p, d in zip(primals, _DIRECTION, strict=False)]


def _total(results: Any) -> Any:
    return tf.add_n([tf.reduce_sum(tf.sin(x) * (i + 1.0)) for i, x in enumerate(results)])


def _tangents(f: Any, primals: list[Any]) -> list[Any]:
    directions = _directions(primals)
    with Accumulator(primals, directions) as outer, Accumulator(primals, directions) as inner:
        y = _total(f())
        first = inner.jvp(y, "zero")
    return [y, first, outer.jvp(first, "zero")]


def _products(f: Any, primals: list[Any]) -> list[Any]:
    """A gradient, and its derivative along the direction."""
    with Accumulator(primals, _directions(primals)) as accumulator:
        with tf.GradientTape() as tape:
            tape.watch(primals)
            y = _total(f())
        gradients = tape.gradient(y, primals, unconnected_gradients="zero")
    return [*gradients, *accumulator.jvp(gradients, "zero")]


def _transposed(f: Any, primals: list[Any]) -> list[Any]:
    """The gradient of a derivative along the direction: the same numbers."""
    with tf.GradientTape() as tape:
        tape.watch(primals)
        with Accumulator(primals, _directions(primals)) as accumulator:
            first = accumulator.jvp(_total(f()), "zero")
    return list(tape.gradient(first, primals, unconnected_gradients="zero"))


def _close(found: Any, expected: Any) -> None:
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-8, atol=1e-8)


def _check(run: Any, start: list[float], make: Any) -> None:
    """``run(state, tensors)`` eagerly against its graphs; ``make`` gives new variables."""

    def fresh() -> tuple[Any, list[Any], list[Any]]:
        state = make()
        tensors = [tf.constant(x, tf.float64) for x in start]
        return state, tensors, [*tensors, *state.tf_variables]

    for way in (_tangents, _products, _transposed):
        state, tensors, primals = fresh()
        expected = way(lambda s=state, t=tensors: run(s, t), primals)
        state, tensors, primals = fresh()
        graph = tf.function(lambda *given, s=state: run(s, list(given)))
        _close(way(lambda g=graph, t=tensors: g(*t), primals), expected)
        state, tensors, primals = fresh()

        @tf.function
        def whole(*given: Any, state: Any = state, way: Any = way) -> Any:
            return way(lambda: run(state, list(given)), [*given, *state.tf_variables])

        _close(whole(*tensors), expected)


@settings(max_examples=6)
@given(programs, st.lists(st.floats(-2, 2), min_size=5, max_size=5))
def test_random_programs(program: Any, numbers: list[float]) -> None:
    _check(
        lambda state, given: state.run(program, given),
        numbers[VARIABLES:],
        lambda: Program(numbers[:VARIABLES]),
    )


class _Nothing:
    tf_variables: tuple[Any, ...] = ()


@settings(max_examples=4)
@given(array_programs, st.integers(1, 4), st.integers(0, 2**31))
def test_random_arrays(program: Any, count: int, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(SIZE, 2))
    _check(
        lambda _, given: [_in_tensors(program, given[0], tf.constant(count))],
        [x.tolist()],
        _Nothing,
    )
