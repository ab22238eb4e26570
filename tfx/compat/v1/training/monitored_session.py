"""Monitored sessions: sessions that initialize, restore and save by themselves, and tell hooks.

``MonitoredSession`` calls its hooks around every run; ``MonitoredTrainingSession`` is one with the
usual hooks of a training. There are no servers that could go away, so a session is made once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from tfx.compat.v1.graph.default_graph import building
from tfx.compat.v1.input_pipeline.queue_runner import start_queue_runners
from tfx.compat.v1.training.scaffold import (
    ChiefSessionCreator,
    Scaffold,
    SessionCreator,
    require_chief,
)
from tfx.compat.v1.training.session_hooks import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from tfx.compat.v1.training.step_hooks import (
    CheckpointSaverHook,
    StepCounterHook,
    SummarySaverHook,
)
from tfx.core.errors import OutOfRangeError
from tfx.train.coordinator import Coordinator


class StepContext:
    """What a step function of ``run_step_fn`` gets.

    Args:
        session: The session, without hooks.
        run_with_hooks: ``run`` with hooks.
    """

    __slots__ = ("_run", "_session")

    def __init__(self, session: Any, run_with_hooks: Callable[..., Any]) -> None:
        self._session = session
        self._run = run_with_hooks

    @property
    def session(self) -> Any:
        """The session, without hooks."""
        return self._session

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """Run something as ``MonitoredSession.run`` does."""
        return self._run(*args, **kwargs)

    def request_stop(self) -> None:
        """End the training.

        Raises:
            StopIteration: always; leave it to the monitored session.
        """
        raise StopIteration("step_fn has requested the iterations to stop.")


class MonitoredSession:
    """A session that calls hooks, for ``while not session.should_stop(): session.run(train)``.

    Made while a graph is the default one, which then can be changed no more until it is closed. In
    a ``with`` block ``OutOfRangeError``, the end of the data, ends the block without an error.

    Args:
        session_creator: Makes the session; None: ``ChiefSessionCreator()``.
        hooks: ``SessionRunHook`` objects.
        stop_grace_period_secs: How long to wait for threads at the end.

    Raises:
        RuntimeError: variables are without a value.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     v = tf.get_variable("v", initializer=2.0)
        ...     double = v.assign(2.0 * v)
        ...     with tf.train.MonitoredSession() as session:
        ...         session.run(double)
        np.float32(4.0)
    """

    StepContext = StepContext

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        self._graph = building()
        self._was_finalized = self._graph.finalized
        self._hooks = list(hooks or ())
        self._grace = stop_grace_period_secs
        self._stop_requested = False
        for hook in self._hooks:
            hook.begin()
        creator = session_creator or ChiefSessionCreator()
        self._coordinator = Coordinator(clean_stop_exception_types=[])
        self._session: Any = creator.create_session()
        start_queue_runners(self._session, self._coordinator)
        for hook in self._hooks:
            hook.after_create_session(self._session, self._coordinator)

    @property
    def graph(self) -> Any:
        """The graph; None: the session is closed."""
        return None if self._session is None else self._session.graph

    def should_stop(self) -> bool:
        """Whether a hook has asked for a stop, or the session is closed."""
        return self._session is None or self._stop_requested or self._coordinator.should_stop()

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Compute fetches as ``Session.run`` does, with what the hooks add.

        Args:
            fetches: See ``Session.run``.
            feed_dict: See ``Session.run``.
            options: See ``Session.run``.
            run_metadata: See ``Session.run``.

        Raises:
            RuntimeError: the session is closed, a stop was requested, or a tensor is fed twice.
        """
        if self._session is None:
            raise RuntimeError("Attempted to use a closed Session.")
        if self.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._session)
        asked, feeds = self._requests(context, feed_dict)
        wanted = [x for x in asked if x is not None]
        everything = [fetches, wanted] if wanted else fetches
        try:
            found = self._session.run(everything, feeds or None, options, run_metadata)
        except Exception:
            # An error of a thread that fills a queue comes before what it leads to.
            self._coordinator.raise_requested_exception()
            raise
        result, values = found if wanted else (found, [])
        added = iter(values)
        for hook, request in zip(self._hooks, asked, strict=True):
            own = None if request is None else next(added)
            hook.after_run(context, SessionRunValues(own, options, run_metadata))
        self._stop_requested = self._stop_requested or context.stop_requested
        return result

    def _requests(self, context: SessionRunContext, feed_dict: Any) -> tuple[list[Any], Any]:
        asked: list[Any] = []
        feeds: dict[Any, Any] = {}
        for hook in self._hooks:
            request = hook.before_run(context)
            asked.append(None if request is None else request.fetches)
            if request is not None and request.feed_dict:
                self._add_feeds(feeds, request.feed_dict, "Same tensor is fed by two hooks.")
        message = "Same tensor is fed by a SessionRunHook and user."
        self._add_feeds(feeds, feed_dict or {}, message)
        return asked, feeds

    def _add_feeds(self, feeds: dict[Any, Any], new: Any, message: str) -> None:
        known = {id(key) for key in feeds}
        for key, content in new.items():
            if id(key) in known or (isinstance(key, str) and key in feeds):
                raise RuntimeError(f"{message} Conflict: {key!r}")
            feeds[key] = content

    def run_step_fn(self, step_fn: Callable[..., Any]) -> Any:
        """Call ``step_fn(step_context)``, which runs what it likes, with hooks or without.

        Args:
            step_fn: The function; its argument must be named ``step_context``.

        Raises:
            ValueError: the function has other arguments.
            RuntimeError: a stop was requested.
        """
        arguments = tuple(inspect.signature(step_fn).parameters)
        if arguments not in (("step_context",), ("self", "step_context")):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and "
                f"`step_context` arguments if it's an instance method. Got {arguments} instead."
            )
        if self.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        try:
            return step_fn(StepContext(self._session, self.run))
        except StopIteration:
            self._stop_requested = True
            raise

    def close(self) -> None:
        """End the hooks and close the session.

        Raises:
            RuntimeError: it is closed.
        """
        self._close(None)

    def _is_closed(self) -> bool:
        return self._session is None

    def _close(self, kind: type[BaseException] | None) -> None:
        if self._session is None:
            raise RuntimeError("Session is already closed.")
        try:
            if kind is None:
                for hook in self._hooks:
                    hook.end(self._session)
        finally:
            session, self._session = self._session, None
            self._coordinator.request_stop()
            try:
                self._coordinator.join(stop_grace_period_secs=self._grace, ignore_live_threads=True)
            finally:
                session.close()
                if not self._was_finalized:
                    self._graph.ordered.finalized = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if kind in (OutOfRangeError, StopIteration):
            kind = None
        self._close(kind)
        return kind is None


