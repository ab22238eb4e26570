"""Loss scales, and the optimizer that uses them."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf

mp = tf.mixed_precision
Wrap = Callable[[Any], Any]
EAGER_AND_TRACED = pytest.mark.parametrize(
    "wrap", [lambda f: f, tf.function], ids=["eager", "traced"]
)
INF, NAN = math.inf, math.nan


class Reference:
    """The rule, as TensorFlow's documentation states it, in Python numbers."""

    def __init__(self, scale: float, period: int, multiplier: float) -> None:
        self.scale, self.period, self.multiplier, self.good = scale, period, multiplier, 0

    def update(self, finite: bool) -> None:
        if not finite:
            self.scale, self.good = max(self.scale / self.multiplier, 1.0), 0
            return
        self.good += 1
        if self.good >= self.period:
            grown = np.float32(self.scale) * np.float32(self.multiplier)
            self.scale, self.good = float(grown) if np.isfinite(grown) else self.scale, 0


@EAGER_AND_TRACED
@pytest.mark.parametrize(("start", "multiplier"), [(8.0, 2.0), (2.0**125, 4.0), (1.0, 3.0)])
def test_the_rule(wrap: Wrap, start: float, multiplier: float, rng: np.random.Generator) -> None:
    scale = mp.DynamicLossScale(start, increment_period=3, multiplier=multiplier)
    update = wrap(lambda a, b: scale.update({"a": a, "b": [b, None]})[1])
    reference = Reference(start, 3, multiplier)
    with np.errstate(over="ignore"):
        for _ in range(60):
            a, b = rng.standard_normal(3).astype(np.float32), np.float32(1e30)
            if rng.random() < 0.2:
                a[rng.integers(3)] = rng.choice([INF, -INF, NAN])
            elif rng.random() < 0.1:
                b = np.float32(NAN)
            finite = bool(np.isfinite(a).all() and np.isfinite(b))
            assert bool(update(tf.constant(a), tf.constant(b))) == finite
            reference.update(finite)
            assert float(scale()) == reference.scale
            assert int(scale.good_steps) == reference.good


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("size", [0, 1, 70_000])
def test_what_is_finite(dtype: str, size: int) -> None:
    scale = mp.DynamicLossScale()
    largest = tf.fill([size], tf.as_dtype(dtype).max)
    x = tf.cast(largest, dtype)
    assert bool(scale.update([x, None])[1])
    if size:
        for bad in (INF, -INF, NAN):
            spoilt = tf.concat([x[:-1], tf.cast([bad], dtype)], 0)
            assert not bool(scale.update([spoilt])[1])
    assert bool(scale.update([])[1])


def test_fixed() -> None:
    scale = mp.FixedLossScale(8)
    assert bool(scale.update([tf.constant(NAN)])[1])
    assert float(scale()) == 8.0
    assert scale.from_config(scale.get_config())().numpy() == 8.0
    assert scale.variables == ()
    dynamic = mp.DynamicLossScale(4.0, 7, 3.0)
    assert dynamic.from_config(dynamic.get_config()).get_config() == dynamic.get_config()
    assert "increment_period=7" in repr(dynamic)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mp.FixedLossScale(0.5), "loss_scale_value must be a finite number of at least 1"),
        (lambda: mp.FixedLossScale("2"), "loss_scale_value must be a number"),
        (lambda: mp.DynamicLossScale(INF), "initial_loss_scale must be a finite number"),
        (lambda: mp.DynamicLossScale(increment_period=0), "increment_period must be an integer"),
        (lambda: mp.DynamicLossScale(multiplier=0.5), "multiplier must be"),
        (lambda: scaled(dynamic=False), "initial_scale must be given where dynamic is False"),
        (
            lambda: scaled(dynamic=False, initial_scale=8.0, dynamic_growth_steps=3),
            "dynamic_growth_steps must be None where dynamic is False; got 3",
        ),
        (lambda: scaled(initial_scale=NAN), "must be a finite number"),
        (lambda: mp.LossScaleOptimizer(scaled()), "cannot wrap another one"),
        (
            lambda: mp.LossScaleOptimizer(tf.optimizers.SGD(loss_scale_factor=2.0)),
            "has loss_scale_factor=2.0",
        ),
    ],
)
def test_wrong_numbers(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_wrong_types() -> None:
    with pytest.raises(TypeError, match=r"optimizer of tfx.optimizers; got 'adam' of type str"):
        mp.LossScaleOptimizer("adam")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"dynamic must be a bool; got 1\.0"):
        scaled(dynamic=1.0)
    with pytest.raises(TypeError, match="dtype int32; expected a floating one"):
        scaled().get_scaled_loss(tf.constant(1))


def scaled(**options: Any) -> Any:
    return mp.LossScaleOptimizer(tf.optimizers.SGD(0.5), **options)


