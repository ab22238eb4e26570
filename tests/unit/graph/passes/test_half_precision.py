"""The pass that computes products and convolutions in half precision."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tfx as tf
from tfx.core import dtypes
from tfx.graph.ir import Graph
from tfx.graph.passes.dead_code import remove_dead_nodes
from tfx.graph.passes.half_precision import use_half_precision
from tfx.graph.passes.pipeline import prepare

FLOAT16 = dtypes.float16.onnx


def rewritten(function: Any, *specs: tf.TensorSpec, dtype: int = FLOAT16) -> Graph:
    graph = tf.function(function).get_concrete_function(*specs).graph.graph
    return remove_dead_nodes(use_half_precision(prepare(graph), dtype))


def precisions(graph: Graph) -> list[str]:
    return [
        f"{node.op}:{dtypes.from_onnx(node.outputs[0].dtype).name}"
        for node in graph.nodes
        if node.op != "Cast"
    ]


MATRIX = tf.TensorSpec([4, 4])


def test_what_stands_between_products_follows() -> None:
    graph = rewritten(lambda x, w: tf.nn.relu(x @ w + 1.0) @ w, MATRIX, MATRIX)
    assert precisions(graph) == ["MatMul:float16", "Add:float16", "Relu:float16", "MatMul:float16"]
    # Each of the two arguments, and the constant, once; and the result.
    assert sum(node.op == "Cast" for node in graph.nodes) == 4
    assert [dtypes.from_onnx(v.dtype).name for v in graph.outputs] == ["float32"]


def test_what_leads_to_no_product_stays() -> None:
    def step(x: Any, w: Any) -> Any:
        gradient = tf.transpose(x) @ (x @ w)
        return w - 0.1 * gradient, tf.reduce_sum(tf.exp(x @ w))

    found = precisions(rewritten(step, MATRIX, MATRIX))
    assert "Mul:float32" in found
    assert "Sub:float32" in found
    assert "Exp:float32" in found
    assert found.count("MatMul:float16") >= 2


def test_bodies_and_other_dtypes() -> None:
    def f(x: Any, w: Any, wide: Any) -> Any:
        y = x @ w
        for _ in tf.range(3):
            y = tf.nn.relu(y @ w) @ w
        chosen = tf.cond(tf.reduce_sum(y) > 0, lambda: y @ w, lambda: y)
        return chosen, wide @ wide

    graph = rewritten(f, MATRIX, MATRIX, tf.TensorSpec([4, 4], tf.float64))
    assert "MatMul:float64" in precisions(graph)
    (loop,) = (n for n in graph.nodes if n.op in ("Loop", "Scan"))
    (body,) = (b for b in loop.attrs.values() if isinstance(b, Graph))
    assert precisions(body).count("MatMul:float16") == 2
    assert all(v.dtype != FLOAT16 for v in (*body.inputs, *body.outputs))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("batch", [0, 3])
def test_results(dtype: str, batch: int, rng: np.random.Generator) -> None:
    filters = tf.Variable(rng.standard_normal((3, 3, 2, 4)).astype(np.float32))
    weights = tf.Variable(rng.standard_normal((36, 5)).astype(np.float32))

    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, filters, 1, "SAME")), 2, 2, "VALID")
            y = tf.concat([tf.reshape(y, [-1, 36]), tf.reshape(y, [-1, 36])], 0) @ weights
            loss = tf.reduce_sum(tf.tanh(y * 0.1))
        return y, *tape.gradient(loss, [filters, weights])

    x = tf.constant(rng.standard_normal((batch, 6, 6, 2)).astype(np.float32))
    expected = tf.function(f)(x)
    option = {
        "float16": "auto_mixed_precision_cpu",
        "bfloat16": "auto_mixed_precision_onednn_bfloat16",
    }[dtype]
    set_options = tf.config.optimizer.set_experimental_options
    set_options({option: True})
    try:
        found = tf.function(f)(x)
    finally:
        set_options({option: False})
    step = float(ml_dtypes.finfo(dtype).eps)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype is tf.float32
        size = max(1.0, float(np.abs(b.numpy()).max(initial=0)))
        np.testing.assert_allclose(a.numpy(), b.numpy(), atol=12 * step * size)
        if batch:
            assert not np.array_equal(a.numpy(), b.numpy())


def test_options_are_checked() -> None:
    set_options = tf.config.optimizer.set_experimental_options
    with pytest.raises(ValueError, match="There is no option 'mixed_precision'"):
        set_options({"mixed_precision": True})
    with pytest.raises(TypeError, match="'auto_mixed_precision' is a bool; got 1"):
        set_options({"auto_mixed_precision": 1})
    before = tf.config.optimizer.get_experimental_options()
    set_options({"min_graph_nodes": 4})
    assert tf.config.optimizer.get_experimental_options() == {**before, "min_graph_nodes": 4}


def test_what_is_saved_is_not_rewritten(tmp_path: Any) -> None:
    import onnx

    model = tf.Module()
    model.w = tf.Variable(tf.ones([2, 2]))
    model.f = tf.function(lambda x: x @ model.w, input_signature=[tf.TensorSpec([None, 2])])
    tf.config.optimizer.set_experimental_options({"auto_mixed_precision_cpu": True})
    try:
        model.f(tf.ones([1, 2]))
        tf.saved_model.save(model, tmp_path / "bundle", signatures={"f": model.f})
    finally:
        tf.config.optimizer.set_experimental_options({"auto_mixed_precision_cpu": False})
    graph = onnx.load(tmp_path / "bundle" / "f.onnx").graph
    assert [node.op_type for node in graph.node] == ["MatMul"]
