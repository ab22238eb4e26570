"""``graph`` and ``as_onnx`` of a function: those of its only trace."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

import tfx as tf


def test_the_only_trace() -> None:
    scale = tf.Variable(3.0)

    @tf.function
    def scaled(x):
        return scale * x

    with pytest.raises(AttributeError, match=r"scaled\.as_onnx needs one trace, .* has 0"):
        scaled.as_onnx()
    assert not hasattr(scaled, "graph")
    scaled(tf.constant([1.0, 2.0]))
    model = scaled.as_onnx()
    assert [node.op_type for node in model.graph.node] == ["Mul"]
    assert scaled.graph is scaled.get_concrete_function(tf.TensorSpec([2])).graph
    assert "Mul" in str(scaled.graph.summary())
    scaled(tf.constant(2.0))
    with pytest.raises(AttributeError, match="has 2; expected get_concrete_function"):
        _ = scaled.graph
    # Arguments name one of several, in stock ONNX Runtime, too.
    model = scaled.as_onnx(tf.TensorSpec([2], name="x"))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    x, variable = (i.name for i in session.get_inputs())
    feeds = {x: np.array([1, 2], np.float32), variable: np.array(3, np.float32)}
    assert session.run(None, feeds)[0].tolist() == [3.0, 6.0]


def test_signatures_methods_and_functions_without_arguments() -> None:
    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], name="x")])
        def predict(self, x):
            return x + 1.0

    model = Model()
    assert model.predict.graph is model.predict.get_concrete_function().graph
    assert [node.op_type for node in model.predict.as_onnx().graph.node] == ["Add"]
    assert not hasattr(tf.function(lambda x: x), "graph")
    assert hasattr(tf.function(lambda: tf.constant(1.0)), "graph")
