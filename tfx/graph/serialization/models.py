"""ONNX models of others: described, their weights found, and written again without them.

The one decision: a weight is never copied. Data in other files is mapped, data inside the model is
viewed where the caller has it, and the model that is written again is put together from everything
but the weights.
"""

from __future__ import annotations

import math
import os
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import google.protobuf.message
import numpy as np
import onnx

from tfx.bundle.files import locate
from tfx.core import dtypes
from tfx.core.errors import BundleError, InvalidArgumentError, UnimplementedError
from tfx.graph.ir import RawShape
from tfx.graph.serialization import protos

_EXTERNAL = onnx.TensorProto.EXTERNAL
# The format's first version in which an initializer need not be declared as an input too.
_FREE_INITIALIZERS = 4
# Larger constants move out of the model whatever they are.
_ALWAYS_MOVED = 1024
# Inputs, by operator, that ONNX Runtime and shape inference want to see as constants.
_PARAMETERS = {"Resize": (1, 2), "Upsample": (1,)}
# Inputs that are statistics, not weights to be trained.
_STATISTICS = {"BatchNormalization": (3, 4)}


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a model: element type as ONNX's code and raw shape."""

    name: str
    dtype: int
    shape: RawShape


@dataclass(frozen=True, slots=True)
class Weight:
    """A constant that can live outside of the model, and whether it is one to train."""

    array: np.ndarray[Any, Any]
    trainable: bool


def parse_model(data: bytes, name: str) -> onnx.ModelProto:
    """A model from bytes; external data stays where it is.

    Raises:
        BundleError: it is not an ONNX model.
    """
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except google.protobuf.message.DecodeError as e:
        raise BundleError(
            f"{name}: is not an ONNX model ({e}), expected a file made by an ONNX exporter"
        ) from e
    if not proto.HasField("graph") or not proto.opset_import:
        raise BundleError(
            f"{name}: is not an ONNX model (it has no graph or no opset), expected a file made by "
            "an ONNX exporter"
        )
    return proto


