"""Products of matrices of integers by our kernels, in functions and eagerly: as NumPy has them."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.kernels.fused_graphs import needs_library

pytestmark = needs_library

SHAPES = [
    ((3, 4), (4, 5)),
    ((1, 70), (70, 1)),
    ((0, 4), (4, 5)),
    ((3, 0), (0, 5)),
    ((65, 33), (33, 47)),
    ((100, 100), (100, 100)),
    ((2, 3, 37, 8), (2, 3, 8, 19)),
    ((5, 7, 9), (9, 16)),
    ((2, 9, 5), (1, 5, 40)),
]


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint32, np.uint64])
@pytest.mark.parametrize("shapes", SHAPES)
def test_products_wrap_around(kind, shapes, rng):
    info = np.iinfo(kind)
    a, b = (rng.integers(info.min, info.max, shape, kind) for shape in shapes)
    np.testing.assert_array_equal(tf.function(tf.matmul)(a, b), np.matmul(a, b))


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_eagerly(kind, rng):
    a, b = (rng.integers(-1000, 1000, (100, 100)).astype(kind) for _ in range(2))
    np.testing.assert_array_equal(tf.matmul(a, b), a @ b)


def test_the_kernel_is_used(rng):
    a = rng.integers(-9, 9, (20, 20)).astype(np.int32)
    function = tf.function(tf.matmul)
    with tf.profile() as p:
        function(a, a)
    assert "IntegerProduct" in [node.op for node in p.nodes]


def test_sizes_that_only_a_run_tells(rng):
    spec = tf.TensorSpec([None, None], tf.int64)
    function = tf.function(tf.matmul, input_signature=[spec, spec])
    a, b = rng.integers(-9, 9, (7, 3)), rng.integers(-9, 9, (3, 5))
    np.testing.assert_array_equal(function(a, b), a @ b)
    with pytest.raises(tf.errors.InvalidArgumentError):
        function(a, a)
