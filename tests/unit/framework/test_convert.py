"""Python values, arrays and variables to tensors: TensorFlow's dtypes, and its refusals."""

from __future__ import annotations

import types

import ml_dtypes
import numpy as np
import pytest

import tfx as tf
from tfx.framework import convert
from tfx.framework.context import using
from tfx.framework.func_graph import FuncGraph

BIG = 2**40


# (value, dtype, contents), as TensorFlow 2.21 answers
@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (1, "int32", 1),
        (2**31, "int64", 2**31),
        (-(2**63), "int64", -(2**63)),
        (True, "bool", True),
        (1.0, "float32", 1.0),
        (1e400, "float32", np.inf),
        ("a", "string", b"a"),
        ([], "float32", []),
        ([[]], "float32", [[]]),
        ([1, 2.5], "float32", [1, 2.5]),
        ([2, True], "int32", [2, 1]),
        ([1, BIG], "int64", [1, BIG]),
        ([1.0, 2**70], "float32", [1.0, 2.0**70]),
        (["a", b"b"], "string", [b"a", b"b"]),
        (range(3), "int32", [0, 1, 2]),
        ((1, 2), "int32", [1, 2]),
        (np.float32(1), "float32", 1),
        (np.float64(1), "float64", 1),
        (np.int64(1), "int64", 1),
        (np.uint8(1), "uint8", 1),
        (np.bool_(True), "bool", True),
        (ml_dtypes.bfloat16(1.5), "bfloat16", 1.5),
        ([np.float64(1), 2], "float64", [1, 2]),
        ([np.float32(1), 2.0], "float32", [1, 2]),
        ([np.float16(1)], "float16", [1]),
        ([1, np.float64(2)], "float32", [1, 2]),
        ([1.0, np.float64(2)], "float32", [1, 2]),
        ([np.int64(1), 2], "int32", [1, 2]),
        ([np.int8(1), np.int16(2)], "int32", [1, 2]),
        ([np.array([1, 2]), np.array([3, 4])], "int32", [[1, 2], [3, 4]]),
        ([np.array([1.0, 2]), [3, 4]], "float64", [[1, 2], [3, 4]]),
        (np.array([1, 2]), "int64", [1, 2]),
        (np.array([1, 2], ">f4"), "float32", [1, 2]),
        (np.array(["a", "bc"]), "string", [b"a", b"bc"]),
        (np.array([b"a", "bc"], object), "string", [b"a", b"bc"]),
        (np.ma.array([1, 2], mask=[0, 1]), "int64", [1, 2]),
        (tf.TensorShape([2, 3]), "int32", [2, 3]),
    ],
)
def test_inferred_dtypes(value, dtype, expected):
    tensor = tf.constant(value)
    assert tensor.dtype == dtype
    assert np.asarray(tensor).tolist() == expected


def test_zero_keeps_its_sign():
    assert not np.signbit(tf.constant(0.0).numpy())
    assert np.signbit(tf.constant(-0.0).numpy())
    assert not np.signbit(tf.constant(0.0).numpy())


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (1, tf.float32, 1.0),
        (1, "float64", 1.0),
        (1, np.float16, 1.0),
        (1.3, tf.bfloat16, 1.296875),
        (True, tf.int32, 1),
        (True, tf.float32, 1.0),
        ([True, False], tf.float32, [1.0, 0.0]),
        ([1, True], tf.float32, [1.0, 1.0]),
        (2**70, tf.float32, 2.0**70),
        (2**63, tf.uint64, 2**63),
        ([0, 2**64 - 1], tf.uint64, [0, 2**64 - 1]),
        (BIG, tf.float32, 2.0**40),
        (1e5, tf.float16, np.inf),
        ([], tf.int32, []),
        ([], tf.string, []),
        ([[], []], tf.bool, [[], []]),
        (np.array([1.9, -1.9]), tf.int32, [1, -1]),
        (np.array([2, 0]), tf.bool, [True, False]),
        (np.array([0.5, 0]), tf.bool, [True, False]),
        (np.array([True]), tf.float32, [1.0]),
        (np.float32(2.5), tf.int32, 2),
        (np.float64(1.5), tf.float32, 1.5),
    ],
)
def test_required_dtypes(value, dtype, expected):
    tensor = tf.convert_to_tensor(value, dtype)
    assert tensor.dtype == dtype
    np.testing.assert_array_equal(np.asarray(tensor).tolist(), expected)


