"""``SequenceMap`` of imported models is a loop, so gradients go through its body."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import pytest

import tfx as tf
from tfx.core.errors import OpError

TEXT = """
<ir_version: 10, opset_import: ["" : 21]>
model (double[n,3] x, double[3] w) => (double[n,3] y, double[m,1] z) {
  one = Constant <value: tensor = int64 {1}> ()
  s = SplitToSequence <axis = 0> (x, one)
  t, u = SequenceMap <body = each (double[1,3] e, double[1,3] f, double[3] v)
      => (double[1,3] r, double[1,1] q) {
    p = Mul (e, v)
    r = Sin (p)
    axis = Constant <value: tensor = int64[1] {1}> ()
    product = Mul (e, f)
    q = ReduceSum (product, axis)
  }> (s, s, w)
  y = ConcatFromSequence <axis = 0> (t)
  z = ConcatFromSequence <axis = 0> (u)
}
"""


def test_values_and_gradients(rng: np.random.Generator) -> None:
    model: Any = tf.import_onnx(onnx.parser.parse_model(TEXT))
    x, w = rng.standard_normal((4, 3)), rng.standard_normal(3)
    xs = [tf.constant(x), tf.constant(w)]
    with tf.GradientTape() as tape:
        tape.watch(xs)
        found = model(*xs)
        total = tf.reduce_sum(found["y"]) + tf.reduce_sum(found["z"])
    dx, dw = tape.gradient(total, xs)
    np.testing.assert_allclose(found["y"].numpy(), np.sin(x * w))
    np.testing.assert_allclose(found["z"].numpy(), (x * x).sum(1, keepdims=True))
    np.testing.assert_allclose(dx.numpy(), np.cos(x * w) * w + 2 * x)
    np.testing.assert_allclose(dw.numpy(), (np.cos(x * w) * x).sum(0))


def test_a_body_that_does_not_fit() -> None:
    text = TEXT.replace("(s, s, w)", "(s, s)")
    with pytest.raises((OpError, ValueError), match="SequenceMap has 2 inputs, its body 3"):
        tf.import_onnx(onnx.parser.parse_model(text))
