"""What a tape keeps of a function's call: nothing twice, nothing that is as quickly made again."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.core.dtypes import from_onnx
from tfx.function.execution import stepped_plan
from tfx.function.gradients import pure_function
from tfx.graph.ir import Value

RNG = np.random.default_rng(5)
X = RNG.normal(size=(6, 4)).astype(np.float32)
W = tf.Variable(RNG.normal(size=(4, 4)).astype(np.float32))


def pair_of(tape: Any) -> Any:
    return tape._records[-1].attrs["pair"]


def called(function: Callable[..., Any], spec: Any = None) -> tuple[Any, Any, Any, Any]:
    """The tape of a call, the call's argument and result, and the function."""
    signature = None if spec is None else [tf.TensorSpec(spec, tf.float32)]
    f = tf.function(function, input_signature=signature)
    x = tf.constant(X)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
    return tape, x, y, f


def saved(tape: Any) -> list[Value]:
    pair = pair_of(tape)
    outputs: list[Value] = pair.forward.graph.outputs
    return outputs[len(pair.base.graph.outputs) :]


def made_by(tape: Any) -> list[str]:
    return sorted(v.node.op for v in saved(tape) if v.node is not None)


def check(function: Callable[..., Any], tape: Any, x: Any, y: Any) -> None:
    """Gradients are those of the same program without a function."""
    with tf.GradientTape() as plain:
        plain.watch(x)
        z = function(x)
    for a, b in zip(tape.gradient(y, [x, W]), plain.gradient(z, [x, W]), strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


def matmul_twice(x: Any) -> Any:
    return tf.reduce_sum(tf.tanh(tf.tanh(x @ W) @ W))


def sizes_of_what_is_not_needed(x: Any) -> Any:
    y = tf.reshape(x + 1.0, [-1])
    return tf.reduce_sum(tf.reduce_mean(y * 2.0 + tf.reduce_sum(x + 3.0)))


def mask(x: Any) -> Any:
    y = tf.exp(x)
    return tf.reduce_sum(tf.where(y > 1.0, y, tf.zeros_like(y)))


def two_forms(x: Any) -> Any:
    y = tf.exp(x)
    a, b = tf.reshape(y, [-1]), tf.expand_dims(y, 0)
    return tf.reduce_sum(a * a * a) + tf.reduce_sum(b * b * b)


def expanded(x: Any) -> Any:
    y = tf.broadcast_to(tf.exp(x[:, :1]), [6, 4])
    return tf.reduce_sum(y * y)


def compared_arguments(x: Any) -> Any:
    return tf.reduce_sum(tf.where(x > 0.5, x * 2.0, 3.0 * x) * tf.cast(x < 1.0, tf.float32))


@pytest.mark.parametrize("spec", [None, [None, 4], [None, None]], ids=["known", "rows", "unknown"])
@pytest.mark.parametrize(
    ("function", "kept"),
    [
        (matmul_twice, ["Tanh", "Tanh"]),
        (sizes_of_what_is_not_needed, []),
        (mask, ["Exp"]),
        (compared_arguments, []),
    ],
    ids=["products", "sizes", "mask", "comparisons"],
)
def test_what_is_kept(function: Any, kept: list[str], spec: Any) -> None:
    tape, x, y, _ = called(function, spec)
    floats = [v for v in saved(tape) if from_onnx(v.dtype).is_floating and v.shape != ()]
    assert sorted(v.node.op for v in floats if v.node is not None) == kept
    # The rest are sizes: a few numbers each.
    rest = [v for v in saved(tape) if not from_onnx(v.dtype).is_floating]
    assert all(v.shape is not None and len(v.shape) <= 1 for v in rest)
    assert spec is not None or rest == []
    check(function, tape, x, y)


def test_two_forms_of_one_value_are_kept_once() -> None:
    tape, x, y, _ = called(two_forms)
    assert made_by(tape).count("Exp") == 1
    assert not {"Reshape", "Unsqueeze"} & set(made_by(tape))
    check(two_forms, tape, x, y)


def test_what_was_expanded_is_kept_small() -> None:
    tape, x, y, _ = called(expanded)
    assert [v.shape for v in saved(tape)] == [(6, 1)]
    check(expanded, tape, x, y)


def test_arguments_and_results_are_not_kept_again() -> None:
    tape, x, y, _ = called(lambda x: tf.exp(x) * 1.0 + tf.square(x))
    assert len(saved(tape)) == 1
    tape, x, y, _ = called(tf.exp)
    assert saved(tape) == []
    np.testing.assert_allclose(tape.gradient(y, x), np.exp(X), rtol=1e-6)


def test_gradients_of_some_results_use_what_there_is() -> None:
    def two(x: Any) -> Any:
        y = tf.exp(x + 1.0)
        return tf.reduce_sum(y), tf.reduce_mean(tf.sin(y) * tf.cast(tf.shape(y)[0], tf.float32))

    for spec in (None, [None, 4]):
        tape, x, (a, b), _ = called(two, spec)
        np.testing.assert_allclose(tape.gradient(a, x), np.exp(X + 1), rtol=1e-5)
        expected = np.exp(X + 1) * np.cos(np.exp(X + 1)) / 4
        np.testing.assert_allclose(tape.gradient(b, x), expected, rtol=1e-4, atol=1e-5)
        both = tape.gradient([a, b], x)
        np.testing.assert_allclose(both, np.exp(X + 1) + expected, rtol=1e-4, atol=1e-5)
        assert None not in pair_of(tape)._backward.values()  # nothing was computed anew


def test_second_derivatives() -> None:
    for function in (matmul_twice, mask, two_forms, expanded, sizes_of_what_is_not_needed):
        f = tf.function(function, input_signature=[tf.TensorSpec([None, 4], tf.float32)])
        x = tf.constant(X)
        found = []
        for g in (f, function):
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    y = g(x)
                first = inner.gradient(y, x)
                total = tf.reduce_sum(first**3)
            found.append(outer.gradient(total, x, unconnected_gradients="zero"))
        np.testing.assert_allclose(*found, rtol=2e-4, atol=1e-5)


def test_nothing_is_traced_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"body": 0, "joint": 0, "plan": 0}
    joint, make_plan = pure_function.Joint.__init__, stepped_plan.make_plan

    def counting(self: Any, *args: Any) -> None:
        counts["joint"] += 1
        joint(self, *args)

    def planning(*args: Any, **options: Any) -> Any:
        counts["plan"] += 1
        return make_plan(*args, **options)

    monkeypatch.setattr(pure_function.Joint, "__init__", counting)
    monkeypatch.setattr(stepped_plan, "make_plan", planning)

    @tf.function
    def f(x: Any) -> Any:
        counts["body"] += 1
        return tf.reduce_sum(tf.tanh(x @ W))

    for _ in range(4):
        x = tf.constant(X)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        tape.gradient(y, [x, W])
    # One forward graph and one backward graph, and the function itself is not compiled.
    assert counts == {"body": 1, "joint": 1, "plan": 2}
    with tf.GradientTape() as tape:
        y = f(tf.constant(X))
    tape.gradient(y, W)  # other arguments have gradients: another pair, but no other trace
    assert counts == {"body": 1, "joint": 2, "plan": 4}
    f(tf.constant(X))
    assert (counts["body"], counts["joint"]) == (1, 2)


