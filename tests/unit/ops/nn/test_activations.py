"""Activations against their formulas in NumPy and SciPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import scipy.special

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import constant
from tfx.ops.nn import activations as module
from tfx.testing import assert_close, check_grads

ALPHA, SCALE = 1.6732632423543772, 1.0507009873554805
POINTS = np.array([-10.0, -1.5, -1e-3, 0.0, 0.3, 2.0, 5.5, 7.0])
FLOATS = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]


def tanh_gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


FORMULAS = {
    "relu": (module.relu, lambda x: np.maximum(x, 0)),
    "relu6": (module.relu6, lambda x: np.clip(x, 0, 6)),
    "leaky_relu": (module.leaky_relu, lambda x: np.where(x > 0, x, 0.2 * x)),
    "leaky": (lambda x: module.leaky_relu(x, alpha=0.5), lambda x: np.where(x > 0, x, 0.5 * x)),
    "elu": (module.elu, lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0)))),
    "selu": (
        module.selu,
        lambda x: SCALE * np.where(x > 0, x, ALPHA * np.expm1(np.minimum(x, 0))),
    ),
    "gelu": (module.gelu, lambda x: x * scipy.special.ndtr(x)),
    "tanh_gelu": (lambda x: module.gelu(x, approximate=True), tanh_gelu),
    "silu": (module.silu, lambda x: x * scipy.special.expit(x)),
    "swish": (lambda x: module.swish(x, 2.0), lambda x: x * scipy.special.expit(2 * x)),
    "crelu": (
        module.crelu,
        lambda x: np.concatenate([np.maximum(x, 0), np.maximum(-x, 0)], -1),
    ),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", FORMULAS)
def test_formulas(name, dtype):
    f, reference = FORMULAS[name]
    x = POINTS.astype(dtype)
    result = f(x)
    assert result.dtype == dtype
    assert_close(result, reference(x.astype(np.float64)).astype(dtype))


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
@pytest.mark.parametrize("name", [n for n in FORMULAS if n != "crelu"])
def test_shapes_traced(name, shape, rng):
    f, reference = FORMULAS[name]
    x = rng.standard_normal(shape)
    assert_close(run_traced(f, x), reference(x))


@pytest.mark.parametrize("name", FORMULAS)
def test_gradients(name):
    smooth = POINTS[POINTS != 0.0]
    check_grads(FORMULAS[name][0], [smooth])


@pytest.mark.parametrize("name", ["leaky_relu", "elu", "selu", "gelu", "tanh_gelu"])
def test_the_operators_of_float32_have_the_same_slopes(name):
    """float64 takes another way, so the operators' own rules are compared with it."""
    f = FORMULAS[name][0]
    slopes = []
    for dtype in (np.float32, np.float64):
        x = constant(POINTS.astype(dtype))
        with GradientTape() as outer:
            outer.watch(x)
            with GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            slope = tape.gradient(y, x)
        slopes.append((slope, outer.gradient(slope, x)))
    first, second = zip(*slopes, strict=True)
    assert_close(*first)
    if name == "leaky_relu":  # straight lines
        assert second == (None, None)
    else:
        assert_close(*second, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("f", "at_zero"),
    [(module.relu, 0.0), (module.relu6, 0.0), (module.leaky_relu, 0.2), (module.elu, 1.0),
     (module.selu, SCALE)],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_slopes_at_the_kink(f, at_zero, dtype):
    x = constant(np.zeros(1, dtype))
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert_close(tape.gradient(y, x), np.array([at_zero], dtype))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64])
def test_relu_of_integers(dtype):
    x = np.array([0, 5], dtype) if np.dtype(dtype).kind == "u" else np.array([-3, 0, 5], dtype)
    result = module.relu(x)
    assert result.dtype == dtype
    assert_close(result, np.maximum(x, 0))


def test_leaky_relu_of_integers_and_of_a_tensor_slope(rng):
    assert_close(module.leaky_relu([-5, 5]), np.array([-1.0, 5.0], np.float32))
    x, slope = rng.standard_normal(5), np.array(0.3)
    check_grads(module.leaky_relu, [x, slope])


def test_large_inputs_stay_finite():
    x = np.array([-1e4, 1e4])
    for f, expected in (
        (module.elu, [-1.0, 1e4]),
        (module.selu, [-SCALE * ALPHA, SCALE * 1e4]),
        (module.gelu, [0.0, 1e4]),
        (module.silu, [0.0, 1e4]),
    ):
        for dtype in (np.float32, np.float64):
            assert_close(f(x.astype(dtype)), np.array(expected, dtype))
            y = constant(x.astype(dtype))
            with GradientTape() as tape:
                tape.watch(y)
                z = f(y)
            assert np.isfinite(tape.gradient(z, y).numpy()).all()


@pytest.mark.parametrize("f", [module.elu, module.selu, module.gelu, module.silu])
def test_integers_are_refused(f):
    with pytest.raises(InvalidArgumentError, match="floating"):
        f(constant([1, 2]))


def test_silu_takes_any_beta_and_complex_numbers():
    x = np.array([1.0, -2.0])
    for beta in (2, constant(2), np.float32(2)):
        assert_close(module.silu(x, beta), x * scipy.special.expit(2 * x), rtol=1e-6)
    z = np.array([3 + 4j, 1 - 1j])
    assert_close(module.silu(z), z / (1 + np.exp(-z)))
