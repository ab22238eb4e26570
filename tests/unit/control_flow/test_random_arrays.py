"""Random programs that read and write a tensor array in a loop, against NumPy and each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import tfx as tf

SIZE = 4
places = st.tuples(st.integers(0, 3), st.integers(0, SIZE - 1))
steps = st.one_of(
    st.tuples(st.just("write"), places, places),
    st.tuples(st.just("read"), places),
    st.tuples(st.just("write if"), places, places),
    st.tuples(st.just("read if"), places, places),
)
programs = st.lists(steps, min_size=1, max_size=4)


def _at(place: tuple[int, int], i: Any) -> Any:
    return (place[0] * i + place[1]) % SIZE


def _in_numpy(program: list[Any], x: np.ndarray, count: int) -> np.ndarray:
    rows, s = list(x), x[0]
    for i in range(count):
        for step in program:
            if step[0] == "write":
                rows[_at(step[1], i)] = np.sin(rows[_at(step[2], i)]) + s
            elif step[0] == "read":
                s = s * 0.5 + rows[_at(step[1], i)]
            elif step[0] == "write if":
                if s[0] > 0.2:
                    rows[_at(step[1], i)] = rows[_at(step[2], i)] * 0.5
            else:
                s = rows[_at(step[1], i)] if i % 2 == 0 else s * rows[_at(step[2], i)]
    return np.stack([*rows, s])


def _in_tensors(program: list[Any], x: Any, count: Any) -> Any:
    ta = tf.TensorArray(x.dtype, size=SIZE, clear_after_read=False).unstack(x)

    def body(i: Any, ta: Any, s: Any) -> Any:
        for step in program:
            if step[0] == "write":
                ta = ta.write(_at(step[1], i), tf.sin(ta.read(_at(step[2], i))) + s)
            elif step[0] == "read":
                s = s * 0.5 + ta.read(_at(step[1], i))
            elif step[0] == "write if":
                ta = tf.cond(
                    s[0] > 0.2,
                    lambda ta=ta, p=step[1], q=step[2]: ta.write(
                        _at(p, i), ta.read(_at(q, i)) * 0.5
                    ),
                    lambda ta=ta: ta,
                )
            else:
                s = tf.cond(
                    i % 2 == 0,
                    lambda ta=ta, p=step[1]: ta.read(_at(p, i)),
                    lambda ta=ta, q=step[2], s=s: s * ta.read(_at(q, i)),
                )
        return i + 1, ta, s

    _, ta, s = tf.while_loop(lambda i, *_: i < count, body, (0, ta, x[0]))
    return tf.concat([ta.stack(), s[None]], 0)


@settings(max_examples=40)
@given(programs, st.integers(0, 5), st.integers(0, 2**32 - 1))
def test_all_ways_agree(program, count, seed):
    x = np.random.default_rng(seed).normal(size=(SIZE, 2))
    weights = np.arange(2.0 * (SIZE + 1)).reshape(SIZE + 1, 2)
    results = []
    for way in (lambda f: f, tf.function):
        given = tf.constant(x)
        run = way(lambda x: _in_tensors(program, x, tf.constant(count)))
        with tf.GradientTape() as tape:
            tape.watch(given)
            y = run(given)
            total = tf.reduce_sum(y * weights)
        results.append((y.numpy(), tape.gradient(total, given).numpy()))
    np.testing.assert_allclose(results[0][0], _in_numpy(program, x, count), rtol=1e-9, atol=1e-12)
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
