"""``tf.data`` datasets as the batches of ``fit``, ``evaluate`` and ``predict``."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from keras.src import tree
from keras.src.backend import config
from keras.src.trainers.data_adapters import array_slicing, data_adapter_utils
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter
from keras.src.trainers.data_adapters.data_adapter import DataAdapter
from keras.src.trainers.epoch_iterator import EpochIterator

import tfx as tf
from tfx.framework.composite.ragged import is_ragged
from tfx.framework.composite.sparse import is_sparse


class DatasetAdapter(DataAdapter):
    """The elements of a dataset, each of them a batch.

    Args:
        dataset: A ``tf.data.Dataset`` of ``x``, ``(x, y)`` or ``(x, y, sample_weight)``.
        class_weight: A weight for each class; None: all are equal.
    """

    def __init__(self, dataset: Any, class_weight: dict[int, float] | None = None) -> None:
        self._dataset = dataset
        self._class_weight = class_weight

    def get_numpy_iterator(self) -> Iterator[Any]:
        """Iterate once over the batches."""
        for batch in self._dataset:
            yield batch if self._class_weight is None else self._weighted(batch)

    def _weighted(self, batch: Any) -> Any:
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(batch)
        if sample_weight is not None:
            raise ValueError("You cannot `class_weight` and `sample_weight` at the same time.")
        if tree.is_nested(y):
            raise ValueError("`class_weight` is only supported for Models with a single output.")
        weights = data_adapter_utils.class_weight_to_sample_weights(y.numpy(), self._class_weight)
        return x, y, weights

    @property
    def num_batches(self) -> int | None:
        """How many batches there are, if that is known."""
        count = int(self._dataset.cardinality())
        return count if count >= 0 else None

    @property
    def batch_size(self) -> int | None:
        """How many examples a batch has, if that is known."""
        size: int | None = tree.flatten(self._dataset.element_spec)[0].shape[0]
        return size

    @property
    def has_partial_batch(self) -> bool | None:
        """Whether the last batch is smaller: not known."""
        return None

    @property
    def partial_batch_size(self) -> int | None:
        """The size of the last batch: not known."""
        return None


class SparseArrays(ArrayDataAdapter):
    """Batches of arrays of which some are sparse, tensors or SciPy's: these stay sparse."""

    def get_numpy_iterator(self) -> Iterator[Any]:
        """Iterate once over the batches."""
        inputs = array_slicing.convert_to_sliceable(self._inputs, target_backend="numpy")

        def sliced(sliceable: Any, indices: Any = None) -> Any:
            x = sliceable[indices]
            return x if _is_sparse_data(x) else sliceable.convert_to_numpy(x)

        batches: Iterator[Any] = self._get_iterator(sliced, inputs)
        return batches


def by_rows(x: Any) -> Any:
    """A sparse tensor with the indices and values of each row, which Keras takes slices of."""
    rows, count = x.indices[:, 0], x.dense_shape[0]
    parts = [tf.RaggedTensor.from_value_rowids(part, rows, count) for part in (x.indices, x.values)]
    return array_slicing.TensorflowSparseWrapper(x, *parts)


def _is_sparse_data(x: Any) -> bool:
    return is_sparse(x) or data_adapter_utils.is_scipy_sparse(x)


def is_tf_dataset(data: Any) -> bool:
    """Whether data is a ``tf.data.Dataset``."""
    return "tfx.data" in sys.modules and isinstance(data, tf.data.Dataset)


def get_batch_size(dataset: Any) -> int | None:
    """The size of the batches that a dataset was last cut into; None: it was not."""
    if not is_tf_dataset(dataset):
        return None
    from tfx.data.batching import Batch  # as late as everything of tfx.data

    node = dataset._node
    return int(node.size) if isinstance(node, Batch) else None


def is_batched(dataset: Any) -> bool:
    """Whether a dataset's last step was to cut it into batches."""
    return get_batch_size(dataset) is not None


class Batches(EpochIterator):
    """Keras' iterator, whose last execution may have fewer batches than the others."""

    def __next__(self) -> tuple[int, int, list[Any]]:
        begin, end, iterator = next(self._epoch_iterator)
        count = self.steps_per_execution
        if self._num_batches:
            count = min(count, self._num_batches - (self._steps_seen - count))
        found = list(itertools.islice(iterator, count))
        if len(found) < count:
            with self.catch_stop_iteration():  # the epoch ends here: Keras warns and begins anew
                raise StopIteration
        if not found:
            raise StopIteration
        return begin, end, found


def batches_of(x: Any, y: Any, sample_weight: Any, class_weight: Any = None, **options: Any) -> Any:
    """Keras' iterator over the batches of any data, ``tf.data`` datasets among them.

    Raises:
        ValueError: targets or weights beside a dataset, whose elements hold them.
    """
    if is_tf_dataset(x):
        for name, value in (("y", y), ("sample_weight", sample_weight)):
            if value is not None:
                raise ValueError(
                    f"When providing `x` as a tf.data.Dataset, `{name}` should not be passed. "
                    "Instead, it should be included as part of the tf.data.Dataset."
                )
        x, class_weight = DatasetAdapter(x, class_weight), None
    elif any(_is_sparse_data(part) for part in tree.flatten((x, y))):
        steps, shuffle = options.get("steps_per_epoch"), options.pop("shuffle", False)
        batch_size = options.pop("batch_size", None) or 32
        x = SparseArrays(x, y, sample_weight, batch_size, steps, shuffle, class_weight)
        y = sample_weight = class_weight = None
    elif any(_is_text(part) or is_ragged(part) for part in tree.flatten((x, y))):
        # Keras has no arrays of texts, and takes ragged tensors from TensorFlow alone.
        batch_size, shuffle = options.get("batch_size"), options.get("shuffle", False)
        dataset = _of_slices((x, y, sample_weight), batch_size or 32, shuffle)
        x, class_weight = DatasetAdapter(dataset, class_weight), None
        y = sample_weight = None
        options["batch_size"] = None
    return Batches(x=x, y=y, sample_weight=sample_weight, class_weight=class_weight, **options)


def _is_text(x: Any) -> bool:
    if isinstance(x, tf.Tensor):
        return bool(x.dtype == tf.string)
    return isinstance(x, str | bytes) or (isinstance(x, np.ndarray) and x.dtype.kind in "OSU")


def _of_slices(data: tuple[Any, ...], batch_size: int, shuffle: bool) -> Any:
    """A dataset of batches of the arrays of ``fit``; what is None at the end is left out."""
    while data[-1] is None:
        data = data[:-1]
    arrays = tree.map_structure(_as_tensor, tree.lists_to_tuples(data), none_is_leaf=False)
    dataset = tf.data.Dataset.from_tensor_slices(arrays)
    if shuffle:
        dataset = dataset.shuffle(len(dataset))
    return dataset.batch(batch_size)


def _as_tensor(x: Any) -> Any:
    found = x if is_ragged(x) else tf.convert_to_tensor(x)
    return tf.cast(found, config.floatx()) if found.dtype.is_floating else found
