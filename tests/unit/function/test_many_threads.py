"""First calls of many threads at once, while settings change: the results of one thread."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tfx as tf

Call = Callable[[Any], Any]


def _calls(number: int) -> dict[str, Call]:
    """Functions that nobody has called, and eager operations of many kinds."""
    v = tf.Variable(np.float32(number + 1))
    matrix = tf.Variable(np.ones((3, 3), np.float32) * (number + 1))
    product = tf.function(lambda x: tf.reduce_sum(tf.tanh(x @ matrix) * v + x * x))
    inner = tf.function(lambda x: tf.sin(x) * v)
    outer = tf.function(lambda x: tf.reduce_sum(inner(x) + inner(x * 2.0)))

    @tf.function
    def loop(x: Any) -> Any:
        total = tf.zeros([])
        for i in tf.range(4):
            if tf.reduce_sum(x) > tf.cast(i, tf.float32):
                total += tf.reduce_sum(x)
            else:
                total -= 1.0
        return total

    def gradients(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = product(x) + loop(x)
        found = tape.gradient(y, [x, v, matrix])
        return tf.concat([tf.reshape(g, [-1]) for g in found], 0)

    def second(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            with tf.GradientTape() as other:
                other.watch(x)
                y = outer(x)
            dy = other.gradient(y, x)
        return tape.gradient(dy, x)

    def jacobian(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reshape(inner(x), [-1])
        return tape.jacobian(y, x)

    def forward(x: Any) -> Any:
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
            y = outer(x)
        return accumulator.jvp(y)

    return {
        "product": product,
        "outer": outer,
        "loop": loop,
        "gradients": gradients,
        "second": second,
        "jacobian": jacobian,
        "forward": forward,
        "scan": tf.function(lambda x: tf.scan(lambda a, e: tf.tanh(a + e), x, tf.zeros([3]))),
        "rows": tf.function(lambda x: tf.vectorized_map(lambda row: tf.reduce_sum(row) * v, x)),
        "kinds": lambda x: [tf.cast(inner(x[:n]), tf.float64) for n in (1, 2, 3)][number % 3],
        "special": lambda x: tf.math.igamma(x, x) + tf.math.zeta(x + 2.0, x) + tf.math.digamma(x),
        "linear": lambda x: tf.linalg.det(x + tf.eye(3) * 20.0) + tf.linalg.svd(x)[0],
        "drawn": lambda x: tf.random.stateless_normal([3], [number, 2]) + x[0],
        "index": lambda x: x[1:, ::2] + x[..., 0:1][1:],
        "ragged": lambda x: tf.RaggedTensor.from_row_lengths(x, [1, 2]).to_tensor(),
        "sparse": lambda x: tf.sparse.to_dense(tf.sparse.transpose(tf.sparse.from_dense(x))),
        "data": lambda x: tf.stack(list(tf.data.Dataset.from_tensor_slices(x).map(inner))),
    }


@pytest.fixture
def quick_turns() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def _change_settings(until: threading.Event, wrong: list[str]) -> None:
    """Set what may be set while a program runs, and that changes no results on a CPU; and back."""
    number = 0
    while not until.wait(0.01) or number % 2:
        number += 1
        odd = bool(number % 2)
        try:
            tf.config.optimizer.set_experimental_options({"auto_mixed_precision": odd})
            tf.config.set_soft_device_placement(odd)
            if odd:
                tf.debugging.disable_traceback_filtering()
                tf.debugging.enable_check_numerics()
            else:
                tf.debugging.enable_traceback_filtering()
                tf.debugging.disable_check_numerics()
        except Exception as e:
            wrong.append(f"settings: {e!r}")
            return


@pytest.mark.parametrize("number", range(2))
def test_first_calls_of_eight_threads(number: int, quick_turns: None) -> None:
    placement = tf.config.get_soft_device_placement()
    x = np.random.default_rng(number).uniform(0.5, 2.0, (3, 3)).astype(np.float32)
    calls, wrong = _calls(number), list[str]()
    found: list[dict[str, np.ndarray]] = [{} for _ in range(8)]
    start, over = threading.Barrier(8), threading.Event()

    def work(place: int) -> None:
        order = [*calls]
        random.Random(10 * number + place // 2).shuffle(order)  # pairs: the same at one moment
        start.wait()
        for name in order:
            try:
                found[place][name] = np.asarray(calls[name](tf.constant(x)))
            except Exception as e:
                wrong.append(f"{name}: {e!r}")

    threads = [threading.Thread(target=work, args=(place,)) for place in range(8)]
    setter = threading.Thread(target=_change_settings, args=(over, wrong))
    for thread in (setter, *threads):
        thread.start()
    for thread in threads:
        thread.join(120)
    over.set()
    setter.join(30)
    tf.config.set_soft_device_placement(placement)
    assert wrong == []
    for name, call in _calls(number).items():
        expected = np.asarray(call(tf.constant(x)))
        for results in found:
            np.testing.assert_allclose(results[name], expected, 1e-4, 1e-5, err_msg=name)
