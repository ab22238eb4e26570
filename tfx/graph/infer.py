"""Element types and shapes of a node's outputs: onnx's own inference, node by node, remembered.

onnx infers one node in about 30 us. A graph repeats itself, so results are kept by operator,
attributes, input types and the contents of those inputs that decide shapes (``Reshape``'s shape).
On top of it, small integer vectors made from shapes are followed symbolically (``Value.dims``),
which onnx does for whole models only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnx.checker
import onnx.shape_inference

from tfx.core import dtypes
from tfx.core.dims import format_shape, is_static
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.graph import ir, schema, shape_rules
from tfx.graph.ir import RawShape, Value
from tfx.graph.other_domains import infer_other
from tfx.graph.serialization import protos
from tfx.graph.shape_code import contents
from tfx.graph.traits import traits
from tfx.graph.window_attributes import window_problem

Types = list[tuple[int, RawShape]]

_memo: dict[Any, Types] = {}
_MEMO_LIMIT = 50_000
# Defaults that onnx's inference takes for others.
_UNSAID: dict[str, ir.Attributes] = {"STFT": {"onesided": 1}}
# Contents longer than this never decide a shape.
_DATA_LIMIT = 64
# What onnx lets pass and ends the process.
_LEAST_RANK = {"ReverseSequence": 2, "STFT": 2}
# How onnx says that an element type is the mistake, not a shape.
_WRONG_DTYPE = re.compile("has (unsupported|inconsistent) type")


def infer(
    op: str, inputs: Sequence[Value | None], attrs: ir.Attributes, outputs: int | None = None
) -> Types:
    """Types of a node's outputs.

    Args:
        op: ONNX operator.
        inputs: The values it is applied to.
        attrs: Its attributes.
        outputs: How many outputs are wanted; None: all that the operator always has.

    Raises:
        DTypeMismatchError: the operator does not take these dtypes.
        InvalidArgumentError: onnx refuses the combination; the message shows every input's type.
    """
    key = None if attrs or len(inputs) != 2 else _key_of_two(op, inputs, outputs)
    if key is None:
        key = (
            op,
            outputs,
            ir.attributes_key(attrs) if attrs else (),
            *[
                v and (v.dtype, v.shape, v.dims if v.const is None else _data_key(v.const))
                for v in inputs
            ],
        )
    types = _memo.get(key)
    if types is None:
        if len(_memo) >= _MEMO_LIMIT:
            _memo.clear()
        types = _memo[key] = _infer(op, inputs, attrs, outputs)
    return types


def _key_of_two(op: str, inputs: Sequence[Value | None], outputs: int | None) -> Any:
    """Return the key of an operator on two values with unknown contents; None for others."""
    x, y = inputs
    if x is None or y is None or x.const is not None or y.const is not None:
        return None
    if x.dims is not None or y.dims is not None:
        return None
    return op, outputs, x.dtype, x.shape, y.dtype, y.shape


def _data_key(const: np.ndarray[Any, Any]) -> bytes | None:
    return const.tobytes() if const.size <= _DATA_LIMIT and not const.dtype.hasobject else None


def _infer(
    op: str, inputs: Sequence[Value | None], attrs: ir.Attributes, outputs: int | None
) -> Types:
    operator = schema.operator(op)
    schema.check_attributes(operator, attrs)
    _check_arity(operator, inputs)
    _check_inputs(op, inputs, attrs)
    count = _output_count(operator, attrs, outputs)
    if schema.is_other(op):
        try:
            return infer_other(operator, inputs, attrs, count)
        except InvalidArgumentError as e:
            raise InvalidArgumentError(refusal(op, inputs, e.message), op=op) from e
    types = _infer_by_onnx(operator, inputs, attrs, count)
    if op == "Attention":
        types = [(code, _without_zeros(shape, inputs)) for code, shape in types]
    types = shape_rules.refine_shapes(op, inputs, attrs, types)
    if op == "Reshape":
        _check_element_count(inputs, types[0][1])
    return types


def _check_inputs(op: str, inputs: Sequence[Value | None], attrs: ir.Attributes) -> None:
    """Refuse what onnx's inference would let pass."""
    least, first = _LEAST_RANK.get(op), inputs[0] if inputs else None
    if least and first is not None and first.shape is not None and len(first.shape) < least:
        reason = f"the first input must have {least} axes or more"
        raise InvalidArgumentError(refusal(op, inputs, reason), op=op)
    if traits(op).window and (reason := window_problem(op, inputs, attrs)):
        raise InvalidArgumentError(refusal(op, inputs, reason), op=op)


