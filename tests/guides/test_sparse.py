"""Sparse tensors, records and CSV, as TensorFlow's guide and tutorials teach them."""

from __future__ import annotations

import numpy as np

import tfx as tf


def pprint_sparse_tensor(st):
    s = f"<SparseTensor shape={st.dense_shape.numpy().tolist()} \n values={{"
    for index, value in zip(st.indices, st.values, strict=True):
        s += f"\n  {index.numpy().tolist()}: {value.numpy().tolist()}"
    return s + "}>"


def test_construction_and_printing() -> None:
    st1 = tf.SparseTensor(indices=[[0, 3], [2, 4]], values=[10, 20], dense_shape=[3, 10])
    assert str(st1) == (
        "SparseTensor(indices=tf.Tensor(\n[[0 3]\n [2 4]], shape=(2, 2), dtype=int64), "
        "values=tf.Tensor([10 20], shape=(2,), dtype=int32), "
        "dense_shape=tf.Tensor([ 3 10], shape=(2,), dtype=int64))"
    )
    assert pprint_sparse_tensor(st1) == (
        "<SparseTensor shape=[3, 10] \n values={\n  [0, 3]: 10\n  [2, 4]: 20}>"
    )
    st2 = tf.sparse.from_dense([[1, 0, 0, 8], [0, 0, 0, 0], [0, 0, 3, 0]])
    assert pprint_sparse_tensor(st2) == (
        "<SparseTensor shape=[3, 4] \n values={\n  [0, 0]: 1\n  [0, 3]: 8\n  [2, 2]: 3}>"
    )
    st3 = tf.sparse.to_dense(st2)
    assert st3.numpy().tolist() == [[1, 0, 0, 8], [0, 0, 0, 0], [0, 0, 3, 0]]


def test_manipulation() -> None:
    st_a = tf.SparseTensor(indices=[[0, 2], [3, 4]], values=[31, 2], dense_shape=[4, 10])
    st_b = tf.SparseTensor(indices=[[0, 2], [3, 0]], values=[56, 38], dense_shape=[4, 10])
    st_sum = tf.sparse.add(st_a, st_b)
    assert pprint_sparse_tensor(st_sum) == (
        "<SparseTensor shape=[4, 10] \n values={\n  [0, 2]: 87\n  [3, 0]: 38\n  [3, 4]: 2}>"
    )
    st_c = tf.SparseTensor(([[0, 1], [1, 0], [1, 1]]), values=[13, 15, 17], dense_shape=(2, 2))
    mb = tf.constant([[4], [6]])
    product = tf.sparse.sparse_dense_matmul(st_c, mb)
    assert product.numpy().tolist() == [[78], [162]]
    sparse_pattern_a = tf.SparseTensor(
        [[2, 4], [3, 3], [3, 4], [4, 3], [4, 4], [5, 4]], [1] * 6, [8, 5]
    )
    places = ["02", "11", "13", "20", "24", "25", "35", "45", "50", "54", "55", "61", "63", "72"]
    indices = [[int(row), int(column)] for row, column in places]
    sparse_pattern_b = tf.SparseTensor(indices, [1] * 14, [8, 6])
    sparse_pattern_c = tf.SparseTensor([[3, 0], [4, 0]], [1] * 2, [8, 6])
    patterns = [sparse_pattern_a, sparse_pattern_b, sparse_pattern_c]
    joined = tf.sparse.concat(axis=1, sp_inputs=patterns)
    art = tf.sparse.to_dense(joined).numpy()
    assert (
        art.shape == (8, 17)
        and art.sum() == 22
        and art[2].tolist()
        == [0] * 4
        + [1, 1]
        + [
            0,
            0,
            0,
            1,
            1,
        ]
        + [0] * 6
    )
    slice_a = tf.sparse.slice(joined, start=[0, 0], size=[8, 5])
    np.testing.assert_array_equal(
        tf.sparse.to_dense(slice_a).numpy(), tf.sparse.to_dense(sparse_pattern_a).numpy()
    )
    assert tf.sparse.slice(joined, [0, 11], [8, 10]).dense_shape.numpy().tolist() == [8, 6]


def test_elements() -> None:
    st1 = tf.SparseTensor(indices=[[0, 1], [1, 0]], values=[13, 15], dense_shape=[2, 2])
    plus = tf.sparse.map_values(tf.add, st1, 5)
    assert tf.sparse.to_dense(plus).numpy().tolist() == [[0, 18], [20, 0]]
    dense_plus_five = tf.add(tf.sparse.to_dense(st1), 5)
    assert dense_plus_five.numpy().tolist() == [[5, 18], [20, 5]]