@pytest.mark.parametrize(
    ("value", "dtype", "error", "message"),
    [
        (None, None, ValueError, "None"),
        ([None], None, ValueError, "None"),
        ([1, None], None, ValueError, "mixed types"),
        (["a", None], None, ValueError, "mixed types"),
        (object(), None, ValueError, "unsupported type"),
        ({1: 2}, None, ValueError, "unsupported type"),
        ({1, 2}, None, ValueError, "unsupported type"),
        (print, None, ValueError, "unsupported type"),
        ([1, "a"], None, ValueError, "mixed types"),
        ([True, 2], None, ValueError, "mixed types"),
        ([True, 2.5], None, ValueError, "mixed types"),
        ([[1, 2], [3]], None, ValueError, "non-rectangular"),
        ([["a"], ["b", "c"]], None, ValueError, "non-rectangular"),
        (2**63, None, ValueError, "does not fit int64"),
        (2**64, None, ValueError, "out of range"),
        (np.array([1, 2], object), None, ValueError, "str and bytes"),
        (tf.TensorShape([None, 2]), None, ValueError, "partially known"),
        (1.5, tf.int32, TypeError, "Cannot convert 1.5 to EagerTensor of dtype int32"),
        (1.0, tf.int32, TypeError, "Cannot convert"),
        (1, tf.bool, TypeError, "Cannot convert"),
        ("1", tf.int32, TypeError, "Cannot convert"),
        (1, tf.string, TypeError, "Cannot convert"),
        (1j, tf.float32, TypeError, "Cannot convert"),
        ([1.5, 2], tf.int32, TypeError, "Cannot convert"),
        (np.array(["a"]), tf.int32, TypeError, "Cannot convert"),
        (np.array([1]), tf.string, TypeError, "Cannot convert"),
        (2**63, tf.int64, ValueError, f"{2**63} is out of range for dtype int64"),
        (2**64, tf.int32, ValueError, "is out of range"),
        (-1, tf.uint64, ValueError, "-1 is out of range"),
        (1, "nope", TypeError, "'nope'"),
        (np.array(["2020"], "M8[D]"), None, TypeError, "M8"),
    ],
)
def test_refusals(value, dtype, error, message):
    with pytest.raises(error, match=message):
        tf.constant(value, dtype)


def test_tensors_are_returned_as_they_are():
    x = tf.constant([1.0])
    assert tf.convert_to_tensor(x) is x
    assert tf.convert_to_tensor(x, tf.float32) is x
    assert tf.convert_to_tensor(x, dtype_hint=tf.int32) is x
    with pytest.raises(TypeError, match=r"requested dtype int32 for Tensor.*float32.*tfx\.cast"):
        tf.convert_to_tensor(x, tf.int32)
    with pytest.raises(ValueError, match="requested dtype"):
        tf.convert_to_tensor(tf.Variable(1.0), tf.int32)


def test_every_constant_is_a_tensor_of_its_own():
    """A tape knows tensors by identity: two constants of one value are two sources."""
    for value in (3.0, 3, True, [1.0], "a"):
        assert tf.constant(value) is not tf.constant(value)
        assert tf.convert_to_tensor(value) is not tf.convert_to_tensor(value)


@pytest.mark.parametrize(
    ("value", "hint", "dtype"),
    [
        (1, tf.float32, "float32"),
        (1.5, tf.int32, "float32"),
        ("a", tf.int32, "string"),
        (np.array([1.0]), tf.float32, "float32"),
        (300, tf.uint8, "uint8"),
    ],
)
def test_hints(value, hint, dtype):
    assert tf.convert_to_tensor(value, dtype_hint=hint).dtype == dtype


