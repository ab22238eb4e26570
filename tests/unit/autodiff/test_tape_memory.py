"""What a tape holds of calls: no more than their gradients read, and the gradients stay right."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.function.gradients.pure_function import Pair

SIZES = {"static": None, "open": [tf.TensorSpec([None, None])] * 2}


def _big(value: float = 0.5) -> Any:
    return tf.constant(np.full((80, 80), value, np.float32))


def _squashed(signature: Any) -> Any:
    """Its gradient reads the tanh alone, which the call saves."""
    return tf.function(lambda x, b: tf.tanh(x) + b, input_signature=signature)


def _slope(x: Any) -> Any:
    return 1 - np.tanh(x) ** 2


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("persistent", [False, True])
def test_arguments_and_results_are_let_go(persistent: bool, sizes: str) -> None:
    f, x, other = _squashed(SIZES[sizes]), tf.Variable(_big()), _big()
    with tf.GradientTape(persistent=persistent) as tape:
        first = f(x, other)
        second = f(first, other)
        y = f(second, other)
        a, b = first.numpy(), second.numpy()
        kept = [weakref.ref(t) for t in (first, second, other)]
        del first, second, other
    assert [ref() for ref in kept] == [None] * 3
    # Tensors that may have the places in memory of those that are gone.
    rest = [_big() for _ in range(20)]
    found = tape.gradient(y, [x, *rest] if persistent else x)
    slope = found[0] if persistent else found
    np.testing.assert_allclose(slope, _slope(0.5) * _slope(a) * _slope(b), rtol=1e-5)
    if persistent:
        assert found[1:] == [None] * 20


def test_what_is_there_still_is_a_source_and_a_target() -> None:
    f, x, other = _squashed(None), _big(), _big()
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        first = f(x, other)
        tape.watch(other)  # after the fact: the first call does not depend on it
        y = f(first, other)
    np.testing.assert_allclose(tape.gradient(y, first), _slope(first.numpy()), rtol=1e-5)
    np.testing.assert_allclose(tape.gradient(first, x), np.full((80, 80), _slope(0.5)), rtol=1e-5)
    np.testing.assert_allclose(tape.gradient(y, other), np.ones((80, 80)))
    assert tape.gradient(first, other) is None


@pytest.mark.parametrize("persistent", [False, True])
def test_second_derivatives_of_nested_tapes(persistent: bool) -> None:
    f, x = _squashed(None), _big()
    with tf.GradientTape(persistent=persistent) as outer:
        outer.watch(x)
        with tf.GradientTape(persistent=persistent) as inner:
            inner.watch(x)
            y = f(f(x, _big()), _big())
        slope = inner.gradient(y, x)
    t, u = np.tanh(0.5), np.tanh(np.tanh(0.5) + 0.5)
    np.testing.assert_allclose(slope, np.full((80, 80), (1 - u * u) * (1 - t * t)), rtol=1e-5)
    curve = -2 * u * (1 - u * u) * (1 - t * t) ** 2 - 2 * t * (1 - t * t) * (1 - u * u)
    found = outer.gradient(slope, x)
    np.testing.assert_allclose(found, np.full((80, 80), curve), rtol=1e-4)


def test_second_derivatives_of_a_persistent_tape_in_its_block() -> None:
    f, x = _squashed(None), _big()
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(f(x, _big()), _big())
        slope = tape.gradient(y, x)
    t, u = np.tanh(0.5), np.tanh(np.tanh(0.5) + 0.5)
    curve = -2 * u * (1 - u * u) * (1 - t * t) ** 2 - 2 * t * (1 - t * t) * (1 - u * u)
    found = tape.gradient(slope, x)
    np.testing.assert_allclose(found, np.full((80, 80), curve), rtol=1e-4)


def test_a_block_entered_again_says_what_is_missing() -> None:
    f, x = _squashed(None), _big()
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(f(x, _big()), _big())
    gc.collect()
    with tape:
        slope = tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="arguments that the tape let go"):
        tape.gradient(slope, x)


def test_one_of_several_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its own backward graph lacks something, that of all results serves, with zeros."""
    known = Pair.backward
    monkeypatch.setattr(Pair, "backward", lambda p, m: known(p, m) if m == p.mask else None)
    f = tf.function(lambda x, b: (tf.tanh(x) + b, b * 2.0))
    x, w = tf.Variable(_big()), tf.Variable(_big())
    with tf.GradientTape(persistent=True) as tape:
        first, second = f(x * 1.0, w * 1.0)
        last = f(first * 1.0, second * 1.0)
    t = np.tanh(0.5)
    gradients = tape.gradient(last[0], [x, w])
    slope = _slope(t + 0.5)
    for found, expected in zip(gradients, (slope * _slope(0.5), slope + 2.0), strict=True):
        np.testing.assert_allclose(found, np.full((80, 80), expected), rtol=1e-5)
    assert tape.gradient(last[1], x) is None
    np.testing.assert_allclose(tape.gradient(last[1], w), np.full((80, 80), 4.0))


def test_slices_of_what_is_gone() -> None:
    rows = tf.function(lambda x, i: tf.gather(x, i))
    f, x = _squashed(None), tf.Variable(_big())
    with tf.GradientTape() as tape:
        y = rows(f(x, _big()), tf.constant([1, 1]))
    found = tape.gradient(y, x)
    expected = np.zeros((80, 80))
    expected[1] = 2 * _slope(0.5)
    np.testing.assert_allclose(tf.convert_to_tensor(found), expected, rtol=1e-5)
