"""Activations whose kernels lose the small end of their range, by operators that keep it.

Seen in ONNX Runtime 1.31 on the CPU:

- ``Sigmoid`` is a rational approximation with an absolute error of 1e-7. It gives 3.58e-7 for
  3.06e-7 at -15 and 0 from -18 on, in float64 from -37 on, so that the logarithm of a probability
  is minus infinity where it should be -18. ``e / (1 + e)`` with ``e = exp(x)`` is relatively
  accurate down to denormal numbers, and in float64 faster than the kernel. (``Softsign`` is that
  quotient in one kernel, which providers other than the CPU's lack.)
- ``Tanh`` in float32 gives up to 1.0000002, and ``log(1 - tanh(x) ** 2)`` is NaN then.
- ``Softplus`` in float32 takes three times what its formula takes.

What has no kernel in float16 or bfloat16 is computed in float32, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from tfx.core import dtypes
from tfx.graph.formulas import elementary_functions
from tfx.graph.ir import Attributes, Graph, Node, Value
from tfx.graph.passes.dead_code import used_values
from tfx.graph.replacement_builder import ReplacementBuilder
from tfx.graph.value_ranges import value_range

Rewrite: TypeAlias = Callable[[ReplacementBuilder, Value, Attributes], Value]

_FLOAT, _FLOAT16, _DOUBLE, _BFLOAT16 = 1, 10, 11, 16
# From here on the sigmoid is 1: exp of it is past the inverse of half a unit in the last place.
_SATURATED = {_FLOAT: 17.4, _DOUBLE: 40.0}


class _Typed(ReplacementBuilder):
    """A writer whose numbers have the type of the operand."""

    def __init__(self, out: Graph, node: Node, dtype: int) -> None:
        super().__init__(out, node)
        self._dtype = dtypes.from_onnx(dtype)

    def number(self, value: float) -> Value:
        return self._out.add_constant(np.array(value, self._dtype.as_numpy_dtype), self._dtype.onnx)


def _sigmoid(write: ReplacementBuilder, x: Value, attrs: Attributes) -> Value:
    high = write.number(_SATURATED[x.dtype])
    e = write.Exp(write.Clip(x, None, high))
    if x.dtype == _FLOAT:  # e / (1 + e) in one pass; the kernel has no other type
        return write.Softsign(e)
    return write.Div(e, write.Add(e, write.number(1.0)))


def _swish(write: ReplacementBuilder, x: Value, attrs: Attributes) -> Value:
    alpha = float(attrs.get("alpha", 1.0))
    scaled = x if alpha == 1.0 else write.Mul(x, write.number(alpha))
    return write.Mul(x, write.Sigmoid(scaled))


def _tanh(write: ReplacementBuilder, x: Value, attrs: Attributes) -> Value:
    y = write.Tanh(x)
    return write.Clip(y, write.number(-1.0), write.number(1.0))


def _softplus(write: ReplacementBuilder, x: Value, attrs: Attributes) -> Value:
    return elementary_functions.softplus(write, x)


def _correction(rewrite: Rewrite, *kinds: int) -> Callable[[Graph, Node], bool]:
    """A correction for some types; float16 and bfloat16 go with float32."""

    def correct(out: Graph, node: Node) -> bool:
        (x,) = node.inputs
        if x is None:
            return False
        narrow = x.dtype in (_FLOAT16, _BFLOAT16)
        kind = _FLOAT if narrow else x.dtype
        if kind not in kinds:
            return False
        write = _Typed(out, node, kind)
        y = rewrite(write, write.Cast(x, to=kind) if narrow else x, node.attrs)
        if narrow:
            write.Cast(y, to=x.dtype)
        return write.finish()

    return correct


def _unless_it_is_accurate(
    correct: Callable[[Graph, Node], bool],
) -> Callable[[Graph, Node], bool]:
    """The kernel of ``Sigmoid`` is right to 3 units in the last place from -1 on."""

    def correct_below(out: Graph, node: Node) -> bool:
        (x,) = node.inputs
        limits = value_range(x) if x is not None and x.dtype == _FLOAT else None
        return False if limits is not None and limits[0] >= -1.0 else correct(out, node)

    return correct_below


def clipped(nodes: Sequence[Node]) -> set[int]:
    """The ids of results of ``Tanh`` that a ``Clip`` follows already.

    Args:
        nodes: Those of a graph.
    """
    found = set()
    for node in nodes:
        y = node.inputs[0] if node.op == "Clip" else None
        tanh = y is not None and y.node is not None and y.node.op == "Tanh" and y.dtype == _FLOAT
        if tanh and _bounds(node) == (-1.0, 1.0):
            found.add(id(y))
    return found


def gates(body: Graph) -> set[int]:
    """The ids of results that are gates of a recurrent network, whose kernels are left alone.

    They are made again in each iteration, where two more operators cost a tenth of the time, and
    scale what is summed: there an absolute error of 1e-7 is one unit in the last place of 1.

    Args:
        body: The body of a loop; bodies in it are not looked at.
    """
    if not any(node.op in _GATES for node in body.nodes):
        return set()
    uses: dict[int, list[Node]] = {}
    for node in body.nodes:
        for v in used_values(node):
            uses.setdefault(id(v), []).append(node)
    results = set(map(id, body.outputs))
    found = set()
    for node in body.nodes:
        y = node.outputs[0]
        if node.op in _GATES and y.dtype == _FLOAT and _is_gate(y, _origins(y), uses, results):
            found.add(id(y))
    return found


def _bounds(node: Node) -> tuple[float, float] | None:
    consts = [None if v is None else v.const for v in node.inputs[1:3]]
    if len(consts) < 2 or consts[0] is None or consts[1] is None:
        return None
    return float(consts[0]), float(consts[1])


def _origins(y: Value) -> set[int]:
    """Return ids of an activation's input and its factors; a product with those is no gate."""
    assert y.node is not None
    (x,) = y.node.inputs
    if x is None:
        return set()
    around = () if x.node is None or x.node.op not in ("Div", "Mul", "Neg") else x.node.inputs
    return {id(x), *(id(v) for v in around if v is not None)}


