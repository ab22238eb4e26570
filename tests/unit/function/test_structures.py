"""Structures as arguments and results: dataclasses, attrs classes, named tuples, nests of them."""

from __future__ import annotations

import dataclasses
import types
from collections import OrderedDict, defaultdict, deque
from typing import Any, NamedTuple

import numpy as np
import pytest

import tfx as tf


@dataclasses.dataclass
class Batch:
    x: Any
    y: Any = None
    name: str = "batch"


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    x: Any
    scale: float = 2.0


@dataclasses.dataclass(eq=False)
class Checked:
    """Its constructor takes no placeholders, and it has an attribute that is no field."""

    x: Any
    count: int = dataclasses.field(init=False, default=7)

    def __post_init__(self):
        self.size = int(np.size(self.x))


class Point(NamedTuple):
    x: Any
    y: Any


class Attrs:
    """What attrs makes of a class with a public and a private field."""

    __attrs_attrs__ = (types.SimpleNamespace(name="left"), types.SimpleNamespace(name="_right"))

    def __init__(self, left, right):
        self.left, self._right = left, right


def _count(function, *calls):
    f = tf.function(function)
    for call in calls:
        f(call)
    return f.experimental_get_tracing_count()


A, B, LONG = tf.constant([1.0]), tf.constant([2.0]), tf.constant([1.0, 2.0])


@pytest.mark.parametrize(
    ("calls", "traces"),
    [
        ([Batch(A), Batch(B)], 1),
        ([Batch(A), Batch(LONG)], 2),
        ([Batch(A), Batch(A, A)], 2),
        ([Batch(A), Batch(A, name="other")], 2),
        ([Frozen(A), Frozen(B), Frozen(A, 3.0)], 2),
        ([Batch(Frozen(A)), Batch(Frozen(B)), Batch([Frozen(A)])], 2),
        ([Batch(A), Point(A, None), {"x": A, "y": None}], 3),
        ([Attrs(A, 1), Attrs(B, 1), Attrs(A, 2)], 2),
        ([Checked(A), Checked(B)], 1),
        ([[A, (B, None)], [B, (A, None)], (A, (B, None))], 2),
        ([[], (), {}, None, Point(None, None)], 5),
        ([{"a": A, "b": B}, {"b": B, "a": A}], 1),
        ([{"a": A}, OrderedDict(a=A)], 2),
        ([{1: A}, {True: A}, {1.0: A}], 3),
        ([deque([A]), deque([B]), [A]], 2),
        ([defaultdict(list, a=A), defaultdict(list, a=B)], 1),
        ([{"a": [Batch(A)]}, {"a": [Batch(np.ones(1, np.float32))]}], 1),
    ],
    ids=[f"kinds{i}" for i in range(17)],
)
def test_traces(calls, traces):
    assert _count(lambda x: tf.constant(0), *calls, *calls) == traces


def test_a_dataclass_goes_in_and_out():
    f = tf.function(lambda b: Batch(b.x * 2.0, [b.y, Frozen(b.x)], None))
    for value in (1.0, 2.0, 3.0):
        result = f(Batch(tf.constant([value]), tf.constant(1)))
        assert type(result) is Batch
        assert result.x.numpy() == 2 * value
        assert result.y[1].x.numpy() == value
        assert result.name is None
        assert float(result.y[1].scale) == 2.0  # Python results become tensors
    assert f.experimental_get_tracing_count() == 1


def test_the_constructor_is_not_called():
    seen = []
    f = tf.function(lambda c: seen.append((c.size, c.count)) or c)
    given = Checked(tf.constant([1.0, 2.0]))
    result = f(given)
    assert seen == [(2, 7)]
    assert (result.size, int(result.count)) == (2, 7)
    assert given.x is not result.x


