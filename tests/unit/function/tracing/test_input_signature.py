"""One trace for every call that fits, and an error that names what does not."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import InvalidArgumentError

VECTOR = tf.TensorSpec([None], tf.float32)
SCALAR = tf.TensorSpec([], tf.float32)


def test_one_trace():
    f = tf.function(lambda x: x + 1, input_signature=[VECTOR])
    calls = [tf.constant([1.0]), [1.0, 2.0], [1, 2, 3], np.ones(4, np.float32), tf.Variable([1.0])]
    for call in calls:
        assert f(call).shape == [len(call)]
    assert f(x=[5.0]).numpy() == 6.0
    assert f.experimental_get_tracing_count() == 1
    assert f.input_signature == (VECTOR,)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (tf.constant([[1.0]]), ValueError, r"'x' expected shape \(None,\), got \(1, 1\)"),
        (tf.constant(1.0), InvalidArgumentError, r"'x' expected shape \(None,\), got \(\)"),
        (tf.constant([1]), TypeError, r"'x' expected float32 of shape \(None,\), got int32 .*cast"),
        ("text", TypeError, "'x' expected float32.*got string"),
        (object(), TypeError, "'x' expected float32 of shape .*got <object"),
        (None, TypeError, "'x' expected float32"),
        ([[1.0], [1.0, 2.0]], TypeError, "'x' expected float32.*non-rectangular"),
    ],
)
def test_refusals(value, error, message):
    f = tf.function(lambda x: x + 1, input_signature=[VECTOR])
    with pytest.raises(error, match=rf"lambda\(\): argument {message}"):
        f(value)
    assert f.experimental_get_tracing_count() == 0


def test_structures():
    signature = [{"a": VECTOR}, [VECTOR, (SCALAR,)]]
    f = tf.function(lambda d, items: d["a"] + items[0] * items[1][0], input_signature=signature)
    result = f({"a": [1.0, 2.0]}, [tf.constant([3.0]), (2,)])
    assert result.numpy().tolist() == [7.0, 8.0]
    with pytest.raises(TypeError, match=r"'items' does not have the structure"):
        f({"a": [1.0]}, [tf.constant([3.0])])
    with pytest.raises(TypeError, match=r"'d' does not have the structure.*expected \{'a'.*got"):
        f({"b": [1.0]}, [[3.0], (2,)])
    with pytest.raises(TypeError, match="'d' does not have the structure"):
        f({"a": [1.0], "b": [1.0]}, [[3.0], (2,)])
    with pytest.raises(ValueError, match=r"argument 'items\[1\]\[0\]' expected shape"):
        f({"a": [1.0]}, [[3.0], ([2.0],)])
    assert f.experimental_get_tracing_count() == 1


def test_named_dimensions_are_one_size():
    f = tf.function(
        lambda x, y: tf.reduce_sum(x) + tf.reduce_sum(y),
        input_signature=[tf.TensorSpec(["batch", 3]), tf.TensorSpec(["batch"])],
    )
    assert float(f(tf.ones([2, 3]), tf.ones([2]))) == 8.0
    assert float(f(tf.ones([5, 3]), tf.ones([5]))) == 20.0
    with pytest.raises(
        InvalidArgumentError, match="'batch' is 2 in argument 'x' and 4 in argument 'y'"
    ):
        f(tf.ones([2, 3]), tf.ones([4]))
    concrete = f.get_concrete_function()
    with pytest.raises(InvalidArgumentError, match="'batch' is 2 in argument 'x'"):
        concrete(tf.ones([2, 3]), tf.ones([4]))
    assert f.experimental_get_tracing_count() == 1


def test_unknown_rank():
    f = tf.function(lambda x: x * 2, input_signature=[tf.TensorSpec(None, tf.float32)])
    assert [f(tf.ones(shape)).shape.as_list() for shape in ([], [2], [2, 3])] == [[], [2], [2, 3]]
    assert f.experimental_get_tracing_count() == 1


def test_parameters_without_spec():
    f = tf.function(lambda x, y=2.0: x + y, input_signature=[VECTOR])
    assert f(tf.constant([1.0])).numpy() == f(tf.constant([1.0]), 2.0).numpy() == 3.0
    assert f.experimental_get_tracing_count() == 1
    assert f(tf.constant([1.0]), 3.0).numpy() == 4.0  # another value is another trace
    assert f.experimental_get_tracing_count() == 2


def test_variadic_parameters():
    f = tf.function(lambda *a: a[0] + a[1], input_signature=[SCALAR] * 2)
    assert float(f(1.0, 3.0)) == 4.0
    with pytest.raises(TypeError, match="'a' does not have the structure"):
        f(1.0)
    g = tf.function(lambda x, y=5.0, *a: x + y, input_signature=[SCALAR])
    assert float(g(1.0)) == 6.0


def test_keyword_only_parameters():
    f = tf.function(lambda x, *, y: x - y, input_signature=[SCALAR] * 2)
    assert float(f(3.0, y=1.0)) == 2.0
    assert float(f.get_concrete_function()(3.0, y=1.0)) == 2.0


@pytest.mark.parametrize(
    ("function", "signature", "message"),
    [
        (lambda x: x, [VECTOR] * 2, "contains 1 extra type constraints"),
        (lambda x, y: x, [VECTOR], "missing a type constraint for 'y'"),
        (lambda **k: k["a"], [VECTOR], "contains 1 extra"),
    ],
)
def test_signatures_that_do_not_match_the_function(function, signature, message):
    with pytest.raises(TypeError, match=message):
        tf.function(function, input_signature=signature).get_concrete_function()


@pytest.mark.parametrize("signature", [[1], [VECTOR, "x"], VECTOR, "x", [[VECTOR, 1]]])
def test_no_signatures(signature):
    with pytest.raises(TypeError, match="possibly nested sequence of TensorSpec objects, got"):
        tf.function(lambda x: x, input_signature=signature)


def test_an_empty_signature():
    f = tf.function(lambda: tf.constant(1), input_signature=[])
    assert int(f()) == int(f.get_concrete_function()()) == 1


def test_methods():
    class Model(tf.Module):
        def __init__(self, scale):
            super().__init__()
            self.scale = tf.Variable(scale)

        @tf.function(input_signature=[VECTOR])
        def scaled(self, x):
            return x * self.scale

    a, b = Model(2.0), Model(3.0)
    assert [float(m.scaled([1.0])[0]) for m in (a, b, a)] == [2.0, 3.0, 2.0]
    assert a.scaled.experimental_get_tracing_count() == 1
    assert float(a.scaled.get_concrete_function()([5.0])[0]) == 10.0


def test_extra_and_missing_arguments():
    f = tf.function(lambda x: x, input_signature=[VECTOR])
    with pytest.raises(TypeError, match=r"lambda\(x\): too many positional"):
        f([1.0], 2)
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        f()


def test_symbolic_arguments_are_checked_too():
    inner = tf.function(lambda x: x + 1.0, input_signature=[VECTOR])
    outer = tf.function(lambda x: inner(x))
    assert outer(tf.ones([3])).shape == [3]
    assert outer(tf.ones([4])).shape == [4]
    assert inner.experimental_get_tracing_count() == 1
    with pytest.raises(ValueError, match="'x' expected shape"):
        outer(tf.ones([2, 2]))
