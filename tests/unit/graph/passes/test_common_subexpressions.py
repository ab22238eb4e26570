"""What is computed once, and what must not be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.graph.ir import Graph
from tfx.graph.passes.common_subexpressions import eliminate_common
from tfx.graph.passes.dead_code import remove_dead_nodes
from tfx.graph.tags import Mark

FLOAT, INT64 = 1, 7


def shared(graph: Graph) -> Graph:
    return remove_dead_nodes(eliminate_common(graph))


def traced(function: Any, *specs: Any) -> Graph:
    return tf.function(function).get_concrete_function(*specs).graph.graph


def ops(graph: Graph) -> list[str]:
    return [n.op for part in (graph, *graph.subgraphs()) for n in part.nodes]


def two(op: str, attrs: Any = None, other: Any = None, *, count: int = 1) -> Graph:
    """Two nodes of one input, and their sum."""
    graph = Graph("two")
    x = graph.add_input("x", FLOAT, (2,))
    made = [
        graph.add_node(op, [x] * count, given or {}, [(FLOAT, (2,))]).outputs[0]
        for given in (attrs, attrs if other is None else other)
    ]
    graph.outputs = [graph.add_node("Add", made, {}, [(FLOAT, (2,))]).outputs[0]]
    return graph


def test_equal_nodes_are_one() -> None:
    graph = shared(two("Exp"))
    assert ops(graph) == ["Exp", "Add"]
    assert graph.nodes[1].inputs == (graph.nodes[0].outputs[0],) * 2


@pytest.mark.parametrize(
    ("one", "other"),
    [({"alpha": 1.0}, {"alpha": 2.0}), ({"alpha": 0.0}, {"alpha": -0.0})],
    ids=["values", "signs of zero"],
)
def test_attributes_must_be_equal(one: Any, other: Any) -> None:
    assert ops(shared(two("LeakyRelu", one, other))) == ["LeakyRelu", "LeakyRelu", "Add"]
    assert ops(shared(two("LeakyRelu", one))) == ["LeakyRelu", "Add"]


def test_tags_random_numbers_and_effects_are_left_alone() -> None:
    graph = two("Identity")
    graph.nodes[0].tag = Mark.STOP_GRADIENT
    assert ops(shared(graph)) == ["Identity", "Identity", "Add"]
    assert ops(shared(two("RandomUniformLike"))).count("RandomUniformLike") == 2
    assert ops(shared(two("Bernoulli"))).count("Bernoulli") == 2

    def prints(x: Any) -> Any:
        tf.print(x)
        tf.print(x)
        return x

    assert ops(eliminate_common(traced(prints, tf.TensorSpec([])))).count("Host") == 2


def test_random_draws_of_the_library_stay_different() -> None:
    @tf.function
    def f() -> Any:
        return tf.random.normal([4]) - tf.random.normal([4])

    assert np.all(f().numpy() != 0.0)


def test_the_order_of_operands() -> None:
    graph = traced(
        lambda x, y: (x + y) * (y + x) - (x - y) * (y - x), tf.TensorSpec([]), tf.TensorSpec([])
    )
    assert sorted(ops(shared(graph))) == ["Add", "Mul", "Mul", "Sub", "Sub", "Sub"]


def test_chains_meet() -> None:
    def f(x: Any) -> Any:
        return tf.exp(tf.sin(x) * 2.0) + tf.exp(2.0 * tf.sin(x))

    assert sorted(ops(shared(traced(f, tf.TensorSpec([2]))))) == ["Add", "Exp", "Mul", "Sin"]


def test_forward_and_backward_meet() -> None:
    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.exp(x) + tf.sin(x))
        return tape.gradient(y, x) + tf.exp(x) * tf.cos(x)

    found = ops(shared(traced(f, tf.TensorSpec([2]))))
    assert found.count("Exp") == 1
    assert found.count("Cos") == 1


def test_calls_of_one_function_are_shared_and_the_function_stays_one() -> None:
    inner = tf.function(lambda a: tf.exp(a) * tf.exp(a))
    graph = shared(traced(lambda x: inner(x) + inner(x) * inner(x + 1.0), tf.TensorSpec([2])))
    calls = [n for n in graph.nodes if n.op == "Call"]
    assert len(calls) == 2
    assert calls[0].attrs["graph"] is calls[1].attrs["graph"]
    assert ops(calls[0].attrs["graph"]) == ["Exp", "Mul"]


def test_bodies_use_what_is_there_but_not_what_another_branch_has() -> None:
    def f(x: Any) -> Any:
        y = tf.exp(x)
        return y + tf.cond(
            tf.reduce_sum(x) > 0.0,
            lambda: tf.exp(x) + tf.sin(x) * tf.sin(x),
            lambda: tf.sin(x) + tf.cos(x),
        )

    graph = shared(traced(f, tf.TensorSpec([2])))
    found = ops(graph)
    assert found.count("Exp") == 1
    assert found.count("Sin") == 2  # once in each branch
    function = tf.function(f)
    for value in (1.0, -1.0):
        x = tf.constant([value, 0.5])
        np.testing.assert_allclose(function(x), f(x), rtol=1e-6)


def test_what_a_branch_computes_is_not_used_behind_it() -> None:
    def f(x: Any) -> Any:
        y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.exp(x), lambda: x)
        return y + tf.exp(x)

    assert ops(shared(traced(f, tf.TensorSpec([2])))).count("Exp") == 2


def test_loops_take_what_does_not_change_from_outside() -> None:
    def f(x: Any) -> Any:
        y = tf.exp(x)
        for _ in tf.range(3):
            y = y + tf.exp(x) * y
        return y

    assert ops(shared(traced(f, tf.TensorSpec([2])))).count("Exp") == 1


def test_constants() -> None:
    graph = Graph("constants")
    x = graph.add_input("x", FLOAT, (2,))
    arrays = [np.float32(1.0), np.float32(1.0), np.float32(-0.0), np.float32(0.0)]
    arrays += [np.array([1], np.float32), np.array([np.nan], np.float32)]
    arrays += [np.array([np.nan], np.float32)]
    large = np.ones(2000, np.float32)
    arrays += [large, large, large.copy()]
    values = [graph.add_constant(np.asarray(a), FLOAT) for a in arrays]
    graph.add_constant(np.ones((), np.float64), 11)
    for value in values:
        x = graph.add_node("Add", [x, value], {}, [(FLOAT, (2,))]).outputs[0]
    graph.outputs = [x]
    kept = eliminate_common(graph).constants
    assert len(kept) == 8  # equal small ones, and the same array; types and shapes count


def test_what_is_less_precisely_known_does_not_replace() -> None:
    graph = Graph("shapes")
    x = graph.add_input("x", FLOAT, None)
    first = graph.add_node("Exp", [x], {}, [(FLOAT, None)]).outputs[0]
    second = graph.add_node("Exp", [x], {}, [(FLOAT, (2, None))]).outputs[0]
    third = graph.add_node("Exp", [x], {}, [(FLOAT, None)]).outputs[0]
    graph.outputs = [first, second, third]
    assert eliminate_common(graph).outputs == [first, second, first]


def test_two_results_that_are_one_value() -> None:
    f = tf.function(lambda x: (tf.exp(x), tf.exp(x), {"again": tf.exp(x)}))
    a, b, c = f(tf.constant([1.0]))
    assert a.numpy() == b.numpy() == c["again"].numpy()


def test_states_of_one_value_stay_apart() -> None:
    v, w = tf.Variable(1.0), tf.Variable(2.0)

    @tf.function
    def f(x: Any) -> None:
        v.assign(x * 2.0)
        w.assign(x * 2.0)

    f(tf.constant(3.0))
    v.assign_add(1.0)
    assert (v.numpy(), w.numpy()) == (7.0, 6.0)


@pytest.mark.parametrize(
    ("there", "stays"), [("int64", False), ("float64", False), ("float32", True), ("int16", True)]
)
def test_a_cast_that_undoes_another_is_its_operand(there: str, stays: bool) -> None:
    """ONNX Runtime 1.32 forgot a body that used such a value."""

    @tf.function(autograph=False)
    def f(x: Any) -> Any:
        y = tf.cast(tf.cast(x, there), tf.int32)
        return tf.while_loop(lambda i, _: i < 2, lambda i, _: (i + 1, y), (0, 2 * y))[1]

    x = tf.constant([1, 2])
    assert f(x).numpy().tolist() == [1, 2]
    graph = shared(f.get_concrete_function(x).graph.graph)
    assert (ops(graph).count("Cast") > 0) == stays
