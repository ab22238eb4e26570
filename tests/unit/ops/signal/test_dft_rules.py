"""Gradients of ``DFT`` and ``STFT``; PyTorch's numbers in float64."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.autodiff.backprop  # noqa: F401
from tests.unit.ops.imported import linear_slopes, numbers, operator, probes
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.framework.apply import apply
from tfx.framework.convert import constant, int64_constant
from tfx.testing import check_grads

KINDS = [(0, 0, 1), (0, 0, 2), (0, 1, 1), (1, 0, 2), (1, 1, 2)]


@pytest.mark.parametrize("axis", [None, 1, -3])
@pytest.mark.parametrize("length", [None, 3, 5, 8])
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: "-".join(map(str, k)))
def test_the_transposed_transform(kind, length, axis):
    inverse, onesided, parts = kind
    attrs = {"inverse": inverse, "onesided": onesided}
    x = numbers(1, 2, 5, 3, parts)
    others = [None if v is None else np.array(v) for v in (length, axis)]
    f = operator("DFT", attrs, *others)
    y = f(constant(x))
    expected = linear_slopes("DFT", attrs, [x, *others]) @ numbers(99, *y.shape).reshape(-1)
    found = probes(f, [x], (0,))
    np.testing.assert_allclose(found, [expected @ numbers(7, *x.shape).reshape(-1)], atol=1e-6)


def test_forward_of_a_real_inverse_as_numpy():
    """The kernel alone does not fit its input to the length."""
    x = numbers(1, 4, 7, 2)
    for n in (5, 8, 12, 15):
        y = apply(
            "DFT", (constant(x), constant(n), int64_constant(1)), {"inverse": 1, "onesided": 1}
        )
        expected = np.fft.irfft(x[..., 0] + 1j * x[..., 1], n=n)
        np.testing.assert_allclose(y.numpy()[..., 0], expected, atol=1e-6)


TORCH = {
    "rfft 8": ({"onesided": 1}, (3, 6, 1), 8, -1.80286478816),
    "fft": ({}, (3, 6, 2), None, 4.16200246867),
    "ifft": ({"inverse": 1}, (3, 6, 2), None, 0.108075280975),
    "irfft 7": ({"inverse": 1, "onesided": 1}, (3, 6, 2), 7, -0.829515775724),
    "irfft 8": ({"inverse": 1, "onesided": 1}, (3, 6, 2), 8, -0.505067773174),
    "irfft 10": ({"inverse": 1, "onesided": 1}, (3, 6, 2), 10, 0.648124926574),
    "irfft 12": ({"inverse": 1, "onesided": 1}, (3, 6, 2), 12, 0.0825895874836),
}


@pytest.mark.parametrize("name", TORCH)
def test_dft_as_torch(name):
    attrs, shape, length, expected = TORCH[name]
    f = operator("DFT", attrs, None if length is None else np.array(length), np.array(1))
    np.testing.assert_allclose(probes(f, [numbers(1, *shape)], (0,)), [expected], atol=1e-6)


def test_stft_as_torch():
    def f(x, window):
        return apply("STFT", (x, constant(3), window), {"onesided": 1})

    found = probes(f, [numbers(1, 2, 20, 1), numbers(4, 8)], (0, 1))
    np.testing.assert_allclose(found, [3.65980108321, 2.22384188391], atol=1e-6)


@pytest.mark.parametrize("case", [(1, 1), (1, 0), (2, 0)], ids=["real", "both sides", "complex"])
def test_second_order_of_stft(case):
    parts, onesided = case

    def f(x, window):
        return apply("STFT", (x, constant(3), window, constant(6)), {"onesided": onesided})

    check_grads(f, [numbers(1, 2, 14, parts), numbers(2, 6)], eps=1e-2, rtol=1e-5, atol=1e-5)


def test_shapes_that_are_not_known():
    def slope(x, window):
        with GradientTape() as tape:
            tape.watch((x, window))
            y = apply("STFT", (x, constant(3), window))
            z = y * y
        return tape.gradient(z, (x, window))

    arrays = numbers(1, 2, 20, 1), numbers(4, 8)
    eager = slope(*map(constant, arrays))
    for got, want in zip(run_traced(slope, *arrays), eager, strict=True):
        np.testing.assert_allclose(got, want.numpy(), atol=1e-9)
