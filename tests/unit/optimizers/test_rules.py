"""Every rule against Keras's recorded runs and against formulas in NumPy float64."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tfx as tf
from tests.unit.optimizers import keras_runs
from tests.unit.optimizers.references import CASES, RULES

IDS = [f"{name}-{'-'.join(options)}" for name, options in CASES]
DTYPES = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]


def make(name: str, options: dict[str, Any]) -> tf.optimizers.Optimizer:
    return getattr(tf.optimizers, name)(keras_runs.RATE, **options)


@pytest.mark.parametrize(("name", "options", "expected"), keras_runs.RUNS)
@pytest.mark.parametrize("traced", [False, True])
def test_runs_of_keras(
    name: str, options: dict[str, Any], expected: list[float], traced: bool
) -> None:
    variables = [tf.Variable(np.array(start)) for start in keras_runs.START]
    optimizer = make(name, options)

    def step(first: tf.Tensor, second: tf.Tensor) -> None:
        optimizer.apply_gradients(zip((first, second), variables, strict=True))

    run = tf.function(step) if traced else step
    for number in range(1, keras_runs.STEPS + 1):
        run(*map(tf.constant, keras_runs.gradients(number)))
    found = list(variables)
    if options.get("use_ema"):
        found += [optimizer.get_slot(v, "average") for v in variables]
    flat = np.concatenate([v.numpy().reshape(-1) for v in found])
    # Keras has Nadam's 0.96 in float32.
    rtol = 1e-6 if name == "Nadam" else 1e-12
    np.testing.assert_allclose(flat, expected, rtol=rtol, atol=1e-15)


def run_reference(
    name: str, options: dict[str, Any], start: np.ndarray, gradients: list[np.ndarray]
) -> np.ndarray:
    """The rule in float64; the variable alone is rounded to its dtype after each step."""
    value, state = start.astype(np.float64), {}
    for i, gradient in enumerate(gradients, 1):
        g = gradient.astype(np.float64)
        value = RULES[name](value, g, state, i, keras_runs.RATE, **options)
        value = value.astype(start.dtype).astype(np.float64)
    return value


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_ten_steps(
    name: str, options: dict[str, Any], dtype: Any, rng: np.random.Generator
) -> None:
    start = rng.normal(size=(5, 3)).astype(dtype)
    gradients = [rng.normal(size=(5, 3)).astype(dtype) for _ in range(10)]
    eager, traced = tf.Variable(start), tf.Variable(start)
    one, other = make(name, options), make(name, options)

    @tf.function
    def step(gradient: tf.Tensor) -> None:
        other.apply_gradients([(gradient, traced)])

    for gradient in gradients:
        one.apply_gradients([(tf.constant(gradient), eager)])
        step(tf.constant(gradient))
    np.testing.assert_array_equal(eager.numpy(), traced.numpy())
    for a, b in zip(one.variables, other.variables, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    expected = run_reference(name, options, start, gradients)
    # An element on the edge between two numbers of a short dtype may fall to either side.
    eps = float(ml_dtypes.finfo(dtype).eps)
    scale = np.maximum(np.abs(expected), 1.0)
    tolerance = {8: 20, 4: 40, 2: 1.01}[np.dtype(dtype).itemsize] * eps * scale
    assert np.all(np.abs(eager.numpy().astype(np.float64) - expected) <= tolerance)


def test_half_precision_keeps_its_slots_in_float32() -> None:
    v = tf.Variable(np.ones(2, np.float16))
    optimizer = tf.optimizers.Adam(0.125)
    # The square of this gradient is 0 in float16, which would divide by epsilon.
    optimizer.apply_gradients([(tf.constant([1e-4, -1e-4], tf.float16), v)])
    assert optimizer.get_slot(v, "v").dtype is tf.float32
    assert v.dtype is tf.float16
    np.testing.assert_allclose(v.numpy(), [0.875, 1.125], atol=5e-3)


# Operators that one more variable adds to a traced step.
NODES = {
    "SGD": 2, "Adam": 12, "AdamW": 14, "Adamax": 10, "Nadam": 15, "RMSprop": 9, "Adagrad": 7,
    "Adadelta": 16, "Ftrl": 13, "Lion": 9,
}  # fmt: skip


@pytest.mark.parametrize("name", NODES)
def test_nodes_per_variable(name: str) -> None:
    counts = []
    for count in (1, 3):
        variables = [tf.Variable(np.ones((2, 3), np.float32), name=f"v{i}") for i in range(count)]
        optimizer = make(name, {})

        @tf.function
        def step(*gradients: tf.Tensor, optimizer: Any = optimizer, variables: Any = variables
                 ) -> None:  # fmt: skip
            optimizer.apply_gradients(zip(gradients, variables, strict=True))

        gradient = tf.constant(np.ones((2, 3), np.float32))
        model = step.get_concrete_function(*[gradient] * count).as_onnx()
        counts.append(len(model.graph.node))
    per_variable = (counts[1] - counts[0]) / 2
    assert per_variable == NODES[name]
    assert counts[0] - per_variable <= 28


def test_bias_corrections_are_exact_in_the_first_steps() -> None:
    # 1 - 0.999 is off by 5e-5 in float32.
    v = tf.Variable([1.0])
    optimizer = tf.optimizers.Adam(0.125, epsilon=0.0)
    optimizer.apply_gradients([(tf.constant([3.0]), v)])
    np.testing.assert_allclose(v.numpy(), [0.875], rtol=2e-7)


PURE_RUNS = [
    run
    for run in keras_runs.RUNS
    if not run[1].keys() & keras_runs.OPTIONS.keys() or run[0] == "AdamW"
]


@pytest.mark.parametrize(("name", "options", "expected"), PURE_RUNS)
def test_references_agree_with_keras(
    name: str, options: dict[str, Any], expected: list[float]
) -> None:
    # The two sources of truth check each other.
    value, state = np.array(keras_runs.START[0]), {}
    for i in range(1, keras_runs.STEPS + 1):
        gradient = keras_runs.gradients(i)[0]
        value = RULES[name](value, gradient, state, i, keras_runs.RATE, **options)
    rtol = 1e-6 if name == "Nadam" else 1e-12
    np.testing.assert_allclose(value, expected[:3], rtol=rtol, atol=1e-15)