def test_without_a_tape_or_a_need_nothing_is_kept() -> None:
    f = tf.function(matmul_twice)
    x = tf.constant(X)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        f(x)
    assert tape._records == []
    with tf.GradientTape() as tape, tape.stop_recording():
        f(x)
    assert tape._records == []


@pytest.mark.parametrize("persistent", [False, True])
def test_kept_values_are_released(persistent: bool) -> None:
    f = tf.function(matmul_twice)
    x = tf.constant(X)
    with tf.GradientTape(persistent=persistent) as tape:
        tape.watch(x)
        y = f(x)
    record = tape._records[-1]  # type: ignore[index]
    kept = [weakref.ref(t) for t in record.outputs[1:]]
    assert len(kept) == 2
    del record
    assert all(k() is not None for k in kept)
    tape.gradient(y, x)
    gc.collect()
    assert [k() is not None for k in kept] == [persistent] * 2
    del tape
    gc.collect()
    assert [k() is not None for k in kept] == [False] * 2
    assert y.numpy() is not None


def test_a_tape_that_is_reset_releases_what_it_kept() -> None:
    f = tf.function(matmul_twice)
    with tf.GradientTape() as tape:
        y = f(tf.constant(X))
        kept = [weakref.ref(t) for t in tape._records[-1].outputs[1:]]  # type: ignore[index]
        tape.reset()
        gc.collect()
        assert [k() for k in kept] == [None, None]
    assert y.shape == []
