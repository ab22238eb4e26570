"""Softmax with its mask, and its gradient, as our kernels have them: for CPU plans alone.

ONNX Runtime's kernel takes seven times as long where a mask left scores such as -1e9, whose
exponentials are below the least number: 5.1 ms for 32x6x128x128 floats, 0.7 without; its ``Where``
takes 4.9 ms more. Ours reads the mask itself, takes a row through all steps, and asks for sizes
when it runs. ``kernels.accurate_sums`` writes branches where rows may be long; here they are found,
so that a softmax is the same in a graph that was loaded. Without a mask, and on short rows, ONNX
Runtime's is the quicker one: 0.1 ms for 8192x64 floats, where ours takes 0.3.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tfx.graph.ir import MASKED_SOFTMAX, SOFTMAX_GRADIENT, Graph, Node, Value
from tfx.graph.makers import Makers
from tfx.graph.passes.long_sums import long_sum
from tfx.graph.passes.pattern_rewriter import PatternRewriter
from tfx.graph.rewrite import Inputs
from tfx.graph.tags import Mark
from tfx.kernels.programs import MAX_RANK

_FLOAT, _BOOL = 1, 9
# What a mask does to scores, and a number to gradients: as softmax.h of the kernels counts.
_NONE, _COUNTS_TRUE, _COUNTS_FALSE, _ADDED = range(4)
_SCALES = {"Mul": 1, "Div": 2}


class _Least(NamedTuple):
    """From how many elements, in all and in a row, one of our kernels is quicker."""

    elements: int
    row: int


_LEAST, _LEAST_OF_GRADIENT = _Least(1 << 10, 16), _Least(1 << 14, 32)


def use_softmax_kernels(graph: Graph) -> Graph:
    """A copy of the graph, bodies and callees included, with ``MaskedSoftmax`` nodes."""
    # Whoever differentiates a softmax in another graph multiplies by what it was.
    if not any(node.op in ("Softmax", "Sub") for node in graph.all_nodes()):
        return graph
    return _Softmaxes().run(graph)


class _Mask(NamedTuple):
    """What becomes of scores or their gradients."""

    kind: int
    operands: tuple[Value, ...] = ()


class _Slope(NamedTuple):
    """A gradient of a softmax, from its result and the gradient of that."""

    y: Value
    dy: Value
    mask: _Mask = _Mask(_NONE)
    scale: tuple[str, Value] | None = None


class _Softmaxes(PatternRewriter):
    counts_shapes = False

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        found = self._softmax(node) or self._gradient(node)
        if found is None or self.is_constant(node.outputs[0]):
            super().rewrite(node, self.with_source_of_shape(node, inputs), out)
            return
        op, operands, attrs = found
        values = tuple(map(self.value, operands))
        out.nodes.append(Node(op, values, attrs, node.name, node.source, node.outputs))

    def _softmax(self, node: Node) -> tuple[str, tuple[Value, ...], dict[str, int]] | None:
        plain = plain_softmax(node)
        x = None if plain is None else plain.inputs[0]
        if plain is None or x is None or not _is_worth(x, _LEAST) or self.is_constant(x):
            return None
        if plain.attrs.get("axis", -1) % len(x.shape or ()) != len(x.shape or ()) - 1:
            return None
        made = self.made.any(x)
        found = None if made is None else _masked(made, self.made)
        if found is None or made is None:
            return None
        scores, mask = found
        if made.tag is not None or not self.has_one_user(x):
            # It is there anyway: what it left far below 0 is what our kernel is quick at.
            scores, mask = x, _Mask(_NONE)
        return MASKED_SOFTMAX, (scores, *mask.operands), {"mask": mask.kind}

    def _gradient(self, node: Node) -> tuple[str, tuple[Value, ...], dict[str, int]] | None:
        if node.tag is not None:
            return None
        found = self._scaled(node) or self._cut(node) or self._slope(node)
        if found is None:
            return None
        attrs = {"mask": found.mask.kind, "scale": 0}
        operands = [found.y, found.dy, *found.mask.operands]
        if found.scale is not None:
            op, number = found.scale
            attrs["scale"] = _SCALES[op]
            operands.append(number)
        return SOFTMAX_GRADIENT, tuple(operands), attrs

    def _scaled(self, node: Node) -> _Slope | None:
        """A gradient times a number, or divided by one."""
        if node.op not in _SCALES:
            return None
        for x, number in (node.inputs, node.inputs[::-1] if node.op == "Mul" else (None, None)):
            if number is None or number.const is None or number.const.size != 1:
                continue
            inner = self._alone(x, node)
            found = None if inner is None else self._cut(inner) or self._slope(inner)
            if found is not None:
                return found._replace(scale=(node.op, number))
        return None

    def _cut(self, node: Node) -> _Slope | None:
        """A gradient where a mask lets scores count, and 0 elsewhere."""
        if node.op != "Where" or node.tag is not None:
            return None
        mask, *of = node.inputs
        for kind, (x, zero) in ((_COUNTS_TRUE, of), (_COUNTS_FALSE, of[::-1])):
            inner = self._alone(x, node)
            found = None if inner is None else self._slope(inner)
            if found is not None and mask is not None and _is_zero(zero):
                return found._replace(mask=_Mask(kind, (mask,)))
        return None

    def _slope(self, node: Node) -> _Slope | None:
        """``(dy - sum(dy * y)) * y``."""
        if node.op != "Mul" or node.tag is not None:
            return None
        for difference, y in (node.inputs, node.inputs[::-1]):
            made = self.made.by(difference, "Sub")
            if made is None or y is None or not self.has_one_user(difference):
                continue
            dy, total = made.inputs
            summed = self.made.any(total)
            found = None if summed is None else long_sum(summed, self.made)
            if dy is None or found is None or not found.keeps or found.mean:
                continue
            product = self.made.by(found.x, "Mul")
            factors = set() if product is None else {id(v) for v in product.inputs}
            shape = node.outputs[0].shape
            alike = shape is not None and None not in shape and y.shape == dy.shape == shape
            last = [axis % len(shape or (0,)) for axis in found.axes] == [len(shape or ()) - 1]
            if factors == {id(y), id(dy)} and alike and last and _is_worth(y, _LEAST_OF_GRADIENT):
                return _Slope(y, dy)
        return None

    def _alone(self, x: Value | None, user: Node) -> Node | None:
        """What makes a value of the shape of its only user's result."""
        made = self.made.any(x)
        fits = x is not None and x.shape == user.outputs[0].shape
        return made if fits and self.has_one_user(x) else None


