"""``LSTM`` with weights that never change: for CPU plans alone.

Our operator takes its place, with the weights in panels, as the kernel multiplies with them, and
with both biases added up in front of them. It keeps neither gates nor cells, which only a gradient
needs. Where the inputs are rows of a small table, as vectors of characters are, what comes from
each row is computed while the plan is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tfx.graph.ir import LSTM, Graph, Node, Value
from tfx.graph.lstm_gradient import is_plain
from tfx.graph.passes.constant_contents import constant_contents
from tfx.graph.passes.kernel_operators.lstm import lstm_attributes
from tfx.graph.passes.pattern_rewriter import PatternRewriter
from tfx.graph.rewrite import Inputs
from tfx.kernels.library import usable_library
from tfx.runtime.values import RawValue

Array = np.ndarray[Any, Any]

_FLOAT, _INT32, _INT64, _GATES = 1, 6, 7, 4
# Numbers that come from the rows of a table, at the most: they are more than the weights are.
_LARGEST_TABLE = 1 << 20
# The results of an ``LSTM``: the states, the last one, and the last cell.
_RESULTS = 3


def use_lstm_panels(graph: Graph, known: Mapping[Value, RawValue]) -> Graph:
    """A copy of the graph, bodies and callees included, with ``Lstm`` nodes of known weights.

    Args:
        graph: The graph.
        known: Contents of inputs that never change.
    """
    library = usable_library(True)
    if library is None or not library.product_width:
        return graph
    if not any(node.op == "LSTM" for node in graph.all_nodes()):
        return graph
    return _Panels(known, library.product_width).run(graph)


class _Weights(NamedTuple):
    """``[4 units, inputs]``, ``[4 units, units]`` and the sum of both biases."""

    of_x: Array
    of_state: Array
    bias: Array

    @property
    def units(self) -> int:
        """How many cells there are."""
        return int(self.of_state.shape[1])


class _LookedUp(NamedTuple):
    """Inputs that are rows of a table.

    Attributes:
        rows: Which.
        is_turned: Whether they are ``[batch, time]``.
        of_rows: ``[rows, 4 units]``: what comes from each row of the table.
    """

    rows: Value
    is_turned: bool
    of_rows: Array


class _Panels(PatternRewriter):
    counts_shapes = False

    def __init__(self, known: Mapping[Value, RawValue], width: int) -> None:
        super().__init__(known)
        self._known = known
        self._width = width

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        weights = self._weights(node)
        looked_up = None if weights is None else self._looked_up(node, weights)
        if weights is None or (looked_up is None and _has_one_sequence(node)):
            super().rewrite(node, self.with_source_of_shape(node, inputs), out)
            return
        states = dict(zip("hc", (*inputs[5:7], None, None), strict=False))
        there = {name: value for name, value in states.items() if value is not None}
        if looked_up is None:
            x, of_x = inputs[0], in_panels(weights.of_x, weights.bias, self._width)
        else:
            x, of_x = self._rows(looked_up, out), looked_up.of_rows
        of_state = in_panels(weights.of_state, None, self._width)
        constants = [out.add_constant(array, _FLOAT) for array in (of_x, of_state)]
        results = list(node.outputs)
        while len(results) < _RESULTS:
            results.append(Value(out.unique_name(f"{node.name}_last"), _FLOAT, None))
        attrs = lstm_attributes(there, weights.units, table=looked_up is not None)
        operands = (x, *constants, *there.values())
        made = Node(LSTM, operands, attrs, node.name, node.source, tuple(results))
        out.nodes.append(made.make_outputs())

    def _weights(self, node: Node) -> _Weights | None:
        """None of a node that stays as it is."""
        if node.op != "LSTM" or node.tag is not None or not is_plain(node.attrs):
            return None
        x, w, r, b, lengths, _, _, peepholes = (*node.inputs, *[None] * 8)[:8]
        if lengths is not None or peepholes is not None or x is None or x.dtype != _FLOAT:
            return None
        values = [v for v in (w, r, b) if v is not None]
        if self.is_constant(x) or not all(self.is_constant(v) for v in values):
            return None
        arrays = constant_contents(values, self.made, self._known)
        if arrays is None or any(a.ndim != 3 or a.shape[0] != 1 for a in arrays[:2]):
            return None
        of_x, of_state = (a[0] for a in arrays[:2])
        if of_state.shape != (_GATES * of_state.shape[1], of_state.shape[1]):
            return None
        if of_x.shape[0] != of_state.shape[0] or 0 in (*of_x.shape, *of_state.shape):
            return None
        if node.attrs.get("hidden_size", of_state.shape[1]) != of_state.shape[1]:
            return None  # ONNX Runtime says what is wrong with it, as of other sizes
        biases = np.zeros((1, 2 * len(of_x)), np.float32) if b is None else arrays[2]
        if biases.shape != (1, 2 * len(of_x)):
            return None
        with np.errstate(all="ignore"):  # infinities are the result's
            bias = biases.reshape(2, -1).sum(axis=0)
        return _Weights(of_x, of_state, bias)

    def _looked_up(self, node: Node, weights: _Weights) -> _LookedUp | None:
        """What the inputs are looked up in, if it is small."""
        x = node.inputs[0]
        turned = None if x is None else self.made.by(x, "Transpose", perm=(1, 0, 2))
        source = x if turned is None else turned.inputs[0]
        gather = None if source is None else self.made.by(source, "Gather")
        if gather is None or gather.attrs.get("axis", 0) != 0:
            return None
        table, rows = gather.inputs
        if table is None or rows is None or rows.shape is None or len(rows.shape) != 2:
            return None
        if rows.dtype not in (_INT32, _INT64) or not self.is_constant(table):
            return None
        count = table.shape[0] if table.shape else None
        if not isinstance(count, int) or not 0 < count * len(weights.of_x) <= _LARGEST_TABLE:
            return None
        contents = constant_contents([table], self.made, self._known)
        if contents is None or contents[0].shape != (count, weights.of_x.shape[1]):
            return None
        with np.errstate(all="ignore"):
            products = contents[0].astype(np.float64) @ weights.of_x.T + weights.bias
            return _LookedUp(rows, turned is not None, products.astype(np.float32))

    def _rows(self, found: _LookedUp, out: Graph) -> Value:
        """``[time, batch]``."""
        rows = self.value(found.rows)
        shape = rows.shape
        assert shape is not None
        if rows.dtype != _INT64:
            (rows,) = out.add_node("Cast", [rows], {"to": _INT64}, [(_INT64, shape)]).outputs
        if found.is_turned:
            perm, turned = {"perm": (1, 0)}, (_INT64, shape[::-1])
            (rows,) = out.add_node("Transpose", [rows], perm, [turned]).outputs
        return rows


def _has_one_sequence(node: Node) -> bool:
    """True of a product of vectors with matrices, at which ONNX Runtime is quicker."""
    x = node.inputs[0]
    return x is not None and x.shape is not None and len(x.shape) == 3 and x.shape[1] == 1


def in_panels(matrix: Array, first: Array | None, width: int) -> Array:
    """``[parts of units, 4, 1 + inner, width]`` of ``[4 units, inner]``: see ``kernels/lstm.h``.

    Args:
        matrix: Weights of the four gates.
        first: What stands in front of their columns; zeros if None.
        width: Columns of a panel.
    """
    rows, inner = matrix.shape
    units = rows // _GATES
    parts = -(-units // width)
    filled = np.zeros((_GATES, parts * width, 1 + inner), np.float32)
    filled[:, :units, 1:] = matrix.reshape(_GATES, units, inner)
    if first is not None:
        filled[:, :units, 0] = first.reshape(_GATES, units)
    turned = filled.reshape(_GATES, parts, width, 1 + inner).transpose(1, 0, 3, 2)
    return np.ascontiguousarray(turned)
