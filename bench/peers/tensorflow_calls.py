"""The calls of TensorFlow and of tfx, which are the same program: each function is given ``tf``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.peers import cases, tensorflow_networks, tensorflow_storage, worker
from bench.peers.worker import Case


def makers(tf: Any) -> dict[str, Callable[[], Case]]:
    """What makes each case.

    Args:
        tf: TensorFlow or tfx.
    """
    return {
        "call_1": functools.partial(_call, tf, 1),
        "call_10": functools.partial(_call, tf, 10),
        "call_100": functools.partial(_call, tf, 100),
        "nest": functools.partial(_nest, tf),
        "keywords": functools.partial(_keywords, tf),
        "update_1": functools.partial(_update, tf, 1),
        "update_200": functools.partial(_update, tf, cases.VARIABLES),
        "chain": functools.partial(_chain, tf),
        "eager": functools.partial(_eager, tf),
        "retrace": functools.partial(_retrace, tf),
        "retrace_call": functools.partial(_retrace_call, tf),
        "first": functools.partial(_first, tf),
        "loop": functools.partial(_loop, tf),
        **tensorflow_networks.cases(tf),
        "lstm": functools.partial(_lstm, tf),
        "lstm_gradient": functools.partial(_lstm_gradient, tf),
        "save_state": functools.partial(_save_state, tf),
        "load_state": functools.partial(_load_state, tf),
        "load_wide": functools.partial(_load_wide, tf),
    }


def _sum(result: Any) -> float:
    return float(np.sum(result.numpy()))


def _tensors(tf: Any, count: int) -> list[Any]:
    return [tf.constant(worker.matrix()) for _ in range(count)]


def _call(tf: Any, count: int) -> Case:
    add, tensors = worker.with_parameters(count, tf.add_n), _tensors(tf, count)
    function = tf.function(add, autograph=False)  # it has no source
    return Case(lambda: function(*tensors), _sum)


def _nest(tf: Any) -> Case:
    nested = worker.ten_in_a_nest(_tensors(tf, 10))
    function = tf.function(lambda given: tf.add_n(worker.parts_of_nest(given)))
    return Case(lambda: function(nested), _sum)


def _keywords(tf: Any) -> Case:
    function = tf.function(lambda a, b: a + b)
    x, y = _tensors(tf, 2)
    return Case(lambda: function(a=x, b=y), _sum)


def _update(tf: Any, count: int) -> Case:
    variables = [tf.Variable(np.zeros((2, 2), np.float32)) for _ in range(count)]

    @tf.function
    def step(x: Any) -> Any:
        for variable in variables:
            variable.assign_add(x)
        return variables[-1] * 0.0 + x

    (x,) = _tensors(tf, 1)
    return Case(lambda: step(x), _sum)


def _many_operations(tf: Any) -> Callable[[Any], Any]:
    def body(x: Any) -> Any:
        y = x
        for i in range(cases.OPERATIONS // 2):
            y = tf.tanh(y) + x if i % 2 else tf.sigmoid(y) * x
        return y

    return body


def _chain(tf: Any) -> Case:
    function = tf.function(_many_operations(tf))
    (x,) = _tensors(tf, 1)
    return Case(lambda: function(x), _sum)


def _eager(tf: Any) -> Case:
    x, y = _tensors(tf, 2)
    return Case(lambda: x + y, _sum)


def _retrace(tf: Any) -> Case:
    function, shapes = tf.function(_many_operations(tf)), worker.growing()
    prepare = lambda: tf.constant(next(shapes))  # noqa: E731
    return Case(function.get_concrete_function, lambda _: 0.0, prepare)


def _retrace_call(tf: Any) -> Case:
    function, shapes = tf.function(_many_operations(tf)), worker.growing()
    return Case(function, _sum, lambda: tf.constant(next(shapes)))


def _first(tf: Any) -> Case:
    x, y = _tensors(tf, 2)
    return Case(lambda f: f(x, y), _sum, lambda: tf.function(lambda a, b: a * b + a))


def _loop(tf: Any) -> Case:
    def body(i: Any, y: Any) -> Any:
        return i + 1, y * 1.001 + 0.5

    def repeat(x: Any) -> Any:
        return tf.while_loop(lambda i, _: i < cases.ITERATIONS, body, (0, x))[1]

    function = tf.function(repeat)
    (x,) = _tensors(tf, 1)
    return Case(lambda: function(x), _sum)


def _lstm_loss(tf: Any, xs: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
    """Mean square of what an LSTM returns, over all steps."""
    units, steps, batch = cases.LSTM
    zeros = tf.zeros((batch, units))

    def body(t: Any, h: Any, c: Any, ys: Any) -> Any:
        z = tf.matmul(xs[t], kernel) + tf.matmul(h, recurrent) + bias
        i, f, g, o = tf.split(z, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        return t + 1, h, c, ys.write(t, h)

    rows = tf.TensorArray(tf.float32, steps, element_shape=(batch, units))
    *_, rows = tf.while_loop(lambda t, *_: t < steps, body, (0, zeros, zeros, rows))
    return tf.reduce_mean(tf.square(rows.stack()))


def _lstm(tf: Any) -> Case:
    xs, *weights = map(tf.constant, worker.lstm_arrays(*cases.LSTM))
    variables = [tf.Variable(w) for w in weights]
    function = tf.function(lambda xs: _lstm_loss(tf, xs, *variables))
    return Case(lambda: function(xs), _sum)


def _lstm_gradient(tf: Any) -> Case:
    xs, *weights = map(tf.constant, worker.lstm_arrays(*cases.LSTM))
    variables = [tf.Variable(w) for w in weights]

    @tf.function
    def step(xs: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = _lstm_loss(tf, xs, *variables)
        return loss, tape.gradient(loss, variables)

    def value(result: Any) -> float:
        return _sum(result[0]) + sum(float(np.sum(g.numpy() ** 2)) for g in result[1])

    return Case(lambda: step(xs), value)


def _save_state(tf: Any) -> Case:
    checkpoint, path, value = tensorflow_storage.state(tf)
    return Case(lambda: checkpoint.write(path), lambda _: value())


def _load_state(tf: Any) -> Case:
    checkpoint, path, value = tensorflow_storage.state(tf)
    path = checkpoint.write(path)
    return Case(lambda: checkpoint.read(path).assert_consumed(), lambda _: value())


def _load_wide(tf: Any) -> Case:
    path = str(tensorflow_storage.wide(tf))
    return Case(lambda: tf.saved_model.load(path), lambda m: float(sum(map(len, m.parts))))
