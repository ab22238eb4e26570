"""Variables of loaded objects: every dtype and shape, assignable, mapped and not copied."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tfx as tf
from tests.unit.saved_model.models import Trainer, batch, numbers, run_python, saved
from tfx.loaders import Bundle

WIDTHS = (8, 16, 32, 64)
DTYPES = [f"{kind}{bits}" for kind in ("int", "uint") for bits in WIDTHS]
DTYPES += ["float16", "float32", "float64", "bfloat16", "bool"]


def values_of(dtype: str, *shape: int) -> np.ndarray:
    numpy_dtype = tf.as_dtype(dtype).as_numpy_dtype
    count = int(np.prod(shape))
    return (np.arange(count) % 7 % 2 if dtype == "bool" else np.arange(count) % 101).astype(
        numpy_dtype
    ).reshape(shape)  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (5,), (0,), (3, 0, 2), (7, 3)], ids=str)
def test_every_dtype_and_shape(dtype: str, shape: tuple[int, ...], tmp_path: Any) -> None:
    value = values_of(dtype, *shape)
    module = tf.Module()
    module.v = tf.Variable(value, trainable=False)
    module.read = tf.function(lambda: tf.reshape(module.v, [-1]), input_signature=[])
    back = saved(module, tmp_path / "m")
    assert back.v.dtype.name == dtype
    assert back.v.shape == shape
    assert not back.v.trainable
    np.testing.assert_array_equal(back.v.numpy(), value)
    np.testing.assert_array_equal(back.read(), value.reshape(-1))
    other = values_of(dtype, *shape)[..., ::-1] if shape else values_of(dtype, 3)[2]
    back.v.assign(other)
    np.testing.assert_array_equal(back.read(), np.reshape(other, -1))


def test_strings(tmp_path: Any) -> None:
    module = tf.Module()
    module.v = tf.Variable(["", "ü", "a\0b"])
    module.read = tf.function(lambda: module.v.value(), input_signature=[])
    back = saved(module, tmp_path / "m")
    assert list(back.read().numpy()) == [b"", "ü".encode(), b"a\0b"]
    back.v.assign(["a", "b", "c"])
    assert list(back.read().numpy()) == [b"a", b"b", b"c"]
    empty = tf.Module()
    empty.v = tf.Variable(np.array([], object), dtype=tf.string)
    assert saved(empty, tmp_path / "e").v.numpy().shape == (0,)


@pytest.mark.parametrize("kind", ["float8_e4m3fn", "float8_e5m2"])
def test_narrow_floats(kind: str, tmp_path: Any) -> None:
    value = np.array([0.5, -2.0, 1.0], getattr(ml_dtypes, kind))
    module = tf.Module()
    module.v = tf.Variable(value)
    back = saved(module, tmp_path / "m")
    np.testing.assert_array_equal(back.v.numpy().astype(np.float32), value.astype(np.float32))


@pytest.mark.parametrize("kind", ["int4", "uint4"])
def test_four_bit_integers(kind: str, tmp_path: Any) -> None:
    low = -8 if kind == "int4" else 0
    value = (np.arange(15).reshape(3, 5) + low).astype(getattr(ml_dtypes, kind))
    module = tf.Module()
    module.v = tf.Variable(value)
    spec = [tf.TensorSpec([5])]
    module.f = tf.function(lambda x: tf.cast(module.v, tf.float32) * x, input_signature=spec)
    module.set = tf.function(lambda x: module.v.assign(tf.cast(x, kind)), input_signature=None)
    x = np.ones(5, np.float32)
    module.set(tf.constant(value.astype(np.float32)))
    back = saved(module, tmp_path / "m")
    for _ in range(10):  # it comes to hold the variable's value
        np.testing.assert_array_equal(back.f(x), value.astype(np.float32))
    back.v.assign(value[::-1])
    np.testing.assert_array_equal(back.f(x), value[::-1].astype(np.float32))
    path = tf.train.Checkpoint(back).write(tmp_path / "c")
    module.v.assign(value)
    tf.train.Checkpoint(module).read(path).assert_consumed()
    assert module.v.numpy().tolist() == value[::-1].tolist()
    with Bundle.open(tmp_path / "m") as bundle:
        np.testing.assert_array_equal(
            bundle.call("serving_default", {"x": x})["output_0"], value.astype(np.float32)
        )
        assert bundle.variables["v"].tolist() == value.tolist()


def test_facts_of_variables_are_kept(tmp_path: Any) -> None:
    module = tf.Module()
    with tf.name_scope("scope"):
        module.v = tf.Variable(
            1.0,
            trainable=False,
            name="weights",
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.MEAN,
        )
    module.free = tf.Variable([1.0], shape=tf.TensorShape([None]))
    back = saved(module, tmp_path / "m")
    assert back.v.name == "scope/weights:0"
    assert not back.v.trainable
    assert back.v.synchronization is tf.VariableSynchronization.ON_READ
    assert back.v.aggregation is tf.VariableAggregation.MEAN
    assert back.free.shape.as_list() == [None]


def test_variables_of_unknown_shape_can_change_it(tmp_path: Any) -> None:
    module = tf.Module()
    module.v = tf.Variable([1.0, 2.0], shape=tf.TensorShape(None))
    module.w = tf.Variable(numbers(2, 3), shape=tf.TensorShape([None, 3]))
    module.total = tf.function(
        lambda x: tf.reduce_sum(module.v) + x * tf.reduce_sum(module.w),
        input_signature=[tf.TensorSpec([], tf.float32)],
    )
    back = saved(module, tmp_path / "m")
    for v, w in (
        ([1.0, 2.0], numbers(2, 3)),
        ([[5.0], [6.0]], numbers(4, 3)),
        (3.0, numbers(0, 3)),
    ):
        module.v.assign(v)
        module.w.assign(w)
        back.v.assign(v)
        back.w.assign(w)
        np.testing.assert_array_equal(back.total(2.0), module.total(2.0))
    with pytest.raises(ValueError, match="shape"):
        back.w.assign(numbers(2, 2))


def test_functions_see_assignments(tmp_path: Any) -> None:
    model = Trainer()
    back = saved(model, tmp_path / "m", signatures=model.predict)
    x, _ = batch()
    for _ in range(12):  # also when the plan was frozen meanwhile
        before = back.predict(x)["logits"]
        np.testing.assert_array_equal(before, model.predict(x)["logits"])
    back.w.assign(np.zeros((4, 3), np.float32))
    np.testing.assert_array_equal(back.predict(x)["logits"], np.zeros((5, 3)))
    np.testing.assert_array_equal(
        back.signatures["serving_default"](x=x)["logits"], np.zeros((5, 3))
    )
    assert np.any(model.w.numpy())


def test_functions_that_only_write(tmp_path: Any) -> None:
    module = tf.Module()
    module.v = tf.Variable([1.0, 2.0])

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
    def store(x: Any) -> None:
        module.v.assign(x)

    back = saved(module, tmp_path / "m", signatures={"store": store})
    assert back.signatures["store"](x=tf.constant([5.0, 6.0])) == {}
    np.testing.assert_array_equal(back.v, [5.0, 6.0])
    np.testing.assert_array_equal(module.v, [1.0, 2.0])


def test_two_loads_are_independent(tmp_path: Any) -> None:
    model = Trainer()
    one = saved(model, tmp_path / "m")
    two = tf.saved_model.load(tmp_path / "m")
    one.w.assign_add(np.ones((4, 3), np.float32))
    np.testing.assert_array_equal(two.w, model.w)
    again = tf.saved_model.load(tmp_path / "m")
    np.testing.assert_array_equal(again.w, model.w)


def test_variables_that_no_attribute_reaches_are_saved(tmp_path: Any) -> None:
    counter = tf.Variable(3, name="counter")
    other = tf.Variable(1.0, name="counter")

    @tf.function(input_signature=[])
    def count() -> Any:
        counter.assign_add(1)
        return (counter.value(), other * 2.0)

    module = tf.Module()
    module.count = count
    back = saved(module, tmp_path / "m")
    assert [int(back.count()[0]) for _ in range(3)] == [4, 5, 6]
    assert int(counter) == 3
    names = [v.name for v in back.count.variables]
    assert sorted(names) == ["counter:0", "counter_1:0"]


def test_the_state_of_random_generators_is_saved(tmp_path: Any) -> None:
    generator = tf.random.Generator.from_seed(7)

    @tf.function(input_signature=[])
    def draw() -> Any:
        return generator.normal([3])

    module = tf.Module()
    module.draw = draw
    draw()
    tf.saved_model.save(module, tmp_path / "m")
    expected = [draw().numpy() for _ in range(3)]
    for _ in range(2):  # each load starts where the save was
        back = tf.saved_model.load(tmp_path / "m")
        np.testing.assert_array_equal([back.draw().numpy() for _ in range(3)], expected)
    module.generator = generator
    tf.saved_model.save(module, tmp_path / "n")
    expected = [draw().numpy() for _ in range(2)]
    back = tf.saved_model.load(tmp_path / "n")
    assert len(back.variables) == 1
    np.testing.assert_array_equal([back.draw().numpy() for _ in range(2)], expected)


def test_global_random_operations_continue(tmp_path: Any) -> None:
    tf.random.set_seed(3)

    @tf.function(input_signature=[])
    def draw() -> Any:
        return tf.random.uniform([4])

    module = tf.Module()
    module.draw = draw
    draw()
    tf.saved_model.save(module, tmp_path / "m")
    expected = [draw().numpy() for _ in range(2)]
    back = tf.saved_model.load(tmp_path / "m")
    np.testing.assert_array_equal([back.draw().numpy() for _ in range(2)], expected)
    assert not np.array_equal(*expected)


MEMORY = """
import sys
import numpy as np
import tfx as tf
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
np.ones(3).sum()
tf.saved_model.load(sys.argv[2])
before = resident()
loaded = tf.saved_model.load(sys.argv[1])
after = resident()
total = sum(float(np.sum(v.value().view()[:1].astype(np.float32))) for v in loaded.values)
print(after - before, total)
"""


@pytest.mark.skipif("sys.platform != 'linux'", reason="reads /proc")
def test_loading_maps_variables_without_reading_them(tmp_path: Any) -> None:
    module, small = tf.Module(), tf.Module()
    module.values = [
        tf.Variable(np.ones((1 << 22,), d)) for d in (np.float32, np.int64, ml_dtypes.bfloat16)
    ]
    small.values = [tf.Variable(np.ones(3, np.float32))]
    tf.saved_model.save(module, tmp_path / "m")
    tf.saved_model.save(small, tmp_path / "s")
    grown, total = run_python(MEMORY, tmp_path / "m", tmp_path / "s").split()
    assert float(total) == 3.0
    assert int(grown) < 8 << 20  # of 56 MiB
