"""``tfx.io.parse_sequence_example`` and ``parse_single_sequence_example``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.framework.tensor import Tensor
from tfx.ops.common.python_ops import by_python
from tfx.parsing import columns, readers, sequence_readers
from tfx.parsing.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
    checked,
)
from tfx.parsing.messages import message_class
from tfx.parsing.parse_example import in_order, names_of, put_together, texts

_CONTEXT = (VarLenFeature, FixedLenFeature, RaggedFeature, SparseFeature)
_SEQUENCES = (VarLenFeature, FixedLenSequenceFeature, RaggedFeature)
_Features = Mapping[str, Any] | None


def parse_sequence_example(
    serialized: Any,
    context_features: _Features = None,
    sequence_features: _Features = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Tensors of the features of SequenceExamples.

    Args:
        serialized: A vector of strings, each a serialized ``tf.train.SequenceExample``.
        context_features: What is wanted of the context: ``FixedLenFeature``, ``VarLenFeature``,
            ``RaggedFeature``.
        sequence_features: What is wanted of the feature lists: ``FixedLenSequenceFeature``,
            ``VarLenFeature``, ``RaggedFeature``.
        example_names: Names of the examples, for messages.
        name: Accepted for compatibility.

    Returns:
        Dictionaries of the context ``[batch, ...]``, of the feature lists ``[batch, steps, ...]``,
        and of the numbers of steps of the dense ones ``[batch]``.

    Raises:
        ValueError: no features at all, or unknown ones.
        InvalidArgumentError: strings that are no SequenceExamples, or not as wanted.

    Example:
        >>> import tfx as tf
        >>> step = lambda n: tf.train.Feature(int64_list=tf.train.Int64List(value=[n]))
        >>> lists = tf.train.FeatureLists(
        ...     feature_list={"n": tf.train.FeatureList(feature=[step(1), step(2)])}
        ... )
        >>> text = tf.train.SequenceExample(feature_lists=lists).SerializeToString()
        >>> wanted = {"n": tf.io.FixedLenSequenceFeature([], tf.int64)}
        >>> _, steps, lengths = tf.io.parse_sequence_example([text], sequence_features=wanted)
        >>> steps["n"].numpy(), lengths["n"].numpy()
        (array([[1, 2]]), array([2]))
    """
    x = texts(serialized, "parse_sequence_example", (1,))
    context, lists = _parsed(x, context_features, sequence_features, example_names, False)
    lengths = {key: found[1] for key, found in lists.items() if isinstance(found, tuple)}
    dense = {key: x[0] if isinstance(x, tuple) else x for key, x in lists.items()}
    return context, dense, lengths


def parse_single_sequence_example(
    serialized: Any,
    context_features: _Features = None,
    sequence_features: _Features = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tensors of the features of one SequenceExample.

    Args:
        serialized: A string, a serialized ``tf.train.SequenceExample``.
        context_features: As for ``parse_sequence_example``.
        sequence_features: As for ``parse_sequence_example``.
        example_name: A name, for messages.
        name: Accepted for compatibility.

    Returns:
        Dictionaries of the context and of the feature lists ``[steps, ...]``.

    Raises:
        ValueError: no features at all, or unknown ones.
        InvalidArgumentError: as ``parse_sequence_example``.
    """
    x = texts(serialized, "parse_single_sequence_example", (0,))
    return _parsed(x, context_features, sequence_features, example_name, True)


def _parsed(
    x: Tensor, context: _Features, sequences: _Features, names: Any, single: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    if not (context or sequences):
        raise InvalidArgumentError(
            "Both `context_features` and `sequence_features` argument are None."
        )
    called = names_of(names)
    batch = None if single else x.shape[0]
    first: dict[str, readers.Reader] = {}
    second: dict[str, readers.Reader] = {}
    if context:
        for key, feature in in_order(checked(context, _CONTEXT, "context_features")):
            first[key] = readers.reader_of(key, feature, single, batch)
    if sequences:
        for key, feature in in_order(checked(sequences, _SEQUENCES, "sequence_features")):
            second[key] = sequence_readers.reader_of(key, feature, single, batch)

    def compute(data: Any) -> list[Any]:
        kind = message_class("SequenceExample")
        parsed = columns.messages_of(data.reshape(-1), kind, called)
        contexts = [each.context.feature for each in parsed]
        lists = [each.feature_lists.feature_list for each in parsed]
        found = [array for r in first.values() for array in r.read(contexts, called)]
        return found + [array for r in second.values() for array in r.read(lists, called)]

    outputs = [o for r in (*first.values(), *second.values()) for o in r.outputs]
    tensors = by_python("io.parse_sequence_example", compute, [x], outputs)
    count = sum(len(r.outputs) for r in first.values())
    return put_together(first, tensors[:count]), put_together(second, tensors[count:])
