"""Readers: operations that read the next record of the files whose names a queue holds."""

from __future__ import annotations

import itertools
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tfx.compat.v1.graph.default_graph import is_building
from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError, UnimplementedError
from tfx.core.gfile import file_errors, local_path
from tfx.core.wire_format import WireError, fields, varint
from tfx.data.records import compression_errors, lines, opened, tfrecords
from tfx.framework.convert import convert_to_tensor
from tfx.framework.operation import Operation
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.ops.common.python_ops import by_python
from tfx.script_ops.queues import QueueBase
from tfx.script_ops.session_resources import PerSession
from tfx.summary.record_writer import TFRecordOptions

_BUFFER = 1 << 18
_TEXT = (dtypes.string, ())
_TEXTS = (dtypes.string, (None,))
_NUMBER = (dtypes.int64, ())
_COUNTS = ("started", "finished", "records")


class _State:
    """How far a reader is: the piece of work that it reads, and what it has read."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.begin()

    def begin(self) -> None:
        """Forget what was read."""
        self.work = b""
        self.records: Iterator[tuple[bytes, bytes]] | None = None
        self.counts: dict[str, int] = dict.fromkeys(_COUNTS, 0)

    def message(self) -> bytes:
        """TensorFlow's message for it."""
        numbers = [self.counts[name] for name in _COUNTS]
        parts = [bytes([8 * i]) + varint(n) for i, n in enumerate(numbers, 1) if n]
        if self.work:
            parts.append(b"\x22" + varint(len(self.work)) + self.work)
        return b"".join(parts)


