"""``while True`` on tensors: it ends by ``return``, and nothing after it is reached."""

from __future__ import annotations

import pytest

import tfx as tf


def first_negative(x):
    while True:
        x = x - 1
        if x < 0:
            return x


def two_returns(x):
    n = 0
    while True:
        x = x // 2
        if x % 5 == 0:
            return x, n
        n += 1
        if n > 3:
            return -x, n


def in_a_branch(x):
    if x > 0:
        while True:
            x = x - 3
            if x < 0:
                return x
    return x * 10


def around_a_for(x):
    while True:
        for i in tf.range(x):
            if i * i > x:
                return i
        x += 1


def nested(x):
    while 1:
        while True:
            x -= 1
            if x < 3:
                break
        x *= 2
        if x < 5:
            return x


def with_break(x):
    while True:
        x -= 1
        if x < 0:
            break
        if x == 10:
            return x
    return x * 3


def in_with(x):
    with tf.name_scope("inside"):
        while True:
            x -= 1
            if x < 0:
                return x


def in_try(x):
    try:
        while True:
            x -= 1
            if x < 0:
                return x
    finally:
        x = 7


def by_all_branches(x):
    while True:
        if x > 10:
            return x
        elif x > 5:
            x += 2
        else:
            x = x * 2 + 1


FUNCTIONS = (
    first_negative,
    two_returns,
    in_a_branch,
    around_a_for,
    nested,
    with_break,
    in_with,
    in_try,
    by_all_branches,
)


def numbers(result):
    return [int(x) for x in tf.nest.flatten(result)]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_in_python(function):
    traced = tf.function(function)
    for number in (1, 3, 7, 20, 100):
        assert numbers(traced(tf.constant(number))) == numbers(function(number))
    assert traced.experimental_get_tracing_count() == 1


def test_with_gradients():
    def grown(x):
        while True:
            x = x * x
            if x > 10.0:
                return x * 3.0

    @tf.function
    def both(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = grown(x)
        return y, tape.gradient(y, x)

    y, slope = both(tf.constant(2.0))
    assert (float(y), float(slope)) == (48.0, 96.0)  # 3 x ** 4


def test_a_python_condition_stays_python():
    seen = []

    @tf.function
    def counted(n):
        while True:
            n -= 1
            seen.append(n)
            if n < 0:
                return n

    assert int(counted(2)) == -1
    assert seen == [1, 0, -1]


def test_a_number_as_the_condition_beside_break():
    @tf.function
    def total(n):
        found = 0
        while n:
            n -= 1
            if n == 2:
                break
            found += n
        return found, n

    assert [numbers(total(tf.constant(n))) for n in (5, 2, 0)] == [[7, 2], [1, 0], [0, 0]]


def test_a_list_of_the_graph_as_the_condition_beside_break():
    @tf.function
    def emptied(n):
        stack = [tf.constant(0)]
        for i in tf.range(n):
            stack.append(i)
        taken = 0
        while stack:
            taken += stack.pop()
            if taken > 6:
                break
        return taken

    assert [int(emptied(tf.constant(n))) for n in (3, 6)] == [3, 9]


def test_not_of_numbers():
    @tf.function
    def opposite(x):
        return not x

    assert [bool(opposite(tf.constant(v))) for v in (3, 0, 0.5, 0.0)] == [False, True, False, True]
    assert opposite(tf.constant([True, False])).numpy().tolist() == [False, True]
