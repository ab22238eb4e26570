"""What constant values hold, computed while a plan is made, for passes that bring it into order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfx.core.errors import OpError
from tfx.graph.ir import KERNEL_OPERATORS, Graph, Node, Value
from tfx.graph.makers import Makers
from tfx.graph.serialization.serialize import to_model
from tfx.runtime.session import Session
from tfx.runtime.values import RawValue, to_numpy

Array = np.ndarray[Any, Any]


def constant_contents(
    values: Sequence[Value], made: Makers, known: Mapping[Value, RawValue]
) -> list[Array] | None:
    """Return the contents of values that are made of constants and known inputs alone.

    What ONNX Runtime has to compute is computed by one session.

    Args:
        values: The values.
        made: The nodes that make them.
        known: Contents of inputs that never change.

    Returns:
        An array for each, which must not be written to; None if one cannot be computed.
    """
    found = {id(v): _at_hand(v, made, known) for v in values}
    missing = list({id(v): v for v in values if found[id(v)] is None}.values())
    if missing:
        computed = _computed(missing, made, known)
        if computed is None:
            return None
        found.update(zip(map(id, missing), computed, strict=True))
    arrays = [found[id(v)] for v in values]
    return [array for array in arrays if array is not None]


def _at_hand(value: Value, made: Makers, known: Mapping[Value, RawValue]) -> Array | None:
    """The contents of a constant or known value, or of one that is transposed: no copy."""
    if value.const is not None:
        return np.asarray(value.const)
    if value in known:
        return to_numpy(known[value])
    turned = made.by(value, "Transpose")
    source = None if turned is None else turned.inputs[0]
    if turned is None or source is None:
        return None
    array = _at_hand(source, made, known)
    return None if array is None else array.transpose(turned.attrs.get("perm"))


def _computed(
    values: Sequence[Value], made: Makers, known: Mapping[Value, RawValue]
) -> list[Array] | None:
    part = Graph("constants")
    nodes: dict[int, Node] = {}
    sources: dict[int, Value] = {}
    for value in values:
        if not _collect(value, made, nodes, sources):
            return None
    part.nodes = list(nodes.values())
    part.constants = [v for v in sources.values() if v.const is not None]
    part.inputs = [v for v in sources.values() if v.const is None]
    if any(v not in known for v in part.inputs):
        return None
    part.outputs = list(values)
    names = [f"%in{i}" for i in range(len(part.inputs))]
    try:
        model = to_model(
            part,
            input_names=names,
            output_names=[f"%out{i}" for i in range(len(values))],
        )
        session = Session(model.SerializeToString(), folds=False)
        results = session.run(dict(zip(names, (known[v] for v in part.inputs), strict=True)))
    except OpError:
        return None
    return [np.array(to_numpy(results[i])) for i in range(len(values))]


def _collect(value: Value, made: Makers, nodes: dict[int, Node], sources: dict[int, Value]) -> bool:
    """Note what makes a value, each node behind those that it needs; False: there is no way."""
    node = made.any(value)
    if node is None:
        sources[id(value)] = value
        return True
    if id(node) in nodes:
        return True
    if node.op in KERNEL_OPERATORS or any(True for _ in node.bodies()):
        return False
    if not all(_collect(v, made, nodes, sources) for v in node.inputs if v is not None):
        return False
    nodes[id(node)] = node
    return True
