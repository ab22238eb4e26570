"""Models that need nothing beside them: weights inside, or in one file; inputs with defaults.

The one decision: what a graph takes from a bundle and a caller of the lone model cannot know (the
variables, large constants) becomes an initializer; a variable that the graph writes stays an input
beside it, so that a run takes the saved value unless it is given another.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import onnx

from tfx.core import dtypes
from tfx.core.errors import ResourceExhaustedError
from tfx.graph.serialization.models import ForeignModel, parse_model

Array = np.ndarray[Any, Any]

# Protobuf has no larger messages; the rest of a model has to fit too.
MAX_INSIDE = (1 << 31) - (64 << 20)
_ALIGNMENT = 64
_LEAST_OUTSIDE = 1024


class Standalone:
    """A model of a bundle on its way to stand alone.

    Args:
        data: The model's bytes.
        path: Where it is: external data is looked for below the folder.
        folder: The bundle's folder.
        constants: Values of inputs that are constants of the bundle, by name.
        state: Values of inputs that are variables, by name.

    Raises:
        BundleError: it is damaged.
    """

    def __init__(
        self,
        data: bytes,
        path: str,
        folder: Path,
        constants: Mapping[str, Array],
        state: Mapping[str, Array],
    ) -> None:
        self._loaded = ForeignModel(parse_model(data, path), path, folder, ports=False)
        self._constants = dict(constants)
        self._state = dict(state)
        self.arrays: dict[str, Array] = {
            **self._loaded.arrays(),
            **self._constants,
            **self._state,
        }

    @property
    def nbytes(self) -> int:
        """Size of all weights."""
        return sum(array.nbytes for array in self.arrays.values())

    def model(self) -> onnx.ModelProto:
        """The model with everything inside.

        Raises:
            ResourceExhaustedError: it would be larger than a model can be.
        """
        if self.nbytes > MAX_INSIDE:
            raise ResourceExhaustedError(
                f"{self._loaded.name}: its weights take {self.nbytes} bytes, and a model in one "
                f"piece can have {MAX_INSIDE}; tfx freeze writes them beside the model"
            )
        return self._completed(parse_model(self._loaded.with_external({}), self._loaded.name), {})

    def write(self, path: Path, data_path: Path, *, max_inside: int = MAX_INSIDE) -> list[Path]:
        """Write the model, and its weights into a second file if they are too many for one.

        Args:
            path: The ``.onnx`` file.
            data_path: The other file, in the same folder.
            max_inside: Most bytes of weights in the model.

        Returns:
            What was written.
        """
        if self.nbytes <= max_inside:
            path.write_bytes(self.model().SerializeToString(deterministic=True))
            return [path]
        outside = {
            name: array
            for name, array in self.arrays.items()
            if array.nbytes >= _LEAST_OUTSIDE and array.dtype != object
        }
        with data_path.open("wb") as file:
            places = dict(_write_arrays(file, data_path.name, outside))
        model = parse_model(self._loaded.with_external(places), self._loaded.name)
        path.write_bytes(self._completed(model, places).SerializeToString(deterministic=True))
        return [path, data_path]

    def _completed(
        self, model: onnx.ModelProto, places: Mapping[str, tuple[str, int, int]]
    ) -> onnx.ModelProto:
        graph = model.graph
        kept = [item for item in graph.input if item.name not in self._constants]
        del graph.input[:]
        graph.input.extend(kept)
        for name, array in {**self._constants, **self._state}.items():
            tensor = graph.initializer.add()
            if name in places:
                tensor.CopyFrom(_stub(name, array, places[name]))
            else:
                tensor.CopyFrom(tensor_of(name, array))
        return model


def tensor_of(name: str, array: Array) -> onnx.TensorProto:
    """An array as an initializer."""
    kind = dtypes.as_dtype("string" if array.dtype == object else array.dtype)
    if kind is dtypes.string:
        data: Any = [
            t if isinstance(t, bytes) else str(t).encode() for t in array.reshape(-1).tolist()
        ]
        return onnx.helper.make_tensor(name, kind.onnx, array.shape, data)
    if kind in (dtypes.int4, dtypes.uint4):
        return onnx.helper.make_tensor(name, kind.onnx, array.shape, array.reshape(-1).astype(int))
    raw = np.ascontiguousarray(array).tobytes()
    return onnx.TensorProto(name=name, data_type=kind.onnx, dims=array.shape, raw_data=raw)


def _stub(name: str, array: Array, place: tuple[str, int, int]) -> onnx.TensorProto:
    tensor = onnx.TensorProto(
        name=name,
        data_type=dtypes.as_dtype(array.dtype).onnx,
        dims=array.shape,
        data_location=onnx.TensorProto.EXTERNAL,
    )
    for key, text in zip(("location", "offset", "length"), place, strict=True):
        tensor.external_data.add(key=key, value=str(text))
    return tensor


def _write_arrays(
    file: BinaryIO, location: str, arrays: Mapping[str, Array]
) -> Iterator[tuple[str, tuple[str, int, int]]]:
    for name, array in arrays.items():
        file.write(b"\0" * (-file.tell() % _ALIGNMENT))
        offset = file.tell()
        file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        yield name, (location, offset, math.prod(array.shape) * array.itemsize)


def operator_counts(data: bytes, path: str) -> Counter[str]:
    """Count a model's operators, in bodies of branches, loops and functions too.

    Args:
        data: The model's bytes.
        path: What to call it in messages.

    Returns:
        Counts by operator, with the domain in front where it is not the standard one.

    Raises:
        BundleError: it is no model.
    """
    model = parse_model(data, path)
    counts: Counter[str] = Counter()
    nodes = [*model.graph.node, *(node for f in model.functions for node in f.node)]
    while nodes:
        node = nodes.pop()
        domain = "" if node.domain in ("", "ai.onnx") else f"{node.domain}."
        counts[f"{domain}{node.op_type}"] += 1
        for attribute in node.attribute:
            bodies = [attribute.g] if attribute.HasField("g") else []
            for body in (*bodies, *attribute.graphs):
                nodes.extend(body.node)
    return counts


def opset_of(model: onnx.ModelProto) -> int:
    """The version of the standard operators that a model uses."""
    versions = {item.domain: item.version for item in model.opset_import}
    return int(versions.get("", versions.get("ai.onnx", 1)))