STYLES = pytest.mark.parametrize("style", ["own", "optimizer's", "minimize", "minimize a tensor"])


@EAGER_AND_TRACED
@STYLES
@pytest.mark.parametrize("dynamic", [True, False])
def test_each_way_of_training_gives_the_unscaled_step(
    wrap: Wrap, style: str, dynamic: bool
) -> None:
    v, plain = tf.Variable([1.0, 2.0]), tf.Variable([1.0, 2.0])
    optimizer = scaled(dynamic=dynamic, initial_scale=1024.0)

    def loss() -> Any:
        return tf.reduce_sum(v * v * v)

    def step() -> None:
        if style == "minimize":
            optimizer.minimize(loss, [v])
            return
        with tf.GradientTape() as tape:
            value = loss()
            if style == "own":
                value = optimizer.get_scaled_loss(value)
            elif style == "optimizer's":
                value = optimizer.scale_loss(value)
        if style == "minimize a tensor":
            optimizer.minimize(value, [v], tape)
            return
        grads = tape.gradient(value, [v])
        if style == "own":
            grads = optimizer.get_unscaled_gradients(grads)
        optimizer.apply_gradients(zip(grads, [v], strict=True))

    run = wrap(step)
    reference = tf.optimizers.SGD(0.5)
    for _ in range(3):
        run()
        reference.minimize(lambda: tf.reduce_sum(plain * plain * plain), [plain])
    np.testing.assert_array_equal(v.numpy(), plain.numpy())
    assert int(optimizer.iterations) == 3


def test_a_callable_loss_is_scaled_when_it_is_called() -> None:
    optimizer = scaled(initial_scale=8.0)
    assert float(optimizer.get_scaled_loss(lambda: tf.constant(2.0))()) == 16.0


@EAGER_AND_TRACED
def test_a_step_that_overflows_is_skipped(wrap: Wrap) -> None:
    v, w = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
    inner = tf.optimizers.Adam(0.1, use_ema=True, gradient_accumulation_steps=2)
    optimizer = mp.LossScaleOptimizer(inner, initial_scale=64.0)
    run = wrap(lambda g, h: optimizer.apply_gradients([(g, v), (h, w)]))
    run(tf.constant([1.0, 1.0]), tf.constant(1.0))
    before = [x.numpy() for x in (v, w, *inner.variables)]
    for bad in ([INF, 1.0], [0.0, NAN]):
        run(tf.constant(bad), tf.constant(1.0))
    run(tf.constant([1.0, 1.0]), tf.constant(-INF))
    for x, value in zip((v, w, *inner.variables), before, strict=True):
        np.testing.assert_array_equal(x.numpy(), value)
    assert float(optimizer.loss_scale) == 8.0
    assert int(optimizer.iterations) == 0
    run(tf.constant([1.0, 1.0]), tf.constant(1.0))
    assert int(optimizer.iterations) == 1
    assert np.isfinite(v.numpy()).all()
    assert float(w) < 3.0


@EAGER_AND_TRACED
def test_rows_of_tables(wrap: Wrap) -> None:
    table, plain = (
        tf.Variable(np.ones((4, 2), np.float32)),
        tf.Variable(np.ones((4, 2), np.float32)),
    )
    optimizer = mp.LossScaleOptimizer(tf.optimizers.SGD(0.5, momentum=0.9))
    reference = tf.optimizers.SGD(0.5, momentum=0.9)

    def step(indices: Any, weight: Any) -> None:
        with tf.GradientTape() as tape:
            rows = tf.gather(table, indices)
            loss = optimizer.get_scaled_loss(weight * tf.reduce_sum(rows * rows))
        gradient = tape.gradient(loss, table)
        assert isinstance(gradient, tf.IndexedSlices)
        optimizer.apply_gradients([(optimizer.get_unscaled_gradients([gradient])[0], table)])

    run = wrap(step)
    indices = tf.constant([1, 3, 1])
    run(indices, tf.constant(INF))
    np.testing.assert_array_equal(table.numpy(), 1.0)
    for _ in range(2):
        run(indices, tf.constant(1.0))
        with tf.GradientTape() as tape:
            rows = tf.gather(plain, indices)
            loss = tf.reduce_sum(rows * rows)
        reference.apply_gradients([(tape.gradient(loss, plain), plain)])
    np.testing.assert_allclose(table.numpy(), plain.numpy(), rtol=1e-6)


