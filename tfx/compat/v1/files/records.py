"""Files of records by TensorFlow 1's names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfx.data.records import records_of_file
from tfx.summary.record_writer import TFRecordOptions


class TFRecordCompressionType:
    """How files of records are compressed.

    Attributes:
        NONE: Not at all.
        ZLIB: As zlib has it.
        GZIP: As gzip has it.
    """

    NONE = 0
    ZLIB = 1
    GZIP = 2


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """The records of a TFRecord file, one after the other.

    Args:
        path: The file.
        options: ``TFRecordOptions``, the name of a compression, or a
            ``TFRecordCompressionType``; None: it is not compressed.

    Raises:
        DataLossError: a file that is damaged.
        NotFoundError: no such file.

    Example:
        >>> import os, tempfile
        >>> import tfx.compat.v1 as tf
        >>> path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
        >>> with tf.python_io.TFRecordWriter(path) as writer:
        ...     writer.write(b"one")
        >>> list(tf.python_io.tf_record_iterator(path))
        [b'one']
    """
    yield from records_of_file(path, TFRecordOptions.get_compression_type_string(options))
