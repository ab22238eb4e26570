"""Summaries of TensorFlow 1: tensors that hold encoded values, which a ``FileWriter`` writes.

In a graph a summary is a text that a session computes; ``merge_all`` puts those of a collection
together. Values are encoded as those of ``tf.summary`` are, which TensorBoard reads.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import numpy as np

from tfx.compat.v1.graph.collections import GraphKeys
from tfx.compat.v1.graph.default_graph import get_default_graph
from tfx.compat.v1.graph.graph import Graph
from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.context import current
from tfx.ops.io.wav import wav
from tfx.script_ops.py_function import numpy_function
from tfx.summary import event_pb2 as pb
from tfx.summary.event_file import EventFile
from tfx.summary.graphs import graph_message
from tfx.summary.histograms import table
from tfx.summary.images import check_images, png
from tfx.summary.messages import (
    graph_event,
    metadata_message,
    plugin,
    summary_event,
    value_summary,
)
from tfx.summary.sounds import WAV_CONTENT


def scalar(
    name: str, tensor: Any, collections: Sequence[Any] | None = None, family: str | None = None
) -> Any:
    """A summary of a number.

    Args:
        name: Its name; name scopes come in front.
        tensor: A scalar.
        collections: The collections to add it to; None: the summaries.
        family: Put in front of the name, so that TensorBoard shows families together.

    Returns:
        A tensor with the encoded summary.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     loss = tf.summary.scalar("loss", tf.constant(0.5))
        ...     merged = tf.summary.merge_all()
        ...     print(type(session.run(merged)).__name__)
        bytes
    """
    tag = _tag(name, family)

    def encode(array: Any) -> bytes:
        array = np.asarray(array)
        if array.size != 1:
            raise InvalidArgumentError(
                f"Summary {tag!r} takes a scalar; got a tensor of shape {array.shape}. Reduce it "
                "first, or use summary.histogram."
            )
        number = array.reshape(()).astype(np.float32)
        return value_summary(tag, number, plugin("scalars")).SerializeToString()

    return _collected(numpy_function(encode, [tensor], dtypes.string, False), collections)


def histogram(
    name: str, values: Any, collections: Sequence[Any] | None = None, family: str | None = None
) -> Any:
    """A summary of how a tensor's elements are distributed.

    Args:
        name: Its name; name scopes come in front.
        values: A tensor of numbers, of any shape.
        collections: The collections to add it to; None: the summaries.
        family: Put in front of the name.

    Returns:
        A tensor with the encoded summary.
    """
    tag = _tag(name, family)

    def encode(array: Any) -> bytes:
        made = value_summary(tag, table(np.asarray(array), _BUCKETS), plugin("histograms"))
        return made.SerializeToString()

    return _collected(numpy_function(encode, [values], dtypes.string, False), collections)


_BUCKETS = 30


def text(name: str, tensor: Any, collections: Sequence[Any] | None = None) -> Any:
    """A summary of texts; TensorBoard shows Markdown.

    Args:
        name: Its name; name scopes come in front.
        tensor: A tensor of texts.
        collections: The collections to add it to; None: the summaries.

    Returns:
        A tensor with the encoded summary.
    """
    tag = _tag(name, None)

    def encode(array: Any) -> bytes:
        made = value_summary(tag, np.asarray(array, object), plugin("text"))
        return made.SerializeToString()

    return _collected(numpy_function(encode, [tensor], dtypes.string, False), collections)


def image(
    name: str,
    tensor: Any,
    max_outputs: int = 3,
    collections: Sequence[Any] | None = None,
    family: str | None = None,
) -> Any:
    """A summary of pictures.

    Args:
        name: Their name; name scopes come in front, ``/image`` and a number behind.
        tensor: ``[count, height, width, channels]`` with 1, 3 or 4 channels: uint8, or a floating
            dtype. Floats of a picture are scaled so that the largest is 255; if some are negative,
            0 becomes 128 and the one farthest from it 1 or 255. A pixel that is not finite is red.
        max_outputs: How many of them at most.
        collections: The collections to add it to; None: the summaries.
        family: Put in front of the name.

    Returns:
        A tensor with the encoded summary.
    """
    tag = _tag(name, family)
    several = max_outputs > 1

    def encode(array: Any) -> bytes:
        pictures = np.asarray(array)
        check_images(pictures, tag, (1, 3, 4))
        size = [str(pictures.shape[2]).encode(), str(pictures.shape[1]).encode()]
        parts = []
        for i, picture in enumerate(pictures[: max(max_outputs, 0)]):
            pixels = picture if picture.dtype == np.uint8 else _scaled(picture)
            value = np.array([*size, png(pixels)], object)
            own = f"{tag}/image/{i}" if several else f"{tag}/image"
            parts.append(value_summary(own, value, plugin("images")).SerializeToString())
        return b"".join(parts)

    return _collected(numpy_function(encode, [tensor], dtypes.string, False), collections)


def _scaled(picture: Any) -> Any:
    """Floats as bytes, as TensorFlow 1 shows them."""
    wide = picture.astype(np.float32)
    finite = np.isfinite(wide)
    bad = ~finite.all(axis=-1)
    known = wide[~bad]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    if low < 0:
        reach = max(abs(low), abs(high))
        scale, offset = (0.0 if reach < 1e-6 else 127.0 / reach), 128.0
    else:
        scale, offset = (0.0 if high < 1e-6 else 255.0 / high), 0.0
    shown = np.where(finite, wide, 0) * np.float32(scale) + np.float32(offset)
    pixels = shown.astype(np.uint8)
    red = [255, 0, 0, 255][: picture.shape[-1]]
    pixels[bad] = red
    return pixels


def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Sequence[Any] | None = None,
    family: str | None = None,
) -> Any:
    """A summary of sounds.

    Args:
        name: Their name; name scopes come in front, ``/audio`` and a number behind.
        tensor: ``[count, frames]`` or ``[count, frames, channels]`` of a floating dtype, from -1
            to 1 (what lies outside is clipped).
        sample_rate: Frames in a second.
        max_outputs: How many of them at most.
        collections: The collections to add it to; None: the summaries.
        family: Put in front of the name.

    Returns:
        A tensor with the encoded summary.
    """
    tag = _tag(name, family)
    several = max_outputs > 1

    def encode(array: Any, rate: Any) -> bytes:
        sounds = np.asarray(array)
        if sounds.ndim not in (2, 3):
            raise InvalidArgumentError(
                f"Summary {tag!r} takes sounds [count, frames] or [count, frames, channels]; got "
                f"the shape {sounds.shape}."
            )
        if sounds.ndim == 2:
            sounds = sounds[:, :, None]
        parts = []
        for i, sound in enumerate(sounds[: max(max_outputs, 0)]):
            value = np.array([[wav(sound, int(rate)), b""]], object)
            own = f"{tag}/audio/{i}" if several else f"{tag}/audio"
            made = value_summary(own, value, plugin("audio", WAV_CONTENT))
            parts.append(made.SerializeToString())
        return b"".join(parts)

    given = [tensor, sample_rate]
    return _collected(numpy_function(encode, given, dtypes.string, False), collections)


def tensor_summary(
    name: str,
    tensor: Any,
    summary_description: str | None = None,
    collections: Sequence[Any] | None = None,
    summary_metadata: Any = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Any:
    """A summary of a whole tensor, for a plugin of TensorBoard's.

    Args:
        name: Its name; name scopes come in front.
        tensor: A tensor of any dtype and shape.
        summary_description: Markdown that TensorBoard shows.
        collections: The collections to add it to; None: the summaries.
        summary_metadata: A ``SummaryMetadata`` message, or its bytes, that names the plugin.
        family: Put in front of the name.
        display_name: What TensorBoard shows as the name.

    Returns:
        A tensor with the encoded summary.
    """
    tag = _tag(name, family)
    metadata = pb.Metadata()
    metadata.MergeFrom(metadata_message(summary_metadata) or pb.Metadata())
    if display_name is not None:
        metadata.display_name = display_name
    if summary_description is not None:
        metadata.summary_description = summary_description

    def encode(array: Any) -> bytes:
        return value_summary(tag, np.asarray(array), metadata).SerializeToString()

    return _collected(numpy_function(encode, [tensor], dtypes.string, False), collections)


def merge(inputs: Sequence[Any], collections: Sequence[Any] | None = None, name: Any = None) -> Any:
    """One summary of the values of several.

    Args:
        inputs: Tensors with encoded summaries.
        collections: Collections to add it to; None: none.
        name: Accepted for compatibility.

    Returns:
        A tensor with the encoded summary.
    """
    # Messages of one kind after another are one message with the values of all.
    joined = numpy_function(lambda *parts: b"".join(parts), list(inputs), dtypes.string, False)
    return _collected(joined, collections or ())


def merge_all(key: Any = GraphKeys.SUMMARIES, scope: str | None = None, name: Any = None) -> Any:
    """One summary of the values of all that were collected.

    Args:
        key: The collection.
        scope: Only those whose names begin so.
        name: Accepted for compatibility.

    Returns:
        A tensor with the encoded summary; None if there are no summaries.
    """
    found = get_default_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None


def _tag(name: str, family: str | None) -> str:
    within = name if family is None else f"{family}/{name}"
    return f"{current().scope}{within}"


def _collected(summary: Any, collections: Sequence[Any] | None) -> Any:
    summary.set_shape([])
    graph = current().graph
    if isinstance(graph, Graph):
        names = [GraphKeys.SUMMARIES] if collections is None else list(collections)
        graph.add_to_collections(names, summary)
    return summary


class FileWriterCache:
    """One ``FileWriter`` for each folder."""

    _writers: ClassVar[dict[str, FileWriter]] = {}

    @staticmethod
    def get(logdir: Any) -> FileWriter:
        """The writer of a folder, made when it is first asked for.

        Args:
            logdir: The folder.
        """
        known = FileWriterCache._writers
        if str(logdir) not in known:
            known[str(logdir)] = FileWriter(logdir, graph=get_default_graph())
        return known[str(logdir)]

    @staticmethod
    def clear() -> None:
        """Close all writers and forget them."""
        for writer in FileWriterCache._writers.values():
            writer.close()
        FileWriterCache._writers.clear()


class FileWriter:
    """Writes summaries that a session computed into an event file.

    Args:
        logdir: The folder.
        graph: A graph to write, too.
        max_queue: How many records may wait.
        flush_secs: How long records may wait.
        graph_def: Accepted for compatibility: give ``graph``.
        filename_suffix: The end of the file's name.
        session: Accepted for compatibility: records are written at once.

    Example:
        >>> import tempfile
        >>> import tfx.compat.v1 as tf
        >>> with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default() as graph:
        ...     loss = tf.summary.scalar("loss", tf.constant(0.5))
        ...     with tf.summary.FileWriter(folder, graph) as writer, tf.Session() as session:
        ...         writer.add_summary(session.run(loss), global_step=1)
    """

    def __init__(
        self,
        logdir: Any,
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        self._logdir = str(logdir)
        self._made_with = (max_queue, flush_secs * 1000.0, filename_suffix or "")
        self._file: EventFile | None = None
        self.reopen()
        if graph is not None:
            self.add_graph(graph)

    def get_logdir(self) -> str:
        """The folder."""
        return self._logdir

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Write a summary.

        Args:
            summary: What a session computed of one, or a ``Summary`` message.
            global_step: The number of the step; None: 0.
        """
        if hasattr(summary, "SerializeToString"):
            summary = summary.SerializeToString()
        if isinstance(summary, np.ndarray):
            summary = summary.item()
        message = pb.Summary.FromString(summary)
        self._add(summary_event(time.time(), int(global_step or 0), message))

    def add_event(self, event: Any) -> None:
        """Write an ``Event`` message.

        Args:
            event: The message.
        """
        self._add(event.SerializeToString())

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Write what became of a session.

        Args:
            session_log: A ``SessionLog`` message.
            global_step: The number of the step; None: 0.
        """
        message = pb.SessionLog.FromString(session_log.SerializeToString())
        step = int(global_step or 0)
        event = pb.Event(wall_time=time.time(), step=step, session_log=message)
        self._add(event.SerializeToString())

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Write the operations of a graph.

        Args:
            graph: The graph.
            global_step: Accepted for compatibility.
            graph_def: Accepted for compatibility: give ``graph``.
        """
        self._add(graph_event(time.time(), graph_message(graph).SerializeToString()))

    def flush(self) -> None:
        """Write what waits."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Write what waits and close; ``reopen`` begins another file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def reopen(self) -> None:
        """Begin another file if this writer was closed."""
        if self._file is None:
            self._file = EventFile(Path(self._logdir), *self._made_with)

    def _add(self, record: bytes) -> None:
        if self._file is None:
            raise RuntimeError(
                f"The FileWriter of {self._logdir!r} is closed; call reopen() to write on."
            )
        self._file.add(record)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
