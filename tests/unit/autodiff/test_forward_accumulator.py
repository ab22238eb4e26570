"""``ForwardAccumulator``: what TensorFlow's does, in the details, eagerly and in functions."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import InvalidArgumentError

Accumulator = tf.autodiff.ForwardAccumulator


def test_example() -> None:
    x = tf.constant([1.0, 2.0])
    with Accumulator(x, tf.constant([1.0, 0.0])) as acc:
        y = tf.reduce_sum(tf.sin(x) * x**3)
    np.testing.assert_allclose(acc.jvp(y), np.cos(1.0) + 3 * np.sin(1.0), rtol=1e-6)


# Primals and tangents


def test_structures() -> None:
    x, v = tf.constant([1.0, 2.0]), tf.Variable(3.0)
    primals = {"x": [x], "v": v}
    with Accumulator(primals, {"x": [tf.constant([1.0, -1.0])], "v": 2.0}) as acc:
        y = {"a": (x * v, x), "b": [v * v, tf.constant(1.0)]}
    found = acc.jvp(y)
    np.testing.assert_array_equal(found["a"][0], [5.0, 1.0])
    np.testing.assert_array_equal(found["a"][1], [1.0, -1.0])
    assert float(found["b"][0]) == 12.0
    assert found["b"][1] is None
    assert float(acc.jvp(v)) == 2.0


def test_a_primal_twice() -> None:
    x = tf.constant(1.0)
    with pytest.raises(ValueError, match="multiple times"):
        Accumulator([x, x], [1.0, 2.0])


def test_structures_that_differ() -> None:
    x = tf.constant([1.0, 2.0])
    with pytest.raises(ValueError, match="structure"):
        Accumulator([x], [x, x])
    with pytest.raises(ValueError, match="structure"):
        Accumulator(x, [1.0, 2.0])
    with pytest.raises(TypeError, match="structure"):
        Accumulator((x,), [x])


def test_tangents_of_other_dtypes() -> None:
    x = tf.constant([1.0, 2.0])
    with pytest.raises(ValueError, match="int32"):
        Accumulator(x, tf.constant([1, 2]))
    with Accumulator(x, np.array([1.0, 2.0])) as acc:
        y = x * x
    assert acc.jvp(y).dtype is tf.float32


def test_tangents_of_other_shapes() -> None:
    x = tf.constant([1.0, 2.0])
    with Accumulator(x, 2.0) as acc:
        y = x * x
    np.testing.assert_array_equal(acc.jvp(y), [4.0, 8.0])
    np.testing.assert_array_equal(acc.jvp(x), [2.0, 2.0])
    with pytest.raises(InvalidArgumentError, match=r"shape \(3,\).*expected.*\(2,\)"):
        Accumulator(x, tf.zeros([3]))


def test_integers_are_watched_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    x = tf.constant(1)
    with Accumulator(x, tf.constant(1)) as acc:
        y = x + x
    assert "must be floating" in caplog.text
    assert acc.jvp(y) is None


@pytest.mark.parametrize("value", [None, 1.0, np.array([1.0])], ids=["none", "float", "array"])
def test_primals_must_be_tensors(value: object) -> None:
    with pytest.raises(TypeError, match=r"Tensor or Variable"):
        Accumulator(value, value)


def test_watching_again_adds() -> None:
    x = tf.constant(1.0)
    acc = Accumulator(x, 3.0)
    acc._watch(x, 10.0)
    assert float(acc.jvp(x)) == 13.0


# Entering and leaving


def test_entering_twice() -> None:
    x = tf.constant(1.0)
    acc = Accumulator(x, 2.0)
    with acc, pytest.raises(ValueError, match="already recording"), acc:
        pass
    with pytest.raises(ValueError, match="not recording"):
        acc._pop_accumulator()


def test_entering_again() -> None:
    x = tf.constant(1.0)
    acc = Accumulator(x, 2.0)
    with acc:
        y = x * x
    between = y * y
    with acc:
        z = y * y
    assert acc.jvp(between) is None
    assert float(acc.jvp(z)) == 8.0


def test_leaving_by_an_exception() -> None:
    x = tf.constant(1.0)
    acc = Accumulator(x, 2.0)
    with pytest.raises(KeyError), acc:
        raise KeyError
    with acc:
        y = x * x
    assert float(acc.jvp(y)) == 4.0


def test_tangents_go_with_their_tensors() -> None:
    x = tf.constant(1.0)
    with Accumulator(x, 2.0) as acc:
        y = x * x
        tangent = weakref.ref(acc.jvp(y))
        del y
        gc.collect()
    assert tangent() is None


# jvp


def test_unconnected() -> None:
    x, v = tf.constant([1.0, 2.0]), tf.Variable([[1.0]])
    acc = Accumulator(x, tf.ones(2))
    assert acc.jvp(v) is None
    np.testing.assert_array_equal(acc.jvp(v, "zero"), [[0.0]])
    np.testing.assert_array_equal(acc.jvp(v, tf.UnconnectedGradients.ZERO), [[0.0]])
    zero = acc.jvp(tf.constant(3), unconnected_gradients="zero")
    assert zero.dtype is tf.int32
    with pytest.raises(ValueError, match="'foo' is not a valid UnconnectedGradients"):
        acc.jvp(x, "foo")


@pytest.mark.parametrize("value", [None, 3.0], ids=["none", "float"])
def test_jvp_of_no_tensor(value: object) -> None:
    acc = Accumulator(tf.constant(1.0), 1.0)
    with pytest.raises(TypeError, match="tensors and variables"):
        acc.jvp(value)


def test_what_has_no_tangent() -> None:
    x = tf.constant([1.4, 2.0])
    with Accumulator(x, tf.ones(2)) as acc:
        stopped = tf.stop_gradient(x)
        product = stopped * x
        others = [tf.round(x), tf.argmax(x), tf.cast(tf.cast(x, tf.int32), tf.float32)]
        others += [tf.numpy_function(np.sin, [x], tf.float32), tf.zeros_like(x)]
        with tf.init_scope():
            others.append(x * x)
    np.testing.assert_allclose(acc.jvp(product), [1.4, 2.0])
    assert acc.jvp([stopped, *others]) == [None] * 7


def test_sparse_gradients() -> None:
    table = tf.Variable([1.0, 2.0, 3.0, 4.0])
    with Accumulator(table, tf.constant([0.1, 0.2, 0.3, 0.4])) as acc:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(table, [0, 2, 2]) ** 3)
        gradient = tape.gradient(y, table)
        dense = tf.convert_to_tensor(gradient)
    np.testing.assert_allclose(acc.jvp(y), 16.5, rtol=1e-6)
    np.testing.assert_allclose(acc.jvp(dense), [0.6, 0.0, 10.8, 0.0], rtol=1e-6)
    sparse = acc.jvp(gradient)
    assert isinstance(sparse, tf.IndexedSlices)
    np.testing.assert_allclose(tf.convert_to_tensor(sparse), [0.6, 0.0, 10.8, 0.0], rtol=1e-6)


# Nesting


def test_nested() -> None:
    x = tf.constant([1.0, 2.0])
    with Accumulator(x, tf.ones(2)) as outer, Accumulator(x, tf.ones(2)) as inner:
        y = x**3
    np.testing.assert_allclose(inner.jvp(y), [3.0, 12.0])
    np.testing.assert_allclose(outer.jvp(inner.jvp(y)), [6.0, 12.0])
    assert inner.jvp(outer.jvp(y)) is None


def test_forward_over_reverse() -> None:
    v = tf.Variable([1.0, 2.0])
    with Accumulator(v, tf.constant([1.0, 0.0])) as acc:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v**3)
        gradient = tape.gradient(y, v)
    np.testing.assert_allclose(acc.jvp(gradient), [6.0, 0.0])
    assert float(acc.jvp(y)) == 3.0


def test_reverse_over_forward() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        with Accumulator(x, tf.constant([1.0, 0.0])) as acc:
            y = tf.reduce_sum(x**3)
        tangent = acc.jvp(y)
    np.testing.assert_allclose(tape.gradient(tangent, x), [6.0, 0.0])


def test_an_inner_tape_does_not_see_tangents() -> None:
    x = tf.constant([1.0, 2.0])
    with Accumulator(x, tf.ones(2)) as acc:
        with tf.GradientTape() as tape:
            tape.watch(x)
            tangent = acc.jvp(x**3)
        assert tape.gradient(tangent, x) is None


def test_a_stopped_tape_stops_no_accumulator() -> None:
    x = tf.constant([1.0, 2.0])
    with Accumulator(x, tf.ones(2)) as acc, tf.GradientTape() as tape:
        tape.watch(x)
        with tape.stop_recording():
            y = x * x
    np.testing.assert_allclose(acc.jvp(y), [2.0, 4.0])


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
def test_derivatives_of_five_orders(traced: bool) -> None:
    def derivative(f):
        def slope(x):
            with Accumulator(x, tf.ones_like(x)) as acc:
                y = f(x)
            return acc.jvp(y)

        return slope

    functions = [lambda x: tf.exp(x) * tf.sin(x)]
    for _ in range(5):
        functions.append(derivative(functions[-1]))
    # The derivatives of exp(x) sin(x) turn by 45 degrees and grow by the root of 2.
    at = 0.7
    expected = [2 ** (n / 2) * np.exp(at) * np.sin(at + n * np.pi / 4) for n in range(6)]
    given = tf.constant(at, tf.float64)
    found = [float((tf.function(f) if traced else f)(given)) for f in functions]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


# Variables


def test_a_variable_keeps_its_tangent_when_it_is_assigned() -> None:
    v = tf.Variable([1.0, 2.0])
    with Accumulator(v, tf.ones(2)) as acc:
        y = v * 2
        v.assign(y)
        z = v * 3.0
    np.testing.assert_array_equal(acc.jvp(v), [1.0, 1.0])
    np.testing.assert_array_equal(acc.jvp(z), [3.0, 3.0])
    assert acc.jvp(v.read_value()) is None


def test_an_assignment_takes_no_tangent_along() -> None:
    v, x = tf.Variable([1.0, 2.0]), tf.constant([1.0, 2.0])
    with Accumulator(x, tf.ones(2)) as acc:
        v.assign(x * 2)
        z = v * 3.0
    assert acc.jvp([v, z]) == [None, None]


def test_untrainable_variables() -> None:
    v = tf.Variable(2.0, trainable=False)
    with Accumulator(v, 3.0) as acc:
        y = v * v
    assert float(acc.jvp(y)) == 12.0


# Custom gradients


def test_custom_gradient_is_transposed() -> None:
    @tf.custom_gradient
    def f(x):
        return tf.sin(x), lambda dy: dy * 100.0 * x

    x = tf.constant([1.0, 2.0])
    for g in (f, tf.function(f)):
        with Accumulator(x, tf.constant([1.0, 0.5])) as acc:
            y = g(x)
        np.testing.assert_allclose(acc.jvp(y), [100.0, 100.0])


def test_an_exception_in_a_custom_gradient() -> None:
    @tf.custom_gradient
    def f(x):
        def grad(dy):
            raise ValueError("in the gradient")

        return x + 1.0, grad

    x = tf.constant(1.0)
    with Accumulator(x, 2.0), pytest.raises(ValueError, match="in the gradient"):
        f(x)


def test_recompute_grad() -> None:
    f = tf.recompute_grad(lambda x: tf.reduce_prod(tf.tanh(x) ** 2))
    x = tf.constant([1.0, 2.0], tf.float64)
    with Accumulator(x, tf.ones(2, tf.float64)) as acc:
        y = f(x)
    t = np.tanh([1.0, 2.0])
    expected = np.prod(t**2) * np.sum(2 * (1 - t**2) / t)
    np.testing.assert_allclose(acc.jvp(y), expected, rtol=1e-12)


def test_an_operator_without_any_rule() -> None:
    from tfx.autodiff.jvp import push
    from tfx.core.errors import NotFoundError
    from tfx.framework.rules import OpRecord

    x = tf.constant(1.0)
    with pytest.raises(NotFoundError, match="NoSuchOperator"):
        push(OpRecord("NoSuchOperator", {}, (x,), (x,)), [x])
