"""Whether, where and at which step: eagerly, and whenever a traced function runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.summary import reading

summary = tf.summary
set_step, get_step = summary.experimental.set_step, summary.experimental.get_step


class Log:
    """A folder with a writer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writer = summary.create_file_writer(folder)

    def values(self) -> list[tuple[str, int, float]]:
        self.writer.flush()
        return [(v.tag, v.step, float(v.content)) for v in reading.read(self.folder)]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = Log(tmp_path / "log")
    yield log
    log.writer.close()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Log]:
    log = Log(tmp_path / "other")
    yield log
    log.writer.close()


class TestEager:
    def test_answers(self, log: Log) -> None:
        assert not bool(summary.scalar("x", 1.0))  # no writer: no step needed
        with log.writer.as_default():
            assert bool(summary.scalar("x", 1.0, step=1))
            with summary.record_if(False):
                assert not bool(summary.scalar("x", 2.0))
                with summary.record_if(lambda: tf.constant(True)):
                    assert bool(summary.should_record_summaries())
                    summary.scalar("x", 3.0, step=3)
            assert bool(summary.should_record_summaries())
            with summary.create_noop_writer().as_default(step=5):
                assert not bool(summary.should_record_summaries())
                assert get_step() is None
        assert not bool(summary.should_record_summaries())
        assert log.values() == [("x", 1, 1.0), ("x", 3, 3.0)]

    def test_data_may_be_a_function(self, log: Log) -> None:
        calls: list[int] = []

        def data() -> float:
            calls.append(1)
            return 2.0

        summary.scalar("x", data, step=1)
        with log.writer.as_default():
            summary.scalar("x", data, step=1)
        assert (log.values(), calls) == ([("x", 1, 2.0)], [1])

    def test_steps(self, log: Log) -> None:
        v = tf.Variable(4, dtype=tf.int64)
        with log.writer.as_default():
            with pytest.raises(ValueError, match="No step set"):
                summary.scalar("x", 1.0)
            for step in ("a", 1.5, tf.constant(1.0)):
                with pytest.raises(TypeError):
                    summary.scalar("x", 1.0, step=step)
            for step in (1, np.int32(2), tf.constant(3), v, tf.Variable(5)):
                summary.scalar("x", 0.0, step=step)
        assert [s for _, s, _ in log.values()] == [1, 2, 3, 4, 5]

    def test_the_default_step(self, log: Log) -> None:
        v = tf.Variable(4, dtype=tf.int64)
        with log.writer.as_default(step=v):
            assert get_step() is v
            summary.scalar("x", 1.0)
            v.assign_add(1)
            summary.scalar("x", 1.0)
            with log.writer.as_default():
                assert get_step() is v
            set_step(9)
            summary.scalar("x", 1.0)
        assert get_step() is None
        assert [s for _, s, _ in log.values()] == [4, 5, 9]

    def test_tags(self, log: Log) -> None:
        with log.writer.as_default(step=0), tf.name_scope("a"), tf.name_scope("b"):
            summary.scalar("my loss", 1.0)
            summary.write("as it is", 2.0)
            with summary.experimental.summary_scope("c d/e") as names:
                assert names == ("a/b/c d/e", "a/b/cd/e/")
        assert [t for t, _, _ in log.values()] == ["a/b/my loss", "as it is"]

    def test_raw(self, log: Log, other: Log) -> None:
        with log.writer.as_default(step=1):
            summary.scalar("x", 1.0)
        log.writer.flush()
        (path,) = log.folder.iterdir()
        message = dict(reading.fields(reading.records(path)[1]))[5]
        with other.writer.as_default():
            assert bool(summary.experimental.write_raw_pb(message, step=8))
            empty = tf.constant(b"")
            assert bool(tf.function(summary.experimental.write_raw_pb)(empty, step=tf.constant(1)))
            summary.write("y", 2.0, 9, metadata=reading.read(log.folder)[0].metadata)
            with pytest.raises(TypeError, match="SummaryMetadata"):
                summary.write("y", 2.0, 9, metadata=3)
        assert other.values() == [("x", 8, 1.0), ("y", 9, 2.0)]
        assert reading.read(other.folder)[1].plugin == "scalars"


