"""``LooperThread``: a thread that calls a function again and again until its coordinator stops."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from tfx.train.coordinator import Coordinator


class LooperThread(threading.Thread):
    """A thread that calls a function every few seconds, and whose errors stop its coordinator.

    Args:
        coord: The ``Coordinator``.
        timer_interval_secs: Seconds from one call to the next; None: one after the other.
        target: The function; None: ``run_loop``, which a subclass has.
        args: Arguments of the function.
        kwargs: Arguments of the function by name.

    Raises:
        ValueError: no coordinator, or arguments without a function.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> coordinator, calls = tf.train.Coordinator(), []
        >>> def work():
        ...     calls.append(1)
        ...     if len(calls) == 3:
        ...         coordinator.request_stop()
        >>> thread = tf.train.LooperThread.loop(coordinator, None, work)
        >>> coordinator.join()
        >>> len(calls)
        3
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord!r}")
        if target is None and (args or kwargs):
            raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'")
        super().__init__(daemon=True)
        self._coord = coord
        self._interval = timer_interval_secs
        self._call = (target, tuple(args or ()), dict(kwargs or {}))
        coord.register_thread(self)

    @classmethod
    def loop(
        cls,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Make and start one; see the class."""
        thread = cls(coord, timer_interval_secs, target, args, kwargs)
        thread.start()
        return thread

    def run(self) -> None:
        """What the thread does."""
        with self._coord.stop_on_exception():
            self.start_loop()
            following = time.time()
            while not self._stopped_before(following):
                following += self._interval or 0.0
                self.run_loop()
            self.stop_loop()

    def _stopped_before(self, following: float) -> bool:
        if self._interval is None:
            return self._coord.should_stop()
        return self._coord.wait_for_stop(max(0.0, following - time.time()))

    def start_loop(self) -> None:
        """Called before the first time."""

    def stop_loop(self) -> None:
        """Called after the last time."""

    def run_loop(self) -> None:
        """Called each time."""
        target, args, kwargs = self._call
        if target is not None:
            target(*args, **kwargs)
