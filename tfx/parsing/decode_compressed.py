"""``tfx.io.decode_compressed``: strings that were compressed as they were before."""

from __future__ import annotations

import zlib
from typing import Any

from tfx.core import dtypes
from tfx.core.errors import DataLossError, InvalidArgumentError
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.common.python_ops import by_python, each
from tfx.ops.common.shapes import raw_shape

_WINDOWS = {"ZLIB": 15, "GZIP": 31}


def decode_compressed(bytes: Any, compression_type: str = "", name: str | None = None) -> Tensor:
    """Strings that were compressed, each for itself.

    Args:
        bytes: Strings of any shape.
        compression_type: ``""`` (they are left alone), ``"ZLIB"`` or ``"GZIP"``.
        name: Accepted for compatibility.

    Returns:
        Strings of the same shape.

    Raises:
        InvalidArgumentError: another compression.
        DataLossError: a string that was not compressed so, or is cut short.

    Example:
        >>> import zlib
        >>> import tfx as tf
        >>> tf.io.decode_compressed([zlib.compress(b"text")], "ZLIB").numpy()
        array([b'text'], dtype=object)
    """
    if compression_type and compression_type not in _WINDOWS:
        raise InvalidArgumentError(
            "Only ZLIB, GZIP or NONE are supported compressions; got "
            f"compression_type={compression_type!r}.",
            op="DecodeCompressed",
        )
    texts = convert_to_tensor(bytes, dtypes.string)
    if not compression_type:
        return texts

    def plain(text: Any) -> Any:
        found = zlib.decompressobj(_WINDOWS[compression_type])
        try:
            result = found.decompress(text) + found.flush()
        except zlib.error as e:
            raise DataLossError(
                f"decode_compressed: a string of {len(text)} bytes is not {compression_type}: {e}."
            ) from None
        if not found.eof:
            raise DataLossError(
                f"decode_compressed: a string of {len(text)} bytes ends before its "
                f"{compression_type} data does."
            )
        return result

    def compute(array: Any) -> list[Any]:
        return [each(plain, object, array)]

    return by_python("io.decode_compressed", compute, [texts], [(dtypes.string, raw_shape(texts))])[
        0
    ]
