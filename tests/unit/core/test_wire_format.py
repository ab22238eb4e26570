"""The wire format against protobuf's own implementation."""

from __future__ import annotations

import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfx.core import wire_format


@given(st.integers(0, 2**64 - 1))
def test_varints_come_back(value: int) -> None:
    data = wire_format.varint(value)
    assert wire_format.read_varint(data, 0, len(data)) == (value, len(data))


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5),
    st.text(max_size=300),
    st.binary(max_size=300),
)
def test_fields_of_a_message(dims: list[int], name: str, raw: bytes) -> None:
    tensor = onnx.TensorProto(dims=dims, data_type=1, name=name, raw_data=raw)
    data = tensor.SerializeToString()
    found = list(wire_format.fields(data, 0, len(data)))
    numbers = [n for f in found if f.number == 1 for n in wire_format.packed_varints(data, f)]
    assert numbers == dims
    assert [f.value for f in found if f.number == 2] == [1]
    texts = {f.number: data[f.begin : f.end] for f in found if f.number in (8, 9)}
    assert texts.get(8, b"").decode() == name
    assert texts.get(9, b"") == raw
    assert b"".join(data[f.start : f.end] for f in found) == data


def test_packed_numbers() -> None:
    data = wire_format.bytes_field(1, wire_format.varint(3) + wire_format.varint(-2))
    (field,) = wire_format.fields(data, 0, len(data))
    assert wire_format.packed_varints(data, field) == [3, -2]


@given(st.integers(1, 2**20), st.binary(max_size=40), st.integers(0, 2**64 - 1))
def test_what_is_written_is_read(number: int, content: bytes, value: int) -> None:
    data = wire_format.bytes_field(number, content) + wire_format.number_field(number, value)
    one, other = wire_format.fields(data, 0, len(data))
    assert (one.number, data[one.begin : one.end]) == (number, content)
    assert (other.number, other.value) == (number, value)


def test_fixed_fields_are_passed_over() -> None:
    data = b"\x0d1234" + b"\x1112345678" + wire_format.number_field(3, 5)
    assert [f.number for f in wire_format.fields(data, 0, len(data))] == [1, 2, 3]


@pytest.mark.parametrize(
    "data",
    [
        b"\x0a\x05abc",  # longer than the message
        b"\x08",  # no value
        b"\x08\x80",  # no end of the value
        b"\x08" + b"\xff" * 10 + b"\x01",  # more than 64 bits
        b"\x0b",  # a group
        b"\x0f",  # no such wire type
        b"\x00\x00",  # field 0
        b"\x0d12",  # half of a fixed32
        b"\x80",  # no end of the key
    ],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(wire_format.WireError):
        list(wire_format.fields(data, 0, len(data)))


@given(st.binary(max_size=200))
def test_any_bytes_are_fields_or_refused(data: bytes) -> None:
    try:
        for field in wire_format.fields(data, 0, len(data)):
            assert 0 <= field.start < field.begin <= field.end <= len(data)
    except wire_format.WireError:
        pass
