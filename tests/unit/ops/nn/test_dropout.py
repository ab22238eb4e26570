"""Dropout: what is kept, how often, and that gradients see the same choices."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.framework.convert import constant
from tfx.ops.nn.dropout import dropout, stateless_dropout
from tfx.ops.random.generator import set_seed
from tfx.testing import assert_close


@pytest.fixture(autouse=True)
def _seeded():
    set_seed(11)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("rate", [0.25, 0.9])
def test_kept_elements_are_scaled(rate, dtype):
    y = dropout(np.ones(10_000).astype(dtype), rate)
    assert y.dtype == dtype
    values = y.numpy().astype(np.float64)
    kept = values[values != 0]
    assert set(kept.tolist()) == {float(np.asarray(1 / (1 - rate)).astype(dtype))}
    assert abs(len(kept) / 10_000 - (1 - rate)) < 0.02


def test_gradients_see_the_same_choices():
    x = constant(np.ones(100, np.float32))
    with GradientTape() as tape:
        tape.watch(x)
        y = dropout(x, 0.5)
    assert_close(tape.gradient(y, x), y)


def test_rates():
    x = constant([1.0, 2.0])
    assert dropout(x, 0.0) is x
    assert_close(dropout(x, constant(0.0)), x)
    y = dropout(np.ones(100), constant(0.25, "float64"))  # a rate of the same dtype
    assert set(y.numpy().tolist()) == {0.0, 1 / 0.75}
    for rate in (-0.1, 1.0, 1.5):
        with pytest.raises(ValueError, match="range"):
            dropout(x, rate)
    with pytest.raises(ValueError, match="floating point"):
        dropout(constant([1, 2]), 0.5)


@pytest.mark.parametrize("noise_shape", [[4, 1, 6], (None, 1, None)])
def test_noise_shape(noise_shape):
    y = dropout(np.ones((4, 5, 6), np.float32), 0.5, noise_shape=noise_shape).numpy()
    assert (y == y[:, :1]).all()
    assert 0 < (y != 0).sum() < y.size

    def f(x):
        return stateless_dropout(x, 0.5, [1, 2], noise_shape=noise_shape)

    traced = run_traced(f, np.ones_like(y))
    assert (traced == traced[:, :1]).all()


def test_stateless_dropout_repeats():
    x = np.ones(50, np.float32)
    a, b, c = (stateless_dropout(x, 0.5, seed).numpy() for seed in ([1, 2], [1, 2], [1, 3]))
    assert (a == b).all()
    assert (a != c).any()
