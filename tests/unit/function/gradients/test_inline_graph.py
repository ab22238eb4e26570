"""The nodes of a finished graph, emitted again into another one."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import InternalError
from tfx.framework.context import using
from tfx.framework.func_graph import FuncGraph
from tfx.function.execution.plan import Plan
from tfx.function.gradients.inline_graph import inline_nodes
from tfx.function.gradients.pure_function import PureFunction
from tfx.graph import ir
from tfx.graph.ir import Graph, Value
from tfx.graph.tags import Mark
from tfx.graph.verify import verify
from tfx.runtime.values import from_numpy, to_numpy

FLOAT, BOOL = 1, 9
ROW = [(FLOAT, ("n",))]


def _branching():
    """Branches that use outer values, constants of their own, a call and another branch."""
    callee = Graph("callee")
    a = callee.add_input("a", FLOAT, ("n",))
    callee.outputs = list(callee.add_node("Neg", [a], {}, ROW).outputs)
    graph = Graph("main")
    condition, x = graph.add_input("c", BOOL, ()), graph.add_input("x", FLOAT, ("n",))
    y = graph.add_node("Add", [x, x], {}, ROW).outputs[0]
    deep = Graph("deep", graph)
    deep.outputs = list(deep.add_node(ir.CALL, [y], {"graph": callee}, ROW).outputs)
    then = Graph("then", graph)
    ten = then.add_constant(np.array(10, np.float32), FLOAT)
    scaled = then.add_node("Mul", [x, ten], {}, ROW).outputs[0]
    nested = then.add_node("If", [condition], {"then_branch": deep, "else_branch": deep}, ROW)
    then.outputs = list(then.add_node("Add", [scaled, nested.outputs[0]], {}, ROW).outputs)
    orelse = Graph("else", graph)
    orelse.outputs = [y]
    node = graph.add_node("If", [condition], {"then_branch": then, "else_branch": orelse}, ROW)
    graph.outputs = list(node.outputs)
    return graph


@pytest.mark.parametrize("condition", [True, False])
def test_branches(condition):
    source = _branching()
    target = FuncGraph("target")
    with using(graph=target):
        c = target.add_argument("c", BOOL, ())
        x = target.add_argument("x", FLOAT, (None,))
        (result,) = PureFunction(source)([c, x])
        target.graph.outputs = [(result + 1.0)._symbol]
    verify(target.graph)
    feeds = [from_numpy(np.array(condition)), from_numpy(np.array([1, 2], np.float32))]
    (ran,) = Plan(target.graph).run(feeds)
    expected = np.array([8.0, 16.0]) if condition else np.array([2.0, 4.0])
    np.testing.assert_array_equal(to_numpy(ran), expected + 1)
    verify(source)


def test_calls_are_taken_apart():
    inner = tf.function(lambda x: tf.sin(x))
    outer = tf.function(lambda x: inner(inner(x)))
    concrete = outer.get_concrete_function(tf.TensorSpec([None]))
    target = FuncGraph("target")
    with using(graph=target):
        x = target.add_argument("x", FLOAT, (None,))
        PureFunction(concrete.graph.graph)([x])
    assert [n.op for n in target.graph.nodes] == ["Sin", "Sin"]


def test_sources_and_marks_are_kept():
    graph = Graph("g")
    x = graph.add_input("x", FLOAT, ())
    node = graph.add_node("Identity", [x], {}, [(FLOAT, ())])
    node.tag = Mark.STOP_GRADIENT
    graph.outputs = list(node.outputs)
    target = FuncGraph("target")
    with using(graph=target), tf.GradientTape() as tape:
        argument = target.add_argument("x", FLOAT, ())
        tape.watch(argument)
        (result,) = PureFunction(graph)([argument])
    assert target.graph.nodes[-1].tag is Mark.STOP_GRADIENT
    with using(graph=target):
        assert tape.gradient(result, argument) is None


def test_a_broken_graph_is_noticed():
    graph = Graph("broken")
    graph.outputs = [Value("nowhere", FLOAT, ())]
    with pytest.raises(InternalError, match="'broken': output %nowhere is never made"):
        inline_nodes(graph, {}, FuncGraph("target"))
