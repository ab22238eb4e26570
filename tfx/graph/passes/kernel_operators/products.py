"""Products of matrices as our kernels have them: for CPU plans alone.

ONNX Runtime's kernel multiplies float32 at 240 GFLOP/s on two cores with AVX-512, ours at 310, as
those of other frameworks do. Matrices that lie the other way round are read so, a bias is what the
sums begin with, and a ``Relu`` behind them is done before they are written. Weights that never
change are packed here, once for all runs. Products of several pairs of matrices, of vectors, and
those that are small enough for a program, stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tfx.graph.fusion.instructions import product_of
from tfx.graph.ir import PRODUCT, Graph, Node, Value
from tfx.graph.passes.pattern_rewriter import PatternRewriter
from tfx.graph.rewrite import Inputs
from tfx.kernels.library import usable_library
from tfx.kernels.programs import MAX_RANK
from tfx.runtime.values import RawValue, to_numpy

_FLOAT = 1
# Fewer columns are hardly a panel.
_FEWEST_COLUMNS = 16


def use_product_kernels(graph: Graph, known: Mapping[Value, RawValue]) -> Graph:
    """A copy of the graph, bodies and callees included, with ``Product`` nodes.

    Args:
        graph: The graph, with the products that there are kernels for.
        known: Contents of inputs that never change.
    """
    library = usable_library(True)
    if library is None or not library.product_width:
        return graph
    found = any(node.op in ("MatMul", "Gemm") for node in graph.all_nodes())
    return _Products(known, library.product_width).run(graph) if found else graph


class _Product(NamedTuple):
    """A product of two matrices, each perhaps the other way round, and what is added to rows."""

    left: Value
    right: Value
    left_is_turned: bool
    right_is_turned: bool
    bias: Value | None = None


class _Products(PatternRewriter):
    counts_shapes = False

    def __init__(self, known: Mapping[Value, RawValue], width: int) -> None:
        super().__init__()
        self._known = known
        self._width = width
        # By the matrix and whether it is turned: weights may be multiplied with several times.
        self._packed: dict[tuple[int, bool], Value] = {}

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        y = node.inputs[0] if node.op == "Relu" and node.tag is None else None
        found = self._with_bias(self.made.any(y)) if self.has_one_user(y) else None
        is_positive = found is not None
        found = found or self._with_bias(node)
        if found is None:
            super().rewrite(node, self.with_source_of_shape(node, inputs), out)
            return
        weights = self._weights(found.right)
        attrs = {
            "left": int(found.left_is_turned),
            "right": int(found.right_is_turned and weights is None),
            "columns": 0 if weights is None else weights.shape[not found.right_is_turned],
            "positive": int(is_positive),
        }
        right = self.value(found.right) if weights is None else self._panels(found, weights, out)
        bias = () if found.bias is None else (self.value(found.bias),)
        operands = (self.value(found.left), right, *bias)
        out.nodes.append(Node(PRODUCT, operands, attrs, node.name, node.source, node.outputs))

    def _weights(self, matrix: Value) -> np.ndarray[Any, Any] | None:
        """A matrix that is the same in every run."""
        if matrix.const is not None:
            return matrix.const
        return to_numpy(self._known[matrix]) if matrix in self._known else None

    def _panels(self, found: _Product, weights: np.ndarray[Any, Any], out: Graph) -> Value:
        """The right matrix as panels of columns, with zeros behind the last one."""
        key = id(found.right), found.right_is_turned
        if key not in self._packed:
            matrix = weights.T if found.right_is_turned else weights
            inner, columns = matrix.shape
            count = -(-columns // self._width)
            filled = np.zeros((inner, count * self._width), np.float32)
            filled[:, :columns] = matrix
            panels = filled.reshape(inner, count, self._width).transpose(1, 0, 2)
            self._packed[key] = out.add_constant(np.ascontiguousarray(panels), _FLOAT)
        return self._packed[key]

    def _with_bias(self, node: Node | None) -> _Product | None:
        """A product, or one with a vector that is added to each row."""
        if node is None or node.op != "Add" or node.tag is not None:
            return self._product(node)
        for y, bias in (node.inputs, node.inputs[::-1]):
            product = self._product(self.made.any(y)) if self.has_one_user(y) else None
            if product is None or product.bias is not None or y is None or bias is None:
                continue
            if bias.dtype == _FLOAT and _is_row(bias, y):
                return product._replace(bias=bias)
        return None

    def _product(self, node: Node | None) -> _Product | None:
        if node is None or node.op not in ("MatMul", "Gemm") or node.tag is not None:
            return None
        if product_of(node) is not None:
            return None
        left, right, bias = (*node.inputs, None)[:3]
        if left is None or right is None or left.dtype != _FLOAT:
            return None
        if not _is_matrix(right) or (right.const is not None and right.const.size == 0):
            return None
        if left.shape is None or not 2 <= len(left.shape) <= MAX_RANK:
            return None
        turned, right_turned = (bool(node.attrs.get(name, 0)) for name in ("transA", "transB"))
        found = _Product(left, right, turned, right_turned)
        y = node.outputs[0]
        columns = y.shape[-1] if y.shape else None
        if not isinstance(columns, int) or columns < _FEWEST_COLUMNS:
            return None
        if node.op == "Gemm":
            if node.attrs.get("alpha", 1.0) != 1.0 or node.attrs.get("beta", 1.0) != 1.0:
                return None
            if bias is not None and not _is_row(bias, y):
                return None
            found = found._replace(bias=bias)
        return self._before_transposes(found)

    def _before_transposes(self, found: _Product) -> _Product:
        """The same of what matrices are that are transposed."""
        left, right = map(self._transposed, (found.left, found.right))
        if left is not None:
            found = found._replace(left=left, left_is_turned=not found.left_is_turned)
        if right is not None:
            found = found._replace(right=right, right_is_turned=not found.right_is_turned)
        return found

    def _transposed(self, matrix: Value) -> Value | None:
        made = self.made.by(matrix, "Transpose", perm=(1, 0))
        return None if made is None else made.inputs[0]


def _is_matrix(value: Value) -> bool:
    return value.shape is not None and len(value.shape) == 2


def _is_row(bias: Value, y: Value) -> bool:
    """True of a tensor that has a number for each column of a product, and no more axes than it."""
    if bias.shape is None or y.shape is None or len(bias.shape) > len(y.shape):
        return False
    return [*bias.shape] == [1] * (len(bias.shape) - 1) + [y.shape[-1]] and bool(bias.shape)
