"""``to_hash_bucket``, its like and ``fingerprint``: numbers by hashes that never change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.tensor import Tensor
from tfx.lookup_ops.siphash import siphashes
from tfx.ops.common.arguments import numpy_of, tensor
from tfx.ops.common.python_ops import by_python
from tfx.ops.strings.fingerprint import fingerprints
from tfx.ops.strings.hash_words import Numbers, Texts, hash_all, word
from tfx.ops.strings.strings import text


def to_hash_bucket(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """A bucket for each string by TensorFlow's oldest hash; see ``to_hash_bucket_fast``.

    Example:
        >>> import tfx as tf
        >>> tf.strings.to_hash_bucket(["Hello", "World"], 100).numpy()
        array([41, 65])
    """
    return _buckets("strings.to_hash_bucket", input, num_buckets, _oldest_hashes)


def _oldest_hashes(texts: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    return hash_all(_hash64, lambda sizes: sizes // 8 * 2 + (sizes % 8 > 0), texts)


def _hash64(data: bytes | Texts, size: Numbers, one: int) -> Numbers:
    """MurmurHash64A with TensorFlow's seed."""
    factor = 0xC6A4A7935BD1E995
    found = 0xDECAFCAFFE ^ (size * factor & _LOW)
    whole = one // 8 * 8
    for start in range(0, whole, 8):
        part = word(data, start) * factor & _LOW
        part = (part ^ (part >> 47)) * factor & _LOW
        found = (found ^ part) * factor & _LOW
    if one > whole:
        found = (found ^ word(data, whole, size - whole)) * factor & _LOW
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
    found = fingerprints([_bytes_of(row) for row in rows]).astype("<u8")
    return [found.view(np.uint8).reshape(len(array), 8)]


def _bytes_of(row: Any) -> bytes:
    if row.dtype != object:
        return bytes(np.ascontiguousarray(row).tobytes())
    if len(row) == 1:
        return bytes(row[0])
    return fingerprints(row.tolist()).astype("<u8").tobytes()


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
    return _buckets("strings.to_hash_bucket_fast", input, num_buckets, fingerprints)


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
    return _buckets(kind, input, num_buckets, lambda texts: siphashes(texts, pair))


def _buckets(
    kind: str,
    input: Any,
    number: int,
    hashes: Callable[[Sequence[bytes]], npt.NDArray[np.uint64]],
) -> Tensor:
    if number < 1:
        raise ValueError(f"num_buckets must be at least 1; got {number!r}.")
    x = text(input, kind)

    def compute(array: Any) -> list[Any]:
        found = hashes(array.reshape(-1).tolist()) % np.uint64(number)
        return [found.astype(np.int64).reshape(array.shape)]

    return by_python(kind, compute, [x], [(dtypes.int64, x.shape.symbolic)])[0]
