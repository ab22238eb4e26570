"""Attention in a graph: products of queries and keys, a softmax, and its product with values.

Owns the search. Must not know what is done with what is found. The one decision: attention is
known by what it computes, so it is found in models of any origin: between the first product and the
softmax there may be scales by one number, a mask that is added or chosen, casts; between the
softmax and the second product casts and choices.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tfx.graph.ir import Graph, Node, Value


@dataclass(slots=True, eq=False)
class Attention:
    """One attention.

    Attributes:
        softmax: The node.
        scores: The product of queries and keys.
        scales: The nodes between it and the softmax that scale or cast, in order, each with the
            number of its input that comes from the scores.
        product: The product with the values.
    """

    softmax: Node
    scores: Node
    scales: list[tuple[Node, int]] = field(default_factory=list)
    product: Node | None = None

    @property
    def queries(self) -> Value:
        """``[..., heads, time, size]``."""
        return _input(self.scores, 0)

    @property
    def keys(self) -> Value:
        """``[..., heads, size, time]``."""
        return _input(self.scores, 1)

    @property
    def values(self) -> Value:
        """``[..., heads, time, size]``."""
        assert self.product is not None
        return _input(self.product, 1)

    @property
    def sizes(self) -> tuple[int, int, int] | None:
        """Heads, and the sizes of a key and of a value; None: the graph does not say them."""
        found = [_dim(v, axis) for v, axis in ((self.queries, -1), (self.values, -1))]
        size = found[0] or _dim(self.keys, -2)
        heads = 1
        rank = max(len(v.shape or ()) for v in (self.queries, self.keys))
        if rank > 3:
            many = [_dim(v, -3) for v in (self.queries, self.keys, self.values)]
            known = [h for h in many if h] or [
                h for h in map(_split, (self.queries, self.keys)) if h
            ]
            if not known:
                return None
            heads = max(known)
        return (heads, size, found[1]) if size and found[1] else None


def _input(node: Node, place: int) -> Value:
    value = node.inputs[place]
    assert value is not None
    return value


def _dim(value: Value, axis: int) -> int | None:
    shape = value.shape
    if shape is None or len(shape) < -axis:
        return None
    found = shape[axis]
    return found if isinstance(found, int) else None


def _split(value: Value) -> int | None:
    """Into how many heads a reshape splits a vector, where the graph leaves that to be computed."""
    node = value.node
    while node is not None and node.op in ("Transpose", "Mul", "Div", "Identity", "Cast"):
        given = node.inputs[0]
        node = None if given is None else given.node
    if node is None or node.op != "Reshape":
        return None
    whole, part = _dim(_input(node, 0), -1), _dim(node.outputs[0], -1)
    if whole is None or part is None or len(node.outputs[0].shape or ()) != 4:
        return None
    return whole // part if whole % part == 0 else None


def find_attention(graph: Graph) -> list[Attention]:
    """Every attention of a graph, in its order; those inside of branches and loops are not."""
    found: list[Attention] = []
    behind: dict[int, Attention] = {}
    for node in graph.nodes:
        if node.op == "Softmax" and _is_last(node):
            attention = _before(node)
            if attention is not None:
                behind[id(node.outputs[0])] = attention
        known = [behind.get(id(v)) for v in node.inputs]
        if node.op in ("Cast", "Identity", "Where", "Max", "Clip"):
            passing = next((a for a in known if a is not None), None)
            if passing is not None:
                behind[id(node.outputs[0])] = passing
        elif node.op == "MatMul":
            attention = known[0]
            if attention is not None and attention.product is None:
                attention.product = node
                found.append(attention)
    return found


def _is_last(node: Node) -> bool:
    shape = node.inputs[0].shape if node.inputs[0] is not None else None
    axis = node.attrs.get("axis", -1)
    return axis == -1 or (shape is not None and axis == len(shape) - 1)


def _before(softmax: Node) -> Attention | None:
    """The attention that ends in a softmax, looking back from it."""
    scales: list[tuple[Node, int]] = []
    value = softmax.inputs[0]
    for _ in range(12):
        node = None if value is None else value.node
        if node is None:
            return None
        if node.op == "MatMul":
            shapes = [v.shape for v in node.inputs if v is not None]
            if any(s is None or len(s) < 3 for s in shapes):
                return None
            return Attention(softmax, node, scales[::-1])
        place = _main_input(node)
        if place is None:
            return None
        if node.op in ("Mul", "Div", "Cast"):
            scales.append((node, place))
        value = node.inputs[place]
    return None


def _main_input(node: Node) -> int | None:
    """Which input of a node comes from the scores; None: no such node stands in attention."""
    if node.op in ("Cast", "Identity"):
        return 0
    if node.op in ("Mul", "Div"):
        ones = [i for i, v in enumerate(node.inputs) if v is not None and _is_one(v)]
        if 1 in ones:
            return 0
        return 1 if node.op == "Mul" and 0 in ones else None
    if node.op in ("Add", "Where", "Max"):
        return next((i for i, v in enumerate(node.inputs) if v is not None and _leads(v)), None)
    return None


def _leads(value: Value, depth: int = 8) -> bool:
    """True if a value comes from a product by the steps that stand in attention."""
    node = value.node
    if node is None or depth == 0:
        return False
    if node.op == "MatMul":
        return True
    places = {"Cast": (0,), "Identity": (0,), "Where": (1, 2)}.get(node.op, (0, 1))
    if node.op not in ("Cast", "Identity", "Where", "Mul", "Div", "Add", "Max"):
        return False
    given = [node.inputs[i] for i in places if i < len(node.inputs)]
    return any(v is not None and _leads(v, depth - 1) for v in given)


def _is_one(value: Value) -> bool:
    """True if a value is a single number."""
    return value.shape is not None and all(d == 1 for d in value.shape)
