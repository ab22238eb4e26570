"""``tfx.io.parse_example`` and ``parse_single_example``.

Python reads the messages: eagerly at once, in a function as a step of its plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import tensor
from tfx.ops.common.python_ops import by_python
from tfx.parsing import columns
from tfx.parsing.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
    array_of,
    checked,
)
from tfx.parsing.messages import message_class
from tfx.parsing.readers import Reader, reader_of

_KINDS = (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature, RaggedFeature)
# Results come in this order, as TensorFlow's do.
_DENSE, _RAGGED = (FixedLenFeature, FixedLenSequenceFeature), RaggedFeature


def parse_example(
    serialized: Any, features: Mapping[str, Any], example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Tensors of the features of Examples.

    Args:
        serialized: A vector of strings, each a serialized ``tf.train.Example``; or one string.
        features: What is wanted of each key: ``FixedLenFeature``, ``VarLenFeature``,
            ``FixedLenSequenceFeature``, ``RaggedFeature`` or ``SparseFeature``.
        example_names: Names of the Examples, for messages.
        name: Accepted for compatibility.

    Returns:
        A dictionary of tensors, sparse tensors and ragged tensors by key.

    Raises:
        ValueError: no features, or unknown ones.
        InvalidArgumentError: a string that is no Example, one without a required feature, or with
            another number or dtype of values.

    Example:
        >>> import tfx as tf
        >>> value = tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))
        >>> example = tf.train.Example(features=tf.train.Features(feature={"age": value}))
        >>> text = example.SerializeToString()
        >>> tf.io.parse_example([text, text], {"age": tf.io.FixedLenFeature([], tf.int64)})
        {'age': <tf.Tensor: shape=(2,), dtype=int64, numpy=array([7, 7])>}
    """
    known = checked(features, _KINDS, "features")
    x = texts(serialized, "parse_example", (0, 1))
    return _parsed(x, known, example_names, x.shape.rank == 0)


def parse_single_example(
    serialized: Any, features: Mapping[str, Any], example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Tensors of the features of one Example.

    Args:
        serialized: A string, a serialized ``tf.train.Example``.
        features: As for ``parse_example``.
        example_names: A name, for messages.
        name: Accepted for compatibility.

    Returns:
        A dictionary as ``parse_example`` returns, without the axis for the batch.

    Raises:
        ValueError: no features, or unknown ones.
        InvalidArgumentError: as ``parse_example``.

    Example:
        >>> import tfx as tf
        >>> value = tf.train.Feature(float_list=tf.train.FloatList(value=[1.5, 2.0]))
        >>> example = tf.train.Example(features=tf.train.Features(feature={"x": value}))
        >>> wanted = {"x": tf.io.FixedLenFeature([2], tf.float32)}
        >>> tf.io.parse_single_example(example.SerializeToString(), wanted)["x"].numpy()
        array([1.5, 2. ], dtype=float32)
    """
    known = checked(features, _KINDS, "features")
    x = texts(serialized, "parse_single_example", (0,))
    return _parsed(x, known, example_names, True)


def texts(serialized: Any, op: str, ranks: Sequence[int]) -> Tensor:
    """Serialized messages as a tensor of strings.

    Raises:
        TypeError: not strings.
        ValueError: another rank.
    """
    x = tensor(serialized)
    if x.dtype is not dtypes.string:
        if x.shape.num_elements() != 0:
            raise TypeError(f"{op} takes strings; got {x.dtype.name} of shape {x.shape}.")
        x = tensor(np.array([], object))
    if x.shape.rank is None:
        x.set_shape([None] * ranks[-1])
    if x.shape.rank not in ranks:
        raise InvalidArgumentError(
            f"Input serialized of {op} must have rank {' or '.join(map(str, ranks))}; got shape "
            f"{x.shape}."
        )
    return x


def names_of(given: Any) -> list[str] | None:
    """The names of Examples, for messages."""
    if given is None:
        return None
    return [bytes(x).decode("utf-8", "replace") for x in array_of(given).reshape(-1)] or None


def in_order(features: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Keys and features in the order of results: sparse ones, dense ones, ragged ones."""

    def place(item: tuple[str, Any]) -> int:
        return 1 if isinstance(item[1], _DENSE) else 2 if isinstance(item[1], _RAGGED) else 0

    return sorted(features.items(), key=place)


def _parsed(x: Tensor, features: dict[str, Any], names: Any, single: bool) -> dict[str, Any]:
    called = names_of(names)
    batch = None if single else x.shape[0]
    readers = {key: reader_of(key, feature, single, batch) for key, feature in in_order(features)}

    def compute(data: Any) -> list[Any]:
        kind = message_class("Example")
        parsed = columns.messages_of(data.reshape(-1), kind, called)
        rows = [each.features.feature for each in parsed]
        return [array for r in readers.values() for array in r.read(rows, called)]

    outputs = [output for r in readers.values() for output in r.outputs]
    return put_together(readers, by_python("io.parse_example", compute, [x], outputs))


def put_together(readers: Mapping[str, Reader], tensors: Sequence[Tensor]) -> dict[str, Any]:
    """The result of each reader, of the tensors of all of them."""
    found = {}
    start = 0
    for key, reader in readers.items():
        end = start + len(reader.outputs)
        found[key] = reader.put(tensors[start:end])
        start = end
    return found
