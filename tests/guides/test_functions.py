"""Graphs and ``tf.function``: when Python runs, what makes a new graph, what a graph remembers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf


def test_a_function_and_its_graph_agree() -> None:
    def layer(x: tf.Tensor, w: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
        return tf.matmul(x, w) + b

    args = tf.constant([[1.0, 2.0]]), tf.constant([[2.0], [3.0]]), tf.constant(4.0)
    assert layer(*args).numpy() == tf.function(layer)(*args).numpy() == [[12.0]]


def test_functions_called_by_functions() -> None:
    def inner(x: tf.Tensor, y: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
        return tf.matmul(x, y) + b

    @tf.function
    def outer(x: tf.Tensor) -> tf.Tensor:
        return inner(x, tf.constant([[2.0], [3.0]]), tf.constant(4.0))

    assert outer(tf.constant([[1.0, 2.0]])).numpy() == [[12.0]]

    @tf.function
    def add(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
        return a + b

    @tf.function
    def dense(x: tf.Tensor, w: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
        return add(tf.matmul(x, w), b)

    np.testing.assert_array_equal(
        dense(tf.ones([3, 2]), tf.ones([2, 2]), tf.ones([2])), [[3.0, 3.0]] * 3
    )


def test_one_function_many_graphs() -> None:
    @tf.function
    def relu(x: Any) -> tf.Tensor:
        return tf.maximum(0.0, x)

    assert relu(tf.constant(5.5)).numpy() == 5.5
    np.testing.assert_array_equal(relu([1, -1]), [1.0, 0.0])
    np.testing.assert_array_equal(relu(tf.constant([3.0, -3.0])), [3.0, 0.0])
    np.testing.assert_array_equal(relu(tf.constant([6.0, -7.0])), [6.0, 0.0])
    assert relu.experimental_get_tracing_count() == 3
    text = relu.pretty_printed_concrete_signatures()
    assert "x (POSITIONAL_OR_KEYWORD): TensorSpec(shape=(2,), dtype=tf.float32, name=None)" in text
    assert "x (POSITIONAL_OR_KEYWORD): List[Literal[1], Literal[-1]]" in text


def test_python_runs_while_tracing_only() -> None:
    seen: list[Any] = []

    @tf.function
    def mse(y_true: tf.Tensor, y_pred: tf.Tensor) -> tf.Tensor:
        seen.append(str(y_true))
        return tf.reduce_mean(tf.pow(y_true - y_pred, 2))

    a, b = tf.constant([1.0, 2.0, 3.0]), tf.constant([3.0, 2.0, 3.0])
    for _ in range(3):
        np.testing.assert_allclose(mse(a, b), 4 / 3)
    assert seen == ['Tensor("y_true:0", shape=(3,), dtype=float32)']
    tf.config.run_functions_eagerly(True)
    try:
        mse(a, b)
        mse(a, b)
        assert len(seen) == 3
    finally:
        tf.config.run_functions_eagerly(False)
    assert not tf.config.functions_run_eagerly()


def test_what_is_not_needed_is_not_run() -> None:
    def unused(x: tf.Tensor) -> tf.Tensor:
        tf.gather(x, [1])  # there is no such row
        return x

    with pytest.raises(tf.errors.InvalidArgumentError):
        unused(tf.constant([0.0]))
    assert tf.function(unused)(tf.constant([0.0])).numpy() == [0.0]


def test_python_values_make_a_graph_each_and_tensors_share_one() -> None:
    traced: list[Any] = []

    @tf.function
    def train(steps: Any) -> tf.Tensor:
        traced.append(steps)
        return tf.constant(0) + steps

    for steps in (10, 20, 10):
        assert train(steps).numpy() == steps
    for steps in (10, 20, 30):
        assert train(tf.constant(steps)).numpy() == steps
    assert traced[:2] == [10, 20]
    assert len(traced) == 3


def test_tracing_by_dtype() -> None:
    @tf.function
    def double(a: tf.Tensor) -> tf.Tensor:
        return a + a

    assert double(tf.constant(1)).numpy() == 2
    np.testing.assert_allclose(double(tf.constant(1.1)), 2.2)
    assert double(tf.constant("a")).numpy() == b"aa"
    assert double(tf.constant("b")).numpy() == b"bb"
    assert double.experimental_get_tracing_count() == 3
    strings = double.get_concrete_function(tf.constant("x"))
    assert double.experimental_get_tracing_count() == 3
    assert strings(tf.constant("a")).numpy() == b"aa"
    assert strings(a=tf.constant("b")).numpy() == b"bb"
    with pytest.raises(tf.errors.InvalidArgumentError):
        strings(tf.constant(1))


def test_concrete_functions() -> None:
    @tf.function
    def power(a: tf.Tensor, b: int) -> tf.Tensor:
        return a**b

    square = power.get_concrete_function(a=tf.TensorSpec(None, tf.float32), b=2)
    assert str(square) == (
        "ConcreteFunction Input Parameters:\n"
        "  a (POSITIONAL_OR_KEYWORD): TensorSpec(shape=<unknown>, dtype=tf.float32, name=None)\n"
        "  b (POSITIONAL_OR_KEYWORD): Literal[2]\n"
        "Output Type:\n"
        "  TensorSpec(shape=<unknown>, dtype=tf.float32, name=None)\n"
        "Captures:\n"
        "  None"
    )
    assert square(tf.constant(10.0)).numpy() == 100.0
    assert square(tf.constant(10.0), b=2).numpy() == 100.0
    with pytest.raises(TypeError):
        square(tf.constant(10.0), b=3)
    (a, b), kwargs = square.structured_input_signature
    assert (a.shape.rank, a.dtype, b, kwargs) == (None, tf.float32, 2, {})
    assert square.structured_outputs.dtype == tf.float32
    assert len(square.graph.as_graph_def().node) >= 1


def test_an_input_signature_allows_one_graph() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
    def collatz(x: tf.Tensor) -> tf.Tensor:
        return tf.where(x % 2 == 0, x // 2, 3 * x + 1)

    np.testing.assert_array_equal(collatz(tf.constant([1, 2])), [4, 1])
    np.testing.assert_array_equal(collatz(tf.constant([1, 2, 3, 4])), [4, 1, 10, 2])
    assert collatz.experimental_get_tracing_count() == 1
    with pytest.raises(TypeError):
        collatz(tf.constant([[1, 2], [3, 4]]))
    with pytest.raises(TypeError):
        collatz(tf.constant([1.0, 2.0]))


def test_reduce_retracing() -> None:
    shapes: list[Any] = []

    @tf.function(reduce_retracing=True)
    def f(x: tf.Tensor) -> tf.Tensor:
        shapes.append(x.shape.as_list())
        return x * 2

    for n in (3, 5, 6, 7):
        assert f(tf.range(n)).shape == (n,)
    assert shapes == [[3], [None]]


def test_two_functions_of_one_python_function_share_nothing() -> None:
    count: list[int] = []

    def f() -> None:
        count.append(1)

    tf.function(f)()
    tf.function(f)()
    assert len(count) == 2


def test_lists_and_global_values_are_those_of_the_trace() -> None:
    outside: list[Any] = []

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        outside.append(x)
        return x

    f(tf.constant(1))
    f(tf.constant(1))
    assert len(outside) == 1
    value = 1

    @tf.function
    def g() -> tf.Tensor:
        return tf.constant(1) + value

    assert g().numpy() == 2
    value = 100
    assert g().numpy() == 2


def test_variables_are_looked_up_at_every_call() -> None:
    v = tf.Variable(1)

    @tf.function
    def f() -> tf.Tensor:
        return 1 + v

    assert f().numpy() == 2
    v.assign(10)
    assert f().numpy() == 11


def test_assignments_in_a_function() -> None:
    class Model(tf.Module):
        def __init__(self) -> None:
            self.v = tf.Variable(0)
            self.counter = 0

        @tf.function
        def __call__(self) -> tf.Tensor:
            if self.counter == 0:  # Python: while tracing only
                self.counter += 1
                self.v.assign_add(1)
            return self.v

    model = Model()
    assert [model().numpy() for _ in range(3)] == [1, 2, 3]
    assert model.counter == 1


def test_a_leaked_tensor() -> None:
    leaked: list[tf.Tensor] = []

    @tf.function
    def leaky(a: tf.Tensor) -> tf.Tensor:
        leaked.append(a + 1)
        return a + 2

    assert leaky(tf.constant(1)).numpy() == 3
    with pytest.raises(AttributeError):
        leaked[0].numpy()

    @tf.function
    def uses_it(b: tf.Tensor) -> tf.Tensor:
        return b + leaked[0]

    with pytest.raises(TypeError):
        uses_it(tf.constant(2))


def test_modules_are_arguments_by_identity() -> None:
    class Model(tf.Module):
        def __init__(self) -> None:
            self.bias = 0.0
            self.weight = tf.Variable(2.0)

    @tf.function
    def evaluate(model: Model, x: tf.Tensor) -> tf.Tensor:
        return model.weight * x + model.bias

    x, first = tf.constant(10.0), Model()
    assert evaluate(first, x).numpy() == 20.0
    first.bias += 5.0
    assert evaluate(first, x).numpy() == 20.0  # traced before
    second = Model()
    second.bias = 7.0
    assert evaluate(second, x).numpy() == 27.0
    first.weight.assign(3.0)
    assert evaluate(first, x).numpy() == 30.0


def test_variables_may_be_made_once() -> None:
    @tf.function
    def wrong(x: tf.Tensor) -> tf.Variable:
        v = tf.Variable(1.0)
        v.assign_add(x)
        return v

    with pytest.raises(ValueError, match=r"singleton|created"):
        wrong(1.0)

    class Count(tf.Module):
        def __init__(self) -> None:
            self.count: tf.Variable | None = None

        @tf.function
        def __call__(self) -> tf.Tensor:
            if self.count is None:
                self.count = tf.Variable(0)
            return self.count.assign_add(1)

    count = Count()
    assert [count().numpy(), count().numpy()] == [1, 2]


def test_a_deleted_variable() -> None:
    # TensorFlow raises where the name was global; what a closure held it keeps.
    v = tf.Variable(3)

    @tf.function
    def f(x: Any) -> tf.Tensor:
        return x * v

    concrete = f.get_concrete_function(4)
    assert concrete(4).numpy() == 12
    v = tf.Variable(4)  # the first one is gone
    with pytest.raises(tf.errors.FailedPreconditionError):
        concrete(4)


def test_what_functions_return() -> None:
    @tf.function
    def nested(x: tf.Tensor) -> Any:
        return {"a": x, "b": (x + 1, [x + 2, None])}

    result = nested(tf.constant(1))
    assert result["b"][1][1] is None
    assert (int(result["a"]), int(result["b"][0]), int(result["b"][1][0])) == (1, 2, 3)
    assert tf.function(lambda: None)() is None
    with pytest.raises(TypeError, match="must return zero or more Tensors"):
        tf.function(lambda: object())()


def test_exceptions_reach_the_caller() -> None:
    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        f(tf.constant(1))

    @tf.function
    def g(x: tf.Tensor, n: tf.Tensor) -> tf.Tensor:
        return tf.gather(x, n)

    with pytest.raises(tf.errors.InvalidArgumentError):
        g(tf.range(6), tf.constant(6))


def test_gradients_through_and_inside() -> None:
    v = tf.Variable(1.0)

    @tf.function
    def add(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
        return a + b

    with tf.GradientTape() as tape:
        result = add(v, 1.0)
    assert tape.gradient(result, v).numpy() == 1.0

    @tf.function
    def slope(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x**3
        return tape.gradient(y, x)

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = slope(x)
    assert (float(y), float(tape.gradient(y, x))) == (27.0, 18.0)

    @tf.function
    def older(x: tf.Tensor) -> Any:
        return tf.gradients(x * x, [x])

    assert older(x)[0].numpy() == 6.0


def test_tracing_is_visible() -> None:
    assert tf.executing_eagerly()
    assert not tf.inside_function()
    found: list[Any] = []

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        found.append((tf.executing_eagerly(), tf.inside_function(), x.name))
        with tf.init_scope():
            found.append(tf.executing_eagerly())
        with tf.control_dependencies([x]):
            return tf.identity(x)

    f(tf.constant(1.0))
    assert found == [(False, True, "x:0"), True]
