"""Tensor slicing: ``slice``, indices, ``gather``, ``scatter`` and masks."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

LINE = np.arange(8)
GRID = np.arange(20).reshape(4, 5)
CUBE = np.arange(18).reshape(2, 3, 3)


def same(x: tf.Tensor, expected: object) -> None:
    np.testing.assert_array_equal(x, expected)


def test_slices() -> None:
    line, grid = tf.constant(LINE), tf.constant(GRID)
    same(tf.slice(line, begin=[1], size=[3]), [1, 2, 3])
    same(line[1:4], [1, 2, 3])
    same(line[-3:], [5, 6, 7])
    same(line[::3], [0, 3, 6])
    same(grid[:-1, 1:3], GRID[:-1, 1:3])
    same(tf.slice(tf.constant(CUBE), begin=[1, 1, 0], size=[1, 1, 2]), [[[12, 13]]])
    same(tf.slice(grid, [0, 1], [-1, 2]), GRID[:, 1:3])
    same(tf.strided_slice(grid, [0, 0], [2, 4], [1, 2]), GRID[0:2, 0:4:2])


def test_new_axes_and_tensor_indices() -> None:
    grid = tf.constant(GRID)
    assert grid[tf.newaxis, ..., tf.newaxis].shape == (1, 4, 5, 1)
    same(grid[tf.constant(1)], GRID[1])
    same(grid[tf.constant(1) : tf.constant(3)], GRID[1:3])
    same(grid[::-1, ::2], GRID[::-1, ::2])


@pytest.mark.parametrize("key", [5, (0, 9), (1, 2, 3), slice(None, None, 0)])
def test_indices_that_do_not_exist(key: object) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.constant(GRID)[key]


@pytest.mark.parametrize("key", [1.0, "a"])
def test_indices_of_wrong_kinds(key: object) -> None:
    with pytest.raises(TypeError):
        tf.constant(GRID)[key]


def test_gather() -> None:
    same(tf.gather(LINE, indices=[0, 3, 6]), [0, 3, 6])
    letters = tf.constant(list("abcdefghijklmnopqrstuvwxyz"))
    same(tf.gather(letters, [2, 0, 19, 18]), [b"c", b"a", b"t", b"s"])
    same(tf.gather(GRID, [0, 2], axis=1), GRID[:, [0, 2]])
    same(
        tf.gather(GRID, [[0, 1], [2, 3], [0, 0], [1, 1]], batch_dims=1),
        [[0, 1], [7, 8], [10, 10], [16, 16]],
    )
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.gather(LINE, [8])


def test_gather_nd() -> None:
    same(tf.gather_nd([[0, 5], [1, 6], [2, 7], [3, 8], [4, 9]], [[2], [3], [0]]),
         [[2, 7], [3, 8], [0, 5]])  # fmt: skip
    same(tf.gather_nd(CUBE, indices=[[0, 0, 0], [1, 2, 1]]), [0, 16])
    same(
        tf.gather_nd(CUBE, [[[0, 0], [0, 2]], [[1, 0], [1, 2]]]),
        [[[0, 1, 2], [6, 7, 8]], [[9, 10, 11], [15, 16, 17]]],
    )


def test_scatter_into_zeros() -> None:
    odd = tf.constant([[1], [3], [5], [7], [9]])
    same(
        tf.scatter_nd(indices=odd, updates=tf.constant([2, 4, 6, 8, 10]), shape=tf.constant([10])),
        [0, 2, 0, 4, 0, 6, 0, 8, 0, 10],
    )
    places = tf.constant([[0, 2], [2, 1], [3, 3]])
    found = tf.gather_nd(GRID, indices=places)
    back = tf.scatter_nd(indices=places, updates=found, shape=tf.constant([4, 5], tf.int32))
    expected = np.zeros_like(GRID)
    expected[[0, 2, 3], [2, 1, 3]] = GRID[[0, 2, 3], [2, 1, 3]]
    same(back, expected)


def test_scatter_into_tensors() -> None:
    x = tf.constant([[2, 7, 0], [9, 0, 1], [0, 3, 8]])
    places = [[0, 2], [1, 1], [2, 0]]
    same(tf.tensor_scatter_nd_add(x, places, [6, 5, 4]), [[2, 7, 6], [9, 5, 1], [4, 3, 8]])
    same(tf.tensor_scatter_nd_sub(x, places, [1, 1, 1]), [[2, 7, -1], [9, -1, 1], [-1, 3, 8]])
    same(tf.tensor_scatter_nd_min(x, places, [-6, 5, -4]), [[2, 7, -6], [9, 0, 1], [-4, 3, 8]])
    same(tf.tensor_scatter_nd_max(x, places, [-6, 5, -4]), [[2, 7, 0], [9, 5, 1], [0, 3, 8]])
    same(tf.tensor_scatter_nd_update(x, [[0, 0]], [100])[0], [100, 7, 0])


def test_masks_and_places() -> None:
    same(tf.boolean_mask(GRID, GRID[:, 0] > 4), GRID[1:])
    same(tf.constant(GRID)[tf.constant(GRID) > 16], [17, 18, 19])
    same(tf.where(tf.constant([True, False, True])), [[0], [2]])
    same(tf.unravel_index([7, 19], [4, 5]), [[1, 3], [2, 4]])


def test_inside_a_function_with_unknown_sizes() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int64)])
    def corners(x: tf.Tensor) -> tf.Tensor:
        return tf.stack([x[0, 0], x[0, -1], x[-1, 0], x[-1, -1]])

    same(corners(tf.constant(GRID)), [0, 4, 15, 19])
    same(corners(tf.constant([[7]], tf.int64)), [7, 7, 7, 7])