class ForeignModel:
    """A model somebody else made.

    Args:
        proto: The model; it is not changed.
        name: What to call it in messages.
        folder: Where external data is; None: it may have none.
        payloads: Raw data of initializers that was left out of ``proto``, by their position.
        ports: Whether to describe inputs and outputs, which must be tensors then.

    Attributes:
        inputs: The inputs that must be given.
        outputs: The outputs.
        opset: Version of the standard domain.
        domains: Versions of the other domains.

    Raises:
        BundleError: it is damaged: external data is missing, say.
        InvalidArgumentError: it has inputs or outputs that are not tensors.
    """

    def __init__(
        self,
        proto: onnx.ModelProto,
        name: str,
        folder: Path | None = None,
        payloads: Mapping[int, memoryview] | None = None,
        *,
        ports: bool = True,
    ) -> None:
        self.proto = proto
        self.name = name
        self._folder = folder
        self._payloads = payloads or {}
        graph = proto.graph
        stored = {t.name for t in graph.initializer}
        described = [i for i in graph.input if i.name not in stored] if ports else []
        self.inputs = [self._port("input", i) for i in described]
        self.outputs = [self._port("output", o) for o in graph.output] if ports else []
        versions = {i.domain: i.version for i in proto.opset_import}
        self.opset: int = versions.pop("", versions.pop("ai.onnx", 1))
        versions.pop("ai.onnx", None)
        self.domains: dict[str, int] = versions

    @property
    def ir_version(self) -> int:
        """Version of the format that the model will have."""
        return max(self.proto.ir_version, _FREE_INITIALIZERS)

    def weights(self) -> dict[str, Weight]:
        """The constants of the main graph that are better kept outside of the model, by name.

        Those are the large ones, and vectors and matrices of floating-point numbers of any size:
        what a program may want to read, replace or train.
        """
        uses = _uses(self.proto.graph)
        declared = {i.name for i in self.proto.graph.input}
        overridable = declared if self.proto.ir_version >= _FREE_INITIALIZERS else set()
        found: dict[str, Weight] = {}
        for i, tensor in enumerate(self.proto.graph.initializer):
            array = self._array(i, tensor)
            if array is None or not array.size:
                continue
            users = uses.get(tensor.name, [])
            if tensor.name in overridable or _is_weight(array, users):
                statistic = any(k in _STATISTICS.get(op, ()) for op, k in users)
                floating = dtypes.from_onnx(tensor.data_type).is_floating
                found[tensor.name] = Weight(array, floating and not statistic)
        return found

    def arrays(self, left_out: Container[str] = ()) -> dict[str, np.ndarray[Any, Any]]:
        """The initializers of the main graph that are arrays, without a copy, by name.

        Args:
            left_out: Names of those that nobody asks for, whose data may be missing.

        Raises:
            BundleError: one is damaged.
        """
        found = {}
        for i, tensor in enumerate(self.proto.graph.initializer):
            if tensor.name in left_out:
                continue
            if any(dim < 0 for dim in tensor.dims):
                raise BundleError(
                    f"{self.name}: initializer {tensor.name!r} has the shape {tuple(tensor.dims)}; "
                    "the file is damaged"
                )
            array = self._array(i, tensor)
            if array is not None:
                found[tensor.name] = array
        return found

    def external(self, tensor: onnx.TensorProto) -> np.ndarray[Any, Any]:
        """The contents of a tensor whose data is in another file, mapped.

        Raises:
            BundleError: the file is outside of the model's folder, missing or too short.
            UnimplementedError: its dtype cannot be kept so.
        """
        array = self._array(-1, tensor)
        if array is None:
            raise UnimplementedError(
                f"{self.name}: tensor {tensor.name!r} of this dtype has its data in another file; "
                "save the model with its data inside"
            )
        return array

    def with_external(self, places: Mapping[str, tuple[str, int, int]]) -> bytes:
        """The model's bytes with some weights in files: name -> (file, offset, length)."""
        source = self.proto.graph
        model = onnx.ModelProto()
        _copy_fields(self.proto, model, ("graph",))
        model.ir_version = self.ir_version
        graph = model.graph
        _copy_fields(source, graph, ("initializer", "input"))
        stored = {t.name for t in source.initializer}
        # An initializer that is an input too could be overridden: now it is a variable.
        graph.input.extend(i for i in source.input if i.name not in stored)
        for i, tensor in enumerate(source.initializer):
            place = places.get(tensor.name)
            if place is None:
                graph.initializer.append(self._inside(i, tensor))
                continue
            stub = graph.initializer.add(
                name=tensor.name,
                data_type=tensor.data_type,
                dims=tensor.dims,
                data_location=_EXTERNAL,
            )
            for key, text in zip(("location", "offset", "length"), place, strict=True):
                stub.external_data.add(key=key, value=str(text))
        for tensor in _inner_tensors(model):
            if _is_external(tensor):
                tensor.raw_data = bytes(self._external_bytes(tensor))
                _forget_place(tensor)
        data: bytes = model.SerializeToString(deterministic=True)
        return data

    def _port(self, kind: str, info: onnx.ValueInfoProto) -> Port:
        try:
            dtype, shape = protos.type_of(info.type)
            dtypes.from_onnx(dtype)
        except (InvalidArgumentError, TypeError, ValueError) as e:
            raise InvalidArgumentError(
                f"{self.name}: {kind} {info.name!r} cannot be one of a signature: {e}; expected a "
                "tensor of a dtype that tfx has. Cut the model before it (onnx.utils.Extractor)."
            ) from e
        if shape is not None:  # some exporters write -1 for a size that they do not know
            shape = tuple(None if isinstance(d, int) and d < 0 else d for d in shape)
        return Port(info.name, dtype, shape)

    def _array(self, number: int, tensor: onnx.TensorProto) -> np.ndarray[Any, Any] | None:
        """The contents of an initializer without a copy; None for what has to stay inside."""
        try:
            dtype = dtypes.from_onnx(tensor.data_type)
        except (TypeError, ValueError):
            return None
        if dtype in (dtypes.string, dtypes.int4, dtypes.uint4):
            return None
        if _is_external(tensor):
            data: Any = self._external_bytes(tensor)
        elif number in self._payloads:
            data = self._payloads[number]
        else:
            try:
                return protos.tensor_array(tensor)
            except (ValueError, TypeError) as e:
                raise BundleError(
                    f"{self.name}: initializer {tensor.name!r} cannot be read: {e}; the file is "
                    "damaged"
                ) from e
        shape = tuple(tensor.dims)
        numpy_dtype = dtype.as_numpy_dtype
        if len(data) != math.prod(shape) * np.dtype(numpy_dtype).itemsize:
            raise BundleError(
                f"{self.name}: initializer {tensor.name!r} has {len(data)} bytes, expected those "
                f"of {dtype.name} of shape {shape}; the file is damaged"
            )
        return np.frombuffer(data, numpy_dtype).reshape(shape)

    def _inside(self, number: int, tensor: onnx.TensorProto) -> onnx.TensorProto:
        """An initializer with its data in it."""
        external = _is_external(tensor)
        if not external and number not in self._payloads:
            return tensor
        kept = onnx.TensorProto()
        kept.CopyFrom(tensor)
        data = self._external_bytes(tensor) if external else self._payloads[number]
        kept.raw_data = bytes(data)
        _forget_place(kept)
        return kept

    def _external_bytes(self, tensor: onnx.TensorProto) -> memoryview:
        """The bytes of a tensor in another file, mapped."""
        where = f"{self.name}: tensor {tensor.name!r}"
        table = {e.key: e.value for e in tensor.external_data}
        if self._folder is None:
            raise BundleError(
                f"{where} has its data in the file {table.get('location')!r}, which is unknown "
                "here; give the path of the model instead of the model itself"
            )
        location = table.get("location", "")
        try:
            path = locate(self._folder, os.path.normpath(location))
        except BundleError as e:
            raise BundleError(
                f"{where} has its data in the file {location!r:.200}, which is missing or may not "
                f"be read; expected a plain file in or below the model's folder: {e.message}"
            ) from e
        size = path.stat().st_size
        try:
            offset = int(table.get("offset", "0"))
            length = int(table.get("length", size - offset))
        except ValueError as e:
            raise BundleError(f"{where} has the external data {table!r:.200}; it is damaged") from e
        if offset < 0 or length < 0 or offset + length > size:
            raise BundleError(
                f"{where} has {length} bytes at {offset} of {path}, which has {size}; the file is "
                "truncated, or does not belong to the model"
            )
        if not length:
            return memoryview(b"")
        return np.memmap(path, np.uint8, "r", offset, (length,)).data


