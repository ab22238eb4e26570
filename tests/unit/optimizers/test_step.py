"""The stages of a step: accumulation, decay, averages, constraints, loss scale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf

EAGER_AND_TRACED = pytest.mark.parametrize(
    "wrap", [lambda f: f, tf.function], ids=["eager", "traced"]
)
Wrap = Callable[[Any], Any]


def stepper(wrap: Wrap, optimizer: Any, *variables: tf.Variable) -> Callable[..., None]:
    def step(*gradients: tf.Tensor) -> None:
        optimizer.apply_gradients(zip(gradients, variables, strict=True))

    run = wrap(step)
    return lambda *gradients: run(*[tf.constant(np.float32(g)) for g in gradients])


@EAGER_AND_TRACED
def test_accumulation(wrap: Wrap) -> None:
    v = tf.Variable(0.0, constraint=lambda x: tf.maximum(x, -1.5))
    optimizer = tf.optimizers.SGD(1.0, momentum=0.5, gradient_accumulation_steps=3)
    step = stepper(wrap, optimizer, v)
    seen = []
    for gradient in (1.0, 2.0, 3.0, 0.0, 0.0, -3.0, 9.0):
        step(gradient)
        seen.append((float(v), int(optimizer.iterations)))
    assert seen == [(0, 0), (0, 0), (-1.5, 1), (-1.5, 1), (-1.5, 1), (-1.5, 2), (-1.5, 2)]
    assert float(optimizer.get_slot(v, "gradient_accumulator")) == 9.0


@EAGER_AND_TRACED
def test_accumulation_keeps_bad_numbers_out(wrap: Wrap) -> None:
    # 0 / 0 in the update of a call that does not complete a step must not reach the variable.
    v = tf.Variable(1.0)
    optimizer = tf.optimizers.Adam(1.0, epsilon=0.0, gradient_accumulation_steps=2)
    step = stepper(wrap, optimizer, v)
    step(0.0)
    assert float(v) == 1.0
    step(2.0)
    assert float(v) == pytest.approx(0.0, abs=1e-6)


@EAGER_AND_TRACED
def test_accumulation_with_shared_state(wrap: Wrap) -> None:
    a, b = tf.Variable(1.0), tf.Variable(1.0)
    plain = tf.optimizers.Nadam(0.5)
    grouped = tf.optimizers.Nadam(0.5, gradient_accumulation_steps=2, use_ema=True)
    one, two = stepper(wrap, plain, a), stepper(wrap, grouped, b)
    for gradient in (1.0, -2.0, 0.5):
        one(gradient)
        two(gradient)
        two(gradient)
        assert float(a) == float(b)
    product = "u_product"
    assert float(plain.shared_variables[product]) == float(grouped.shared_variables[product])


@EAGER_AND_TRACED
def test_weight_decay_and_exceptions(wrap: Wrap) -> None:
    v, w, bias = (tf.Variable(1.0, name=n) for n in ("v", "w", "layer/bias"))
    optimizer = tf.optimizers.SGD(0.5, weight_decay=0.25)
    optimizer.exclude_from_weight_decay(var_list=[w], var_names=["bias$"])
    stepper(wrap, optimizer, v, w, bias)(0.0, 0.0, 0.0)
    assert [float(x) for x in (v, w, bias)] == [0.875, 1.0, 1.0]
    with pytest.raises(ValueError, match="before the optimizer is built"):
        optimizer.exclude_from_weight_decay([v])


def test_adamw_decays_by_default() -> None:
    v = tf.Variable(1.0)
    tf.optimizers.AdamW(0.5).apply_gradients([(tf.constant(0.0), v)])
    assert float(v) == pytest.approx(0.998)


@EAGER_AND_TRACED
def test_averages(wrap: Wrap) -> None:
    v = tf.Variable(0.0)
    optimizer = tf.optimizers.SGD(1.0, use_ema=True, ema_momentum=0.75)
    step = stepper(wrap, optimizer, v)
    step(-4.0)
    assert float(optimizer.get_slot(v, "average")) == 4.0
    step(-4.0)
    assert float(optimizer.get_slot(v, "average")) == 5.0
    assert float(v) == 8.0
    optimizer.finalize_variable_values([v])
    assert float(v) == 5.0


@EAGER_AND_TRACED
def test_averages_include_variables_without_gradient(wrap: Wrap) -> None:
    v, idle = tf.Variable(0.0), tf.Variable(3.0)
    optimizer = tf.optimizers.SGD(1.0, use_ema=True)

    def step() -> None:
        optimizer.apply_gradients([(tf.constant(1.0), v), (None, idle)])

    with pytest.warns(UserWarning, match="Gradients do not exist"):
        wrap(step)()
    assert float(optimizer.get_slot(idle, "average")) == 3.0


@EAGER_AND_TRACED
def test_constraint_comes_last(wrap: Wrap) -> None:
    v = tf.Variable([1.0, -1.0], constraint=lambda x: tf.maximum(x, 0.0))
    optimizer = tf.optimizers.SGD(1.0, weight_decay=0.5)
    stepper(wrap, optimizer, v)([1.0, -2.0])
    np.testing.assert_array_equal(v.numpy(), [0.0, 1.5])


@EAGER_AND_TRACED
def test_loss_scale(wrap: Wrap) -> None:
    v = tf.Variable(1.0)
    optimizer = tf.optimizers.SGD(1.0, loss_scale_factor=8.0, clipvalue=0.25)
    assert float(optimizer.scale_loss(tf.constant(2.0))) == 16.0
    stepper(wrap, optimizer, v)(1.0)
    assert float(v) == 0.875
    assert tf.optimizers.SGD().scale_loss(2.0) == 2.0


@pytest.mark.parametrize("option", ["clipnorm", "clipvalue", "global_clipnorm"])
@EAGER_AND_TRACED
def test_clipping_options(wrap: Wrap, option: str) -> None:
    v, w = tf.Variable([0.0, 0.0]), tf.Variable(0.0)
    optimizer = tf.optimizers.SGD(1.0, **{option: 1.0})
    stepper(wrap, optimizer, v, w)([-3.0, -4.0], -12.0)
    expected = {
        "clipnorm": [0.6, 0.8, 1.0],
        "clipvalue": [1.0, 1.0, 1.0],
        "global_clipnorm": [3 / 13, 4 / 13, 12 / 13],
    }[option]
    np.testing.assert_allclose([*v.numpy(), float(w)], expected, rtol=1e-6)
