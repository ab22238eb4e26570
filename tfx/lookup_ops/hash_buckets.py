"""``to_hash_bucket_fast``: strings to numbers by a hash that never changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.framework.tensor import Tensor
from tfx.lookup_ops.fingerprint import fingerprint64
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
    if num_buckets < 1:
        raise ValueError(f"num_buckets must be at least 1; got {num_buckets!r}.")
    x = text(input, "StringToHashBucketFast")

    def bucket(value: bytes) -> int:
        return fingerprint64(value) % num_buckets

    outputs = [(dtypes.int64, x.shape.symbolic)]
    found = by_python(
        "strings.to_hash_bucket_fast", lambda a: [each(bucket, np.int64, a)], [x], outputs
    )
    return found[0]
