"""Input signatures that leave something to the call, and what a refusal says."""

from __future__ import annotations

import pytest

import tfx as tf
from tfx.core.errors import DTypeMismatchError, ShapeMismatchError

VECTOR = tf.TensorSpec([None], tf.float32)
SCALAR = tf.TensorSpec([], tf.float32)


def test_python_values_are_part_of_the_key():
    f = tf.function(lambda x, n: x * n, input_signature=[VECTOR, tf.PYTHON_VALUE])
    for size in (1, 2, 3):
        assert f(tf.ones([size]), 2).numpy().tolist() == [2.0] * size
    assert f.experimental_get_tracing_count() == 1
    assert f([1.0], 3).numpy() == 3.0
    assert f(x=[1.0], n=3.0).numpy() == 3.0
    assert f([1.0], n=2).numpy() == 2.0
    assert f.experimental_get_tracing_count() == 3
    with pytest.raises(TypeError, match=r"'n' is a Python value by .*PYTHON_VALUE.*got <tf.Tensor"):
        f([1.0], tf.constant(2.0))
    with pytest.raises(TypeError, match="missing a required argument: 'n'"):
        f([1.0])


def test_python_values_in_structures_and_defaults():
    signature = ({"x": VECTOR, "mode": tf.PYTHON_VALUE}, tf.PYTHON_VALUE)

    @tf.function(input_signature=signature)
    def f(d, training=False):
        return d["x"] * (2.0 if d["mode"] == "double" else 1.0) + (1.0 if training else 0.0)

    x = tf.constant([1.0])
    assert f({"x": x, "mode": "double"}).numpy() == 2.0
    assert f({"x": x, "mode": "double"}, True).numpy() == 3.0
    assert f({"x": [1.0, 2.0], "mode": "double"}, training=True).shape == [2]
    assert f.experimental_get_tracing_count() == 2


def test_objects_as_python_values():
    class Config:
        scale = 3.0

    f = tf.function(lambda x, c: x * c.scale, input_signature=[VECTOR, tf.PYTHON_VALUE])
    config = Config()
    assert f([1.0], config).numpy() == f([1.0, 2.0], config).numpy()[0] == 3.0
    assert f.experimental_get_tracing_count() == 1
    del config
    assert f.concrete_functions == []


def test_a_released_dtype():
    f = tf.function(tf.square, input_signature=((tf.TRACE_ON_NEW_VALUE, [None]),))
    assert f(tf.constant([2.0])).numpy().tolist() == [4.0]
    assert f(tf.constant([2, 2])).numpy().tolist() == [4, 4]
    assert f(tf.constant([2.0, 3.0, 4.0])).numpy().tolist() == [4.0, 9.0, 16.0]
    assert f([3, 3, 3]).numpy().tolist() == [9, 9, 9]
    assert f.experimental_get_tracing_count() == 2
    with pytest.raises(ShapeMismatchError, match=r"expected shape \(None,\), got \(1, 1\)"):
        f(tf.constant([[2.0]]))
    with pytest.raises(TypeError, match=r"expected a tensor \(tfx.TRACE_ON_NEW_VALUE, .*got <obj"):
        f(object())


def test_a_released_shape_and_both():
    f = tf.function(lambda x: x + 1, input_signature=[(tf.float32, tf.TRACE_ON_NEW_VALUE)])
    assert [f(x).shape.as_list() for x in (1, [1, 2], tf.ones([2, 2]), [5.0, 6.0])] == [
        [], [2], [2, 2], [2]
    ]  # fmt: skip
    assert f.experimental_get_tracing_count() == 3
    with pytest.raises(DTypeMismatchError, match="expected float32"):
        f(tf.constant(1))
    g = tf.function(lambda x: x + 1, input_signature=[tf.TRACE_ON_NEW_VALUE])
    assert [int(g(1)), float(g(1.0)), g([1, 2]).shape.as_list()] == [2, 2.0, [2]]
    assert int(g(5)) == 6  # a tensor: no new trace
    assert g.experimental_get_tracing_count() == 3


@pytest.mark.parametrize(
    "signature",
    [((tf.float32, [None]),), [(tf.float32, (None,))], (tf.float32, [None]), [VECTOR]],
    ids=str,
)
def test_pairs_are_specs(signature):
    f = tf.function(lambda x: x + 1.0, input_signature=signature)
    assert f.input_signature == (VECTOR,)
    assert f([1, 2]).numpy().tolist() == [2.0, 3.0]
    assert f.get_concrete_function() is f.get_concrete_function(tf.TensorSpec([5]))
    with pytest.raises(ShapeMismatchError):
        f([[2.0]])
    with pytest.raises(DTypeMismatchError):
        f(tf.constant([2]))