class SingularMonitoredSession(MonitoredSession):
    """A ``MonitoredSession`` whose own session can be asked for.

    Args:
        hooks: ``SessionRunHook`` objects.
        scaffold: The parts of the graph.
        master: Must be empty.
        config: Accepted for compatibility.
        checkpoint_dir: The folder whose latest checkpoint is restored.
        stop_grace_period_secs: How long to wait for threads at the end.
        checkpoint_filename_with_path: The checkpoint to restore, in place of a folder.
    """

    def __init__(
        self,
        hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: Any = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: Any = None,
    ) -> None:
        creator = ChiefSessionCreator(
            scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path
        )
        super().__init__(creator, hooks, stop_grace_period_secs)

    def raw_session(self) -> Any:
        """The session, without hooks."""
        return self._session


USE_DEFAULT = object()  # another value than None, which means "never"


def MonitoredTrainingSession(  # noqa: N802, TensorFlow's name
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: Any = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: Any = USE_DEFAULT,
    save_summaries_steps: Any = USE_DEFAULT,
    save_summaries_secs: Any = USE_DEFAULT,
    config: Any = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = USE_DEFAULT,
    summary_dir: Any = None,
    save_graph_def: bool = True,
) -> MonitoredSession:
    """A ``MonitoredSession`` that saves checkpoints and summaries, and restores the latest one.

    Args:
        master: Must be empty.
        is_chief: Must be True: there is one process.
        checkpoint_dir: The folder of checkpoints; None: none are saved.
        scaffold: The parts of the graph.
        hooks: More ``SessionRunHook`` objects.
        chief_only_hooks: Still more.
        save_checkpoint_secs: How many seconds lie between two checkpoints; 600 by default.
        save_summaries_steps: How many steps lie between two summaries; 100 by default.
        save_summaries_secs: How many seconds lie between two summaries, in place of steps.
        config: Accepted for compatibility.
        stop_grace_period_secs: How long to wait for threads at the end.
        log_step_count_steps: How many steps lie between two lines about the speed.
        max_wait_secs: Accepted for compatibility.
        save_checkpoint_steps: How many steps lie between two checkpoints, in place of seconds.
        summary_dir: The folder of summaries; None: that of checkpoints.
        save_graph_def: Accepted for compatibility: the graph is not saved.

    Raises:
        InvalidArgumentError: ``is_chief`` is False.
        RuntimeError: something is to be saved, and the graph has no global step.

    Example:
        >>> import tempfile
        >>> import tfx.compat.v1 as tf
        >>> def train(folder, last_step):
        ...     with tf.Graph().as_default():
        ...         step = tf.train.get_or_create_global_step()
        ...         train = tf.assign_add(step, 1)
        ...         stop = tf.train.StopAtStepHook(last_step=last_step)
        ...         with tf.train.MonitoredTrainingSession(
        ...             checkpoint_dir=folder, hooks=[stop]
        ...         ) as session:
        ...             runs = 0
        ...             while not session.should_stop():
        ...                 session.run(train)
        ...                 runs += 1
        ...     return runs
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     train(folder, 3), train(folder, 8)
        (3, 5)
    """
    require_chief(is_chief)
    summary_steps, summary_secs = _interval(save_summaries_steps, save_summaries_secs, (100, None))
    saving_steps, saving_secs = _interval(save_checkpoint_steps, save_checkpoint_secs, (None, 600))
    scaffold = scaffold or Scaffold()
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    found: list[SessionRunHook] = list(chief_only_hooks or ())
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir and log_step_count_steps and log_step_count_steps > 0:
        found.append(StepCounterHook(output_dir=summary_dir, every_n_steps=log_step_count_steps))
    if summary_dir and (_positive(summary_steps) or _positive(summary_secs)):
        found.append(
            SummarySaverHook(
                scaffold=scaffold,
                save_steps=summary_steps,
                save_secs=summary_secs,
                output_dir=summary_dir,
            )
        )
    if checkpoint_dir and (_positive(saving_secs) or _positive(saving_steps)):
        found.append(
            CheckpointSaverHook(
                checkpoint_dir,
                save_steps=saving_steps,
                save_secs=saving_secs,
                scaffold=scaffold,
            )
        )
    return MonitoredSession(creator, [*found, *(hooks or ())], stop_grace_period_secs)


def _interval(steps: Any, secs: Any, default: tuple[Any, Any]) -> tuple[Any, Any]:
    """Steps and seconds between two times, where either may be left out."""
    if steps is USE_DEFAULT and secs is USE_DEFAULT:
        return default
    return (None if steps is USE_DEFAULT else steps), (None if secs is USE_DEFAULT else secs)


def _positive(number: Any) -> bool:
    return number is not None and number > 0
