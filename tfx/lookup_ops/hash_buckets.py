"""``to_hash_bucket``, its like and ``fingerprint``: numbers by hashes that never change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.tensor import Tensor
from tfx.lookup_ops.siphash import siphash
from tfx.ops.common.arguments import numpy_of, tensor
from tfx.ops.common.python_ops import by_python, each
from tfx.ops.strings.fingerprint import fingerprint64
from tfx.ops.strings.strings import text


def to_hash_bucket(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """A bucket for each string by TensorFlow's oldest hash; see ``to_hash_bucket_fast``.

    Example:
        >>> import tfx as tf
        >>> tf.strings.to_hash_bucket(["Hello", "World"], 100).numpy()
        array([41, 65])
    """
    return _buckets("strings.to_hash_bucket", input, num_buckets, _hash64)


def _hash64(data: bytes) -> int:
    """MurmurHash64A with TensorFlow's seed."""
    factor = 0xC6A4A7935BD1E995
    found = 0xDECAFCAFFE ^ (len(data) * factor & _LOW)
    whole = len(data) // 8 * 8
    for start in range(0, whole, 8):
        part = int.from_bytes(data[start : start + 8], "little") * factor & _LOW
        part = (part ^ (part >> 47)) * factor & _LOW
        found = (found ^ part) * factor & _LOW
    if len(data) > whole:
        found = (found ^ int.from_bytes(data[whole:], "little")) * factor & _LOW
    found = (found ^ (found >> 47)) * factor & _LOW
    return found ^ (found >> 47)


_LOW = 2**64 - 1


def fingerprint(data: Any, method: Any = "farmhash64", name: str | None = None) -> Tensor:
    """A fingerprint for each row of a tensor, of the bytes that it is stored in.

    Args:
        data: ``[batch, ...]`` of a dtype of a fixed size, or of strings.
        method: ``"farmhash64"``.
        name: Accepted for compatibility.

    Returns:
        uint8 ``[batch, 8]``: numbers of 64 bits, the lowest byte first. Rows of several strings
        count as the bytes of the fingerprints of these.

    Raises:
        InvalidArgumentError: a scalar, or another method.

    Example:
        >>> import tfx as tf
        >>> tf.fingerprint(["Hello", "World"]).shape
        TensorShape([2, 8])
    """
    x = tensor(data)
    known = method if isinstance(method, str | bytes) else np.asarray(numpy_of(method)).item()
    if known not in ("farmhash64", b"farmhash64"):
        raise InvalidArgumentError(f"Unsupported fingerprint method: {known!r} in Fingerprint.")
    if x.shape.rank == 0:
        raise InvalidArgumentError("`data` should have at least one dimension in Fingerprint.")
    batch = None if x.shape.rank is None else (x.shape.symbolic or (None,))[0]
    shape = (batch, 8)
    return by_python("fingerprint", _fingerprints, [x], [(dtypes.uint8, shape)])[0]


def _fingerprints(array: Any) -> list[Any]:
    rows = array.reshape(len(array), -1) if len(array) else array.reshape(0, 1)
    found = b"".join([fingerprint64(_bytes_of(row)).to_bytes(8, "little") for row in rows])
    return [np.frombuffer(found, np.uint8).reshape(len(array), 8)]


def _bytes_of(row: Any) -> bytes:
    if row.dtype != object:
        return bytes(np.ascontiguousarray(row).tobytes())
    if len(row) == 1:
        return bytes(row[0])
    return b"".join([fingerprint64(item).to_bytes(8, "little") for item in row])


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
