"""``tf.sparse.cross_hashed`` and ``tf.ragged.cross``: hashes are those that TensorFlow gives."""

from __future__ import annotations

import pytest

import tfx as tf

TEXTS = tf.constant([["a", "b"]])
OTHER = tf.constant([["c"]])
NUMBERS = tf.constant([[5]], tf.int64)
ROWS = tf.ragged.constant([["x", "y"], ["z"]])
COLUMN = tf.constant([["p"], ["q"]])


def test_hashes_of_combinations() -> None:
    found = tf.sparse.cross_hashed([TEXTS, OTHER])
    assert found.values.numpy().tolist() == [1265624096873407566, 2725843207563437254]
    assert found.indices.numpy().tolist() == [[0, 0], [0, 1]]
    few = tf.sparse.cross_hashed([TEXTS, NUMBERS], num_buckets=100, hash_key=7)
    assert few.values.numpy().tolist() == [90, 10]


@pytest.mark.parametrize("traced", [False, True])
def test_ragged_rows(traced: bool) -> None:
    def run() -> tuple[tf.RaggedTensor, ...]:
        holes = tf.sparse.from_dense([["m", ""], ["", "n"]])
        return (
            tf.ragged.cross([COLUMN, ROWS, holes]),
            tf.ragged.cross_hashed([ROWS, COLUMN], num_buckets=50),
            tf.ragged.cross([COLUMN, tf.constant([[1], [-2]])]),
        )

    texts, hashes, numbers = (tf.function(run) if traced else run)()
    assert texts.to_list() == [[b"p_X_x_X_m", b"p_X_y_X_m"], [b"q_X_z_X_n"]]
    assert hashes.to_list() == [[2, 34], [1]]
    assert numbers.to_list() == [[b"p_X_1"], [b"q_X_-2"]]


def test_refusals() -> None:
    with pytest.raises(TypeError, match="Tensor or SparseTensor"):
        tf.sparse.cross_hashed([ROWS])
    with pytest.raises(ValueError, match="two axes"):
        tf.ragged.cross([tf.constant(["a"])])