class ReaderBase(ABC):
    """What all readers have; its records are pairs of a key and a value.

    Args:
        name: Accepted for compatibility.

    Raises:
        RuntimeError: no graph is built here.
    """

    _can_save = False

    def __init__(self, name: str | None = None) -> None:
        if not is_building():
            raise RuntimeError(
                "Readers need a graph; where operations run at once, use tf.data to get data into "
                "your model."
            )
        self._states = PerSession(_State)

    # What kinds of readers differ in

    @abstractmethod
    def _records_of(self, work: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The keys and values of a piece of work."""

    # Operations

    @property
    def supports_serialize(self) -> bool:
        """Whether ``serialize_state`` works."""
        return self._can_save

    def read(self, queue: QueueBase, name: str | None = None) -> tuple[Tensor, Tensor]:
        """The next record; the next piece of work is taken from the queue when it is needed.

        Args:
            queue: A queue of strings, such as the names of files.
            name: Accepted for compatibility.

        Returns:
            ``(key, value)``: scalars of strings.

        Raises:
            OutOfRangeError: while it runs, the queue is closed and empty.
            NotFoundError: while it runs, there is no such file.
        """

        def read() -> list[Any]:
            state = self._states.get()
            with state.lock:
                while True:
                    found = self._next(state, queue)
                    if found is not None:
                        return list(found)

        key, value = by_python("reader.read", read, [], [_TEXT, _TEXT], effect=True)
        return key, value

    def read_up_to(
        self, queue: QueueBase, num_records: Any, name: str | None = None
    ) -> tuple[Tensor, Tensor]:
        """Up to ``num_records`` records of one piece of work; see ``read``.

        Args:
            queue: See ``read``.
            num_records: An integer or a scalar.
            name: Accepted for compatibility.

        Returns:
            ``(keys, values)``: vectors of strings.
        """
        count = convert_to_tensor(num_records, dtypes.int64)

        def read(wanted: Any) -> list[Any]:
            state = self._states.get()
            with state.lock:
                records: list[tuple[bytes, bytes]] = []
                while len(records) < int(wanted) and not (records and state.records is None):
                    found = self._next(state, queue)
                    if found is not None:
                        records.append(found)
            return [np.array([r[i] for r in records], object) for i in range(2)]

        keys, values = by_python("reader.read_up_to", read, [count], [_TEXTS, _TEXTS], effect=True)
        return keys, values

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """How many records were read: an int64 scalar."""
        return self._told("records")

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """How many pieces of work were read to their end: an int64 scalar."""
        return self._told("finished")

    def reset(self, name: str | None = None) -> Operation | None:
        """Begin as if nothing had been read."""

        def reset() -> list[Any]:
            state = self._states.get()
            with state.lock:
                state.begin()
            return [np.array(True)]

        (done,) = by_python("reader.reset", reset, [], [(dtypes.bool, ())], effect=True)
        return done.op if isinstance(done, SymbolicTensor) else None

    def serialize_state(self, name: str | None = None) -> Tensor:
        """The state of the reader: a scalar of strings.

        Raises:
            UnimplementedError: while it runs, for readers that are within a file.
        """

        def save() -> list[Any]:
            self._check_saving("SerializeState")
            state = self._states.get()
            with state.lock:
                return [state.message()]

        return by_python("reader.serialize_state", save, [], [_TEXT], effect=True)[0]

    def restore_state(self, state: Any, name: str | None = None) -> Operation | None:
        """Go on where ``serialize_state`` was called.

        Args:
            state: A scalar of strings.
            name: Accepted for compatibility.

        Raises:
            InvalidArgumentError: while it runs, for what is no state.
            UnimplementedError: while it runs, for readers that are within a file.
        """

        def restore(text: Any) -> list[Any]:
            self._check_saving("RestoreState")
            counts, work = _parsed(bytes(np.asarray(text).item()))
            held = self._states.get()
            with held.lock:
                held.begin()
                held.counts.update(counts)
                held.work = work
            return [np.array(True)]

        given = [convert_to_tensor(state, dtypes.string)]
        (done,) = by_python(
            "reader.restore_state", restore, given, [(dtypes.bool, ())], effect=True
        )
        return done.op if isinstance(done, SymbolicTensor) else None

    # Reading

    def _next(self, state: _State, queue: QueueBase) -> tuple[bytes, bytes] | None:
        """A record; None where a piece of work ended."""
        if state.records is None:
            state.work = b""
            work = bytes(queue.take_array().item())
            state.counts["started"] += 1
            state.work, state.records = work, self._records_of(work)
        path = state.work.decode(errors="surrogateescape")
        try:
            with file_errors(path), compression_errors(path):
                found = next(state.records, None)
        except BaseException:
            state.records = None
            raise
        if found is None or self._at_end():
            state.records = None
            state.counts["finished"] = state.counts["started"]
        if found is not None:
            state.counts["records"] += 1
        return found

    def _at_end(self) -> bool:
        """Whether a record was the only one of its piece of work."""
        return self._can_save

    def _told(self, what: str) -> Tensor:
        def tell() -> list[Any]:
            state = self._states.get()
            with state.lock:
                return [np.int64(state.counts[what])]

        return by_python(f"reader.{what}", tell, [], [_NUMBER], effect=True)[0]

    # Saving

    def _check_saving(self, kind: str) -> None:
        if not self._can_save:
            raise UnimplementedError(f"Reader {kind}: a {type(self).__name__} is within a file.")


def _parsed(state: bytes) -> tuple[Mapping[str, int], bytes]:
    counts, work = dict.fromkeys(_COUNTS, 0), b""
    try:
        for field in fields(state, 0, len(state)):
            if field.number <= len(_COUNTS):
                counts[_COUNTS[field.number - 1]] = field.value or 0
            else:
                work = state[field.begin : field.end]
    except WireError as e:
        raise InvalidArgumentError(f"Could not parse the state of a reader: {state!r}") from e
    return counts, work


class IdentityReader(ReaderBase):
    """A reader whose records are the pieces of work themselves, as keys and values.

    Args:
        name: Accepted for compatibility.
    """

    _can_save = True

    def _records_of(self, work: bytes) -> Iterator[tuple[bytes, bytes]]:
        return iter([(work, work)])


class WholeFileReader(ReaderBase):
    """A reader of whole files: the key is the name of one, the value its contents.

    Args:
        name: Accepted for compatibility.

    Example:
        >>> import pathlib, tempfile
        >>> import tfx.compat.v1 as tf
        >>> path = pathlib.Path(tempfile.mkdtemp(), "a.txt")
        >>> _ = path.write_text("text")
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     names = tf.train.string_input_producer([str(path)])
        ...     key, value = tf.WholeFileReader().read(names)
        ...     coordinator = tf.train.Coordinator()
        ...     threads = tf.train.start_queue_runners(session, coordinator)
        ...     found = session.run(value)
        ...     coordinator.request_stop()
        ...     coordinator.join(threads)
        >>> found
        b'text'
    """

    _can_save = True

    def _records_of(self, work: bytes) -> Iterator[tuple[bytes, bytes]]:
        with open(local_path(work), "rb") as file:
            yield work, file.read()


class TextLineReader(ReaderBase):
    """A reader of lines: the key is ``name:number``, from 1 on, the value the line without its end.

    Args:
        skip_header_lines: How many lines of each file to leave out.
        name: Accepted for compatibility.
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__()
        self._skipped = skip_header_lines or 0

    def _records_of(self, work: bytes) -> Iterator[tuple[bytes, bytes]]:
        numbered = enumerate(lines(local_path(work), "", _BUFFER), 1)
        for number, line in itertools.islice(numbered, self._skipped, None):
            yield b"%s:%d" % (work, number), line


class FixedLengthRecordReader(ReaderBase):
    """A reader of records of one length: the key is ``name:number``, from 0 on.

    Args:
        record_bytes: The length.
        header_bytes: What to leave out in front; None: nothing.
        footer_bytes: What to leave out at the end; None: nothing.
        hop_bytes: How far the beginnings of two records lie apart; None or 0: ``record_bytes``.
        name: Accepted for compatibility.
        encoding: ``"ZLIB"``, or None for files that are not compressed.

    Raises:
        InvalidArgumentError: a length that is not positive, or another encoding.
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        super().__init__()
        self._length = record_bytes
        self._around = (header_bytes or 0, footer_bytes or 0)
        self._hop = hop_bytes or record_bytes
        self._encoding = encoding or ""
        if record_bytes <= 0 or min(*self._around, self._hop) < 0:
            raise InvalidArgumentError(
                f"record_bytes must be > 0 and the others >= 0; got {record_bytes}, "
                f"{header_bytes}, {footer_bytes} and {hop_bytes}."
            )
        if self._encoding not in ("", "ZLIB"):
            raise InvalidArgumentError(f"encoding must be '' or 'ZLIB'; got {encoding!r}.")

    def _records_of(self, work: bytes) -> Iterator[tuple[bytes, bytes]]:
        with opened(local_path(work), self._encoding, _BUFFER) as file:
            data = file.read()
        header, footer = self._around
        last = len(data) - footer - self._length
        for number, start in enumerate(range(header, last + 1, self._hop)):
            yield b"%s:%d" % (work, number), data[start : start + self._length]


class TFRecordReader(ReaderBase):
    """A reader of TFRecord files: the key is ``name:offset``.

    Args:
        name: Accepted for compatibility.
        options: ``TFRecordOptions``; None: the files are not compressed.
    """

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        super().__init__()
        self._compression = TFRecordOptions.get_compression_type_string(options)

    def _records_of(self, work: bytes) -> Iterator[tuple[bytes, bytes]]:
        offset = 0
        for record in tfrecords(local_path(work), self._compression, _BUFFER):
            yield b"%s:%d" % (work, offset), record
            offset += len(record) + 16
