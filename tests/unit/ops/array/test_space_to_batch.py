"""Space, depth and batch: against NumPy's reshapes written from the definitions."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.ops.agreement import check
from tfx.core.errors import InvalidArgumentError
from tfx.ops.array.space_to_batch import (
    batch_to_space,
    depth_to_space,
    space_to_batch,
    space_to_depth,
)
from tfx.testing import assert_close, check_grads


def _image(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def _depth(x, b):
    """Pixel by pixel: channel (i, j, c) of a block is its pixel (i, j)."""
    n, h, w, c = x.shape
    y = np.empty((n, h // b, w // b, b * b * c), x.dtype)
    for i, j in np.ndindex(b, b):
        y[..., (i * b + j) * c : (i * b + j + 1) * c] = x[:, i::b, j::b]
    return y


@pytest.mark.parametrize(("shape", "b"), [((2, 4, 6, 3), 2), ((1, 6, 3, 1), 3), ((0, 2, 2, 1), 2)])
def test_depth(shape, b):
    x = _image(*shape)
    deep = _depth(x, b)
    check(lambda x: space_to_depth(x, b), [x], deep)
    check(lambda x: depth_to_space(x, b), [deep], x)
    check(
        lambda x: space_to_depth(x, b, "NCHW"),
        [x.transpose(0, 3, 1, 2)],
        deep.transpose(0, 3, 1, 2),
    )
    check(
        lambda x: depth_to_space(x, b, "NCHW"),
        [deep.transpose(0, 3, 1, 2)],
        x.transpose(0, 3, 1, 2),
    )
    check_grads(lambda x: space_to_depth(x, b) ** 2.0, [x])


@pytest.mark.parametrize(
    ("shape", "blocks", "paddings"),
    [
        ((1, 4, 4, 1), [2, 2], [[0, 0], [0, 0]]),
        ((2, 3, 5, 2, 2), [2, 3], [[1, 0], [0, 1]]),
        ((2, 6), [3], [[0, 0]]),
        ((2, 4, 3), [3], [[1, 1]]),
    ],
)
def test_batch(shape, blocks, paddings):
    x = _image(*shape)
    borders = [[0, 0], *paddings, *[[0, 0]] * (len(shape) - len(blocks) - 1)]
    padded = np.pad(x, borders)
    parts = [
        padded[(slice(None), *(slice(i, None, b) for i, b in zip(where, blocks, strict=True)))]
        for where in np.ndindex(*blocks)
    ]
    expected = np.concatenate(parts)
    check(lambda x: space_to_batch(x, blocks, paddings), [x], expected)
    check(lambda x: batch_to_space(x, blocks, paddings), [expected], x)
    check_grads(lambda x: space_to_batch(x, blocks, paddings) ** 2.0, [x])
    check_grads(lambda x: batch_to_space(x, blocks, paddings) ** 2.0, [expected])


def test_crops():
    x = _image(4, 2, 2, 1)
    whole = np.asarray(batch_to_space(x, [2, 2], [[0, 0], [0, 0]]))
    assert_close(batch_to_space(x, [2, 2], [[1, 0], [0, 2]]), whole[:, 1:, :-2])
    assert_close(batch_to_space(x, 2, [[0, 0], [0, 0]]), whole)  # of two axes


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda: space_to_depth(_image(1, 3, 2, 1), 2), "Dimension 1 of shape .* divisible by 2"),
        (lambda: depth_to_space(_image(1, 1, 1, 3), 2), "Dimension 3 of shape .* divisible by 4"),
        (lambda: space_to_depth(_image(1, 1, 1, 1), 1), "must be at least minimum 2"),
        (lambda: space_to_depth(_image(2, 2), 2), "Input rank should be 4"),
        (lambda: space_to_batch(_image(1, 3, 1), [2], [[0, 0]]), "divisible by 2"),
        (lambda: batch_to_space(_image(3, 2), [2], [[0, 0]]), "divisible by 2"),
        (lambda: space_to_batch(_image(1, 2), [0], [[0, 0]]), "numbers of 1 or more"),
        (lambda: space_to_batch(_image(1, 2), [1], [0]), "must be pairs"),
        (lambda: space_to_batch(_image(1, 2), 1, [[0, 0]]), "a number for each of the 1 pairs"),
        (lambda: batch_to_space(_image(2, 2), [2], [[0, 0]] * 2), "for each of the 2 pairs"),
    ],
    ids=range(10),
)
def test_errors(f, message):
    with pytest.raises(InvalidArgumentError, match=message):
        f()


def test_data_formats():
    with pytest.raises(ValueError, match="data_format must be"):
        space_to_depth(_image(1, 2, 2, 1), 2, "HWCN")


@pytest.mark.parametrize("crops", [[[-1, 0], [0, 0]], [[0, 5], [0, 0]], [[0, 0], [3, 2]]])
def test_crops_that_leave_less_than_nothing(crops):
    x = np.zeros([4, 2, 2, 1], np.float32)
    with pytest.raises(InvalidArgumentError, match="crops"):
        batch_to_space(x, [2, 2], crops)
    if min(map(min, crops)) >= 0:
        f = tf.function(
            lambda x: batch_to_space(x, [2, 2], crops),
            autograph=False,
            input_signature=[tf.TensorSpec([None, None, None, 1])],
        )
        with pytest.raises(InvalidArgumentError):
            f(x)
