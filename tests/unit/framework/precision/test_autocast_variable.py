"""Variables that scopes read in another dtype."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tfx as tf

mp = tf.mixed_precision
HALVES = pytest.mark.parametrize(
    ("policy", "half"),
    [("mixed_float16", np.float16), ("mixed_bfloat16", ml_dtypes.bfloat16)],
)
EAGER_AND_TRACED = pytest.mark.parametrize(
    "wrap", [lambda f: f, tf.function], ids=["eager", "traced"]
)


@HALVES
@EAGER_AND_TRACED
def test_reads(policy: str, half: Any, wrap: Callable[[Any], Any]) -> None:
    v = mp.AutoCastVariable(np.float32([1 / 3, -2.7]))

    def f() -> Any:
        with mp.autocast(policy):
            inside = v.value(), v.read_value(), v + v, tf.stack([v, v]), tf.gather(v, [1])
        return (*inside, v.value())

    *inside, outside = wrap(f)()
    x = v.numpy()
    assert x.dtype == np.float32
    h = x.astype(half)
    for found, expected in zip(inside, [h, h, h + h, [h, h], h[1:]], strict=True):
        assert found.dtype.as_numpy_dtype == half
        np.testing.assert_array_equal(found.numpy(), np.array(expected, half))
    np.testing.assert_array_equal(outside.numpy(), x)


@HALVES
@EAGER_AND_TRACED
def test_gradients_are_those_of_the_stored_value(
    policy: str, half: Any, wrap: Callable[[Any], Any], rng: np.random.Generator
) -> None:
    w = mp.AutoCastVariable(rng.standard_normal((4, 3)).astype(np.float32))
    x = tf.constant(rng.standard_normal((5, 4)).astype(np.float32))

    def f() -> Any:
        with tf.GradientTape() as tape:
            with mp.autocast(policy):
                y = tf.cast(x, w.value().dtype) @ w
            loss = tf.reduce_sum(tf.cast(y, tf.float32) ** 2)
        return tape.gradient(loss, w), y

    gradient, y = wrap(f)()
    assert gradient.dtype is tf.float32
    # In float64, from the same rounded numbers: what half precision adds is its rounding alone.
    rounded = x.numpy().astype(half).astype(np.float64)
    outer = (2 * y.numpy().astype(np.float64)).astype(half).astype(np.float64)
    step = float(ml_dtypes.finfo(half).eps)
    np.testing.assert_allclose(gradient.numpy(), rounded.T @ outer, atol=20 * step, rtol=step)


def test_writes_are_those_of_an_ordinary_variable() -> None:
    v = mp.AutoCastVariable([1.0, 2.0])
    with mp.autocast("mixed_float16"):
        v.assign(tf.constant([1 / 3, 4.0]))
        v.assign_add([1.0, 1.0])
        v.scatter_sub(tf.IndexedSlices(tf.constant([[1.0]][0]), tf.constant([1])))
        with pytest.raises(TypeError, match="float16"):
            v.assign(tf.cast([1.0, 2.0], tf.float16))
        assert v.dtype == v.true_dtype == tf.float32
        np.testing.assert_array_equal(v.numpy(), np.float32([1 / 3, 4.0]) + np.float32([1, 0]))


def test_only_floating_ones() -> None:
    with pytest.raises(ValueError, match="dtype int32; expected a floating"):
        mp.AutoCastVariable([1])
    with pytest.raises(ValueError, match="int32: expected a floating dtype"):
        from tfx.framework.precision.autocast_variable import read_variables_as

        with read_variables_as("int32"):
            pass
    assert type(mp.create_autocast_variable(tf.Variable([1]))) is tf.Variable


def test_a_function_is_traced_for_each_scope() -> None:
    v = mp.AutoCastVariable([2.0])
    traced = []

    @tf.function
    def twice() -> Any:
        traced.append(v.value().dtype)
        return v + v

    for _ in range(2):
        assert twice().dtype is tf.float32
        with mp.autocast("mixed_float16"):
            assert twice().dtype is tf.float16
            with mp.autocast("float32"):
                assert twice().dtype is tf.float32
        with mp.autocast("mixed_bfloat16"):
            assert twice().dtype is tf.bfloat16
    assert traced[:2] == [tf.float32, tf.float16]
    assert tf.bfloat16 in traced
    assert len(traced) <= 4


def test_optimizers_read_what_is_stored() -> None:
    v = mp.AutoCastVariable([1.0])
    optimizer = tf.optimizers.Adam(1e-6, use_ema=True)
    with mp.autocast("mixed_float16"):
        optimizer.apply_gradients([(tf.constant([1.0]), v)])
    # A step that float16 does not have.
    np.testing.assert_allclose(v.numpy(), [1 - 1e-6], rtol=1e-7)
    assert float(v) != 1.0
    assert all(slot.dtype is tf.float32 for slot in optimizer.slots_of(v).values())


def test_embeddings_cast_their_rows(rng: np.random.Generator) -> None:
    table = mp.AutoCastVariable(rng.standard_normal((6, 2)).astype(np.float32))
    with tf.GradientTape() as tape:
        with mp.autocast("mixed_float16"):
            rows = tf.nn.embedding_lookup(table, [1, 1, 4])
        loss = tf.reduce_sum(tf.cast(rows, tf.float32))
    assert rows.dtype is tf.float16
    np.testing.assert_array_equal(rows.numpy(), table.numpy().astype(np.float16)[[1, 1, 4]])
    gradient = tf.convert_to_tensor(tape.gradient(loss, table))
    assert gradient.dtype is tf.float32
    np.testing.assert_array_equal(gradient.numpy()[:, 0], [0, 2, 0, 0, 1, 0])


class Layer(tf.Module):
    def __init__(self, policy: str | None = None) -> None:
        super().__init__()
        if policy is not None:
            self.dtype_policy = mp.Policy(policy)
        self.w = mp.AutoCastVariable(tf.ones([2, 2]))
        self.dtypes: list[Any] = []

    @mp.autocast
    def __call__(self, x: Any, *, options: Any = None) -> Any:
        self.dtypes.append((x.dtype, None if options is None else options["mask"].dtype))
        return x @ self.w


def test_the_decorator_takes_the_module_s_policy_or_the_global_one() -> None:
    mine, others = Layer("mixed_bfloat16"), Layer()
    x, mask = tf.ones([1, 2], tf.float64), tf.constant([True])
    with mp.policy_scope("mixed_float16"):
        assert mine(x).dtype is tf.bfloat16
        assert others(x, options={"mask": mask}).dtype is tf.float16
    assert others(x).dtype is tf.float32
    assert others.dtypes == [(tf.float16, tf.bool), (tf.float32, None)]
    assert Layer.__call__.__name__ == "__call__"


def test_control_flow_of_a_decorated_function_is_converted() -> None:
    v = mp.AutoCastVariable(2.0)

    @tf.function
    @mp.autocast("mixed_float16")
    def f(n: Any) -> Any:
        total = v * 0.0
        for _ in tf.range(n):
            if total < 5.0:
                total = total + v
        return total

    assert f(tf.constant(10)).numpy() == np.float16(6)


def test_keras_policies_are_taken_by_their_names() -> None:
    class DTypePolicy:
        name, compute_dtype, variable_dtype = "mixed_float16", "float16", "float32"

    with mp.autocast(DTypePolicy()) as policy:  # type: ignore[arg-type]
        assert policy == mp.Policy("mixed_float16")


def test_copies_stay_what_they_are() -> None:
    v = mp.AutoCastVariable([1.5], name="w")
    for copied in (copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert type(copied) is mp.AutoCastVariable
        assert copied.name == "w:0"
        np.testing.assert_array_equal(copied.numpy(), [1.5])
        with mp.autocast("mixed_float16"):
            assert copied.value().dtype is tf.float16
    assert repr(v).startswith("<AutoCastVariable 'w:0'")


def test_a_restore_waits_for_it(tmp_path: Path) -> None:
    saved = tf.Module()
    saved.parts = [tf.Variable([3.0])]
    path = tf.train.Checkpoint(model=saved).save(str(tmp_path / "ckpt"))
    empty = tf.Module()
    empty.parts = []
    status = tf.train.Checkpoint(model=empty).restore(path)
    with mp.policy_scope("mixed_float16"):
        # Found when it is first used: it was put into a container.
        empty.parts.append(tf.Variable([0.0]))
    with mp.autocast("mixed_float16"):
        found = empty.parts[0].value()
    assert found.numpy().tolist() == [3.0]
    assert found.dtype is tf.float16
    status.assert_consumed()
    assert type(empty.parts[0]) is mp.AutoCastVariable


def test_gradients_of_gradients(rng: np.random.Generator) -> None:
    v = mp.AutoCastVariable(3.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner, mp.autocast("mixed_float16"):
            y = v * v * v
        first = inner.gradient(y, v)
    assert first.numpy() == 27.0
    assert outer.gradient(first, v).numpy() == 18.0
