"""Results and constants of functions as tapes see them; big constants; odd names."""

import numpy as np
import pytest

import tfx as tf


def gradients(function, *args):
    """Of a function of one tensor that returns ``(target, sources)``: eagerly and traced."""

    def differentiated(*args):
        with tf.GradientTape() as tape:
            tape.watch(args)
            target, sources = function(*args)
        return tape.gradient(target, sources)

    return differentiated(*args), tf.function(differentiated)(*args)


def test_a_returned_argument_is_another_tensor():
    same = tf.function(lambda x: x)

    def program(x):
        y = same(x)
        return x * x + 3.0 * y, [y, x]

    for found in gradients(program, tf.constant(5.0)):
        assert [float(g) for g in found] == [3.0, 13.0]


def test_a_tensor_that_is_returned_twice_is_two():
    twice = tf.function(lambda x: (lambda y: (y, y))(x * 2.0))

    def program(x):
        a, b = twice(x)
        return a * 2.0 + b * 3.0, [a, b, x]

    for found in gradients(program, tf.constant(5.0)):
        assert [float(g) for g in found] == [2.0, 3.0, 10.0]


def test_gradient_of_a_constant_that_an_inner_function_closes_over():
    c = tf.constant(2.0)
    inner = tf.function(lambda x: x * c)
    outer = tf.function(lambda x: inner(x) + inner(x * 2.0))
    x = tf.constant(3.0)
    assert float(outer(x)) == 18.0

    def program(x):
        with tf.GradientTape() as tape:
            tape.watch(c)
            y = outer(x)
        return tape.gradient(y, c)

    assert float(program(x)) == 9.0
    assert float(tf.function(program)(x)) == 9.0


def test_variables_that_die_while_a_function_is_traced():
    @tf.function
    def f(x):
        for i in range(5):  # the ids of the dead are given to the next
            with tf.init_scope():
                v = tf.Variable(float(i))
            x = x + v
            del v
        return x

    with pytest.raises(tf.errors.FailedPreconditionError, match="was deleted"):
        f(tf.constant(0.0))


def test_inner_functions_with_large_constants_of_one_name():
    arrays = [np.full(1 << 17, float(i), np.float32) for i in range(3)]
    inner = [tf.function(lambda x, a=a: x * tf.constant(a)) for a in arrays]
    numpy = [tf.function(lambda x, i=i: x * arrays[i]) for i in range(3)]
    outer = tf.function(lambda x: [f(x)[-1] for f in (*inner, *numpy)])
    assert [float(y) for y in outer(tf.constant(2.0))] == [0.0, 2.0, 4.0] * 2
    v = tf.Variable(np.full(1 << 17, 7.0, np.float32))
    reader = tf.function(lambda x: v[0] + outer(x)[1])
    assert {float(reader(tf.constant(1.0))) for _ in range(12)} == {8.0}  # frozen at last


def test_arguments_called_self():
    @tf.function
    def f(**values):
        return {k: 2.0 * v for k, v in values.items()}

    found = f(**{"self": tf.constant(1.0), "a b": tf.constant(2.0), "": tf.constant(3.0)})
    assert {k: float(v) for k, v in found.items()} == {"self": 2.0, "a b": 4.0, "": 6.0}
