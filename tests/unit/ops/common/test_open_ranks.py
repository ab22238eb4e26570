"""Operations on tensors of which a function's signature says not even the rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import InvalidArgumentError

IMAGES = np.arange(64, dtype=np.float32).reshape(1, 4, 4, 4)
CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "space_to_depth": (lambda x: tf.nn.space_to_depth(x, 2), [IMAGES]),
    "depth_to_space": (lambda x: tf.nn.depth_to_space(x, 2), [IMAGES]),
    "tensor_diag": (tf.linalg.tensor_diag, [IMAGES[0, 0]]),
    "tensor_diag_part": (tf.linalg.tensor_diag_part, [IMAGES.reshape(4, 2, 4, 2)]),
    "dynamic_partition": (
        lambda x, n: tf.dynamic_partition(x, n, 2),
        [IMAGES[0], np.array([[0, 1, 1, 0]] * 4)],
    ),
    "dynamic_stitch": (
        lambda x, n: tf.dynamic_stitch([n], [x]),
        [IMAGES[0], np.array([[3, 1], [2, 0]] * 4, np.int32).reshape(4, 4)],
    ),
    "crop_and_resize": (
        lambda x, boxes: tf.image.crop_and_resize(x, boxes, [0], [2, 2]),
        [IMAGES, np.array([[0.0, 0.0, 1.0, 0.5]], np.float32)],
    ),
    "collapse_repeated": (
        lambda x: tf.nn.collapse_repeated(x, [3, 2]),
        [np.array([[1, 1, 2], [3, 3, 3]])],
    ),
    "volume_patches": (
        lambda x: tf.extract_volume_patches(x, [1, 2, 2, 2, 1], [1] * 5, "VALID"),
        [IMAGES[..., None]],
    ),
}


@pytest.mark.parametrize(("f", "given"), CASES.values(), ids=CASES)
def test_the_result_is_that_of_a_known_rank(f: Callable[..., Any], given: list[Any]) -> None:
    signature = [tf.TensorSpec(None, tf.as_dtype(x.dtype)) for x in given]
    found = tf.function(f, autograph=False, input_signature=signature)(*given)
    wanted = f(*map(tf.constant, given))
    for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(wanted), strict=True):
        np.testing.assert_array_equal(one, other)


def test_halves_that_differ() -> None:
    signature = [tf.TensorSpec(None)]
    f = tf.function(tf.linalg.tensor_diag_part, autograph=False, input_signature=signature)
    with pytest.raises(InvalidArgumentError, match="two halves of the shape"):
        f(np.zeros([2, 3, 3, 2], np.float32))