@pytest.mark.parametrize("traced", [False, True])
def test_tensors_in_lists_are_stacked(traced):
    v = tf.Variable(1.0)
    with using(graph=FuncGraph("f") if traced else None):
        for value, dtype, shape in [
            ([tf.constant(1), 2], "int32", (2,)),
            ([2, tf.constant(1.0)], "float32", (2,)),
            ([v, 2], "float32", (2,)),
            ([[tf.constant(1), 2], [3, 4]], "int32", (2, 2)),
            ([tf.constant([1, 2]), [3, 4]], "int32", (2, 2)),
            ((tf.constant(1.0), True), "float32", (2,)),
        ]:
            tensor = tf.convert_to_tensor(value)
            assert (tensor.dtype, tuple(tensor.shape)) == (dtype, shape)
        with pytest.raises(TypeError, match=r"Cannot convert 2\.5"):
            tf.convert_to_tensor([tf.constant(1), 2.5])
        with pytest.raises(ValueError, match="Concat"):
            tf.convert_to_tensor([tf.constant([1, 2]), [3]])


def test_the_callers_memory_is_never_shared():
    array = np.ones(3)
    tensor = tf.constant(array)
    array[:] = 5
    np.testing.assert_array_equal(tensor, np.ones(3))
    graph = FuncGraph("f")
    with using(graph=graph):
        symbol = tf.constant(array)
    array[:] = 6
    np.testing.assert_array_equal(symbol._symbol.const, np.full(3, 5.0))


def test_shapes_of_constants():
    np.testing.assert_array_equal(tf.constant(1, shape=(2, 2)), np.ones((2, 2)))
    np.testing.assert_array_equal(tf.constant([1], shape=[3]), np.ones(3))
    np.testing.assert_array_equal(tf.constant([1, 2, 3, 4], shape=(2, 2)), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(tf.constant(tf.constant([1, 2]), shape=(2, 1)), [[1], [2]])
    assert tf.constant(1, shape=2).shape == [2]
    assert tf.constant([], shape=(2, 0)).shape == [2, 0]
    assert tf.constant([1], shape=()).shape == []
    with pytest.raises(TypeError, match=r"3 elements, but got `shape` \(2, 2\) with 4"):
        tf.constant([1, 2, 3], shape=(2, 2))
    with pytest.raises(TypeError, match="cannot have the shape"):
        tf.constant(tf.constant([1, 2]), shape=(3,))
    with pytest.raises(ValueError, match="must be known"):
        tf.constant(1, shape=(None,))


class _WithArray:
    def __array__(self, dtype=None, copy=None):
        return np.array([1.5], np.float64)


class _WithTensor:
    def __tf_tensor__(self, dtype=None, name=None):
        return tf.constant([2.5])


def test_protocols():
    assert tf.constant(_WithArray()).dtype == "float64"
    assert tf.constant(_WithArray(), tf.float32).dtype == "float32"
    assert tf.constant(_WithTensor()).dtype == "float32"
    with pytest.raises(TypeError, match="requested dtype"):
        tf.constant(_WithTensor(), tf.int32)


class _Producer:
    """Another library's array, known by DLPack alone."""

    def __init__(self, array):
        self._array = array
        self.dtype = array.dtype

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "float16"])
def test_dlpack(dtype):
    array = np.ones((2, 3), dtype)
    tensor = tf.constant(_Producer(array))
    array[:] = 0
    assert tensor.dtype == dtype
    np.testing.assert_array_equal(tensor, np.ones((2, 3), dtype))


@pytest.fixture
def converters(monkeypatch):
    monkeypatch.setattr(convert, "_converters", [])


class _Celsius:
    degrees = 20.0


def test_registered_conversions(converters):
    tried = []

    def unable(value, dtype=None, name=None, as_ref=False):
        tried.append("unable")
        return NotImplemented

    def able(value, dtype=None, name=None, as_ref=False):
        tried.append("able")
        return tf.constant(value.degrees, dtype)

    tf.register_tensor_conversion_function(_Celsius, able)
    tf.register_tensor_conversion_function((_Celsius, str), unable, priority=1)
    assert tf.convert_to_tensor(_Celsius()).numpy() == 20.0
    assert tried == ["unable", "able"]
    assert tf.convert_to_tensor(_Celsius(), tf.float64).dtype == "float64"
    with pytest.raises(TypeError, match="conversion_func must be callable; got 3"):
        tf.register_tensor_conversion_function(_Celsius, 3)


