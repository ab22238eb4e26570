"""Calls of graphs that a library of Python's computes as well: plans of the CPU have it do so.

A decomposition of a matrix is a long loop of small operators in ONNX, and one call of LAPACK. The
call becomes a step of the plan, and so does a long Fourier transform; within branches and loops it
stays what it is, as a step there would have Python drive them. Matrices that are known to be small
stay, too: a step costs more, and the fused kernels have routines for some, which are as quick up to
a hundred rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tfx.core import dtypes
from tfx.framework.tensor import from_array
from tfx.graph.ir import CALL, HOST, Graph, HostCall, Node, Value
from tfx.graph.passes.inline_calls import expand_calls
from tfx.graph.passes.kernel_operators.matrices import matrix_operation
from tfx.kernels.library import usable_library
from tfx.ops.signal import dft_by_numpy

# Rows and columns up to which a loop in the graph takes less time than another step of the plan.
_SMALL = 3
# Likewise where the fused kernels have a routine: rotations take many sweeps.
_SMALL_FOR_KERNELS, _SMALL_FOR_ROTATIONS = 128, 24


def with_host_routines(graph: Graph, device: str) -> Graph:
    """A graph in which steps of Python stand for the calls that have a routine.

    Args:
        graph: What is about to be compiled; it stays as it is.
        device: Canonical name of the device of nodes that name none.
    """
    steps = _Steps(has_kernels=usable_library(graph.fuses) is not None)
    if not any(steps.wants(node, device) or steps.are_in(node, device) for node in graph.nodes):
        return graph
    flat = expand_calls(graph, lambda call: steps.are_in(call, device))
    flat.nodes = [_step(node) if steps.wants(node, device) else node for node in flat.nodes]
    return flat


class _Steps:
    """Which calls become steps."""

    def __init__(self, *, has_kernels: bool) -> None:
        self._has_kernels = has_kernels
        self._known: dict[int, bool] = {}

    def wants(self, node: Node, device: str) -> bool:
        """True if a node is such a call, or a transform."""
        if node.op == "DFT":
            return _is_long(node) and (node.device or device).startswith("CPU")
        if node.op != CALL or node.attrs["graph"].routine is None:
            return False
        least = node.attrs["graph"].routine_from
        if least is not None:
            return _has_many(node.inputs[0], least) and (node.device or device).startswith("CPU")
        operation = matrix_operation(node) if self._has_kernels else None
        most = _SMALL
        if operation is not None:
            most = _SMALL_FOR_ROTATIONS if operation.rotates else _SMALL_FOR_KERNELS
        matrix = node.inputs[0]
        shape = None if matrix is None else matrix.shape
        small = shape is not None and all(isinstance(d, int) and d <= most for d in shape[1:])
        return not small and (node.device or device).startswith("CPU")

    def are_in(self, node: Node, device: str) -> bool:
        """True if a call's own graph, or one that it calls, has such a call."""
        if node.op != CALL or node.attrs["graph"].routine is not None:
            return False
        callee: Graph = node.attrs["graph"]
        found = self._known.get(id(callee))
        if found is None:
            where = node.device or device
            found = any(self.wants(n, where) or self.are_in(n, where) for n in callee.nodes)
            self._known[id(callee)] = found
        return found


def _has_many(x: Value | None, least: int) -> bool:
    """True if a value has so many elements, or may have."""
    if x is None or x.shape is None or not all(isinstance(d, int) for d in x.shape):
        return True
    return math.prod([d for d in x.shape if isinstance(d, int)]) >= least


def _is_long(transform: Node) -> bool:
    """True if NumPy computes a transform sooner, by what is known of its sizes."""
    x, length, axis = [*transform.inputs, None, None][:3]
    if x is None or length is not None or (axis is not None and axis.const is None):
        return False
    both = transform.attrs.get("inverse", 0) and transform.attrs.get("onesided", 0)
    if both or x.shape is None or dtypes.from_onnx(x.dtype) not in dft_by_numpy.KINDS:
        return False
    return _has_many(x, dft_by_numpy.LEAST)


def _step(node: Node) -> Node:
    if node.op == "DFT":
        return _step_of_transform(node)
    callee: Graph = node.attrs["graph"]
    assert callee.routine is not None
    call = HostCall(callee.name, callee.routine, "by NumPy", effect=False)
    return node.replaced(attrs={"call": call}, op=HOST, device=None)


def _step_of_transform(node: Node) -> Node:
    axis = node.inputs[2] if len(node.inputs) > 2 else None
    place = -2 if axis is None or axis.const is None else int(axis.const)

    def run(given: Sequence[Any]) -> list[Any]:
        found = dft_by_numpy.transformed(given[0].view(), place, **node.attrs)
        return [from_array(found, owned=True)]

    call = HostCall("DFT", run, "by NumPy", effect=False)
    return node.replaced([node.inputs[0]], attrs={"call": call}, op=HOST, device=None)
