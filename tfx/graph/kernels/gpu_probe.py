"""A test whether a GPU has a kernel for a node, by compiling the node alone.

ONNX Runtime lists the CPU provider's kernels, but not those of CUDA: listing them makes every
provider there is, and one whose libraries are missing ends the process. Asked only for nodes that
the CPU has no kernel for, once for each operator and types.
"""

from __future__ import annotations

from typing import Any

from tfx.core.errors import OpError
from tfx.graph.ir import Graph, Node
from tfx.graph.serialization.serialize import to_model
from tfx.runtime.session import Session

_known: dict[Any, bool] = {}


def runs_on_gpu(node: Node, device: str) -> bool:
    """True if a node has a kernel on a device that is a GPU; False for other devices.

    Args:
        node: A node without bodies (one with bodies: False).
        device: Canonical device name.
    """
    if device.startswith("CPU") or any(isinstance(a, Graph) for a in node.attrs.values()):
        return False
    inputs = tuple(None if v is None else v.dtype for v in node.inputs)
    key = (node.op, inputs, tuple(v.dtype for v in node.outputs), device)
    found = _known.get(key)
    if found is None:
        found = _known[key] = _compiles(node, device)
    return found


def _compiles(node: Node, device: str) -> bool:
    alone = Graph(node.op)
    given = [
        None if v is None else alone.add_input(f"x{i}", v.dtype, None)
        for i, v in enumerate(node.inputs)
    ]
    types = [(v.dtype, None) for v in node.outputs]
    alone.outputs = list(alone.add_node(node.op, given, node.attrs, types, name=node.op).outputs)
    try:
        Session(to_model(alone).SerializeToString(), device=device)
    except OpError:
        return False
    return True