def _infer_by_onnx(
    operator: schema.Operator, inputs: Sequence[Value | None], attrs: ir.Attributes, count: int
) -> Types:
    """What onnx's inference for a single node says."""
    op = operator.name
    node = onnx.NodeProto(op_type=op)
    known_types: dict[str, onnx.TypeProto] = {}
    known_data: dict[str, onnx.TensorProto] = {}
    for i, value in enumerate(inputs):
        if value is None:
            node.input.append("")
            continue
        name = f"i{i}"
        node.input.append(name)
        known_types[name] = protos.type_proto(value.dtype, value.shape)
        data = _known_data(value)
        if data is not None:
            known_data[name] = protos.tensor_proto(data, value.dtype)
    node.output.extend(f"o{i}" for i in range(count))
    for name, value_ in {**_UNSAID.get(op, {}), **attrs}.items():
        if not isinstance(value_, ir.Graph):
            node.attribute.append(
                protos.attribute_proto(name, value_, operator.attributes[name][0])
            )
    try:
        found = onnx.shape_inference.infer_node_outputs(
            operator.schema,
            node,
            known_types,
            known_data,
            opset_imports=[onnx.helper.make_opsetid("", operator.opset)],
            ir_version=schema.IR_VERSION,
        )
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError) as e:
        kind = DTypeMismatchError if _WRONG_DTYPE.search(str(e)) else InvalidArgumentError
        raise kind(refusal(op, inputs, str(e)), op=op) from e
    types: Types = []
    for name in node.output:
        if name not in found:
            raise InvalidArgumentError(
                refusal(op, inputs, f"the type of output {name!r} cannot be inferred"), op=op
            )
        types.append(protos.type_of(found[name], sequences=True))
    return types


def _without_zeros(shape: RawShape, inputs: Sequence[Value | None]) -> RawShape:
    """Inference takes an unknown dimension of ``Attention``'s inputs for 0 and computes with it."""
    if shape is None or any(v is not None and v.shape and 0 in v.shape for v in inputs):
        return shape
    return tuple(None if d == 0 else d for d in shape)


def _check_element_count(inputs: Sequence[Value | None], result: RawShape) -> None:
    """Refuse a Reshape to another number of elements, which onnx lets pass."""
    source = inputs[0].shape if inputs[0] is not None else None
    counts = [
        math.prod(d for d in shape if isinstance(d, int))
        for shape in (source, result)
        if is_static(shape)
    ]
    if len(counts) == 2 and counts[0] != counts[1]:
        reason = f"{counts[0]} elements cannot have the shape {format_shape(result)}"
        raise InvalidArgumentError(refusal("Reshape", inputs, reason), op="Reshape")


def _known_data(value: Value) -> np.ndarray[Any, Any] | None:
    if value.const is not None and value.const.size > _DATA_LIMIT:
        return None
    return contents(value)


def _check_arity(operator: schema.Operator, inputs: Sequence[Value | None]) -> None:
    if not operator.min_inputs <= len(inputs) <= operator.max_inputs:
        raise InvalidArgumentError(
            f"ONNX operator {operator.name} takes {operator.min_inputs} to {operator.max_inputs} "
            f"inputs ({', '.join(operator.inputs)}); got {len(inputs)}."
        )


def _output_count(operator: schema.Operator, attrs: ir.Attributes, outputs: int | None) -> int:
    if outputs is None:
        # Split says it itself, and must have as many as it says.
        return max(1, operator.min_outputs, int(attrs.get("num_outputs", 1)))
    if not operator.min_outputs <= outputs <= operator.max_outputs:
        raise InvalidArgumentError(
            f"ONNX operator {operator.name} has {operator.min_outputs} to {operator.max_outputs} "
            f"outputs; {outputs} were asked for."
        )
    return outputs


def describe(value: Value | None) -> str:
    """``float32[2, batch]`` for messages."""
    if value is None:
        return "nothing"
    name = dtypes.from_onnx(value.dtype).name
    return f"{name}<unknown rank>" if value.shape is None else f"{name}{format_shape(value.shape)}"


def refusal(op: str, inputs: Sequence[Value | None], reason: str) -> str:
    """A message for an operator that cannot be applied to these inputs."""
    reason = reason.split("[ShapeInferenceError]")[-1].split("[TypeInferenceError]")[-1].strip()
    given = ", ".join(describe(v) for v in inputs)
    return f"{op} cannot be applied to ({given}): {reason}"
