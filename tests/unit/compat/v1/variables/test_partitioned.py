"""Variables in pieces: what TensorFlow 2.21 makes of them, and what is saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx.compat.v1 as tf

two, three = tf.fixed_size_partitioner(2), tf.fixed_size_partitioner(3)


def counts(partitioner: Any, shape: list[int], dtype: Any = tf.float32) -> list[int]:
    found: list[int] = partitioner(shape=tf.TensorShape(shape), dtype=dtype)
    return found


def test_numbers_of_pieces() -> None:
    assert counts(tf.fixed_size_partitioner(3, axis=1), [10, 4]) == [1, 3]
    assert counts(three, [2, 4]) == [2, 1]
    by_size = tf.variable_axis_size_partitioner
    assert counts(by_size(64), [10, 4]) == [3, 1]  # 16 bytes a row: 4 rows a piece
    assert counts(by_size(64, axis=1), [10, 4]) == [1, 4]
    assert counts(by_size(64, max_shards=2), [10, 4]) == [2, 1]
    assert counts(by_size(7), [10, 4]) == [10, 1]
    at_least = tf.min_max_variable_partitioner
    assert counts(at_least(), [1000, 1000]) == [1, 1]
    assert counts(at_least(4, min_slice_size=1 << 10), [1000, 10]) == [4, 1]
    assert counts(at_least(9, min_slice_size=100), [10, 4], tf.string) == [6, 1]  # 640 bytes
    with pytest.raises(ValueError, match="must be positive"):
        by_size(0)
    with pytest.raises(ValueError, match="must be positive"):
        by_size(10, max_shards=0)


def test_pieces_are_variables() -> None:
    with tf.Graph().as_default():
        v = tf.get_variable("v", [5, 2], partitioner=two)
        assert isinstance(v, tf.PartitionedVariable)
        assert (v.name, v.dtype, v.shape.as_list(), len(v)) == ("v", tf.float32, [5, 2], 2)
        assert [p.name for p in v] == ["v/part_0:0", "v/part_1:0"]
        assert [p.shape.as_list() for p in v] == [[3, 2], [2, 2]]
        assert tf.trainable_variables() == list(v) == tf.global_variables()
        assert tf.get_variable("s", [], partitioner=two).shape.rank == 0
        assert len(tf.get_variable("one", [3], partitioner=tf.fixed_size_partitioner(1))) == 1


def test_initializers_know_their_piece() -> None:
    seen = []

    def initializer(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        seen.append((list(shape), partition_info.full_shape, partition_info.var_offset))
        return tf.zeros(shape, dtype)

    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("v", [5, 2], initializer=initializer, partitioner=two)
        assert seen == [([3, 2], [5, 2], [0, 0]), ([2, 2], [5, 2], [3, 0])]
        given = tf.get_variable("w", initializer=[1.0, 2.0, 3.0], partitioner=two)
        session.run(tf.global_variables_initializer())
        assert session.run(list(given))[0].tolist() == [1, 2]
        # Glorot's limit is that of the whole: sqrt(6 / (1000 + 2)), that of a piece sqrt(6 / 12).
        wide = tf.get_variable("g", [1000, 2], partitioner=tf.fixed_size_partitioner(100))
        session.run(tf.global_variables_initializer())
        assert np.abs(session.run(wide.as_tensor())).max() <= (6 / 1002) ** 0.5


def test_operations_get_the_whole_and_pieces_are_trained() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.variable_scope("scope", partitioner=two):
            v = tf.get_variable("v", [5, 2], initializer=tf.ones_initializer())
        rows = tf.nn.embedding_lookup(v, [0, 1, 4], partition_strategy="div")
        product = tf.matmul(v, [[1.0], [2.0]])
        loss = tf.reduce_sum(rows * [[1.0], [2.0], [3.0]])
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        session.run(tf.global_variables_initializer())
        session.run(step)
        np.testing.assert_allclose(session.run(product)[:, 0], [2.7, 2.4, 3.0, 3.0, 2.1], rtol=1e-6)
        session.run(v.assign(np.arange(10.0).reshape(5, 2)))
        assert session.run(tf.convert_to_tensor(v)).ravel().tolist() == list(range(10))
        # In turn: even rows are in the first piece.
        assert session.run(tf.nn.embedding_lookup(v, [1]))[0].tolist() == [6, 7]


def test_the_whole_is_saved(tmp_path: Path) -> None:
    values = np.arange(10.0, dtype=np.float32).reshape(5, 2)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("v", initializer=values, partitioner=two)
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    assert tf.train.load_checkpoint(path).get_variable_to_shape_map() == {"v": [5, 2]}
    for partitioner in (None, three):
        with tf.Graph().as_default(), tf.Session() as session:
            v = tf.get_variable("v", [5, 2], partitioner=partitioner)
            tf.train.Saver().restore(session, path)
            np.testing.assert_array_equal(session.run(tf.convert_to_tensor(v)), values)
            tf.train.init_from_checkpoint(path, {"v": v})
            session.run(tf.global_variables_initializer())
            np.testing.assert_array_equal(session.run(tf.convert_to_tensor(v)), values)


def test_reuse() -> None:
    with tf.Graph().as_default():
        v = tf.get_variable("v", [4], partitioner=two)
        with pytest.raises(ValueError, match="Partitioned variable with name v already exists"):
            tf.get_variable("v", [4], partitioner=two)
        with tf.variable_scope("", reuse=True):
            assert tf.get_variable("v", [4], partitioner=two) is v
            assert tf.get_variable("v", [4]) is v
            with pytest.raises(ValueError, match="Trying to reuse partitioned variable v"):
                tf.get_variable("v", [4], partitioner=three)


@pytest.mark.parametrize(
    ("partitioner", "message"),
    [
        (lambda **_: [2, 2], "along one dimension"),
        (lambda **_: [2], "does not match the Variable's rank"),
        (lambda **_: 2, "must return a sequence"),
        (lambda **_: [0, 1], "zero partitions"),
        (3, "must be callable"),
    ],
    ids=["two axes", "rank", "no list", "zero", "no function"],
)
def test_wrong_partitioners(partitioner: Any, message: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        tf.get_variable("v", [4, 4], partitioner=partitioner)


def test_pieces_by_numbers() -> None:
    with tf.Graph().as_default():
        make = tf.create_partitioned_variables
        pieces = make([5, 2], [2, 1], tf.zeros_initializer())
        assert [(v.name, v.shape.as_list()) for v in pieces] == [
            ("PartitionedVariable/part_0:0", [3, 2]),
            ("PartitionedVariable/part_1:0", [2, 2]),
        ]
        assert make([2], [2], [1.0, 2.0], name="own")[1].name == "own/part_1:0"
        assert make([2], [2], None, name="own", reuse=True)[1].name == "own/part_1:0"
        with pytest.raises(ValueError, match="along one dimension"):
            make([4, 4], [2, 2], tf.zeros_initializer())
