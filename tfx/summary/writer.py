"""Summary writers: where summaries go."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tfx.framework.host_call import host_call
from tfx.framework.tensor import Tensor
from tfx.graph.ir import HostCall
from tfx.ops.array.static_value import get_static_value
from tfx.summary import event_pb2 as pb
from tfx.summary.event_file import EventFile
from tfx.summary.messages import graph_event, summary_event
from tfx.summary.state import change, changed, setting, settings

_MAX_QUEUE = 10
_FLUSH_MILLIS = 2 * 60 * 1000
_SUFFIX = ".v2"


class SummaryWriter:
    """Takes summaries. Made by ``create_file_writer`` and ``create_noop_writer``.

    Example:
        >>> import tempfile
        >>> import tfx as tf
        >>> with tempfile.TemporaryDirectory() as logdir:
        ...     writer = tf.summary.create_file_writer(logdir)
        ...     with writer.as_default(step=1):
        ...         wrote = tf.summary.scalar("loss", 0.5)
        ...     writer.close()
        >>> bool(wrote)
        True
    """

    @contextmanager
    def as_default(self, step: Any = None) -> Iterator[SummaryWriter]:
        """Make this the default writer inside a ``with`` block, and flush it at the end.

        Args:
            step: The default step inside the block; None leaves it as it is.

        Raises:
            RuntimeError: the writer was closed.
        """
        self._require_open()
        with changed(writer=self, **self._step(step)):
            yield self
            self.flush()

    def set_as_default(self, step: Any = None) -> None:
        """Make this the default writer from here on.

        Args:
            step: The default step from here on; None leaves it as it is.

        Raises:
            RuntimeError: the writer was closed.
        """
        self._require_open()
        change(writer=self, **self._step(step))

    def init(self) -> None:
        """Nothing: a writer is ready when it is made."""

    def flush(self) -> None:
        """Write what waits; inside a function, whenever that runs."""
        host_call(HostCall("summary", lambda _: self._flush(), "flush"), [])

    def close(self) -> None:
        """Write what waits and close; inside a function, whenever that runs."""
        host_call(HostCall("summary", lambda _: self._close(), "close"), [])

    # What kinds of writers do

    records = False

    def _step(self, step: Any) -> dict[str, Any]:
        return {} if step is None else {"step": step}

    def _require_open(self) -> None:
        pass

    def _flush(self) -> None:
        pass

    def _close(self) -> None:
        pass

    def add(self, summary: pb.Summary, step: int) -> None:
        """Take a summary."""
        raise AssertionError(f"{self!r} takes no summaries.")

    def add_graph(self, graph_def: bytes) -> None:
        """Take a graph."""
        raise AssertionError(f"{self!r} takes no graphs.")


class NoopWriter(SummaryWriter):
    """Takes nothing."""

    def _step(self, step: Any) -> dict[str, Any]:
        return {}


class FileWriter(SummaryWriter):
    """Writes an event file."""

    records = True

    def __init__(self, logdir: Path, max_queue: int, flush_millis: float, suffix: str) -> None:
        self._file = EventFile(logdir, max_queue, flush_millis, suffix)
        self._closed = False
        # When the writer is gone, or Python ends, what waits is written.
        self._finalizer = weakref.finalize(self, self._file.close)

    def _require_open(self) -> None:
        if self._closed:
            raise RuntimeError(f"SummaryWriter {self!r} is already closed")

    def _flush(self) -> None:
        self._file.flush()

    def _close(self) -> None:
        self._closed = True
        self._file.close()

    def add(self, summary: pb.Summary, step: int) -> None:
        """Put a summary into the file's queue.

        Raises:
            RuntimeError: the writer was closed.
        """
        self._require_open()
        self._file.add(summary_event(time.time(), step, summary))

    def add_graph(self, graph_def: bytes) -> None:
        """Put a graph into the file's queue.

        Raises:
            RuntimeError: the writer was closed.
        """
        self._require_open()
        self._file.add(graph_event(time.time(), graph_def))

    def __repr__(self) -> str:
        return f"<FileWriter {self._file.path}>"


def create_file_writer(
    logdir: Any,
    max_queue: Any = None,
    flush_millis: Any = None,
    filename_suffix: Any = None,
    name: str | None = None,
    experimental_trackable: bool = False,
    experimental_mesh: Any = None,
) -> SummaryWriter:
    """A writer of an event file, which TensorBoard shows.

    Inside a function it is made once, while the function is traced.

    Args:
        logdir: Folder of the file, made if needed.
        max_queue: How many summaries may wait to be written; None: 10.
        flush_millis: How long they may wait, in milliseconds; None: 120,000.
        filename_suffix: The end of the file's name; None: ``".v2"``.
        name: Accepted for compatibility.
        experimental_trackable: Accepted for compatibility.
        experimental_mesh: Accepted for compatibility.

    Raises:
        TypeError: ``logdir`` is no path.
        ValueError: inside a function, an argument that only a call of the function knows.

    Example:
        >>> import tempfile
        >>> import tfx as tf
        >>> with tempfile.TemporaryDirectory() as logdir:
        ...     writer = tf.summary.create_file_writer(logdir, filename_suffix=".mine")
        ...     writer.close()
    """
    given = {"logdir": logdir, "max_queue": max_queue, "flush_millis": flush_millis}
    parts = [_plain(n, x) for n, x in (*given.items(), ("filename_suffix", filename_suffix))]
    folder = parts[0].decode() if isinstance(parts[0], bytes) else parts[0]
    suffix = parts[3].decode() if isinstance(parts[3], bytes) else parts[3]
    if not isinstance(folder, str | os.PathLike):
        raise TypeError(f"logdir must be a path; got {logdir!r} of type {type(logdir).__name__}.")
    return FileWriter(
        Path(folder),
        _MAX_QUEUE if parts[1] is None else int(parts[1]),
        _FLUSH_MILLIS if parts[2] is None else float(parts[2]),
        _SUFFIX if suffix is None else suffix,
    )


def _plain(name: str, x: Any) -> Any:
    """An argument of a writer, which is made at once, inside a function as well."""
    value = get_static_value(x) if isinstance(x, Tensor) else x
    if value is None and x is not None:
        raise ValueError(
            f"Invalid graph Tensor argument {name}={x!r} to create_file_writer() inside of a "
            "tf.function: the writer is made once, while the function is traced, so it cannot "
            "depend on what the function is called with."
        )
    return value


def create_noop_writer() -> SummaryWriter:
    """A writer that takes nothing: summaries are skipped while it is the default.

    Example:
        >>> import tfx as tf
        >>> with tf.summary.create_noop_writer().as_default():
        ...     bool(tf.summary.scalar("loss", 0.5, step=1))
        False
    """
    return NoopWriter()


def flush(writer: SummaryWriter | None = None, name: str | None = None) -> None:
    """Write what waits in a writer; inside a function, whenever that runs.

    Args:
        writer: The writer; None: the default one, if there is one.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.summary.flush()
    """
    made_here = writer if writer is not None else settings().writer

    def run(_: Any) -> None:
        held = made_here if current_is_held else settings().writer
        found = setting(held)
        if found is not None:
            found._flush()

    current_is_held = writer is not None or made_here is not setting(made_here)
    host_call(HostCall("summary", run, "flush"), [])
