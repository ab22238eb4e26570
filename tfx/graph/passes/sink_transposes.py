"""Compute in the order in which a value lies in memory, and transpose it as late as possible.

Convolutions and pools take channels first; what is written with channels last has a ``Transpose``
before and behind each of them. Here elementwise operators, reductions, pads and joins behind a
``Transpose`` work on what was there before, in its order, and their result is transposed instead.
Where it meets the opposite ``Transpose``, that of the next convolution, neither is left.

Operands of other sizes are brought into that order, too: vectors along channels cost nothing. Where
a large operand would have to be transposed for it, the order stays that of the larger part, so the
elements that are moved never become more than before.

It is only done for what runs in this process: ONNX Runtime's own optimizer stops at reductions and
at operands that are no constants, as all of batch normalization is while it trains.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from tfx.graph.ir import Graph, Node, Value
from tfx.graph.replacement_builder import ReplacementBuilder
from tfx.graph.rewrite import Inputs, Rewriter
from tfx.graph.traits import traits

Order: TypeAlias = tuple[int, ...]

# What a size counts that only a run tells.
_UNKNOWN = 16
_INT64 = 7


def sink_transposes(graph: Graph) -> Graph:
    """A copy of the graph, bodies and callees included, that transposes as late as possible.

    Args:
        graph: The graph. A ``Transpose`` that nothing uses any more stays: dead code is another
            pass's business.
    """
    if not any(n.op == "Transpose" for n in graph.all_nodes()):
        return graph
    return _Sinking().run(graph)


class _View(NamedTuple):
    """A value as the transposition of another one: axis ``i`` is axis ``order[i]`` of it."""

    stored: Value
    order: Order


class _Sinking(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        # By id of the value; bodies see outer values, too.
        self._views: dict[int, _View] = {}

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        if node.op == "Transpose" and node.tag is None:
            self._transpose(node, inputs, out)
        elif not self._sunk(node, inputs, out):
            super().rewrite(node, inputs, out)

    def _transpose(self, node: Node, inputs: Inputs, out: Graph) -> None:
        (x,) = inputs
        assert x is not None
        order = node.attrs.get("perm")
        if order is None:
            super().rewrite(node, inputs, out)
            return
        before = self._views.get(id(x))
        view = _View(x, tuple(order))
        if before is not None:
            view = _View(before.stored, tuple(before.order[axis] for axis in order))
        if view.order == tuple(range(len(order))):
            self.use(node.outputs[0], view.stored)
            return
        out.nodes.append(node.replaced((view.stored,), {"perm": view.order}))
        self._views[id(node.outputs[0])] = view

    def _sunk(self, node: Node, inputs: Inputs, out: Graph) -> bool:
        """Try to compute a node in the order of what its operands lie in."""
        views = [self._views.get(id(x)) for x in inputs]
        if node.tag is not None or len(node.outputs) != 1 or not any(views):
            return False
        facts = traits(node.op)
        write = ReplacementBuilder(out, node)
        if facts.elementwise == "unary" or node.op == "Clip":
            return views[0] is not None and self._unary(node, inputs, views[0], write)
        if facts.elementwise == "broadcast":
            return self._broadcast(node, inputs, write)
        if facts.reduction:
            return views[0] is not None and self._reduced(node, inputs, views[0], write)
        if node.op == "Shape" and views[0] is not None:
            part = views[0].order[node.attrs.get("start", 0) : node.attrs.get("end")]
            sizes = write.Shape(views[0].stored)
            write.Gather(sizes, write.ints(part), axis=0)
            return write.finish()
        if node.op == "Size" and views[0] is not None:
            write.Size(views[0].stored)
            return write.finish()
        if node.op == "Pad":
            return views[0] is not None and self._padded(node, inputs, views[0], write)
        return node.op == "Concat" and self._joined(node, inputs, views, write)

    def _finish(self, node: Node, order: Order, write: ReplacementBuilder) -> bool:
        """Let the last operation, transposed, be the result."""
        stored = write.last()
        if order == tuple(range(len(order))):
            return write.finish()
        write.Transpose(stored, perm=order)
        write.finish()
        self._views[id(node.outputs[0])] = _View(stored, order)
        return True

    def _unary(self, node: Node, inputs: Inputs, view: _View, write: ReplacementBuilder) -> bool:
        if "axis" in node.attrs:
            return False
        write.apply(node.op, (view.stored, *inputs[1:]), node.attrs)
        return self._finish(node, view.order, write)

    def _broadcast(self, node: Node, inputs: Inputs, write: ReplacementBuilder) -> bool:
        operands = [x for x in inputs if x is not None]
        shape = node.outputs[0].shape
        if shape is None or len(operands) != len(inputs):
            return False
        order = self._best_order(operands, len(shape))
        if order is None:
            return False
        if not all(self._can_be_in(x, order) for x in operands):
            return False
        write.apply(node.op, tuple(self._in_order(x, order, write) for x in operands), node.attrs)
        return self._finish(node, order, write)

    def _best_order(self, operands: Sequence[Value], rank: int) -> Order | None:
        """The order for which the fewest elements are moved; None: that of the values."""
        moved: dict[Order, int] = {}
        plain = 0
        for x in operands:
            view = self._views.get(id(x))
            if view is not None and len(view.order) == rank:
                moved[view.order] = moved.get(view.order, 0) + _elements(x)
            else:
                plain += _elements(x)
        if not moved:
            return None
        order = max(moved, key=lambda o: moved[o])
        return order if moved[order] > plain else None

    def _can_be_in(self, x: Value, order: Order) -> bool:
        if x.shape is None or len(x.shape) > len(order):
            return False
        whole = len(x.shape) in (0, len(order))
        return whole or all(isinstance(size, int) for size in x.shape)

    def _in_order(self, x: Value, order: Order, write: ReplacementBuilder) -> Value:
        """An operand such that its transposition by ``order`` broadcasts as it does."""
        assert x.shape is not None
        if not x.shape:
            return x
        view = self._views.get(id(x))
        if view is not None and view.order == order:
            return view.stored
        inverse = [order.index(axis) for axis in range(len(order))]
        known = [size for size in x.shape if isinstance(size, int)]
        sizes = [1] * (len(order) - len(x.shape)) + known
        if len(known) == len(x.shape) and sum(n != 1 for n in known) <= 1:
            turned = [sizes[axis] for axis in inverse]
            if x.const is not None:
                made = x.const.reshape(turned)
                return write.graph.add_constant(made, x.dtype)
            return write.Reshape(x, write.ints(turned))
        if len(x.shape) < len(order):
            x = write.Reshape(x, write.ints(sizes))
        return write.Transpose(x, perm=tuple(inverse))

    def _reduced(self, node: Node, inputs: Inputs, view: _View, write: ReplacementBuilder) -> bool:
        rank = len(view.order)
        axes = inputs[1] if len(inputs) > 1 else None
        if axes is None or axes.const is None or axes.const.size == 0:
            return False
        gone = [int(axis) % rank for axis in axes.const.reshape(-1)]
        stored = sorted(view.order[axis] for axis in gone)
        write.apply(node.op, (view.stored, write.ints(stored)), node.attrs)
        if node.attrs.get("keepdims", 1):
            return self._finish(node, view.order, write)
        left = [view.order[axis] for axis in range(rank) if axis not in gone]
        places = sorted(left)
        return self._finish(node, tuple(places.index(axis) for axis in left), write)

    def _padded(self, node: Node, inputs: Inputs, view: _View, write: ReplacementBuilder) -> bool:
        pads = inputs[1]
        rank = len(view.order)
        if pads is None or pads.const is None or pads.const.size != 2 * rank or len(inputs) > 3:
            return False
        sides = np.asarray(pads.const).reshape(2, rank)
        turned = np.empty_like(sides)
        turned[:, list(view.order)] = sides
        amounts = write.graph.add_constant(turned.reshape(-1).astype(np.int64), _INT64)
        write.apply("Pad", (view.stored, amounts, *inputs[2:]), node.attrs)
        return self._finish(node, view.order, write)

    def _joined(
        self,
        node: Node,
        inputs: Inputs,
        views: Sequence[_View | None],
        write: ReplacementBuilder,
    ) -> bool:
        orders = {view.order if view is not None else None for view in views}
        if len(orders) > 1 or views[0] is None:
            return False
        order = views[0].order
        axis = order[int(node.attrs["axis"]) % len(order)]
        write.apply("Concat", [view.stored for view in views if view], {"axis": axis})
        return self._finish(node, order, write)


def _elements(x: Value) -> int:
    """About how many elements a value has; those that only a run tells count as some."""
    if x.shape is None:
        return 0
    return math.prod([size if isinstance(size, int) else _UNKNOWN for size in x.shape])
