"""The optimizer as an object: its state, learning rate, entry points and place in programs."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.framework import trackable


def names(variables: Any) -> list[str]:
    return [v.name for v in variables]


def test_variables_and_their_names() -> None:
    w, b = tf.Variable([1.0, 2.0], name="layer/w"), tf.Variable(0.0, name="b")
    optimizer = tf.optimizers.Adam()
    assert names(optimizer.variables) == ["adam/iterations:0", "adam/learning_rate:0"]
    assert not optimizer.built
    with tf.name_scope("outer"):
        optimizer.build([w, b])
    assert optimizer.built
    assert names(optimizer.variables)[2:] == [
        "layer/w/adam/m:0", "layer/w/adam/v:0", "b/adam/m:0", "b/adam/v:0",
    ]  # fmt: skip
    assert optimizer.iterations.dtype is tf.int64
    assert not optimizer.trainable_variables
    assert optimizer.get_slot(w, "m").shape == [2]
    with pytest.raises(KeyError, match="no slot 'momentum'; it has"):
        optimizer.get_slot(w, "momentum")
    with pytest.raises(KeyError, match="no slots of 'other:0'"):
        optimizer.get_slot(tf.Variable(1.0, name="other"), "m")


def test_variables_of_one_name_have_slots_of_their_own() -> None:
    a, b = tf.Variable(1.0), tf.Variable(1.0)
    optimizer = tf.optimizers.SGD(1.0, momentum=0.5)
    optimizer.apply_gradients([(tf.constant(1.0), a), (tf.constant(2.0), b)])
    assert float(optimizer.get_slot(a, "momentum")) == -1.0
    assert float(optimizer.get_slot(b, "momentum")) == -2.0


def test_variables_may_come_later() -> None:
    a, b = tf.Variable(0.0), tf.Variable(0.0)
    optimizer = tf.optimizers.Adam(0.5, use_ema=True)
    optimizer.apply_gradients([(tf.constant(1.0), a)])
    optimizer.apply_gradients([(tf.constant(1.0), b), (tf.constant(1.0), a)])
    assert len(optimizer.variables) == 2 + 2 * 3
    # An average that starts late starts from the variable's value.
    average = float(optimizer.get_slot(b, "average"))
    assert average == pytest.approx(0.01 * float(b))


def test_a_variable_of_unknown_shape() -> None:
    v = tf.Variable([1.0, 2.0], shape=tf.TensorShape([None]))
    optimizer = tf.optimizers.SGD(1.0, momentum=0.5)
    optimizer.apply_gradients([(tf.constant([1.0, 1.0]), v)])
    np.testing.assert_array_equal(v.numpy(), [0.0, 1.0])
    assert optimizer.get_slot(v, "momentum").shape.as_list() == [None]


def test_learning_rate_is_a_variable_that_traced_steps_read() -> None:
    v = tf.Variable(0.0)
    optimizer = tf.optimizers.SGD(1.0)

    @tf.function
    def step() -> None:
        optimizer.apply_gradients([(tf.constant(-1.0), v)])

    step()
    optimizer.learning_rate = 10.0
    step()
    optimizer.learning_rate.assign(100.0)
    step()
    assert float(v) == 111.0
    assert step.experimental_get_tracing_count() == 1


def test_learning_rate_assigned_while_traced() -> None:
    optimizer = tf.optimizers.SGD(1.0)

    @tf.function
    def halve() -> None:
        optimizer.learning_rate = optimizer.learning_rate * 0.5

    halve()
    halve()
    assert float(optimizer.learning_rate) == 0.25


def test_learning_rate_of_other_kinds() -> None:
    optimizer = tf.optimizers.SGD(lambda: 0.5)
    assert optimizer.learning_rate == 0.5
    v = tf.Variable(1.0)
    optimizer.apply_gradients([(tf.constant(1.0), v)])
    assert float(v) == 0.5
    with pytest.raises(TypeError, match="learning rate is not settable"):
        optimizer.learning_rate = 0.1
    optimizer.learning_rate = tf.optimizers.schedules.ExponentialDecay(4.0, 1, 0.5)
    assert float(optimizer.learning_rate) == 2.0
    fixed = tf.optimizers.SGD(np.float64(0.25))
    fixed.learning_rate = lambda: 3
    assert names(fixed.variables) == ["sgd/iterations:0"]


def test_slots_are_created_in_the_first_trace() -> None:
    model: dict[str, tf.Variable] = {}
    optimizer = tf.optimizers.Adam(0.5)

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        if not model:
            model["w"] = tf.Variable([1.0, 1.0], name="w")
        with tf.GradientTape() as tape:
            loss = (model["w"] * x - 3.0) * (model["w"] * x - 3.0)
        gradients = tape.gradient(loss, [model["w"]])
        optimizer.apply_gradients(zip(gradients, [model["w"]], strict=True))
        return loss

    first = step(tf.constant([1.0, 2.0])).numpy()
    second = step(tf.constant([1.0, 2.0])).numpy()
    np.testing.assert_array_equal(first, [4.0, 1.0])
    np.testing.assert_allclose(second, [2.25, 0.0], atol=1e-4)
    assert int(optimizer.iterations) == 2
    # Another trace finds the slots there, and a function that sees new variables may make some.
    step(tf.constant(1.0))
    assert int(optimizer.iterations) == 3


def test_slots_of_new_variables_in_a_later_trace() -> None:
    variables = [tf.Variable(0.0, name="a"), tf.Variable(0.0, name="b")]
    optimizer = tf.optimizers.SGD(1.0, momentum=0.5)

    @tf.function
    def step(which: int) -> None:
        optimizer.apply_gradients([(tf.constant(-1.0), variables[which])])

    step(0)
    step(1)
    step(1)
    assert [float(v) for v in variables] == [1.0, 2.5]


def test_inside_a_called_function() -> None:
    v = tf.Variable(1.0)
    optimizer = tf.optimizers.Adam(0.125)

    @tf.function
    def inner() -> None:
        optimizer.apply_gradients([(tf.constant(1.0), v)])

    @tf.function
    def outer() -> tf.Tensor:
        inner()
        inner()
        return v.value()

    assert float(outer()) == pytest.approx(0.75, abs=1e-6)
    assert int(optimizer.iterations) == 2


def test_minimize() -> None:
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    optimizer = tf.optimizers.SGD(0.25)
    assert optimizer.minimize(lambda: v * v * w, [v, w]) is optimizer.iterations
    np.testing.assert_allclose([float(v), float(w)], [0.0, 1.75])
    with tf.GradientTape() as tape:
        loss = w * w
    optimizer.minimize(loss, lambda: [w], tape)
    assert float(w) == 0.875
    with pytest.raises(ValueError, match="`tape` is required when a `Tensor` loss"):
        optimizer.minimize(loss, [w])
    ((gradient, variable),) = optimizer.compute_gradients(lambda: 3.0 * w, [w])
    assert float(gradient) == 3.0
    assert variable is w


def test_apply() -> None:
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    optimizer = tf.optimizers.SGD(1.0)
    optimizer.apply([tf.constant(1.0), tf.constant(1.0)], [v, w])
    optimizer.apply([tf.constant(1.0), tf.constant(1.0)])
    assert [float(v), float(w)] == [-1.0, 0.0]
    with pytest.raises(ValueError, match="Got 1 gradients for 2 variables"):
        optimizer.apply([tf.constant(1.0)])


def test_gradients_need_not_be_tensors_of_the_same_dtype() -> None:
    v = tf.Variable([1.0, 1.0])
    optimizer = tf.optimizers.SGD(1.0)
    optimizer.apply_gradients([(np.array([0.5, 0.25]), v)])
    optimizer.apply_gradients([(tf.constant([0.5, 0.25], tf.float16), v)])
    optimizer.apply_gradients([(tf.IndexedSlices(tf.constant([1.0]), tf.constant([1])), v)])
    np.testing.assert_array_equal(v.numpy(), [0.0, -0.5])


def test_slices_in_a_traced_step() -> None:
    v = tf.Variable(np.ones((3, 2), np.float32))
    # Rows that are not touched have a sum of 0: epsilon keeps them from 0 / 0.
    optimizer = tf.optimizers.Adagrad(1.0, initial_accumulator_value=0.0, epsilon=1e-12)

    @tf.function
    def step(values: tf.Tensor, rows: tf.Tensor) -> None:
        optimizer.apply_gradients([(tf.IndexedSlices(values, rows), v)])

    step(tf.constant([[4.0, -4.0], [1.0, 1.0]]), tf.constant([1, 1]))
    np.testing.assert_allclose(v.numpy(), [[1, 1], [0, 2], [1, 1]])


def test_a_step_is_not_recorded() -> None:
    v = tf.Variable(2.0)
    optimizer = tf.optimizers.Adam(0.5)
    with tf.GradientTape() as tape:
        y = v * v
        optimizer.apply_gradients([(tf.constant(1.0), v)])
    assert names(tape.watched_variables()) == ["Variable:0"]
    assert float(tape.gradient(y, v)) == 4.0


def test_as_a_part_of_a_module() -> None:
    class Trainer(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable(1.0, name="w")
            self.optimizer = tf.optimizers.SGD(0.5, momentum=0.5)

        @tf.function
        def step(self) -> None:
            self.optimizer.minimize(lambda: self.w * self.w, [self.w])

    trainer = Trainer()
    trainer.step()
    assert names(trainer.trainable_variables) == ["w:0"]
    assert sorted(names(trainer.variables)) == [
        "sgd/iterations:0", "sgd/learning_rate:0", "w/sgd/momentum:0", "w:0",
    ]  # fmt: skip
    assert trainer.submodules == (trainer.optimizer,)


def test_parts_of_a_checkpoint() -> None:
    module = tf.Module()
    module.a, module.b = tf.Variable(1.0), tf.Variable(1.0)
    module.optimizer = tf.optimizers.Nadam()
    module.optimizer.build([module.b, module.a])
    paths = {trackable.path_text(n.path): n.item for n in trackable.walk(module) if n.is_variable}
    assert sorted(paths) == [
        "a", "b", "optimizer/iterations", "optimizer/learning_rate",
        "optimizer/m/a", "optimizer/m/b", "optimizer/u_product", "optimizer/v/a", "optimizer/v/b",
    ]  # fmt: skip
    assert paths["optimizer/m/a"] is module.optimizer.get_slot(module.a, "m")


@pytest.mark.parametrize("traced", [False, True])
def test_a_checkpoint_restores_slots_that_do_not_exist_yet(tmp_path: Any, traced: bool) -> None:
    def program() -> tuple[tf.Module, Any, Any]:
        module = tf.Module()
        module.w = tf.Variable(1.0, name="w")
        module.optimizer = tf.optimizers.Nadam(0.25)

        def step() -> None:
            module.optimizer.apply_gradients([(tf.constant(1.0), module.w)])

        return module, tf.function(step) if traced else step, tf.train.Checkpoint(module)

    module, step, checkpoint = program()
    step()
    path = checkpoint.save(str(tmp_path / "model"))
    step()
    again, step_again, checkpoint_again = program()
    status = checkpoint_again.restore(path)
    assert int(again.optimizer.iterations) == 1
    step_again()
    status.assert_consumed()
    assert float(again.w) == float(module.w)
    found, expected = again.optimizer.variables, module.optimizer.variables
    assert [x.numpy() for x in found] == [x.numpy() for x in expected]


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_go_on_independently(clone: Any) -> None:
    v = tf.Variable(1.0)
    optimizer = tf.optimizers.SGD(1.0, momentum=0.5)
    optimizer.apply_gradients([(tf.constant(1.0), v)])
    copied_v, copied = clone((v, optimizer))
    copied.apply_gradients([(tf.constant(1.0), copied_v)])
    assert [float(v), float(copied_v)] == [0.0, -1.5]
    assert [int(optimizer.iterations), int(copied.iterations)] == [1, 2]
    assert len(copied.variables) == len(optimizer.variables)


def test_without_a_rule() -> None:
    optimizer = tf.optimizers.Optimizer(0.1)
    with pytest.raises(TypeError, match="Optimizer has no update rule"):
        optimizer.apply_gradients([(tf.constant(1.0), tf.Variable(1.0))])


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Nadam", "Lion"])
def test_training(name: str, rng: np.random.Generator) -> None:
    x = rng.normal(size=(64, 3)).astype(np.float32)
    truth = np.array([[1.0], [-2.0], [0.5]], np.float32)
    w = tf.Variable(np.zeros((3, 1), np.float32))
    schedule = tf.optimizers.schedules.CosineDecay(0.1, 200)
    optimizer = getattr(tf.optimizers, name)(schedule, clipnorm=5.0)

    @tf.function
    def step(x: tf.Tensor, y: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            error = x @ w - y
            loss = tf.math.reduce_mean(error * error)
        optimizer.minimize(loss, [w], tape)

    for _ in range(200):
        step(tf.constant(x), tf.constant(x @ truth))
    np.testing.assert_allclose(w.numpy(), truth, atol=0.02)


def test_a_learning_rate_that_is_none() -> None:
    with pytest.raises(TypeError, match="Adam: learning_rate is 'fast'; expected a number"):
        tf.optimizers.Adam("fast")
