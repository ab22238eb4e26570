"""Products of matrices as our kernels have them: for CPU plans alone.

ONNX Runtime's kernel multiplies float32 at 240 GFLOP/s on two cores with AVX-512, ours at 310, as
those of other frameworks do. Matrices that lie the other way round are read so, a bias is what the
sums begin with, and a ``Relu`` behind them is done before they are written. Weights that never
change are packed here, once for all runs, as far as that takes little memory. ONNX Runtime keeps
what it computes once, and packs other weights that never change, products of several pairs of
matrices, of vectors, and those that are small enough for a program.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tfx.graph.fusion.instructions import product_of
from tfx.graph.ir import PRODUCT, Graph, Node, Value
from tfx.graph.passes.pattern_rewriter import PatternRewriter
from tfx.graph.rewrite import Inputs
from tfx.kernels.library import usable_library
from tfx.kernels.programs import MAX_RANK
from tfx.runtime.threads import thread_count
from tfx.runtime.values import RawValue, to_numpy

_FLOAT = 1
# Of panels, which are filled up with zeros, to the columns in them.
_MOST_FILLED = 1.3
# Bytes of packed weights in a plan: ONNX Runtime, which packs them otherwise, does without a copy.
_MOST_PACKED = 8 << 20
# Fewer rows, ONNX Runtime is quicker at multiplying with a matrix that lies the other way round; so
# it is at products of fewer numbers, unless there are so few rows that nothing is packed.
_FEWEST_ROWS_BY_TURNED, _FEWEST_PRODUCTS, _FEW_ROWS = 64, 1 << 25, 24


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
        super().__init__(known)
        self._known = known
        self._width = width
        self._threads = thread_count()
        self._depth = 0
        self._room = _MOST_PACKED
        # By the matrix and whether it is turned: weights may be multiplied with several times.
        self._packed: dict[tuple[int, bool], Value] = {}

    def run(self, graph: Graph) -> Graph:
        """See ``Rewriter``."""
        self._depth += 1
        try:
            return super().run(graph)
        finally:
            self._depth -= 1

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        y = node.inputs[0] if node.op == "Relu" and node.tag is None else None
        found = self._with_bias(self.made.any(y)) if self.has_one_user(y) else None
        is_positive = found is not None
        found = found or self._with_bias(node)
        if found is None:
            super().rewrite(node, self.with_source_of_shape(node, inputs), out)
            return
        right = self._panels(found, out) if self.is_constant(found.right) else None
        attrs = {
            "left": int(found.left_is_turned),
            "right": int(found.right_is_turned and right is None),
            "columns": 0 if right is None else _columns(node.outputs[0]),
            "positive": int(is_positive),
            "threads": self._threads,
        }
        bias = () if found.bias is None else (self.value(found.bias),)
        right = self.value(found.right) if right is None else right
        operands = (self.value(found.left), right, *bias)
        out.nodes.append(Node(PRODUCT, operands, attrs, node.name, node.source, node.outputs))

    def _can_pack(self, found: _Product) -> bool:
        """True of weights whose contents are known: those of the plan itself, while they are few.

        Bodies and callees do not see a constant that stands in another one of them.
        """
        if self._depth > 1 or not (found.right in self._known or found.right.const is not None):
            return False
        key = id(found.right), found.right_is_turned
        return key in self._packed or self._bytes(found) <= self._room

    def _bytes(self, found: _Product) -> int:
        sizes = [size for size in found.right.shape or () if isinstance(size, int)]
        return 4 * math.prod(sizes) if len(sizes) == 2 else _MOST_PACKED + 1

    def _panels(self, found: _Product, out: Graph) -> Value:
        """The right matrix as panels of columns, with zeros behind the last one."""
        key = id(found.right), found.right_is_turned
        if key not in self._packed:
            self._room -= self._bytes(found)
            weights = found.right.const
            if weights is None:
                weights = to_numpy(self._known[found.right])
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
        if not _is_matrix(right) or (self.is_constant(left) and self.is_constant(right)):
            return None
        if left.shape is None or not 2 <= len(left.shape) <= MAX_RANK:
            return None
        turned, right_turned = (bool(node.attrs.get(name, 0)) for name in ("transA", "transB"))
        found = _Product(left, right, turned, right_turned)
        y = node.outputs[0]
        columns = _columns(y)
        if -(-columns // self._width) * self._width > _MOST_FILLED * columns:
            return None
        if node.op == "Gemm":
            if node.attrs.get("alpha", 1.0) != 1.0 or node.attrs.get("beta", 1.0) != 1.0:
                return None
            if bias is not None and not _is_row(bias, y):
                return None
            found = found._replace(bias=bias)
        found = self._before_transposes(found)
        if self.is_constant(found.right):
            return found if self._can_pack(found) else None
        return found if _is_worth(found, y) else None

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


def _is_worth(found: _Product, y: Value) -> bool:
    """False of products that are known to be among those that ONNX Runtime is quicker at."""
    sizes = [*(y.shape or (None,)), *(found.right.shape or (None,))[found.right_is_turned :][:1]]
    known = [size for size in sizes if isinstance(size, int)]
    if len(known) < len(sizes):
        return True
    rows = math.prod(known[:-2])
    if found.right_is_turned and rows < _FEWEST_ROWS_BY_TURNED:
        return False
    if rows <= _FEW_ROWS and not found.left_is_turned:
        return True
    return math.prod(known) >= _FEWEST_PRODUCTS


def _columns(y: Value) -> int:
    """The known number of columns; 0 where it is not known."""
    last = y.shape[-1] if y.shape else None
    return last if isinstance(last, int) else 0


def _is_matrix(value: Value) -> bool:
    return value.shape is not None and len(value.shape) == 2


def _is_row(bias: Value, y: Value) -> bool:
    """True of a tensor that has a number for each column of a product, and no more axes than it."""
    if bias.shape is None or y.shape is None or len(bias.shape) > len(y.shape):
        return False
    return [*bias.shape] == [1] * (len(bias.shape) - 1) + [y.shape[-1]] and bool(bias.shape)
