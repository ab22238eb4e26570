"""Writing in the background: a handle on a save that is still going on.

Owns the thread and the errors: each is raised where somebody asks, and printed when the process
ends if nobody did. Must not know what is written. The one decision: the handle *is* the path, so
code that does not know of it goes on working.
"""

from __future__ import annotations

import atexit
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from tfx.core.system_errors import starting_threads

# Errors that nobody has seen, in the order in which they happened, by the number of their save.
_unseen: dict[int, tuple[str, BaseException]] = {}


class BackgroundSave(str):
    """The path of a checkpoint that a thread is writing.

    Example:
        >>> import tempfile
        >>> import tfx as tf
        >>> checkpoint = tf.train.Checkpoint(step=tf.Variable(7))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     saving = checkpoint.save(folder + "/ckpt", background=True)
        ...     checkpoint.step.assign_add(1).numpy()  # goes on at once
        ...     int(tf.train.load_variable(saving.result(), "step"))
        np.int32(8)
        7
    """

    __slots__ = ("_future",)
    _future: Future[None]

    def done(self) -> bool:
        """True if the checkpoint is complete, or failed."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> str:
        """Wait until the checkpoint is complete.

        Args:
            timeout: Most seconds to wait; None waits for as long as it takes.

        Returns:
            The path.

        Raises:
            TimeoutError: it takes longer.
            OpError: it could not be written.
        """
        error = self.exception(timeout)
        if error is not None:
            raise error
        return str(self)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait, and return what went wrong, or None.

        Args:
            timeout: Most seconds to wait; None waits for as long as it takes.

        Raises:
            TimeoutError: it takes longer.
        """
        error = self._future.exception(timeout)
        _unseen.pop(id(self._future), None)
        return error

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Pickle the path alone."""
        return str, (str(self),)


class Writer:
    """Writes one checkpoint at a time in a thread of its own.

    At the end of the process Python waits for the thread.
    """

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._saving: BackgroundSave | None = None

    def start(self, path: str, job: Callable[[], None]) -> BackgroundSave:
        """Begin to write; the one before must be complete."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "tfx-checkpoint")
        saving = BackgroundSave(path)
        with starting_threads():
            saving._future = future = self._pool.submit(job)
        future.add_done_callback(lambda done: _note(path, done))
        self._saving = saving
        return saving

    def wait(self) -> None:
        """Wait for the checkpoint that is being written.

        Raises:
            OpError: it could not be written, and this has not been raised yet.
        """
        saving, self._saving = self._saving, None
        if saving is None:
            return
        unseen = not saving.done() or id(saving._future) in _unseen
        error = saving.exception()
        if error is not None and unseen:
            raise error


def _note(path: str, done: Future[None]) -> None:
    error = done.exception()
    if error is not None:
        _unseen[id(done)] = (path, error)


def _print_unseen() -> None:
    for path, error in _unseen.values():
        print(f"The checkpoint {path} was not written:", file=sys.stderr)
        traceback.print_exception(error)


atexit.register(_print_unseen)
