"""``tfx.io.decode_json_example``: ``Example`` messages that are written as JSON."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.common.python_ops import by_python, each
from tfx.ops.common.shapes import raw_shape
from tfx.parsing.messages import message_class


def decode_json_example(json_examples: Any, name: str | None = None) -> Tensor:
    """Serialized ``Example`` messages of such as JSON, for ``tf.io.parse_example``.

    Args:
        json_examples: Strings of any shape: an ``Example`` each, in protobuf's JSON.
        name: Accepted for compatibility.

    Returns:
        Strings of the same shape.

    Raises:
        InvalidArgumentError: something that is no such JSON.

    Example:
        >>> import tfx as tf
        >>> text = '{"features": {"feature": {"a": {"int64List": {"value": [7]}}}}}'
        >>> binary = tf.io.decode_json_example(text)
        >>> int(tf.io.parse_single_example(binary, {"a": tf.io.FixedLenFeature([], tf.int64)})["a"])
        7
    """
    from google.protobuf import json_format

    kind = message_class("Example")
    texts = convert_to_tensor(json_examples, dtypes.string)

    def binary(text: Any) -> bytes:
        try:
            message = json_format.Parse(bytes(text), kind())
        except (json_format.ParseError, UnicodeDecodeError) as e:
            raise InvalidArgumentError(
                f"Error while parsing JSON {bytes(text)[:100]!r} as an Example: {e}.",
                op="DecodeJSONExample",
            ) from None
        found: bytes = message.SerializeToString(deterministic=True)
        return found

    def compute(array: Any) -> list[Any]:
        return [each(binary, object, array)]

    outputs = [(dtypes.string, raw_shape(texts))]
    return by_python("io.decode_json_example", compute, [texts], outputs)[0]
