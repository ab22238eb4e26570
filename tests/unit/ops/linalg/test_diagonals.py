"""Diagonals against NumPy, and bands of them against numbers that TensorFlow gives."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.tracing import run_traced
from tfx.core.errors import InvalidArgumentError
from tfx.ops.linalg import diagonals as module
from tfx.testing import assert_close, check_grads

MATRIX = np.array([[1, 2, 3, 4], [5, 6, 7, 8], [9, 8, 7, 6]])
# The band from 1 below to 2 above the main diagonal of MATRIX, by alignment.
BANDS = {
    "RIGHT_LEFT": [[0, 3, 8], [2, 7, 6], [1, 6, 7], [5, 8, 0]],
    "LEFT_RIGHT": [[3, 8, 0], [2, 7, 6], [1, 6, 7], [0, 5, 8]],
    "LEFT_LEFT": [[3, 8, 0], [2, 7, 6], [1, 6, 7], [5, 8, 0]],
    "RIGHT_RIGHT": [[0, 3, 8], [2, 7, 6], [1, 6, 7], [0, 5, 8]],
}
SHAPES = [(3, 3), (2, 4), (4, 2), (2, 3, 4), (2, 1, 3, 3), (0, 2, 2)]


@pytest.mark.parametrize("k", [0, 1, -1])
@pytest.mark.parametrize("shape", SHAPES)
def test_diag_part(shape, k, rng):
    x = rng.standard_normal(shape)

    def f(x):
        return module.diag_part(x, k=k)

    expected = np.diagonal(x, k, -2, -1)
    assert_close(f(x), expected)
    assert_close(run_traced(f, x), expected)
    if x.size:
        check_grads(f, [x])


@pytest.mark.parametrize("align", BANDS)
def test_bands(align):
    band = module.diag_part(MATRIX, k=(-1, 2), align=align)
    assert_close(band, BANDS[align])
    back = module.diag(band, k=(-1, 2), num_rows=3, num_cols=4, align=align)
    kept = np.triu(np.tril(MATRIX, 2), -1)
    assert_close(back, kept)
    assert_close(module.set_diag(np.zeros_like(MATRIX), band, k=(-1, 2), align=align), kept)
    padded = module.diag_part(MATRIX, k=(1, 2), padding_value=-1, align="LEFT_RIGHT")
    assert_close(padded, [[3, 8, -1], [2, 7, 6]])


@pytest.mark.parametrize("k", [0, 2, -1])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (0,)])
def test_diag(shape, k, rng):
    d = rng.standard_normal(shape)
    expected = np.zeros((*shape[:-1], shape[-1] + abs(k), shape[-1] + abs(k)))
    for i in range(shape[-1]):
        expected[..., i + max(-k, 0), i + max(k, 0)] = d[..., i]
    assert_close(module.diag(d, k=k), expected)
    assert_close(run_traced(lambda d: module.diag(d, k=k), d, static=True), expected)
    check_grads(lambda d: module.diag(d, k=k), [np.ones((2, 3))])


def test_diag_of_any_size_and_padding(rng):
    d = rng.standard_normal((2, 3))
    expected = np.where(np.eye(3, dtype=bool), d[:, :, None], 9.0)
    assert_close(run_traced(lambda d: module.diag(d, padding_value=9.0), d), expected)
    wide = module.diag([1, 2], num_cols=4, padding_value=7)
    assert_close(wide, [[1, 7, 7, 7], [7, 2, 7, 7]])


@pytest.mark.parametrize("shape", SHAPES[:5])
def test_set_diag(shape, rng):
    x = rng.standard_normal(shape)
    d = rng.standard_normal((*shape[:-2], min(shape[-2:])))
    expected = x.copy()
    i = np.arange(min(shape[-2:]))
    expected[..., i, i] = d
    assert_close(module.set_diag(x, d), expected)
    check_grads(module.set_diag, [x, d])


def test_trace(rng):
    x = rng.standard_normal((2, 3, 4))
    assert_close(module.trace(x), np.trace(x, axis1=1, axis2=2))
    assert_close(run_traced(module.trace, x), np.trace(x, axis1=1, axis2=2))
    check_grads(module.trace, [x])


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint8, np.bool_])
@pytest.mark.parametrize(("low", "high"), [(0, 0), (1, 0), (-1, 1), (0, -1), (-1, -1), (5, 0)])
def test_band_part(low, high, dtype):
    x = np.arange(1, 25).reshape(2, 3, 4).astype(dtype)
    kept = x if low < 0 else np.triu(x, -low)
    kept = kept if high < 0 else np.tril(kept, high)
    assert_close(module.band_part(x, low, high), kept)
    assert_close(run_traced(lambda x, n: module.band_part(x, n, high), x, np.int32(low)), kept)


def test_band_part_gradient(rng):
    check_grads(lambda x: module.band_part(x, 1, 0), [rng.standard_normal((2, 3, 3))])


def test_tensor_diag(rng):
    d = rng.standard_normal((2, 3))
    full = np.zeros((2, 3, 2, 3))
    for i, j in np.ndindex(2, 3):
        full[i, j, i, j] = d[i, j]
    assert_close(module.tensor_diag(d), full)
    assert_close(run_traced(module.tensor_diag, d), full)
    assert_close(module.tensor_diag_part(full), d)
    assert_close(run_traced(module.tensor_diag_part, full), d)
    check_grads(module.tensor_diag, [d])
    check_grads(module.tensor_diag_part, [full])


def test_cross(rng):
    a, b = rng.standard_normal((4, 3)), rng.standard_normal((4, 3))
    assert_close(module.cross(a, b), np.cross(a, b))
    check_grads(module.cross, [a, b])
    with pytest.raises(InvalidArgumentError, match="3-element"):
        module.cross([1.0, 2.0], [1.0, 2.0])


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda: module.diag_part([1.0]), "input must be at least 2-dim"),
        (lambda: module.diag_part(MATRIX, k=(2, 1)), "must not be larger"),
        (lambda: module.diag_part(MATRIX, k=4), "out of bound"),
        (lambda: module.diag_part(MATRIX, k=(-4, 0)), "out of bound: -4 and 0"),
        (lambda: module.diag_part(MATRIX, k=[0, 1, 2]), "one or two"),
        (lambda: module.diag_part(MATRIX, align="UP"), "align"),
        (lambda: module.diag(1.0), "at least 1-dim"),
        (lambda: module.diag([1.0, 2.0], k=(0, 1)), "at least 2-dim"),
        (lambda: module.diag([1.0, 2.0], num_rows=1), "too small"),
        (lambda: module.diag(np.ones((3, 2)), k=(0, 1)), "needs 2 of length"),
        (lambda: module.set_diag(MATRIX, [1, 2]), "need length 3"),
        (lambda: module.tensor_diag(1.0), "at least rank 1"),
        (lambda: module.tensor_diag_part(np.ones((2, 3, 4))), "even and non-zero rank"),
        (lambda: module.tensor_diag_part(np.ones((2, 3))), "both halves"),
    ],
)
def test_errors(f, message):
    with pytest.raises((InvalidArgumentError, ValueError), match=message):
        f()


@pytest.mark.parametrize("align", BANDS)
@pytest.mark.parametrize("k", [(-1, 2), (0, 0), (1, 1), (-2, -1), (1, 3), (-2, 1)])
@pytest.mark.parametrize("shape", SHAPES[:5])
def test_bands_of_sizes_that_a_run_tells(shape, k, align, rng):
    x = rng.standard_normal(shape)
    if not all(-shape[-2] < d < shape[-1] for d in k):
        pytest.skip("no such diagonals")

    def part(x):
        return module.diag_part(x, k=k, align=align, padding_value=7.0)

    def set_(x, d):
        return module.set_diag(x, d, k=k, align=align)

    def made(d):
        return module.diag(d, k=k, align=align)

    stored = part(x).numpy()
    other = rng.standard_normal(stored.shape)
    assert_close(run_traced(part, x), stored)
    assert_close(run_traced(set_, x, other), set_(x, other))
    assert_close(run_traced(made, other), made(other))


def test_diagonals_of_another_length_are_refused_by_the_run():
    def f(x, d):
        return module.set_diag(x, d)

    with pytest.raises(Exception, match="Reshape"):
        run_traced(f, np.zeros((3, 3)), np.zeros(2))


def test_truth_values_are_padded_with_false():
    x = np.array([True, True])
    for run in (lambda f, *a: f(*a), run_traced):
        found = run(module.diag, x)
        assert np.asarray(found).tolist() == [[True, False], [False, True]]
    band = np.asarray(module.diag(np.array([[True], [True]]), k=(-1, 0), num_rows=2, num_cols=1))
    assert band.tolist() == [[True], [True]]
    parts = np.asarray(module.diag_part(np.ones((2, 2), bool), k=(0, 1)))
    assert parts.tolist() == [[False, True], [True, True]]
    assert np.asarray(module.tensor_diag(x)).tolist() == [[True, False], [False, True]]
