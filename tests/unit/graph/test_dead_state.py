"""Branches and loops give up what nobody uses, and nothing else."""

from __future__ import annotations

import numpy as np

import tfx as tf
from tfx.graph.passes.dead_state import remove_dead_state
from tfx.graph.passes.pipeline import prepare
from tfx.graph.verify import verify


def _control(f, *args):
    graph = f.get_concrete_function(*args).graph.graph
    verify(remove_dead_state(graph))
    (node,) = [n for n in prepare(graph).nodes if n.op in ("If", "Loop")]
    return node


def test_results_of_branches():
    @tf.function
    def f(x):
        a, _, c = tf.cond(x > 0, lambda: (x, x * 2, x * 3), lambda: (x * 4, x * 5, x * 6))
        return c - a

    node = _control(f, tf.constant(1.0))
    assert len(node.outputs) == 2
    assert [len(b.nodes) for b in node.bodies()] == [1, 2]
    assert f(tf.constant(1.0)).numpy() == 2.0


def test_state_of_loops():
    v = tf.Variable(1.0)

    @tf.function
    def f(n):
        def body(i, a, b, c, ta):
            return i + 1, a * 2.0, b + a, c + 1.0, ta.write(i, a)

        ta = tf.TensorArray(tf.float32, size=n)
        _, _, b, _, _ = tf.while_loop(lambda i, *_: i < n, body, (0, v, 0.0, 0.0, ta))
        return b

    node = _control(f, tf.constant(4))
    # a (which b needs) and b; neither the counter nor c nor the array.
    assert len(node.outputs) == len(node.inputs) - 2 == 2
    assert f(tf.constant(4)).numpy() == 15.0


def test_effects_stay(capsys):
    @tf.function
    def f(n):
        def body(i, unused):
            tf.print("at", i)
            return i + 1, unused * 2

        return tf.while_loop(lambda i, _: i < n, body, (0, 1))[0]

    assert f(tf.constant(2)).numpy() == 2
    assert capsys.readouterr().err.split("\n")[:2] == ["at 0", "at 1"]


def test_nested():
    @tf.function
    def f(n):
        def body(i, a, b):
            c, d = tf.cond(i > 1, lambda: (a + 1, b * 2), lambda: (a, b))
            return i + 1, c, d

        return tf.while_loop(lambda i, *_: i < n, body, (0, 0, 1))[1]

    node = _control(f, tf.constant(4))
    assert len(node.outputs) == 1
    (inner,) = [n for n in node.attrs["body"].nodes if n.op == "If"]
    assert len(inner.outputs) == 1
    np.testing.assert_array_equal(f(tf.constant(4)).numpy(), 2)


def test_branches_in_branches():
    """Each is narrowed once: forty of them took for ever, and more did not fit into a file."""

    def steps(x, i, depth):
        if depth == 0:
            return x
        return tf.cond(i > depth, lambda: steps(x + 1, i, depth - 1), lambda: _doubled(x))

    def _doubled(x):
        return tf.while_loop(lambda j, _: j < 3, lambda j, y: (j + 1, y + x), (0, x))[1]

    f = tf.function(lambda x, i: steps(x, i, 40), autograph=False)
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x, tf.constant(38))
    assert float(y) == 4.0
    assert float(tape.gradient(y, x)) == 4.0
    assert float(f(x, tf.constant(50))) == 41.0
