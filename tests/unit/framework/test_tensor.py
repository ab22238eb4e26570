"""Eager tensors: Python's and NumPy's protocols, and contents that nobody can change."""

from __future__ import annotations

import copy
import operator
import pickle

import ml_dtypes
import numpy as np
import pytest

import tfx as tf
from tfx.framework.tensor import from_array

NAMES = ["float16", "float32", "float64", "bfloat16", "int8", "int64", "uint16", "bool"]


def _tensor(name, shape=(2, 3)):
    return from_array(np.ones(shape, tf.as_dtype(name).as_numpy_dtype))


def test_facts():
    x = tf.constant([[1.0, 2.0]])
    assert (x.dtype, x.shape, x.ndim) == ("float32", [1, 2], 2)
    assert x.get_shape() is x.shape
    assert x.device == "/job:localhost/replica:0/task:0/device:CPU:0"
    assert isinstance(x, tf.Tensor)
    assert tf.is_tensor(x)
    assert tf.is_tensor(tf.Variable(1))
    assert not tf.is_tensor(np.ones(2))


@pytest.mark.parametrize("name", NAMES)
def test_numpy_cannot_corrupt_the_tensor(name):
    x = _tensor(name)
    array = x.numpy()
    array[:] = 0
    view = np.asarray(x)
    assert not view.flags.writeable
    copied = np.array(x)
    copied[:] = 0
    for writable in (x.view(), view):
        with pytest.raises(ValueError, match="WRITEABLE"):
            writable.flags.writeable = True
    np.testing.assert_array_equal(x, np.ones((2, 3), x.dtype.as_numpy_dtype))


def test_numpy_scalars():
    assert isinstance(tf.constant(1.0).numpy(), np.float32)
    assert isinstance(tf.constant(np.int64(1)).numpy(), np.int64)
    assert tf.constant("a").numpy() == b"a"
    assert tf.constant(["a"]).numpy().tolist() == [b"a"]


def test_array_protocol():
    x = tf.constant([1, 2])
    assert np.asarray(x).dtype == np.int32
    assert np.array(x, dtype=np.float64).dtype == np.float64
    assert np.asarray(x, np.float64).flags.writeable
    assert np.sum(x) == 3
    assert np.array_equal(x, [1, 2])
    with pytest.raises(ValueError, match="copy is needed to convert int32"):
        np.asarray(x, np.float64, copy=False)


def test_arithmetic_with_arrays_gives_tensors():
    x = tf.constant([1.0, 2.0], tf.float64)
    for result in (np.array([1.0, 2.0]) + x, x + np.array([1.0, 2.0]), np.float64(1.0) * x):
        assert isinstance(result, tf.Tensor)
        assert result.dtype == "float64"


@pytest.mark.parametrize("name", ["float32", "int64", "bool", "float16"])
def test_dlpack_out(name):
    x = _tensor(name)
    array = np.from_dlpack(x)
    assert array.dtype == np.dtype(name)
    np.testing.assert_array_equal(array, x)
    assert array.ctypes.data != x.view().ctypes.data
    assert np.from_dlpack(x, copy=False).ctypes.data == x.view().ctypes.data
    assert x.__dlpack_device__() == (1, 0)


def test_dlpack_of_cached_scalars_is_safe():
    """Python scalars are converted once; nobody gets at that memory."""
    first, second = np.from_dlpack(tf.constant(7.0)), np.from_dlpack(tf.constant(7.0))
    assert first.ctypes.data != second.ctypes.data


def test_python_numbers():
    assert int(tf.constant(1.7)) == 1
    assert float(tf.constant([1.5])) == 1.5
    assert complex(tf.constant(2.0)) == 2
    assert int(tf.constant("3")) == 3
    assert [1, 2, 3][tf.constant(1)] == 2
    assert range(tf.constant(3)) == range(3)
    assert operator.index(tf.constant(5, tf.uint8)) == 5
    for wrong in (tf.constant(1.0), tf.constant([1]), tf.constant(True)):
        with pytest.raises(TypeError, match="Only an integer scalar tensor can be an index"):
            operator.index(wrong)
    for convert in (int, float, complex):
        with pytest.raises(TypeError, match=r"one element.*shape \(2,\)"):
            convert(tf.constant([1, 2]))


@pytest.mark.parametrize(
    ("value", "truth"), [(0, False), (2, True), ([[0.0]], False), ("", False), ("a", True)]
)
def test_truth(value, truth):
    assert bool(tf.constant(value)) is truth


@pytest.mark.parametrize(("value", "count"), [([1, 2], 2), ([], 0)])
def test_no_truth(value, count):
    with pytest.raises(ValueError, match=f"{count} elements is ambiguous.*reduce_any"):
        bool(tf.constant(value))


def test_length_and_iteration():
    x = tf.constant([[1, 2], [3, 4]])
    assert len(x) == 2
    assert [row.numpy().tolist() for row in x] == [[1, 2], [3, 4]]
    assert list(tf.zeros([0, 3])) == []
    with pytest.raises(TypeError, match="Scalar tensor has no"):
        len(tf.constant(1))
    with pytest.raises(TypeError, match="Cannot iterate over a scalar"):
        iter(tf.constant(1))


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (
            lambda: tf.constant([1, 2]),
            "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 2], dtype=int32)>",
        ),
        (lambda: tf.constant("a"), "<tf.Tensor: shape=(), dtype=string, numpy=b'a'>"),
        (lambda: tf.constant(1.5, tf.bfloat16), "<tf.Tensor: shape=(), dtype=bfloat16, numpy=1.5>"),
        (
            lambda: tf.constant(["a"]),
            "<tf.Tensor: shape=(1,), dtype=string, numpy=array([b'a'], dtype=object)>",
        ),
    ],
    ids=["vector", "string", "bfloat16", "strings"],
)
def test_repr(tensor, text):
    assert repr(tensor()) == text


