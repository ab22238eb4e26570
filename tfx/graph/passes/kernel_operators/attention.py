"""Attention, and its gradient, as one operator each of our kernels: for CPU plans alone.

Scores are never made as a whole: a kernel takes some queries through products, mask and softmax,
and multiplies them with the values, while they are in the cache. Its gradient makes them again, so
nothing of their size is kept. Transpositions around it, and a tensor that holds queries, keys and
values, become orders of axes in which the kernel reads and writes.

Measured, two cores, 32x6 heads of 128 queries and 32 numbers behind a causal mask: 2.9 ms for 11.0
operator by operator, 9.0 for 23.3 with the gradient, and 12.6 MB less of each kind of scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tfx.graph.ir import (
    ATTENTION,
    ATTENTION_GRADIENT,
    MASKED_SOFTMAX,
    SOFTMAX_GRADIENT,
    Attributes,
    Graph,
    Node,
    Value,
)
from tfx.graph.makers import Makers
from tfx.graph.passes.dead_code import used_values
from tfx.graph.passes.kernel_operators.softmax import plain_softmax
from tfx.graph.rewrite import Inputs, Rewriter
from tfx.graph.tags import Mark
from tfx.graph.tensor_views import Order, View, adds_axis, turned, turns, view_of
from tfx.graph.traits import traits
from tfx.kernels.programs import MAX_RANK

_FLOAT, _INT64 = 1, 7
_ADDED = 3
_SCALES = {"Mul": 1, "Div": 2}
_KEPT = 2


def use_attention_kernels(graph: Graph) -> Graph:
    """A copy of the graph, bodies and callees included, with ``FlashAttention`` nodes."""
    if not any(_softmax(node) is not None for node in graph.all_nodes()):
        return graph
    return _Attentions().run(graph)


class _Softmax(NamedTuple):
    """A softmax along the last axis.

    Attributes:
        node: Its node.
        scores: What it is of.
        mask: What a mask does to them, as ``MaskedSoftmax`` says it.
        others: The mask, and what it leaves.
    """

    node: Node
    scores: Value
    mask: int
    others: tuple[Value, ...]


@dataclass(eq=False)
class _Attention:
    """What was found in the place of one.

    Attributes:
        softmax: In its middle.
        product: The last node.
        operands: Of the products: queries and values, one in a row, and keys, one in a column.
        q: The queries.
        k: The keys, one in a row.
        v: The values.
        outer: Sizes of the axes in front of these, by what is known.
        scale: What is done to scores, and by which number.
        result: What the operator makes.
        view: How the result has it.
        back: Its gradient.
    """

    softmax: _Softmax
    product: Node
    operands: tuple[Value, Value, Value]
    q: View
    k: View
    v: View
    outer: tuple[object, ...]
    scale: tuple[int, Value | None]
    result: Value
    view: Order
    back: _Back | None = None
    kept: Value | None = None


@dataclass(eq=False)
class _Back:
    """A gradient.

    Attributes:
        dy: With respect to the attention.
        results: With respect to queries, keys and values; or one, of all of them.
        views: How the results have these.
        nodes: What makes them.
    """

    dy: Value
    results: tuple[Value, ...]
    views: tuple[Order, Order, Order]
    nodes: list[Node]
    written: bool = False


class _Attentions(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self._made = Makers()
        self._at: dict[int, _Attention] = {}
        self._dropped: set[int] = set()
        # By the id of a value that is not made any more: one whose axes are in an order.
        self._reordered: dict[int, _Attention] = {}

    def _is_gone(self, node: Node) -> bool:
        """True if a node is not there any more, and so may be what it was given."""
        return id(node) in self._at or id(node) in self._dropped

    def enter(self, graph: Graph, out: Graph) -> None:
        self._made.enter(graph.nodes)
        around = _Surroundings(graph, self._made)
        for node in graph.nodes:
            softmax = _softmax(node)
            found = None if softmax is None else around.attention(softmax)
            if found is None:
                continue
            self._at[id(found.product)] = found
            if found.result is not found.product.outputs[0]:
                self._reordered[id(found.product.outputs[0])] = found
                self._dropped.update(id(n) for n in around.readers(found.product.outputs[0]))
            for made in found.back.nodes if found.back else ():
                self._at[id(made)] = found

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        found = self._at.get(id(node))
        if found is not None and found.product is node:
            self._forward(found, out)
        elif found is not None:
            self._backward(found, out)
        elif id(node) not in self._dropped:
            shown = self._reordered.get(id(node.inputs[0])) if node.inputs else None
            if shown is not None and traits(node.op).shape_only:
                self._shape(node, shown, out)
            else:
                super().rewrite(node, inputs, out)

    def _forward(self, found: _Attention, out: Graph) -> None:
        node, shape = found.product, found.product.outputs[0].shape
        kept = None if shape is None else (*shape[:-1], _KEPT)
        found.kept = Value(out.unique_name(f"{node.name}_kept"), _FLOAT, kept)
        views = self._views(found)
        attrs = self._attributes(found, views)
        operands = [*(self.value(view.base) for view in views), *self._others(found)]
        outputs = (found.result, found.kept)
        attrs |= {"to": found.view.attribute}
        made = Node(ATTENTION, tuple(operands), attrs, node.name, node.source, outputs, node.device)
        out.nodes.append(made.make_outputs())

    def _backward(self, found: _Attention, out: Graph) -> None:
        back = found.back
        assert back is not None and found.kept is not None
        if back.written:
            return
        back.written = True
        node = back.nodes[0]
        views = (*self._views(found), self._view(back.dy))
        attrs = self._attributes(found, views)
        for name, view in zip(("dq", "dk", "dv"), back.views, strict=True):
            attrs[name] = view.attribute
        q, k, v, dy = (self.value(view.base) for view in views)
        operands = (q, k, v, found.kept, dy, *self._others(found))
        made = Node(
            ATTENTION_GRADIENT,
            operands,
            attrs,
            node.name,
            node.source,
            back.results,
            node.device,
        )
        out.nodes.append(made.make_outputs())

    def _view(self, value: Value) -> View:
        """A value as a view of one that is still made: what others become may have made it go."""
        return view_of(value, self._made, self._is_gone)

    def _views(self, found: _Attention) -> tuple[View, View, View]:
        q, k, v = map(self._view, found.operands)
        return q, k.turned, v

    def _attributes(self, found: _Attention, views: Iterable[View]) -> Attributes:
        attrs: Attributes = {"mask": found.softmax.mask, "scale": found.scale[0]}
        names = zip(("q", "k", "v", "dy"), views, strict=False)
        return attrs | {name: view.order.attribute for name, view in names}

    def _others(self, found: _Attention) -> list[Value]:
        more = [found.scale[1]] if found.scale[1] is not None else []
        return [self.value(v) for v in (*found.softmax.others, *more)]

    def _shape(self, node: Node, found: _Attention, out: Graph) -> None:
        """The sizes of what is not made, from those of a value with its axes in another order."""
        value = found.result
        if node.op != "Shape":
            out.nodes.append(node.replaced((self.value(value),)))
            return
        rank = len(value.shape or ())
        begin, end = node.attrs.get("start", 0), node.attrs.get("end", rank)
        axes = found.view.axes[begin:end]
        shape = out.add_node("Shape", (self.value(value),), {}, [(_INT64, (rank,))], name=node.name)
        index = out.add_constant(np.array(axes, np.int64), _INT64)
        out.nodes.append(node.replaced((shape.outputs[0], index), {"axis": 0}, op="Gather"))


class _Surroundings:
    """A graph, and who uses its values."""

    def __init__(self, graph: Graph, made: Makers) -> None:
        self._made = made
        self._users: dict[int, list[Node]] = {}
        self._results = {id(value) for value in graph.outputs}
        # Of this graph's nodes: what a body is given is made once, and not in it again.
        self._places = {id(node): place for place, node in enumerate(graph.nodes)}
        for node in graph.nodes:
            for key in {id(value) for value in used_values(node)}:
                self._users.setdefault(key, []).append(node)

    def readers(self, value: Value) -> list[Node]:
        """Who needs more of a value than its shape."""
        return [n for n in self._users.get(id(value), ()) if not traits(n.op).shape_only]

    def _only(self, value: Value | None, *, shapes: bool = False) -> Node | None:
        """The only user of a value, which is no result; others may ask for its shape."""
        if value is None or id(value) in self._results:
            return None
        users = self.readers(value) if shapes else self._users.get(id(value), [])
        return users[0] if len(users) == 1 else None

    def attention(self, softmax: _Softmax) -> _Attention | None:
        """What stands around a softmax, if that is attention."""
        weights, scores = softmax.node.outputs[0], softmax.scores
        asked = softmax.node.op == "If"  # for the size of rows, which may be long
        user = self._only(scores, shapes=asked)
        if id(weights) in self._results or user is not softmax.node:
            return None
        scale, product = self._scaled(scores, asked)
        if product is None or product.op != "MatMul" or product.tag is not None:
            return None
        if id(product) not in self._places or not _is_alike_inside(product, weights):
            return None
        q, k = product.inputs
        last = [u for u in self.readers(weights) if u.op == "MatMul" and u.inputs[0] is weights]
        if q is None or k is None or len(last) != 1 or last[0].inputs[1] is None:
            return None
        if last[0].tag is not None:
            return None
        v = last[0].inputs[1]
        if not _fit(q, k, v, weights, last[0].outputs[0]):
            return None
        axes = range(len(q.shape or ()))
        result, view, _ = self._ordered(last[0].outputs[0], axes, shapes=True)
        found = _Attention(
            softmax,
            last[0],
            (q, k, v),
            self._view(q),
            self._view(k).turned,
            self._view(v),
            tuple((q.shape or ())[:-2]) if _is_alike(q, k, v) else (None,),
            scale,
            result,
            view,
        )
        others = [u for u in self._users[id(weights)] if u is not last[0]]
        if others:
            found.back = self._gradient(found, others)
            if found.back is None or self._is_before(found.back, found.product):
                return None
        return found

    def _is_before(self, back: _Back, product: Node) -> bool:
        """True if a part of the gradient stands where what it needs to know is not yet kept."""
        return any(self._places[id(node)] < self._places[id(product)] for node in back.nodes)

    def _scaled(self, scores: Value, asked: bool) -> tuple[tuple[int, Value | None], Node | None]:
        """What is done to a product of queries and keys, and the product."""
        made = self._made.any(scores)
        if made is None or made.op not in _SCALES or made.tag is not None:
            return (0, None), made
        x, number = made.inputs
        if made.op == "Mul" and x is not None and x.const is not None:
            x, number = number, x
        if number is None or number.const is None or number.const.size != 1:
            return (0, None), None
        inner = self._made.any(x) if self._only(x, shapes=asked) is made else None
        return (_SCALES[made.op], number), inner

    def _ordered(
        self, value: Value, order: Sequence[int], *, shapes: bool = False
    ) -> tuple[Value, Order, list[Node]]:
        """A value whose axes are in some order, or what a transposition makes of it.

        Args:
            value: What nothing but the transposition uses, if there is one.
            order: Where the value has each axis.
            shapes: Whether others may ask for its shape.
        """
        user = self._only(value, shapes=shapes)
        if user is None or user.op != "Transpose" or user.tag is not None:
            return value, Order(tuple(order)), []
        places = tuple(user.attrs.get("perm", reversed(range(len(order)))))
        return user.outputs[0], Order(tuple(places.index(axis) for axis in order)), [user]

    def _joined(self, results: Sequence[Value]) -> _Joined | None:
        """The tensor that three results become at last, each in a place along an axis of it."""
        steps = [self._only(value) for value in results]
        joined = None if steps[0] is None else self._only(steps[0].outputs[0])
        if joined is None or joined.op != "Concat" or joined.tag is not None:
            return None
        places = [id(value) for value in joined.inputs]
        axes = range(len(results[0].shape or ()))
        axis, more = joined.attrs["axis"] % (len(axes) + 1), range(len(axes) + 1)
        for step in steps:
            if step is None or not adds_axis(step, axis):
                return None
            if self._only(step.outputs[0]) is not joined:
                return None
        made = [step for step in steps if step is not None]
        if sorted(places) != sorted(id(step.outputs[0]) for step in made):
            return None
        nodes, value, order = [*made, joined], joined.outputs[0], tuple(more)
        after = self._only(value)
        if after is not None and after.op == "Transpose" and after.tag is None:
            order = tuple(after.attrs.get("perm", reversed(more)))
            nodes, value = [*nodes, after], after.outputs[0]
        where = tuple(order.index(a + (a >= axis)) for a in axes)
        others = [(order.index(axis), places.index(id(step.outputs[0]))) for step in made]
        return _Joined(value, where, others, nodes)

    def _gradient(self, found: _Attention, users: list[Node]) -> _Back | None:
        """The gradient that some users of the softmax are, if they are no more than that."""
        slopes = [n for n in users if n.op == SOFTMAX_GRADIENT]
        transposed = [n for n in users if n.op != SOFTMAX_GRADIENT]
        if len(slopes) != 1 or len(transposed) != 1 or not _is_same_mask(found, slopes[0]):
            return None
        above = self._made.any(slopes[0].inputs[1])
        if above is None or above.op != "MatMul" or above.tag is not None:
            return None
        dy, v = above.inputs
        if dy is None or v is None or self._only(above.outputs[0]) is not slopes[0]:
            return None
        dv = self._product_of_turned(transposed[0])
        if dv is None or dv.inputs[1] is None or self._view(v) != found.v.turned:
            return None
        slope = self._view(dy)
        if self._view(dv.inputs[1]) != slope or None in found.outer:
            return None
        of_queries = self._of_slopes(found, slopes[0].outputs[0])
        if of_queries is None or tuple((dy.shape or ())[:-2]) != found.outer:
            return None
        dq, dk = of_queries
        axes = range(len(dy.shape or ()))
        nodes = [dv, dq, dk.product]
        parts = [
            self._ordered(dq.outputs[0], axes),
            self._ordered(dk.product.outputs[0], turned(axes) if dk.turned else axes),
            self._ordered(dv.outputs[0], axes),
        ]
        (q, of_q, q_nodes), (k, of_k, k_nodes), (v, of_v, v_nodes) = parts
        nodes += [*q_nodes, *k_nodes, *v_nodes]
        joined = self._joined((q, k, v)) if of_q == of_k == of_v else None
        if joined is None:
            return _Back(dy, (q, k, v), (of_q, of_k, of_v), nodes)
        whole, where, others, more = joined
        at = tuple(where[axis] for axis in of_q.axes)
        views = [Order(at, *other) for other in others]
        return _Back(dy, (whole,), (views[0], views[1], views[2]), [*nodes, *more])

    def _product_of_turned(self, node: Node | None) -> Node | None:
        """The product that a transposition of the last two axes is the left factor of."""
        if node is None or not turns(node):
            return None
        value: Value = node.outputs[0]
        user = self._only(value, shapes=True)
        if user is not None and user.tag is Mark.KEPT_APART:
            value = user.outputs[0]
            user = self._only(value, shapes=True)
        is_left = user is not None and user.op == "MatMul" and user.inputs[0] is value
        return user if is_left and user is not None and user.tag is None else None

    def _of_slopes(self, found: _Attention, slopes: Value) -> tuple[Node, _Keys] | None:
        """The products that are the gradients with respect to queries and keys."""
        if id(slopes) in self._results:
            return None
        dq: Node | None = None
        dk: _Keys | None = None
        for user in self._users.get(id(slopes), []):
            if user.op == "MatMul" and user.tag is None and user.inputs[0] is slopes:
                k = user.inputs[1]
                if dq is not None or k is None or self._view(k) != found.k:
                    return None
                dq = user
                continue
            other = self._keys(found, slopes, user)
            if other is None or dk is not None:
                return None
            dk = other
        return None if dq is None or dk is None else (dq, dk)

    def _keys(self, found: _Attention, slopes: Value, user: Node) -> _Keys | None:
        """The gradient with respect to keys that a user of the scores' gradient is a part of."""
        if user.op == "MatMul" and user.tag is None and user.inputs[1] is slopes:
            left = user.inputs[0]
            if left is None or self._view(left) != found.q.turned:
                return None
            return _Keys(user, turned=True)
        product = self._product_of_turned(user)
        if product is None or product.inputs[1] is None:
            return None
        if self._view(product.inputs[1]) != found.q:
            return None
        return _Keys(product, turned=False)

    def _view(self, value: Value) -> View:
        return view_of(value, self._made)


