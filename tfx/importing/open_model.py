"""A model file, its bytes or a ``ModelProto``: opened, with its data where it is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.graph.serialization.external_weights import map_file, split_payloads
from tfx.graph.serialization.models import ForeignModel, parse_model


def open_model(model: Any) -> ForeignModel:
    """Open a model.

    Args:
        model: Path of a model file (external data is read below its folder, nowhere else), its
            bytes, or an ``onnx.ModelProto``.

    Raises:
        NotFoundError: no such file.
        BundleError: not an ONNX model.
        InvalidArgumentError: something else was given.
    """
    if isinstance(model, bytes | bytearray | memoryview):
        data, payloads = split_payloads(memoryview(model), "the model")
        proto = parse_model(data, "the model")
        return ForeignModel(proto, "the model", None, payloads, ports=False)
    if isinstance(model, str | os.PathLike):
        path = Path(os.fsdecode(model))
        data, payloads = split_payloads(map_file(path), str(path))
        proto = parse_model(data, str(path))
        return ForeignModel(proto, str(path), path.parent, payloads, ports=False)
    if not hasattr(model, "graph") or not hasattr(model, "opset_import"):
        raise InvalidArgumentError(
            f"model is {model!r:.100} of type {type(model).__name__}, expected the path of an ONNX "
            "file, its bytes or an onnx.ModelProto."
        )
    # A copy: the caller's may change while this one is in use.
    return ForeignModel(
        parse_model(model.SerializeToString(), "the model"), "the model", ports=False
    )
