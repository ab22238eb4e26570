"""lgamma and digamma against SciPy over the whole line."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import scipy.special

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.tracing import run_traced
from tfx.core.errors import InvalidArgumentError
from tfx.ops.math import gamma
from tfx.testing import assert_close, check_grads

REFERENCES = {"lgamma": scipy.special.gammaln, "digamma": scipy.special.digamma}


@pytest.mark.parametrize("name", REFERENCES)
def test_the_whole_line(name, rng):
    x = np.concatenate([rng.uniform(-20, 30, 1000), 10.0 ** rng.uniform(-300, 300, 500)])
    f = getattr(gamma, name)
    expected = REFERENCES[name](x)
    tolerance = 1e-13 * np.maximum(1.0, np.abs(expected)) * (1.0 + 1e3 * (x < 0))
    assert np.all(np.abs(np.asarray(f(x)) - expected) <= tolerance)
    assert_close(run_traced(f, x), f(x))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", REFERENCES)
def test_dtypes(name, dtype):
    x = np.array([0.1, 1.0, 1.5, 2.0, 7.0, -0.5]).astype(dtype)
    result = getattr(gamma, name)(x)
    assert result.dtype == dtype
    assert_close(result, REFERENCES[name](x.astype(np.float64)).astype(dtype))


def test_poles_and_infinity():
    x = [0.0, -1.0, np.inf, -np.inf, np.nan]
    assert_close(gamma.lgamma(x), [np.inf, np.inf, np.inf, np.inf, np.nan])
    assert_close(gamma.digamma(x), [np.nan, np.nan, np.inf, np.nan, np.nan])


def test_lbeta(rng):
    x = rng.uniform(0.5, 3.0, (2, 3))
    gammaln = scipy.special.gammaln
    assert_close(gamma.lbeta(x), gammaln(x).sum(-1) - gammaln(x.sum(-1)))
    assert_close(gamma.lbeta(np.zeros((0,), np.float32)), -np.inf)


@pytest.mark.parametrize("name", REFERENCES)
def test_gradients(name):
    check_grads(getattr(gamma, name), [[-3.7, -0.2, 0.3, 0.7, 1.5, 9.5, 12.0, 40.0]], order=3)


@pytest.mark.parametrize("name", REFERENCES)
def test_only_floats(name):
    with pytest.raises(InvalidArgumentError, match="int32 is not allowed by"):
        getattr(gamma, name)(1)
