"""``TFRecordWriter``: records in a file, framed as event files are, compressed or not."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from typing import IO, Any, ClassVar

from tfx.core.errors import InvalidArgumentError
from tfx.core.gfile import file_errors
from tfx.core.mixins import Closing
from tfx.framework.tensor import EagerTensor
from tfx.summary.records import framed

COMPRESSIONS = ("", "GZIP", "ZLIB")


class TFRecordOptions:
    """How a ``TFRecordWriter`` compresses.

    Args:
        compression_type: ``""``, ``"GZIP"`` or ``"ZLIB"``, or its number in
            ``tf.compat.v1.io.TFRecordCompressionType``; None: ``""``.
        flush_mode: What ``flush`` does to what is compressed, zlib's number.
        input_buffer_size: Accepted for compatibility.
        output_buffer_size: Accepted for compatibility.
        window_bits: zlib's window, 9 to 15.
        compression_level: 0 to 9, or -1, which is 6.
        compression_method: zlib's only one, 8.
        mem_level: Memory that zlib uses, 1 to 9.
        compression_strategy: zlib's strategy, 0 to 4.

    Raises:
        ValueError: another compression.

    Example:
        >>> import tfx as tf
        >>> tf.io.TFRecordOptions("GZIP", compression_level=9).compression_type
        'GZIP'
    """

    compression_type_map: ClassVar[Mapping[int, str]] = {0: "", 1: "ZLIB", 2: "GZIP"}

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """``""``, ``"GZIP"`` or ``"ZLIB"``.

        Args:
            options: ``TFRecordOptions``, a name, a number, or None.

        Raises:
            ValueError: another compression.
        """
        kind = getattr(options, "compression_type", options)
        found = cls.compression_type_map.get(kind, kind) if kind is not None else ""
        if found not in COMPRESSIONS:
            raise ValueError(f'Not a valid compression_type: "{kind}"')
        return str(found)

    def compressor(self, kind: str) -> Any:
        """What compresses, for one of the two kinds."""
        bits = 15 if self.window_bits is None else self.window_bits
        given: dict[str, Any] = {
            "level": self.compression_level,
            "method": self.compression_method,
            "memLevel": self.mem_level,
            "strategy": self.compression_strategy,
        }
        chosen = {name: value for name, value in given.items() if value is not None}
        return zlib.compressobj(wbits=bits + 16 if kind == "GZIP" else bits, **chosen)


class TFRecordWriter(Closing):
    """Writes records to a TFRecord file.

    Args:
        path: The file, which is replaced.
        options: ``"GZIP"``, ``"ZLIB"``, or ``TFRecordOptions``; None: as it is.

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
        given = options if isinstance(options, TFRecordOptions) else TFRecordOptions()
        kind = _compression(options)
        with file_errors(path):
            self._file: IO[bytes] = open(os.fsdecode(path), "wb")  # noqa: SIM115
        self._zip: Any = None
        self._flush_mode = given.flush_mode
        if kind:
            self._zip = given.compressor(kind)

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
            if self._zip is not None and self._flush_mode is not None:
                self._file.write(self._zip.flush(self._flush_mode))
            self._file.flush()

    def close(self) -> None:
        """Finish the file."""
        if not self._file.closed:
            if self._zip is not None:
                self._file.write(self._zip.flush())
            self._file.close()


def _compression(options: Any) -> str:
    try:
        return TFRecordOptions.get_compression_type_string(options)
    except ValueError:
        kind = getattr(options, "compression_type", options)
        raise InvalidArgumentError(
            f"Unsupported compression type {kind!r}: expected '', 'GZIP' or 'ZLIB'."
        ) from None