def _is_external(tensor: onnx.TensorProto) -> bool:
    return bool(tensor.data_location == _EXTERNAL)


def _forget_place(tensor: onnx.TensorProto) -> None:
    del tensor.external_data[:]
    tensor.data_location = onnx.TensorProto.DEFAULT


def _is_weight(array: np.ndarray[Any, Any], users: list[tuple[str, int]]) -> bool:
    if array.nbytes >= _ALWAYS_MOVED:
        return True
    parameter = any(k in _PARAMETERS.get(op, ()) or "Linear" in op for op, k in users)
    return (
        array.ndim > 0
        and array.size > 1
        and dtypes.as_dtype(array.dtype).is_floating
        and (not parameter)
    )


def _uses(graph: onnx.GraphProto) -> dict[str, list[tuple[str, int]]]:
    """Operator and position of each use of a name in the main graph."""
    uses: dict[str, list[tuple[str, int]]] = {}
    for node in graph.node:
        for i, name in enumerate(node.input):
            uses.setdefault(name, []).append((node.op_type, i))
    return uses


def _inner_tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Every tensor of a model but the initializers of its main graph."""
    graphs = [model.graph]
    nodes = [node for function in model.functions for node in function.node]
    for sparse in model.graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    while graphs or nodes:
        if graphs:
            nodes.extend(graphs.pop().node)
            continue
        for attribute in nodes.pop().attribute:
            inner = [attribute.g] if attribute.HasField("g") else []
            for body in (*inner, *attribute.graphs):
                graphs.append(body)
                yield from body.initializer
            yield from attribute.tensors
            if attribute.HasField("t"):
                yield attribute.t


def _copy_fields(source: Any, target: Any, left_out: tuple[str, ...]) -> None:
    """Copy the fields of a message except some, whose contents are never touched."""
    for field, value in source.ListFields():
        if field.name in left_out:
            continue
        current = getattr(target, field.name)
        if hasattr(current, "extend"):
            current.extend(value)
        elif hasattr(current, "CopyFrom"):
            current.CopyFrom(value)
        else:
            setattr(target, field.name, value)