def test_lists_of_any_length():
    f = tf.function(lambda items: tf.add_n(items), input_signature=[[VECTOR, ...]])
    assert f([[1.0], [2.0]]).numpy().tolist() == [3.0]
    assert f((tf.ones([3]), tf.ones([3]))).numpy().tolist() == [2.0] * 3
    assert f.experimental_get_tracing_count() == 1
    assert f([[1.0]] * 5).numpy().tolist() == [5.0]
    assert f.experimental_get_tracing_count() == 2
    with pytest.raises(ShapeMismatchError, match=r"argument 'items\[1\]' expected shape"):
        f([[1.0], 2.0])
    with pytest.raises(TypeError, match=r"'items' expected a list \[TensorSpec.*\.\.\.\] of any"):
        f(tf.ones([2]))
    concrete = f.get_concrete_function([VECTOR] * 3)
    assert concrete([[1.0]] * 3).numpy().tolist() == [3.0]


def test_what_is_left_open_must_be_given_for_a_concrete_function():
    f = tf.function(lambda x, n: x * n, input_signature=[VECTOR, tf.PYTHON_VALUE])
    with pytest.raises(TypeError, match=r"n=tfx.PYTHON_VALUE\) leaves arguments to the call"):
        f.get_concrete_function()
    concrete = f.get_concrete_function(VECTOR, 3)
    assert concrete([1.0, 2.0]).numpy().tolist() == [3.0, 6.0]
    assert f([1.0], 3).numpy() == 3.0
    assert f.experimental_get_tracing_count() == 1


def test_saving_without_arguments_that_are_open(tmp_path):
    module = tf.Module()
    signature = [VECTOR, tf.PYTHON_VALUE]
    module.f = tf.function(lambda x, n: x * n, input_signature=signature)
    module.f([1.0], 3)
    tf.saved_model.save(module, str(tmp_path / "m"))
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    assert loaded.f(tf.constant([2.0, 3.0]), 3).numpy().tolist() == [6.0, 9.0]


@pytest.mark.parametrize(
    ("spec", "value", "nearest"),
    [
        (tf.TensorSpec([None, 3]), tf.ones([2, 2]), r"float32 of shape \(2, 3\)"),
        (tf.TensorSpec([None]), tf.ones([1, 4]), r"float32 of shape \(4,\)"),
        (tf.TensorSpec([None, None]), tf.ones([5]), r"float32 of shape \(1, 5\)"),
        (tf.TensorSpec([], tf.int32), tf.ones([]), r"int32 of shape \(\)"),
    ],
    ids=str,
)
def test_the_nearest_that_would_fit_is_named(spec, value, nearest):
    f = tf.function(lambda x: x, input_signature=[spec])
    with pytest.raises((ValueError, TypeError), match=rf"\(the nearest that fits: {nearest}\)"):
        f(value)


def test_the_nearest_structure_is_named():
    f = tf.function(lambda d: d["a"], input_signature=[{"a": VECTOR, "b": SCALAR}])
    with pytest.raises(TypeError, match=r"it would fit if you add \['b'\] and leave out \['c'\]"):
        f({"a": [1.0], "c": 1.0})
    g = tf.function(lambda items: items[0], input_signature=[[VECTOR, VECTOR]])
    with pytest.raises(TypeError, match=r"\(expected 2 items, got 3\)"):
        g([[1.0]] * 3)


def test_specs_given_to_get_concrete_function_must_fit_too():
    f = tf.function(lambda x: x, input_signature=[VECTOR])
    assert f.get_concrete_function(tf.TensorSpec([2])) is f.get_concrete_function()
    with pytest.raises(TypeError, match=r"expected float32.*got int32"):
        f.get_concrete_function(tf.TensorSpec([2], tf.int32))
    with pytest.raises(TypeError, match=r"expected shape \(None,\), got \(2, 2\)"):
        f.get_concrete_function(tf.TensorSpec([2, 2]))


def test_extra_keywords_are_refused():
    f = tf.function(lambda x, **kwargs: x, input_signature=[VECTOR])
    assert f([1.0]).numpy() == 1.0
    with pytest.raises(
        TypeError, match=r"unexpected keyword arguments \['scale'\].*input_signature"
    ):
        f([1.0], scale=2.0)


def test_named_dimensions_in_open_signatures():
    spec = tf.TensorSpec(["n"])
    f = tf.function(
        lambda x, items, k: x + tf.add_n(items),
        input_signature=[spec, [spec, ...], tf.PYTHON_VALUE],
    )
    assert f([1.0, 2.0], [[1.0, 1.0]] * 2, 0).numpy().tolist() == [3.0, 4.0]
    with pytest.raises(ValueError, match=r"'n' is 2 in argument 'x' and 3 in argument 'items_1'"):
        f([1.0, 2.0], [[1.0, 1.0], [1.0] * 3], 0)


@pytest.mark.parametrize(
    "signature",
    [[None], [...], [VECTOR, ...], [[VECTOR, 1]], [("float32", [None])], {"x": VECTOR}, 1],
    ids=str,
)
def test_what_is_no_signature(signature):
    with pytest.raises(TypeError, match="possibly nested sequence of TensorSpec objects, got"):
        tf.function(lambda x: x, input_signature=signature)
