"""Optional values of imported models: gradients go through them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser

import tfx as tf
from tfx.framework.rules import OpRecord, rule_of

TEXT = """
<ir_version: 10, opset_import: ["" : 21]>
model (double[n] x) => (double[n] y, bool there) {
  o = Optional (x)
  there = OptionalHasElement (o)
  e = OptionalGetElement (o)
  y = Sin (e)
}
"""


def test_gradient_goes_through() -> None:
    model: Any = tf.import_onnx(onnx.parser.parse_model(TEXT))
    x = tf.constant([0.5, -1.0], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = model(x)
        y = found["y"]
    assert bool(found["there"])
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), np.cos([0.5, -1.0]))


def test_rules_hand_the_gradient_on() -> None:
    x, dy = tf.constant(1.0), tf.constant(2.0)
    for op in ("Optional", "OptionalGetElement"):
        rule = rule_of(op)
        assert rule is not None
        assert rule(OpRecord(op, {}, (x,), (x,)), dy) is dy
