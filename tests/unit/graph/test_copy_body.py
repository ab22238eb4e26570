"""Copies of bodies, and replacing values in them."""

from __future__ import annotations

import numpy as np

from tfx.graph.copy_body import captured_values, copy_body, replace_values, snapshot, uses
from tfx.graph.ir import Graph
from tfx.graph.tags import Mark
from tfx.graph.verify import verify

_FLOAT, _BOOL = 1, 9
TYPE = (_FLOAT, (2,))


def _graph():
    """``if c: if c: x + y else: x``, with a constant in the inner branch."""
    graph = Graph("outer")
    c, x, y = (
        graph.add_input("c", _BOOL, ()),
        graph.add_input("x", *TYPE),
        graph.add_input("y", *TYPE),
    )
    outer = Graph("then", graph)
    inner = Graph("inner", outer)
    one = inner.add_constant(np.ones(2, np.float32), _FLOAT)
    total = inner.add_node("Add", (x, y), {}, [TYPE])
    inner.outputs = [inner.add_node("Mul", (total.outputs[0], one), {}, [TYPE]).outputs[0]]
    other = Graph("other", outer)
    other.outputs = [x]
    attrs = {"then_branch": inner, "else_branch": other}
    node = outer.add_node("If", (c,), attrs, [TYPE])
    node.tag = Mark.BARRIER
    outer.outputs = [node.outputs[0]]
    return graph, outer, (c, x, y)


def test_captured_values_are_those_from_outside():
    _, body, (c, x, y) = _graph()
    assert captured_values([body]) == [c, x, y]


def test_a_copy_is_the_same_in_another_graph():
    _, body, (c, x, y) = _graph()
    target = Graph("target")
    new = {id(v): target.add_input(v.name, v.dtype, v.shape) for v in (c, x, y)}
    copied = copy_body(
        body, target, lambda v: new[id(v)], lambda v: target.add_constant(v.const, v.dtype)
    )
    verify(copied, frozenset(id(v) for v in (*new.values(), *target.constants)))
    (node,) = copied.nodes
    assert (node.op, node.tag, node.inputs) == ("If", Mark.BARRIER, (new[id(c)],))
    assert node is not body.nodes[0]
    assert len(target.constants) == 1
    assert captured_values([copied]) == [new[id(v)] for v in (c, x, y)]


def test_values_are_replaced_at_any_depth():
    graph, body, (_, x, y) = _graph()
    z = graph.add_input("z", *TYPE)
    assert (uses(body, x), uses(body, y)) == (2, 1)
    replace_values(body, {id(x): z, id(y): z})
    assert (uses(body, x), uses(body, y), uses(body, z)) == (0, 0, 3)


def test_a_snapshot_does_not_see_what_comes_later():
    _, body, (_, x, _) = _graph()
    (taken,) = snapshot(body.nodes)
    body.nodes[0].attrs["then_branch"].outputs.append(x)
    body.nodes[0].attrs["then_branch"].nodes.clear()
    assert len(taken.attrs["then_branch"].outputs) == 1
    assert len(taken.attrs["then_branch"].nodes) == 2
    assert taken.outputs == body.nodes[0].outputs
