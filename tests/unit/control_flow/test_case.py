"""``tf.case`` and ``tf.switch_case``."""

from __future__ import annotations

import pytest

import tfx as tf

c = tf.constant


@pytest.mark.parametrize(("x", "expected"), [(-5, 0), (1, 1), (5, 2), (50, 3)])
def test_case_takes_the_first_true_condition(run, x, expected):
    def f(x):
        pairs = [(x < 0, lambda: c(0)), (x < 3, lambda: c(1)), (x < 10, lambda: c(2))]
        return tf.case(pairs, default=lambda: c(3))

    assert run(f, c(x)).numpy() == expected


def test_case_without_a_default(run):
    def f(x):
        return tf.case([(x < 0, lambda: c(0)), (x > 5, lambda: c(1))])

    assert run(f, c(9)).numpy() == 1
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="None of conditions evaluated as True"
    ):
        run(f, c(3))


def test_exclusive(run):
    def f(x):
        return tf.case(
            [(x < 9, lambda: c(0)), (x > 5, lambda: c(1))], default=lambda: c(2), exclusive=True
        )

    assert run(f, c(3)).numpy() == 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="more than one condition"):
        run(f, c(7))


@pytest.mark.parametrize(
    ("pairs", "error", "text"),
    [
        ([], ValueError, "at least one pair"),
        ([1], TypeError, "2-tuple; got 1"),
        ([(c(1), lambda: 1)], TypeError, "tensor of dtype bool"),
        ([(c(True), 1)], TypeError, "must be callable; got 1"),
        (3, TypeError, "must be a list of pairs; got 3"),
    ],
)
def test_case_refuses(pairs, error, text):
    with pytest.raises(error, match=text):
        tf.case(pairs)


@pytest.mark.parametrize("index", [-1, 0, 1, 2, 3, 4, 99])
@pytest.mark.parametrize("default", [None, lambda: c(-1)], ids=["last", "default"])
def test_switch_case(run, index, default):
    functions = [lambda i=i: c(i * 10) for i in range(4)]
    found = run(lambda i: tf.switch_case(i, functions, default), c(index))
    other = 30 if default is None else -1
    assert found.numpy() == (index * 10 if 0 <= index < 4 else other)


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.uint8])
def test_switch_case_forms(run, dtype):
    index = tf.cast(1, dtype)
    assert run(lambda i: tf.switch_case(i, {1: lambda: c(5), 0: lambda: c(4)}), index).numpy() == 5
    assert run(lambda i: tf.switch_case(i, [(1, lambda: c(5)), (0, lambda: c(4))]), index) == 5


def test_switch_case_halves():
    """Sixteen functions: four conditions are looked at, not sixteen."""
    f = tf.function(lambda i: tf.switch_case(i, [lambda k=k: c(k) for k in range(16)]))
    graph, depth = f.get_concrete_function(c(1)).graph.graph, 0
    while any(n.op == "If" for n in graph.nodes):
        graph = next(n for n in graph.nodes if n.op == "If").attrs["then_branch"]
        depth += 1
    assert depth == 5


@pytest.mark.parametrize(
    ("index", "functions", "error", "text"),
    [
        (1, [lambda: 1], TypeError, "'branch_index' must be a Tensor; got 1"),
        (c(1.0), [lambda: 1], TypeError, "must be an integer"),
        (c(1), [], ValueError, "at least one function"),
        (c(1), {0: lambda: 1, 2: lambda: 1}, ValueError, "contiguous range of .0 to 2. but found"),
        (c(1), {"a": lambda: 1}, TypeError, "Key must be a Python `int`"),
        (c(1), [(0, 1)], TypeError, "fn for key 0 must be callable"),
    ],
)
def test_switch_case_refuses(index, functions, error, text):
    with pytest.raises(error, match=text):
        tf.switch_case(index, functions)