def test_small_integer_vectors_are_cached_outside_of_traces():
    assert convert.int64_constant((1, 2)) is convert.int64_constant([1, 2])
    graph = FuncGraph("f")
    with using(graph=graph):
        a, b = convert.int64_constant((1, 2)), convert.int64_constant((1, 2))
    assert a._symbol is b._symbol
    assert a._graph is graph


def test_bytes_that_are_no_text_beside_texts() -> None:
    x = tf.constant([b"\xff", "é", b"a"])
    assert x.numpy().tolist() == [b"\xff", "é".encode(), b"a"]
    assert tf.constant(b"\xff\x00").numpy() == b"\xff\x00"


class TheirDType:
    """A dtype as TensorFlow's tensors have one."""

    def __init__(self, numpy_type):
        self.as_numpy_dtype = numpy_type
        self.name = np.dtype(numpy_type).name


class TheirTensor:
    """What TensorFlow's eager tensors do when another library takes them."""

    def __init__(self, value, dtype=None):
        self._array = np.array(value, dtype)
        self.dtype = TheirDType(self._array.dtype.type)

    def __tf_tensor__(self, dtype=None, name=None):
        if dtype is not None and not dtype.is_compatible_with(self.dtype):
            raise ValueError(f"Tensor conversion requested dtype {dtype.name}")
        return self

    def __array__(self, dtype=None, copy=None):
        return np.array(self._array, dtype)

    def __dlpack__(self, **options):
        # Theirs ends the process.
        assert self._array.dtype != object, "the memory of texts was asked for"
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()

    def __index__(self):
        return int(self._array)

    def __len__(self):
        return len(self._array)


class TheirVariable(TheirTensor):
    """A variable of theirs gives its value."""

    def __tf_tensor__(self, dtype=None, name=None):
        return TheirTensor(self._array).__tf_tensor__(dtype, name)


class TheirShape:
    """The shape of a tensor of theirs."""

    def __init__(self, dims):
        self._dims = dims

    def as_list(self):
        return list(self._dims)

    def is_fully_defined(self):
        return None not in self._dims

    def __iter__(self):
        return iter(self._dims)

    def __len__(self):
        return len(self._dims)


@pytest.mark.parametrize("kind", [TheirTensor, TheirVariable])
def test_tensors_of_tensorflow_are_taken_everywhere(kind):
    x = kind([1.0, 2.0], np.float32)
    ours = tf.constant([1.0, 2.0])
    for made in (tf.convert_to_tensor(x), tf.constant(x), tf.convert_to_tensor(x, tf.float32)):
        assert (made.dtype, made.shape.as_list()) == (tf.float32, [2])
        np.testing.assert_array_equal(made, ours)
    np.testing.assert_array_equal(ours + x, [2.0, 4.0])
    np.testing.assert_array_equal(tf.add(x, x), [2.0, 4.0])
    np.testing.assert_array_equal(tf.raw.Add(x, x), [2.0, 4.0])
    np.testing.assert_array_equal(tf.stack([x, ours]), [[1.0, 2.0], [1.0, 2.0]])
    v = tf.Variable(x)
    np.testing.assert_array_equal(v.assign_add(x), [2.0, 4.0])
    np.testing.assert_array_equal(v.assign(x), ours)
    optimizer = tf.optimizers.SGD(1.0)
    optimizer.apply_gradients([(x, v)])
    np.testing.assert_array_equal(v, [0.0, 0.0])
    f = tf.function(lambda a, d: a * 2.0 + d["x"] + x)
    np.testing.assert_array_equal(f(x, {"x": x}), [4.0, 8.0])
    np.testing.assert_array_equal(f(kind([2.0, 3.0], np.float32), {"x": x}), [6.0, 10.0])
    assert f.experimental_get_tracing_count() == 1
    g = tf.function(lambda a: a * 2.0, input_signature=[tf.TensorSpec([None])])
    np.testing.assert_array_equal(g(x), [2.0, 4.0])
    np.testing.assert_array_equal(g.get_concrete_function()(x), [2.0, 4.0])
    with pytest.raises(ValueError, match="requested dtype int32"):
        tf.convert_to_tensor(x, tf.int32)


