"""Models as files: written beside their place and renamed, large weights in a file of their own."""

from __future__ import annotations

import contextlib
import os
import secrets
from typing import BinaryIO

import onnx

from tfx.core.system_errors import writing

# Protobuf writes no message above 2 GiB.
_INSIDE = 1 << 30
_SMALL = 1024


def save_model(model: onnx.ModelProto, path: str, *, inside: int = _INSIDE) -> None:
    """Write a model to a file.

    Args:
        model: The model; it is not changed.
        path: The file. It appears whole or not at all.
        inside: Most bytes of weights inside of the model; with more, those of a kibibyte or more
            go into ``<path>.data``.
    """
    size = sum(len(t.raw_data) for t in model.graph.initializer)
    ending = f".{secrets.token_hex(4)}.tmp"
    made = []
    try:
        with writing(path):
            if size > inside:
                copy, place = onnx.ModelProto(), path + ".data"
                copy.CopyFrom(model)
                made.append((place + ending, place))
                with open(place + ending, "xb") as file:
                    for tensor in copy.graph.initializer:
                        if len(tensor.raw_data) >= _SMALL:
                            _move(tensor, file, os.path.basename(place))
                model = copy
            made.append((path + ending, path))
            with open(path + ending, "xb") as file:
                file.write(model.SerializeToString(deterministic=True))
            for temporary, final in made:
                os.replace(temporary, final)
    except BaseException:
        for temporary, _ in made:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise


def _move(tensor: onnx.TensorProto, file: BinaryIO, location: str) -> None:
    offset = file.tell()
    file.write(tensor.raw_data)
    length = len(tensor.raw_data)
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", str(offset)), ("length", str(length))):
        tensor.external_data.add(key=key, value=value)
