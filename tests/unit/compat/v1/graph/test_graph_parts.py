"""Graphs as messages: cut, frozen, written and read again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx
import tfx.compat.v1 as tf

util = tf.graph_util


def _model() -> Any:
    x = tf.placeholder(tfx.float32, [None, 2], name="x")
    w = tf.get_variable("layer/w", initializer=[[1.0], [2.0]])
    y = tf.matmul(x, w, name="y")
    tf.reduce_sum(tf.square(y), name="loss")
    return w


def test_a_frozen_graph_needs_no_variables(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        w = _model()
        session.run(w.initializer)
        w.load([[3.0], [4.0]], session)
        whole = graph.as_graph_def()
        frozen = util.convert_variables_to_constants(session, whole, ["y"])
        part = util.convert_variables_to_constants(session, whole, ["y"], None, ["layer/w"])
    assert [x.name for x in frozen.input] == ["x"]
    assert [x.name for x in frozen.initializer] == ["layer/w"]
    assert [n.name for n in frozen.node] == ["y"]
    assert [x.name for x in part.input] == ["x", "layer/w"]
    path = tf.io.write_graph(frozen, str(tmp_path / "new"), "frozen.pb", as_text=False)
    read = tf.GraphDef()
    read.ParseFromString(Path(path).read_bytes())
    with tf.Graph().as_default(), tf.Session() as session:
        (y,) = tf.import_graph_def(read, return_elements=["y:0"], name="")
        assert session.run(y, {"x:0": [[1.0, 1.0]]}).tolist() == [[7.0]]


def test_a_part_is_what_the_operations_need() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tfx.float32, [2], name="x")
        z = tf.placeholder(tfx.float32, [], name="z")
        flag = tf.placeholder(tfx.bool, [], name="flag")
        tf.cond(flag, lambda: x * z, lambda: x, name="chosen")
        tf.square(x, name="square")
        whole = graph.as_graph_def()
    part = util.extract_sub_graph(whole, ["square"])
    assert [v.name for v in part.input] == ["x"]
    assert [n.name for n in part.node] == ["square"]
    (chosen,) = [n.name for n in whole.node if n.op_type == "If"]
    assert {v.name for v in util.extract_sub_graph(whole, [chosen]).input} == {"x", "z", "flag"}
    with pytest.raises(AssertionError, match="none is not in graph"):
        util.extract_sub_graph(whole, ["none"])
    with pytest.raises(TypeError, match="an iterable of strings"):
        util.extract_sub_graph(whole, "square")
    with pytest.raises(TypeError, match="must be a GraphDef"):
        util.extract_sub_graph(graph, ["square"])


def test_copies_are_left_out() -> None:
    def node(op: str, name: str, source: str) -> dict[str, Any]:
        return {"op_type": op, "name": name, "input": [source], "output": [f"{name}_out"]}

    nodes = [
        node("Identity", "a", "x"),
        node("Identity", "b", "a_out"),
        node("Neg", "c", "b_out"),
        node("Identity", "d", "c_out"),
    ]
    graph = tf.GraphDef(node=nodes, output=[{"name": "d_out"}])
    found = util.remove_training_nodes(graph)
    assert [(n.name, *n.input) for n in found.node] == [("c", "x"), ("d", "c_out")]
    kept = util.remove_training_nodes(graph, ["b"])
    assert [(n.name, *n.input) for n in kept.node] == [("b", "x"), ("c", "b_out"), ("d", "c_out")]


def test_graphs_are_written_as_text(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        _model()
        path = tf.train.write_graph(graph, tmp_path, "graph.pbtxt")
        assert util.tensor_shape_from_node_def_name(graph, "y").as_list() == [None, 1]
    assert path == str(tmp_path / "graph.pbtxt")
    assert 'op_type: "MatMul"' in Path(path).read_text()


def test_constants_and_scalars_stay_what_they_are() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=np.float64(2.5))
        tf.add(v, v, name="sum")
        session.run(v.initializer)
        frozen = util.convert_variables_to_constants(session, session.graph_def, ["sum"])
    with tf.Graph().as_default(), tf.Session() as session:
        (found,) = tf.import_graph_def(frozen, return_elements=["sum:0"])
        assert session.run(found) == np.float64(5.0)
        assert found.shape.rank == 0


def test_what_python_makes_is_an_input_and_summaries_are_left_out() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        batch = tf.train.batch([tf.train.range_input_producer(4).dequeue()], 2, name="in")
        w = tf.get_variable("w", initializer=3)
        loss = tf.reduce_sum(batch * w, name="loss")
        tf.summary.scalar("loss", loss)
        session.run(w.initializer)
        frozen = util.convert_variables_to_constants(session, graph.as_graph_def(), ["loss"])
        (source,) = [x.name for x in frozen.input]
    assert [x.name for x in frozen.output] == ["loss"]
    with tf.Graph().as_default(), tf.Session() as session:
        (found,) = tf.import_graph_def(frozen, {source: tfx.constant([5, 6])}, ["loss:0"])
        assert session.run(found) == 33
