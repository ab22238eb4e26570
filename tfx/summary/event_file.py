"""An event file: a queue of records in front of a file that only grows."""

from __future__ import annotations

import itertools
import os
import socket
import threading
import time
from pathlib import Path

from tfx.core.system_errors import writing
from tfx.summary.messages import first_event
from tfx.summary.records import framed

_numbers = itertools.count()


class EventFile:
    """A file of records that TensorBoard reads while it is written.

    Records are written when more than ``max_queue`` wait, when ``flush_millis`` have passed since
    they were written last, and by ``flush``. Threads may share it.

    Args:
        logdir: The folder, made if needed.
        max_queue: How many records may wait.
        flush_millis: How long, in milliseconds.
        suffix: The end of the file's name.
    """

    def __init__(self, logdir: Path, max_queue: int, flush_millis: float, suffix: str) -> None:
        logdir.mkdir(parents=True, exist_ok=True)
        now = time.time()
        # A name of its own for each writer: of several files in a folder TensorBoard reads all.
        name = (
            f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}.{os.getpid()}."
            f"{next(_numbers)}{suffix}"
        )
        self.path = logdir / name
        self._file = self.path.open("wb")
        self._max_queue = max_queue
        self._flush_seconds = flush_millis / 1000
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._queue: list[bytes] = [framed(first_event(int(now)))]
        self._flushed = 0.0
        self.flush()

    def add(self, record: bytes) -> None:
        """Put a record into the queue.

        Raises:
            RuntimeError: the file was closed, or another process made it.
        """
        if self._process != os.getpid():
            raise RuntimeError(
                f"The event file {self.path} belongs to process {self._process}, which this one, "
                f"{os.getpid()}, was forked from; make a summary writer of its own in each process."
            )
        with self._lock:
            if self._file.closed:
                raise RuntimeError(f"The event file {self.path} is closed.")
            self._queue.append(framed(record))
            late = time.monotonic() - self._flushed >= self._flush_seconds
            if late or len(self._queue) > self._max_queue:
                self._write()

    def flush(self) -> None:
        """Write what waits; nothing after ``close``."""
        if self._process != os.getpid():  # what waits is the other process's to write
            return
        with self._lock:
            if not self._file.closed:
                self._write()

    def close(self) -> None:
        """Write what waits and close the file; more than once is harmless."""
        if self._process != os.getpid():
            return
        with self._lock:
            if not self._file.closed:
                self._write()
                self._file.close()

    def _write(self) -> None:
        queue, self._queue = self._queue, []
        with writing(self.path):
            self._file.write(b"".join(queue))
            self._file.flush()
        self._flushed = time.monotonic()
