"""Operators that lose precision or do not exist in some type, written with ones that do.

Each entry takes the graph under construction and the node, appends the replacement (which must end
in the node's own output values) and returns True, or returns False to let casts do the work.
``DECOMPOSITIONS`` are asked where there is no kernel, ``CORRECTIONS`` where there is a wrong one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tfx.graph.infer import infer
from tfx.graph.ir import Attributes, Graph, Node, Value
from tfx.graph.passes import formulas, windows

_INT32, _INT64, _DOUBLE, _UINT32, _UINT64 = 6, 7, 11, 12, 13


class _Writer:
    """Appends nodes named after the one that they replace. It is a ``formulas.Formula``."""

    def __init__(self, out: Graph, node: Node) -> None:
        self._out = out
        self._node = node

    def op(self, name: str, *inputs: Value) -> Value:
        return self.add(name, inputs, {})

    def cast(self, x: Value, dtype: int) -> Value:
        return self.add("Cast", (x,), {"to": dtype})

    def number(self, value: float) -> Value:
        return self._out.add_constant(np.array(value, np.float64), _DOUBLE)

    def ints(self, values: Sequence[int]) -> Value:
        return self._out.add_constant(np.array(values, np.int64), _INT64)

    def add(self, name: str, inputs: tuple[Value | None, ...], attrs: Attributes) -> Value:
        types = infer(name, inputs, attrs)
        label = f"{self._node.name}_{name.lower()}"
        made = self._out.add_node(name, inputs, attrs, types, name=label, source=self._node.source)
        return made.outputs[0]

    def finish(self) -> bool:
        """Let the last operation make the result of the replaced node."""
        last = self._out.nodes.pop()
        final = Node(last.op, last.inputs, last.attrs, self._node.name, self._node.source)
        final.outputs, final.tag = self._node.outputs, self._node.tag
        self._out.nodes.append(final)
        return True


def _in_double(out: Graph, node: Node) -> bool:
    """A function of one float64, by its formula."""
    (x,) = node.inputs
    if x is None or x.dtype != _DOUBLE:
        return False
    write = _Writer(out, node)
    formulas.UNARY[node.op](write, x)
    return write.finish()


def _windowed(out: Graph, node: Node) -> bool:
    """A convolution or average pool in float64."""
    x = node.inputs[0]
    if x is None or x.dtype != _DOUBLE:
        return False
    write = _Writer(out, node)
    return windows.FORMULAS[node.op](write, node) and write.finish()


def _in_order_of_uint64(out: Graph, node: Node) -> bool:
    """An extreme of uint64 as one of int64: adding 2**63 to the bits keeps the order."""
    x = node.inputs[0]
    if x is None or x.dtype != _UINT64:
        return False
    write = _Writer(out, node)
    half = out.add_constant(np.array(1 << 63, np.uint64), _UINT64)
    signed = write.cast(write.op("Add", x, half), _INT64)
    found = write.add(node.op, (signed, *node.inputs[1:]), node.attrs)
    if node.outputs[0].dtype == _UINT64:  # an element, not its index
        write.op("Add", write.cast(found, _UINT64), half)
    return write.finish()


def _exact_sum(out: Graph, node: Node) -> bool:
    """A sum of integers, which the kernel computes in float64 and cuts off at the ends.

    Sums of 32 bits are exact in float64 (of fewer than 2**21 elements in the worst case, as
    everything here), so 64 bits are summed as two halves. Put together again they wrap around.
    """
    x = node.inputs[0]
    if x is None or x.dtype not in (_INT32, _INT64, _UINT32, _UINT64):
        return False
    write = _Writer(out, node)

    def total(part: Value) -> Value:
        return write.add("ReduceSum", (write.cast(part, _DOUBLE), *node.inputs[1:]), node.attrs)

    if x.dtype in (_INT32, _UINT32):
        result = write.cast(total(x), _INT64)
    else:
        x = x if x.dtype == _INT64 else write.cast(x, _INT64)
        low = write.op("BitwiseAnd", x, out.add_constant(np.array(0xFFFFFFFF), _INT64))
        high = write.op("Div", total(write.op("Sub", x, low)), write.number(2.0**32))
        high = write.op("Mul", write.cast(high, _INT64), out.add_constant(np.array(1 << 32), _INT64))
        result = write.op("Add", high, write.cast(total(low), _INT64))
    if node.outputs[0].dtype != _INT64:
        write.cast(result, node.outputs[0].dtype)
    return write.finish()


CORRECTIONS: dict[str, Callable[[Graph, Node], bool]] = {"ReduceSum": _exact_sum}

DECOMPOSITIONS: dict[str, Callable[[Graph, Node], bool]] = {
    **dict.fromkeys(formulas.UNARY, _in_double),
    **dict.fromkeys(windows.FORMULAS, _windowed),
    **dict.fromkeys(("ReduceMax", "ReduceMin", "ArgMax", "ArgMin"), _in_order_of_uint64),
}
