"""Inverse error functions against SciPy, into their tails."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import scipy.special

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.tracing import run_traced
from tfx.core.errors import InvalidArgumentError
from tfx.ops.math import inverse_erf
from tfx.testing import assert_close, check_grads

# name -> SciPy's function and the ends of the domain
REFERENCES = {
    "erfinv": (scipy.special.erfinv, -1.0, 1.0),
    "erfcinv": (scipy.special.erfcinv, 0.0, 2.0),
    "ndtri": (scipy.special.ndtri, 0.0, 1.0),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_into_the_tails(name, rng):
    reference, low, high = REFERENCES[name]
    tails = 10.0 ** rng.uniform(-15, 0, 300)
    x = np.concatenate([rng.uniform(low, high, 1000), low + tails, high - tails])
    if low == 0.0:
        x = np.append(x, 10.0 ** rng.uniform(-307, -15, 200))
    f = getattr(inverse_erf, name)
    np.testing.assert_allclose(f(x), reference(x), rtol=1e-14, atol=1e-15)
    assert_close(run_traced(f, x), f(x))


@pytest.mark.parametrize("name", REFERENCES)
def test_ends(name):
    _, low, high = REFERENCES[name]
    turned = -1.0 if name == "erfcinv" else 1.0
    middle = (low + high) / 2
    x = [low, middle, high, low - 0.5, high + 0.5, np.nan]
    expected = [-np.inf * turned, 0.0, np.inf * turned, np.nan, np.nan, np.nan]
    assert_close(getattr(inverse_erf, name)(x), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", REFERENCES)
def test_dtypes(name, dtype):
    reference, low, high = REFERENCES[name]
    x = np.linspace(low, high, 9)[1:-1].astype(dtype)
    result = getattr(inverse_erf, name)(x)
    assert result.dtype == dtype
    assert_close(result, reference(x.astype(np.float64)).astype(dtype))


@pytest.mark.parametrize("name", REFERENCES)
def test_gradients_to_the_third_order(name):
    _, low, high = REFERENCES[name]
    points = low + (high - low) * np.array([0.05, 0.3, 0.5, 0.6, 0.93])
    check_grads(getattr(inverse_erf, name), [points], order=3)


@pytest.mark.parametrize("name", REFERENCES)
def test_only_floats(name):
    with pytest.raises(InvalidArgumentError, match="int32 is not allowed by"):
        getattr(inverse_erf, name)(1)
