"""Types of inputs as models declare them, and of the results of operators with bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import onnx

from tfx.core import dtypes
from tfx.core.dims import common_shape
from tfx.core.errors import BundleError, OpError, UnimplementedError
from tfx.graph.ir import Graph, RawShape, Value
from tfx.graph.serialization import protos

Type: TypeAlias = "tuple[int, RawShape]"


def tensor_type(item: onnx.ValueInfoProto) -> tuple[int, RawShape]:
    """Dtype and shape of an input; an optional one has those of its contents.

    Some exporters write -1 for a size that they do not know.

    Raises:
        UnimplementedError: it is neither a tensor nor a sequence of tensors.
    """
    kind = item.type
    if kind.WhichOneof("value") == "optional_type":
        kind = kind.optional_type.elem_type
    try:
        dtype, shape = protos.type_of(kind, sequences=True)
        if dtype in (0, dtypes.SEQUENCE):
            raise BundleError(f"input {item.name!r} has no element type.")
        dtypes.from_onnx(dtype)
    except BundleError:
        raise
    except (OpError, TypeError, ValueError) as e:
        raise UnimplementedError(
            f"input {item.name!r} cannot be one of a function: {e}; expected a tensor, a sequence "
            "of tensors or an optional one, of a dtype that tfx has"
        ) from e
    if shape is not None:
        shape = tuple(None if isinstance(d, int) and d < 0 else d for d in shape)
    return dtype, shape


def is_optional(item: onnx.ValueInfoProto) -> bool:
    """True if an input is of an optional type."""
    return bool(item.type.WhichOneof("value") == "optional_type")


def formal_types(op: str, given: Sequence[Any], scans: int) -> list[Type | None]:
    """Types of the inputs of a body, which need not declare them.

    Args:
        op: If, Loop, Scan or SequenceMap.
        given: What the operator is applied to.
        scans: How many inputs a Scan goes through.
    """
    types = [(v.dtype, v.shape) if isinstance(v, Value) else None for v in given]
    if op == "Loop":  # what is carried may change its shape
        carried = [None if t is None else (t[0], None) for t in types[2:]]
        return [(dtypes.int64.onnx, ()), (dtypes.bool.onnx, ()), *carried]
    if op == "Scan":
        states = len(types) - scans
        return [
            t if t is None or i < states else (t[0], None if not t[1] else t[1][1:])
            for i, t in enumerate(types)
        ]
    return []


def body_types(
    op: str, bodies: list[Graph], attrs: dict[str, Any], inputs: Sequence[Value | None]
) -> list[tuple[int, RawShape]]:
    """Output types of If, Loop, Scan and SequenceMap from their bodies.

    Raises:
        BundleError: bodies and inputs do not fit.
    """
    if op == "If":
        if len(bodies) != 2 or len(bodies[0].outputs) != len(bodies[1].outputs):
            raise BundleError("the branches of an If have different numbers of results.")
        pairs = list(zip(bodies[0].outputs, bodies[1].outputs, strict=True))
        if any(a.dtype != b.dtype for a, b in pairs):
            raise BundleError("the branches of an If give tensors of different dtypes.")
        return [(a.dtype, common_shape(a.shape, b.shape)) for a, b in pairs]
    body = bodies[0]
    if op == "SequenceMap":
        return [(dtypes.SEQUENCE + v.dtype, None) for v in body.outputs]
    if op == "Loop":
        carried, results = len(body.inputs) - 2, body.outputs[1:]
        fits = len(inputs) == carried + 2
    else:
        carried, results = len(body.inputs) - int(attrs["num_scan_inputs"]), body.outputs
        fits = len(inputs) == len(body.inputs)
    if carried < 0 or len(results) < carried or not fits:
        raise BundleError(f"the body of a {op} does not fit its {len(inputs)} inputs.")
    first = inputs[len(inputs) - carried :] if op == "Loop" else inputs[:carried]
    types: list[tuple[int, RawShape]] = []
    for i, value in enumerate(results):
        if i < carried:
            start = first[i]
            shape = common_shape(value.shape, None if start is None else start.shape)
            types.append((value.dtype, shape))
        else:
            types.append((value.dtype, None if value.shape is None else (None, *value.shape)))
    return types
