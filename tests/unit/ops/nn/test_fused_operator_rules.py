"""Small fused operators, against the runtime's kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.ops.nn.fused import check, model_of

RNG = np.random.default_rng(0)


def drawn(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


X, Y, BIAS = drawn(2, 3, 4), drawn(2, 3, 4), drawn(4)
CASES: list[tuple[Any, ...]] = [
    ("Gelu", [X], {}, 1, (0,)),
    ("BiasGelu", [X, BIAS], {}, 1, (0, 1)),
    ("FastGelu", [X, BIAS], {}, 1, (0, 1)),
    ("QuickGelu", [X], {"alpha": 1.5}, 1, (0,)),
    ("FusedMatMul", [X, Y], {"transB": 1, "alpha": 0.5}, 1, (0, 1)),
    ("FusedMatMul", [X, Y], {"transA": 1}, 1, (0, 1)),
    ("FusedMatMul", [drawn(2, 3, 4), drawn(3, 4, 5)], {"transBatchA": 1}, 1, (0, 1)),
    (
        "FusedGemm",
        [X[0], drawn(4, 5)],
        {"activation": "LeakyRelu", "activation_alpha": 0.1},
        1,
        (0,),
    ),
    ("FusedConv", [drawn(1, 3, 6), drawn(5, 3, 2)], {"activation": "Tanh"}, 1, (0, 1)),
    ("SkipLayerNormalization", [X, Y, BIAS, drawn(4), drawn(4)], {}, 1, (0, 1, 2, 3, 4)),
    ("SkipSimplifiedLayerNormalization", [X, Y, BIAS], {"epsilon": 1e-5}, 1, (0, 1, 2)),
    ("Trilu", [X, np.array(0, np.int64)], {"upper": 0}, 1, (0,)),
    ("ExpandDims", [X, np.array(1, np.int32)], {}, 1, (0,)),
    ("Pad", [X, np.array([0, 1, 0, 0, 0, 2], np.int64)], {}, 1, (0,)),
    ("GatherND", [X, np.array([[0, 1], [1, 2]], np.int64)], {}, 1, (0,)),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)])
def test_gradients(case: Any) -> None:
    check(*case)


def test_sums_and_lengths_are_results_too() -> None:
    ids = np.array([[1, 2, 0], [3, 1, 2]], np.int32)
    tables = [drawn(5, 4), drawn(6, 4), drawn(2, 4)]
    mask = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    inputs = [ids, ids % 2, *tables, BIAS, drawn(4), mask]
    check("EmbedLayerNormalization", inputs, {"epsilon": 1e-6}, 2, by=(2, 3, 4, 5, 6))
    check("EmbedLayerNormalization", inputs[:7], {"epsilon": 1e-6}, 2, by=(2, 3, 4, 5, 6))
    model = tf.import_onnx(model_of("EmbedLayerNormalization", inputs, {}, 2))
    given = {f"i{k}": x for k, x in enumerate(inputs)}
    assert model(**given)["o1"].numpy().tolist() == [2, 3]
    proto = model_of("SkipLayerNormalization", [X, Y, BIAS, BIAS], {}, 4)
    found = tf.import_onnx(proto)(X, Y, BIAS, BIAS)
    np.testing.assert_array_equal(found["o3"], X + Y)


def test_inverse() -> None:
    a = tf.constant(drawn(2, 3, 3) + 3 * np.eye(3, dtype=np.float32))
    model = tf.import_onnx(model_of("Inverse", [a.numpy()], {}))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(a)
        found, expected = tf.reduce_sum(model(a) ** 2), tf.reduce_sum(tf.linalg.inv(a) ** 2)
    np.testing.assert_allclose(tape.gradient(found, a), tape.gradient(expected, a), rtol=1e-3)


def test_types_without_a_kernel_are_written_with_standard_operators() -> None:
    model = tf.import_onnx(
        model_of("BiasGelu", [X.astype(np.float64), BIAS.astype(np.float64)], {})
    )
    assert {n.domain for n in model.as_onnx().graph.node} == {""}
    expected = tf.nn.gelu(tf.constant(X.astype(np.float64)) + BIAS.astype(np.float64))
    np.testing.assert_allclose(model(X.astype(np.float64), BIAS.astype(np.float64)), expected, 1e-5)


def test_bundles_say_which_domains_they_need(tmp_path: Any) -> None:
    model = tf.import_onnx(model_of("BiasGelu", [X, BIAS], {}))
    tf.saved_model.save(model, tmp_path / "m")
    assert tf.loaders.summarize(tmp_path / "m").as_json()["requirements"]["domains"] == {
        "com.microsoft": 1
    }
    loaded = tf.saved_model.load(tmp_path / "m")
    x = tf.constant(X)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        found, expected = loaded(x, BIAS), model(x, BIAS)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(tape.gradient(found, x), tape.gradient(expected, x), rtol=1e-6)
    assert tf.loaders.verify(tmp_path / "m").is_ok
