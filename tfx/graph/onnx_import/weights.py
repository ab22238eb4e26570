"""The choice of a model's constants that become variables, and of those that are trained.

Floating-point initializers do, except scalars and what operators take as a setting (scales of a
Resize, bounds of a Clip, parameters of a quantization). Whole numbers decide shapes and stay
constants, so that shapes stay static; large tables of them become variables that are not trained.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from tfx.core import dtypes
from tfx.core.errors import OpError
from tfx.graph.onnx_import.attributes import constant_tensor
from tfx.graph.quantized_operators import makes_integers
from tfx.graph.schema import key_of
from tfx.graph.serialization import protos
from tfx.graph.serialization.models import ForeignModel
from tfx.graph.traits import traits

# Inputs, by operator, that are settings.
_SETTINGS: Mapping[str, tuple[int, ...]] = {
    "Clip": (1, 2),
    "DequantizeLinear": (1, 2),
    "Dropout": (1, 2),
    "NonMaxSuppression": (2, 3, 4),
    "OneHot": (1, 2),
    "Pad": (1, 2, 3),
    "QuantizeLinear": (1, 2),
    "Range": (0, 1, 2),
    "Resize": (1, 2, 3),
    "Tile": (1, 2),
    "Upsample": (1,),
    "com.microsoft::DynamicQuantizeMatMul": (2, 3),
    "com.microsoft::GroupQueryAttention": (7, 8),
    "com.microsoft::MatMulIntegerToFloat": (2, 3, 4, 5),
    "com.microsoft::MatMulNBits": (2, 3, 4),
    "com.microsoft::QAttention": (3, 4, 6, 7),
    "com.microsoft::QGemm": (1, 2, 4, 5, 7, 8),
    "com.microsoft::RotaryEmbedding": (2, 3),
}
# Inputs that are statistics: variables, but not for training.
_STATISTICS: Mapping[str, tuple[int, ...]] = {"BatchNormalization": (3, 4)}
_LARGE = 1024


@dataclass(frozen=True, slots=True)
class Weight:
    """A constant that can be a variable.

    Attributes:
        array: Its contents.
        default: Whether it is one if nobody says otherwise.
        trainable: Whether it is one for training, likewise.
    """

    array: np.ndarray[Any, Any]
    default: bool
    trainable: bool


def find_weights(loaded: ForeignModel) -> dict[str, Weight]:
    """Every constant of a model that can be a variable, by name: main graph first, then bodies."""
    model = loaded.proto
    uses = _uses(model)
    found = {name: _weight(a, uses.get(name, ())) for name, a in loaded.arrays().items()}
    inner = [t for g in _bodies(model.graph.node) for t in g.initializer]
    counts = Counter(_names_made(model.graph))
    for tensor in inner:
        if counts[tensor.name] == 1:
            array = _contents(loaded, tensor)
            if array is not None:
                found[tensor.name] = _weight(array, uses.get(tensor.name, ()))
    for node in model.graph.node:
        if node.op_type == "Constant" and not node.domain and len(node.attribute) == 1:
            array = _constant(loaded, node)
            if array is not None and counts[node.output[0]] == 1:
                found[node.output[0]] = Weight(array, default=False, trainable=False)
    for sparse in model.graph.sparse_initializer:
        found.pop(sparse.values.name, None)
    return found


def _weight(array: np.ndarray[Any, Any], users: Iterable[tuple[str, int]]) -> Weight:
    users = list(users)
    setting = any(_is_setting(op, k) for op, k in users)
    if not is_float(array):
        large = array.nbytes >= _LARGE and array.dtype != np.object_
        shape = any(k in traits(op).size_from for op, k in users)
        return Weight(array, default=large and not shape and not setting, trainable=False)
    statistic = any(k in _STATISTICS.get(op, ()) for op, k in users)
    default = array.ndim > 0 and array.size > 0 and not setting
    finite = default and bool(np.isfinite(array).all())
    return Weight(array, default=default, trainable=finite and not statistic)


def _is_setting(op: str, number: int) -> bool:
    if number == 0 and makes_integers(op):  # a weight that training with quantization rounds
        return False
    return number in _SETTINGS.get(op, ()) or "Linear" in op


def is_float(array: np.ndarray[Any, Any]) -> bool:
    """True if an array has floating-point numbers."""
    return bool(dtypes.as_dtype(array.dtype).is_floating)


def _constant(loaded: ForeignModel, node: onnx.NodeProto) -> np.ndarray[Any, Any] | None:
    try:
        return _contents(loaded, constant_tensor(node.attribute[0]))
    except (OpError, ValueError):
        return None  # reading the graph says what is wrong


def _contents(loaded: ForeignModel, tensor: onnx.TensorProto) -> np.ndarray[Any, Any] | None:
    try:
        dtype = dtypes.from_onnx(tensor.data_type)
        if dtype is dtypes.string or any(d < 0 for d in tensor.dims):
            return None
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            return loaded.external(tensor)
        return protos.tensor_array(tensor)
    except (TypeError, ValueError):
        return None


def _bodies(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.GraphProto]:
    waiting = list(nodes)
    while waiting:
        for attribute in waiting.pop().attribute:
            inner = [attribute.g] if attribute.HasField("g") else []
            for body in (*inner, *attribute.graphs):
                yield body
                waiting.extend(body.node)


def _names_made(graph: onnx.GraphProto) -> Iterator[str]:
    """Every name that a graph or a body of it gives to a value."""
    for g in (graph, *_bodies(graph.node)):
        stored = {t.name for t in g.initializer}
        yield from stored
        yield from (i.name for i in g.input if i.name not in stored)
        for node in g.node:
            yield from (name for name in node.output if name)


def _uses(model: onnx.ModelProto) -> dict[str, list[tuple[str, int]]]:
    """Operator and position of each use of a name, bodies included."""
    uses: dict[str, list[tuple[str, int]]] = {}
    for graph in (model.graph, *_bodies(model.graph.node)):
        for node in graph.node:
            key = key_of("" if node.domain == "ai.onnx" else node.domain, node.op_type)
            for i, name in enumerate(node.input):
                uses.setdefault(name, []).append((key, i))
    return uses
