"""Hooks that count training steps: stopping, speed, checkpoints and summaries.

A run's fetch of the global step may be the number before or after the run's own training step;
where it matters the step is read once more, as TensorFlow's hooks do.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.compat.v1.files import log_functions as log
from tfx.compat.v1.files.summaries import FileWriterCache
from tfx.compat.v1.graph.collections import GraphKeys
from tfx.compat.v1.graph.default_graph import building
from tfx.compat.v1.training.global_steps import get_global_step
from tfx.compat.v1.training.session_hooks import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from tfx.compat.v1.training.step_timer import SecondOrStepTimer
from tfx.summary.messages import plugin, value_summary


def _needed_step(hook: SessionRunHook) -> Any:
    step = get_global_step()
    if step is None:
        raise RuntimeError(
            f"Global step should be created to use {type(hook).__name__}: call "
            "tf.compat.v1.train.get_or_create_global_step() while the graph is built."
        )
    return step


class _ReadsStep(SessionRunHook):
    """A hook that asks every run for the global step."""

    _step: Any

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Ask for the step."""
        return SessionRunArgs(self._step)


class StopAtStepHook(_ReadsStep):
    """Requests a stop after so many steps, or at a step.

    Args:
        num_steps: How many steps to make from where the session begins.
        last_step: The step to stop at; exactly one of both is given.

    Raises:
        ValueError: neither or both are given.
        RuntimeError: (when a session begins) the graph has no global step.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     train = tf.assign_add(tf.train.get_or_create_global_step(), 1)
        ...     hooks = [tf.train.StopAtStepHook(last_step=3)]
        ...     with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
        ...         while not session.should_stop():
        ...             step = session.run(train)
        >>> int(step)
        3
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps = num_steps
        self._last_step = last_step

    def begin(self) -> None:
        """Find the global step."""
        self._step = _needed_step(self)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Find the last step."""
        if self._last_step is None:
            assert self._num_steps is not None
            self._last_step = int(session.run(self._step)) + self._num_steps

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Request a stop at the last step."""
        assert self._last_step is not None
        if (
            run_values.results + 1 >= self._last_step
            and run_context.session.run(self._step) >= self._last_step
        ):
            run_context.request_stop()


class _Recurring(_ReadsStep):
    """A hook that does something every so many steps, which it counts with a timer."""

    _timer: SecondOrStepTimer

    def due_step(self, run_context: SessionRunContext, run_values: SessionRunValues) -> int | None:
        """The step after a run if the timer says that it is time, else None."""
        if not self._timer.should_trigger_for_step(int(run_values.results) + 1):
            return None
        step = int(run_context.session.run(self._step))
        return step if self._timer.should_trigger_for_step(step) else None


class StepCounterHook(_Recurring):
    """Logs how many steps a second are made, and writes it as a summary.

    Args:
        every_n_steps: How many steps lie between two times.
        every_n_secs: How many seconds lie between two times; exactly one of both is given.
        output_dir: The folder for summaries.
        summary_writer: Writes the summaries, in place of a folder.

    Raises:
        ValueError: neither or both of the first two are given.
        RuntimeError: (when a session begins) the graph has no global step.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: Any = None,
        summary_writer: Any = None,
    ) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_secs=every_n_secs, every_steps=every_n_steps)
        self._output_dir = output_dir
        self._summary_writer = summary_writer

    def begin(self) -> None:
        """Find the global step and the writer."""
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._step = _needed_step(self)
        self._summary_tag = f"{self._step.name.removesuffix(':0')}/sec"

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Log the speed where it is time."""
        step = self.due_step(run_context, run_values)
        if step is not None:
            seconds, steps = self._timer.update_last_triggered_step(step)
            if seconds and steps is not None:
                self._log_and_record(steps, seconds, step)

    def _log_and_record(self, elapsed_steps: int, elapsed_time: float, global_step: int) -> None:
        speed = elapsed_steps / elapsed_time
        if self._summary_writer is not None:
            summary = value_summary(
                self._summary_tag, np.asarray(speed, np.float32), plugin("scalars")
            )
            self._summary_writer.add_summary(summary, global_step)
        log.info("%s: %g", self._summary_tag, speed)


class CheckpointSaverListener:
    """Base class of what ``CheckpointSaverHook`` tells about the checkpoints it saves."""

    def begin(self) -> None:
        """Called before the session is made."""

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Called before a checkpoint is saved."""

    def after_save(self, session: Any, global_step_value: int) -> Any:
        """Called when a checkpoint was saved; True requests a stop."""

    def end(self, session: Any, global_step_value: int) -> None:
        """Called at the end of the session."""


