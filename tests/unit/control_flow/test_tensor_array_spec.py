"""``tf.TensorArraySpec``, as TensorFlow 2.21 has it."""

from __future__ import annotations

import copy
import pickle

import pytest

import tfx as tf


def test_specs_of_arrays() -> None:
    array = tf.TensorArray(tf.float32, 3, element_shape=[2])
    spec = tf.TensorArraySpec([2], tf.float32)
    assert tf.type_spec_from_value(array) == tf.TensorArraySpec.from_value(array) == spec
    assert repr(spec) == "TensorArraySpec(TensorShape([2]), tf.float32, False, True)"
    assert spec.value_type is tf.TensorArray
    assert pickle.loads(pickle.dumps(spec)) == copy.deepcopy(spec) == spec
    assert len({spec, tf.TensorArraySpec([2])}) == 1
    assert (spec.dtype, spec.element_shape.as_list()) == (tf.float32, [2])


def test_relations() -> None:
    array = tf.TensorArray(tf.float32, 3, element_shape=[2])
    known, wide = tf.TensorArraySpec([2]), tf.TensorArraySpec([None])
    assert known.is_subtype_of(wide) and not wide.is_subtype_of(known)
    assert wide.is_compatible_with(array) and wide.is_compatible_with(known)
    assert not tf.TensorArraySpec([3]).is_compatible_with(array)
    assert not tf.TensorArraySpec([2], tf.int32).is_compatible_with(array)
    assert not tf.TensorArraySpec([2], dynamic_size=True).is_compatible_with(array)
    assert known.most_specific_common_supertype([tf.TensorArraySpec([3])]) == wide
    assert known.most_specific_common_supertype([tf.TensorArraySpec([2], tf.int32)]) is None
    complex_array = tf.TensorArray(tf.complex64, 1, element_shape=[])
    assert tf.TensorArraySpec([], tf.complex64).is_compatible_with(complex_array)


def test_others_are_refused() -> None:
    with pytest.raises(TypeError, match="Expected a TensorArray"):
        tf.TensorArraySpec.from_value(tf.constant(1))
