"""``tf.IndexedSlicesSpec``: what it covers, as TensorFlow has it, and in input signatures."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import tfx as tf

Spec = tf.IndexedSlicesSpec


@pytest.fixture
def rows() -> tf.IndexedSlices:
    return tf.IndexedSlices(tf.ones([2, 3]), tf.constant([0, 4]), tf.constant([5, 3]))


def test_the_spec_of_slices(rows: tf.IndexedSlices) -> None:
    expected = Spec([5, 3], tf.float32, tf.int32, tf.int32, [2])
    assert tf.type_spec_from_value(rows) == expected
    shapeless = tf.IndexedSlices(rows.values, rows.indices)
    expected = Spec([None, 3], tf.float32, tf.int32, None, [2])
    assert tf.type_spec_from_value(shapeless) == expected
    assert isinstance(expected, tf.TypeSpec) and expected.value_type is tf.IndexedSlices


def test_equality_and_text() -> None:
    assert Spec() == Spec() and hash(Spec()) == hash(Spec())
    assert Spec() != Spec(dtype=tf.float64) and Spec() != tf.TensorSpec(None)
    assert repr(Spec()) == (
        "IndexedSlicesSpec(TensorShape(None), tf.float32, tf.int64, None, TensorShape([None]))"
    )
    one = Spec([5, 3], tf.float64, tf.int32, tf.int64, [2])
    assert pickle.loads(pickle.dumps(one)) == one and copy.deepcopy(one) == one


def test_what_fits(rows: tf.IndexedSlices) -> None:
    kinds: dict[str, Any] = {"indices_dtype": tf.int32, "dense_shape_dtype": tf.int32}
    assert Spec([None, 3]).is_compatible_with(Spec([5, 3]))
    assert Spec([None, 3], **kinds).is_compatible_with(rows)
    assert not Spec([None, 4], **kinds).is_compatible_with(rows)
    assert not Spec([None, 3]).is_compatible_with(rows)
    assert not Spec([None, 3], **kinds).is_compatible_with(rows.values)
    assert Spec([5, 3]).is_subtype_of(Spec([None, 3]))
    assert not Spec([None, 3]).is_subtype_of(Spec([5, 3]))
    assert Spec([5, 3]).most_specific_compatible_type(Spec([4, 3])) == Spec([None, 3])
    with pytest.raises(ValueError, match="no spec covers"):
        Spec([5, 3]).most_specific_compatible_type(Spec([5, 3], tf.int32))
    with pytest.raises(ValueError, match="one axis"):
        Spec(indices_shape=[2, 2])


def test_in_an_input_signature(rows: tf.IndexedSlices) -> None:
    traces = []

    @tf.function(input_signature=[Spec([None, 3], tf.float32, tf.int32, tf.int32)])
    def doubled(slices: Any) -> Any:
        traces.append(slices.values.shape.as_list())
        return tf.convert_to_tensor(slices) * 2.0

    assert doubled(rows).numpy()[:, 0].tolist() == [2.0, 0.0, 0.0, 0.0, 2.0]
    more = tf.IndexedSlices(tf.ones([3, 3]), tf.constant([1, 1, 0]), tf.constant([2, 3]))
    assert doubled(more).numpy()[:, 0].tolist() == [2.0, 4.0]
    assert traces == [[None, 3]]
    with pytest.raises((TypeError, ValueError)):
        doubled(tf.IndexedSlices(tf.ones([2, 4]), tf.constant([0, 4]), tf.constant([5, 4])))
    with pytest.raises((TypeError, ValueError)):
        doubled(tf.ones([2, 3]))


def test_slices_without_dense_shape_in_an_input_signature(rows: tf.IndexedSlices) -> None:
    @tf.function(input_signature=[[Spec([None, 3], indices_dtype=tf.int32)]])
    def halved(given: Any) -> Any:
        assert given[0].dense_shape is None
        return tf.IndexedSlices(given[0].values / 2.0, given[0].indices)

    found = halved([tf.IndexedSlices(rows.values, rows.indices)])
    assert found.values.numpy().tolist() == [[0.5] * 3] * 2
    assert found.indices.numpy().tolist() == [0, 4]
    with pytest.raises(TypeError):
        halved([rows])


def test_in_an_optional(rows: tf.IndexedSlices) -> None:
    found = tf.experimental.Optional.from_value(rows)
    assert found.get_value() is rows
    assert found.element_spec == tf.type_spec_from_value(rows)
