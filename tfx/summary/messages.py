"""Values and events as protobufs. Knows the numbers of the format, not who writes what when."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.summary import event_pb2 as pb

FILE_VERSION = "brain.Event:2"
WRITER = "tfx.summary"

# Numbers of the dtypes in event files.
_NUMBERS = {
    dtypes.float32: 1,
    dtypes.float64: 2,
    dtypes.int32: 3,
    dtypes.uint8: 4,
    dtypes.int16: 5,
    dtypes.int8: 6,
    dtypes.string: 7,
    dtypes.complex64: 8,
    dtypes.int64: 9,
    dtypes.bool: 10,
    dtypes.bfloat16: 14,
    dtypes.uint16: 17,
    dtypes.complex128: 18,
    dtypes.float16: 19,
    dtypes.uint32: 22,
    dtypes.uint64: 23,
    dtypes.float8_e5m2: 24,
    dtypes.float8_e4m3fn: 25,
}


def dtype_of_number(number: int) -> dtypes.DType:
    """The dtype that a message has the number for.

    Raises:
        TypeError: there is none.
    """
    found = next((d for d, n in _NUMBERS.items() if n == number), None)
    if found is None:
        raise TypeError(f"Unsupported tensor type: number {number} of a message.")
    return found


def tensor_message(array: np.ndarray[Any, Any]) -> pb.Tensor:
    """A tensor with its contents.

    Raises:
        TypeError: the format has no number for the dtype.
    """
    dtype = dtypes.as_dtype(array.dtype)
    number = _NUMBERS.get(dtype)
    if number is None:
        known = ", ".join(d.name for d in _NUMBERS)
        raise TypeError(f"An event file cannot hold {dtype.name}; expected one of {known}.")
    # Sizes of zero are left out by protobuf, not the dimension.
    shape = pb.Shape(dim=[pb.Shape.Dim(size=d) for d in array.shape])
    message = pb.Tensor(dtype=number, tensor_shape=shape)
    if dtype is dtypes.string:
        message.string_val.extend(array.reshape(-1).tolist())
    else:
        little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
        message.tensor_content = little.tobytes()
    return message


def plugin(name: str, content: bytes = b"", description: str | None = None) -> pb.Metadata:
    """Return the metadata that tells TensorBoard which plugin shows a value."""
    data = pb.Metadata.PluginData(plugin_name=name, content=content)
    return pb.Metadata(plugin_data=data, summary_description=description or "")


def metadata_message(metadata: Any) -> pb.Metadata | None:
    """A caller's metadata: None, our message, another library's, or its bytes.

    Raises:
        TypeError: something else.
    """
    if metadata is None or isinstance(metadata, pb.Metadata):
        return metadata
    if hasattr(metadata, "SerializeToString"):
        metadata = metadata.SerializeToString()
    if not isinstance(metadata, bytes):
        raise TypeError(
            f"metadata must be a SummaryMetadata message or its bytes; got {metadata!r} of type "
            f"{type(metadata).__name__}."
        )
    return pb.Metadata.FromString(metadata)


def value_summary(
    tag: str, array: np.ndarray[Any, Any], metadata: pb.Metadata | None
) -> pb.Summary:
    """A summary of one value."""
    value = pb.Summary.Value(tag=tag, tensor=tensor_message(array), metadata=metadata)
    return pb.Summary(value=[value])


def first_event(wall_time: float) -> bytes:
    """The record that a file begins with."""
    return pb.Event(
        wall_time=wall_time,
        file_version=FILE_VERSION,
        source_metadata=pb.SourceMetadata(writer=WRITER),
    ).SerializeToString()


def summary_event(wall_time: float, step: int, summary: pb.Summary) -> bytes:
    """A record with values of one step."""
    return pb.Event(wall_time=wall_time, step=step, summary=summary).SerializeToString()


def graph_event(wall_time: float, graph_def: bytes) -> bytes:
    """A record with a graph."""
    return pb.Event(wall_time=wall_time, graph_def=graph_def).SerializeToString()
