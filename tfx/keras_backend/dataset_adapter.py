"""``tf.data`` datasets as the batches of ``fit``, ``evaluate`` and ``predict``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from keras.src import tree
from keras.src.trainers.data_adapters import data_adapter_utils
from keras.src.trainers.data_adapters.data_adapter import DataAdapter
from keras.src.trainers.epoch_iterator import EpochIterator

import tfx as tf


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


def batches_of(x: Any, y: Any, sample_weight: Any, class_weight: Any = None, **options: Any) -> Any:
    """Keras' iterator over the batches of any data, ``tf.data`` datasets among them.

    Raises:
        ValueError: targets or weights beside a dataset, whose elements hold them.
    """
    if "tfx.data" in sys.modules and isinstance(x, tf.data.Dataset):
        for name, value in (("y", y), ("sample_weight", sample_weight)):
            if value is not None:
                raise ValueError(
                    f"When providing `x` as a tf.data.Dataset, `{name}` should not be passed. "
                    "Instead, it should be included as part of the tf.data.Dataset."
                )
        x, class_weight = DatasetAdapter(x, class_weight), None
    return EpochIterator(
        x=x, y=y, sample_weight=sample_weight, class_weight=class_weight, **options
    )