def test_variables_without_gradients() -> None:
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    optimizer = scaled()
    assert optimizer.get_unscaled_gradients([None]) == [None]
    with pytest.warns(UserWarning, match="Gradients do not exist"):
        optimizer.apply_gradients([(tf.constant(1.0), v), (None, w)])
    assert (float(v), float(w)) == (0.5, 2.0)
    with pytest.raises(ValueError, match="No gradients provided"):
        optimizer.apply_gradients([(None, w)])
    with pytest.raises(ValueError, match=r"has shape \(2,\); expected the variable's"):
        optimizer.apply_gradients([(tf.constant([1.0, 2.0]), v)])


def test_what_the_inner_optimizer_knows() -> None:
    v = tf.Variable([1.0])
    inner = tf.optimizers.SGD(0.5, momentum=0.9, weight_decay=0.1, use_ema=True)
    optimizer = mp.LossScaleOptimizer(inner, initial_scale=4.0, dynamic_growth_steps=2)
    assert isinstance(optimizer, tf.optimizers.Optimizer)
    assert not optimizer.built
    optimizer.exclude_from_weight_decay([v])
    assert not optimizer.decays(v)
    optimizer.build([v])
    assert optimizer.built
    assert optimizer.inner_optimizer is inner
    optimizer.learning_rate = 0.25
    assert float(inner.learning_rate) == float(optimizer.learning_rate) == 0.25
    optimizer.apply([tf.constant([2.0])])
    assert optimizer.iterations is inner.iterations
    assert int(optimizer.dynamic_counter) == 1
    assert optimizer.get_slot(v, "momentum") is inner.get_slot(v, "momentum")
    assert optimizer.variables == (*inner.variables, *optimizer.variables[-2:])
    assert {x.name for x in optimizer.variables[-2:]} == {"current_loss_scale:0", "good_steps:0"}
    v.assign([9.0])
    optimizer.finalize_variable_values([v])
    assert float(v[0]) != 9.0


def test_configuration() -> None:
    schedule = tf.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
    inner = tf.optimizers.Adam(schedule, beta_1=0.8)
    for options in (
        {"initial_scale": 8.0, "dynamic_growth_steps": 5},
        {"dynamic": False, "initial_scale": 3.0},
    ):
        optimizer = mp.LossScaleOptimizer(inner, **options)  # type: ignore[arg-type]
        made = tf.optimizers.deserialize(tf.optimizers.serialize(optimizer))
        assert isinstance(made, mp.LossScaleOptimizer)
        assert made.get_config() == optimizer.get_config()
        assert float(made.loss_scale) == options["initial_scale"]
    defaults = scaled()
    assert (defaults.initial_scale, defaults.dynamic_growth_steps) == (32768.0, 2000)


def test_checkpoints_hold_scale_and_slots(tmp_path: Path) -> None:
    def build() -> Any:
        model = tf.Module()
        model.v = tf.Variable([1.0])
        model.optimizer = mp.LossScaleOptimizer(tf.optimizers.Adam(0.1), initial_scale=64.0)
        return model

    first = build()
    first.optimizer.apply_gradients([(tf.constant([NAN]), first.v)])
    first.optimizer.apply_gradients([(tf.constant([2.0]), first.v)])
    path = tf.train.Checkpoint(model=first).save(str(tmp_path / "ckpt"))
    second = build()
    status = tf.train.Checkpoint(model=second).restore(path)
    for model in (first, second):
        model.optimizer.apply_gradients([(tf.constant([-1.0]), model.v)])
    status.assert_consumed()
    assert float(second.optimizer.loss_scale) == 32.0
    assert int(second.optimizer.dynamic_counter) == 2
    np.testing.assert_array_equal(second.v.numpy(), first.v.numpy())
    for a, b in zip(first.optimizer.variables, second.optimizer.variables, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


@EAGER_AND_TRACED
@pytest.mark.parametrize("option", ["clipnorm", "clipvalue", "global_clipnorm"])
def test_options_of_the_inner_optimizer_pass_through(wrap: Wrap, option: str) -> None:
    plain, inner = tf.optimizers.SGD(1.0, **{option: 0.5}), tf.optimizers.SGD(1.0)
    optimizer = mp.LossScaleOptimizer(inner, initial_scale=1024.0)
    assert getattr(optimizer, option) is None
    setattr(optimizer, option, 0.5)  # a number that an attribute of the outer one would hide
    assert getattr(inner, option) == getattr(optimizer, option) == 0.5
    expected, found = ([tf.Variable([3.0, 4.0]), tf.Variable(0.01)] for _ in range(2))

    def loss(variables: Any) -> Any:
        return tf.reduce_sum(variables[0] ** 2) + variables[1]

    plain.minimize(lambda: loss(expected), expected)
    wrap(lambda: optimizer.minimize(lambda: loss(found), found))()
    for a, b in zip(expected, found, strict=True):  # clipped behind the division, not before
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)
    assert all(float(tf.norm(v)) > 0.005 for v in found[:1])


