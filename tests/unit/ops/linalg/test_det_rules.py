"""The gradient of ``Det``."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.autodiff.backprop  # noqa: F401
from tests.unit.ops.imported import numbers, operator, probes
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.framework.apply import apply
from tfx.framework.convert import constant
from tfx.testing import check_grads


def slope(x):
    with GradientTape() as tape:
        tape.watch(x)
        y = apply("Det", (x,))
    return tape.gradient(y, x)


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (2, 4, 4), (2, 1, 3, 3)], ids=str)
def test_against_the_inverse(shape):
    x = numbers(1, *shape)
    expected = np.linalg.det(x)[..., None, None] * np.linalg.inv(x).swapaxes(-1, -2)
    np.testing.assert_allclose(slope(constant(x)).numpy(), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(run_traced(slope, x), expected, rtol=1e-4, atol=1e-5)


def test_as_torch():
    found = probes(operator("Det", {}), [numbers(1, 2, 4, 4)], (0,))
    np.testing.assert_allclose(found, [0.251152863915], rtol=1e-4)


def test_singular_matrices():
    x = np.array([[1.0, 2, 3], [2, 4, 6], [1, 0, 1]], np.float32)
    expected = [[4, 4, -4], [-2, -2, 2], [0, 0, 0]]
    np.testing.assert_allclose(slope(constant(x)).numpy(), expected, atol=1e-5)


def test_second_order():
    check_grads(operator("Det", {}), [numbers(2, 3, 3)], eps=1e-2, rtol=1e-3, atol=1e-3)
