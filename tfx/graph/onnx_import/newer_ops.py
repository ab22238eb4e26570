"""Operators newer than what the runtime takes, as the functions that the standard says they are.

``LinearAttention`` and ``CausalConvWithState`` came with opset 27; their bodies use what opset 26
has, so models with them run, and have derivatives, like models with local functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx
import onnx.defs

from tfx.graph import schema
from tfx.graph.ir import Value
from tfx.graph.serialization import protos


def newer_function(
    name: str, opset: int, given: Sequence[Any], attributes: Sequence[onnx.AttributeProto]
) -> onnx.FunctionProto | None:
    """Return the function that defines an operator of a newer opset in older operators.

    Args:
        name: The operator.
        opset: The model's opset.
        given: The values that it is applied to, None where one is left out.
        attributes: Its attributes.

    Returns:
        None: it is an operator of ``schema.MAX_OPSET``, or the standard has no function for it.
    """
    if opset <= schema.MAX_OPSET or not schema.changed_after(name, opset):
        return None
    try:
        found: Any = onnx.defs.get_schema(name, opset, "")
    except onnx.defs.SchemaError:
        return None
    if found.has_function:
        body: onnx.FunctionProto = found.function_body
        return body
    versions = [v for v in found.context_dependent_function_opset_versions if v <= opset]
    if not found.has_context_dependent_function or not versions:
        return None
    node = onnx.NodeProto(op_type=name, attribute=attributes)
    node.input.extend("" if v is None else f"i{k}" for k, v in enumerate(given))
    node.output.extend(p.name for p in found.outputs)
    types = [
        protos.type_proto(v.dtype, v.shape) if isinstance(v, Value) else onnx.TypeProto()
        for v in given
    ]
    made = onnx.FunctionProto()
    made.ParseFromString(
        found.get_context_dependent_function_with_opset_version(
            versions[-1], node.SerializeToString(), [t.SerializeToString() for t in types]
        )
    )
    return made
