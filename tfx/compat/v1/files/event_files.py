"""``tf.compat.v1.train.summary_iterator``: the events of a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfx.data.records import records_of_file
from tfx.summary import event_pb2 as pb


def summary_iterator(path: Any) -> Iterator[pb.Event]:
    """The events of a file that a summary writer wrote, one after the other.

    Args:
        path: The file.

    Raises:
        DataLossError: a file that is damaged.
        NotFoundError: no such file.

    Example:
        >>> import os, tempfile
        >>> import tfx as tf
        >>> folder = tempfile.mkdtemp()
        >>> with tf.summary.create_file_writer(folder).as_default(step=1):
        ...     _ = tf.summary.scalar("loss", 0.5)
        >>> path = os.path.join(folder, os.listdir(folder)[0])
        >>> for event in tf.compat.v1.train.summary_iterator(path):
        ...     for value in event.summary.value:
        ...         print(event.step, value.tag, tf.make_ndarray(value.tensor))
        1 loss 0.5
    """
    for record in records_of_file(path):
        yield pb.Event.FromString(record)