def test_text():
    assert str(tf.constant(True)) == "tf.Tensor(True, shape=(), dtype=bool)"
    assert f"{tf.constant(1.5):.2f}" == "1.50"
    assert f"{tf.constant([1.5])}" == "[1.5]"
    assert "%s" % tf.constant(1) == "tf.Tensor(1, shape=(), dtype=int32)"  # noqa: UP031


def test_identity():
    x = tf.constant(1)
    with pytest.raises(TypeError, match=r"unhashable\. Instead, use tensor\.ref\(\)"):
        hash(x)
    assert x.ref() == x.ref()
    assert x.ref().deref() is x
    assert len({x.ref(), x.ref(), tf.constant(1).ref()}) == 2
    assert "Reference wrapping <tf.Tensor" in repr(x.ref())
    assert x.ref() != 3
    y = tf.constant(1)
    assert (x.ref() < y.ref()) is not (y.ref() < x.ref())
    assert (x.ref() > y.ref()) is not (x.ref() < y.ref())
    assert sorted(tf.nest.flatten({x.ref(): 1, y.ref(): 2})) == [1, 2]
    with pytest.raises(TypeError, match="'<' not supported"):
        assert x.ref() < 3


def test_no_name():
    with pytest.raises(AttributeError, match=r"Tensor\.name is undefined"):
        _ = tf.constant(1).name
    assert not hasattr(tf.constant(1), "name")


def test_set_shape_asserts():
    x = tf.constant([1.0])
    x.set_shape([None])
    x.set_shape(None)
    with pytest.raises(
        ValueError, match=r"shape \(1,\) is not compatible with supplied shape \(2,\)"
    ):
        x.set_shape([2])


@pytest.mark.parametrize("name", [*NAMES, "float8_e4m3fn"])
@pytest.mark.parametrize("shape", [(), (0, 2), (2, 3)], ids=str)
def test_pickles(name, shape):
    x = _tensor(name, shape)
    y = pickle.loads(pickle.dumps(x))
    assert (y.dtype, y.shape) == (x.dtype, x.shape)
    np.testing.assert_array_equal(y, x)


def test_pickled_strings():
    for value in ("é", ["a", b"b"], [["x"], ["y"]]):
        x = tf.constant(value)
        y = pickle.loads(pickle.dumps(x))
        assert (y.dtype, y.shape) == (x.dtype, x.shape)
        np.testing.assert_array_equal(y.numpy(), x.numpy())


def test_copies_are_the_tensor_itself():
    x = tf.constant([1.0])
    assert copy.copy(x) is x
    assert copy.deepcopy([x, x]) == [x, x]
    assert copy.deepcopy({"a": x})["a"] is x


def test_bfloat16_through_operations():
    x = tf.constant([1.0, 2.0], tf.bfloat16)
    result = x * x + x
    assert result.dtype == "bfloat16"
    np.testing.assert_array_equal(result, np.array([2, 6], ml_dtypes.bfloat16))


def _things():
    spec = tf.TensorSpec([2])
    yield tf.constant([1.0, 2.0])
    yield tf.Variable([1.0, 2.0])
    yield tf.function(lambda x: x + 1.0).get_concrete_function(spec).outputs[0]
    yield tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0]))
    yield spec


@pytest.mark.parametrize("number", range(5))
def test_frameworks_may_note_things_on_them(number):
    thing = list(_things())[number]
    thing._keras_mask = [thing]
    thing.note = 1
    assert (thing._keras_mask[0] is thing, thing.note) == (True, 1)
    del thing.note
    assert not hasattr(thing, "note")
    with pytest.raises(AttributeError):
        thing.shape = [3]


def test_notes_stay_with_the_object():
    # As in TensorFlow: a copy has the value, and what it was told when it was made.
    v = tf.Variable(1.0)
    v.note = v.value()
    v.note.note = 1
    for other in (copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert not hasattr(other, "note")
    assert copy.deepcopy(v.note) is v.note
    m = tf.Module()
    m.v = v
    v.other = tf.Variable(2.0)  # no part of the module: a variable has no parts
    assert m.variables == (v,)


def test_notes_inside_of_functions():
    v = tf.Variable(3.0)

    @tf.function
    def f(x):
        x.factor = 2.0
        v.seen = True
        y = x + 1.0
        y._mask = tf.ones([2])
        return y * y._mask * x.factor

    x = tf.constant([1.0, 2.0])
    for _ in range(3):
        np.testing.assert_array_equal(f(x), [4.0, 6.0])
    assert not hasattr(x, "factor")  # of the argument inside
    assert v.seen


def test_the_operators_that_classes_may_overload():
    names = tf.Tensor.OVERLOADABLE_OPERATORS
    assert {"__add__", "__rsub__", "__matmul__", "__getitem__", "__eq__", "__invert__"} <= names
    assert all(callable(getattr(tf.Tensor, name)) for name in (*names, "__bool__", "__iter__"))


def test_older_names():
    seven = tf.constant([7, -7])
    assert seven.__div__(2).numpy().tolist() == [3, -4]
    assert seven.__rdiv__(8).numpy().tolist() == [1, -2]
    assert tf.constant(3.0).__div__(2).numpy() == 1.5
    assert tf.constant(1).__nonzero__() is True
    assert tf.constant(1).experimental_ref().deref().numpy() == 1
    with pytest.raises(NotImplementedError, match="eager execution"):
        tf.constant(1).eval()
