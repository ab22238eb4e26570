"""Supervisors, what makes their sessions, and their threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tfx
import tfx.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with tf.Graph().as_default() as graph:
        yield graph


def _counting() -> Any:
    return tf.assign_add(tf.train.get_or_create_global_step(), 1)


def _events(folder: Path) -> list[Any]:
    files = sorted(folder.glob("*tfevents*"))
    return [event for path in files for event in tf.train.summary_iterator(str(path))]


def test_a_training_is_restored_saved_and_logged(tmp_path: Path) -> None:
    saved = threading.Event()

    class Saver(tf.train.Saver):
        def save(self, *args: Any, **kwargs: Any) -> str:
            path = super().save(*args, **kwargs)
            saved.set()
            return path

    following = _counting()
    tf.summary.scalar("loss", tfx.constant(0.5))
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), saver=Saver(), checkpoint_basename="m")
    with pytest.raises(RuntimeError, match="finalized"):
        tfx.constant(1.0) + 1.0
    with supervisor.managed_session() as session:
        assert saved.wait(30)
        for _ in range(3):
            session.run(following)
        supervisor.saver.save(session, supervisor.save_path, supervisor.global_step)
        supervisor.summary_computed(session, session.run(supervisor.summary_op))
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(following)
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "m-3")
    assert (tmp_path / "graph.pbtxt").exists()
    events = _events(tmp_path)
    states = [e.session_log.status for e in events if e.HasField("session_log")]
    assert states[0] == tf.SessionLog.START
    assert states[-1] == tf.SessionLog.STOP
    tags = {v.tag for e in events for v in e.summary.value}
    assert {"loss", "global_step/sec"} <= tags
    assert max(e.step for e in events) == 3
    with supervisor.managed_session(start_standard_services=False) as session:
        assert session.run(supervisor.global_step) == 3


def test_errors_leave_the_session_and_the_end_of_the_data_does_not() -> None:
    numbers = tf.train.range_input_producer(2, num_epochs=1, shuffle=False).dequeue()
    supervisor = tf.train.Supervisor()
    found = []
    with supervisor.managed_session() as session:
        supervisor.start_queue_runners(session)
        while not supervisor.should_stop():
            found.append(int(session.run(numbers)))
    assert found == [0, 1]
    with pytest.raises(ZeroDivisionError), supervisor.managed_session() as session:
        raise ZeroDivisionError
    assert supervisor.should_stop()


def test_a_loop_stops_with_its_supervisor() -> None:
    following = _counting()
    supervisor = tf.train.Supervisor(init_fn=lambda session: session.run(following))
    calls, seen = [], []
    looped = threading.Event()

    def work(session: Any, amount: int) -> None:
        if not calls:
            supervisor.loop(None, lambda: (seen.append(1), looped.set()))
        calls.append(int(session.run(following)) + amount)
        if len(calls) == 3:
            looped.wait(30)
            supervisor.request_stop()

    tf.train.basic_train_loop(supervisor, work, [10])
    assert calls == [12, 13, 14]
    assert seen


def test_aborted_steps_begin_again() -> None:
    supervisor = tf.train.Supervisor()
    calls = []

    def work(session: Any) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise tfx.errors.AbortedError("again")
        supervisor.request_stop()

    tf.train.basic_train_loop(supervisor, work)
    assert len(calls) == 2


def test_what_is_given_is_used_in_place_of_the_usual_parts() -> None:
    v = tf.get_variable("v", initializer=1.0)
    w = tf.get_variable("w", initializer=2.0)
    supervisor = tf.train.Supervisor(init_op=v.initializer, ready_op=None, local_init_op=None)
    assert supervisor.init_op == v.initializer
    assert supervisor.ready_op is None
    with supervisor.managed_session() as session:
        assert session.run(v) == 1.0
        with pytest.raises(tfx.errors.FailedPreconditionError):
            session.run(w)
    with pytest.raises(RuntimeError, match="requires a summary writer"):
        supervisor.summary_computed(None, b"")
    with pytest.raises(tfx.errors.InvalidArgumentError, match="is_chief"):
        tf.train.Supervisor(is_chief=False)
    with tfx.init_scope(), pytest.raises(RuntimeError, match="need a graph"):
        tf.train.Supervisor()


def test_sessions_are_ready_or_refused(tmp_path: Path) -> None:
    v = tf.get_variable("v", initializer=1.0)
    local = tf.get_local_variable("l", initializer=3.0)
    ready = tf.report_uninitialized_variables()
    manager = tf.train.SessionManager(ready_op=ready, local_init_op=local.initializer)
    saver = tf.train.Saver([v])
    session, done = manager.recover_session("", saver, str(tmp_path))
    assert not done
    assert session.run(local) == 3.0
    with pytest.raises(RuntimeError, match=r"Variables not initialized: v\. Init op: None"):
        manager.prepare_session("", saver=saver, checkpoint_dir=str(tmp_path))
    with manager.prepare_session("", v.initializer) as session:
        v.load(5.0, session)
        path = saver.save(session, str(tmp_path / "model"))
    for places in ({"checkpoint_dir": str(tmp_path)}, {"checkpoint_filename_with_path": path}):
        session, done = manager.recover_session("", saver, **places)
        assert done
        assert session.run([v, local]) == [5.0, 3.0]
    with pytest.raises(ValueError, match="both checkpoint_dir and"):
        manager.prepare_session("", v.initializer, saver, "a", "b")
    with pytest.raises(RuntimeError, match="no init_op or init_fn or local_init_op"):
        tf.train.SessionManager().prepare_session("")
    with pytest.raises(ValueError, match="must also pass a local_init_op"):
        tf.train.SessionManager(ready_for_local_init_op=ready)


def test_waiting_for_variables_ends() -> None:
    tf.get_variable("v", initializer=1.0)
    ready = tf.report_uninitialized_variables()
    manager = tf.train.SessionManager(ready_op=ready, recovery_wait_secs=0.01)
    with pytest.raises(tfx.errors.DeadlineExceededError, match="not initialized: v"):
        manager.wait_for_session("", max_wait_secs=0.03)
    assert tf.train.SessionManager().wait_for_session("").run(ready).tolist() == [b"v"]


def test_threads_call_and_report() -> None:
    coordinator = tf.train.Coordinator()

    def fail(reason: str) -> None:
        raise KeyError(reason)

    tf.train.LooperThread.loop(coordinator, 0.0, fail, kwargs={"reason": "why"})
    with pytest.raises(KeyError, match="why"):
        coordinator.join()
    with pytest.raises(ValueError, match="must be a Coordinator"):
        tf.train.LooperThread(None, 1.0)
    with pytest.raises(ValueError, match="also pass 'target'"):
        tf.train.LooperThread(coordinator, 1.0, args=[1])