class _Keys(NamedTuple):
    """A product that is the gradient with respect to keys, or that turned."""

    product: Node
    turned: bool


class _Joined(NamedTuple):
    """A tensor of three: where it has their axes, its own axis and their places along it."""

    value: Value
    where: tuple[int, ...]
    others: list[tuple[int, int]]
    nodes: list[Node]


def _softmax(node: Node) -> _Softmax | None:
    """The softmax along the last axis that a node is, with a mask or without."""
    if node.op == MASKED_SOFTMAX:
        scores, *others = [v for v in node.inputs if v is not None]
        return _Softmax(node, scores, node.attrs["mask"], tuple(others))
    plain = plain_softmax(node)
    scores_of = None if plain is None else plain.inputs[0]
    if plain is None or scores_of is None or not scores_of.shape or scores_of.dtype != _FLOAT:
        return None
    rank = len(scores_of.shape)
    is_last = plain.attrs.get("axis", -1) % rank == rank - 1
    return _Softmax(node, scores_of, 0, ()) if is_last else None


def _fit(q: Value, k: Value, v: Value, weights: Value, y: Value) -> bool:
    """True if values are of a kind that the kernel takes."""
    rank = len(q.shape or ())
    if not 2 <= rank <= MAX_RANK:
        return False
    values = (q, k, v, weights, y)
    if any(x.dtype != _FLOAT or len(x.shape or ()) != rank for x in values):
        return False
    return q.const is None


