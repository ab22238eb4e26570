"""``Supervisor``: a session that is restored, and threads that save and log beside its training."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

from tfx.compat.v1.files.summaries import FileWriter, merge_all
from tfx.compat.v1.graph.collections import GraphKeys
from tfx.compat.v1.graph.default_graph import building, is_building
from tfx.compat.v1.graph.graph_parts import write_graph
from tfx.compat.v1.ops.grouping import group
from tfx.compat.v1.training.global_steps import global_step as step_of
from tfx.compat.v1.training.looper_thread import LooperThread
from tfx.compat.v1.training.saver import Saver
from tfx.compat.v1.training.scaffold import require_chief
from tfx.compat.v1.training.session_manager import SessionManager
from tfx.compat.v1.variables.initialization import (
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
    tables_initializer,
)
from tfx.core.errors import AbortedError
from tfx.summary import event_pb2 as pb
from tfx.train.coordinator import Coordinator

_log = logging.getLogger("tfx")


class Supervisor:
    """Restores or initializes a session, saves checkpoints and summaries, and ends threads.

    Made when the graph is complete, which then can be changed no more. What is left out is the
    first element of the graph's collection, or the usual one; None: there is none.

    Args:
        graph: The graph; None: the default graph.
        ready_op: A tensor of the names of variables without a value.
        ready_for_local_init_op: The same before ``local_init_op`` runs.
        is_chief: Must be True: there is one process.
        init_op: Initializes the variables where there is no checkpoint.
        init_feed_dict: What to feed ``init_op``.
        local_init_op: Runs in every new session.
        logdir: The folder of checkpoints and summaries; None: none are written.
        summary_op: The summaries to write.
        saver: The ``Saver``.
        global_step: The variable that counts steps.
        save_summaries_secs: Seconds between two summaries; 0: none are written.
        save_model_secs: Seconds between two checkpoints; 0: none are written.
        recovery_wait_secs: Seconds between two looks for a checkpoint.
        stop_grace_secs: How long to wait for threads at the end.
        checkpoint_basename: Name of the checkpoints.
        session_manager: A ``SessionManager``.
        summary_writer: The ``FileWriter``; None: nothing is logged.
        init_fn: ``f(session)``, called after ``init_op``.
        local_init_run_options: ``RunOptions`` of ``local_init_op``.

    Raises:
        RuntimeError: no graph is built here.
        InvalidArgumentError: ``is_chief`` is False.

    Example:
        >>> import tempfile
        >>> import tfx.compat.v1 as tf
        >>> def train(folder, steps):
        ...     with tf.Graph().as_default():
        ...         step = tf.train.get_or_create_global_step()
        ...         following = tf.assign_add(step, 1)
        ...         supervisor = tf.train.Supervisor(logdir=folder)
        ...         with supervisor.managed_session() as session:
        ...             for _ in range(steps):
        ...                 done = session.run(following)
        ...             supervisor.saver.save(session, supervisor.save_path, done)
        ...     return int(done)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     train(folder, 3), train(folder, 2)
        (3, 5)
    """

    USE_DEFAULT = 0

    def __init__(
        self,
        graph: Any = None,
        ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = USE_DEFAULT,
        init_feed_dict: Any = None,
        local_init_op: Any = USE_DEFAULT,
        logdir: Any = None,
        summary_op: Any = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: SessionManager | None = None,
        summary_writer: Any = USE_DEFAULT,
        init_fn: Callable[[Any], Any] | None = None,
        local_init_run_options: Any = None,
    ) -> None:
        if graph is None and not is_building():
            raise RuntimeError(
                "Supervisors need a graph; where operations run at once there is none to supervise."
            )
        require_chief(is_chief)
        self._graph = building() if graph is None else graph
        keys = GraphKeys
        with self._graph.as_default():
            self._ready_op = _given(ready_op, keys.READY_OP, report_uninitialized_variables)
            self._ready_for_local_init_op = _given(
                ready_for_local_init_op, keys.READY_FOR_LOCAL_INIT_OP
            )
            self._init_op = _given(init_op, keys.INIT_OP, global_variables_initializer)
            self._local_init_op = _given(
                local_init_op,
                keys.LOCAL_INIT_OP,
                lambda: group(local_variables_initializer(), tables_initializer()),
            )
            self._saver = _given(saver, keys.SAVERS, _usual_saver)
            self._summary_op = _given(summary_op, keys.SUMMARY_OP, merge_all)
            self._global_step = _given(global_step, keys.GLOBAL_STEP)
        self._init_feed_dict = init_feed_dict
        self._init_fn = init_fn
        self._logdir = None if logdir is None else os.fspath(logdir)
        self._save_path = self._logdir and os.path.join(self._logdir, checkpoint_basename)
        self._save_summaries_secs = save_summaries_secs
        self._save_model_secs = save_model_secs
        self._stop_grace_secs = stop_grace_secs
        if _is_default(summary_writer):
            summary_writer = FileWriter(self._logdir) if self._logdir else None
        self._summary_writer = summary_writer
        self._graph_is_written = False
        self._coord = Coordinator()
        self._session_manager = session_manager or SessionManager(
            self._local_init_op,
            self._ready_op,
            self._ready_for_local_init_op,
            self._graph,
            recovery_wait_secs,
            local_init_run_options,
        )
        self._graph.finalize()

    @property
    def is_chief(self) -> bool:
        """Always True: there is one process."""
        return True

    @property
    def session_manager(self) -> SessionManager:
        """Makes the session."""
        return self._session_manager

    @property
    def coord(self) -> Coordinator:
        """Stops the threads."""
        return self._coord

    @property
    def init_op(self) -> Any:
        """Initializes the variables."""
        return self._init_op

    @property
    def init_feed_dict(self) -> Any:
        """What ``init_op`` is fed."""
        return self._init_feed_dict

    @property
    def ready_op(self) -> Any:
        """The names of variables without a value."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """The names of variables without a value before ``local_init_op``."""
        return self._ready_for_local_init_op

    @property
    def summary_writer(self) -> Any:
        """Writes the summaries."""
        return self._summary_writer

    @property
    def summary_op(self) -> Any:
        """The summaries."""
        return self._summary_op

    @property
    def save_summaries_secs(self) -> float:
        """Seconds between two summaries."""
        return self._save_summaries_secs

    @property
    def global_step(self) -> Any:
        """The variable that counts steps."""
        return self._global_step

    @property
    def saver(self) -> Any:
        """Saves and restores."""
        return self._saver

    @property
    def save_model_secs(self) -> float:
        """Seconds between two checkpoints."""
        return self._save_model_secs

    @property
    def save_path(self) -> Any:
        """The path of checkpoints, without the step."""
        return self._save_path

    @contextmanager
    def managed_session(
        self,
        master: str = "",
        config: Any = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Any]:
        """A session for a ``with`` block; at its end threads are stopped and the session closed.

        ``OutOfRangeError``, the end of the data, ends the block without an error.

        Args:
            master: Must be empty.
            config: Accepted for compatibility.
            start_standard_services: Whether to start the threads that save, log and fill queues.
            close_summary_writer: Whether to close the summary writer at the end.
        """
        session = self.prepare_or_wait_for_session(
            master, config, start_standard_services=start_standard_services
        )
        try:
            yield session
        except Exception as e:
            self.request_stop(e)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                session.close()

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Any:
        """A session that holds the latest checkpoint, or freshly initialized variables.

        Args:
            master: Must be empty.
            config: Accepted for compatibility.
            wait_for_checkpoint: Whether to wait until there is a checkpoint.
            max_wait_secs: How long at most.
            start_standard_services: Whether to start the threads that save, log and fill queues.
        """
        self._coord.clear_stop()
        if self._summary_writer:
            self._summary_writer.reopen()
        session = self._session_manager.prepare_session(
            master,
            init_op=self._init_op,
            saver=self._saver,
            checkpoint_dir=self._logdir,
            wait_for_checkpoint=wait_for_checkpoint,
            max_wait_secs=max_wait_secs,
            config=config,
            init_feed_dict=self._init_feed_dict,
            init_fn=self._init_fn,
        )
        self._write_graph()
        if start_standard_services:
            self.start_standard_services(session)
            self.start_queue_runners(session)
        return session

    def _write_graph(self) -> None:
        if self._logdir:
            write_graph(self._graph, self._logdir, "graph.pbtxt")
        if self._summary_writer and not self._graph_is_written:
            self._summary_writer.add_graph(self._graph)
            self._graph_is_written = True

    def start_standard_services(self, sess: Any) -> list[threading.Thread] | None:
        """Start the threads that save checkpoints and summaries; None: there is no ``logdir``.

        Args:
            sess: The session.
        """
        if not self._logdir:
            _log.warning("Standard services need a 'logdir' passed to the Supervisor.")
            return None
        step = self._global_step
        if step is not None and self._summary_writer:
            self._log_session(pb.SessionLog(status=pb.SessionLog.START), sess)
        threads: list[threading.Thread] = []
        if self._save_summaries_secs and self._summary_writer:
            if self._summary_op is not None:
                threads.append(_SummaryThread(self, sess, self._save_summaries_secs))
            if step is not None:
                threads.append(_SpeedThread(self, sess, self._save_summaries_secs))
        if self._saver and self._save_model_secs:
            threads.append(_CheckpointThread(self, sess, self._save_model_secs))
        for thread in threads:
            thread.start()
        return threads

    def _log_session(self, message: pb.SessionLog, session: Any) -> None:
        self._summary_writer.add_session_log(message, step_of(session, self._global_step))

    def start_queue_runners(
        self, sess: Any, queue_runners: Sequence[Any] | None = None
    ) -> list[threading.Thread]:
        """Start the threads that fill queues.

        Args:
            sess: The session.
            queue_runners: ``QueueRunner`` objects; None: those that the graph collected.
        """
        if queue_runners is None:
            queue_runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        found: list[threading.Thread] = []
        for runner in queue_runners:
            found += runner.create_threads(sess, coord=self._coord, daemon=True, start=True)
        return found

    def loop(
        self, timer_interval_secs: float | None, target: Any, args: Any = None, kwargs: Any = None
    ) -> LooperThread:
        """Start a ``LooperThread`` of the coordinator; see there."""
        return LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)

    def stop(
        self,
        threads: Sequence[threading.Thread] | None = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stop all threads, and raise what one of them failed with.

        Args:
            threads: More threads to wait for.
            close_summary_writer: Whether to close the summary writer.
            ignore_live_threads: Leave threads that go on alone.
        """
        self._coord.request_stop()
        try:
            self._coord.join(threads, self._stop_grace_secs, ignore_live_threads)
        finally:
            if close_summary_writer and self._summary_writer:
                self._summary_writer.add_session_log(pb.SessionLog(status=pb.SessionLog.STOP))
                self._summary_writer.close()
                self._graph_is_written = False

    def request_stop(self, ex: Any = None) -> None:
        """Ask all threads to stop; see ``Coordinator.request_stop``."""
        self._coord.request_stop(ex)

    def should_stop(self) -> bool:
        """True once a stop was requested."""
        return self._coord.should_stop()

    def stop_on_exception(self) -> AbstractContextManager[None]:
        """Request a stop with the exception that leaves a ``with`` block."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Wait until a stop is requested."""
        self._coord.wait_for_stop()

    def summary_computed(self, sess: Any, summary: Any, global_step: Any = None) -> None:
        """Write a summary.

        Args:
            sess: The session.
            summary: What it computed of one.
            global_step: The number of the step; None: that of the session.

        Raises:
            RuntimeError: there is no summary writer.
        """
        if not self._summary_writer:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self._global_step is not None:
            global_step = step_of(sess, self._global_step)
        self._summary_writer.add_summary(summary, global_step)

    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


