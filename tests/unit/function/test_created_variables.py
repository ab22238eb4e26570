"""Variables that a function makes: on its first call only, with values from its arguments."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import FailedPreconditionError
from tfx.testing import assert_close


class State:
    v = None


def _lazily(make):
    """A function that creates its variable when there is none, and the object that holds it."""
    state = State()

    def f(x):
        if state.v is None:
            state.v = make(x)
        return state.v.assign_add(x)

    return tf.function(f), state


def test_created_once():
    f, state = _lazily(lambda x: tf.Variable(10.0))
    assert [f(x).numpy() for x in (tf.constant(1.0), tf.constant(2.0))] == [11.0, 13.0]
    assert state.v.numpy() == 13.0
    assert f.experimental_get_tracing_count() == 2  # the second time without the creation


def test_later_traces_find_the_variable():
    v = None

    @tf.function
    def f(x):
        nonlocal v
        if v is None:
            v = tf.Variable(1.0)
        return tf.cast(x, tf.float32) + v

    assert f(tf.constant(1.0)).numpy() == 2.0
    assert f(tf.constant(2)).numpy() == 3.0


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda x: tf.Variable(x * 2.0), [3.0, 6.0]),
        (lambda x: tf.Variable(tf.zeros_like(x)), [1.0, 2.0]),
        (lambda x: tf.Variable(tf.ones(tf.shape(x))), [2.0, 3.0]),
        (lambda x: tf.Variable(lambda: [5.0, 5.0]), [6.0, 7.0]),
        (lambda x: tf.Variable(tf.constant([1.0, 1.0]) + 1.0), [3.0, 4.0]),
    ],
    ids=["argument", "zeros_like", "shape", "callable", "constant"],
)
def test_initial_values(make, expected):
    f, _ = _lazily(make)
    np.testing.assert_array_equal(f(tf.constant([1.0, 2.0])), expected)


def test_an_initial_value_from_another_variable():
    w = tf.Variable(4.0)
    f, _ = _lazily(lambda x: tf.Variable(w + x))
    assert f(tf.constant(1.0)).numpy() == 6.0


def test_an_initial_value_from_another_created_variable():
    state = State()

    @tf.function
    def f(x):
        if state.v is None:
            first = tf.Variable(x + 1.0)
            state.v = [first, tf.Variable(first * 10.0)]
        return state.v[0] + state.v[1]

    assert f(tf.constant(1.0)).numpy() == 22.0


def test_creation_inside_of_a_nested_call():
    inner, state = _lazily(lambda x: tf.Variable(x * 2.0))
    outer = tf.function(lambda x: inner(x + 1.0) + 0.5)
    assert outer(tf.constant(1.0)).numpy() == 6.5
    assert outer(tf.constant(1.0)).numpy() == 8.5
    assert state.v.numpy() == 8.0


def test_the_first_call_of_a_function_is_its_own_wherever_it_is():
    """As in TensorFlow: the function around need not be traced again, nor be in its first call."""
    inner, state = _lazily(lambda x: tf.Variable(5.0))
    outer = tf.function(lambda x, use: inner(x) if use else x)
    assert outer(tf.constant(2.0), False).numpy() == 2.0
    assert outer(tf.constant(2.0), True).numpy() == 7.0
    assert outer.experimental_get_tracing_count() == 2
    assert inner.experimental_get_tracing_count() == 2
    assert state.v.numpy() == 7.0
    with pytest.raises(ValueError, match="on the first call"):
        tf.function(lambda x: tf.function(lambda y: tf.Variable(y))(x))(tf.constant(1.0))


@pytest.mark.parametrize(
    "make",
    [
        lambda x: tf.zeros(tf.shape(x)),
        lambda x: tf.zeros_like(x),
        lambda x: tf.zeros(x.shape),
        lambda x: tf.random.normal([*x.shape]) * 0.0,
        lambda x: tf.reshape(tf.zeros([tf.size(x)]), tf.shape(x)),
    ],
    ids=range(5),
)
def test_initial_values_of_the_shape_of_an_argument(make):
    state = State()

    @tf.function
    def f(x):
        if state.v is None:
            state.v = tf.Variable(make(x))
        return state.v + x

    np.testing.assert_array_equal(f(tf.ones([2, 3])), np.ones([2, 3]))
    assert state.v.shape == [2, 3]
    np.testing.assert_array_equal(f(tf.ones([1, 1])), np.ones([2, 3]))
    with pytest.raises(ValueError, match=r"broadcast|[Ii]ncompatible"):
        f(tf.ones([5, 3]))


def test_creation_on_every_call_is_refused():
    f = tf.function(lambda x: tf.Variable(1.0) + x)
    with pytest.raises(ValueError, match=r"singleton tf\.Variables created on the first call"):
        f(tf.constant(1.0))


def test_creation_on_a_later_call_is_refused():
    made = []

    @tf.function
    def f(x, make):
        if make:
            made.append(tf.Variable(1.0))
        return x

    f(tf.constant(1.0), False)
    with pytest.raises(ValueError, match="on the first call"):
        f(tf.constant(1.0), True)


def test_a_failed_first_call_may_be_repeated():
    state = State()

    @tf.function
    def f(fail):
        if state.v is None:
            v = tf.Variable(1.0)
            if fail:
                raise KeyError
            state.v = v
        return state.v + 1.0

    with pytest.raises(KeyError):
        f(True)
    assert f(False).numpy() == 2.0


def test_a_concrete_function_creates_too():
    f, state = _lazily(lambda x: tf.Variable(5.0))
    concrete = f.get_concrete_function(tf.TensorSpec([], tf.float32))
    assert state.v.numpy() == 5.0
    assert concrete(tf.constant(1.0)).numpy() == 6.0


def test_without_contents_there_is_no_initial_value():
    f, _ = _lazily(lambda x: tf.Variable(x * 2.0))
    with pytest.raises(FailedPreconditionError, match=r"initial value.*'x'.*no contents.*callable"):
        f.get_concrete_function(tf.TensorSpec([], tf.float32))


def test_with_an_input_signature():
    state = State()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def f(x):
        if state.v is None:
            state.v = tf.Variable(tf.reduce_sum(x))
        return x * state.v

    np.testing.assert_array_equal(f([1.0, 2.0]), [3.0, 6.0])
    np.testing.assert_array_equal(f([1.0]), [3.0])
    assert f.experimental_get_tracing_count() == 2


def test_only_weak_references_are_kept():
    f, state = _lazily(lambda x: tf.Variable(10.0, name="mine"))
    f(tf.constant(1.0))
    state.v = None
    gc.collect()
    with pytest.raises(FailedPreconditionError, match="'mine:0'"):
        f(tf.constant(1.0))


def test_init_scope_lifts_out_of_the_trace():
    state = State()

    @tf.function
    def f(x):
        with tf.init_scope():
            if state.v is None:
                state.v = tf.Variable(2.0)
        return state.v * x

    assert f(tf.constant(3.0)).numpy() == 6.0
    assert f(tf.constant([3.0])).numpy() == 6.0


def test_call_contents_are_not_kept_alive():
    import weakref

    f, _ = _lazily(lambda x: tf.Variable(x))
    x = tf.ones([100])
    reference = weakref.ref(x)
    f(x)
    del x
    gc.collect()
    assert reference() is None


class _Lazy(tf.Module):
    """Makes its variable at the first call."""

    def __init__(self, initial: Any) -> None:
        super().__init__()
        self.initial, self.kernel = initial, None

    def __call__(self, x: Any) -> Any:
        if self.kernel is None:
            self.kernel = tf.Variable(self.initial(x))
        return x + self.kernel


INITIAL_VALUES = {
    "constants": lambda x: tf.zeros([3]) + tf.range(3.0),
    "a shape": lambda x: tf.fill([3], tf.cast(tf.shape(x)[0], tf.float32)),
    "a branch": lambda _: tf.cond(
        tf.constant(2.0) > 1.0, lambda: tf.ones([3]), lambda: tf.eye(3)[0]
    ),
    "random numbers": lambda x: tf.random.normal([3]) + tf.random.uniform([3], seed=1),
}


@pytest.mark.parametrize("name", INITIAL_VALUES)
def test_a_variable_made_in_a_loop_or_a_branch(name: str) -> None:
    layer = _Lazy(INITIAL_VALUES[name])

    @tf.function
    def run(x: Any, n: Any) -> Any:
        for _ in tf.range(n):
            for _ in tf.range(2):
                if n > 0:
                    x = layer(x)
        return x

    x = np.array([1.0, 2.0, 3.0], np.float32)
    found = run(tf.constant(x), tf.constant(2))
    assert_close(found, x + 4.0 * layer.kernel.numpy())
    assert_close(run(tf.constant(x), tf.constant(1)), x + 2.0 * layer.kernel.numpy())
    if name == "constants":
        assert_close(layer.kernel, [0.0, 1.0, 2.0])


def test_an_initial_value_of_a_loop_variable_is_refused() -> None:
    layer = _Lazy(lambda x: x * 2.0)

    @tf.function
    def run(x: Any) -> Any:
        for _ in tf.range(2):
            x = layer(x)
        return x

    with pytest.raises(tf.errors.FailedPreconditionError, match="a branch or a loop body"):
        run(tf.constant([1.0, 2.0, 3.0]))