def _is_alike_inside(product: Node, weights: Value) -> bool:
    """True if no mask makes more of scores than there are queries and keys, by what is known."""
    sizes, more = (value.shape or () for value in (product.outputs[0], weights))
    pairs = zip(sizes[-2:], more[-2:], strict=False)
    return all(a == b or not (isinstance(a, int) and isinstance(b, int)) for a, b in pairs)


def _is_same_mask(found: _Attention, slopes: Node) -> bool:
    """True if a gradient does what the forward pass did with mask and scale."""
    kind, attrs = found.softmax.mask, slopes.attrs
    masks = [] if kind in (0, _ADDED) else [found.softmax.others[0]]
    scale, number = found.scale
    given = list(slopes.inputs[2:])
    if attrs["mask"] != (0 if kind == _ADDED else kind) or attrs["scale"] != scale:
        return False
    if given[: len(masks)] != masks:
        return False
    if number is None:
        return True
    other = given[len(masks)]
    if other is None or other.const is None or number.const is None:
        return False
    return float(other.const.reshape(-1)[0]) == float(number.const.reshape(-1)[0])


def _is_alike(*values: Value) -> bool:
    """True if all have the same axes in front of a matrix's, by what is known of them."""
    outer = [tuple((x.shape or ())[:-2]) for x in values]
    return None not in outer[0] and all(sizes == outer[0] for sizes in outer)
