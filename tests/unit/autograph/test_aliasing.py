"""Containers keep their identity, errors leave objects as they were, closures see the result."""

from __future__ import annotations

import pytest

import tfx as tf
from tests.unit.autograph.counters import Counter

N = tf.constant(3)


def check_refused(function, *texts, error=TypeError):
    with pytest.raises(error) as e:
        tf.function(function)(N)
    message = str(e.value)
    for text in (*texts, "test_aliasing.py:"):
        assert text in message, message
    return message


def test_containers_keep_their_identity():
    seen = []

    def f(n):
        d = {"a": tf.constant(0), "l": [tf.constant(1), tf.constant(2)]}
        other, inner = d, d["l"]
        for i in tf.range(n):
            d["a"] += i
            d["l"][0] = d["l"][0] + 1
        seen.append(other is d and d["l"] is inner)
        return other, inner[0]

    found, first = tf.function(f)(N)
    assert seen == [True]
    assert int(found["a"]) == 3
    assert int(first) == 4


def test_nested_containers():
    def f(n):
        d = {"a": {"b": tf.constant(0)}, "l": [[tf.constant(1)], tf.constant(2)]}
        inner, c = d["a"], Counter()
        c.last = {"x": [tf.constant(0)]}
        for i in tf.range(n):
            d["a"]["b"] += i
            d["l"][0][0] = d["l"][0][0] * 2
            c.last["x"][0] += 1
        return d, inner["b"], c.last

    d, inner, last = tf.function(f)(N)
    assert int(d["a"]["b"]) == int(inner) == 3
    assert int(d["l"][0][0]) == 8
    assert int(last["x"][0]) == 3


def test_list_in_a_dict_that_grows():
    def f(n):
        d = {"found": []}
        for i in tf.range(n):
            d["found"].append(i)
        return d

    check_refused(f, "'d' has the structure", "a list that is appended to")


@pytest.mark.parametrize("where", ["if", "while", "for"])
def test_objects_are_as_before_after_an_error(where):
    c, d = Counter(tf.constant(1)), {"x": tf.constant(1)}
    before = c.count, d["x"]

    def f(n):
        if where == "if":
            if n > 0:
                c.count = n
                d["x"] = n
                raise KeyError("stop")
        elif where == "while":
            while n > 0:
                c.count = n
                d["x"] = n
                n = tf.constant(1.0)
        else:
            for i in tf.range(n):
                c.count = i
                d["x"] = i
                n = tf.ones([2])
        return n

    with pytest.raises((KeyError, TypeError)):
        tf.function(f)(N)
    assert c.count is before[0]
    assert d["x"] is before[1]


def test_list_with_another_name_is_refused():
    def f(n):
        kept = []
        other = kept
        for i in tf.range(n):
            kept.append(i)
        return other

    check_refused(f, "'kept'", "another name", "list(")


def test_functions_stored_before_the_loop():
    def f(n):
        a = tf.constant(0)

        def read():
            return a + 1

        stored = read
        for i in tf.range(n):
            a = i
        return stored(), read()

    assert [int(x) for x in tf.function(f)(N)] == [3, 3]


def test_lambda_before_the_loop():
    def f(n):
        a = tf.constant(0)
        stored = lambda: a  # noqa: E731
        for i in tf.range(n):
            a = i + 1
        return stored()

    assert int(tf.function(f)(N)) == 3


def test_local_function_needs_its_name_before_the_loop():
    def f(n):
        def g():
            return a

        for i in tf.range(n):
            a = i
        return g()

    assert int(tf.function(f)(N)) == 2
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least once to initialize a"):
        tf.function(f)(tf.constant(0))
