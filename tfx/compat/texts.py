"""Texts as bytes or strings, and other small helpers of ``tf.compat``."""

from __future__ import annotations

import os
from typing import Any


def as_bytes(bytes_or_text: bytes | bytearray | str, encoding: str = "utf-8") -> bytes:
    """A text as bytes.

    Args:
        bytes_or_text: ``str``, ``bytes`` or ``bytearray``.
        encoding: Of the bytes.

    Raises:
        TypeError: something else.

    Example:
        >>> import tfx as tf
        >>> tf.compat.as_bytes("a")
        b'a'
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes | bytearray):
        return bytes(bytes_or_text)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}; convert it first.")


def as_text(bytes_or_text: bytes | bytearray | str, encoding: str = "utf-8") -> str:
    """A text as a string.

    Args:
        bytes_or_text: ``str``, ``bytes`` or ``bytearray``.
        encoding: Of the bytes.

    Raises:
        TypeError: something else.

    Example:
        >>> import tfx as tf
        >>> tf.compat.as_text(tf.constant("a").numpy())
        'a'
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    return as_bytes(bytes_or_text).decode(encoding)


as_str = as_text


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """``as_str`` of bytes, and ``str`` of everything else.

    Example:
        >>> import tfx as tf
        >>> tf.compat.as_str_any(b"a"), tf.compat.as_str_any(1)
        ('a', '1')
    """
    return as_str(value, encoding) if isinstance(value, bytes | bytearray) else str(value)


def path_to_str(path: Any) -> Any:
    """The string of a path object; other values as they are.

    Example:
        >>> import pathlib
        >>> import tfx as tf
        >>> tf.compat.path_to_str(pathlib.PurePosixPath("a") / "b")
        'a/b'
    """
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else path


def path_to_bytes(path: Any) -> bytes:
    """The bytes of a path: of a string, bytes, or an object with ``__fspath__``.

    Raises:
        TypeError: something else.

    Example:
        >>> import pathlib
        >>> import tfx as tf
        >>> tf.compat.path_to_bytes(pathlib.PurePosixPath("a") / "b")
        b'a/b'
    """
    return as_bytes(os.fspath(path) if hasattr(path, "__fspath__") else path)