def test_hyperparameters_pass_through() -> None:
    inner = tf.optimizers.Adam(0.1, use_ema=True, ema_momentum=0.75, weight_decay=0.5)
    optimizer = mp.LossScaleOptimizer(inner)
    for name in ("beta_1", "epsilon", "use_ema", "ema_momentum", "weight_decay"):
        assert getattr(optimizer, name) == getattr(inner, name)
    optimizer.beta_1 = 0.5
    assert inner.beta_1 == 0.5
    assert "beta_1" not in vars(optimizer)
    optimizer.note = "mine"
    assert optimizer.note == "mine"
    assert not hasattr(inner, "note")
    with pytest.raises(AttributeError, match="has no attribute 'momentum'"):
        optimizer.momentum  # noqa: B018
    with pytest.raises(ValueError, match=r"loss_scale_factor=2.0: leave that out"):
        optimizer.loss_scale_factor = 2.0
    v = tf.Variable(1.0)
    optimizer.build([v])
    assert [x is v for x in optimizer.built_variables] == [True]
    assert copy.deepcopy(optimizer).beta_1 == 0.5


def test_configuration_of_other_scales() -> None:
    scale = mp.DynamicLossScale(64.0, 7, 4.0)
    optimizer = mp.LossScaleOptimizer.with_loss_scale(tf.optimizers.SGD(clipnorm=2.0), scale)
    made: Any = tf.optimizers.deserialize(tf.optimizers.serialize(optimizer))
    assert made.get_config() == optimizer.get_config()
    assert made.clipnorm == 2.0
    assert made.dynamic
    made.apply_gradients([(tf.constant(INF), tf.Variable(1.0))])
    assert float(made.loss_scale) == 16.0  # by the multiplier, 4

    own = mp.LossScaleOptimizer.with_loss_scale(tf.optimizers.SGD(), Halving())
    with pytest.raises(TypeError, match="Halving has no configuration"):
        own.get_config()

    class Fifths(mp.FixedLossScale):
        """It has a configuration."""

    own = mp.LossScaleOptimizer.with_loss_scale(tf.optimizers.SGD(), Fifths(5.0))
    config = tf.optimizers.serialize(own)
    again: Any = tf.optimizers.deserialize(config, {"Fifths": Fifths})
    assert float(again.loss_scale) == 5.0
    assert again.get_config() == own.get_config()
    with pytest.raises(ValueError, match="Unknown loss scale: 'Fifths'"):
        tf.optimizers.deserialize(config)


class Halving(mp.LossScale):
    """A scale of the user's own."""

    def __init__(self) -> None:
        super().__init__()
        self.value = tf.Variable(16.0, trainable=False)

    def __call__(self) -> Any:
        return self.value.value()

    def update(self, grads: Any) -> Any:
        self.value.assign(self.value / 2.0)
        return None, tf.constant(True)


def test_a_scale_of_one_s_own() -> None:
    v = tf.Variable(1.0)
    optimizer = mp.LossScaleOptimizer.with_loss_scale(tf.optimizers.SGD(1.0), Halving())
    assert optimizer.dynamic
    optimizer.minimize(lambda: v * 0.25, [v])
    assert (float(v), float(optimizer.loss_scale)) == (0.75, 8.0)
    with pytest.raises(TypeError, match="LossScale does not say how it adapts"):
        mp.LossScale().update([])


def test_graph_rewrite_wraps() -> None:
    enable = tf.train.experimental.enable_mixed_precision_graph_rewrite
    options = tf.config.optimizer.get_experimental_options
    try:
        inner = tf.optimizers.SGD()
        optimizer = enable(inner)
        assert isinstance(optimizer, mp.LossScaleOptimizer)
        assert optimizer.dynamic
        assert enable(inner, None) is inner
        assert options()["auto_mixed_precision"] is True
        with pytest.raises(ValueError, match="is a LossScaleOptimizer already"):
            enable(optimizer)
        with pytest.raises(ValueError, match="'static'; expected a number, 'dynamic'"):
            enable(inner, "static")
        with pytest.raises(TypeError, match='"opt" must be an optimizer'):
            enable(None)  # type: ignore[arg-type]
        with (
            mp.policy_scope("mixed_float16"),
            pytest.raises(ValueError, match="the global policy is 'mixed_float16'"),
        ):
            enable(inner)
    finally:
        tf.train.experimental.disable_mixed_precision_graph_rewrite()
    assert options()["auto_mixed_precision"] is False


def test_names_of_older_versions() -> None:
    old = mp.experimental
    assert old.DynamicLossScale is mp.DynamicLossScale is tf.train.experimental.DynamicLossScale
    old.set_policy("mixed_float16")
    try:
        assert old.global_policy() == old.Policy("mixed_float16")
    finally:
        old.set_policy("float32")