def test_keeping_rows_for_functions_and_data() -> None:
    @tf.function
    def f(x, y):
        return tf.sparse.sparse_dense_matmul(x, y)

    a = tf.SparseTensor(indices=[[0, 3], [2, 4]], values=[15, 25], dense_shape=[3, 10])
    b = tf.sparse.to_dense(tf.sparse.transpose(a))
    c = f(a, b)
    assert c.numpy().tolist() == [[225, 0, 0], [0, 0, 0], [0, 0, 625]]
    dataset = tf.data.Dataset.from_tensor_slices(a)
    assert [pprint_sparse_tensor(e).count(":") for e in dataset] == [1, 0, 1]
    batched = dataset.batch(2)
    assert [pprint_sparse_tensor(e).split(" \n")[0] for e in batched] == [
        "<SparseTensor shape=[2, 10]",
        "<SparseTensor shape=[1, 10]",
    ]
    unbatched = batched.unbatch()
    assert len(list(unbatched)) == 3
    transform = dataset.map(lambda x: x * 2)
    assert [e.values.numpy().tolist() for e in transform] == [[30], [], [50]]


def _feature(**kind):
    return tf.train.Feature(**kind)


def _example(price, name):
    feature = {
        "feature0": _feature(float_list=tf.train.FloatList(value=[price])),
        "feature1": _feature(bytes_list=tf.train.BytesList(value=[name])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def test_records(tmp_path) -> None:
    feature = {"my_feature": tf.train.Feature(int64_list=tf.train.Int64List(value=[1]))}
    proto = tf.train.Example(features=tf.train.Features(feature=feature))
    assert "int64_list" in str(proto)
    again = tf.train.Example.FromString(proto.SerializeToString())
    assert again == proto

    path = str(tmp_path / "test.tfrecord")
    prices = [0.5, -1.25, 3.0]

    with tf.io.TFRecordWriter(path) as writer:
        for price, name in zip(prices, [b"cat", b"dog", b"cat"], strict=True):
            writer.write(_example(price, name))
    raw = tf.data.TFRecordDataset([path])
    example = tf.train.Example()
    for record in raw.take(1):
        example.ParseFromString(record.numpy())
    found = {}
    for key, each in example.features.feature.items():
        found[key] = np.array(getattr(each, each.WhichOneof("kind")).value)
    assert found["feature0"].tolist() == [0.5] and found["feature1"].tolist() == [b"cat"]
    description = {
        "feature0": tf.io.FixedLenFeature([], tf.float32, default_value=0.0),
        "feature1": tf.io.FixedLenFeature([], tf.string, default_value=""),
        "feature2": tf.io.FixedLenFeature([], tf.int64, default_value=7),
    }
    parsed = raw.map(lambda x: tf.io.parse_single_example(x, description))
    rows = list(parsed.as_numpy_iterator())
    assert [float(r["feature0"]) for r in rows] == prices
    assert [r["feature1"] for r in rows] == [b"cat", b"dog", b"cat"] and rows[2]["feature2"] == 7


def test_csv(tmp_path) -> None:
    path = str(tmp_path / "titanic.csv")
    lines = ["survived,sex,age,fare,class", "0,male,22.0,7.25,Third", "1,female,38.0,71.28,First"]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    titanic = tf.data.experimental.make_csv_dataset(
        path, batch_size=2, label_name="survived", num_epochs=1, ignore_errors=True, shuffle=False
    )
    for batch, label in titanic.take(1):
        assert list(batch) == ["sex", "age", "fare", "class"]
        assert label.numpy().tolist() == [0, 1]
        assert batch["age"].numpy().tolist() == [22, 38]
    types = [0, "", 0.0, 0.0, ""]
    features = tf.io.decode_csv(lines[1:], record_defaults=types)
    assert [x.dtype.name for x in features] == ["int32", "string", "float32", "float32", "string"]
    simple = tf.data.experimental.CsvDataset(path, record_defaults=types, header=True)
    assert [int(row[0]) for row in simple] == [0, 1]
    decoded = tf.data.TextLineDataset(path).skip(1).map(lambda line: tf.io.decode_csv(line, types))
    assert [float(row[3]) for row in decoded] == [7.25, np.float32(71.28)]
