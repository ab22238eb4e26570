"""``trace_on`` and ``trace_export``: the functions that ran."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

import tfx as tf
from tests.unit.summary import reading
from tests.unit.summary.test_graphs import nodes


@pytest.fixture(autouse=True)
def no_trace() -> Iterator[None]:
    yield
    tf.summary.trace_off()


@tf.function
def layer(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.relu(tf.matmul(x, x, name="product"))


@tf.function
def other(x: tf.Tensor) -> tf.Tensor:
    return tf.sin(x, name="wave")


def exported(folder: Path) -> tuple[str, bytes, bytes, list[set[str]]]:
    """Tag, step and plugin of the one value, and the names of each graph's nodes."""
    (path,) = folder.glob("events*")
    _, record = reading.records(path)
    event = dict(reading.fields(record))
    ((_, value),) = reading.fields(event[5])
    parts = dict(reading.fields(value))
    plugin = dict(reading.fields(dict(reading.fields(parts[9]))[1]))
    metadata = dict(reading.fields(parts[8]))[8]
    graphs = [set(nodes(dict(reading.fields(g))[2])) for n, g in reading.fields(metadata) if n == 4]
    return parts[1].decode(), event.get(2, 0), plugin[1], graphs


def test_what_ran_is_written(tmp_path: Path) -> None:
    layer(tf.ones([2, 2]))  # traced before
    writer = tf.summary.create_file_writer(str(tmp_path))
    tf.summary.trace_on(graph=True)
    layer(tf.zeros([2, 2]))
    layer(tf.ones([2, 2]))
    other(tf.constant(1.0))
    with writer.as_default():
        tf.summary.trace_export(name="mine", step=3)
    layer(tf.ones([2, 2]))
    writer.close()
    tag, step, plugin, graphs = exported(tmp_path)
    assert (tag, step, plugin) == ("mine", 3, b"graph_run_metadata_graph")
    assert [sorted(g & {"product", "wave"}) for g in graphs] == [["product"], ["wave"]]
    with pytest.raises(ValueError, match="Must enable trace before export"):
        tf.summary.trace_export("again", step=4)


def test_beside_a_profile(tmp_path: Path) -> None:
    writer = tf.summary.create_file_writer(str(tmp_path))
    tf.summary.trace_on(graph=True)
    tf.profiler.experimental.start(str(tmp_path))
    layer(tf.ones([2, 2]))
    with writer.as_default():
        tf.summary.trace_export("mine", step=0, profiler_outdir=str(tmp_path))
    tf.profiler.experimental.stop()
    writer.close()
    assert [g & {"product"} for g in exported(tmp_path)[3]] == [{"product"}]


def test_with_a_profile_of_its_own(tmp_path: Path) -> None:
    writer = tf.summary.create_file_writer(str(tmp_path / "events"))
    tf.summary.trace_on(profiler=True, profiler_outdir=str(tmp_path))
    layer(tf.ones([2, 2]))
    with writer.as_default():
        tf.summary.trace_export("mine", step=0)
    writer.close()
    assert exported(tmp_path / "events")[2] == b"graph_run_metadata"
    assert list(tmp_path.glob("plugins/profile/*/*.pb"))


def test_what_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="tfx"):
        tf.summary.trace_on(profiler=True)
        tf.summary.trace_on()

        @tf.function
        def inside() -> None:
            tf.summary.trace_on()
            tf.summary.trace_export("x", step=0)

        inside()
    told = [r.getMessage() for r in caplog.records]
    assert len(told) == 4
    assert "profiler_outdir" in told[0]
    assert "already enabled" in told[1]
    assert "Cannot enable trace" in told[2]
    assert "Cannot export trace" in told[3]


def test_a_trace_without_a_step_goes_on(tmp_path: Path) -> None:
    tf.summary.trace_on()
    layer(tf.ones([2, 2]))
    with tf.summary.create_file_writer(str(tmp_path)).as_default() as writer:
        with pytest.raises(ValueError, match="No step set"):
            tf.summary.trace_export("x")
        tf.summary.trace_export("x", step=1)
    writer.close()
    assert exported(tmp_path)[1] == 1
