"""Functions with a gradient of their own: eager, traced, nested, with variables.

The gradients are wrong on purpose, so that a test sees whether they were used.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf

X, Y = tf.constant(2.0), tf.constant(3.0)
Fn = Callable[..., Any]


def slopes(f: Fn, *xs: Any) -> list[float | None]:
    with tf.GradientTape() as tape:
        tape.watch(list(xs))
        y = f(*xs)
    return [None if g is None else float(g) for g in tape.gradient(y, list(xs))]


def slope(f: Fn, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


@tf.custom_gradient
def product(a: Any, b: Any) -> Any:
    return a * b, lambda dy: (dy * 10.0 * b, dy * 20.0)


@tf.custom_gradient
def log1pexp(x: Any) -> Any:
    e = tf.exp(x)
    return tf.math.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))


def same(f: Fn) -> Fn:
    return f


def nested(f: Fn) -> Fn:
    inner = tf.function(f)
    return tf.function(lambda *xs: inner(*xs))


WAYS = [same, tf.function, nested]


@pytest.mark.parametrize("way", WAYS)
def test_the_gradient_is_used(way: Fn) -> None:
    f = way(lambda a, b: product(a, b))
    assert float(f(X, Y)) == 6.0
    assert slopes(f, X, Y) == [30.0, 20.0]
    squared = way(lambda a, b: product(a, b) ** 2)
    assert slopes(squared, X, Y) == [360.0, 240.0]


@pytest.mark.parametrize("way", WAYS)
def test_the_gradient_inside_a_function(way: Fn) -> None:
    f = way(lambda x: slope(lambda z: product(z, z), x))
    # d(a b) with a = b = z: 10 z + 20, differentiated: 10
    assert float(f(X)) == 40.0
    assert slopes(f, X) == [10.0]


@pytest.mark.parametrize("way", WAYS)
def test_orders(way: Fn) -> None:
    f = way(lambda x: log1pexp(x) * 2.0)
    assert float(slope(f, tf.constant(100.0))) == 2.0
    x = tf.constant(0.3)
    s = 1 / (1 + np.exp(-0.3))
    first = slope(f, x)
    second = slope(lambda z: slope(f, z), x)
    third = slope(lambda w: slope(lambda z: slope(f, z), w), x)
    expected = [2 * s, 2 * s * (1 - s), 2 * s * (1 - s) * (1 - 2 * s)]
    np.testing.assert_allclose([first, second, third], expected, rtol=1e-4)


@pytest.mark.parametrize("way", WAYS)
def test_variables(way: Fn) -> None:
    v = tf.Variable(2.0, name="v")

    @tf.custom_gradient
    def scaled(x: Any) -> Any:
        def grad(dy: Any, variables: Any = None) -> Any:
            assert [w.name for w in variables] == ["v:0"]
            return dy * 100.0, [dy * 7.0 * v]

        return x * v, grad

    def gradients(f: Fn) -> list[float]:
        with tf.GradientTape() as tape:
            tape.watch(X)
            y = f(X)
        return [float(g) for g in tape.gradient(y, [X, v])]

    f = way(lambda x: scaled(x))
    assert gradients(f) == [100.0, 14.0]
    assert gradients(way(lambda x: f(x) + v)) == [100.0, 15.0]
    v.assign(3.0)
    assert gradients(f) == [100.0, 21.0]

    def of_variable(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = f(x)
        return tape.gradient(y, v) * x

    assert gradients(way(of_variable)) == [21.0, 14.0]


def test_a_traced_gradient_uses_the_value_that_the_forward_pass_saw() -> None:
    v = tf.Variable(2.0)

    @tf.custom_gradient
    def scaled(x: Any) -> Any:
        return x * v, lambda dy, variables: (dy * v, [dy * 7.0 * v])

    @tf.function
    def f(x: Any) -> Any:
        y = scaled(x)
        v.assign_add(1.0)
        return y + scaled(x)

    with tf.GradientTape() as tape:
        tape.watch(X)
        y = f(X)
    assert [float(g) for g in tape.gradient(y, [X, v])] == [5.0, 35.0]
    assert float(v) == 3.0


@pytest.mark.parametrize("way", WAYS)
def test_several_results_and_structures(way: Fn) -> None:
    @tf.custom_gradient
    def both(x: Any) -> Any:
        return {"p": x * 1.0, "q": [x * 5.0]}, lambda dp, dq: dp * 2.0 + dq * 3.0

    f = way(lambda x: both(x))
    assert slopes(lambda x: f(x)["p"], X) == [2.0]
    assert slopes(lambda x: f(x)["q"][0], X) == [3.0]
    assert slopes(lambda x: f(x)["p"] + f(x)["q"][0], X) == [5.0]

    @tf.custom_gradient
    def of_pair(pair: Any) -> Any:
        return pair[0] * pair[1], lambda dy: (dy, None)

    assert slopes(way(lambda a, b: of_pair([a, b])), X, Y) == [1.0, None]


@pytest.mark.parametrize("way", WAYS)
def test_python_arguments_and_keywords(way: Fn) -> None:
    @tf.custom_gradient
    def scaled(x: Any, factor: Any, offset: Any = None) -> Any:
        return x * factor + offset, lambda dy: (dy * 3.0, None)

    f = way(lambda x: scaled(x, 2.0, offset=1.0))
    assert float(f(X)) == 5.0
    assert slopes(f, X) == [3.0]


@pytest.mark.parametrize("way", WAYS)
def test_watched_tensors_that_the_gradient_captures(way: Fn) -> None:
    c = tf.constant(5.0)

    @tf.custom_gradient
    def scaled(x: Any) -> Any:
        return x * c, lambda dy: dy * c * c

    f = way(lambda x: scaled(x))
    with tf.GradientTape() as tape:
        tape.watch(c)
        g = slope(f, X)
    assert (float(g), float(tape.gradient(g, c))) == (25.0, 10.0)


def test_methods_and_custom_gradients_inside_each_other() -> None:
    class Layer(tf.Module):
        def __init__(self) -> None:
            self.factor = 4.0

        @tf.custom_gradient
        def inner(self, x: Any) -> Any:
            return x, lambda dy: dy * self.factor

        @tf.custom_gradient
        def outer(self, x: Any) -> Any:
            y = self.inner(x)
            return y * y, lambda dy: dy * slope(self.inner, x)

    layer = Layer()
    assert slopes(layer.inner, X) == [4.0]
    assert slopes(layer.outer, X) == slopes(tf.function(layer.outer), X) == [4.0]
    assert layer.inner.__name__ == "inner"


def test_it_is_only_identity_when_compiled() -> None:
    f = tf.function(lambda x: log1pexp(x))
    concrete = f.get_concrete_function(tf.TensorSpec([None]))
    assert [n.op_type for n in concrete.as_onnx().graph.node] == ["Exp", "Add", "Log"]


def test_saved_and_loaded_it_computes_the_same(tmp_path: Path) -> None:
    module = tf.Module()
    module.f = tf.function(lambda x: product(x, x), input_signature=[tf.TensorSpec([])])
    tf.saved_model.save(module, str(tmp_path / "m"))
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    assert float(loaded.f(X)) == 4.0
    assert slopes(loaded.f, X) == slopes(module.f, X) == [40.0]


def test_a_persistent_tape_and_unused_results() -> None:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([X, Y])
        z = product(X, Y)
        product(Y, X)
    assert [float(g) for g in tape.gradient(z, [X, Y])] == [30.0, 20.0]
    assert [float(g) for g in tape.gradient(z, [X, Y])] == [30.0, 20.0]


@pytest.mark.parametrize("way", WAYS)
def test_mistakes(way: Fn) -> None:
    v = tf.Variable(1.0, name="v")
    no_pair = tf.custom_gradient(lambda x: x)
    with pytest.raises(TypeError, match="must return its result and a function"):
        way(lambda x: no_pair(x))(X)
    ignores = tf.custom_gradient(lambda x: (x * v, lambda dy: dy))
    with pytest.raises(TypeError, match=r"must accept keyword argument 'variables'.*v:0"):
        way(lambda x: ignores(x))(X)
    too_few = tf.custom_gradient(lambda x, y: (x * y, lambda dy: dy))
    with pytest.raises(ValueError, match="expected to return 2 gradients, but returned 1"):
        slopes(way(lambda x, y: too_few(x, y)), X, Y)
    no_variables = tf.custom_gradient(lambda x: (x * v, lambda dy, variables: (dy, [])))
    with pytest.raises(ValueError, match="Must return gradient for each variable"):
        slopes(way(lambda x: no_variables(x)), X)


def test_a_traced_gradient_may_not_assign() -> None:
    v = tf.Variable(1.0, name="v", trainable=False)

    @tf.custom_gradient
    def counting(x: Any) -> Any:
        def grad(dy: Any) -> Any:
            v.assign_add(1.0)
            return dy

        return x, grad

    assert slopes(counting, X) == [1.0]
    assert float(v) == 2.0
    with pytest.raises(ValueError, match=r"assigns the variables \['v:0'\]"):
        tf.function(lambda x: counting(x))(X)


@pytest.mark.parametrize("way", WAYS)
def test_recompute_grad(way: Fn) -> None:
    v = tf.Variable(3.0)
    calls: list[int] = []

    @tf.recompute_grad
    def f(x: Any) -> Any:
        calls.append(1)
        return tf.sin(x) * x * v

    g = way(lambda x: f(x))
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = g(X)
    dx, dv = tape.gradient(y, [X, v])
    s, c = np.sin(2.0), np.cos(2.0)
    np.testing.assert_allclose([y, dx, dv], [6 * s, 3 * (s + 2 * c), 2 * s], rtol=1e-5)
    second = slope(lambda z: slope(g, z), X)
    np.testing.assert_allclose(second, 3 * (2 * c - 2 * s), rtol=1e-5)
    assert len(calls) >= 2


def test_recompute_grad_of_several_results() -> None:
    f = tf.recompute_grad(lambda x, n: (x * x, x * 3.0, n))
    n = tf.constant(1)
    assert slopes(lambda x: f(x, n)[0] + f(x, n)[1], X) == [7.0]
    assert slopes(tf.function(lambda x: f(x, n)[0] + f(x, n)[1]), X) == [7.0]


@pytest.mark.parametrize("way", WAYS)
def test_grad_pass_through(way: Fn) -> None:
    f = way(tf.grad_pass_through(tf.round))
    x = tf.constant(1.6)
    assert float(f(x)) == 2.0
    assert slopes(f, x) == [1.0]
    v = tf.Variable(2.0)
    times = way(tf.grad_pass_through(lambda x: x * v))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = times(x)
    dx, dv = tape.gradient(y, [x, v])
    assert (float(dx), dv) == (1.0, None)


def test_recomputing_in_one_graph_is_not_shared_with_the_first_time() -> None:
    def block(x: tf.Tensor) -> tf.Tensor:
        return tf.sin(tf.sin(x) * 2.0)

    def step(function: Any) -> Any:
        def run(x: tf.Tensor) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(function(x) ** 2)
            return y, tape.gradient(y, x)

        return tf.function(run)

    for spec in ([], [3], [None, 2], None):
        counts = []
        for function in (block, tf.recompute_grad(block)):
            graph = step(function).get_concrete_function(tf.TensorSpec(spec)).graph
            counts.append([n.op_type for n in graph.as_onnx().graph.node].count("Sin"))
        assert counts == [2, 3]  # the inner one again
    for x in (1.0, [1.0, 2.0], np.zeros((0, 2), np.float32), [[np.nan, 1.0]]):
        value = tf.constant(x, tf.float32)
        found = [step(f)(value) for f in (block, tf.recompute_grad(block))]
        for a, b in zip(*found, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("outer", [lambda f: f, tf.function], ids=["eager", "traced"])
def test_second_derivatives_by_what_only_the_gradient_uses(outer: Any) -> None:
    v, w, c = tf.Variable(3.0), tf.Variable(5.0), tf.constant(7.0)

    @tf.custom_gradient
    def f(x: tf.Tensor) -> Any:
        def grad(dy: tf.Tensor, variables: Any = None) -> Any:
            return dy * w * c * v, [dy * x]

        return x * v, grad

    def run(x: tf.Tensor) -> Any:
        with tf.GradientTape() as second:
            second.watch([x, c])
            with tf.GradientTape() as first:
                first.watch(x)
                y = f(x)
            g = first.gradient(y, x)
        return first.watched_variables() == (v,), second.gradient(g, [v, w, c])

    only_v, found = outer(run)(tf.constant(2.0))
    assert bool(only_v)
    assert [float(g) for g in found] == [35.0, 21.0, 15.0]


def test_slices_from_a_gradient_function() -> None:
    @tf.custom_gradient
    def first_rows(x: tf.Tensor) -> Any:
        def grad(dy: tf.Tensor) -> Any:
            return tf.IndexedSlices(dy * 9.0, tf.constant([0, 1]))

        return tf.gather(x, [0, 1]), grad

    for function, kind in ((first_rows, tf.IndexedSlices), (tf.function(first_rows), tf.Tensor)):
        x = tf.constant([1.0, 2.0, 3.0])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = function(x)
            z = function(x * 2.0)
        assert isinstance(tape.gradient(y, x), kind)
        assert tf.convert_to_tensor(tape.gradient(y, x)).numpy().tolist() == [9.0, 9.0, 0.0]
        assert tape.gradient(z, x).numpy().tolist() == [18.0, 18.0, 0.0]


def test_gradients_of_integer_arguments_are_left_out() -> None:
    @tf.custom_gradient
    def times(x: Any, n: Any) -> Any:
        return x * tf.cast(n, tf.float32), lambda dy: (dy * 4.0, dy)

    two = tf.constant(2)
    assert slopes(lambda x: times(x, two), X) == [4.0]
    assert slopes(tf.function(lambda x: times(x, two)), X) == [4.0]


class _Converts:
    def __init__(self, content):
        self.content = content

    def __tf_tensor__(self, dtype=None, name=None):
        return tf.convert_to_tensor(self.content)


class _Registered:
    def __init__(self, content):
        self.content = content


class _AsModule(tf.Module):
    def __init__(self, content):
        super().__init__()
        self.content = content

    def __tf_tensor__(self, dtype=None, name=None):
        return self.content * 1.0


tf.register_tensor_conversion_function(
    _Registered, lambda x, dtype=None, name=None, as_ref=False: tf.convert_to_tensor(x.content)
)


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
@pytest.mark.parametrize("of_variable", [False, True], ids=["tensor", "variable"])
@pytest.mark.parametrize("make", [_Converts, _Registered, _AsModule, lambda x: x])
def test_arguments_that_become_tensors(make, of_variable, traced):
    @tf.custom_gradient
    def f(x):
        def grad(dy, variables=()):
            return (dy * 10.0, [dy * 5.0 for _ in variables]) if variables else dy * 10.0

        return tf.convert_to_tensor(x) * 2.0, grad

    source = tf.Variable(3.0) if of_variable else tf.constant(3.0)

    def slope():
        with tf.GradientTape() as tape:
            tape.watch(source)
            y = f(make(source))
        return tape.gradient(y, source)

    # As TensorFlow 2.21: eagerly the conversion inside also reads the variable.
    plain = make(source) is source
    twice = of_variable and not traced and not plain
    assert float((tf.function(slope) if traced else slope)()) == (15.0 if twice else 10.0)


def test_it_shows_the_signature_of_its_function() -> None:
    def f(x: Any, y: int = 2, *, z: int = 3) -> Any:
        return x, lambda dy: dy

    class Layer(tf.Module):
        g = tf.custom_gradient(lambda self, a: (a, lambda dy: dy))

    for made in (tf.custom_gradient(f), tf.recompute_grad(f), tf.grad_pass_through(f)):
        assert str(inspect.signature(made)) == str(inspect.signature(f))
        assert inspect.getfullargspec(made).args == ["x", "y"]
    assert inspect.getfullargspec(Layer().g).args == ["a"]
