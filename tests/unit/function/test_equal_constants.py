"""Constants of one value are not one constant to a derivative, in branches and loops either.

Expected slopes are worked out by hand; the derivative by a constant that equals another one used
to include the other one's.
"""

from __future__ import annotations

import pytest

import tfx as tf

MAKERS = {
    "constant": lambda: tf.constant(2.0),
    "convert": lambda: tf.convert_to_tensor(2.0),
    "fill": lambda: tf.fill([], 2.0),
    "half": lambda: tf.constant(2.0, tf.float16),
    "brain": lambda: tf.constant(2.0, tf.bfloat16),
}


def doubled(x):
    return x * 2.0


def branch(x):
    return tf.cond(x > 0.0, lambda: x * 2.0, lambda: x)


def loop(x):
    return tf.while_loop(lambda i, z: i < 1, lambda i, z: (i + 1, z * 2.0), [0, x])[1]


def switched(x):
    return tf.switch_case(tf.cast(x, tf.int32) - 1, [lambda: x, lambda: x * 2.0])


def recomputed(x):
    return tf.recompute_grad(doubled)(x)


def called(x):
    return tf.function(doubled)(x)


USES = (doubled, branch, loop, switched, recomputed, called)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("use", USES, ids=lambda f: f.__name__)
def test_a_watched_constant_beside_an_equal_literal(use, make):
    @tf.function
    def slopes():
        x = make()
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = use(x)
        return tape.gradient(y, x), tf.gradients(use(x), x)[0]

    assert [float(s) for s in slopes()] == [2.0, 2.0]


def test_two_watched_constants():
    @tf.function
    def slopes():
        x, c = tf.constant(2.0), tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch([x, c])
            y = tf.cond(x > 0.0, lambda: x * c * c, lambda: x)
        return tape.gradient(y, [x, c])

    assert [float(s) for s in slopes()] == [4.0, 8.0]


def test_the_value_before_a_loop_and_one_in_it():
    @tf.function
    def slope():
        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.while_loop(lambda i, z: i < 2, lambda i, z: (i + 1, x * 2.0 + z), [0, x])[1]
        return tape.gradient(y, x)

    assert float(slope()) == 5.0


def test_forward_mode():
    @tf.function
    def slope():
        x = tf.constant(2.0)
        with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as accumulator:
            y = branch(x)
        return accumulator.jvp(y)

    assert float(slope()) == 2.0


def test_equal_constants_are_one_in_what_runs():
    concrete = tf.function(lambda x: (x * 2.0 + 2.0) * 2.0).get_concrete_function(
        tf.TensorSpec([], tf.float32)
    )
    assert len(concrete.graph.as_onnx().graph.initializer) == 1