class TestInAFunction:
    def test_writer_condition_and_step_of_the_call(self, log: Log, other: Log) -> None:
        @tf.function
        def f(x: tf.Tensor) -> tf.Tensor:
            wrote = summary.scalar("x", x * 2.0)
            return wrote

        assert not bool(f(tf.constant(0.0)))
        with log.writer.as_default(step=1):
            assert bool(f(tf.constant(1.0)))
            with other.writer.as_default(step=tf.Variable(2)), summary.record_if(True):
                f(tf.constant(2.0))
            with summary.record_if(lambda: False):
                assert not bool(f(tf.constant(3.0)))
            set_step(4)
            f(tf.constant(4.0))
        assert not bool(f(tf.constant(5.0)))
        with log.writer.as_default(), pytest.raises(ValueError, match="No step set"):
            f(tf.constant(6.0))
        assert f.experimental_get_tracing_count() == 1
        assert log.values() == [("x", 1, 2.0), ("x", 4, 8.0)]
        assert other.values() == [("x", 2, 4.0)]

    def test_a_writer_of_its_own(self, log: Log, other: Log) -> None:
        @tf.function
        def inner(x: tf.Tensor) -> None:
            summary.scalar("inner", x)

        @tf.function
        def f(x: tf.Tensor) -> None:
            summary.scalar("before", x)
            with log.writer.as_default(step=7), tf.name_scope("n"):
                summary.scalar("x", x)
                inner(x)
            inner(x + 1.0)

        f(tf.constant(1.0))
        with other.writer.as_default(step=2):
            inner(tf.constant(0.0))
            f(tf.constant(2.0))
        expected = [("n/x", 7, 1.0), ("inner", 7, 1.0), ("n/x", 7, 2.0), ("inner", 7, 2.0)]
        assert log.values() == expected
        assert other.values() == [("inner", 2, 0.0), ("before", 2, 2.0), ("inner", 2, 3.0)]

    def test_a_condition_that_is_computed(self, log: Log) -> None:
        @tf.function
        def inner(x: tf.Tensor) -> tf.Tensor:
            summary.scalar("inner", x)
            return summary.should_record_summaries()

        @tf.function
        def f(x: tf.Tensor, step: tf.Tensor) -> tf.Tensor:
            with summary.record_if(step % 2 == 0):
                summary.scalar("x", x, step=step)
                with summary.record_if(lambda: tf.equal(step, 3)):
                    summary.scalar("three", x, step=step)
                return inner(x)

        with log.writer.as_default(step=0):
            answers = [bool(f(1.0, tf.constant(i, tf.int64))) for i in range(4)]
            assert answers == [True, False, True, False]
        assert log.values() == [
            ("x", 0, 1.0),
            ("inner", 0, 1.0),
            ("x", 2, 1.0),
            ("inner", 0, 1.0),
            ("three", 3, 1.0),
        ]

    def test_steps_in_the_graph(self, log: Log) -> None:
        v = tf.Variable(0, dtype=tf.int64)

        @tf.function
        def f() -> None:
            summary.scalar("a", 0.0)
            v.assign_add(1)
            summary.scalar("b", 0.0)
            summary.scalar("c", 0.0, step=v * 10)
            summary.scalar("d", 0.0, step=99)

        with log.writer.as_default(step=v):
            f()
            f()
        first = [("a", 0), ("b", 1), ("c", 10), ("d", 99)]
        second = [("a", 1), ("b", 2), ("c", 20), ("d", 99)]
        assert [(t, s) for t, s, _ in log.values()] == first + second

    def test_order_and_failure(self, log: Log) -> None:
        v = tf.Variable(1.0)

        @tf.function
        def f(x: tf.Tensor) -> tf.Tensor:
            summary.scalar("v", v)
            v.assign_add(x)
            summary.scalar("v", v)
            tf.debugging.assert_positive(x)
            summary.scalar("late", v)
            return v.value()

        with log.writer.as_default(step=0):
            f(tf.constant(1.0))
            with pytest.raises(tf.errors.InvalidArgumentError, match="did not hold"):
                f(tf.constant(-1.0))
        expected = [("v", 1.0), ("v", 2.0), ("late", 2.0), ("v", 2.0), ("v", 1.0)]
        assert [(t, x) for t, _, x in log.values()] == expected

    def test_under_a_tape(self, log: Log) -> None:
        @tf.function
        def f(x: tf.Tensor) -> tf.Tensor:
            y = x * x
            summary.scalar("y", y)
            return y

        def slope(x: tf.Tensor) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            return tape.gradient(y, x)

        with log.writer.as_default(step=0):
            for g in (slope, tf.function(slope)):
                assert float(g(tf.constant(3.0))) == 6.0
        assert log.values() == [("y", 0, 9.0)] * 2

    def test_flush_and_close(self, log: Log) -> None:
        @tf.function
        def f() -> None:
            summary.scalar("x", 1.0, step=0)
            summary.flush()

        log.writer.set_as_default()
        try:
            f()
            assert len(reading.read(log.folder)) == 1
            tf.function(lambda: log.writer.close())()
            with pytest.raises(RuntimeError, match="already closed"):
                f()
        finally:
            summary.create_noop_writer().set_as_default()

    def test_eager_code_while_tracing(self, log: Log) -> None:
        @tf.function
        def f(x: tf.Tensor) -> tf.Tensor:
            with log.writer.as_default(step=3), tf.init_scope():
                assert bool(tf.summary.should_record_summaries())
                summary.scalar("once", 1.0)
            return x

        f(tf.constant(1.0))
        f(tf.constant(2.0))
        assert log.values() == [("once", 3, 1.0)]

    def test_every_kind(self, log: Log) -> None:
        @tf.function
        def f(x: tf.Tensor) -> None:
            summary.histogram("h", x)
            summary.image("i", tf.reshape(x, [1, 2, 2, 1]))
            summary.audio("a", tf.reshape(x, [1, 4, 1]), 8000)
            summary.text("t", tf.constant("text"))

        f(tf.range(4.0))  # nothing records
        with log.writer.as_default(step=0):
            f(tf.range(4.0))
        log.writer.flush()
        plugins = [v.plugin for v in reading.read(log.folder)]
        assert plugins == ["histograms", "images", "audio", "text"]
