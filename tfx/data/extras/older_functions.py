"""Functions of ``tf.data.experimental``: on datasets, their elements and their files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core.dtypes import DTypeLike, int64
from tfx.data.dataset import Dataset
from tfx.data.iterators import Iterator
from tfx.framework.composite.optional import Optional
from tfx.framework.tensor import Tensor
from tfx.summary.record_writer import TFRecordWriter as _RecordWriter


def Counter(start: Any = 0, step: Any = 1, dtype: DTypeLike = int64) -> Dataset:  # noqa: N802
    """Count without end; see ``Dataset.counter``.

    Args:
        start: The first number.
        step: What is added each time.
        dtype: Of the numbers.

    Returns:
        The dataset.

    Example:
        >>> import tfx as tf
        >>> [int(x) for x in tf.data.experimental.Counter(2, 2).take(2)]
        [2, 4]
    """
    return Dataset.counter(start, step, dtype)


def RandomDataset(  # noqa: N802
    seed: Any = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
) -> Dataset:
    """Random int64 without end; see ``Dataset.random``.

    Args:
        seed: Makes them reproducible.
        rerandomize_each_iteration: Whether each iteration has others.
        name: Accepted for compatibility.

    Returns:
        The dataset.

    Example:
        >>> import tfx as tf
        >>> len(list(tf.data.experimental.RandomDataset(1).take(3)))
        3
    """
    return Dataset.random(seed, rerandomize_each_iteration, name)


def cardinality(dataset: Dataset) -> Tensor:
    """The number of elements; see ``Dataset.cardinality``.

    Args:
        dataset: The dataset.

    Returns:
        An int64 scalar.

    Example:
        >>> import tfx as tf
        >>> int(tf.data.experimental.cardinality(tf.data.Dataset.range(3)))
        3
    """
    return dataset.cardinality()


def get_single_element(dataset: Dataset) -> Any:
    """The only element; see ``Dataset.get_single_element``.

    Args:
        dataset: The dataset.

    Returns:
        The element.

    Raises:
        InvalidArgumentError: there is none, or more than one.

    Example:
        >>> import tfx as tf
        >>> int(tf.data.experimental.get_single_element(tf.data.Dataset.from_tensors(3)))
        3
    """
    return dataset.get_single_element()


def get_next_as_optional(iterator: Iterator) -> Optional:
    """The next element of an iterator as an optional.

    Args:
        iterator: The iterator.

    Returns:
        An optional, which has no value at the end.

    Example:
        >>> import tfx as tf
        >>> iterator = iter(tf.data.Dataset.range(1))
        >>> int(tf.data.experimental.get_next_as_optional(iterator).get_value())
        0
    """
    return iterator.get_next_as_optional()


def get_structure(dataset_or_iterator: Any) -> Any:
    """The spec of the elements.

    Args:
        dataset_or_iterator: A dataset or an iterator.

    Returns:
        A structure of ``tf.TensorSpec``.

    Raises:
        TypeError: it is neither.

    Example:
        >>> import tfx as tf
        >>> tf.data.experimental.get_structure(tf.data.Dataset.range(1))
        TensorSpec(shape=(), dtype=tf.int64, name=None)
    """
    if not isinstance(dataset_or_iterator, Dataset | Iterator):
        raise TypeError(
            f"Expected a dataset or an iterator; got {dataset_or_iterator!r} of type "
            f"{type(dataset_or_iterator).__name__}."
        )
    return dataset_or_iterator.element_spec


def from_list(elements: Sequence[Any], name: str | None = None) -> Dataset:
    """A dataset of the elements in a list.

    Args:
        elements: The elements, structures of one form.
        name: Accepted for compatibility.

    Returns:
        The dataset.

    Raises:
        ValueError: the list is empty.

    Example:
        >>> import tfx as tf
        >>> dataset = tf.data.experimental.from_list([(1, "a"), (2, "b")])
        >>> list(dataset.as_numpy_iterator())
        [(np.int32(1), b'a'), (np.int32(2), b'b')]
    """
    if not isinstance(elements, list) or not elements:
        raise ValueError(f"from_list takes a list of elements, at least one; got {elements!r}.")
    parts = [Dataset.from_tensors(x) for x in elements]
    found = parts[0]
    for part in parts[1:]:
        found = found.concatenate(part)
    return found


def at(dataset: Dataset, index: Any) -> Any:
    """The element at a position, which is found by going through those before it.

    Args:
        dataset: The dataset.
        index: The position.

    Returns:
        The element.

    Raises:
        OutOfRangeError: there is no such position.

    Example:
        >>> import tfx as tf
        >>> int(tf.data.experimental.at(tf.data.Dataset.range(5, 9), 2))
        7
    """
    return iter(dataset.skip(index)).get_next()


def save(
    dataset: Dataset,
    path: Any,
    compression: str | None = None,
    shard_func: Any = None,
    checkpoint_args: Any = None,
) -> None:
    """Write the elements into a folder; see ``Dataset.save``.

    Args:
        dataset: The dataset.
        path: The folder.
        compression: Accepted for compatibility.
        shard_func: Accepted for compatibility.
        checkpoint_args: Accepted for compatibility.

    Example:
        >>> import os, tempfile
        >>> import tfx as tf
        >>> path = os.path.join(tempfile.mkdtemp(), "saved")
        >>> tf.data.experimental.save(tf.data.Dataset.range(2), path)
        >>> len(tf.data.experimental.load(path))
        2
    """
    dataset.save(path, compression, shard_func, checkpoint_args)


def load(
    path: Any, element_spec: Any = None, compression: str | None = None, reader_func: Any = None
) -> Dataset:
    """Load what ``save`` wrote; see ``Dataset.load``.

    Args:
        path: The folder.
        element_spec: What its elements look like.
        compression: Accepted for compatibility.
        reader_func: Makes the result of a dataset of datasets.

    Returns:
        The dataset.

    Example:
        >>> import os, tempfile
        >>> import tfx as tf
        >>> path = os.path.join(tempfile.mkdtemp(), "saved")
        >>> tf.data.Dataset.range(2).save(path)
        >>> [int(x) for x in tf.data.experimental.load(path)]
        [0, 1]
    """
    return Dataset.load(path, element_spec, compression, reader_func)


class TFRecordWriter:
    """Writes the elements of a dataset of strings to a TFRecord file.

    Args:
        filename: The file.
        compression_type: ``"GZIP"``, ``"ZLIB"``, or nothing.

    Example:
        >>> import os, tempfile
        >>> import tfx as tf
        >>> path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
        >>> words = tf.data.Dataset.from_tensor_slices(["a", "b"])
        >>> tf.data.experimental.TFRecordWriter(path).write(words)
        >>> len(list(tf.data.TFRecordDataset(path)))
        2
    """

    def __init__(self, filename: Any, compression_type: str | None = None) -> None:
        self._filename = filename
        self._compression = compression_type

    def write(self, dataset: Dataset) -> None:
        """Write all elements.

        Args:
            dataset: A dataset of string scalars.

        Raises:
            TypeError: other elements.
        """
        if (
            not isinstance(dataset, Dataset)
            or getattr(dataset.element_spec, "dtype", "") != "string"
        ):
            raise TypeError(f"TFRecordWriter.write takes a dataset of strings; got {dataset!r}.")
        with _RecordWriter(self._filename, self._compression) as writer:
            for record in dataset.as_numpy_iterator():
                writer.write(record)