def test_numbers_texts_and_shapes_of_tensorflow():
    assert tf.convert_to_tensor(TheirTensor([b"a", b"bc"], object)).numpy().tolist() == [
        b"a",
        b"bc",
    ]
    assert tf.convert_to_tensor(TheirTensor(True)).dtype is tf.bool
    assert tf.convert_to_tensor(TheirTensor([1.5], ml_dtypes.bfloat16)).dtype is tf.bfloat16
    two = TheirTensor(2, np.int32)
    assert float(tf.range(5.0)[two]) == 2.0
    assert tf.range(5.0)[two:].shape.as_list() == [3]
    assert tf.reshape(tf.ones([6]), [two, -1]).shape.as_list() == [2, 3]
    assert tf.ones(TheirShape([2, 3])).shape.as_list() == [2, 3]
    with pytest.raises(ValueError, match="partially known TensorShape"):
        tf.ones(TheirShape([2, None]))
    assert tf.cast(tf.ones([1]), TheirDType(np.float64)).dtype is tf.float64
    assert tf.TensorSpec([2], TheirDType(np.int8)).dtype is tf.int8
    assert tf.float32 == TheirDType(np.float32) != tf.float64


class Made:
    """Gives something as a tensor."""

    def __init__(self, made):
        self._made = made

    def __tf_tensor__(self, dtype=None, name=None):
        return self if self._made is Made else self._made


@pytest.mark.parametrize("made", [None, 3, "text", object(), Made, Made(tf.constant(1.0)), [1.0]])
def test_what_gives_no_tensor_is_refused_in_a_step(made):
    with pytest.raises(TypeError, match=r"Made.__tf_tensor__ returned .* of type .*, expected a"):
        tf.convert_to_tensor(Made(made))
    with pytest.raises(TypeError, match="expected a tensor"):
        tf.function(lambda: tf.ones([2]) + Made(made))()


@pytest.mark.parametrize(
    "made", [tf.constant([1.0, 2.0]), tf.Variable([1.0, 2.0]), np.array([1.0, 2.0], np.float32)]
)
def test_what_gives_a_tensor_is_one(made):
    np.testing.assert_array_equal(tf.ones([2]) + Made(made), [2.0, 3.0])
    assert tf.convert_to_tensor(Made(made)).dtype is tf.float32


def test_dtypes_of_torch():
    torch = types.ModuleType("torch")
    torch.dtype = type("dtype", (), {"__module__": "torch", "__str__": lambda self: "torch.int16"})
    assert tf.as_dtype(torch.dtype()) is tf.int16
    torch.dtype.__str__ = lambda self: "torch.qint8_of_theirs"
    with pytest.raises(TypeError, match="cannot convert"):
        tf.as_dtype(torch.dtype())


_F, _I, _L, _B = (
    tf.constant(2.7),
    tf.constant(2),
    tf.constant(2, tf.int64),
    tf.constant(True),
)


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
@pytest.mark.parametrize(
    ("given", "dtype", "result"),
    [
        # What TensorFlow 2.21 gives: the first tensor says the dtype; only where another one is
        # asked for are tensors cast, and numbers never are.
        ([_F, 1], "int32", [2, 1]),
        ([1, _F], "int64", [1, 2]),
        ([_I, 1.5], "float32", [2.0, 1.5]),
        ([_I, 1], "float64", [2.0, 1.0]),
        ([_L, 1], "int32", [2, 1]),
        ([_I, _L], "int64", [2, 2]),
        ([_I, _L], "bool", [True, True]),
        ([[_F, 1], [2, 3]], "int32", [[2, 1], [2, 3]]),
        ([[1, 2], [_F, _I]], "int32", [[1, 2], [2, 2]]),
        ([_B, True], "int32", [1, 1]),
        ([_F, 1.5], "int32", TypeError),
        ([_I, 1.5], "int64", TypeError),
        ([_I, _L], None, TypeError),
        ([_I, _L], "int32", TypeError),
        ([_F, 1], "string", TypeError),
        (_F, "int32", TypeError),
    ],
    ids=range(16),
)
def test_lists_with_tensors_of_another_dtype(given, dtype, result, traced):
    def converted():
        return tf.convert_to_tensor(given, dtype)

    convert = tf.function(converted) if traced else converted
    if result is TypeError:
        with pytest.raises(TypeError):
            convert()
        return
    found = convert()
    assert found.dtype.name == dtype
    assert found.numpy().tolist() == result


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "traced"])
def test_shapes_become_integers(wrap):
    convert = lambda *args, **kwargs: wrap(lambda: tf.convert_to_tensor(*args, **kwargs))()  # noqa: E731
    scalar = tf.TensorShape([])
    assert convert(scalar).dtype is tf.int32
    assert convert(scalar).shape == [0]
    assert convert(scalar, tf.int64).dtype is tf.int64
    assert convert(tf.TensorShape([2**31])).dtype is tf.int64
    assert convert(tf.TensorShape([2]), dtype_hint=tf.float32).dtype is tf.int32
    assert wrap(lambda: tf.concat([scalar, [2]], 0))().dtype is tf.int32
    with pytest.raises(TypeError, match=r"Allowed dtypes are tf\.int32 and tf\.int64"):
        convert(scalar, tf.float32)
    assert tf.constant(tf.TensorShape([2]), tf.float32).dtype is tf.float32