def test_dataclasses_under_a_tape_and_inside_a_function():
    inner = tf.function(lambda b: Frozen(b.x * b.scale))
    outer = tf.function(lambda b: inner(inner(b)))
    x = tf.constant([3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = outer(Frozen(x, 5.0))
    assert y.x.numpy() == 30.0
    assert tape.gradient(y.x, x).numpy() == 10.0


def test_a_function_may_not_change_a_dataclass():
    def change(b):
        b.x = b.x + 1.0
        return b.x

    with pytest.raises(ValueError, match="should not modify the structure of its arguments"):
        tf.function(change)(Batch(A))


def test_modules_have_identity_even_as_dataclasses():
    @dataclasses.dataclass(eq=False)
    class Dense(tf.Module):
        units: int
        w: Any = None

        def __post_init__(self):
            super().__init__()

        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(tf.ones([1, self.units]))
            return x @ self.w

    f = tf.function(lambda layer, x: layer(x))
    layer = Dense(3)
    assert f(layer, tf.ones([2, 1])).shape == [2, 3]
    assert f(layer, tf.ones([2, 1])).shape == [2, 3]
    assert layer.variables == (layer.w,)
    assert f.experimental_get_tracing_count() == 2  # the first one made the variable


def test_concrete_functions_take_dataclasses():
    f = tf.function(lambda b: b.x + 1.0)
    concrete = f.get_concrete_function(Batch(tf.TensorSpec([None])))
    (spec,), _ = concrete.structured_input_signature
    assert spec == Batch(tf.TensorSpec([None], name="b_x"))
    assert concrete(Batch(A)).numpy() == 2.0
    with pytest.raises(TypeError, match="'b' does not have the structure"):
        concrete({"x": A})
    with pytest.raises(TypeError, match="is fixed to 'batch' by the trace"):
        concrete(Batch(A, name="other"))


def test_input_signatures_of_dataclasses():
    f = tf.function(lambda b: b.x + b.scale, input_signature=[Frozen(tf.TensorSpec([None]), S)])
    assert f(Frozen([1.0, 2.0], 3)).numpy().tolist() == [4.0, 5.0]
    assert f(Frozen([1.0], 5.0)).numpy().tolist() == [6.0]
    assert f.experimental_get_tracing_count() == 1


S = tf.TensorSpec([])


def test_indexed_slices_go_in_and_out():
    def scaled(slices, by):
        return tf.IndexedSlices(slices.values * by, slices.indices, slices.dense_shape)

    f = tf.function(scaled)
    for value in (1.0, 2.0):
        given = tf.IndexedSlices(tf.fill([1, 2], value), tf.constant([3]), None)
        result = f(given, tf.constant(2.0))
        assert type(result) is tf.IndexedSlices
        assert result.values.numpy().tolist() == [[2 * value, 2 * value]]
        assert result.indices.numpy().tolist() == [3]
        assert result.dense_shape is None
    assert f.experimental_get_tracing_count() == 1
    assert tf.nest.flatten([given]) == [given]


def test_structures_that_contain_themselves():
    items: list[Any] = [A]
    items.append(items)
    table: dict[str, Any] = {"a": A}
    table["b"] = [table]
    batch = Batch(A)
    batch.y = batch
    f = tf.function(lambda first, second: first)
    for value in (items, table, batch):
        with pytest.raises(ValueError, match=r"Argument 'second' .*contains itself"):
            f(A, value)
        with pytest.raises(ValueError, match=r"Argument 'second' .*contains itself"):
            f(A, second=value)


def test_mappings_whose_keys_cannot_be_sorted():
    with pytest.raises(TypeError, match=r"Argument 'x'.*cannot be sorted"):
        tf.function(lambda x: 1)({1: A, "a": A})


def test_saved_with_dataclasses(tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda b: {"out": b.x * 2.0})
    module.f(Batch(A))
    tf.saved_model.save(module, str(tmp_path / "m"))
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    assert [c.outputs[0].shape for c in loaded.f.concrete_functions] == [[1]]


def test_nest_itself_takes_dataclasses_for_leaves():
    """As in TensorFlow; only where composites are expanded they are structures."""
    batch = Batch(1, [2])
    assert tf.nest.flatten([batch]) == [batch]
    assert tf.nest.flatten([batch], expand_composites=True) == [1, 2, "batch"]
    doubled = tf.nest.map_structure(lambda x: x * 2, [batch], expand_composites=True)
    assert doubled == [Batch(2, [4], "batchbatch")]
    assert batch == Batch(1, [2])
    tf.nest.assert_same_structure([batch], [Batch(5, [6])], expand_composites=True)
    with pytest.raises(ValueError, match="form"):
        tf.nest.assert_same_structure([batch], [Batch(5, 6)], expand_composites=True)
