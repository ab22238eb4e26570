"""Functions of TensorFlow 1 that few programs call."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import numpy as np
import pytest

import tfx as tf

v1 = tf.compat.v1


def _sparse() -> tf.SparseTensor:
    return tf.SparseTensor([[0, 0], [0, 2], [1, 1]], [1.0, 2.0, 3.0], [2, 4])


def test_set_difference_of_lists() -> None:
    found = v1.setdiff1d([3, 1, 2, 1, 5], [3, 9, 5], tf.int64)
    assert found.out.numpy().tolist() == [1, 2, 1]
    assert found.idx.numpy().tolist() == [1, 2, 3] and found.idx.dtype == tf.int64
    assert v1.setdiff1d(["a", "b"], ["b"]).out.numpy().tolist() == [b"a"]
    traced = tf.function(lambda x, y: v1.setdiff1d(x, y))
    assert traced(tf.constant([1, 2]), tf.constant([2])).out.numpy().tolist() == [1]


def test_batch_gather() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    found = v1.batch_gather(x, [[0, 2], [1, 1]])
    np.testing.assert_array_equal(found, [x[0, [0, 2]], x[1, [1, 1]]])


def test_sparse_placeholders_are_fed_and_fetched() -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.sparse_placeholder(tf.float32, [2, 4])
        assert x.shape.as_list() == [2, 4]
        value = v1.SparseTensorValue([[1, 2]], [3.0], [2, 4])
        for given in (value, ([[1, 2]], [3.0], [2, 4])):
            dense = session.run(v1.sparse_tensor_to_dense(x), {x: given})
            assert dense[1, 2] == 3.0 and dense.sum() == 3.0
        fetched = session.run(x, {x: value})
        assert isinstance(fetched, v1.SparseTensorValue)
        assert fetched.values.tolist() == [3.0]


def test_sparse_functions_by_older_arguments() -> None:
    first, second = v1.sparse_split(sp_input=_sparse(), num_split=2, split_dim=1)
    assert first.dense_shape.numpy().tolist() == second.dense_shape.numpy().tolist() == [2, 2]
    with pytest.raises(ValueError, match="Keyword arguments"):
        v1.sparse_split(1, _sparse(), 2)
    sums = v1.sparse_reduce_sum_sparse(_sparse(), reduction_axes=1, keep_dims=True)
    assert sums.indices.numpy().tolist() == [[0, 0], [1, 0]]
    assert sums.values.numpy().tolist() == [3.0, 3.0]
    assert v1.sparse_concat(sp_inputs=[_sparse()] * 2, concat_dim=0).shape.as_list() == [4, 4]
    added = v1.sparse_add(_sparse(), _sparse(), thresh=3.0)
    assert added.values.numpy().tolist() == [4.0, 6.0]
    ids = tf.SparseTensor([[0, 0], [1, 0]], [4, 2], [2, 1])
    merged = v1.sparse_merge(ids, tf.SparseTensor([[0, 0], [1, 0]], [0.5, 3.0], [2, 1]), 5)
    assert tf.sparse.to_dense(merged).numpy().tolist() == [[0, 0, 0, 0, 0.5], [0, 0, 3, 0, 0]]


def test_string_split() -> None:
    found = v1.string_split(["hello  world", "", "a,b"], " ,")
    assert found.indices.numpy().tolist() == [[0, 0], [0, 1], [2, 0], [2, 1]]
    assert found.values.numpy().tolist() == [b"hello", b"world", b"a", b"b"]
    assert v1.string_split(["a,,b"], ",", False).values.numpy().tolist() == [b"a", b"", b"b"]
    assert v1.string_split(["ab"], "").values.numpy().tolist() == [b"a", b"b"]
    ragged = v1.string_split(["a b", "c"], result_type="RaggedTensor")
    assert ragged.to_list() == [[b"a", b"b"], [b"c"]]
    assert v1.strings.split(source=["a b", "c"]).values.numpy().tolist() == [b"a", b"b", b"c"]
    with pytest.raises(ValueError, match="result_type"):
        v1.string_split(["a"], result_type="Dense")


def test_decode_compressed() -> None:
    texts = [[b"abc"], [b""]]
    packed = [[zlib.compress(row[0])] for row in texts]
    assert tf.io.decode_compressed(packed, "ZLIB").numpy().tolist() == texts
    assert v1.decode_compressed([gzip.compress(b"x")], "GZIP").numpy().tolist() == [b"x"]
    with pytest.raises(tf.errors.DataLossError, match="not ZLIB"):
        tf.io.decode_compressed([b"abcdef"], "ZLIB")
    with pytest.raises(tf.errors.DataLossError, match="ends before"):
        tf.io.decode_compressed([zlib.compress(b"abc")[:-4]], "ZLIB")
    with pytest.raises(tf.errors.InvalidArgumentError, match="LZMA"):
        tf.io.decode_compressed([b""], "LZMA")


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
def test_records_with_options(tmp_path: Path, kind: str) -> None:
    path = str(tmp_path / "a.tfrecord")
    options = tf.io.TFRecordOptions(kind, compression_level=9, flush_mode=zlib.Z_SYNC_FLUSH)
    writer = tf.io.TFRecordWriter(path, options)
    writer.write(b"one")
    writer.flush()
    writer.write(b"two")
    writer.close()
    assert list(v1.python_io.tf_record_iterator(path, options)) == [b"one", b"two"]
    with pytest.raises(ValueError, match="Not a valid compression_type"):
        tf.io.TFRecordOptions("LZMA")


def test_orthogonal_and_scaled_initializers() -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        wide = v1.get_variable("w", [3, 5], initializer=v1.orthogonal_initializer(2.0))
        scaled = v1.get_variable(
            "s", [300, 2], initializer=v1.uniform_unit_scaling_initializer(0.5)
        )
        session.run(v1.global_variables_initializer())
        matrix, numbers = session.run([wide, scaled])
    np.testing.assert_allclose(matrix @ matrix.T, 4 * np.eye(3), atol=1e-5)
    assert 0.04 < abs(numbers).max() <= 0.05


def test_variables_made_inside_of_branches_and_loops_belong_to_the_graph() -> None:
    with v1.Graph().as_default() as graph, v1.Session() as session:

        def body(i: tf.Tensor, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            with v1.variable_scope("loop", reuse=v1.AUTO_REUSE):
                w = v1.get_variable("w", initializer=2.0)
            return i + 1, x * w

        _, powers = v1.while_loop(lambda i, _: i < 3, body, (0, 1.0))
        (slope,) = v1.gradients(powers, graph.get_collection("trainable_variables"))
        chosen = v1.cond(v1.constant(True), lambda: v1.Variable(5.0) + 1.0, lambda: 0.0)
        names = [v.name for v in v1.global_variables()]
        session.run(v1.global_variables_initializer())
        assert session.run([powers, slope, chosen]) == [8.0, 12.0, 6.0]
    assert names[0] == "loop/w:0" and len(names) == 2


def test_examples_as_json() -> None:
    text = '{"features": {"feature": {"a": {"int64List": {"value": [7, 8]}}}}}'
    features = {"a": tf.io.VarLenFeature(tf.int64)}
    found = tf.io.parse_example(tf.io.decode_json_example([text, "{}"]), features)["a"]
    assert found.values.numpy().tolist() == [7, 8]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Error while parsing JSON"):
        v1.decode_json_example(["no"])


def test_devices_are_said_by_name_or_by_a_function() -> None:
    with v1.Graph().as_default():
        with v1.device(device_name_or_function="/cpu:0"):
            assert v1.get_variable("v", initializer=1.0).device.endswith("CPU:0")
        with v1.device(lambda op: "/cpu:0" if op.type == "Add" else None):
            assert (tf.constant(1.0) + 1.0).device.endswith("CPU:0")
        with v1.device(None):
            pass
