"""``recompute_grad`` does not draw anew what operators draw and Python returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf

X = np.linspace(0.5, 1.5, 50, dtype=np.float32)
CALLS: list[int] = []


def _uniform(x: Any) -> Any:
    return tf.raw.RandomUniformLike(x) * x**3.0


def _dropout(x: Any) -> Any:
    kept = tf.raw.Dropout(x**3.0, tf.constant(0.5), tf.constant(True))
    return kept[0] if isinstance(kept, tuple) else kept


def _drawn_by_python() -> Any:
    CALLS.append(1)
    return np.random.default_rng().uniform(size=50).astype(np.float32)


def _numpy(x: Any) -> Any:
    return tf.ensure_shape(tf.numpy_function(_drawn_by_python, [], tf.float32), [50]) * x**3.0


def _python(x: Any) -> Any:
    y = tf.py_function(lambda x: _drawn_by_python() * x**3.0, [x], tf.float32)
    return tf.ensure_shape(y, [50])


def _loop(x: Any) -> Any:
    y = tf.zeros([50])
    for _ in tf.range(3):
        y = y + _uniform(x)
    return y


def _branch_with_python(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0, lambda: _numpy(x), lambda: x)


def _calls_in_loop(x: Any) -> Any:
    y = tf.zeros([50])
    for _ in tf.range(2):
        y = y + CALLED["numpy"](x) + CALLED["dropout"](x)
    return y


def _calling(name: str) -> Callable[[Any], Any]:
    return lambda x: CALLED[name](x)


CALLED = {"uniform": tf.function(_uniform), "numpy": tf.function(_numpy)}
CALLED |= {"dropout": tf.function(_dropout), "loop": tf.function(_loop)}
CALLED["python"] = tf.function(_python)
CALLED["branch"] = tf.function(_branch_with_python)
# Each is cubic in x.
BODIES: dict[str, Callable[[Any], Any]] = {
    "uniform": _uniform,
    "dropout": _dropout,
    "numpy": _numpy,
    "python": _python,
    "loop": _loop,
    "branch": _branch_with_python,
    "calls in loop": _calls_in_loop,
    "several": lambda x: _uniform(x) + _numpy(x) - _dropout(x) + _uniform(x),
    "recomputed inside": lambda x: tf.recompute_grad(_uniform)(x) + _uniform(x),
    "called inside": lambda x: tf.recompute_grad(CALLED["loop"])(x) + CALLED["uniform"](x),
    **{f"called {name}": _calling(name) for name in sorted(CALLED)},
}


def _check(f: Any, *, twice: bool = True) -> None:
    x = tf.constant(X)
    values = []
    for _ in range(2):
        with tf.GradientTape() as outer:
            if twice:
                outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(f(x))
            slope = tape.gradient(y, x)
        values.append(float(y))
        np.testing.assert_allclose((slope.numpy() * X).sum() / 3, y, rtol=1e-4)
        if twice:
            np.testing.assert_allclose(outer.gradient(slope, x), 2 * slope.numpy() / X, rtol=1e-3)
    assert values[0] != values[1]


@pytest.mark.parametrize("name", sorted(BODIES))
def test_eagerly(name: str) -> None:
    # The gradient of a py_function that a tape watches calls Python again.
    _check(tf.recompute_grad(BODIES[name]), twice="python" not in name)


@pytest.mark.parametrize("name", sorted(BODIES))
def test_in_a_function(name: str) -> None:
    _check(tf.function(tf.recompute_grad(BODIES[name])), twice="python" not in name)


@pytest.mark.parametrize("name", ["branch", "called loop", "dropout", "numpy", "uniform"])
def test_in_a_loop_of_a_function(name: str) -> None:
    part = tf.recompute_grad(BODIES[name])

    @tf.function
    def twice(x: Any) -> Any:
        y = tf.zeros([50])
        for _ in tf.range(2):
            y = y + part(x)
        return y

    _check(twice)


@pytest.mark.parametrize("name", ["called numpy", "called python", "numpy", "python"])
@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])
def test_python_is_called_once(name: str, wrap: Any) -> None:
    f, x = wrap(tf.recompute_grad(BODIES[name])), tf.constant(X)
    for _ in range(2):
        CALLS.clear()
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        tape.gradient(y, x)
        assert len(CALLS) == 1


def test_a_variable_is_assigned_once_eagerly() -> None:
    count, mean = tf.Variable(0.0, trainable=False), tf.Variable(1.0, trainable=False)
    update = tf.function(lambda x: mean.assign(mean * 0.5 + x * 0.5))

    def body(x: Any) -> Any:
        count.assign_add(1.0)
        update(x)
        return x * x * count * tf.stop_gradient(mean)

    x = tf.constant(3.0)
    for times, average in ((1.0, 2.0), (2.0, 2.5)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.recompute_grad(body)(x)
        slope = tape.gradient(y, x)
        assert float(slope) == 6.0 * times * average  # with the values of the same run
        assert float(count) == times
        assert float(mean) == average


def test_another_operation_the_second_time_is_refused() -> None:
    times: list[int] = []

    def body(x: Any) -> Any:
        times.append(1)
        return _uniform(x) + (_uniform(x) if len(times) % 2 == 0 else 0.0)

    for f in (tf.recompute_grad(body), tf.function(tf.recompute_grad(body))):
        x = tf.constant(X)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"drew .* the first time"):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            tape.gradient(y, x)
