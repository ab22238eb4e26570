"""``tf.nn.isotonic_regression`` against pools of adjacent violators, one number after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf

rng = np.random.default_rng(0)


def _pools(row: Any, decreasing: bool) -> tuple[list[float], list[int]]:
    pools: list[list[float]] = []
    for x in row:
        pools.append([x])
        while len(pools) > 1:
            before, last = np.mean(pools[-2]), np.mean(pools[-1])
            if before < last if decreasing else before > last:
                pools[-2:] = [pools[-2] + pools[-1]]
            else:
                break
    values = [float(np.mean(p)) for p in pools for _ in p]
    return values, [i for i, p in enumerate(pools) for _ in p]


@pytest.mark.parametrize("decreasing", [True, False])
@pytest.mark.parametrize("shape", [(1,), (12,), (3, 7), (2, 3, 20), (40, 5)])
def test_rows(shape: tuple[int, ...], decreasing: bool) -> None:
    for x in (rng.standard_normal(shape), rng.integers(-3, 4, shape).astype(np.float64)):
        traced = tf.function(lambda t: tf.nn.isotonic_regression(t, decreasing))
        for output, segments in (tf.nn.isotonic_regression(x, decreasing), traced(tf.constant(x))):
            rows = zip(
                x.reshape(-1, shape[-1]),
                output.numpy().reshape(-1, shape[-1]),
                segments.numpy().reshape(-1, shape[-1]),
                strict=True,
            )
            for row, values, numbers in rows:
                expected, pools = _pools(row, decreasing)
                np.testing.assert_allclose(values, expected, atol=1e-12)
                assert numbers.tolist() == pools


def test_another_axis_and_sizes_that_are_not_known() -> None:
    x = rng.standard_normal((4, 3)).astype(np.float32)
    first, numbers = tf.nn.isotonic_regression(x, axis=0)
    second, others = tf.nn.isotonic_regression(x.T)
    np.testing.assert_array_equal(first.numpy().T, second)
    np.testing.assert_array_equal(numbers.numpy().T, others)
    open_sizes = tf.function(
        lambda t: tf.nn.isotonic_regression(t), input_signature=[tf.TensorSpec([None, None])]
    )
    np.testing.assert_array_equal(open_sizes(x.T)[0], second)


def test_gradient_is_the_mean_over_the_pool() -> None:
    x = tf.constant([3.0, 1.0, 2.0, 0.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.isotonic_regression(x)[0] * [1.0, 2.0, 4.0, 8.0]
    assert tape.gradient(y, x).numpy().tolist() == [1.0, 3.0, 3.0, 8.0]


def test_dtypes() -> None:
    expected = {"int8": "float32", "int16": "float32", "int32": "float64", "bfloat16": "bfloat16"}
    for given, found in expected.items():
        output, segments = tf.nn.isotonic_regression(tf.cast([1, 3, 2], given))
        assert output.dtype.name == found and segments.dtype == tf.int32
    with pytest.raises(tf.errors.InvalidArgumentError, match="string"):
        tf.nn.isotonic_regression(["a"])
