"""ORT values: contents survive both ways, and nobody can change a value that exists."""

from __future__ import annotations

import gc

import ml_dtypes
import numpy as np
import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as ort

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError, UnimplementedError
from tfx.framework.apply import apply
from tfx.framework.tensor import from_array
from tfx.runtime import memory, values

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
NUMBERS = ["float16", "float32", "float64", "bool", *INTEGERS]
NUMBERS += ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4"]
SHAPES = [(), (0,), (5,), (2, 3), (0, 3), (2, 0, 3)]


def _array(name, shape, rng):
    return rng.integers(0, 2, shape).astype(dtypes.as_dtype(name).as_numpy_dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", NUMBERS)
def test_round_trip(name, shape, rng):
    array = _array(name, shape, rng)
    value = values.from_numpy(array)
    assert value.shape() == list(shape)
    assert value.element_type() == dtypes.as_dtype(name).onnx
    result = values.to_numpy(value)
    assert result.dtype == array.dtype
    np.testing.assert_array_equal(result, array)


@pytest.mark.parametrize("count", [1, 2, 7, 16])
def test_four_bits_keep_every_value(count):
    """Two elements share a byte, and an odd one has half a byte to itself."""
    for kind, low in ((ml_dtypes.int4, -8), (ml_dtypes.uint4, 0)):
        array = (np.arange(count, dtype=np.int8) * 5 % 16 + low).astype(kind)
        value = values.from_numpy(array)
        assert value.tensor_size_in_bytes() == (count + 1) // 2
        assert values.to_numpy(value).tolist() == array.tolist()


def test_integers_come_back_as_numpys_own():
    """ONNX Runtime's `long long` is another type than np.int64 to isinstance."""
    for kind in (np.int64, np.uint64):
        assert isinstance(values.to_numpy(values.from_numpy(np.array(3, kind)))[()], kind)


@pytest.mark.parametrize("name", NUMBERS)
def test_what_comes_in_is_copied(name, rng):
    array = _array(name, (4,), rng)
    expected = array.copy()
    value = values.from_numpy(array)
    array[:] = 0
    np.testing.assert_array_equal(values.to_numpy(value), expected)


def test_owned_memory_is_shared_and_kept_alive(rng):
    array = rng.normal(size=1000)
    expected = array.copy()
    value = values.from_numpy(array, owned=True)
    assert value.data_ptr() == array.ctypes.data
    del array
    gc.collect()
    np.testing.assert_array_equal(values.to_numpy(value), expected)


def test_owned_read_only_memory_is_shared(rng):
    array = rng.normal(size=10)
    array.flags.writeable = False
    assert values.from_numpy(array, owned=True).data_ptr() == array.ctypes.data


@pytest.mark.parametrize("view", ["transposed", "strided", "reversed", "swapped"])
def test_every_layout_is_taken(view, rng):
    array = rng.normal(size=(4, 6)).astype(np.float32)
    array = {
        "transposed": array.T,
        "strided": array[::2, ::3],
        "reversed": array[:, ::-1],
        "swapped": array.astype(">f4"),
    }[view]
    for owned in (False, True):
        result = values.to_numpy(values.from_numpy(array, owned=owned))
        np.testing.assert_array_equal(result, array)
        assert result.dtype == np.float32


@pytest.mark.parametrize("name", NUMBERS)
def test_views_cannot_be_written(name, rng):
    view = values.to_numpy(values.from_numpy(_array(name, (3,), rng)))
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        view.flags.writeable = True


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_views_keep_the_value_alive(name, rng):
    array = _array(name, (1000,), rng)
    view = values.to_numpy(values.from_numpy(array))
    gc.collect()
    np.testing.assert_array_equal(view, array)


@pytest.mark.parametrize(
    "texts",
    [
        np.array(["a", "", "naïve", "日本"], object),
        np.array([b"bytes", "text"], object),
        np.array([["x"], ["y"]]),
        np.array("scalar", object),
        np.empty((0, 2), object),
    ],
    ids=str,
)
def test_strings_come_back_as_bytes(texts):
    result = values.to_numpy(values.from_numpy(texts))
    assert result.shape == texts.shape
    expected = [s.encode() if isinstance(s, str) else s for s in texts.reshape(-1).tolist()]
    assert result.reshape(-1).tolist() == expected


def test_strings_that_are_no_text():
    value = values.from_numpy(np.array([[b"\xff", "é"]], object))
    assert values.to_numpy(value).tolist() == [[b"\xff", "é".encode()]]
    with pytest.raises(ValueError, match="read-only"):
        values.to_numpy(value)[0, 0] = b""


def test_strings_that_are_no_text_cannot_be_read_when_a_kernel_made_them():
    value = from_array(np.array([b"\xff"], object))
    with pytest.raises(UnimplementedError, match=r"not UTF-8 .* uint8 tensor"):
        apply("StringConcat", (value, value)).view()


def test_other_objects_than_texts_are_refused():
    with pytest.raises(InvalidArgumentError, match="holds str or bytes; got 3 of type int"):
        values.from_numpy(np.array(["a", 3], object))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_complex_numbers_are_kept(dtype, shape, rng):
    array = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    array = np.asarray(array)
    expected = array.copy()
    value = values.from_numpy(array)
    array[...] = 0
    assert (value.shape(), value.element_type()) == (
        list(shape),
        dtypes.as_dtype(dtype).onnx,
    )
    found = values.to_numpy(value)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="WRITEABLE"):
        found.flags.writeable = True
    assert values.copy_to_device(value, "CPU:0") is value


