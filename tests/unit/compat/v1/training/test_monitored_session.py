"""Monitored sessions and their hooks: what is called, when it stops, what is saved."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.compat.v1.training.session_hooks import SessionRunHook
from tfx.compat.v1.training.step_hooks import CheckpointSaverListener

v1: Any = tf.compat.v1
train = v1.train


class Recorder(SessionRunHook):
    """Writes down what is called; asks for a tensor by its name."""

    def __init__(self, fetches: Any = None, feeds: Any = None) -> None:
        self.calls: list[str] = []
        self.results: list[Any] = []
        self._args = train.SessionRunArgs(fetches, feeds) if fetches or feeds else None

    def begin(self) -> None:
        self.calls.append("begin")

    def after_create_session(self, session: Any, coord: Any) -> None:
        assert not coord.should_stop()
        self.calls.append("created")

    def before_run(self, run_context: Any) -> Any:
        self.calls.append("before")
        return self._args

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.calls.append("after")
        self.results.append(run_values.results)

    def end(self, session: Any) -> None:
        self.calls.append("end")


def counting() -> Any:
    return v1.assign_add(train.get_or_create_global_step(), 1)


def test_hooks_are_called_around_every_run_and_get_their_own_values() -> None:
    with v1.Graph().as_default():
        v1.constant(7.0, name="seven")
        step = counting()
        hooks = [Recorder("seven:0"), Recorder()]
        with train.MonitoredSession(hooks=hooks) as session:
            assert [int(session.run(step)), int(session.run({"s": step})["s"])] == [1, 2]
    for hook in hooks:
        assert hook.calls == ["begin", "created", *["before", "after"] * 2, "end"]
    assert hooks[0].results == [7.0, 7.0]
    assert hooks[1].results == [None, None]


def test_the_graph_cannot_be_changed_while_the_session_is_open() -> None:
    with v1.Graph().as_default():
        v = v1.get_variable("v", initializer=1.0)
        with train.MonitoredSession() as session:
            assert session.run(v) == 1.0
            with pytest.raises(RuntimeError, match="finalized"):
                v1.constant(1.0)
        v1.constant(1.0)
        assert session.should_stop()
        with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
            session.run(v)
        with pytest.raises(RuntimeError, match="already closed"):
            session.close()


@pytest.mark.parametrize("error", [tf.errors.OutOfRangeError(None, None, "end"), ValueError("x")])
def test_only_the_end_of_the_data_leaves_a_block_without_an_error(error: Exception) -> None:
    hook = Recorder()
    with v1.Graph().as_default():
        counting()
        clean = isinstance(error, tf.errors.OutOfRangeError)
        try:
            with train.MonitoredSession(hooks=[hook]):
                raise error
        except ValueError:
            assert not clean
    assert hook.calls == ["begin", "created", *["end"] * clean]


def test_a_dataset_ends_the_loop() -> None:
    with v1.Graph().as_default():
        x = v1.data.make_one_shot_iterator(tf.data.Dataset.range(3)).get_next()
        seen = []
        with train.MonitoredSession() as session:
            while not session.should_stop():
                seen.append(int(session.run(x)))
    assert seen == [0, 1, 2]


def test_feeds_of_hooks_and_callers_are_joined_and_must_differ() -> None:
    with v1.Graph().as_default():
        x, y = v1.placeholder(tf.float32), v1.placeholder(tf.float32)
        z = x - y
        with train.MonitoredSession(hooks=[train.FeedFnHook(lambda: {y: 1.0})]) as session:
            assert session.run(z, {x: 3.0}) == 2.0
            with pytest.raises(RuntimeError, match="fed by a SessionRunHook and user"):
                session.run(z, {x: 3.0, y: 2.0})
        session = train.MonitoredSession(hooks=[train.FeedFnHook(lambda: {y: 1.0})] * 2)
        with session, pytest.raises(RuntimeError, match="fed by two hooks"):
            session.run(z, {x: 3.0})


@pytest.mark.parametrize(("given", "last"), [({"num_steps": 3}, 3), ({"last_step": 2}, 2)])
def test_stopping_at_a_step(given: dict[str, int], last: int) -> None:
    with v1.Graph().as_default():
        step = counting()
        with train.MonitoredSession(hooks=[train.StopAtStepHook(**given)]) as session:
            runs = 0
            while not session.should_stop():
                runs += 1
                value = int(session.run(step))
            with pytest.raises(RuntimeError, match="after should_stop"):
                session.run(step)
    assert runs == value == last


def test_stopping_needs_one_of_two_numbers_and_a_global_step() -> None:
    with pytest.raises(ValueError, match="One of num_steps or last_step must be specified"):
        train.StopAtStepHook()
    with pytest.raises(ValueError, match="Only one of num_steps or last_step"):
        train.StopAtStepHook(1, 1)
    with v1.Graph().as_default(), pytest.raises(RuntimeError, match="Global step should be"):
        train.MonitoredSession(hooks=[train.StopAtStepHook(1)])


def test_nan_stops_the_session_or_raises() -> None:
    with v1.Graph().as_default():
        loss = v1.constant(np.nan)
        hook = train.NanTensorHook(loss, fail_on_nan_loss=False)
        with train.MonitoredSession(hooks=[hook]) as session:
            session.run(loss)
            assert session.should_stop()
        hook = train.NanTensorHook(loss)
        with (
            pytest.raises(train.NanLossDuringTrainingError, match="NaN loss during training"),
            train.MonitoredSession(hooks=[hook]) as session,
        ):
            session.run(loss)


def test_values_are_logged_every_so_many_runs_and_at_the_end() -> None:
    lines: list[str] = []
    with v1.Graph().as_default():
        step = counting()
        hook = train.LoggingTensorHook(
            {"step": step}, every_n_iter=2, at_end=True, formatter=lambda x: f"step {x['step']}"
        )
        log = logging.Handler()
        log.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
        logger = v1.get_logger()
        old = logger.level
        logger.addHandler(log)
        logger.setLevel(logging.INFO)
        try:
            with train.MonitoredSession(hooks=[hook]) as session:
                for _ in range(4):
                    session.run(v1.train.get_global_step())
        finally:
            logger.removeHandler(log)
            logger.setLevel(old)
    assert lines == ["step 1", "step 2", "step 3"]
    with pytest.raises(ValueError, match="exactly one of every_n_iter and every_n_secs"):
        train.LoggingTensorHook([])
    with pytest.raises(ValueError, match="invalid every_n_iter=0"):
        train.LoggingTensorHook([], every_n_iter=0)


def test_final_operations_run_at_the_end() -> None:
    with v1.Graph().as_default():
        step = counting()
        hook = train.FinalOpsHook({"x": train.get_global_step() * 10})
        with train.MonitoredSession(hooks=[hook]) as session:
            session.run(step)
    assert hook.final_ops_values == {"x": 10}


def test_training_goes_on_from_the_latest_checkpoint(tmp_path: Any) -> None:
    events: list[tuple[str, int]] = []

    class Listener(CheckpointSaverListener):
        def after_save(self, session: Any, global_step_value: int) -> None:
            events.append(("saved", global_step_value))

        def end(self, session: Any, global_step_value: int) -> None:
            events.append(("end", global_step_value))

    for last in (5, 7):
        with v1.Graph().as_default():
            v1.summary.scalar("loss", v1.constant(0.5))
            step = counting()
            scaffold = train.Scaffold()
            hooks = [
                train.StopAtStepHook(last_step=last),
                train.CheckpointSaverHook(
                    str(tmp_path), save_steps=2, scaffold=scaffold, listeners=[Listener()]
                ),
            ]
            with train.MonitoredTrainingSession(
                checkpoint_dir=str(tmp_path),
                scaffold=scaffold,
                hooks=hooks,
                save_checkpoint_secs=None,
                save_summaries_steps=2,
            ) as session:
                while not session.should_stop():
                    session.run(step)
    saved = [0, 2, 4, 5, 5, 7]
    assert [x for kind, x in events if kind == "saved"] == saved
    assert [x for kind, x in events if kind == "end"] == [5, 7]
    assert train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-7")
    assert _written(tmp_path, "loss") == [1, 3, 5, 6]


def test_the_speed_is_written_as_a_summary(tmp_path: Any) -> None:
    with v1.Graph().as_default():
        step = counting()
        hook = train.StepCounterHook(every_n_steps=2, output_dir=str(tmp_path))
        with train.MonitoredSession(hooks=[hook]) as session:
            for _ in range(6):
                session.run(step)
    v1.summary.FileWriterCache.clear()
    assert _written(tmp_path, "global_step/sec") == [3, 5]


def _written(folder: Any, tag: str) -> list[int]:
    """The steps of the summaries of a tag in the event files of a folder."""
    return [
        event.step
        for path in sorted(folder.glob("events.out.tfevents.*"))
        for event in train.summary_iterator(str(path))
        for value in event.summary.value
        if value.tag == tag
    ]


def test_a_scaffold_initializes_with_its_own_parts() -> None:
    with v1.Graph().as_default():
        x = v1.placeholder(tf.float32, [])
        v = v1.get_variable("v", initializer=1.0)
        set_v = v.assign(x)
        called = []
        scaffold = train.Scaffold(
            init_op=v.initializer,
            init_fn=lambda scaffold, session: called.append(session.run(set_v, {x: 4.0})),
        )
        with train.MonitoredTrainingSession(scaffold=scaffold) as session:
            assert session.run(v) == 4.0
        assert called == [4.0]

    with v1.Graph().as_default():
        v = v1.get_variable("v", initializer=1.0)
        v1.get_variable("w", initializer=1.0)
        with pytest.raises(RuntimeError, match=r"did not make model ready.*w"):
            train.MonitoredSession(train.ChiefSessionCreator(train.Scaffold(init_op=v.initializer)))


def test_a_step_function_runs_with_and_without_hooks() -> None:
    hook = Recorder()
    with v1.Graph().as_default():
        step = counting()

        def step_fn(step_context: Any) -> Any:
            if step_context.session.run(step) > 2:
                step_context.request_stop()
            return step_context.run_with_hooks(step)

        with train.MonitoredSession(hooks=[hook]) as session:
            assert session.run_step_fn(step_fn) == 2
            with pytest.raises(ValueError, match="may either have one `step_context` argument"):
                session.run_step_fn(lambda context: None)
            while not session.should_stop():
                session.run_step_fn(step_fn)
    assert hook.calls == ["begin", "created", "before", "after", "end"]


def test_there_is_one_process() -> None:
    with v1.Graph().as_default(), pytest.raises(tf.errors.InvalidArgumentError, match="chief"):
        train.MonitoredTrainingSession(is_chief=False)
