"""What every pass relies on: values are replaced everywhere, and nothing changes in place."""

from __future__ import annotations

import tfx as tf
from tfx.graph.ir import CALL, Graph, Node
from tfx.graph.printer import to_text
from tfx.graph.rewrite import Inputs, Rewriter


class NegToAbs(Rewriter):
    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        if node.op != "Neg":
            super().rewrite(node, inputs, out)
            return
        made = out.add_node("Abs", inputs, {}, [(v.dtype, v.shape) for v in node.outputs])
        self.use(node.outputs[0], made.outputs[0])


def ops_of(graph: Graph) -> list[str]:
    return [n.op for g in (graph, *graph.subgraphs()) for n in g.nodes]


@tf.function
def negative_of(x: tf.Tensor) -> tf.Tensor:
    return -x


@tf.function
def program(x: tf.Tensor) -> tf.Tensor:
    outer = -x
    y = tf.cond(tf.reduce_sum(x) > 0, lambda: outer + 1, lambda: -outer)
    return negative_of(y) + negative_of(y + 1)


def traced() -> Graph:
    return program.get_concrete_function(tf.TensorSpec([2])).graph.graph


def test_values_are_replaced_in_bodies_and_callees() -> None:
    result = NegToAbs().run(traced())
    assert "Neg" in ops_of(traced())
    assert "Neg" not in ops_of(result)
    made = {id(v) for g in (result, *result.subgraphs()) for n in g.nodes for v in n.outputs}
    given = {id(v) for g in (result, *result.subgraphs()) for v in (*g.inputs, *g.constants)}
    for part in (result, *result.subgraphs()):
        used = [v for n in part.nodes for v in n.inputs if v is not None] + part.outputs
        assert all(id(v) in made | given for v in used)


def test_the_graph_that_is_given_stays_as_it_was() -> None:
    graph = traced()
    before = to_text(graph)
    NegToAbs().run(graph)
    assert to_text(graph) == before


def test_calls_of_one_function_go_on_sharing_it() -> None:
    result = NegToAbs().run(traced())
    called = [n.attrs["graph"] for n in result.nodes if n.op == CALL]
    assert len(called) == 2
    assert called[0] is called[1]


def test_a_node_that_nothing_happens_to_is_the_same_object() -> None:
    graph = traced()
    assert set(map(id, graph.nodes)) & set(map(id, Rewriter().run(graph).nodes))
