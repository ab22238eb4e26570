"""``tf.profiler.experimental``: profiles of a whole process for TensorBoard."""

from __future__ import annotations

import os
import threading
import time
from types import TracebackType
from typing import Any, NamedTuple, Self

from tfx.core.errors import AlreadyExistsError, UnavailableError
from tfx.function.inspection.profile import Recorder
from tfx.function.inspection.run_metadata import Mark, RunMetadata
from tfx.function.inspection.tensorboard_profile import write_profile
from tfx.runtime import run_hooks
from tfx.runtime.run_options import Call, RunOptions


class ProfilerOptions(NamedTuple):
    """TensorFlow's options of a profile; accepted for compatibility, everything is measured."""

    host_tracer_level: int = 2
    python_tracer_level: int = 0
    device_tracer_level: int = 1
    delay_ms: int | None = None


class _Session:
    """A profile that is being taken."""

    def __init__(self, logdir: str | os.PathLike[str]) -> None:
        self.logdir = os.fspath(logdir)
        self.began = time.time()
        self.recorder = Recorder()
        self.call = Call(RunOptions(), recorder=self.recorder)
        self.marks: list[Mark] = []


_lock = threading.Lock()
_session: _Session | None = None


def start(logdir: str | os.PathLike[str], options: ProfilerOptions | None = None) -> None:
    """Start to measure what all threads of the process run.

    Args:
        logdir: The folder that TensorBoard is given; ``stop`` writes there.
        options: Accepted for compatibility.

    Raises:
        AlreadyExistsError: a profile is being taken already.
        TypeError: ``logdir`` is no path.
    """
    global _session
    with _lock:
        if _session is not None or run_hooks.everywhere is not None:
            raise AlreadyExistsError(
                "profiler.experimental.start: Another profiler is running; end it by "
                "profiler.experimental.stop() or by leaving its block first."
            )
        _session = _Session(logdir)
        run_hooks.accept_around()
        run_hooks.set_everywhere(_session.call)


def stop(save: bool = True) -> None:
    """End the measurement, and write it for TensorBoard's profile plugin.

    Args:
        save: Whether to write anything.

    Raises:
        UnavailableError: no profile is being taken.
        OSError: the files cannot be written.
    """
    global _session
    with _lock:
        session, _session = _session, None
        if session is None:
            raise UnavailableError(
                "profiler.experimental.stop: No profiler is running; begin with "
                "profiler.experimental.start(logdir)."
            )
        run_hooks.set_everywhere(None)
    metadata = RunMetadata()
    session.recorder.finish(metadata)
    if save:
        write_profile(session.logdir, metadata, session.marks, session.began)


class Profile:
    """Measure what all threads run inside a ``with`` block, for TensorBoard.

    Args:
        logdir: The folder that TensorBoard is given.
        options: Accepted for compatibility.

    Example:
        >>> import tempfile, pathlib
        >>> import tfx as tf
        >>> f = tf.function(lambda x: tf.exp(x))
        >>> with tempfile.TemporaryDirectory() as logdir:
        ...     with tf.profiler.experimental.Profile(logdir):
        ...         for step in range(2):
        ...             with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
        ...                 y = f(tf.ones([3]))
        ...     sorted(p.suffix for p in pathlib.Path(logdir).glob("plugins/profile/*/*"))
        ['.gz', '.pb']
    """

    def __init__(
        self, logdir: str | os.PathLike[str], options: ProfilerOptions | None = None
    ) -> None:
        self._logdir = logdir
        self._options = options

    def __enter__(self) -> None:
        start(self._logdir, self._options)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        stop()


class Trace:
    """A ``with`` block that has a name in the profile; nothing where no profile is being taken.

    Args:
        name: The name.
        **kwargs: What else to show. ``step_num`` is the number of a step, ``_r=1`` tells
            TensorBoard that the block is one.
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        self._name = name
        self._details = dict(kwargs)
        self._start = 0

    def __enter__(self) -> Self:
        self._start = time.perf_counter_ns()
        return self

    def set_metadata(self, **kwargs: Any) -> None:
        """Show more.

        Args:
            **kwargs: What.
        """
        self._details.update(kwargs)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        session = _session
        if session is not None:
            took = time.perf_counter_ns() - self._start
            details = {
                k: int(v) if isinstance(v, int) else str(v) for k, v in self._details.items()
            }
            thread = threading.get_native_id()
            session.marks.append(Mark(self._name, self._start / 1e3, took / 1e3, thread, details))