class CheckpointSaverHook(_Recurring):
    """Saves a checkpoint every so many steps or seconds, at the first step and at the end.

    Args:
        checkpoint_dir: The folder.
        save_secs: How many seconds lie between two checkpoints.
        save_steps: How many steps lie between two checkpoints; exactly one of both is given.
        saver: The ``Saver``.
        checkpoint_basename: How the checkpoints' names begin.
        scaffold: The ``Scaffold`` with the saver, in place of ``saver``. Where neither is given
            the graph's collection of savers must have one.
        listeners: ``CheckpointSaverListener`` objects to tell about the checkpoints.
        save_graph_def: Accepted for compatibility: the graph is not saved.

    Raises:
        ValueError: neither or both of ``save_secs`` and ``save_steps``, or a saver and a scaffold.
        RuntimeError: (when a session begins) the graph has no global step.
    """

    def __init__(
        self,
        checkpoint_dir: Any,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
        save_graph_def: bool = True,
    ) -> None:
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver = saver
        self._scaffold = scaffold
        self._save_path = os.path.join(os.fspath(checkpoint_dir), checkpoint_basename)
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._listeners = list(listeners or ())

    def begin(self) -> None:
        """Find the global step."""
        self._step = _needed_step(self)
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Save the first checkpoint."""
        step = int(session.run(self._step))
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Save a checkpoint where it is time."""
        step = self.due_step(run_context, run_values)
        if step is not None:
            self._timer.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session: Any) -> None:
        """Save the last checkpoint."""
        step = int(session.run(self._step))
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session: Any, step: int) -> bool:
        log.info("Saving checkpoints for %d into %s.", step, self._save_path)
        for listener in self._listeners:
            listener.before_save(session, step)
        self._found_saver().save(session, self._save_path, global_step=step)
        answers = [listener.after_save(session, step) for listener in self._listeners]
        return any(answers)

    def _found_saver(self) -> Any:
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        savers = building().get_collection(GraphKeys.SAVERS)
        if len(savers) != 1:
            raise RuntimeError(
                f"There are {len(savers)} items in the collection SAVERS, expected one: give "
                "CheckpointSaverHook a saver or a scaffold."
            )
        self._saver = savers[0]
        return self._saver


class SummarySaverHook(SessionRunHook):
    """Writes summaries every so many steps or seconds.

    Args:
        save_steps: How many steps lie between two times.
        save_secs: How many seconds lie between two times; exactly one of both is given.
        output_dir: The folder.
        summary_writer: Writes the summaries, in place of a folder.
        scaffold: The ``Scaffold`` with the summaries.
        summary_op: The summaries, one tensor or a list, in place of a scaffold.

    Raises:
        ValueError: neither or both of ``save_steps`` and ``save_secs``, or of ``scaffold`` and
            ``summary_op``.
        RuntimeError: (when a session begins) the graph has no global step.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: Any = None,
        summary_writer: Any = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op = summary_op
        self._scaffold = scaffold
        self._summary_writer = summary_writer
        self._output_dir = output_dir
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        """Find the global step and the writer."""
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._next_step: int | None = None
        self._step = _needed_step(self)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Ask for the summaries where it is time."""
        self._due = self._next_step is None or self._timer.should_trigger_for_step(self._next_step)
        summaries = self._summaries() if self._due else []
        return SessionRunArgs([self._step, summaries])

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write the summaries."""
        stale, summaries = run_values.results
        step = int(stale) + 1
        if self._due:
            step = int(run_context.session.run(self._step))
            self._timer.update_last_triggered_step(step)
        if self._summary_writer is not None:
            for summary in summaries:
                self._summary_writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: Any) -> None:
        """Write what waits."""
        if self._summary_writer is not None:
            self._summary_writer.flush()

    def _summaries(self) -> list[Any]:
        found = self._scaffold.summary_op if self._summary_op is None else self._summary_op
        if found is None:
            return []
        return list(found) if isinstance(found, list | tuple) else [found]