def plain_softmax(node: Node) -> Node | None:
    """The softmax that a node is, or that is its branch for rows that are not long."""
    if node.op == "If" and node.tag is Mark.PART_OF_SUM:
        short: Graph = node.attrs["else_branch"]
        node = short.nodes[0] if len(short.nodes) == 1 else node
        return node if node.op == "Softmax" else None
    return node if node.op == "Softmax" and node.tag is None else None


def _masked(made: Node, makers: Makers) -> tuple[Value, _Mask] | None:
    """Scores and their mask, if that is what a node puts together; None of any other."""
    operands = [v for v in made.inputs if v is not None and v.shape is not None]
    if made.op == "Add" and len(operands) == 2:
        return _added(made.outputs[0], operands[0], operands[1], makers)
    if made.op == "Where" and len(operands) == 3:
        return _selected(made.outputs[0], *operands)
    return None


def _added(x: Value, a: Value, b: Value, makers: Makers) -> tuple[Value, _Mask] | None:
    """The operand that has the sizes of the sum, as far as they are known, is the scores."""

    def width(value: Value) -> tuple[bool, int, int]:
        shape = value.shape or ()
        return shape == x.shape, len(shape), -shape.count(1)

    scores, mask = (a, b) if width(a) >= width(b) else (b, a)
    # A vector behind a product is the bias of a layer, which goes with that.
    axes = 1 if makers.by(scores, "MatMul") is None else 2
    if scores.const is not None or len(mask.shape or ()) < axes:
        return None
    return scores, _Mask(_ADDED, (mask,))


def _selected(x: Value, mask: Value, a: Value, b: Value) -> tuple[Value, _Mask] | None:
    for kind, scores, fill in ((_COUNTS_TRUE, a, b), (_COUNTS_FALSE, b, a)):
        if fill.const is None or fill.const.size != 1 or scores.const is not None:
            continue
        # The number may have more axes than both: the result then has these, too.
        if max(len(mask.shape or ()), len(scores.shape or ())) == len(x.shape or ()):
            return scores, _Mask(kind, (mask, fill))
    return None


def _is_worth(x: Value, least: _Least) -> bool:
    """True if a tensor is of a kind that the kernels take, and may have so many elements."""
    if x.dtype != _FLOAT or x.const is not None or not x.shape or len(x.shape) > MAX_RANK:
        return False
    if isinstance(x.shape[-1], int) and x.shape[-1] < least.row:
        return False
    sizes = [size for size in x.shape if isinstance(size, int)]
    return len(sizes) < len(x.shape) or math.prod(sizes) >= least.elements


def _is_zero(value: Value | None) -> bool:
    if value is None or value.const is None or value.const.size != 1:
        return False
    return not value.const.any()
