"""Fused operators of ONNX Runtime: written out, they give what it gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.importing.samples import constant, make, node, numbers, run_stock, value

X, Y = numbers(2, 3, 4), numbers(2, 3, 4, seed=1)
W, B = numbers(4, 5, seed=2), numbers(4, seed=3)
CASES: list[tuple[Any, ...]] = [
    ("Gelu", [X], {}),
    ("BiasGelu", [X, B], {}),
    ("FastGelu", [X, B], {}),
    ("FastGelu", [X], {}),
    ("QuickGelu", [X], {"alpha": 1.5}),
    ("FusedMatMul", [X, W], {"alpha": 0.5}),
    ("FusedMatMul", [X, Y], {"transB": 1}),
    ("FusedMatMul", [X, Y], {"transA": 1, "alpha": 2.0}),
    ("FusedGemm", [X[0], W], {"activation": "Relu", "alpha": 0.5}),
    ("FusedGemm", [X[0], W], {"activation": "LeakyRelu", "activation_alpha": 0.1}),
    ("FusedConv", [X, numbers(5, 3, 2)], {"activation": "Relu"}),
    ("SkipLayerNormalization", [X, Y, B, B[::-1].copy()], {"epsilon": 1e-5}),
    ("SkipSimplifiedLayerNormalization", [X, Y, B], {"epsilon": 1e-5}),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)])
def test_they_are_kept_and_have_gradients(case: tuple[Any, ...]) -> None:
    op, arrays, attrs = case
    names = ["x", *(f"c{i}" for i in range(1, len(arrays)))]
    stored = [constant(n, a) for n, a in zip(names[1:], arrays[1:], strict=True)]
    fused = node(op, names, ["y"], domain="com.microsoft", **attrs)
    proto = make([fused], [value("x", arrays[0].shape)], stored=stored, domains=("com.microsoft",))
    model = tf.import_onnx(proto)
    expected = run_stock(proto, {"x": arrays[0]})[0]
    np.testing.assert_allclose(model(arrays[0]), expected, rtol=1e-4, atol=1e-5)
    x = tf.constant(arrays[0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(model(x))
    assert tape.gradient(loss, x).shape == x.shape
    assert [n.domain for n in model.as_onnx().graph.node] == ["com.microsoft"]
