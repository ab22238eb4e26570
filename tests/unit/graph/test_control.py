"""Views of ``If`` and ``Loop`` nodes: parts by name, and nodes that grow and shrink."""

import numpy as np
import pytest

from tfx.graph.control import If, Loop, loop_types
from tfx.graph.ir import Graph, Node, Value
from tfx.graph.serialization.serialize import to_model
from tfx.runtime.session import Session
from tfx.runtime.values import from_numpy, to_numpy

FLOAT, INT64, BOOL = 1, 7, 9


def constant(graph: Graph, array) -> Value:
    array = np.asarray(array)
    return graph.add_constant(array, {"f": FLOAT, "i": INT64, "b": BOOL}[array.dtype.kind])


def powers() -> tuple[Graph, Loop]:
    """The graph of ``x * 2 ** 3``, by a loop that collects each value before it is doubled."""
    graph = Graph("powers")
    x = graph.add_input("x", FLOAT, ())
    body = Graph("body", graph)
    body.add_input("i", INT64, ())
    going = body.add_input("going", BOOL, ())
    before = body.add_input("before", FLOAT, ())
    (after,) = body.add_node("Add", (before, before), {}, [(FLOAT, ())]).outputs
    body.outputs = [going, after, before]
    limit = constant(graph, np.int64(3))
    node = graph.add_node("Loop", (limit, None, x), {"body": body}, loop_types(body))
    graph.outputs = list(node.outputs)
    return graph, Loop(node)


def halves() -> tuple[Graph, If]:
    """The graph of ``x + x if c else x``."""
    graph = Graph("halves")
    c, x = graph.add_input("c", BOOL, ()), graph.add_input("x", FLOAT, ())
    then, otherwise = Graph("then", graph), Graph("otherwise", graph)
    then.outputs = list(then.add_node("Add", (x, x), {}, [(FLOAT, ())]).outputs)
    otherwise.outputs = [x]
    attrs = {"then_branch": then, "else_branch": otherwise}
    node = graph.add_node("If", (c,), attrs, [(FLOAT, ())])
    graph.outputs = list(node.outputs)
    return graph, If(node)


def run(graph: Graph, **given) -> list[np.ndarray]:
    session = Session(to_model(graph).SerializeToString())
    return [
        to_numpy(y) for y in session.run({k: from_numpy(np.asarray(v)) for k, v in given.items()})
    ]


def test_parts_of_a_loop_by_name():
    graph, loop = powers()
    (carried,) = loop.carried
    assert (carried.initial, carried.before) == (graph.inputs[0], loop.body.inputs[2])
    assert (carried.after, carried.final) == (loop.body.nodes[0].outputs[0], loop.node.outputs[0])
    assert loop.scanned == [(carried.before, loop.node.outputs[1])]
    assert loop.rows_of(carried.before) is loop.node.outputs[1]
    assert loop.rows_of(carried.after) is None
    assert (loop.iteration.name, loop.entered.name) == ("i", "going")
    assert loop.goes_on is loop.entered
    assert loop.condition is None
    assert loop.trip_count() == 3


def test_a_loop_carries_and_collects_one_more():
    graph, loop = powers()
    body = loop.body
    total = Value(body.unique_name("total"), FLOAT, ())
    (more,) = body.add_node("Add", (total, loop.before[0]), {}, [(FLOAT, ())]).outputs
    final = loop.carry(constant(graph, np.float32(10)), total, more, "sum")
    rows = loop.collect(loop.after[0], "ends")
    assert rows.shape == (3,)
    assert loop.final == (graph.outputs[0], final)
    assert loop.rows == (graph.outputs[1], rows)
    assert final.node is rows.node is loop.node
    graph.outputs += [final, rows]
    y, before, summed, ends = run(graph, x=np.float32(3))
    np.testing.assert_array_equal(y, 24)
    np.testing.assert_array_equal(before, [3, 6, 12])
    np.testing.assert_array_equal(summed, 10 + 3 + 6 + 12)
    np.testing.assert_array_equal(ends, [6, 12, 24])


@pytest.mark.parametrize(("results", "state"), [((1,), {0}), ((0,), {0}), ((), set())])
def test_the_state_that_results_need(results, state):
    _, loop = powers()

    def needed(roots: list[Value]) -> set[int]:
        found = {id(v) for v in roots}
        for node in reversed(loop.body.nodes):
            if any(id(v) in found for v in node.outputs):
                found.update(map(id, node.inputs))
        return found

    assert loop.state_needed(results, needed) == state


def test_a_loop_keeps_some_results():
    graph, loop = powers()
    made: Node = loop.keep([0])
    assert made.outputs == loop.node.outputs[:1]
    assert len(loop.node.outputs) == len(loop.body.outputs) - 1 == 2
    graph.nodes, graph.outputs = [made], list(made.outputs)
    np.testing.assert_array_equal(run(graph, x=np.float32(3)), [24])


def test_parts_of_an_if_and_one_more_result():
    graph, choice = halves()
    assert choice.condition is graph.inputs[0]
    assert choice.branches == (choice.then, choice.otherwise)
    assert choice.choices == [
        (choice.then.outputs[0], choice.otherwise.outputs[0], choice.node.outputs[0])
    ]
    x = graph.inputs[1]
    (square,) = choice.otherwise.add_node("Mul", (x, x), {}, [(FLOAT, ())]).outputs
    nothing = constant(graph, np.float32(-1))
    graph.outputs.append(choice.add_of_branch(choice.otherwise, square, nothing, "square"))
    for taken, results in ((True, (6, -1)), (False, (3, 9))):
        np.testing.assert_array_equal(run(graph, c=np.array(taken), x=np.float32(3)), results)


def test_an_if_keeps_some_results():
    graph, choice = halves()
    choice.add(graph.inputs[1], graph.inputs[1], "same", ())
    made = choice.keep([1])
    assert made.outputs == choice.node.outputs[1:]
    graph.nodes, graph.outputs = [made], list(made.outputs)
    np.testing.assert_array_equal(run(graph, c=np.array(True), x=np.float32(3)), [3])
