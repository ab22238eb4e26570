"""Tapes whose blocks end in another order than they began, or in another task."""

import asyncio

import tfx as tf
from tfx.framework.context import current


def test_gradient_inside_a_block_inside_the_tape():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        with tf.name_scope("layer"):
            y = v * v
            grad = tape.gradient(y, v)
        z = v * v  # the tape is used up: it must not be told
    assert (float(grad), float(z)) == (6.0, 9.0)
    assert current().tapes == ()


def test_gradient_while_a_function_is_traced():
    v = tf.Variable(3.0)
    found = []
    with tf.GradientTape() as tape:
        y = v * v

        @tf.function
        def f(x):
            with tf.init_scope():
                found.append(tape.gradient(y, v))
            return x

        f(1.0)
        float(v * v)
    assert float(found[0]) == 6.0
    assert current().tapes == ()


def test_generators_end_their_blocks_late():
    def scoped():
        with tf.name_scope("generator"):
            yield

    x = tf.constant(3.0)
    early = scoped()
    next(early)
    with tf.GradientTape() as tape:
        tape.watch(x)
        early.close()
        late = scoped()
        next(late)
        y = x * x
    late.close()
    assert float(tape.gradient(y, x)) == 6.0
    assert current().tapes == ()


def test_a_task_that_outlives_the_tape():
    x = tf.constant(3.0)

    async def task():
        await asyncio.sleep(0.01)
        v = tf.Variable(2.0)
        return float(v * v)

    async def main():
        with tf.GradientTape() as tape:
            tape.watch(x)
            running = asyncio.create_task(task())
            y = x * x
        return float(tape.gradient(y, x)), await running

    assert asyncio.run(main()) == (6.0, 4.0)