class NoTensor:
    """Of no use to any operation."""


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
@pytest.mark.parametrize(
    "value",
    [
        NoTensor(),
        {"a": 1},
        (x for x in [1, 2]),
        tf.TensorSpec([2]),
        np.array([1, 2], object),
        np.array([None]),
        tf.ragged.constant([[1], [2, 3]]),
        tf.sparse.eye(2),
    ],
    ids=["object", "dict", "generator", "spec", "numbers", "none", "ragged", "sparse"],
)
def test_what_cannot_become_a_tensor(value, traced):
    # TensorFlow 2.21 raises ValueError eagerly and TypeError in graphs for most of them.
    def converted():
        return tf.convert_to_tensor(value)

    convert = tf.function(converted, autograph=False) if traced else converted
    for error in (ValueError, TypeError, tf.errors.ConversionError):
        with pytest.raises(error):
            convert()


# (objects, dtype, contents), as TensorFlow 2.21 answers
@pytest.mark.parametrize(
    ("objects", "dtype", "expected"),
    [
        ([1, 2.5], "float32", [1, 2.5]),
        ([1.5, True], "int32", [1, 1]),
        ([None, 1.0], "float32", [np.nan, 1]),
        ([], "int32", []),
        (["a", "b"], "float32", ValueError),
        ([[1], [2, 3]], "int32", TypeError),
        ([2**70], "int32", ValueError),
    ],
    ids=["floats", "integers", "none", "empty", "text", "lists", "large"],
)
def test_arrays_of_objects_with_a_dtype(objects, dtype, expected):
    array = np.empty(len(objects), object)
    array[:] = objects
    if isinstance(expected, type):
        with pytest.raises(expected):
            tf.constant(array, dtype)
        return
    found = tf.constant(array, dtype)
    assert found.dtype.name == dtype
    np.testing.assert_array_equal(found, expected)


def test_arrays_of_numbers_beside_tensors():
    np.testing.assert_array_equal(tf.constant([1.0, 2.0]) + np.array([1, 2], object), [2, 4])


def test_shapes_that_no_constant_has():
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.constant(1, shape=[2**62, 4])
    with pytest.raises(tf.errors.ResourceExhaustedError):
        tf.constant(1, shape=[2**30, 2**30])


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (300, tf.uint8, 44),
        (-1, tf.uint8, 255),
        (129, tf.int8, -127),
        (0x9E3779B9, tf.int32, -1640531527),
        (2**40 + 1, tf.int32, 1),
        ([-1, 2**33], tf.uint32, [2**32 - 1, 0]),
    ],
)
def test_integers_beyond_a_dtype_wrap_as_in_tensorflow(value, dtype, expected):
    assert tf.constant(value, dtype).numpy().tolist() == expected
    assert tf.function(lambda: tf.constant(value, dtype))().numpy().tolist() == expected
    assert (tf.zeros([], dtype) + value).numpy().tolist() == expected
