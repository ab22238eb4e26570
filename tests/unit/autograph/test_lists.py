"""Lists that grow and shrink in staged loops and branches."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

N = tf.constant(4)


def run(function, n=N):
    return tf.function(function)(n)


def check(function, expected, n=N):
    found = run(function, n)
    assert isinstance(found, tf.Tensor)
    np.testing.assert_array_equal(found, expected)


def test_result_is_the_stacked_tensor():
    def f(n):
        found = []
        for i in tf.range(n):
            found.append(i)
        return found

    check(f, [0, 1, 2, 3])
    check(f, np.zeros(0), tf.constant(0))


def test_elements_before_the_loop():
    def f(n):
        found = [tf.constant(7)]
        for i in tf.range(n):
            found.append(i * 2)
        return tf.stack(found), len(found), found[-1], found[0], found[n], found[1:3]

    stacked, size, last, first, fifth, some = run(f)
    np.testing.assert_array_equal(stacked, [7, 0, 2, 4, 6])
    assert [int(x) for x in (size, last, first, fifth)] == [5, 6, 7, 6]
    np.testing.assert_array_equal(some, [0, 2])


def test_in_branches():
    def f(n):
        found = []
        for i in tf.range(n):
            if i % 2 == 0:
                found.append(i)
            elif i == 3:
                found.append(10 * i)
        if n > 2:
            found.append(n)
        return found

    check(f, [0, 2, 30, 4])
    check(f, [0], tf.constant(1))


def test_nested_loops():
    def f(n):
        found = []
        for i in tf.range(n):
            for j in tf.range(i):
                found.append(i * 10 + j)
        return found

    check(f, [10, 20, 21, 30, 31, 32])


def test_inner_list():
    def f(n):
        out = []
        for i in tf.range(n):
            inner = []
            for j in tf.range(i):
                inner.append(j)
            out.append(tf.reduce_sum(tf.stack(inner)))
        return out

    check(f, [0, 0, 1, 3])


def test_structures():
    def f(n):
        pairs, dicts = [], []
        for i in tf.range(n):
            pairs.append((i, tf.cast(i, tf.float32) / 2))
            dicts.append({"a": i})
        return pairs, dicts, pairs[-1][1]

    (first, second), named, last = run(f)
    np.testing.assert_array_equal(first, [0, 1, 2, 3])
    np.testing.assert_array_equal(second, [0, 0.5, 1, 1.5])
    np.testing.assert_array_equal(named["a"], [0, 1, 2, 3])
    assert float(last) == 1.5


def test_iteration():
    def f(n):
        found = []
        for i in tf.range(n):
            found.append(i)
        total = 0
        for x in found:
            total += x
        for i, x in enumerate(found):
            total += i * x
        return total

    assert int(run(f)) == 6 + 14


def test_stack_algorithm():
    def f(n):
        todo, count = [n], 0
        while len(todo) > 0:
            x = todo.pop()
            count += 1
            if x > 1:
                todo.append(x - 1)
                todo.append(x - 2)
        return count, todo

    def python(n):
        return 1 + (python(n - 1) + python(n - 2) if n > 1 else 0)

    count, rest = run(f)
    assert int(count) == python(4)
    assert rest.shape == (0,)


def test_truth():
    def f(n):
        todo, total = [n], 0
        while todo:
            x = todo.pop()
            total += x
            if x > 0:
                todo.append(x - 1)
        return total, not todo, 1 if todo else 2

    assert [int(x) for x in run(f)] == [10, 1, 2]


def test_set_item_extend_and_break():
    def f(n):
        found = []
        for i in tf.range(n):
            if i == 3:
                break
            found.extend([i, i + 1])
            found += [i]
        for i in tf.range(n):
            found[i] = found[i] * 10
        found[-1] = found[-1] + 100
        return found

    check(f, [0, 10, 0, 10, 2, 1, 2, 3, 102])


def test_while_and_pop_in_an_expression():
    def f(n):
        found = []
        while n > 0:
            found.append(n)
            n -= 1
        total = 0
        while len(found) > 1:
            total = total * 10 + found.pop()
        return total, found

    total, rest = run(f)
    assert int(total) == 123
    np.testing.assert_array_equal(rest, [4])


def test_concat_and_stack_along_an_axis():
    def f(n):
        rows, parts = [], []
        for i in tf.range(n):
            rows.append(tf.stack([i, i + 1]))
            parts.append(tf.fill([i + 1], i))
        return tf.concat(rows, 0), tf.stack(rows, 1), tf.concat(parts, 0)

    rows, columns, parts = run(f)
    np.testing.assert_array_equal(rows, [0, 1, 1, 2, 2, 3, 3, 4])
    np.testing.assert_array_equal(columns, [[0, 1, 2, 3], [1, 2, 3, 4]])
    np.testing.assert_array_equal(parts, [0, 1, 1, 2, 2, 2, 3, 3, 3, 3])


def test_stack_of_different_shapes():
    def f(n):
        parts = []
        for i in tf.range(n):
            parts.append(tf.fill([i + 1], i))
        return parts

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"test_lists\.py"):
        run(f)


def test_gradients():
    def f(n):
        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            powers, y = [], x
            for _ in tf.range(n):
                y = y * x
                powers.append(y)
            total = tf.reduce_sum(tf.stack(powers)) + powers[0]
        return total, tape.gradient(total, x)

    total, gradient = run(f)
    assert float(total) == 4 + 8 + 16 + 32 + 4
    assert float(gradient) == 4 + 12 + 32 + 80 + 4


def test_gradients_through_pop():
    def f(n):
        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            powers, y, total = [], x, 0.0
            for _ in tf.range(n):
                y = y * x
                powers.append(y)
            while len(powers) > 0:
                total += powers.pop()
        return tape.gradient(total, x)

    assert float(run(f)) == 4 + 12 + 32 + 80


def test_list_that_is_only_appended_to_is_an_output_of_the_loop():
    def f(n):
        found = []
        for i in tf.range(n):
            found.append(tf.cast(i, tf.float32) * 2.0)
        return tf.stack(found)

    types = {op.type for op in tf.function(f).get_concrete_function(N).graph.get_operations()}
    assert not {t for t in types if "Sequence" in t}


@pytest.mark.parametrize(
    "elements, text",
    [
        (lambda i: (i, object()), "can hold tensors"),
        (lambda i: tf.cast(i, tf.float32), "one dtype"),
        (lambda i: (i, i), "one structure"),
    ],
)
def test_what_lists_cannot_hold(elements, text):
    def f(n):
        found = [tf.constant(1)]
        for i in tf.range(n):
            found.append(elements(i))
        return found

    with pytest.raises(TypeError, match=text) as e:
        run(f)
    assert "test_lists.py:" in str(e.value)


@pytest.mark.parametrize(
    "use, text",
    [
        (lambda found, i: found.insert(0, i), "insert"),
        (lambda found, i: found.pop(0), "last element"),
        (lambda found, i: [x + 1 for x in found], "for"),
        (lambda found, i: found.extend(tf.range(i)), "append them"),
    ],
)
def test_what_lists_of_the_graph_cannot_do(use, text):
    def f(n):
        found = []
        for i in tf.range(n):
            found.append(i)
        use(found, n)
        return found

    with pytest.raises(TypeError, match=text) as e:
        run(f)
    assert "test_lists.py:" in str(e.value)


def test_plus_makes_a_longer_list():
    @tf.function
    def longer(n):
        items = [tf.constant(7)]
        before = [tf.constant(7)]
        for i in tf.range(n):
            items = items + [i]  # noqa: RUF005
            before = items
            items = items + [i * 10, i]  # noqa: RUF005
        return items, len(before)

    found, length = longer(tf.constant(2))
    assert found.numpy().tolist() == [7, 0, 0, 0, 1, 10, 1]
    assert int(length) == 5


def test_plus_at_the_front_is_refused():
    @tf.function
    def growing(n):
        items = []
        for i in tf.range(n):
            items = [i] + items  # noqa: RUF005
        return items

    with pytest.raises(TypeError, match=r"can only grow at its end"):
        growing(tf.constant(2))
