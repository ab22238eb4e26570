"""``audio``: sounds as WAV."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core.errors import InvalidArgumentError
from tfx.framework.tensor import Tensor
from tfx.ops.io.wav import wav
from tfx.summary import event_pb2 as pb
from tfx.summary.messages import plugin, value_summary
from tfx.summary.recording import NOTHING, record, skipped, summary_scope

# The number of WAV for the audio plugin.
WAV_CONTENT = pb.AudioData(encoding=11).SerializeToString()


def audio(
    name: str,
    data: Any,
    sample_rate: int,
    step: Any = None,
    max_outputs: int = 3,
    encoding: str | None = None,
    description: str | None = None,
) -> Tensor:
    """Write sounds.

    Args:
        name: Their name; name scopes come in front.
        data: ``[count, frames, channels]`` of a floating dtype from -1 to 1 (what lies outside is
            clipped), or a function that gives it.
        sample_rate: Frames in a second.
        step: An integer, integer tensor or variable; None: the default step.
        max_outputs: How many of them to write at most.
        encoding: ``"wav"``, the default.
        description: Markdown that TensorBoard shows.

    Returns:
        A bool tensor: whether they were written.

    Raises:
        ValueError: there is no step, or another encoding.
        InvalidArgumentError: another shape.

    Example:
        >>> import tfx as tf
        >>> bool(tf.summary.audio("tone", tf.zeros([1, 8, 1]), 8000, step=1))  # no default writer
        False
    """
    if encoding not in (None, "wav"):
        raise ValueError(f"Unknown encoding: {encoding!r}; expected 'wav'.")
    rate = int(sample_rate)
    if skipped():
        return NOTHING
    with summary_scope(name, "audio_summary") as (tag, _):
        metadata = plugin("audio", WAV_CONTENT, description)

        def payload(array: np.ndarray[Any, Any]) -> pb.Summary:
            if array.ndim != 3:
                raise InvalidArgumentError(
                    f"Summary {tag!r} takes sounds [count, frames, channels]; got the shape "
                    f"{array.shape}."
                )
            clips = [wav(a, rate) for a in array[: max(max_outputs, 0)]]
            # Beside each a label, which is always empty.
            table = np.array([[clip, b""] for clip in clips], object).reshape(len(clips), 2)
            return value_summary(tag, table, metadata)

        return record(tag, data, step, payload)