def _is_default(value: Any) -> bool:
    return isinstance(value, int) and value == Supervisor.USE_DEFAULT


def _given(value: Any, key: str, make: Callable[[], Any] = lambda: None) -> Any:
    """An argument; left out, the first element of a collection, which is made if there is none."""
    if not _is_default(value):
        return value
    found = building().get_collection(key)
    if found:
        return found[0]
    made = make()
    if made is not None:
        building().add_to_collection(key, made)
    return made


def _usual_saver() -> Saver | None:
    return Saver() if building().get_collection(GraphKeys.GLOBAL_VARIABLES) else None


class _ServiceThread(LooperThread):
    """A thread of a supervisor with a session."""

    def __init__(self, supervisor: Supervisor, session: Any, seconds: float) -> None:
        super().__init__(supervisor.coord, seconds)
        self._supervisor = supervisor
        self._session = session

    def _step(self) -> Any:
        step = self._supervisor.global_step
        return None if step is None else step_of(self._session, step)


class _SummaryThread(_ServiceThread):
    """Writes the summaries."""

    def run_loop(self) -> None:
        found = self._session.run(self._supervisor.summary_op)
        self._supervisor.summary_writer.add_summary(found, self._step())


class _SpeedThread(_ServiceThread):
    """Writes how many steps a second there are."""

    def start_loop(self) -> None:
        self._last = (time.time(), self._step())

    def run_loop(self) -> None:
        now, step = time.time(), self._step()
        seconds, steps = now - self._last[0], step - self._last[1]
        self._last = (now, step)
        speed = steps / seconds if seconds > 0 else float("inf")
        tag = f"{self._supervisor.global_step.op.name}/sec"
        value = pb.Summary.Value(tag=tag, simple_value=speed)
        self._supervisor.summary_writer.add_summary(pb.Summary(value=[value]), step)


class _CheckpointThread(_ServiceThread):
    """Saves checkpoints."""

    def run_loop(self) -> None:
        own = self._supervisor
        step = self._step()
        own.saver.save(self._session, own.save_path, global_step=step)
        if own.summary_writer and step is not None:
            status = pb.SessionLog.CHECKPOINT
            message = pb.SessionLog(status=status, checkpoint_path=own.save_path)
            own.summary_writer.add_session_log(message, step)


def basic_train_loop(
    supervisor: Supervisor,
    train_step_fn: Callable[..., Any],
    args: Sequence[Any] | None = None,
    kwargs: Any = None,
    master: str = "",
) -> None:
    """Call a function of a session until the supervisor stops.

    Args:
        supervisor: The ``Supervisor``.
        train_step_fn: ``f(session, *args, **kwargs)``; called again after an ``AbortedError``.
        args: Its arguments.
        kwargs: Its arguments by name.
        master: Must be empty.
    """
    again = True
    while again:
        again = False
        with suppress(AbortedError):
            again = True
            with supervisor.managed_session(master) as session:
                while not supervisor.should_stop():
                    train_step_fn(session, *(args or ()), **(kwargs or {}))
            again = False
