"""``tf.train.Coordinator``: threads that stop together, and the error that one of them had."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

from tfx.core.errors import OutOfRangeError


class Coordinator:
    """Tells several threads to stop, and raises what stopped them where they are joined.

    Args:
        clean_stop_exception_types: Errors that end the work without being raised again; None:
            ``OutOfRangeError``.

    Example:
        >>> import threading
        >>> import tfx as tf
        >>> coordinator, done = tf.train.Coordinator(), []
        >>> def work():
        ...     with coordinator.stop_on_exception():
        ...         while not coordinator.should_stop():
        ...             done.append(1)
        ...             if len(done) == 3:
        ...                 coordinator.request_stop()
        >>> thread = threading.Thread(target=work)
        >>> thread.start()
        >>> coordinator.join([thread])
        >>> len(done)
        3
    """

    def __init__(self, clean_stop_exception_types: Any = None) -> None:
        clean = (OutOfRangeError,) if clean_stop_exception_types is None else None
        self._clean = tuple(clean_stop_exception_types or ()) if clean is None else clean
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._registered: set[threading.Thread] = set()
        self._joined = False

    @property
    def joined(self) -> bool:
        """Whether ``join`` has ended."""
        return self._joined

    def should_stop(self) -> bool:
        """True once a stop was requested."""
        return self._stop.is_set()

    def request_stop(self, ex: Any = None) -> None:
        """Ask the threads to stop.

        Args:
            ex: An exception, or what ``sys.exc_info`` returns, for ``join`` to raise. One after
                the first is ignored, one that is clean is not kept.

        Raises:
            RuntimeError: the threads were joined already; ``ex`` itself, if there is one.
        """
        error = ex[1] if isinstance(ex, tuple) else ex
        with self._lock:
            if self._joined:
                if error is not None:
                    raise error
                raise RuntimeError("Coordinator is already stopped and joined; make a new one.")
            if isinstance(error, self._clean):
                error = None
            if not self._stop.is_set():
                self._error = error
                self._stop.set()

    def clear_stop(self) -> None:
        """Begin again: forget the stop, and the error with it."""
        with self._lock:
            self._joined, self._error = False, None
            self._stop.clear()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Request a stop with the exception that leaves a ``with`` block, which then ends."""
        try:
            yield
        except BaseException as e:
            self.request_stop(e)

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait until a stop is requested, or for some seconds; whether one is."""
        return self._stop.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Have ``join`` wait for a thread, too."""
        with self._lock:
            self._registered.add(thread)

    def raise_requested_exception(self) -> None:
        """Raise the error that a stop was requested with, if there is one."""
        with self._lock:
            if self._error is not None:
                raise self._error

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait until all threads have ended, and raise what one of them stopped with.

        Args:
            threads: Those to wait for, beside the registered ones.
            stop_grace_period_secs: How long to wait once a stop was requested.
            ignore_live_threads: Leave threads that go on after that alone.

        Raises:
            RuntimeError: threads that go on after the period.
        """
        everyone = {*self._registered, *(threads or ())}
        while any(t.is_alive() for t in everyone) and not self.wait_for_stop(0.05):
            pass
        end = time.monotonic() + stop_grace_period_secs
        for thread in everyone:
            thread.join(max(0.0, end - time.monotonic()))
        alive = [t.name for t in everyone if t.is_alive()]
        with self._lock:
            self._joined = True
            self._registered = set()
        self.raise_requested_exception()
        if alive and not ignore_live_threads:
            raise RuntimeError(
                "Coordinator stopped with threads still running: " + " ".join(sorted(alive))
            )
