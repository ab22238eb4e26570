"""A real inverse transform gets just the frequencies that it needs."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.ops.tracing import run_traced
from tfx.framework.apply import apply
from tfx.framework.convert import constant, int64_constant

ATTRS = {"inverse": 1, "onesided": 1}


@pytest.mark.parametrize("length", [4, 5, 8, 12, 13])
@pytest.mark.parametrize("axis", [None, 0, -2, 1])
def test_as_numpy(axis, length, rng):
    x = rng.standard_normal((6, 5, 2))
    places = None if axis is None else int64_constant(axis)
    y = apply("DFT", (constant(x), int64_constant(length), places), ATTRS).numpy()
    at = {None: 1, -2: 1}.get(axis, axis)
    expected = np.fft.irfft(x[..., 0] + 1j * x[..., 1], n=length, axis=at)
    np.testing.assert_allclose(y[..., 0], expected, atol=1e-6)


def test_in_a_graph(rng):
    x = rng.standard_normal((6, 5, 2))

    def f(x):
        return apply("DFT", (x, int64_constant(7), int64_constant(0)), ATTRS)

    expected = np.fft.irfft(x[..., 0] + 1j * x[..., 1], n=7, axis=0)
    np.testing.assert_allclose(run_traced(f, x)[..., 0], expected, atol=1e-6)
