"""assert_close accepts what is close and says where the rest is."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tfx.framework.convert import constant
from tfx.testing import assert_close


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (constant([1.0, 2.0]), [1.0, 2.0]),
        (constant([1.0, 2.0]), np.array([1.0 + 5e-6, 2.0])),
        (constant([1.0, np.nan, np.inf]), [1.0, np.nan, np.inf]),
        (constant([1, 2]), [1, 2]),
        (constant(["a"]), np.array([b"a"], object)),
        ({"a": constant(1.0), "b": [constant([2.0]), 3.0]}, {"a": 1.0, "b": [[2.0], 3.0]}),
        ((constant(1.0), constant(2.0)), (1.0, 2.0)),
        (np.array([1.0], ml_dtypes.bfloat16), [1.005]),
        (np.zeros((0, 2)), np.zeros((0, 2))),
    ],
)
def test_close(actual, expected):
    assert_close(actual, expected)


@pytest.mark.parametrize(
    ("actual", "expected", "message"),
    [
        ([1.0, 2.0], [1.0, 2.1], r"value: 1 of 2 elements differ .* the worst is at \(1,\)"),
        (constant([1.0]), 1.0, r"value: shape \(1,\), expected \(\)"),
        ({"a": constant(1.0)}, {"a": 2.0}, r"value\['a'\]: 1 of 1"),
        ({"a": constant(1.0)}, {"b": 2.0}, r"value: holds \['a'\], expected \['b'\]"),
        (constant([1, 2]), [1, 3], "is not equal to"),
        (constant([np.nan]), [1.0], r"worst is at \(0,\): np.float64\(nan\)"),
        (constant([np.inf]), [-np.inf], "1 of 1"),
        (np.array([1.0]), np.array([1.0 + 1e-6]), "rtol=1e-07"),
    ],
)
def test_different(actual, expected, message):
    with pytest.raises(AssertionError, match=message):
        assert_close(actual, expected)


def test_other_structure():
    with pytest.raises(TypeError, match="structures do not have the same classes"):
        assert_close([constant(1.0)], {"a": 1.0})


def test_tolerances():
    assert_close([1.0], [1.1], rtol=0.2)
    assert_close([1.0], [1.1], atol=0.2)
    with pytest.raises(AssertionError, match=r"rtol=0, atol=0\.01"):
        assert_close([1.0], [1.1], rtol=0.0, atol=0.01)