def test_complex_numbers_are_not_computed_with():
    """No session takes such a value for one of its own."""
    value = values.from_numpy(np.zeros(2, np.complex64))
    with pytest.raises(TypeError):
        ort.OrtValue.shape(value)


class _Exported:
    """What another library sees of a value."""

    def __init__(self, value):
        self.value = value

    def __dlpack__(self, **options):
        return memory.to_dlpack(self.value, **options)

    def __dlpack_device__(self):
        return (1, 0)


@pytest.mark.parametrize("name", NUMBERS[: NUMBERS.index("bfloat16")])
def test_dlpack_out_is_a_copy(name, rng):
    """Some consumers write to memory that is said to be read-only."""
    array = _array(name, (2, 3), rng)
    value = values.from_numpy(array)
    result = np.from_dlpack(_Exported(value))
    assert result.dtype == array.dtype
    np.testing.assert_array_equal(result, array)
    assert result.ctypes.data != value.data_ptr()


def test_dlpack_shares_with_whom_promises_not_to_write(rng):
    value = values.from_numpy(rng.normal(size=4))
    result = np.from_dlpack(_Exported(value), copy=False)
    assert result.ctypes.data == value.data_ptr()
    assert not result.flags.writeable
    for old in ({}, {"max_version": (0, 8)}):
        with pytest.raises(BufferError, match="read-only"):
            memory.to_dlpack(value, copy=False, **old)


def test_dlpack_out_of_bfloat16():
    value = values.from_numpy(np.array([1, 2, 3], ml_dtypes.bfloat16))
    other = values.from_dlpack(memory.to_dlpack(value, max_version=(1, 0)))
    assert other.element_type() == dtypes.bfloat16.onnx
    assert other.data_ptr() != value.data_ptr()
    np.testing.assert_array_equal(values.to_numpy(other), values.to_numpy(value))


@pytest.mark.parametrize("name", ["float32", "int8", "bool", "bfloat16"])
def test_dlpack_in(name, rng):
    array = _array(name, (2, 3), rng)
    exported = _Exported(values.from_numpy(array))
    exported.dtype = f"torch.{name}"
    result = memory.array_from_dlpack(exported)
    assert result.dtype == array.dtype
    np.testing.assert_array_equal(result, array)


def test_dlpack_in_that_fails():
    class Refusing(_Exported):
        def __dlpack__(self, **options):
            raise RuntimeError("requires gradient")

    with pytest.raises(InvalidArgumentError, match=r"type Refusing .* requires gradient"):
        memory.array_from_dlpack(Refusing(None))


def test_many_strings_are_kept_as_they_are() -> None:
    items: list[bytes] = [f"é{i}".encode() for i in range(60)]
    items[0] = items[31] = items[-1] = b""
    for odd in (b"a\0b\n", b"\xff\xfe", b"\xc3", b"\xff\xfea\xff"):
        items[7] = odd
        given = np.array(items, object).reshape(3, 20)
        found = values.to_numpy(values.from_numpy(given))
        assert found.shape == (3, 20)
        assert found.tolist() == given.tolist()
