"""onnx's own node tests: models of one node with inputs and expected outputs.

The collector is semi-private API of onnx, so it is used in this one place.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import onnx

from tfx import raw
from tfx.graph import schema
from tfx.graph.serialization import protos


class Case(NamedTuple):
    """One node test: an operator on tensors, its attributes, and what must come out."""

    name: str
    op: str
    attrs: dict[str, Any]
    inputs: tuple[np.ndarray | None, ...]
    outputs: tuple[np.ndarray | None, ...]
    node: onnx.NodeProto


@functools.cache
def cases(*, training: bool = False) -> tuple[Case, ...]:
    """The tests of operators that ``tfx.raw`` has, on types that NumPy and ONNX Runtime know.

    Args:
        training: Those of training modes too.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        collected = collect_testcases("")
    found = (_case(c) for c in collected if training or "training_mode" not in c.name)
    return tuple(c for c in found if c is not None)


def rounding(dtype: Any) -> float:
    """The relative distance of two numbers of a dtype; 0 for integers, which are not rounded."""
    try:
        return float(ml_dtypes.finfo(dtype).eps)
    except ValueError:
        return 0.0


def _case(item: Any) -> Case | None:
    graph = item.model.graph
    if len(graph.node) != 1 or graph.initializer or len(item.data_sets) != 1:
        return None
    node = graph.node[0]
    if node.domain or node.op_type in raw.EXCLUDED or node.op_type not in raw.names():
        return None
    if "_expanded" in item.name:
        return None
    inputs, outputs = item.data_sets[0]
    if not all(_usable(v) for v in (*inputs, *outputs)):
        return None
    rest = iter(inputs)
    given = tuple(_array(next(rest)) if n else None for n in node.input)
    rest = iter(outputs)
    wanted = tuple(_array(next(rest)) if n else None for n in node.output)
    attrs = {a.name: _attribute(a) for a in node.attribute}
    if any(isinstance(v, onnx.GraphProto) for v in attrs.values()):
        return None
    operator = schema.operator(node.op_type)
    if any(name not in operator.attributes for name in attrs):
        return None  # an attribute newer than the opset that graphs are written in
    return Case(item.name, node.op_type, attrs, given, wanted, node)


def _usable(value: Any) -> bool:
    if isinstance(value, onnx.TensorProto):
        return value.data_type in _TYPES
    return isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "fiubSUO"


_TYPES = frozenset((1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16))


def _array(value: Any) -> np.ndarray:
    if isinstance(value, onnx.TensorProto):
        return protos.tensor_array(value)
    return np.asarray(value)


def _attribute(attribute: onnx.AttributeProto) -> Any:
    if attribute.type == onnx.AttributeProto.TENSOR:
        return protos.tensor_array(attribute.t)
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list | tuple):
        return [v.decode() if isinstance(v, bytes) else v for v in value]
    return value
