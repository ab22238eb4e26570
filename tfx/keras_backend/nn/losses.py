"""Cross entropies. Of scores they are computed without loss of what is nearly 0 or 1."""

from __future__ import annotations

import warnings
from typing import Any

from keras.src.backend.config import epsilon

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor
from tfx.keras_backend.nn.arguments import floating, same_shapes
from tfx.keras_backend.nn.softmax import scores_of


def categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> Any:
    """Cross entropy between two distributions along an axis.

    Raises:
        ValueError: shapes that differ, or scalars.
    """
    output = floating(output)
    target = convert_to_tensor(target, output.dtype)
    if target.shape.rank == 0:
        raise ValueError(
            "Arguments `target` and `output` must be at least rank 1. Received: "
            f"target.shape={target.shape}, output.shape={output.shape}"
        )
    same_shapes(target, output)
    output, from_logits = _scores(output, from_logits, axis, "categorical_crossentropy")
    if from_logits:
        return tf.nn.softmax_cross_entropy_with_logits(target, output, axis)
    chances = _within(output / tf.reduce_sum(output, axis, keepdims=True))
    return -tf.reduce_sum(target * tf.math.log(chances), axis)


def sparse_categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> Any:
    """Cross entropy between classes, given by number, and distributions along the last axis.

    Raises:
        ValueError: another axis, or shapes that do not fit.
    """
    output = floating(output)
    rank = output.shape.rank
    if axis not in (-1, rank - 1):
        raise ValueError(f"Only axis=-1 is currently supported. Received: axis={axis}")
    if rank < 1:
        raise ValueError(
            f"Argument `output` must be at least rank 1. Received: output.shape={output.shape}"
        )
    target = convert_to_tensor(target, "int64")
    if target.shape.rank == rank and target.shape[-1] in (1, None):
        target = tf.squeeze(target, -1)
    if target.shape.rank != rank - 1:
        what = "Argument `output` must have rank (ndim) `target.ndim + 1`."
    elif not target.shape.is_compatible_with(output.shape[:-1]):
        what = (
            "Arguments `target` and `output` must have the same shape up until the last dimension."
        )
    else:
        name = "sparse_categorical_crossentropy"
        output, from_logits = _scores(output, from_logits, -1, name)
        scores = output if from_logits else tf.math.log(_within(output))
        return tf.nn.sparse_softmax_cross_entropy_with_logits(target, scores)
    raise ValueError(f"{what} Received: target.shape={target.shape}, output.shape={output.shape}")


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    """Cross entropy between two probabilities, for each element.

    Raises:
        ValueError: shapes that differ.
    """
    output = floating(output)
    target = convert_to_tensor(target, output.dtype)
    same_shapes(target, output)
    output, from_logits = _scores(output, from_logits, None, "binary_crossentropy")
    if from_logits:
        return tf.nn.sigmoid_cross_entropy_with_logits(target, output)
    chance = _within(output)
    hit = target * tf.math.log(chance)
    return -(hit + (1.0 - target) * tf.math.log(1.0 - chance))


def _within(chances: Any) -> Any:
    """Probabilities whose logarithms are finite."""
    return tf.clip_by_value(chances, epsilon(), 1.0 - epsilon())


def _scores(output: Any, from_logits: bool, axis: int | None, name: str) -> tuple[Any, bool]:
    """The scores behind the probabilities, if these remember them; else what was given."""
    scores = scores_of(output, axis)
    if scores is None:
        return output, from_logits
    if from_logits:
        made = "sigmoid" if axis is None else "softmax"
        warnings.warn(
            f'"`{name}` received `from_logits=True`, but the `output` argument is the result of a '
            f"{made}, so it does not hold logits. The logits from before it are taken.",
            stacklevel=3,
        )
    return scores, True
