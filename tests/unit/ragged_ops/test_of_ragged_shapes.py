"""The shapes of ragged tensors as arguments of operations that take shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tfx as tf

ROWS = [[1, 2], [], [3]]
MADE: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "zeros": (lambda shape: tf.zeros(shape, tf.int32), [[0, 0], [], [0]]),
    "ones": (lambda shape: tf.ones(shape), [[1.0, 1.0], [], [1.0]]),
    "fill": (lambda shape: tf.fill(shape, "x"), [[b"x", b"x"], [], [b"x"]]),
    "reshape": (lambda shape: tf.reshape(tf.constant([7, 8, 9]), shape), [[7, 8], [], [9]]),
    "reshape rows": (
        lambda shape: tf.reshape(tf.ragged.constant([[7], [8, 9]]), shape),
        [[7, 8], [], [9]],
    ),
    "broadcast_to": (lambda shape: tf.broadcast_to([[1], [2], [3]], shape), [[1, 1], [], [3]]),
    "broadcast_to of a scalar": (lambda shape: tf.broadcast_to(5, shape), [[5, 5], [], [5]]),
}


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("name", MADE)
def test_made_of_a_shape(name: str, traced: bool) -> None:
    make, expected = MADE[name]

    def run(rows: Any) -> Any:
        return make(tf.shape(rows))

    found = (tf.function(run) if traced else run)(tf.ragged.constant(ROWS))
    assert found.to_list() == expected


def test_uniform_axes_within_the_rows() -> None:
    rows = tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1)
    shape = tf.shape(rows)
    assert tf.zeros(shape, tf.int32).to_list() == [[[0, 0]], [[0, 0], [0, 0]]]
    assert shape.inner_shape.numpy().tolist() == [3, 2]
    assert shape.static_lengths() == [2, (1, 2), 2]
    assert shape.static_lengths(ragged_lengths=False) == [2, None, 2]


def test_the_number_of_values_must_fit() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.reshape(tf.constant([7, 8]), tf.shape(tf.ragged.constant(ROWS)))


def test_plain_shapes_stay_plain() -> None:
    tf.ragged.constant(ROWS)
    assert tf.zeros(tf.shape([[1, 2]])).shape == [1, 2]
    assert tf.fill([2], 3).numpy().tolist() == [3, 3]
