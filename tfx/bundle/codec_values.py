"""Values, specs and shapes to and from their protobuf messages.

Owns the encoding of ``python_values``'s records; must not know of the manifest around them. The one
decision: decoding refuses only what has no Python form at all (an unknown kind of value), and
leaves the meaning (ranges, names) to ``check``, which also runs before writing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

from tfx.bundle import bundle_pb2 as pb
from tfx.bundle import limits
from tfx.bundle.dtypes import BY_NUMBER, element_type
from tfx.bundle.python_values import (
    ConstantRef,
    DTypeValue,
    Leaf,
    Opaque,
    Record,
    Shape,
    ShapeValue,
    TensorInfo,
    Value,
)
from tfx.core.errors import BundleError

_INT64_BOUND = 1 << 63
# Below the number of digits at which Python refuses to read an int from text.
_MAX_INT_BITS = 13_000
_DECIMAL = re.compile(r"-?[0-9]{1,4000}")


def dtype_number(name: str, where: str) -> pb.DType:
    """Return the number of a dtype's name."""
    return cast("pb.DType", element_type(name, where).number)  # an enum is an int at run time


def dtype_name(number: int, where: str) -> str:
    """Return the name of a dtype's number."""
    row = BY_NUMBER.get(number)
    if row is None:
        known = ", ".join(str(known) for known in BY_NUMBER)
        raise BundleError(
            f"{where}: dtype number {number} is not known here, expected one of {known}; the "
            "bundle is damaged or from a newer version: upgrade tfx-onnx"
        )
    return row.name


def shape_to_proto(shape: Shape, where: str) -> pb.Shape:
    """Encode a shape."""
    if shape is None:
        return pb.Shape(unknown_rank=True)
    proto = pb.Shape()
    for dim in shape:
        if dim is None:
            proto.dims.add()
        elif isinstance(dim, str):
            proto.dims.add(name=dim)
        elif dim < 0:
            raise BundleError(f"{where}: shape is {shape!r}, expected no negative dimension")
        else:
            proto.dims.add(size=dim)
    return proto


def shape_from_proto(proto: pb.Shape, where: str) -> Shape:
    """Decode a shape."""
    dims = proto.dims
    if proto.unknown_rank:
        if dims:
            raise BundleError(
                f"{where}: shape has an unknown rank and {len(dims)} dimensions, expected either"
            )
        return None
    if len(dims) > limits.MAX_RANK:
        raise BundleError(f"{where}: shape has {len(dims)} dimensions, limit {limits.MAX_RANK}")
    return tuple(
        dim.size if (kind := dim.WhichOneof("kind")) == "size" else dim.name if kind else None
        for dim in dims
    )


def spec_to_proto(spec: TensorInfo, where: str) -> pb.TensorSpec:
    """Encode dtype, shape and name of a tensor."""
    return pb.TensorSpec(
        dtype=dtype_number(spec.dtype, where),
        shape=shape_to_proto(spec.shape, where),
        name=spec.name,
    )


def spec_from_proto(proto: pb.TensorSpec, where: str) -> TensorInfo:
    """Decode dtype, shape and name of a tensor."""
    return TensorInfo(
        dtype_name(proto.dtype, where), shape_from_proto(proto.shape, where), proto.name
    )


def value_to_proto(value: Value, where: str, depth: int = 0) -> pb.Value:
    """Encode a value; refuses what has no encoding and nesting beyond the limit."""
    if depth > limits.MAX_STRUCTURE_DEPTH:
        raise BundleError(
            f"{where}: nested deeper than {limits.MAX_STRUCTURE_DEPTH} levels; flatten it"
        )
    scalar = _scalar_to_proto(value)
    if scalar is not None:
        return scalar
    if isinstance(value, (list, tuple)):
        items = pb.ValueList(items=[value_to_proto(item, where, depth + 1) for item in value])
        return pb.Value(list=items) if isinstance(value, list) else pb.Value(tuple=items)
    if isinstance(value, dict):
        entries = [
            pb.Dict.Entry(
                key=value_to_proto(key, where, depth + 1),
                value=value_to_proto(item, where, depth + 1),
            )
            for key, item in value.items()
        ]
        return pb.Value(dict=pb.Dict(entries=entries))
    if isinstance(value, Record):
        fields = [
            pb.Record.Field(name=name, value=value_to_proto(item, where, depth + 1))
            for name, item in value.fields
        ]
        return pb.Value(
            record=pb.Record(type_name=value.type_name, fields=fields, is_tuple=value.is_tuple)
        )
    return _special_to_proto(value, where)


