"""``tfx.io``: files as operations, and bytes as numbers. Python does it."""

from __future__ import annotations

import base64
import os
from typing import Any

import numpy as np

from tfx.core import dtypes, gfile
from tfx.core.dtypes import DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.core.filled_arrays import check_memory
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import static_int, tensor
from tfx.ops.common.python_ops import by_python, each
from tfx.ops.strings.strings import text


def read_file(filename: Any, name: str | None = None) -> Tensor:
    """The contents of a file.

    Args:
        filename: Its path, a string.
        name: Accepted for compatibility.

    Returns:
        A scalar string.

    Raises:
        NotFoundError: there is no such file.

    Example:
        >>> import os, tempfile
        >>> import tfx as tf
        >>> path = os.path.join(tempfile.mkdtemp(), "note.txt")
        >>> tf.io.write_file(path, "hello")
        >>> tf.io.read_file(path).numpy()
        b'hello'
    """

    def read(path: Any) -> list[Any]:
        with gfile.file_errors(), open(gfile.local_path(path.item()), "rb") as file:
            return [np.array(file.read(), object)]

    x = text(_path(filename), "ReadFile")
    return by_python("io.read_file", read, [x], [(dtypes.string, ())], effect=True)[0]


def _path(filename: Any) -> Any:
    return os.fspath(filename) if isinstance(filename, os.PathLike) else filename


def write_file(filename: Any, contents: Any, name: str | None = None) -> None:
    """Write a file, and the folders above it if they are not there.

    Args:
        filename: Its path, a string.
        contents: A scalar string.
        name: Accepted for compatibility.

    Raises:
        PermissionDeniedError: it may not be written.
        ResourceExhaustedError: there is no room for it.
    """

    def write(path: Any, data: Any) -> list[Any]:
        target = gfile.local_path(path.item())
        with gfile.file_errors(target):
            os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
            with open(target, "wb") as file:
                file.write(data.item())
        return []

    given = [text(_path(filename), "WriteFile"), text(contents, "WriteFile")]
    by_python("io.write_file", write, given, [], effect=True)


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """Paths that fit a pattern, or one of several.

    Returns:
        A vector of strings.

    Example:
        >>> import tfx as tf
        >>> tf.io.matching_files("/no/such/folder/*").shape
        TensorShape([0])
    """

    def find(patterns: Any) -> list[Any]:
        found = gfile.glob([os.fsdecode(p) for p in patterns.reshape(-1)])
        return [np.array([os.fsencode(p) for p in found], object)]

    x = text(pattern, "MatchingFiles")
    return by_python("io.matching_files", find, [x], [(dtypes.string, (None,))], effect=True)[0]


def decode_raw(
    input_bytes: Any,
    out_type: DTypeLike,
    little_endian: bool = True,
    fixed_length: Any = None,
    name: str | None = None,
) -> Tensor:
    """The bytes of strings as numbers.

    Args:
        input_bytes: Strings, all of one length.
        out_type: The dtype of the numbers.
        little_endian: Which byte of a number comes first.
        fixed_length: How many bytes of each string to take; zeros fill up short ones.
        name: Accepted for compatibility.

    Returns:
        Numbers, with one axis more than ``input_bytes``.

    Raises:
        InvalidArgumentError: lengths that differ or hold no whole number of elements.

    Example:
        >>> import tfx as tf
        >>> tf.io.decode_raw(tf.constant("12"), tf.uint8).numpy()
        array([49, 50], dtype=uint8)
    """
    kind = dtypes.as_dtype(out_type)
    x = text(input_bytes, "DecodeRaw")
    size = None if fixed_length is None else static_int(tensor(fixed_length))
    if fixed_length is not None and (size is None or not 0 < size < 2**31 or size % kind.size):
        raise InvalidArgumentError(
            f"fixed_length must be known and a positive multiple of {kind.size}, the size of "
            f"{kind.name}, below 2**31; got {fixed_length!r}."
        )

    def decode(texts: Any) -> list[Any]:
        items = texts.reshape(-1).tolist()
        count = len(items[0]) if size is None and items else size or 0
        if size is None:
            for i, item in enumerate(items):
                if len(item) != count:
                    raise InvalidArgumentError(
                        "DecodeRaw requires input strings to all be the same size, but element "
                        f"{i} has size {len(item)} != {count}"
                    )
        if count % kind.size:
            raise InvalidArgumentError(
                f"Input to DecodeRaw has length {count} that is not a multiple of {kind.size}, "
                f"the size of {kind.name}"
            )
        check_memory([len(items), count], np.uint8)
        data = np.zeros([len(items), count], np.uint8)
        for row, item in zip(data, items, strict=True):
            row[: len(item)] = np.frombuffer(item[:count], np.uint8)
        numbers = data.reshape(-1).view(np.dtype(kind.as_numpy_dtype))
        if not little_endian:
            numbers = numbers.byteswap()
        return [numbers.reshape(*texts.shape, count // kind.size)]

    shape = x.shape.symbolic
    last = None if size is None else size // kind.size
    outputs = [(kind, None if shape is None else (*shape, last))]
    return by_python("io.decode_raw", decode, [x], outputs)[0]


def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Tensor:
    """Strings in the base64 of web addresses.

    Args:
        input: Tensor of strings.
        pad: Put ``=`` at the end.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.io.encode_base64("ab?>").numpy()
        b'YWI_Pg'
    """

    def encode(value: bytes) -> bytes:
        found = base64.urlsafe_b64encode(value)
        return found if pad else found.rstrip(b"=")

    x = text(input, "EncodeBase64")
    outputs = [(dtypes.string, x.shape.symbolic)]
    return by_python("io.encode_base64", lambda a: [each(encode, object, a)], [x], outputs)[0]


def decode_base64(input: Any, name: str | None = None) -> Tensor:
    """Decode strings made by ``encode_base64``.

    Raises:
        InvalidArgumentError: no base64.

    Example:
        >>> import tfx as tf
        >>> tf.io.decode_base64("YWI_Pg").numpy()
        b'ab?>'
    """

    def decode(value: bytes) -> bytes:
        try:
            padded = value.rstrip(b"=") + b"=" * (-len(value.rstrip(b"=")) % 4)
            return base64.b64decode(padded, altchars=b"-_", validate=True)
        except ValueError as e:
            raise InvalidArgumentError(f"Invalid base64 in {len(value)} bytes: {e}.") from e

    x = text(input, "DecodeBase64")
    outputs = [(dtypes.string, x.shape.symbolic)]
    return by_python("io.decode_base64", lambda a: [each(decode, object, a)], [x], outputs)[0]
