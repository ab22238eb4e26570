"""Pieces of ONNX protobufs: tensors, types, attributes. Used by inference and serialization."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import onnx
from google.protobuf import text_format

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.graph.ir import RawShape

# What ``Graph.as_graph_def`` returns and ``import_graph_def`` takes: a graph is ONNX here.
GraphDef = onnx.GraphProto

_AP = onnx.AttributeProto
_STRING = onnx.TensorProto.STRING


def message_of_text(text: str | bytes, kind: type[Any]) -> Any:
    """A protobuf of a class from its text form."""
    return text_format.Parse(text, kind())


def text_of_message(message: Any) -> str:
    """The text form of a protobuf."""
    return text_format.MessageToString(message)


def tensor_proto(array: np.ndarray[Any, Any], dtype: int, name: str = "") -> onnx.TensorProto:
    """A tensor with its contents inside."""
    proto = onnx.TensorProto(name=name, data_type=dtype, dims=array.shape)
    if dtype == _STRING:
        proto.string_data.extend(
            s if isinstance(s, bytes) else str(s).encode() for s in array.reshape(-1).tolist()
        )
    elif dtype in (onnx.TensorProto.UINT4, onnx.TensorProto.INT4):
        flat = array.reshape(-1).astype(np.uint8) & 0xF
        flat = np.append(flat, np.uint8(0)) if flat.size % 2 else flat
        proto.raw_data = (flat[0::2] | flat[1::2] << 4).astype(np.uint8).tobytes()
    else:
        proto.raw_data = array.tobytes()
    return proto


def tensor_array(proto: onnx.TensorProto, base_dir: str = "") -> np.ndarray[Any, Any]:
    """The contents of a tensor, external data included (string tensors: ``bytes`` objects)."""
    if proto.data_type == _STRING:
        return np.array(list(proto.string_data), dtype=object).reshape(tuple(proto.dims))
    array: np.ndarray[Any, Any] = onnx.numpy_helper.to_array(proto, base_dir)
    return array.astype(dtypes.from_onnx(proto.data_type).as_numpy_dtype, copy=False)


def type_proto(dtype: int, shape: RawShape) -> onnx.TypeProto:
    """A tensor type, or that of a sequence of tensors (see ``dtypes.SEQUENCE``)."""
    proto = onnx.TypeProto()
    tensor = proto.tensor_type
    if dtype > dtypes.SEQUENCE:
        tensor = proto.sequence_type.elem_type.tensor_type
        dtype -= dtypes.SEQUENCE
    tensor.elem_type = dtype
    if shape is not None:
        tensor.shape.SetInParent()
        for dim in shape:
            entry = tensor.shape.dim.add()
            if isinstance(dim, str):
                entry.dim_param = dim
            elif dim is not None:
                entry.dim_value = dim
    return proto


def type_of(proto: onnx.TypeProto, *, sequences: bool = False) -> tuple[int, RawShape]:
    """Element type and shape of a tensor type.

    Args:
        proto: The type.
        sequences: Whether it may be a sequence of tensors.

    Raises:
        InvalidArgumentError: not a tensor type.
    """
    kind = proto.WhichOneof("value")
    if sequences and kind == "sequence_type":
        dtype, shape = type_of(proto.sequence_type.elem_type)
        return dtypes.SEQUENCE + dtype, shape
    if kind != "tensor_type":
        raise InvalidArgumentError(f"Only tensors can be used here; the type is a {kind}.")
    tensor = proto.tensor_type
    if not tensor.HasField("shape"):
        return tensor.elem_type, None
    dims: list[int | str | None] = []
    for dim in tensor.shape.dim:
        which = dim.WhichOneof("value")
        if which == "dim_value":
            dims.append(dim.dim_value)
        else:
            dims.append(dim.dim_param or None if which else None)
    return tensor.elem_type, tuple(dims)


def attribute_proto(name: str, value: Any, kind: int) -> onnx.AttributeProto:
    """An attribute of the given kind (``onnx.AttributeProto.INT`` ...); graphs are not made here.

    Raises:
        InvalidArgumentError: the value cannot be of that kind.
    """
    proto = _AP(name=name, type=cast(Any, kind))
    try:
        if kind == _AP.INT:
            proto.i = int(value)
        elif kind == _AP.FLOAT:
            proto.f = float(value)
        elif kind == _AP.STRING:
            proto.s = value.encode() if isinstance(value, str) else bytes(value)
        elif kind == _AP.INTS:
            proto.ints.extend(int(v) for v in value)
        elif kind == _AP.FLOATS:
            proto.floats.extend(float(v) for v in value)
        elif kind == _AP.STRINGS:
            proto.strings.extend(v.encode() if isinstance(v, str) else bytes(v) for v in value)
        elif kind == _AP.TENSOR:
            array = np.asarray(value)
            proto.t.CopyFrom(tensor_proto(array, dtypes.as_dtype(array.dtype).onnx))
        else:
            raise InvalidArgumentError(f"Attribute {name!r} cannot be given: kind {kind}.")
    except (TypeError, ValueError, AttributeError) as e:
        raise InvalidArgumentError(
            f"Attribute {name!r} got {value!r}; expected {_AP.AttributeType.Name(kind).lower()}."
        ) from e
    return proto
