"""Transformations of ``tf.data.experimental`` that a few lines of other ones make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.core import nest
from tfx.data.dataset import Dataset
from tfx.framework.convert import convert_to_tensor
from tfx.ops.array.creation import zeros
from tfx.parsing.parse_example import parse_example

Transformation = Callable[[Dataset], Dataset]


def parse_example_dataset(
    features: Any, num_parallel_calls: Any = 1, deterministic: bool | None = None
) -> Transformation:
    """Parse batches of serialized ``Example`` messages; see ``tf.io.parse_example``.

    Args:
        features: What to look for, by name.
        num_parallel_calls: See ``Dataset.map``.
        deterministic: See ``Dataset.map``.

    Returns:
        A function for ``Dataset.apply``, whose elements are dicts.

    Raises:
        ValueError: no features.
    """
    if features is None:
        raise ValueError("Argument `features` is required, but not specified.")
    return lambda dataset: dataset.map(
        lambda serialized: parse_example(serialized, features),
        num_parallel_calls=num_parallel_calls,
        deterministic=deterministic,
    )


def snapshot(
    path: Any,
    compression: Any = "AUTO",
    reader_func: Callable[..., Any] | None = None,
    shard_func: Callable[..., Any] | None = None,
) -> Transformation:
    """Keep the elements in a folder; see ``Dataset.snapshot``.

    Args:
        path: The folder.
        compression: Accepted for compatibility.
        reader_func: See ``Dataset.snapshot``.
        shard_func: Accepted for compatibility.

    Returns:
        A function for ``Dataset.apply``.
    """
    return lambda dataset: dataset.snapshot(path, compression, reader_func, shard_func)


def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Transformation:
    """Accepted for compatibility: elements are on the CPU, and go where operations run.

    Args:
        target_device: The device.
        source_device: Accepted for compatibility.

    Returns:
        A function for ``Dataset.apply``.
    """
    return lambda dataset: dataset


def pad_to_cardinality(cardinality: int, mask_key: str = "valid") -> Transformation:
    """Append elements of zeros, up to a number of them.

    Args:
        cardinality: The number.
        mask_key: The key of what tells whether an element was there.

    Returns:
        A function for ``Dataset.apply``, for datasets of dicts whose number of elements is known.

    Raises:
        ValueError: when applied: other elements, too many, or an unknown number of them.

    Example:
        >>> import tfx as tf
        >>> few = tf.data.Dataset.from_tensor_slices({"a": [1, 2]})
        >>> padded = few.apply(tf.data.experimental.pad_to_cardinality(3))
        >>> [(int(x["a"]), bool(x["valid"])) for x in padded]
        [(1, True), (2, True), (0, False)]
    """

    def apply(dataset: Dataset) -> Dataset:
        spec: Any = dataset.element_spec
        if not isinstance(spec, dict):
            raise ValueError(f"pad_to_cardinality takes a dataset of dicts; got {spec!r}.")
        if mask_key in spec:
            raise ValueError(f"The elements have the key {mask_key!r} already.")
        count = dataset._node.cardinality()
        if count < 0:
            raise ValueError("The number of elements must be known and finite.")
        if count > cardinality:
            raise ValueError(f"The dataset has {count} elements, more than {cardinality}.")
        nothing = nest.map_structure(lambda s: zeros(s.shape.as_list(), s.dtype), spec)
        rest = Dataset.from_tensors(nothing).repeat(cardinality - count)

        def marked(valid: bool) -> Callable[[Any], Any]:
            return lambda x: {**x, mask_key: convert_to_tensor(valid)}

        return dataset.map(marked(True)).concatenate(rest.map(marked(False)))

    return apply