def _scalar_to_proto(value: Value) -> pb.Value | None:
    if value is None:
        return pb.Value(none=True)
    if isinstance(value, bool):
        return pb.Value(bool_value=value)
    if isinstance(value, int):
        value = int(value)  # an IntEnum must not be stored by its str()
        if -_INT64_BOUND <= value < _INT64_BOUND:
            return pb.Value(int_value=value)
        if value.bit_length() > _MAX_INT_BITS:
            raise ValueError(f"an int of {value.bit_length()} bits, limit {_MAX_INT_BITS}")
        return pb.Value(big_int=str(value))
    if isinstance(value, float):
        return pb.Value(float_value=value)
    if isinstance(value, str):
        return pb.Value(string_value=value)
    if isinstance(value, bytes):
        return pb.Value(bytes_value=value)
    if isinstance(value, complex):
        return pb.Value(complex_value=pb.Complex(real=value.real, imag=value.imag))
    return None


def _special_to_proto(value: Value, where: str) -> pb.Value:
    if isinstance(value, Leaf):
        return pb.Value(leaf=value.index)
    if isinstance(value, TensorInfo):
        return pb.Value(tensor_spec=spec_to_proto(value, where))
    if isinstance(value, DTypeValue):
        return pb.Value(dtype=dtype_number(value.name, where))
    if isinstance(value, ShapeValue):
        return pb.Value(shape=shape_to_proto(value.dims, where))
    if isinstance(value, ConstantRef):
        return pb.Value(constant=value.index)
    if isinstance(value, Opaque):
        return pb.Value(opaque=pb.Opaque(type_name=value.type_name, text=value.text))
    raise BundleError(
        f"{where}: a value of type {type(value).__name__} ({value!r}) cannot be stored; expected "
        "None, a number, a string, bytes, a list, tuple or dict of those, or a record of "
        "tfx.bundle.python_values"
    )


def value_from_proto(proto: pb.Value, where: str) -> Value:
    """Decode a value."""
    kind = proto.WhichOneof("kind")
    decode = _DECODERS.get(kind) if kind is not None else None
    if decode is None:
        raise BundleError(
            f"{where}: a value without a kind that is known here; the bundle is damaged or from a "
            "newer version: upgrade tfx-onnx"
        )
    return decode(getattr(proto, kind), where)


def _big_int(text: str, where: str) -> int:
    if not _DECIMAL.fullmatch(text):
        raise BundleError(f"{where}: big_int is {text[:40]!r}, expected a decimal integer")
    return int(text)


def _dict(proto: pb.Dict, where: str) -> dict[Any, Value]:
    result: dict[Any, Value] = {}
    for entry in proto.entries:
        key = value_from_proto(entry.key, where)
        if not (key is None or isinstance(key, (bool, int, float, str, bytes))):
            raise BundleError(
                f"{where}: a dict has a key of type {type(key).__name__}, expected None, bool, "
                "int, float, str or bytes"
            )
        if key in result:
            raise BundleError(f"{where}: a dict has the key {key!r} twice, expected it once")
        result[key] = value_from_proto(entry.value, where)
    return result


def _record(proto: pb.Record, where: str) -> Record:
    fields = tuple((field.name, value_from_proto(field.value, where)) for field in proto.fields)
    return Record(proto.type_name, fields, proto.is_tuple)


_DECODERS: dict[str, Callable[[Any, str], Value]] = {
    "none": lambda value, where: None,
    "bool_value": lambda value, where: value,
    "int_value": lambda value, where: value,
    "big_int": _big_int,
    "float_value": lambda value, where: value,
    "string_value": lambda value, where: value,
    "bytes_value": lambda value, where: value,
    "complex_value": lambda value, where: complex(value.real, value.imag),
    "list": lambda value, where: [value_from_proto(item, where) for item in value.items],
    "tuple": lambda value, where: tuple(value_from_proto(item, where) for item in value.items),
    "dict": _dict,
    "record": _record,
    "tensor_spec": spec_from_proto,
    "dtype": lambda value, where: DTypeValue(dtype_name(value, where)),
    "shape": lambda value, where: ShapeValue(shape_from_proto(value, where)),
    "leaf": lambda value, where: Leaf(value),
    "constant": lambda value, where: ConstantRef(value),
    "opaque": lambda value, where: Opaque(value.type_name, value.text),
}
