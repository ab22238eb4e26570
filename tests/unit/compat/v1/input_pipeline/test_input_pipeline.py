"""Input pipelines of TensorFlow 1: producers, readers, batches, and the threads that run them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tfx as tf

v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with v1.Graph().as_default() as graph:
        yield graph


@contextmanager
def running() -> Iterator[Any]:
    """A session with its variables and threads."""
    with v1.Session() as session:
        session.run([v1.global_variables_initializer(), v1.local_variables_initializer()])
        coordinator = v1.train.Coordinator()
        threads = v1.train.start_queue_runners(session, coordinator)
        try:
            yield session
        finally:
            coordinator.request_stop()
            coordinator.join(threads)


def all_of(session: Any, fetches: Any) -> list[Any]:
    """What a session computes until the data end."""
    found = []
    with pytest.raises(tf.errors.OutOfRangeError):
        while True:
            found.append(session.run(fetches))
    return found


def numbers(n: int, epochs: int = 1, **options: Any) -> Any:
    options = {"shuffle": False, **options}
    return v1.train.range_input_producer(n, num_epochs=epochs, **options).dequeue()


def test_strings_come_epoch_after_epoch(graph: Any) -> None:
    queue = v1.train.string_input_producer(["a", "b"], num_epochs=2, shuffle=False)
    assert [v.name for v in v1.local_variables()] == ["input_producer/limit_epochs/epochs:0"]
    summary = v1.summary.merge_all()
    with running() as session:
        assert all_of(session, queue.dequeue()) == [b"a", b"b", b"a", b"b"]
        message = v1.Summary.FromString(session.run(summary))
    assert [v.tag for v in message.value] == ["input_producer/fraction_of_32_full"]


def test_rows_of_several_tensors_stay_together() -> None:
    letters, count = v1.train.slice_input_producer([["a", "b", "c"], [1, 2, 3]], 2, seed=1)
    with running() as session:
        found = [(x, int(y)) for x, y in all_of(session, [letters, count])]
    pairs = [(b"a", 1), (b"b", 2), (b"c", 3)]
    assert sorted(found[:3]) == sorted(found[3:]) == pairs


def test_batches_may_be_larger_than_the_queue_and_the_last_one_smaller() -> None:
    one = v1.train.batch([numbers(5)], 3, capacity=2, allow_smaller_final_batch=True)
    assert one.shape.as_list() == [None]
    with running() as session:
        assert [x.tolist() for x in all_of(session, one)] == [[0, 1, 2], [3, 4]]


def test_batches_have_the_structure_of_the_tensors() -> None:
    x = numbers(4)
    both = v1.train.batch({"x": x, "y": tf.stack([x, -x])}, 2)
    assert both["y"].shape.as_list() == [2, 2]
    with running() as session:
        first, second = all_of(session, both)
    assert first["x"].tolist() == [0, 1]
    assert second["y"].tolist() == [[2, -2], [3, -3]]


def test_examples_of_different_sizes_are_padded_and_sparse_ones_stacked() -> None:
    x = numbers(3)
    some = tf.range(x)
    sparse = tf.sparse.from_dense(tf.stack([x, 0, x]))
    padded, stacked = v1.train.batch([some, sparse], 3, dynamic_pad=True)
    assert padded.shape.as_list() == [3, None]
    with running() as session:
        rows, found = session.run([padded, stacked])
    assert rows.tolist() == [[0, 0], [0, 0], [0, 1]]
    assert found.indices.tolist() == [[1, 0], [1, 2], [2, 0], [2, 2]]
    assert found.dense_shape.tolist() == [3, 3]


def test_several_examples_at_once_of_which_some_are_kept() -> None:
    x = numbers(3) * 2 + tf.constant([0, 1])
    kept = v1.train.maybe_batch([x], tf.equal(x % 3, 0), 2, enqueue_many=True)
    with running() as session:
        assert [y.tolist() for y in all_of(session, kept)] == [[0, 3]]


def test_single_examples_of_which_some_are_kept() -> None:
    x = numbers(6)
    kept = v1.train.maybe_batch([x], tf.equal(x % 2, 0), 3)
    with running() as session:
        assert [y.tolist() for y in all_of(session, kept)] == [[0, 2, 4]]


def test_shuffled_batches_hold_every_example_once() -> None:
    taken = v1.train.shuffle_batch([numbers(40)], 10, 25, 15, num_threads=2, seed=3)
    with running() as session:
        found = np.concatenate(all_of(session, taken)).tolist()
    assert sorted(found) == list(range(40))
    assert found != sorted(found)


def test_several_sources_are_joined() -> None:
    sources = [[numbers(4)], [numbers(4) + 10]]
    joined = v1.train.batch_join(sources, 4)
    with running() as session:
        found = np.concatenate(all_of(session, joined)).tolist()
    assert sorted(found) == [0, 1, 2, 3, 10, 11, 12, 13]


def test_readers_give_records_with_keys(tmp_path: Any) -> None:
    text, fixed, records = tmp_path / "a.txt", tmp_path / "b.bin", str(tmp_path / "c.tfrecord")
    text.write_text("head\none\r\ntwo")
    fixed.write_bytes(b"Habcde.")
    with tf.io.TFRecordWriter(records) as writer:
        writer.write(b"xyz")
        writer.write(b"")
    cases = [
        (v1.TextLineReader(skip_header_lines=1), text, [(2, b"one"), (3, b"two")]),
        (v1.FixedLengthRecordReader(2, 1, 1), fixed, [(0, b"ab"), (1, b"cd")]),
        (v1.FixedLengthRecordReader(3, 1, 1, 2), fixed, [(0, b"abc"), (1, b"cde")]),
        (v1.TFRecordReader(), records, [(0, b"xyz"), (19, b"")]),
    ]
    reads = []
    for reader, path, _ in cases:
        names = v1.train.string_input_producer([str(path)], num_epochs=1)
        reads.append(reader.read(names))
    with running() as session:
        for (_, path, expected), read in zip(cases, reads, strict=True):
            keys = [(f"{path}:{n}".encode(), value) for n, value in expected]
            assert [tuple(r) for r in all_of(session, read)] == keys


def test_readers_count_and_know_their_state(tmp_path: Any) -> None:
    path = tmp_path / "a.txt"
    path.write_text("1\n2\n3\n")
    names = v1.train.string_input_producer([str(path), "none"], num_epochs=1, shuffle=False)
    lines, whole = v1.TextLineReader(), v1.WholeFileReader()
    some = lines.read_up_to(names, 2)
    file = whole.read(v1.train.string_input_producer([str(path), "none"], shuffle=False))
    state = whole.serialize_state()
    restored = whole.restore_state(state)
    counts = [lines.num_records_produced(), lines.num_work_units_completed()]
    with running() as session:
        assert session.run(some)[1].tolist() == [b"1", b"2"]
        assert session.run(some)[1].tolist() == [b"3"]
        assert session.run(counts) == [3, 1]
        session.run(lines.reset())
        assert session.run(counts) == [0, 0]
        with pytest.raises(tf.errors.NotFoundError):
            session.run(some)
        assert session.run(file)[1] == b"1\n2\n3\n"
        size = len(str(path))
        assert session.run(state) == b"\x08\x01\x10\x01\x18\x01\x22" + bytes([size]) + bytes(path)
        session.run(restored)
        assert session.run(whole.num_records_produced()) == 1
        with pytest.raises(tf.errors.UnimplementedError, match="is within a file"):
            session.run(lines.serialize_state())
        with pytest.raises(tf.errors.InvalidArgumentError, match="parse the state"):
            session.run(whole.restore_state("\x08"))


def test_monitored_sessions_start_the_threads() -> None:
    batch = v1.train.batch([numbers(4)], 2)
    with v1.train.MonitoredSession() as session:
        assert session.run(batch).tolist() == [0, 1]


def test_monitored_sessions_raise_the_errors_of_threads(tmp_path: Any) -> None:
    path = tmp_path / "damaged"
    path.write_bytes(b"x" * 20)
    names = v1.train.string_input_producer([str(path)])
    batch = v1.train.batch([v1.TFRecordReader().read(names)[1]], 2)
    with pytest.raises(tf.errors.DataLossError), v1.train.MonitoredSession() as session:
        session.run(batch)


def test_errors_of_threads_without_a_coordinator_are_kept() -> None:
    queue = v1.FIFOQueue(2, [tf.float32], [[]])
    runner = v1.train.QueueRunner(queue, [queue.enqueue(v1.placeholder(tf.float32, []))])
    with v1.Session() as session:
        (thread,) = runner.create_threads(session, start=True)
        thread.join()
    assert [type(e) for e in runner.exceptions_raised] == [tf.errors.InvalidArgumentError]
    assert v1.train.queue_runner.QueueRunner is v1.train.QueueRunner
    with pytest.raises(ValueError, match="Must provide queue"):
        v1.train.QueueRunner(queue)
    with pytest.raises(TypeError, match=r"tuple of classes"):
        v1.train.QueueRunner(queue, [queue.size()], queue_closed_exception_types=[ValueError])


def test_files_are_found_when_the_variable_is_initialized(tmp_path: Any) -> None:
    names = v1.train.match_filenames_once(str(tmp_path / "*.txt"))
    (tmp_path / "a.txt").touch()
    with v1.Session() as session:
        session.run(names.initializer)
        assert session.run(names).tolist() == [str(tmp_path / "a.txt").encode()]


def test_counting_ends_at_the_limit() -> None:
    count = v1.get_variable("count", initializer=0)
    following = v1.count_up_to(count, 2)
    with v1.Session() as session:
        session.run(count.initializer)
        assert [session.run(following) for _ in range(2)] == [0, 1]
        with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 2"):
            session.run(following)
        assert session.run(count) == 2
    with pytest.raises(TypeError, match="int32 or int64"):
        v1.count_up_to(v1.get_variable("x", initializer=0.0), 2)


@pytest.mark.parametrize(
    ("error", "match", "make"),
    [
        (ValueError, "requires a non-null", lambda: v1.train.string_input_producer([])),
        (ValueError, "at least one tensor in slice", lambda: v1.train.slice_input_producer([])),
        (ValueError, "must be > 0 not 0", lambda: v1.train.limit_epochs([1], 0)),
        (ValueError, "element_shape", lambda: v1.train.input_producer(v1.placeholder("int32"))),
        (ValueError, r"in batch\(\)", lambda: v1.train.batch([], 2)),
        (ValueError, "infer Tensor's rank", lambda: v1.train.batch([v1.placeholder("int32")], 2)),
        (
            ValueError,
            "must be fully defined",
            lambda: v1.train.batch([v1.placeholder("int32", [None])], 2),
        ),
        (ValueError, "bigger than", lambda: v1.train.shuffle_batch([tf.constant(1)], 2, 2, 2)),
        (ValueError, "one set of tensors", lambda: v1.train.batch_join([], 2)),
        (ValueError, "same keys", lambda: v1.train.batch_join([{"a": 1}, {"b": 1}], 2)),
        (TypeError, "types to be consistent", lambda: v1.train.batch_join([[1], [1.0]], 2)),
        (ValueError, "be a vector", lambda: v1.train.maybe_batch([1], [True], 2)),
        (
            TypeError,
            "must be a `tf.compat.v1.Session`",
            lambda: v1.train.start_queue_runners("session"),
        ),
        (ValueError, "No default session", v1.train.start_queue_runners),
    ],
)
def test_what_cannot_be_batched_is_refused(error: Any, match: str, make: Any) -> None:
    with pytest.raises(error, match=match):
        make()


def test_there_are_no_pipelines_where_operations_run_at_once() -> None:
    with tf.init_scope(), pytest.raises(RuntimeError, match=r"use tf\.data"):
        v1.train.string_input_producer(["a"])
    with tf.init_scope(), pytest.raises(ValueError, match=r"use tf\.data"):
        v1.train.batch([1], 2)
    with tf.init_scope(), pytest.raises(RuntimeError, match=r"use tf\.data"):
        v1.WholeFileReader()


def test_each_session_begins_anew() -> None:
    taken = v1.train.batch([numbers(4)], 2)
    for _ in range(2):
        with running() as session:
            assert [x.tolist() for x in all_of(session, taken)] == [[0, 1], [2, 3]]


def test_threads_that_wait_end_with_their_session() -> None:
    full, empty = (v1.FIFOQueue(1, [tf.float32], [[]]) for _ in range(2))
    adding = v1.train.QueueRunner(full, [full.enqueue(1.0)])
    taking = v1.train.QueueRunner(empty, [empty.dequeue()])
    size = full.size()
    with v1.Session() as session:
        threads = [t for r in (adding, taking) for t in r.create_threads(session, start=True)]
        while not session.run(size):
            pass
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
