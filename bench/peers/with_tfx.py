"""The calls in tfx."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import tfx as tf
from bench.peers import cases, worker
from bench.peers.worker import Case


def _sum(result: Any) -> float:
    return float(np.sum(result.numpy()))


def _tensors(count: int) -> list[Any]:
    return [tf.constant(worker.matrix()) for _ in range(count)]


def _call(count: int) -> Case:
    function, tensors = tf.function(worker.with_parameters(count, tf.add_n)), _tensors(count)
    return Case(lambda: function(*tensors), _sum)


def _nest() -> Case:
    nested = worker.ten_in_a_nest(_tensors(10))
    function = tf.function(lambda given: tf.add_n(worker.parts_of_nest(given)))
    return Case(lambda: function(nested), _sum)


def _keywords() -> Case:
    function = tf.function(lambda a, b: a + b)
    x, y = _tensors(2)
    return Case(lambda: function(a=x, b=y), _sum)


def _update(count: int) -> Case:
    variables = [tf.Variable(np.zeros((2, 2), np.float32)) for _ in range(count)]

    @tf.function
    def step(x: Any) -> Any:
        for variable in variables:
            variable.assign_add(x)
        return variables[-1] * 0.0 + x

    (x,) = _tensors(1)
    return Case(lambda: step(x), _sum)


def _body(x: Any) -> Any:
    y = x
    for i in range(cases.OPERATIONS // 2):
        y = tf.tanh(y) + x if i % 2 else tf.sigmoid(y) * x
    return y


def _chain() -> Case:
    function = tf.function(_body)
    (x,) = _tensors(1)
    return Case(lambda: function(x), _sum)


def _eager() -> Case:
    x, y = _tensors(2)
    return Case(lambda: x + y, _sum)


def _retrace() -> Case:
    function, shapes = tf.function(_body), worker.growing()
    prepare = lambda: tf.constant(next(shapes))  # noqa: E731
    return Case(function.get_concrete_function, lambda _: 0.0, prepare)


def _retrace_call() -> Case:
    function, shapes = tf.function(_body), worker.growing()
    return Case(function, _sum, lambda: tf.constant(next(shapes)))


def _first() -> Case:
    x, y = _tensors(2)
    return Case(lambda f: f(x, y), _sum, lambda: tf.function(lambda a, b: a * b + a))


MAKERS: dict[str, Callable[[], Case]] = {
    "call_1": functools.partial(_call, 1),
    "call_10": functools.partial(_call, 10),
    "call_100": functools.partial(_call, 100),
    "nest": _nest,
    "keywords": _keywords,
    "update_1": functools.partial(_update, 1),
    "update_200": functools.partial(_update, cases.VARIABLES),
    "chain": _chain,
    "eager": _eager,
    "retrace": _retrace,
    "retrace_call": _retrace_call,
    "first": _first,
}

if __name__ == "__main__":
    worker.serve("tfx", tf.__version__, MAKERS)
