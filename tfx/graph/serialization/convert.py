"""Models at another opset, or with their weights in a narrower type.

The one decision: onnx's own converter does the work. What it does not know is taken away before and
put back after: local functions are inlined, and weights in other files become inputs meanwhile.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx.checker
import onnx.inliner
import onnx.version_converter

from tfx.core.errors import UnimplementedError
from tfx.graph.serialization.models import parse_model
from tfx.graph.serialization.standalone import opset_of

# Shorter constants stay as they are.
_LEAST_NARROWED = 64


def inlined(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model without local functions."""
    return onnx.inliner.inline_local_functions(model) if model.functions else model


def to_opset(model: onnx.ModelProto, opset: int, name: str) -> onnx.ModelProto:
    """A model at another version of the standard operators.

    Args:
        model: The model; weights in other files stay where they are.
        opset: The version.
        name: What to call it in messages.

    Raises:
        UnimplementedError: the converter cannot do it; the message says why.
    """
    if opset_of(model) == opset and not model.functions:
        return model
    model = inlined(model)
    outside = [t for t in model.graph.initializer if t.external_data]
    held = [t for t in model.graph.initializer if not t.external_data]
    declared = {item.name for item in model.graph.input}
    lent = [t for t in outside if t.name not in declared]
    del model.graph.initializer[:]
    model.graph.initializer.extend(held)
    model.graph.input.extend(
        onnx.helper.make_tensor_value_info(t.name, t.data_type, tuple(t.dims)) for t in lent
    )
    try:
        made = onnx.version_converter.convert_version(model, opset)
        _give_back(made, outside, {t.name for t in lent})
        onnx.checker.check_model(_without_data(made))
    except Exception as e:  # the converter raises what C++ throws
        reason = " ".join(str(e).split())[:300]
        raise UnimplementedError(
            f"{name}: it cannot be brought to opset {opset}: {reason or type(e).__name__}; try "
            "another opset, nearer to "
            f"{opset_of(model)}"
        ) from e
    return made


def parsed_to_opset(data: bytes, path: str, opset: int) -> bytes:
    """The bytes of a model at another opset; see ``to_opset``."""
    made = to_opset(parse_model(data, path), opset, path)
    return bytes(made.SerializeToString(deterministic=True))


def _give_back(made: onnx.ModelProto, outside: list[Any], lent: set[str]) -> None:
    inputs = [item for item in made.graph.input if item.name not in lent]
    del made.graph.input[:]
    made.graph.input.extend(inputs)
    made.graph.initializer.extend(outside)


def _without_data(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy for the checker, which wants external data to be there."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    outside = [t for t in copy.graph.initializer if t.external_data]
    kept = [t for t in copy.graph.initializer if not t.external_data]
    del copy.graph.initializer[:]
    copy.graph.initializer.extend(kept)
    declared = {item.name for item in copy.graph.input}
    copy.graph.input.extend(
        onnx.helper.make_tensor_value_info(t.name, t.data_type, tuple(t.dims))
        for t in outside
        if t.name not in declared
    )
    return copy


def to_bfloat16_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model whose float32 weights are stored as bfloat16, and cast before they are used.

    It computes in float32: CPUs have few kernels for bfloat16. The weights are rounded to nearest
    by ml_dtypes.
    """
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    declared = {item.name for item in graph.input}
    casts = []
    for tensor in graph.initializer:
        count = int(np.prod(tensor.dims, dtype=np.int64))
        floats = tensor.data_type == onnx.TensorProto.FLOAT and tensor.name not in declared
        if not floats or count < _LEAST_NARROWED:
            continue
        array = onnx.numpy_helper.to_array(tensor).astype(ml_dtypes.bfloat16)
        name = tensor.name
        narrow = f"{name}.bfloat16"
        tensor.CopyFrom(
            onnx.TensorProto(
                name=narrow,
                data_type=onnx.TensorProto.BFLOAT16,
                dims=tensor.dims,
                raw_data=array.tobytes(),
            )
        )
        casts.append(
            onnx.helper.make_node(
                "Cast", [narrow], [name], name=f"{name}/Cast", to=onnx.TensorProto.FLOAT
            )
        )
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    return made
