"""TensorFlow 1's layers of feature columns; numbers and names are those TensorFlow 2.21 gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx.compat.v1 as tf

fc = tf.feature_column
TABLE = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]]


def ids(key: str = "id") -> Any:
    return fc.categorical_column_with_identity(key, 4)


def run(make: Any) -> Any:
    """What a layer gives once variables are initialized."""
    with tf.Graph().as_default(), tf.Session() as session:
        made = make()
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(made)


@pytest.mark.parametrize(
    ("combiner", "first"),
    [("mean", [1.6, 2.6]), ("sum", [4.0, 6.5]), ("sqrtn", [1.9402851, 3.152963])],
)
def test_weighted_rows_are_combined(combiner: str, first: list[float]) -> None:
    features = {"id": [[0, 1], [2, -1]], "w": [[0.5, 2.0], [3.0, 0.0]]}
    column = fc.embedding_column(
        fc.weighted_categorical_column(ids(), "w"), 2, combiner, tf.constant_initializer(TABLE)
    )
    found = run(lambda: fc.input_layer(features, [column]))
    np.testing.assert_allclose(found[0], first, rtol=1e-6)


def test_large_rows_are_scaled_down() -> None:
    column = fc.embedding_column(ids(), 2, initializer=tf.constant_initializer(TABLE), max_norm=1.0)
    found = run(lambda: fc.input_layer({"id": [[1], [-1]]}, [column]))
    np.testing.assert_allclose(found, [np.divide([2, 3], 13**0.5), [0, 0]], rtol=1e-6)


def test_layers_name_their_variables() -> None:
    with tf.Graph().as_default():
        made: dict[Any, Any] = {}
        age, row = fc.numeric_column("age"), fc.embedding_column(ids(), 3)
        features = {"age": [1.0], "id": [2]}
        fc.input_layer(features, [row, age], cols_to_vars=made)
        assert [v.name for v in made[row]] == ["input_layer/id_embedding/embedding_weights:0"]
        assert made[age] == []
        fc.linear_model(features, [age])
        fc.linear_model(features, [age, ids()], units=2, cols_to_vars=made)
        # Names of columns count outside of the model.
        assert [v.name for v in made[age]] == ["linear_model_1/age_1/weights:0"]
        assert made[ids()][0].shape.as_list() == [4, 2]
        assert [v.name for v in made["bias"]] == ["linear_model_1/bias_weights:0"]
        assert made["bias"][0] in tf.get_collection(tf.GraphKeys.MODEL_VARIABLES)


def test_linear_models_are_trained() -> None:
    # One step of size 0.1 from zero for the mean of (y - [1, 2])**2 over two rows.
    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.placeholder(tf.int64, [None, 2])
        y = fc.linear_model({"id": given, "x": [[1.0], [2.0]]}, [ids(), fc.numeric_column("x")])
        loss = tf.reduce_mean((y[:, 0] - [1.0, 2.0]) ** 2)
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        session.run(tf.global_variables_initializer())
        session.run(step, {given: [[0, 1], [3, -1]]})
        weights = {v.name: session.run(v).ravel() for v in tf.trainable_variables()}
    np.testing.assert_allclose(weights["linear_model/id/weights:0"], [0.1, 0.1, 0, 0.2], rtol=1e-6)
    np.testing.assert_allclose(weights["linear_model/x/weights:0"], [0.5], rtol=1e-6)
    np.testing.assert_allclose(weights["linear_model/bias_weights:0"], [0.3], rtol=1e-6)


def test_columns_share_a_table() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        first, second = fc.shared_embedding_columns(
            [ids("a"), ids("b")], 2, initializer=tf.constant_initializer(TABLE)
        )
        x = fc.input_layer({"a": [[0, 1]], "b": [[2]]}, [second, first])
        names = [v.name for v in tf.global_variables()]
        assert names == ["input_layer/a_b_shared_embedding/embedding_weights:0"]
        session.run(tf.global_variables_initializer())
        assert session.run(x).tolist() == [[1, 2, 4, 5]]
    with pytest.raises(RuntimeError, match="eager"):
        fc.shared_embedding_columns([ids("a"), ids("b")], 2)


def test_tables_begin_with_a_checkpoint(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("old", initializer=TABLE)
        session.run(v.initializer)
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    column = fc.embedding_column(ids(), 2, ckpt_to_load_from=path, tensor_name_in_ckpt="old")
    assert run(lambda: fc.input_layer({"id": [3]}, [column])).tolist() == [[6, 7]]


def test_parsed_examples_go_into_a_layer() -> None:
    def example(age: float, city: list[bytes]) -> bytes:
        feature = {
            "age": tf.train.Feature(float_list=tf.train.FloatList(value=[age])),
            "city": tf.train.Feature(bytes_list=tf.train.BytesList(value=city)),
        }
        return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()

    city = fc.categorical_column_with_vocabulary_list("city", ["p", "q"])
    columns = [fc.numeric_column("age"), fc.indicator_column(city)]

    def layer() -> Any:
        serialized = [example(3.0, [b"q"]), example(5.0, [])]
        parsed = tf.parse_example(serialized, fc.make_parse_example_spec(columns))
        return fc.input_layer(parsed, columns)

    assert run(layer).tolist() == [[3, 0, 1], [5, 0, 0]]


def test_layers_work_eagerly() -> None:
    column = fc.embedding_column(ids(), 1, initializer=tf.ones_initializer())
    found = fc.input_layer({"id": [[1], [2]]}, [column])
    np.testing.assert_array_equal(found, [[1], [1]])


def test_wrong_columns_are_refused() -> None:
    features = {"age": [1.0, 2.0], "b": [1.0]}
    age = fc.numeric_column("age")
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="wrap a categorical column"):
            fc.input_layer({"id": [1]}, [ids()])
        with pytest.raises(ValueError, match="must not be empty"):
            fc.input_layer(features, [])
        with pytest.raises(ValueError, match="Duplicate feature column name"):
            fc.linear_model(features, [age, age])
        with pytest.raises(ValueError, match="Batch size"):
            fc.input_layer(features, [age, fc.numeric_column("b")])
