"""Elementary functions in float64: a few units in the last place from SciPy's, everywhere."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

from tfx.framework.apply import apply
from tfx.framework.convert import constant
from tfx.graph.formulas.elementary_functions import UNARY

REFERENCES = {
    "Acos": np.arccos,
    "Acosh": np.arccosh,
    "Asin": np.arcsin,
    "Asinh": np.arcsinh,
    "Atan": np.arctan,
    "Atanh": np.arctanh,
    "Cosh": np.cosh,
    "Erf": scipy.special.erf,
    "HardSwish": lambda x: x * np.maximum(0.0, np.minimum(1.0, x / 6.0 + 0.5)),
    "Mish": lambda x: x * np.tanh(np.logaddexp(0.0, x)),
    "Sinh": np.sinh,
    "Softplus": lambda x: np.logaddexp(0.0, x),
    "Softsign": lambda x: x / (1.0 + np.abs(x)),
    "Tan": np.tan,
}
EPSILON = np.finfo(np.float64).eps


def _points(op, rng):
    """Numbers of all sizes in the function's domain, and those at its ends."""
    tiny = 10.0 ** rng.uniform(-300, 0, 400)
    middle = rng.uniform(0.0, 6.0, 1000)
    huge = 10.0 ** rng.uniform(0, 307, 400)
    if op in ("Acos", "Asin", "Atanh"):
        unit = np.concatenate([tiny, rng.uniform(0, 1, 1000), 1 - 10.0 ** rng.uniform(-16, 0, 400)])
        return np.concatenate([unit, -unit, [0.0, 1.0, -1.0, 1.5, -1.5, np.nan]])
    if op == "Acosh":
        return np.concatenate([1 + tiny, 1 + middle, huge, [0.5, np.nan]])
    if op in ("Tan", "Softsign"):
        return np.concatenate([tiny, middle[middle < 1.5], -middle[middle < 1.5], [0.0, np.nan]])
    points = np.concatenate([tiny, middle, huge, [0.0, 0.75, 1.0, 28.0, np.inf]])
    return np.concatenate([points, -points, [np.nan]])


def test_there_is_a_reference_for_each():
    assert REFERENCES.keys() == UNARY.keys()


@pytest.mark.parametrize("op", REFERENCES)
def test_accuracy(op, rng):
    x = _points(op, rng)
    with np.errstate(all="ignore"):
        expected = REFERENCES[op](x)
    result = np.asarray(apply(op, (constant(x),)))
    assert result.dtype == np.float64
    np.testing.assert_allclose(result, expected, rtol=6 * EPSILON, atol=1e-320)
