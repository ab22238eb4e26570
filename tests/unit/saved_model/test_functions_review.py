"""Loaded functions of any number of arguments with an input signature."""

import tfx as tf

SCALAR = tf.TensorSpec([], tf.float32)


def test_signature_of_many_positional_arguments(tmp_path):
    model = tf.Module()
    model.all = tf.function(lambda *x: tf.add_n(list(x)), input_signature=[SCALAR] * 3)
    model.rest = tf.function(lambda x, *y: x - tf.add_n(list(y)), input_signature=[SCALAR] * 3)
    tf.saved_model.save(model, str(tmp_path / "bundle"))
    loaded = tf.saved_model.load(str(tmp_path / "bundle"))
    numbers = [tf.constant(float(i)) for i in (1, 2, 4)]
    assert float(loaded.all(*numbers)) == 7.0
    assert float(loaded.rest(*numbers)) == -5.0
