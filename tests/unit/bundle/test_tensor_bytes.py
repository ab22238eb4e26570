"""Arrays to bytes and back, against NumPy's and ONNX's own packing."""

from __future__ import annotations

import struct
from typing import Any

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import example, given

from tfx.bundle.dtypes import BY_NAME
from tfx.bundle.tensor_bytes import decode, encode, stored_form
from tfx.core.errors import BundleError

NUMERIC = sorted(set(BY_NAME) - {"string", "int4", "uint4", "bool"})
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


def round_trip(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    item = encode(array, "t")
    data = bytes(item.buffer())
    assert len(data) == item.nbytes
    return decode(data, item.dtype, item.shape, "t", nbytes=len(data))


@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (5,), (2, 3)])
def test_every_number_comes_back_bit_for_bit(
    name: str, shape: tuple[int, ...], rng: np.random.Generator
) -> None:
    dtype = BY_NAME[name].numpy
    raw = rng.integers(0, 256, (*shape, dtype.itemsize), np.uint8)
    array = raw.reshape(-1).view(dtype).reshape(shape)
    back = round_trip(array)
    assert back.dtype == dtype
    assert back.shape == shape
    assert back.tobytes() == array.tobytes()
    assert not back.flags.writeable


@given(array=hnp.arrays(np.float32, SHAPES), order=st.permutations(range(3)))
def test_strides_and_byte_order_do_not_matter(
    array: npt.NDArray[np.float32], order: list[int]
) -> None:
    turned = array.transpose([axis for axis in order if axis < array.ndim])
    expected = np.array(turned, "<f4", order="C").tobytes()
    assert bytes(encode(turned, "t").buffer()) == expected
    assert bytes(encode(turned.astype(">f4"), "t").buffer()) == expected
    assert bytes(encode(turned[::-1] if turned.ndim else turned, "t").buffer()) == (
        np.array(turned[::-1] if turned.ndim else turned, "<f4", order="C").tobytes()
    )


def test_contiguous_arrays_are_not_copied(rng: np.random.Generator) -> None:
    array = rng.standard_normal((4, 5)).astype(np.float32)
    assert np.shares_memory(np.frombuffer(encode(array, "t").buffer(), np.uint8), array)


def test_reading_does_not_copy_and_works_at_any_offset() -> None:
    data = b"\xff" + struct.pack("<3f", 1, 2, 3) + b"\xff"
    array = decode(data, "float32", (3,), "t", offset=1, nbytes=12)
    assert array.tolist() == [1, 2, 3]
    assert np.shares_memory(array, np.frombuffer(data, np.uint8))


@given(array=hnp.arrays(np.bool_, SHAPES))
def test_bools(array: npt.NDArray[np.bool_]) -> None:
    np.testing.assert_array_equal(round_trip(array), array)


@pytest.mark.parametrize("name", ["int4", "uint4"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (4, 4), (3, 5)])
def test_half_bytes_are_packed_as_onnx_packs_them(name: str, shape: tuple[int, ...]) -> None:
    low = -8 if name == "int4" else 0
    values = (np.arange(np.prod(shape, dtype=int)) % 16 + low).reshape(shape)
    array = values.astype(BY_NAME[name].numpy)
    number = BY_NAME[name].number
    expected = onnx.helper.make_tensor("t", number, shape, values.ravel().tolist())
    if not expected.raw_data:  # small tensors are in int32_data, a byte each
        expected.raw_data = bytes(byte & 0xFF for byte in expected.int32_data)
    assert bytes(encode(array, "t").buffer()) == expected.raw_data
    np.testing.assert_array_equal(round_trip(array).astype(int), values)


@given(
    array=hnp.arrays(
        object,
        SHAPES,
        elements=st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    )
)
def test_strings_come_back(array: npt.NDArray[Any]) -> None:
    back = round_trip(array)
    assert back.shape == array.shape
    assert back.ravel().tolist() == array.ravel().tolist()


@given(parts=st.lists(st.binary(max_size=6), max_size=5))
def test_bytes_that_are_no_text_are_not_lost(parts: list[bytes]) -> None:
    array = np.empty(len(parts), object)
    array[:] = parts
    back = [text.encode("utf-8", "surrogateescape") for text in round_trip(array).tolist()]
    assert back == parts
    again = round_trip(round_trip(array))
    assert again.tolist() == round_trip(array).tolist()


@pytest.mark.parametrize("dtype", ["U3", "S3"])
def test_numpys_fixed_width_strings(dtype: str) -> None:
    assert round_trip(np.array([["ab", ""], ["c", "def"]], dtype)).tolist() == [
        ["ab", ""],
        ["c", "def"],
    ]


def test_numpys_variable_width_strings() -> None:
    array = np.array(["a", "bücher"], np.dtypes.StringDType())
    assert round_trip(array).tolist() == ["a", "bücher"]


def test_an_object_that_is_no_string_is_refused() -> None:
    with pytest.raises(BundleError, match=r"t: an element of type int \(3\)"):
        encode(np.array(["a", 3], object), "t")
    with pytest.raises(BundleError, match="not Unicode"):
        encode(np.array(["\ud800"], object), "t")


def test_a_dtype_without_an_encoding_is_refused() -> None:
    with pytest.raises(BundleError, match=r"t: an array of dtype datetime64\[s\] cannot be stored"):
        encode(np.zeros(1, "M8[s]"), "t")


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_the_stored_form_is_what_encode_says(name: str) -> None:
    array = np.zeros((3, 5), BY_NAME[name].numpy)
    if name == "string":
        array[...] = "x"
    item = encode(array, "t")
    dtype, shape = stored_form(name, (3, 5), "t")
    assert dtype == item.stored_dtype
    assert shape == (None if name == "string" else item.stored_shape)


@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize("excess", [-1, 1])
def test_a_wrong_number_of_bytes_is_refused(name: str, excess: int) -> None:
    size = 3 * BY_NAME[name].numpy.itemsize + excess
    with pytest.raises(BundleError, match=f"t: {size} bytes, expected"):
        decode(bytes(size), name, (3,), "t", nbytes=size)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes(23),
        struct.pack("<3Q", 0, 1, 1),  # says one byte, has none
        struct.pack("<3Q", 0, 1, 1) + b"ab",
        struct.pack("<3Q", 1, 1, 2) + b"ab",  # does not begin at 0
        struct.pack("<3Q", 0, 2, 1) + b"a",  # goes back
        struct.pack("<3Q", 0, 2**64 - 1, 1) + b"a",
    ],
)
def test_strings_with_wrong_offsets_are_refused(data: bytes) -> None:
    with pytest.raises(BundleError, match="t: "):
        decode(data, "string", (2,), "t", nbytes=len(data))


def _with_offsets(offsets: list[int], text: bytes) -> bytes:
    return struct.pack(f"<{len(offsets)}Q", *offsets) + text


@given(
    data=st.binary(max_size=40)
    | st.builds(_with_offsets, st.lists(st.integers(0, 3), max_size=4), st.binary(max_size=3)),
    count=st.integers(0, 3) | st.integers(0, 2**62),
)
@example(data=_with_offsets([0, 1, 2], b"ab"), count=2)
def test_hostile_strings_never_do_more_than_raise(data: bytes, count: int) -> None:
    try:
        array = decode(data, "string", (count,), "t", nbytes=len(data))
    except BundleError:
        return
    assert array.size == count


def test_a_bool_that_is_neither_is_refused() -> None:
    with pytest.raises(BundleError, match="neither 0 nor 1"):
        decode(b"\x00\x01\x02", "bool", (3,), "t", nbytes=3)
