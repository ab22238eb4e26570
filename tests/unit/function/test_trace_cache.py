"""Which calls share a trace: dtype, shape, structure, Python values, however they are spelled."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import gc
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest

import tfx as tf


class Point(NamedTuple):
    x: object
    y: object


def _count(function, *calls):
    """Traces that a function makes for calls; each is a tuple of arguments or a dict."""
    f = tf.function(function)
    for call in calls:
        f(**call) if isinstance(call, dict) else f(*call)
    return f.experimental_get_tracing_count()


def _one(x):
    return tf.constant(x)


@pytest.mark.parametrize(
    ("first", "second", "traces"),
    [
        (tf.constant(1.0), tf.constant(2.0), 1),
        (tf.constant(1.0), tf.constant(1), 2),
        (tf.constant([1.0]), tf.constant([1.0, 2.0]), 2),
        (tf.constant([1.0]), tf.constant([[1.0]]), 2),
        (tf.constant([1.0]), np.array([2.0], np.float32), 1),
        (np.array([1, 2]), np.array([3, 4]), 1),
        (np.int64(1), np.int64(2), 1),
        (np.int64(1), np.int32(1), 2),
        (np.float32(1), tf.constant(5.0), 1),
        (ml_dtypes.bfloat16(1), tf.constant(1.0, tf.bfloat16), 1),
        ([tf.constant(1)], [tf.constant(2)], 1),
        ([tf.constant(1)], [tf.constant(1)] * 2, 2),
        ([tf.constant(1)], (tf.constant(1),), 2),
        ([tf.constant(1), 2], [tf.constant(3), 2], 1),
        ([tf.constant(1), 2], [tf.constant(1), 3], 2),
        ({"a": tf.constant(1), "b": 2}, {"b": 2, "a": tf.constant(3)}, 1),
        ({"a": tf.constant(1)}, {"b": tf.constant(1)}, 2),
        ({"a": 1}, collections.OrderedDict(a=1), 2),
        (Point(tf.constant(1), 2), Point(tf.constant(5), 2), 1),
        (Point(tf.constant(1), 2), (tf.constant(1), 2), 2),
        (((tf.constant(1),), [2]), ((tf.constant(1),), [2]), 1),
    ],
)
def test_tensors_and_structures(first, second, traces):
    assert _count(lambda x: tf.constant(0), (first,), (second,)) == traces


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass(frozen=True)
class Config:
    units: int


@pytest.mark.parametrize(
    ("first", "second", "traces"),
    [
        (1, 1, 1),
        (1, 2, 2),
        (1, True, 2),
        (1, 1.0, 2),
        (0.0, -0.0, 2),
        (float("nan"), float("nan"), 1),
        ("a", "a", 1),
        ("a", b"a", 2),
        (None, None, 1),
        (None, 0, 2),
        (Colour.RED, Colour.RED, 1),
        (Colour.RED, Colour.BLUE, 2),
        (Config(1), Config(1), 1),
        (Config(1), Config(2), 2),
        (frozenset({1, 2}), frozenset({2, 1}), 1),
        (tf.int32, tf.int32, 1),
        (tf.int32, tf.float32, 2),
        (tf.TensorShape([1]), tf.TensorShape([1]), 1),
        (int, int, 1),
        (len, len, 1),
        (1j, 1j, 1),
        (2**80, 2**80, 1),
    ],
)
def test_python_values(first, second, traces):
    assert _count(lambda x: tf.constant(0), (first,), (second,)) == traces


def test_values_are_baked_in():
    f = tf.function(_one)
    assert [f(v).numpy() for v in (1, True, 1.5)] == [1, True, 1.5]
    assert np.signbit(f(-0.0).numpy())
    assert not np.signbit(f(0.0).numpy())


class Params:
    multiply = True


def test_objects_without_a_value_go_by_identity():
    p, q = Params(), Params()
    f = tf.function(lambda x, p: x * 2.0 if p.multiply else x + 2.0)
    assert [float(f(tf.constant(3.0), o)) for o in (p, p, q)] == [6.0, 6.0, 6.0]
    assert f.experimental_get_tracing_count() == 2
    p.multiply = False
    assert float(f(tf.constant(3.0), p)) == 6.0  # as documented: not noticed
    r = Params()
    r.multiply = False
    assert float(f(tf.constant(3.0), r)) == 5.0


def test_objects_are_not_kept_alive_and_addresses_may_be_used_again():
    f = tf.function(lambda p: tf.constant(p.value))
    for value in range(5):
        p = Params()
        p.value = value
        assert int(f(p)) == value
        del p
        gc.collect()


def test_objects_that_take_no_weak_reference():
    sentinel = object()
    assert _count(lambda x: tf.constant(0), (sentinel,), (sentinel,), (object(),)) == 2


@pytest.mark.parametrize("value", [{1, 2}, bytearray(b"a"), Point(1, {1})])
def test_unhashable_arguments_are_named(value):
    f = tf.function(lambda first, second: first)
    with pytest.raises(TypeError, match=r"Argument 'second\w*' got .* not hashable"):
        f(1, value)


def test_arrays_that_are_no_tensors_are_named():
    f = tf.function(lambda first, second: first)
    with pytest.raises(TypeError, match=r"Argument 'second'.*M8"):
        f(1, np.array(["2020"], "M8[D]"))
    assert f(1, np.ones(2, np.complex64)) == 1  # complex numbers are tensors


def test_spellings_of_one_call():
    x = tf.constant(1)
    calls = [(x,), {"x": x}, (x, 2), {"x": x, "y": 2}, {"y": 2, "x": x}]
    assert _count(lambda x, y=2: x * y, *calls) == 1
    assert _count(lambda x, y=2: x * y, *calls, (x, 3)) == 2


def test_variadic_parameters():
    f = tf.function(lambda *a, **k: a[0] + k["z"])
    x = tf.constant(1)
    assert [int(f(x, z=x)), int(f(x, z=tf.constant(5)))] == [2, 6]
    assert f.experimental_get_tracing_count() == 1
    assert int(f(x, x, z=x)) == 2
    assert int(f(x, z=x, w=3)) == 2
    assert f.experimental_get_tracing_count() == 3


def test_keyword_only_parameters():
    f = tf.function(lambda x, *, y=1.0: x + y)
    assert [float(f(tf.constant(1.0))), float(f(tf.constant(1.0), y=1.0))] == [2.0, 2.0]
    assert f.experimental_get_tracing_count() == 1


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "missing a required argument: 'x'"),
        ((1, 2, 3), {}, "too many positional"),
        ((1,), {"yes": 2, "z": 1}, "unexpected keyword argument 'z'"),
        ((1,), {"yess": 2}, r"got 'yess'; did you mean 'yes'\?"),
        ((1, 2), {"x": 1}, "multiple values"),
    ],
)
def test_wrong_calls(args, kwargs, message):
    def model(x, yes=1):
        return x

    with pytest.raises(TypeError, match=rf"^model\(x, yes=1\): .*{message}"):
        tf.function(model)(*args, **kwargs)


def test_tensor_defaults():
    five = tf.constant(5)
    f = tf.function(lambda x, y=five: x + y)
    assert int(f(tf.constant(1))) == 6
    assert int(f(tf.constant(1), tf.constant(7))) == 8
    assert f.experimental_get_tracing_count() == 1


def test_functions_of_many_kinds():
    class Callable:
        def __call__(self, x):
            return x * 2

    x = tf.constant(5)
    assert int(tf.function(Callable())(x)) == 10
    assert int(tf.function(functools.partial(lambda x, y: x - y, y=2))(x)) == 3
    assert int(tf.function(tf.function(lambda x: x + 1))(x)) == 6
    with pytest.raises(TypeError, match="takes a callable; got 3"):
        tf.function(3)


@pytest.mark.parametrize("relax", ["reduce_retracing", "experimental_relax_shapes"])
def test_reduced_retracing(relax):
    f = tf.function(lambda x, y: (x * 2.0, y), **{relax: True})
    for size in (1, 2, 3, 4, 1):
        doubled, _ = f(tf.ones([size, 3]), tf.zeros([size]))
        np.testing.assert_array_equal(doubled, np.full((size, 3), 2.0))
    assert f.experimental_get_tracing_count() == 2
    assert f(tf.ones([2, 5]), tf.zeros([7]))[0].shape == [2, 5]
    assert f.experimental_get_tracing_count() == 3


def test_a_general_trace_serves_particular_calls():
    f = tf.function(lambda x: x + 1.0)
    f.get_concrete_function(tf.TensorSpec([None, 2]))
    assert f(tf.ones([3, 2])).shape == [3, 2]
    assert f(tf.ones([5, 2])).shape == [5, 2]
    assert f.experimental_get_tracing_count() == 1
    f(tf.ones([5, 3]))
    assert f.experimental_get_tracing_count() == 2


def test_named_dimensions_of_a_general_trace_are_one_size():
    f = tf.function(lambda x, y: (tf.reduce_sum(x), tf.reduce_sum(y)))
    f.get_concrete_function(tf.TensorSpec(["n"]), tf.TensorSpec(["n", 2]))
    f(tf.ones([3]), tf.ones([3, 2]))
    assert f.experimental_get_tracing_count() == 1
    f(tf.ones([3]), tf.ones([4, 2]))
    assert f.experimental_get_tracing_count() == 2


def test_unnamed_dimensions_are_never_taken_for_equal():
    """Not even if parameters and keys, or the names of specs, make one text."""
    f = tf.function(lambda a, a_b: tf.reshape(a["b"], tf.shape(a_b)))
    spec = tf.TensorSpec([None], name="same")
    concrete = f.get_concrete_function({"b": spec}, spec)
    assert concrete.structured_outputs.shape.as_list() == [None]
    first, second = (v.shape for v in concrete.graph.graph.inputs)
    assert first != second


def test_a_spec_is_no_argument_of_a_call():
    for signature in (None, [tf.TensorSpec([])]):
        f = tf.function(lambda x: x, input_signature=signature)
        with pytest.raises(TypeError, match=r"'x' is a TensorSpec.*get_concrete_function"):
            f(tf.TensorSpec([]))


def test_signatures_as_text():
    f = tf.function(lambda x, y: x * y)
    assert f.pretty_printed_concrete_signatures() == ""
    f(tf.constant([1.0]), 3)
    text = f.pretty_printed_concrete_signatures()
    x = "x (POSITIONAL_OR_KEYWORD): TensorSpec(shape=(1,), dtype=tf.float32, name=None)"
    assert x in text
    assert "y (POSITIONAL_OR_KEYWORD): Literal[3]" in text
    assert repr(f) == "<tfx.function lambda(x, y)>"


def test_functions_look_like_the_python_functions():
    def model(x):
        """Does things."""
        return x

    f = tf.function(model)
    assert (f.__name__, f.__doc__, f.python_function) == ("model", "Does things.", model)
    assert f.name == "model"
    assert f.function_spec.names == ["x"]


def test_decorators():
    @tf.function
    def plain(x):
        return x + 1

    @tf.function(autograph=False, jit_compile=True)
    def with_options(x):
        return x + 1

    assert int(plain(tf.constant(1))) == int(with_options(tf.constant(1))) == 2


def test_a_function_may_not_change_the_structure_of_its_arguments():
    f = tf.function(lambda items: items.append(items[0]) or items[0])
    with pytest.raises(ValueError, match="should not modify the structure of its arguments"):
        f([tf.constant(1)])
    g = tf.function(lambda table: table.update(b=1) or table["a"])
    with pytest.raises(ValueError, match="copy a list or dict"):
        g({"a": tf.constant(1)})
    h = tf.function(lambda items: [*items, items[0]])
    assert len(h([tf.constant(1), float("nan")])) == 3


def test_results():
    x = tf.constant(1)
    f = tf.function(lambda x: {"b": x, "a": (x, None), "p": Point(x, [x])})
    result = f(x)
    assert isinstance(result["p"], Point)
    assert result["a"][1] is None
    assert [int(v) for v in (result["b"], result["a"][0], result["p"].y[0])] == [1, 1, 1]
    assert tf.function(lambda: None)() is None
    assert tf.function(lambda: ())() == ()
    values = tf.function(lambda: (1, 2.5, "s", [True]))()
    assert [v.numpy() for v in values[:3]] == [1, 2.5, b"s"]
    assert bool(values[3][0])
    with pytest.raises(TypeError, match=r"'lambda' must return zero or more Tensors.*type object"):
        tf.function(lambda: object())()


def test_results_are_tensors_of_their_own():
    f = tf.function(lambda x: (x, x))
    a, b = f(tf.constant(1.0))
    assert a is not b
