"""``to_hash_bucket_fast`` and ``_strong``: strings to numbers by hashes that never change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.framework.tensor import Tensor
from tfx.lookup_ops.fingerprint import fingerprint64
from tfx.lookup_ops.siphash import siphash
from tfx.ops.common.python_ops import by_python, each
from tfx.ops.strings.strings import text


def to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """A bucket for each string: its fingerprint modulo their number, as TensorFlow has it.

    Args:
        input: Tensor of strings.
        num_buckets: How many buckets there are.
        name: Accepted for compatibility.

    Returns:
        int64 of the same shape.

    Raises:
        ValueError: no buckets.

    Example:
        >>> import tfx as tf
        >>> tf.strings.to_hash_bucket_fast(["Hello", "World"], 100).numpy()
        array([51, 72])
    """
    return _buckets("strings.to_hash_bucket_fast", input, num_buckets, fingerprint64)


def to_hash_bucket_strong(
    input: Any, num_buckets: int, key: Sequence[int], name: str | None = None
) -> Tensor:
    """A bucket for each string that who does not know the key cannot foresee, as TensorFlow has it.

    Args:
        input: Tensor of strings.
        num_buckets: How many buckets there are.
        key: Two numbers of 64 bits.
        name: Accepted for compatibility.

    Returns:
        int64 of the same shape.

    Raises:
        ValueError: no buckets, or a key that is not two numbers.

    Example:
        >>> import tfx as tf
        >>> tf.strings.to_hash_bucket_strong(["Hello", "TF"], 3, [1, 2]).numpy()
        array([2, 0])
    """
    if len(key) != 2:
        raise ValueError(f"key must have two elements; got {key!r}.")
    pair = (int(key[0]), int(key[1]))
    kind = "strings.to_hash_bucket_strong"
    return _buckets(kind, input, num_buckets, lambda value: siphash(value, pair))


def _buckets(kind: str, input: Any, number: int, hashed: Callable[[bytes], int]) -> Tensor:
    if number < 1:
        raise ValueError(f"num_buckets must be at least 1; got {number!r}.")
    x = text(input, kind)
    outputs = [(dtypes.int64, x.shape.symbolic)]
    return by_python(
        kind, lambda a: [each(lambda value: hashed(value) % number, np.int64, a)], [x], outputs
    )[0]
