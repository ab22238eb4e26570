"""What is computed while a graph is prepared, and what is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import tfx as tf
from tfx.graph.ir import Graph
from tfx.graph.passes import fold_constants as fold
from tfx.graph.passes.dead_code import remove_dead_nodes
from tfx.graph.passes.fold_constants import fold_constants
from tfx.graph.passes.pipeline import prepare

FLOAT, INT64 = 1, 7


def folded(graph: Graph) -> Graph:
    return remove_dead_nodes(fold_constants(graph))


def traced(function: Any, *specs: Any) -> Graph:
    return tf.function(function).get_concrete_function(*specs).graph.graph


def ops(graph: Graph) -> list[str]:
    return [n.op for part in (graph, *graph.subgraphs()) for n in part.nodes]


def chain(*arrays: Any, op: str = "Add", out: Any = None, attrs: Any = None) -> Graph:
    """One node of constants alone."""
    graph = Graph("chain")
    values = [graph.add_constant(a, FLOAT) for a in arrays]
    shape = np.broadcast_shapes(*[a.shape for a in arrays]) if out is None else out
    graph.outputs = list(graph.add_node(op, values, attrs or {}, [(FLOAT, shape)]).outputs)
    return graph


def test_the_kernels_own_results() -> None:
    x = np.linspace(-3, 3, 7, dtype=np.float32)
    graph = folded(chain(x, op="Erf", out=(7,)))
    assert graph.nodes == []
    (value,) = graph.outputs
    assert value.const is not None
    np.testing.assert_array_equal(value.const, tf.math.erf(tf.constant(x)))
    assert not value.const.flags.writeable


def test_chains_of_constants_leave_only_their_end() -> None:
    def f(x: Any) -> Any:
        scale = tf.exp(tf.constant([1.0, 2.0])) * tf.sqrt(tf.constant(2.0))
        return x * scale + tf.reduce_sum(scale)

    graph = folded(traced(f, tf.TensorSpec([2])))
    assert ops(graph) == ["Mul", "Add"]
    assert len(graph.constants) == 2
    x = tf.constant([3.0, 4.0])
    np.testing.assert_array_equal(tf.function(f)(x), f(x))


def test_sizes_need_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fold, "Session", None)

    def f(x: Any) -> Any:
        n = tf.shape(x)[0] * tf.shape(x)[1]
        return tf.reshape(x, [n]), n + 1

    graph = folded(traced(f, tf.TensorSpec([2, 3])))
    assert "Shape" not in ops(graph)
    partly = folded(traced(lambda x: tf.shape(x)[1] + 1, tf.TensorSpec([None, 3])))
    assert ops(partly) == []


def test_nothing_is_computed_twice() -> None:
    made = []

    class Counting(fold.Session):
        def __init__(self, *args: Any, **options: Any) -> None:
            made.append(1)
            super().__init__(*args, **options)

    x = np.array([0.123456], np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fold, "Session", Counting)
        for _ in range(3):
            folded(chain(x, op="Sin", out=(1,)))
        assert len(made) == 1
        folded(chain(x, op="Cos", out=(1,)))
        folded(chain(x + 1, op="Sin", out=(1,)))
    assert len(made) == 3


@pytest.mark.parametrize("op", ["RandomUniformLike", "Bernoulli", "Identity"])
def test_random_numbers_and_copies_stay(op: str) -> None:
    graph = folded(chain(np.ones(2, np.float32), op=op))
    assert ops(graph) == [op]


def test_host_calls_and_calls_stay() -> None:
    def f() -> Any:
        return tf.py_function(lambda a: a + 1.0, [tf.constant(1.0)], tf.float32)

    assert "Host" in ops(folded(traced(f)))
    quantized = Graph("quantized")
    x = quantized.add_constant(np.ones(2, np.int8), 3)
    scale = quantized.add_constant(np.ones((), np.float32), FLOAT)
    node = quantized.add_node("DequantizeLinear", [x, scale], {}, [(FLOAT, (2,))])
    quantized.outputs = list(node.outputs)
    assert ops(folded(quantized)) == ["DequantizeLinear"]


def test_sizes_are_bounded() -> None:
    shape = np.array([100, 100], np.int64)
    graph = Graph("large")
    value = graph.add_constant(shape, INT64)
    graph.outputs = list(
        graph.add_node("ConstantOfShape", [value], {}, [(FLOAT, (100, 100))]).outputs
    )
    assert ops(folded(graph)) == ["ConstantOfShape"]
    big = np.ones(1 << 19, np.float32)
    assert ops(folded(chain(big, op="Exp"))) == ["Exp"]
    assert ops(folded(chain(big, op="ReduceSum", out=(1,)))) == ["ReduceSum"]
    assert ops(folded(chain(np.ones(1000, np.float32), op="Exp"))) == []


def test_unknown_sizes_stay() -> None:
    graph = chain(np.array([0, 1], np.float32), op="NonZero", out=(1, None))
    graph.nodes[0].outputs[0].dtype = INT64
    assert ops(folded(graph)) == ["NonZero"]


def test_what_a_kernel_refuses_is_for_the_run() -> None:
    def f(x: Any) -> Any:
        table = tf.constant([1, 2, 3])
        return x + tf.cast(tf.gather(table, tf.constant(7) * 2), tf.float32)

    graph = traced(f, tf.TensorSpec([]))
    assert "Gather" in ops(folded(graph))
    with pytest.raises(tf.errors.OpError):
        tf.function(f)(tf.constant(1.0))


def test_bodies_and_callees() -> None:
    inner = tf.function(lambda a: a * tf.exp(tf.constant([1.0, 2.0])))

    def f(x: Any) -> Any:
        for _ in tf.range(2):
            x = inner(x) + tf.sin(tf.constant([3.0, 4.0]))
        return tf.cond(tf.reduce_sum(x) > 0, lambda: x * tf.cos(tf.constant(1.0)), lambda: x)

    graph = folded(traced(f, tf.TensorSpec([2])))
    assert not {"Exp", "Sin", "Cos"} & set(ops(graph))
    x = tf.constant([1.0, 2.0])
    np.testing.assert_array_equal(tf.function(f)(x), f(x))


def test_branches_too_which_onnx_runtime_leaves(tmp_path: Any) -> None:
    """And in what is saved, where stock ONNX Runtime finds the constant as an initializer."""

    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([2])])
        def f(self, x: Any) -> Any:
            return x * tf.exp(tf.constant([1.0, 2.0]))

    tf.saved_model.save(Model(), str(tmp_path / "m"))
    session = onnxruntime.InferenceSession(tmp_path / "m" / "serving_default.onnx")
    (found,) = session.run(None, {"x": np.ones(2, np.float32)})
    np.testing.assert_allclose(found, np.exp([1.0, 2.0]), rtol=1e-6)
    model = onnx.load(tmp_path / "m" / "serving_default.onnx")
    assert [n.op_type for n in model.graph.node] == ["Mul"]


def test_after_other_kernels_were_put_in() -> None:
    def f(x: Any) -> Any:
        half = tf.cast(tf.constant([1.5, 2.5]) * 2.0, tf.bfloat16)
        return x + tf.cast(half + half, tf.float32)

    assert ops(prepare(traced(f, tf.TensorSpec([2])))) == ["Add"]
    np.testing.assert_array_equal(tf.function(f)(tf.zeros([2])), [6.0, 10.0])
