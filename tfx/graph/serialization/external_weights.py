"""A model file without the raw data of its weights, which stay where they are.

A model of two gigabytes would be held three times: as the file's bytes, inside the protobuf, and as
arrays. Here the file is mapped, and protobuf only ever sees the rest of it.

The numbers of fields are those of onnx.proto.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Any, cast

from tfx.bundle.files import open_plain
from tfx.core.errors import BundleError
from tfx.core.wire_format import Field, WireError, bytes_field, fields

_GRAPH, _INITIALIZER, _RAW_DATA = 7, 5, 9
# Shorter data stays inside.
_SHORT = 1024


def map_file(path: Path) -> memoryview:
    """The content of a file, mapped.

    Raises:
        NotFoundError: there is no such file.
        BundleError: it is not a plain file.
    """
    descriptor, size = open_plain(path)
    try:
        # An empty file cannot be mapped.
        return memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) if size else b"")
    finally:
        os.close(descriptor)


def split_payloads(data: memoryview, name: str) -> tuple[bytes, dict[int, memoryview]]:
    """Take long raw data out of the initializers of a model's main graph.

    Args:
        data: The serialized model.
        name: What to call it in messages.

    Returns:
        The model without it, and the raw data by the initializer's position.

    Raises:
        BundleError: it is no protobuf message.
    """
    view = cast("Any", data)
    try:
        graphs = [f for f in fields(view, 0, len(data)) if f.number == _GRAPH]
        if len(graphs) != 1:
            return bytes(data), {}
        content, payloads = _without_payloads(view, graphs[0])
    except WireError as e:
        raise BundleError(
            f"{name}: is not an ONNX model ({e}), expected a file made by an ONNX exporter"
        ) from e
    graph = bytes_field(_GRAPH, content)
    return b"".join([data[: graphs[0].start], graph, data[graphs[0].end :]]), payloads


def _without_payloads(data: Any, graph: Field) -> tuple[bytes, dict[int, memoryview]]:
    parts: list[Any] = []
    payloads: dict[int, memoryview] = {}
    position, number = graph.begin, 0
    for item in fields(data, graph.begin, graph.end):
        if item.number != _INITIALIZER:
            continue
        raw = [f for f in fields(data, item.begin, item.end) if f.number == _RAW_DATA]
        if len(raw) == 1 and raw[0].end - raw[0].begin >= _SHORT:
            payloads[number] = data[raw[0].begin : raw[0].end]
            rest = b"".join([data[item.begin : raw[0].start], data[raw[0].end : item.end]])
            parts += [data[position : item.start], bytes_field(_INITIALIZER, rest)]
            position = item.end
        number += 1
    parts.append(data[position : graph.end])
    return b"".join(parts), payloads
