"""TensorFlow's names as Keras' layers of text use them, where tfx has no such name.

All else is tfx itself.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

import tfx as tf
from tfx.ops.strings.fingerprint import combined, fingerprint64

# What TensorFlow's crossing of features begins with, where no key is given.
_CROSSING = 0xDECAFCAFFE
# Keras asks whether the library is installed.
available = True


def _cross_hashed(inputs: Any, num_buckets: int) -> Any:
    """The bucket of what stands together at each place, as TensorFlow crosses features."""

    def bucket(*values: Any) -> int:
        found = _CROSSING
        for value in values:
            text = isinstance(value, bytes)
            found = combined(found, fingerprint64(value) if text else int(value) % 2**64)
        return found % num_buckets

    def buckets(*columns: Any) -> Any:
        return np.frompyfunc(bucket, len(columns), 1)(*columns).astype(np.int64)

    found = tf.numpy_function(buckets, inputs, tf.int64)
    found.set_shape([None] * inputs[0].shape.rank)
    return found


class _Sparse:
    """``tf.sparse`` with the crossing of features, whose result is dense."""

    cross_hashed = staticmethod(_cross_hashed)

    def to_dense(self, x: Any) -> Any:
        return tf.sparse.to_dense(x) if isinstance(x, tf.SparseTensor) else x

    def __getattr__(self, name: str) -> Any:
        return getattr(tf.sparse, name)


sparse = _Sparse()
__internal__ = SimpleNamespace(CompositeTensor=tf.experimental.ExtensionType)


def __getattr__(name: str) -> Any:
    return getattr(tf, name)
