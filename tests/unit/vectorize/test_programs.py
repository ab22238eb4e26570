"""Vectorized programs: values and gradients are those of the elements, in every setting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfx as tf
from tests.unit.vectorize.programs import PROGRAMS, C, W

NAMES = sorted(PROGRAMS)
# Their intermediate results do not stack: there is a warning, and a loop.
LOOPS = frozenset(("gradient of a loop",))


def _elements(name: str) -> Any:
    rng = np.random.default_rng(len(name))
    return tf.constant(rng.normal(size=(4, 3)).astype(np.float32))


def _leaves(result: Any) -> list[Any]:
    return [tf.convert_to_tensor(x) for x in tf.nest.flatten(result)]


def _mapped(name: str) -> Callable[[Any], Any]:
    return lambda x: tf.vectorized_map(
        PROGRAMS[name], x, fallback_to_while_loop=name in LOOPS, warn=False
    )


def _settings(name: str) -> dict[str, Callable[[Any], Any]]:
    mapped = _mapped(name)
    return {
        "eager": mapped,
        "function": tf.function(mapped),
        "unknown size": tf.function(mapped, input_signature=[tf.TensorSpec([None, 3])]),
    }


@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_the_elements(name: str) -> None:
    x = _elements(name)
    alone = [_leaves(PROGRAMS[name](r)) for r in tf.unstack(x)]
    wanted = [np.stack([y.numpy() for y in column]) for column in zip(*alone, strict=True)]
    for setting, run in _settings(name).items():
        found = _leaves(run(x))
        assert len(found) == len(wanted)
        for y, w in zip(found, wanted, strict=True):
            assert y.shape == w.shape, setting
            np.testing.assert_allclose(y, w, rtol=2e-4, atol=2e-5, err_msg=setting)


def _total(result: Any) -> Any:
    return tf.add_n([tf.reduce_sum(y * y) for y in _leaves(result)])


def _gradients(x: Any, loss: Callable[[], Any]) -> list[Any]:
    with tf.GradientTape() as tape:
        tape.watch([x, C])
        total = loss()
    found = tape.gradient(total, [x, C, W], unconnected_gradients="zero")
    return [tf.convert_to_tensor(g) for g in found]


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_the_elements(name: str) -> None:
    x = _elements(name)
    wanted = _gradients(x, lambda: tf.add_n([_total(PROGRAMS[name](r)) for r in tf.unstack(x)]))
    mapped = _mapped(name)
    inside = tf.function(lambda: _gradients(x, lambda: _total(mapped(x))))
    found = {
        "eager": _gradients(x, lambda: _total(mapped(x))),
        "function": _gradients(x, lambda: _total(tf.function(mapped)(x))),
        "inside": inside(),
    }
    for setting, gradients in found.items():
        for g, w in zip(gradients, wanted, strict=True):
            np.testing.assert_allclose(g, w, rtol=2e-3, atol=2e-4, err_msg=setting)


_STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "outer": lambda x, y: tf.einsum("i,j->i", x, y),
    "softmax": lambda x, y: tf.nn.softmax(x),
    "reverse": lambda x, y: tf.reverse(x, [0]),
    "where": lambda x, y: tf.where(x > y, x, y),
    "normed": lambda x, y: x / (tf.norm(y) + 1.0),
    "gather": lambda x, y: tf.gather(x, tf.argsort(y)),
    "cumsum": lambda x, y: tf.cumsum(x) * 0.1,
    "cond": lambda x, y: tf.cond(x[0] > y[0], lambda: x - y, lambda: tf.sin(y)),
    "halve": lambda x, y: tf.while_loop(
        lambda a: tf.reduce_sum(a * a) > 1.0, lambda a: a * 0.5, (x,)
    )[0],
    "matmul": lambda x, y: tf.linalg.matvec(tf.tensordot(x, y, 0), y) * 0.1,
    "pick": lambda x, y: tf.tensor_scatter_nd_update(x, [[tf.argmax(y)]], y[:1]),
}


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(_STEPS)), st.integers(0, 9), st.integers(0, 9)),
        min_size=1,
        max_size=6,
    ),
    st.integers(0, 10**6),
)
def test_random_programs(steps: list[tuple[str, int, int]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = tf.constant(rng.normal(size=(3, 4)).astype(np.float32))
    c = tf.constant(rng.normal(size=4).astype(np.float32))

    def program(r: Any) -> Any:
        values = [r, c]
        for name, i, j in steps:
            values.append(_STEPS[name](values[i % len(values)], values[j % len(values)]))
        return values[-1] + 0.0 * r

    wanted = np.stack([program(r).numpy() for r in tf.unstack(x)])
    found = tf.vectorized_map(program, x, fallback_to_while_loop=False)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
