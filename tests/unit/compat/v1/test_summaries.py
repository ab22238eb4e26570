"""Summaries of TensorFlow 1: computed by sessions, collected, merged and written."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.summary.reading import records
from tfx.summary import event_pb2 as pb

v1 = tf.compat.v1


def test_a_session_computes_what_was_collected(tmp_path):
    with v1.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None])
        with v1.name_scope("train"):
            loss = v1.summary.scalar("loss", tf.reduce_sum(x), family="all")
        v1.summary.histogram("weights", x)
        v1.summary.text("note", tf.constant("**hello**"), collections=["texts"])
        merged, texts = v1.summary.merge_all(), v1.summary.merge_all("texts")
        assert v1.summary.merge_all("nothing") is None
        assert loss in v1.get_collection(v1.GraphKeys.SUMMARIES)
        with v1.Session() as session, v1.summary.FileWriter(tmp_path, graph) as writer:
            found, text = session.run([merged, texts], {x: [1.0, 2.0]})
            writer.add_summary(found, global_step=3)
            writer.add_summary(v1.summary.Summary.FromString(text))
    message = v1.summary.Summary.FromString(found)
    assert [v.tag for v in message.value] == ["train/all/loss", "weights"]
    assert np.frombuffer(message.value[0].tensor.tensor_content, "<f4").tolist() == [3.0]
    (path,) = tmp_path.iterdir()
    first, with_graph, *written = [pb.Event.FromString(r) for r in records(path)]
    assert first.file_version == "brain.Event:2"
    assert with_graph.graph_def
    assert [e.step for e in written] == [3, 0]
    assert written[1].summary.value[0].tensor.string_val[0] == b"**hello**"


def test_writers_can_be_reopened(tmp_path):
    writer = v1.summary.FileWriter(str(tmp_path), filename_suffix=".mine")
    assert writer.get_logdir() == str(tmp_path)
    writer.add_event(v1.summary.Event(step=7))
    writer.flush()
    writer.close()
    writer.close()
    with pytest.raises(RuntimeError, match="is closed; call reopen"):
        writer.add_summary(b"")
    writer.reopen()
    writer.add_summary(b"", 1)
    writer.close()
    paths = sorted(tmp_path.iterdir())
    assert len(paths) == 2
    assert all(p.name.endswith(".mine") for p in paths)


def test_what_is_no_scalar_is_refused():
    with v1.Graph().as_default(), v1.Session() as session:
        loss = v1.summary.scalar("loss", tf.ones([2]))
        with pytest.raises(tf.errors.OpError, match="takes a scalar"):
            session.run(loss)
