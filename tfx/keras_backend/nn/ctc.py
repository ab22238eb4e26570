"""Connectionist temporal classification: the loss, and the likeliest texts."""

from __future__ import annotations

from typing import Any

from keras.src.backend.common import standardize_dtype
from keras.src.backend.common.dtypes import result_type

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor
from tfx.keras_backend.nn.beam_search import beam_search


def ctc_loss(
    target: Any, output: Any, target_length: Any, output_length: Any, mask_index: int = 0
) -> Any:
    """Minus the logarithm of the probability of each text in its frames."""
    return tf.nn.ctc_loss(
        convert_to_tensor(target, "int32"),
        _wide(output),
        convert_to_tensor(target_length, "int32"),
        convert_to_tensor(output_length, "int32"),
        logits_time_major=False,
        blank_index=mask_index,
    )


def ctc_decode(
    inputs: Any,
    sequence_lengths: Any,
    strategy: str = "greedy",
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
    mask_index: int | None = 0,
) -> tuple[Any, Any]:
    """The likeliest texts ``[paths, batch, frames]``, filled up with -1, and their scores.

    Raises:
        ValueError: an unknown strategy.
    """
    scores = _wide(inputs)
    lengths = convert_to_tensor(sequence_lengths, "int32")
    if strategy == "greedy":
        (found,), score = tf.nn.ctc_greedy_decoder(
            tf.transpose(scores, [1, 0, 2]), lengths, merge_repeated, mask_index
        )
        empty = tf.fill(tf.shape(scores)[:2], -1)
        values = tf.cast(found.values, tf.int32)
        text = tf.tensor_scatter_nd_update(empty, found.indices, values)
        return tf.ensure_shape(text, scores.shape[:2])[None], score
    if strategy == "beam_search":
        return beam_search(scores, lengths, beam_width, top_paths, mask_index)
    raise ValueError(
        f"Invalid strategy {strategy}. Supported values are 'greedy' and 'beam_search'."
    )


def _wide(x: Any) -> Any:
    x = convert_to_tensor(x)
    return convert_to_tensor(x, result_type(standardize_dtype(x.dtype), "float32"))
