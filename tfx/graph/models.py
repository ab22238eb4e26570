"""ONNX model files: opened, described, and written again with their weights elsewhere."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import google.protobuf.message
import numpy as np
import onnx
import onnx.checker
import onnx.external_data_helper

from tfx.core.errors import BundleError, DataLossError, InvalidArgumentError, NotFoundError
from tfx.graph import protos
from tfx.graph.ir import RawShape


class LoadedModel:
    """A model in memory.

    Attributes:
        proto: The model.
        weights: Contents of the main graph's initializers by name.
        inputs: ``(name, element type, shape)`` of the inputs that must be given.
        outputs: The same of the outputs.
        opset: Version of the standard domain.
        domains: Versions of the other domains.
    """

    def __init__(self, proto: onnx.ModelProto, base_dir: str) -> None:
        self.proto = proto
        graph = proto.graph
        self.weights: dict[str, np.ndarray[Any, Any]] = {
            t.name: protos.tensor_array(t, base_dir) for t in graph.initializer
        }
        self.inputs = [_described(i) for i in graph.input if i.name not in self.weights]
        self.outputs = [_described(o) for o in graph.output]
        versions = {i.domain: i.version for i in proto.opset_import}
        self.opset: int = versions.pop("", versions.pop("ai.onnx", 1))
        self.domains: dict[str, int] = versions
        self.ir_version: int = proto.ir_version

    def with_external(self, places: Mapping[str, tuple[str, int, int]]) -> bytes:
        """The model's bytes with some weights in files: name -> (file, offset, length)."""
        copy = onnx.ModelProto()
        copy.CopyFrom(self.proto)
        # An initializer that is also an input could be overridden; its contents are a variable now.
        kept = [i for i in copy.graph.input if i.name not in places]
        del copy.graph.input[:]
        copy.graph.input.extend(kept)
        for tensor in copy.graph.initializer:
            place = places.get(tensor.name)
            array = self.weights[tensor.name]
            name, dtype = tensor.name, tensor.data_type
            if place is None:
                tensor.CopyFrom(protos.tensor_proto(array, dtype, name))
                continue
            tensor.Clear()
            tensor.name, tensor.data_type = name, dtype
            tensor.dims.extend(array.shape)
            tensor.data_location = onnx.TensorProto.EXTERNAL
            for key, text in zip(("location", "offset", "length"), place, strict=True):
                tensor.external_data.add(key=key, value=str(text))
        data: bytes = copy.SerializeToString(deterministic=True)
        return data


def parse_model(path: Path, size: int | None = None) -> onnx.ModelProto:
    """A model file as a protobuf; external data stays where it is.

    Raises:
        NotFoundError: the file cannot be read.
        BundleError: it is not an ONNX model or has not the expected size.
    """
    try:
        data = path.read_bytes()
    except OSError as e:
        raise NotFoundError(f"{path}: cannot be read ({e.strerror}).") from e
    if size is not None and len(data) != size:
        raise BundleError(f"{path}: has {len(data)} bytes, expected {size}; it is damaged.")
    return _parsed(data, str(path))


def _parsed(data: bytes, name: str) -> onnx.ModelProto:
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except google.protobuf.message.DecodeError as e:
        raise BundleError(f"{name}: is not an ONNX model ({e}).") from e
    if not proto.HasField("graph") or not proto.opset_import:
        raise BundleError(f"{name}: is not an ONNX model (no graph or no opset).")
    return proto


def load_model(model: Any) -> LoadedModel:
    """Open a model.

    Args:
        model: Path, bytes or ``onnx.ModelProto``.

    Raises:
        NotFoundError: no such file.
        DataLossError: not a valid ONNX model, or its external data is damaged.
        InvalidArgumentError: inputs or outputs that are not tensors.
    """
    if isinstance(model, onnx.ModelProto):
        return LoadedModel(model, "")
    base, name = "", "the model"
    if isinstance(model, bytes):
        data = model
    else:
        path = Path(os.fspath(model))
        base, name = str(path.parent), str(path)
        try:
            data = path.read_bytes()
        except OSError as e:
            raise NotFoundError(f"{path}: cannot be read ({e.strerror}).") from e
    proto = _parsed(data, name)
    try:
        return LoadedModel(proto, base)
    except (onnx.checker.ValidationError, OSError, ValueError) as e:
        if isinstance(e, InvalidArgumentError):
            raise
        raise DataLossError(f"{name}: its weights cannot be read: {e}") from e


def _described(info: onnx.ValueInfoProto) -> tuple[str, int, RawShape]:
    dtype, shape = protos.type_of(info.type)
    return info.name, dtype, shape
