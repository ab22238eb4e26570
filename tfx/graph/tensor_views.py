"""Tensors as arrangements of others: their axes in another order, or one place along an axis.

A kernel that reads and writes by such a view needs no ``Transpose`` around it, and none of what
takes a tensor apart and puts it together again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tfx.graph.ir import Node, Value
from tfx.graph.makers import Makers, constant_integers
from tfx.graph.tags import Mark
from tfx.kernels.programs import MAX_RANK


class Order(NamedTuple):
    """The axes of a tensor in the order of another's, and one more, of which a place is taken."""

    axes: tuple[int, ...]
    other: int = -1
    place: int = 0

    @property
    def attribute(self) -> tuple[int, ...]:
        """As attributes of operators have it: the axes, the other one or -1, and the place."""
        return (*self.axes, self.other, self.place)


class View(NamedTuple):
    """A tensor as an arrangement of another."""

    base: Value
    order: Order

    @property
    def turned(self) -> View:
        """The same with its last two axes in the other order."""
        return View(self.base, self.order._replace(axes=turned(self.order.axes)))


def view_of(value: Value, made: Makers, stops: Callable[[Node], bool] | None = None) -> View:
    """A value as a view of what it is only another arrangement of.

    Args:
        value: The value.
        made: What makes it.
        stops: Says of a node that one must not look behind it.
    """
    view = View(value, Order(tuple(range(len(value.shape or ())))))
    while (node := made.any(view.base)) is not None:
        if stops is not None and stops(node):
            break
        x = node.inputs[0] if node.inputs else None
        if x is None or x.shape is None or x.const is not None:
            break
        axes, other, place = view.order
        if node.tag is Mark.KEPT_APART:
            view = view._replace(base=x)
        elif node.op == "Transpose" and node.tag is None:
            order = node.attrs.get("perm", tuple(reversed(range(len(x.shape)))))
            other = order[other] if other >= 0 else -1
            view = View(x, Order(tuple(order[axis] for axis in axes), other, place))
        else:
            split = _one_place(node, made) if other < 0 and len(x.shape) < MAX_RANK else None
            if split is None:
                break
            axis, place, base = split
            view = View(base, Order(tuple(a + (a >= axis) for a in axes), axis, place))
    return view


def _one_place(node: Node, made: Makers) -> tuple[int, int, Value] | None:
    """The axis, the place along it and the tensor, if a node takes one place away from others."""
    x = node.inputs[0]
    if node.op != "Squeeze" or node.tag is not None or x is None or x.shape is None:
        return None
    axes = constant_integers(node.inputs[1]) if len(node.inputs) > 1 else None
    split = made.by(x, "Split")
    if axes is None or len(axes) != 1 or split is None or split.inputs[0] is None:
        return None
    base, axis = split.inputs[0], axes[0] % len(x.shape)
    if base.shape is None or split.attrs.get("axis", 0) % len(base.shape) != axis:
        return None
    # Parts of one place each.
    if any(value.shape is None or value.shape[axis] != 1 for value in split.outputs):
        return None
    place = next(i for i, value in enumerate(split.outputs) if value is x)
    return axis, place, base


def turned(axes: Iterable[int]) -> tuple[int, ...]:
    """Axes with the last two in the other order."""
    *outer, row, column = axes
    return (*outer, column, row)


def adds_axis(node: Node, axis: int) -> bool:
    """True if a node gives a tensor one more axis, of size 1."""
    x, y = node.inputs[0], node.outputs[0]
    if node.tag is not None or x is None or x.shape is None or y.shape is None:
        return False
    if node.op == "Unsqueeze":
        given = constant_integers(node.inputs[1])
        return given is not None and [a % len(y.shape) for a in given] == [axis]
    known = all(isinstance(size, int) for size in x.shape)
    return node.op == "Reshape" and known and (*x.shape[:axis], 1, *x.shape[axis:]) == (*y.shape,)


def turns(node: Node) -> bool:
    """True if a node turns the last two axes, and nothing else."""
    if node.op != "Transpose" or node.tag is not None:
        return False
    rank = len(node.outputs[0].shape or ())
    order = tuple(node.attrs.get("perm", reversed(range(rank))))
    return rank >= 2 and order == turned(range(rank))
