"""``tf.cond``: TensorFlow's semantics, state, shapes, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf


@pytest.mark.parametrize("x", [3.0, -3.0])
def test_one_function_runs(run, x):
    f = lambda x: tf.cond(x > 0, lambda: x * 2.0, lambda: -x)  # noqa: E731
    assert run(f, tf.constant(x)).numpy() == (2 * x if x > 0 else -x)


def test_structures_come_back_as_they_were(run):
    def f(x):
        return tf.cond(
            x > 0, lambda: {"a": (x, [1]), "b": None}, lambda: {"a": (-x, [2]), "b": None}
        )

    result = run(f, tf.constant(-2))
    assert result["a"][0].numpy() == 2
    assert isinstance(result["a"], tuple)
    assert int(result["a"][1][0]) == 2
    assert result["b"] is None


@pytest.mark.parametrize("flag", [True, False])
def test_a_variable_assigned_in_one_branch_keeps_its_value_in_the_other(run, flag):
    v, w = tf.Variable(1.0), tf.Variable([1.0, 2.0])

    def f(flag):
        def yes():
            v.assign_add(1.0)
            return v * 10.0

        def no():
            w.assign(w * v)
            return v.value()

        return tf.cond(flag, yes, no) + v

    assert run(f, tf.constant(flag)).numpy() == (22.0 if flag else 2.0)
    assert v.numpy() == (2.0 if flag else 1.0)


def test_branches_without_results_act(run):
    v = tf.Variable(0)

    def f(x):
        tf.cond(x > 0, lambda: v.assign(1), lambda: v.assign(-1))

    run(f, tf.constant(-5.0))
    assert v.numpy() == -1


def test_only_the_branch_taken_runs(run, capsys):
    def f(x):
        return tf.cond(x > 0, lambda: tf.print("yes"), lambda: tf.print("no"))

    run(f, tf.constant(1.0))
    assert capsys.readouterr().err.split() == ["yes"]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [([2], [2], [2]), ([2], [3], [None]), ([2, 3], [4, 3], [None, 3]), ([2], [2, 3], None)],
)
def test_the_shape_is_what_both_have_in_common(a, b, expected):
    @tf.function
    def f(x):
        y = tf.cond(x > 0, lambda: tf.zeros(a), lambda: tf.zeros(b))
        assert y.shape == tf.TensorShape(expected) or (y.shape.rank is expected is None)
        return y

    assert f(tf.constant(1.0)).shape == a
    assert f(tf.constant(-1.0)).shape == b


@pytest.mark.parametrize("pred", [tf.constant(2), tf.constant([True]), tf.constant(0.5)])
def test_numbers_and_single_elements_are_conditions(run, pred):
    assert run(lambda p: tf.cond(p, lambda: 1, lambda: 2), pred) == 1


def test_nested_and_in_called_functions(run):
    @tf.function
    def sign(x):
        return tf.cond(x > 0, lambda: 1, lambda: tf.cond(x < 0, lambda: -1, lambda: 0))

    f = lambda x: tf.cond(x > 10, lambda: sign(x) * 10, lambda: sign(x))  # noqa: E731
    assert [int(run(f, tf.constant(x))) for x in (11, 3, 0, -3)] == [10, 1, 0, -1]


def test_an_if_node_is_made_once():
    f = tf.function(lambda x: tf.cond(x > 0, lambda: x, lambda: -x))
    nodes = f.get_concrete_function(tf.constant(1.0)).graph.graph.nodes
    assert [n.op for n in nodes] == ["Greater", "If"]


def _graph(true_fn, false_fn, pred=None):
    pred = tf.constant(True) if pred is None else pred
    return tf.function(lambda p: tf.cond(p, true_fn, false_fn))(pred)


@pytest.mark.parametrize(
    ("a", "b", "error"),
    [
        (lambda: (1, 2), lambda: 1, TypeError),
        (lambda: [1], lambda: (1,), TypeError),
        (lambda: 1, lambda: 1.0, TypeError),
        (lambda: None, lambda: 1.0, ValueError),
        (lambda: {"a": 1}, lambda: {"b": 1}, TypeError),
    ],
    ids=["form", "kind", "dtype", "none", "keys"],
)
def test_results_must_agree(a, b, error):
    with pytest.raises(error, match="same number, type, and overall structure") as caught:
        _graph(a, b)
    # Both sides, with their lines.
    assert str(caught.value).count("test_cond.py:") >= 2


def test_refusals():
    with pytest.raises(TypeError, match="'true_fn' must be callable; got 1"):
        tf.cond(tf.constant(True), 1, lambda: 2)
    with pytest.raises(TypeError, match="'false_fn' must be callable"):
        tf.cond(tf.constant(True), lambda: 1)
    with pytest.raises(TypeError, match="pred must not be a Python bool"):
        tf.function(lambda: tf.cond(True, lambda: 1, lambda: 2))()
    with pytest.raises(ValueError, match="pred must be a scalar"):
        _graph(lambda: 1, lambda: 2, tf.constant([True, False]))
    with pytest.raises(TypeError, match="pred must be a bool or a number"):
        _graph(lambda: 1, lambda: 2, tf.constant("yes"))


def test_a_tensor_of_a_branch_cannot_be_used_outside():
    kept = []

    def f(x):
        tf.cond(x > 0, lambda: kept.append(x + 1) or x, lambda: x)
        return kept[0] * 2

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"branch or loop body.*Return it"):
        tf.function(f)(tf.constant(1.0))


def test_float64_functions_without_kernels_in_branches():
    x = np.array([0.3, -0.7])

    @tf.function
    def f(x):
        return tf.cond(x[0] > 0, lambda: tf.math.erf(x), lambda: tf.tan(x))

    np.testing.assert_allclose(f(x).numpy(), tf.math.erf(x).numpy())
    np.testing.assert_allclose(f(-x).numpy(), np.tan(-x))
