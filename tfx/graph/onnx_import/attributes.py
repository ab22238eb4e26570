"""Attributes of a node as Python values; references to those of a local function are followed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx

from tfx.core.errors import BundleError, UnimplementedError
from tfx.graph.serialization import protos

_AP = onnx.AttributeProto
# Fields by the type that they are of, for old models whose attributes do not state their type.
_FIELDS = (
    ("t", _AP.TENSOR), ("g", _AP.GRAPH), ("s", _AP.STRING), ("f", _AP.FLOAT), ("i", _AP.INT),
)  # fmt: skip
_LISTS = (("ints", _AP.INTS), ("floats", _AP.FLOATS), ("strings", _AP.STRINGS))


def kind_of(attribute: onnx.AttributeProto) -> int:
    """Return the type of an attribute, stated or inferred."""
    if attribute.type:
        return int(attribute.type)
    for name, kind in _FIELDS:
        if attribute.HasField(name):
            return int(kind)
    for name, kind in _LISTS:
        if len(getattr(attribute, name)):
            return int(kind)
    return int(_AP.INTS)


def resolved(
    attributes: Any, given: Mapping[str, onnx.AttributeProto]
) -> list[onnx.AttributeProto]:
    """Attributes with those that refer to the function's own replaced by what the call gives.

    Args:
        attributes: Those of a node.
        given: The attributes of the call that the node is in.
    """
    found = []
    for attribute in attributes:
        if not attribute.ref_attr_name:
            found.append(attribute)
            continue
        source = given.get(attribute.ref_attr_name)
        if source is not None:
            copy = _AP()
            copy.CopyFrom(source)
            copy.name = attribute.name
            found.append(copy)
    return found


def simple_value(attribute: onnx.AttributeProto) -> Any:
    """A number, a text, or a list of them.

    Raises:
        BundleError: it is of none of these types.
    """
    kind = kind_of(attribute)
    name = attribute.name
    if kind == _AP.INT:
        return attribute.i
    if kind == _AP.FLOAT:
        return attribute.f
    if kind == _AP.STRING:
        return _text(attribute.s, name)
    if kind == _AP.INTS:
        return list(attribute.ints)
    if kind == _AP.FLOATS:
        return list(attribute.floats)
    if kind == _AP.STRINGS:
        return [_text(s, name) for s in attribute.strings]
    raise BundleError(f"the attribute {name!r} is of the type {kind}, which has no use here.")


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as e:
        raise BundleError(f"the attribute {name!r} is {data!r:.80}, which is not UTF-8.") from e


def constant_tensor(attribute: onnx.AttributeProto) -> onnx.TensorProto:
    """The tensor that a Constant node's attribute stands for.

    Raises:
        UnimplementedError: the attribute is of no known kind.
    """
    name = attribute.name
    if name == "value":
        return attribute.t
    if name == "sparse_value":
        return dense(attribute.sparse_tensor)
    if name == "value_string":
        return onnx.TensorProto(data_type=onnx.TensorProto.STRING, string_data=[attribute.s])
    if name == "value_strings":
        strings = list(attribute.strings)
        return onnx.TensorProto(
            data_type=onnx.TensorProto.STRING, dims=[len(strings)], string_data=strings
        )
    numpy_dtype = {"int": np.int64, "float": np.float32}.get(
        name.removeprefix("value_").removesuffix("s")
    )
    if numpy_dtype is None:
        raise UnimplementedError(f"a Constant with the attribute {name!r} is not known")
    return onnx.numpy_helper.from_array(np.asarray(simple_value(attribute), numpy_dtype))


_MAX_DENSE = 1 << 31


def dense(sparse: onnx.SparseTensorProto) -> onnx.TensorProto:
    """A sparse tensor with its zeros.

    Raises:
        BundleError: indices and values do not fit, or it would be too large.
    """
    shape = tuple(sparse.dims)
    values = protos.tensor_array(sparse.values)
    indices = protos.tensor_array(sparse.indices).astype(np.int64)
    size = 1
    for dim in shape:
        size *= max(dim, 0)
    where = f"the sparse tensor {sparse.values.name!r}"
    if any(dim < 0 for dim in shape) or size * values.dtype.itemsize > _MAX_DENSE:
        raise BundleError(f"{where} has the shape {shape}, more than fits into memory.")
    flat = np.zeros(size, values.dtype)
    if indices.ndim == 2:
        if indices.shape[1] != len(shape):
            raise BundleError(f"{where} has indices of the shape {indices.shape}.")
        places = np.zeros(len(indices), np.int64)
        for column, dim in zip(indices.T, shape, strict=True):
            if ((column < 0) | (column >= dim)).any():
                raise BundleError(f"{where} has an index outside of its shape {shape}.")
            places = places * dim + column
        indices = places
    if indices.ndim != 1 or len(indices) != values.size or not _inside(indices, size):
        raise BundleError(f"{where} has indices that do not fit its {values.size} values.")
    flat[indices] = values.reshape(-1)
    tensor: onnx.TensorProto = onnx.numpy_helper.from_array(flat.reshape(shape), sparse.values.name)
    return tensor


def _inside(indices: np.ndarray[Any, Any], size: int) -> bool:
    return not len(indices) or bool(indices.min() >= 0 and indices.max() < size)
