"""Functions that call functions: a node and a local function, captures, shapes, leaks."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import LeakedTensorError
from tfx.framework.context import using
from tfx.framework.func_graph import FuncGraph
from tfx.graph import ir


def _calls(concrete):
    return [n for n in concrete.graph.graph.nodes if n.op == ir.CALL]


def test_a_call_is_one_node():
    inner = tf.function(lambda x: tf.sin(x) * tf.cos(x) + 1.0)
    outer = tf.function(lambda x: inner(inner(x)) + inner(x))
    concrete = outer.get_concrete_function(tf.TensorSpec([None], tf.float32))
    assert len(concrete.graph.graph.nodes) == 4
    assert len(_calls(concrete)) == 3
    assert len({id(n.attrs["graph"]) for n in _calls(concrete)}) == 1
    x = np.array([0.5, 1.0], np.float32)
    np.testing.assert_allclose(
        concrete(x), inner(inner(tf.constant(x))) + inner(tf.constant(x)), rtol=1e-6
    )


def test_call_nodes_know_the_users_line():
    inner = tf.function(lambda x: x + 1.0)

    def outer(x):
        return inner(x)  # the line

    concrete = tf.function(outer).get_concrete_function(tf.TensorSpec([], tf.float32))
    (node,) = _calls(concrete)
    assert node.source.line == outer.__code__.co_firstlineno + 1


def test_shapes_pass_through_calls():
    inner = tf.function(lambda x, y: tf.matmul(x, y))
    inner.get_concrete_function(tf.TensorSpec(["n", "k"]), tf.TensorSpec(["k", "m"]))

    @tf.function
    def outer(x, y):
        z = inner(x, y)
        assert z.shape.as_list() == [None, 4]
        assert z.shape.symbolic[0] == "batch"
        return z

    outer.get_concrete_function(tf.TensorSpec(["batch", 3]), tf.TensorSpec([3, 4]))
    assert inner.experimental_get_tracing_count() == 1


def test_closures_over_tensors_of_the_function_around():
    @tf.function
    def outer(x):
        y = x * 2.0

        @tf.function
        def inner(z):
            @tf.function
            def innermost(w):
                return w + y + x

            return innermost(z) * y

        return inner(x) + inner(y)

    assert float(outer(tf.constant(1.0))) == 8.0 + 10.0
    assert float(outer(tf.constant(2.0))) == 32.0 + 40.0


def test_a_function_traced_inside_another_is_good_only_there():
    holder = {}

    @tf.function
    def inner(x):
        return x + holder["y"]

    @tf.function
    def outer(x, n):
        holder["y"] = x * float(n)
        return inner(x) + inner(tf.constant(1.0))

    assert float(outer(tf.constant(1.0), 2)) == 3.0 + 3.0
    assert float(outer(tf.constant(1.0), 3)) == 4.0 + 4.0
    holder["y"] = tf.constant(10.0)
    assert float(inner(tf.constant(1.0))) == 11.0


def test_eager_tensors_inside_calls():
    c = tf.constant(10.0)
    inner = tf.function(lambda x: x * c)
    outer = tf.function(lambda x: inner(x) + inner(c))
    assert float(outer(tf.constant(2.0))) == 120.0


def test_python_arguments_and_structures_of_inner_calls():
    inner = tf.function(lambda d, flag: {"r": d["x"] * 2.0 if flag else d["x"], "n": None})
    outer = tf.function(lambda x: (inner({"x": x}, True), inner({"x": x}, False)))
    first, second = outer(tf.constant(3.0))
    assert (float(first["r"]), float(second["r"]), first["n"]) == (6.0, 3.0, None)


def test_calls_without_results_or_effects_vanish():
    inner = tf.function(lambda x: None)
    outer = tf.function(lambda x: (inner(x), x + 1.0)[1])
    assert float(outer(tf.constant(1.0))) == 2.0


def test_repeated_and_passed_through_results():
    inner = tf.function(lambda x, y: (x, x, y, y + x, tf.constant(1.0)))
    outer = tf.function(lambda x, y: inner(y, x) + inner(x, y))
    results = [float(r) for r in outer(tf.constant(2.0), tf.constant(5.0))]
    assert results == [5.0, 5.0, 2.0, 7.0, 1.0, 2.0, 2.0, 5.0, 7.0, 1.0]


def test_leaked_tensors():
    leaked = []
    f = tf.function(lambda x: leaked.append(x + 1.0) or x)
    f(tf.constant(1.0))
    use = tf.function(lambda x: x + leaked[0])
    for wrong in (lambda: leaked[0] + 1.0, lambda: use(tf.constant(1.0))):
        with pytest.raises(LeakedTensorError, match=r"'add:0'.*'lambda'.*leaked out of the trace"):
            wrong()
    assert isinstance(leaked[0], tf.Tensor)


def test_returning_a_leaked_tensor():
    leaked = []
    tf.function(lambda x: leaked.append(x + 1.0) or x)(tf.constant(1.0))
    with pytest.raises(LeakedTensorError):
        tf.function(lambda: leaked[0])()


def test_a_function_that_calls_itself_with_other_python_arguments():
    @tf.function
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    assert float(power(tf.constant(2.0), 5)) == 32.0
    assert power.experimental_get_tracing_count() == 5


def test_concrete_functions_inside_a_trace():
    concrete = tf.function(lambda x, k=2: x * k).get_concrete_function(tf.TensorSpec([None]))
    graph = FuncGraph("outer")
    with using(graph=graph):
        x = graph.add_argument("x", 1, ("n",))
        y = concrete(x)
    assert y.shape.symbolic == ("n",)


def test_deep_nesting():
    f = tf.function(lambda x: x + 1.0)
    for _ in range(10):
        f = tf.function(lambda x, g=f: g(g(x)))
    assert float(f(tf.constant(0.0))) == 1024.0
