"""``tile``, ``repeat``, ``meshgrid`` and ``sequence_mask`` against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.agreement import check
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import constant
from tfx.ops.array.tile import meshgrid, repeat, sequence_mask, tile
from tfx.testing import assert_close, check_grads

X = np.arange(6, dtype=np.float32).reshape(2, 3) + 1


@pytest.mark.parametrize("multiples", [[1, 1], [2, 3], [1, 4], [0, 1]], ids=str)
def test_tile(multiples):
    expected = np.tile(X, multiples)
    check(lambda x: tile(x, multiples), [X], expected)
    check(tile, [X, np.array(multiples, np.int32)], expected)
    check_grads(lambda x: tile(x, multiples) ** 2.0, [X])


def test_tile_gradient_of_unknown_shape():
    def f(x, n):
        with GradientTape() as tape:
            tape.watch(x)
            y = tile(x, n)
            y = y * y
        return tape.gradient(y, x)

    check(f, [X, np.array([2, 3])], 12 * X)


def test_tile_of_a_scalar():
    assert_close(tile(3.0, np.zeros(0, np.int32)), 3.0)
    check_grads(lambda x: tile(x, np.zeros(0, np.int64)) ** 2.0, [3.0])


@pytest.mark.parametrize(
    ("multiples", "message"),
    [
        ([2], "Expected multiples argument to be a vector of length 2 but got length 1"),
        ([2, -1], r"Expected multiples\[1\] >= 0, but got -1"),
    ],
)
def test_bad_tiles(multiples, message):
    with pytest.raises(InvalidArgumentError, match=message):
        tile(X, multiples)


@pytest.mark.parametrize(
    ("repeats", "axis"),
    [
        (2, None),
        (2, 0),
        (3, 1),
        (0, 1),
        ([2], -1),
        ([1, 2], 0),
        ([0, 0], 0),
        ([2, 0, 1], -1),
        ([1, 0, 2, 0, 0, 1], None),
    ],
    ids=str,
)
def test_repeat(repeats, axis):
    expected = np.repeat(X, repeats, axis)
    check(lambda x: repeat(x, repeats, axis), [X], expected)
    check(lambda x, n: repeat(x, n, axis), [X, np.array(repeats, np.int32)], expected)
    check_grads(lambda x: repeat(x, repeats, axis) ** 2.0, [X])


def test_repeat_of_a_scalar():
    assert_close(repeat(3, 3), [3, 3, 3])


def test_repeats_below_zero_count_as_none():
    assert_close(repeat(X, [-1, 2], axis=0), X[[1, 1]])


def test_bad_repeats():
    with pytest.raises(ValueError, match="Dimensions 2 and 3 are not compatible"):
        repeat(X, [1, 2, 3], axis=0)
    with pytest.raises(InvalidArgumentError, match="but got 2"):
        repeat(X, 2, axis=2)


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("lengths", [(), (3,), (3, 2), (3, 2, 4), (1, 1, 2, 3)], ids=str)
def test_meshgrid(lengths, indexing):
    vectors = [np.arange(n, dtype=np.float32) + i for i, n in enumerate(lengths)]
    expected = np.meshgrid(*vectors, indexing=indexing)
    if not vectors:
        assert meshgrid(indexing=indexing) == []
        return
    check(lambda *v: meshgrid(*v, indexing=indexing), vectors, tuple(map(np.asarray, expected)))
    check_grads(lambda *v: [g**2.0 for g in meshgrid(*v, indexing=indexing)], vectors)


def test_meshgrid_of_scalars_and_matrices():
    a, b = meshgrid(1, [[1, 2], [3, 4]])
    assert a.shape == (4, 1) and b.shape == (4, 1)


def test_bad_indexing():
    with pytest.raises(ValueError, match="must be either 'xy' or 'ij', got 'zz'"):
        meshgrid([1], indexing="zz")


@pytest.mark.parametrize("dtype", ["bool", "float32", "int64"])
@pytest.mark.parametrize("maxlen", [None, 0, 2, 5])
@pytest.mark.parametrize("shape", [(), (3,), (2, 2), (0,)])
def test_sequence_mask(shape, maxlen, dtype, rng):
    lengths = rng.integers(0, 4, shape).astype(np.int32)
    width = lengths.max(initial=0) if maxlen is None else maxlen
    expected = (np.arange(width) < lengths[..., None]).astype(dtype)
    check(lambda n: sequence_mask(n, maxlen, dtype), [lengths], expected)


def test_a_maxlen_known_at_run_time():
    result = run_traced(sequence_mask, np.array([1, 2]), np.array(3))
    assert_close(result, [[True, False, False], [True, True, False]])
    with pytest.raises(ValueError, match="`maxlen` must be scalar"):
        sequence_mask([1], constant([3]))


def test_sequence_mask_of_lengths_that_are_no_whole_numbers():
    lengths = np.array([1.2, 2.0, 0.0], np.float32)
    expected = np.arange(2) < lengths[:, None]
    check(sequence_mask, [lengths], expected)


@pytest.mark.parametrize("times", [0, 1, 2, 16, 17])
@pytest.mark.parametrize("shape", [(6,), (2, 3, 4), (0,), (2, 0)], ids=str)
def test_every_element_equally_often(times, shape):
    x = np.arange(float(np.prod(shape))).reshape(shape)
    for axis in (None, *range(-len(shape), len(shape))):
        expected = np.repeat(x, times, axis)
        np.testing.assert_array_equal(repeat(constant(x), times, axis), expected)
