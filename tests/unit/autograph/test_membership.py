"""``in``, ``reversed`` and Python's iteration of ``zip``, ``map`` and ``enumerate`` of tensors."""

from __future__ import annotations

import pytest

import tfx as tf

X, V = tf.constant(3), tf.constant([3, 2, 1])


def plain(result):
    return tf.nest.map_structure(
        lambda x: x.numpy().tolist() if isinstance(x, tf.Tensor) else x, result
    )


def traced(function, *args):
    return plain(tf.function(function)(*args))


def test_a_tensor_among_python_values():
    assert traced(
        lambda x: (x in [1, 2], x not in (1, 2), x in {1, 3}, x in range(3), x in {3: "a"}), X
    ) == (False, True, True, False, True)
    assert traced(lambda x, empty: (x in empty, x not in empty), X, []) == (False, True)


def test_a_value_among_tensors():
    y = tf.constant(4)
    assert traced(lambda x, y: (x in [y], 3 in [x, y], x in [None, 3]), X, y) == (
        False,
        True,
        True,
    )
    assert traced(lambda x, y: (x in [y, x], 5 not in [x, y]), X, y) == (True, True)


def test_as_a_condition():
    @tf.function
    def scaled(x):
        if x in (1, 2):
            return x * 10
        return x

    assert [int(scaled(tf.constant(n))) for n in (1, 2, 3)] == [10, 20, 3]
    assert scaled.experimental_get_tracing_count() == 1


def test_a_vector_among_vectors_is_refused_with_its_line():
    with pytest.raises(ValueError, match=r"must be a scalar.*test_membership\.py:\d+ in <lambda>"):
        tf.function(lambda x: x in [[3, 2, 1]])(V)


def test_variables_are_found_by_identity():
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    assert traced(lambda: (v in [v, w], v in [w])) == (True, False)


def digits(x):
    total = 0
    for a in reversed(x):
        total = total * 10 + a
    for i, a in enumerate(reversed(x)):
        total += i * a
    return total


def test_reversed():
    assert traced(digits, V) == plain(digits([3, 2, 1])) == 131
    assert traced(lambda n: digits(tf.range(n)), X) == digits(range(3))
    spec = tf.TensorSpec([None], tf.int32)
    any_length = tf.function(digits, input_signature=[spec])
    assert [int(any_length(x)) for x in ([3, 2, 1], [])] == [131, 0]


def doubled(y):
    return y * 2


def test_python_iterates_what_has_a_known_length():
    assert traced(lambda x: list(map(doubled, x)), V) == [6, 4, 2]
    assert traced(lambda x: [i * a for i, a in enumerate(x)], V) == [0, 2, 2]
    assert traced(lambda x: list(zip(x, [5, 6, 7], strict=True)), V) == [(3, 5), (2, 6), (1, 7)]
    assert traced(lambda x: list(reversed(x)), V) == [1, 2, 3]


def test_python_cannot_iterate_an_unknown_length():
    with pytest.raises(TypeError, match=r"known when the graph runs.*test_membership\.py:\d+"):
        tf.function(lambda n: list(enumerate(tf.range(n))))(X)
