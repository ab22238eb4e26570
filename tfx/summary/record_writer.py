"""``TFRecordWriter``: records in a file, framed as event files are, compressed or not."""

from __future__ import annotations

import os
import zlib
from typing import IO, Any

from tfx.core.errors import InvalidArgumentError
from tfx.core.gfile import file_errors
from tfx.core.mixins import Closing
from tfx.framework.tensor import EagerTensor
from tfx.summary.records import framed

COMPRESSIONS = ("", "GZIP", "ZLIB")


class TFRecordWriter(Closing):
    """Writes records to a TFRecord file.

    Args:
        path: The file, which is replaced.
        options: ``"GZIP"``, ``"ZLIB"``, or an object with ``compression_type``; None: as it is.

    Raises:
        InvalidArgumentError: another compression.

    Example:
        >>> import os, tempfile
        >>> import tfx as tf
        >>> path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
        >>> with tf.io.TFRecordWriter(path) as writer:
        ...     writer.write(b"one")
        ...     writer.write(b"two")
        >>> [record.numpy() for record in tf.data.TFRecordDataset(path)]
        [b'one', b'two']
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        kind = getattr(options, "compression_type", options) or ""
        if kind not in COMPRESSIONS:
            raise InvalidArgumentError(
                f"Unsupported compression type {kind!r}: expected '', 'GZIP' or 'ZLIB'."
            )
        with file_errors(path):
            self._file: IO[bytes] = open(os.fsdecode(path), "wb")  # noqa: SIM115
        self._zip: Any = None
        if kind:
            self._zip = zlib.compressobj(wbits=31 if kind == "GZIP" else 15)

    def write(self, record: Any) -> None:
        """Append a record.

        Args:
            record: Bytes, text, or a string tensor.
        """
        if isinstance(record, EagerTensor):
            record = record.numpy()
        data = framed(record.encode() if isinstance(record, str) else bytes(record))
        self._file.write(self._zip.compress(data) if self._zip else data)

    def flush(self) -> None:
        """Hand what was written to the system."""
        with file_errors():
            self._file.flush()

    def close(self) -> None:
        """Finish the file."""
        if not self._file.closed:
            if self._zip is not None:
                self._file.write(self._zip.flush())
            self._file.close()
