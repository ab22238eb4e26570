"""Hooks: objects that a monitored session tells what it does, and that add to what it runs.

This file has what hooks are made of. Must not know the sessions: they know the hooks.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class SessionRunArgs(NamedTuple):
    """What a hook adds to a run, or what the caller asked of it.

    Args:
        fetches: Tensors, operations, variables, or a structure of them; None: nothing.
        feed_dict: Contents to put in place of tensors.
        options: Run options.
    """

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """What a run gave a hook.

    Args:
        results: The values of the hook's fetches; None where it had none.
        options: The run's options.
        run_metadata: The run's metadata.
    """

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """What a hook may ask about a run.

    Args:
        original_args: What the caller runs.
        session: The session.
    """

    __slots__ = ("_original_args", "_session", "_stop_requested")

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """What the caller runs."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session, without hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook has asked for a stop."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Let the monitored session's ``should_stop`` be True from the end of this run on."""
        self._stop_requested = True


class SessionRunHook:
    """Base class of hooks: methods that a monitored session calls, which do nothing here.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> class Largest(tf.train.SessionRunHook):
        ...     def begin(self):
        ...         self.seen = []
        ...
        ...     def before_run(self, run_context):
        ...         return tf.train.SessionRunArgs("x:0")
        ...
        ...     def after_run(self, run_context, run_values):
        ...         self.seen.append(float(run_values.results))
        >>> hook = Largest()
        >>> with tf.Graph().as_default():
        ...     x = tf.constant(3.0, name="x")
        ...     with tf.train.MonitoredSession(hooks=[hook]) as session:
        ...         session.run(x)
        np.float32(3.0)
        >>> hook.seen
        [3.0]
    """

    def begin(self) -> None:
        """Called before the session is made: the graph may still be changed."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called when the session was made and its variables have values.

        Args:
            session: The session, without hooks.
            coord: The ``Coordinator`` of the session's threads.
        """

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each run; returns what to add to it, or None.

        Args:
            run_context: What is run, and in which session.
        """
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each run that succeeded.

        Args:
            run_context: As in ``before_run``.
            run_values: The values of what ``before_run`` added.
        """

    def end(self, session: Any) -> None:
        """Called before the session closes, unless an error closes it.

        Args:
            session: The session, without hooks.
        """


class NanLossDuringTrainingError(RuntimeError):
    """A loss became NaN: what ``NanTensorHook`` raises."""

    def __str__(self) -> str:
        return "NaN loss during training."