def _is_gate(
    y: Value, origins: set[int], uses: Mapping[int, Sequence[Node]], results: Collection[int]
) -> bool:
    """True if a value, or 1 less it, only multiplies what is then summed or returned."""
    if id(y) in results or id(y) not in uses:
        return False
    for node in uses[id(y)]:
        others = [v for v in node.inputs if v is not y and v is not None]
        if node.op == "Sub" and node.inputs[1] is y and _all_numbers(others):
            if not _is_gate(node.outputs[0], origins, uses, results):
                return False
        elif node.op == "Mul" and len(others) == 1 and id(others[0]) not in origins:
            product = node.outputs[0]
            if others[0].const is not None or _same_again(others[0], y):
                return False
            for after in uses.get(id(product), ()):
                rest = [v for v in after.inputs if v is not product and v is not None]
                if (
                    after.op not in ("Add", "Gemm", "MatMul", "Sum")
                    or not rest
                    or _all_numbers(rest)
                ):
                    return False
        else:
            return False
    return True


def _all_numbers(values: Sequence[Value]) -> bool:
    return all(v.const is not None and v.const.size == 1 for v in values)


def _same_again(x: Value, y: Value) -> bool:
    """True if two values are one function of one operand."""
    if x.node is None or y.node is None:
        return False
    return x.node.op == y.node.op and x.node.inputs == y.node.inputs


_GATES = ("Sigmoid", "Tanh")

CORRECTIONS: dict[str, Callable[[Graph, Node], bool]] = {
    "Sigmoid": _unless_it_is_accurate(_correction(_sigmoid, _FLOAT, _DOUBLE)),
    "Softplus": _correction(_softplus, _FLOAT),
    "Swish": _correction(_swish, _FLOAT, _DOUBLE),
    "Tanh": _correction(_tanh, _FLOAT),
}
