"""Writers: files, queues, being the default, being closed."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tfx as tf
from tests.unit.summary import reading

summary = tf.summary


def test_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    writers = [
        summary.create_file_writer(folder),
        summary.create_file_writer(str(folder), filename_suffix=".mine"),
        summary.create_file_writer(tf.constant(str(folder)), tf.constant(3), tf.constant(5)),
    ]
    names = sorted(p.name for p in folder.iterdir())
    assert len(names) == 3
    assert all(n.startswith("events.out.tfevents.") for n in names)
    assert sorted(n.rsplit(".", 1)[1] for n in names) == ["mine", "v2", "v2"]
    # TensorBoard may come at once.
    for path in folder.iterdir():
        (first,) = reading.records(path)
        assert [number for number, _ in reading.fields(first)] == [1, 3, 10]
    for writer in writers:
        writer.init()
        writer.close()
        writer.close()
        writer.flush()


def count(folder: Path) -> int:
    return len(reading.read(folder))


def test_the_queue(tmp_path: Path) -> None:
    writer = summary.create_file_writer(tmp_path, max_queue=2)
    writer.set_as_default(step=1)
    try:
        for i, waiting in enumerate((1, 2, 0, 1)):
            summary.scalar("x", i)
            assert count(tmp_path) == i + 1 - waiting
        summary.flush()
        assert count(tmp_path) == 4
        summary.scalar("x", 4)
        writer.flush()
        assert count(tmp_path) == 5
        with writer.as_default():
            summary.scalar("x", 5)
            assert count(tmp_path) == 5
        assert count(tmp_path) == 6
    finally:
        summary.create_noop_writer().set_as_default()
        summary.experimental.set_step(None)
    summary.flush(writer)
    assert [int(v.content) for v in reading.read(tmp_path)] == [0, 1, 2, 3, 4, 5]


def test_time_flushes_as_well(tmp_path: Path) -> None:
    writer = summary.create_file_writer(tmp_path, flush_millis=0)
    with writer.as_default():
        summary.scalar("x", 1.0, step=1)
        assert count(tmp_path) == 1


def test_closed(tmp_path: Path) -> None:
    writer = summary.create_file_writer(tmp_path)
    with pytest.raises(RuntimeError, match="already closed"), writer.as_default():
        writer.close()
        summary.scalar("x", 1.0, step=1)
    with pytest.raises(RuntimeError, match="already closed"), writer.as_default():
        pass
    with pytest.raises(RuntimeError, match="already closed"):
        writer.set_as_default()


def test_a_writer_that_is_gone_has_written(tmp_path: Path) -> None:
    writer = summary.create_file_writer(tmp_path)
    writer.set_as_default()
    summary.scalar("x", 1.0, step=1)
    summary.create_noop_writer().set_as_default()
    assert count(tmp_path) == 0
    del writer
    gc.collect()
    assert count(tmp_path) == 1


def test_the_end_of_the_process_writes(tmp_path: Path) -> None:
    program = (
        "import sys, tfx as tf\n"
        "tf.summary.create_file_writer(sys.argv[1]).set_as_default(step=1)\n"
        "tf.summary.scalar('x', 1.0)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    assert count(tmp_path) == 1


def test_threads(tmp_path: Path) -> None:
    writer = summary.create_file_writer(tmp_path, max_queue=3)

    def work(number: int) -> None:
        assert not bool(summary.should_record_summaries())  # the default is of one thread
        with writer.as_default(step=number):
            for i in range(20):
                summary.scalar(f"x{number}", i)

    with writer.as_default(step=100):
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert summary.experimental.get_step() == 100
    values = reading.read(tmp_path)
    for i in range(4):
        assert [int(v.content) for v in values if v.step == i] == list(range(20))


def test_made_in_a_function(tmp_path: Path) -> None:
    @tf.function
    def f(x: tf.Tensor) -> None:
        with summary.create_file_writer(tmp_path).as_default(step=1):
            summary.scalar("x", x)

    for i in range(3):
        f(tf.constant(i))
    assert [int(v.content) for v in reading.read(tmp_path)] == [0, 1, 2]
    assert len(list(tmp_path.iterdir())) == 1
    with pytest.raises(ValueError, match="Invalid graph Tensor argument logdir"):
        tf.function(lambda folder: summary.create_file_writer(folder))(tf.constant("x"))
    with pytest.raises(TypeError, match="logdir must be a path; got 3"):
        summary.create_file_writer(3)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_needs_its_own(tmp_path: Path) -> None:
    program = (
        "import os, sys, tfx as tf\n"
        "tf.summary.create_file_writer(sys.argv[1]).set_as_default(step=1)\n"
        "tf.summary.scalar('x', 1.0)\n"
        "child = os.fork()\n"
        "if child:\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
        "else:\n"
        "    try:\n"
        "        tf.summary.scalar('x', 2.0)\n"
        "    except RuntimeError as e:\n"
        "        assert 'of its own' in str(e)\n"
        "        sys.exit(0)\n"
        "    sys.exit(1)\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", program, str(tmp_path)]
    subprocess.run(command, check=True)
    assert [float(v.content) for v in reading.read(tmp_path)] == [1.0]
