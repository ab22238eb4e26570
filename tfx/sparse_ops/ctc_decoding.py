"""``ctc_greedy_decoder``: the likeliest class of each frame, repeats and blanks left out."""

from __future__ import annotations

from typing import Any, NamedTuple

from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat, stack
from tfx.ops.array.gather import gather_nd
from tfx.ops.array.shape import shape
from tfx.ops.array.transpose import transpose
from tfx.ops.array.where import boolean_mask, where
from tfx.ops.common.arguments import as_int64, scalar_like, tensor
from tfx.ops.math.argmax import argmax
from tfx.ops.math.comparison import not_equal
from tfx.ops.math.cumulative import cumsum
from tfx.ops.math.reduction import reduce_max, reduce_sum


class Decoded(NamedTuple):
    """Texts of different lengths, as the parts of TensorFlow's sparse tensor.

    Attributes:
        indices: ``[n, 2]`` int64: row and place of each value.
        values: ``[n]`` int64.
        dense_shape: ``[2]`` int64: the number of rows and the longest row.
    """

    indices: Tensor
    values: Tensor
    dense_shape: Tensor


def ctc_greedy_decoder(
    inputs: Any,
    sequence_length: Any,
    merge_repeated: bool = True,
    blank_index: int | None = None,
) -> tuple[list[Decoded], Tensor]:
    """The likeliest class of each frame as a text.

    Args:
        inputs: Logits ``[frames, batch, classes]`` of a floating dtype.
        sequence_length: ``[batch]`` integers: the frames that count.
        merge_repeated: A class in neighbouring frames is one letter.
        blank_index: The class that stands for no letter; negative: counted from the last. None: the
            last.

    Returns:
        One ``Decoded`` in a list, and minus the sum of the largest logits, ``[batch, 1]``.

    Raises:
        InvalidArgumentError: another rank, or an unknown number of classes.

    Example:
        >>> import tfx as tf
        >>> logits = tf.one_hot([[0], [0], [2], [0], [1]], 3)
        >>> tf.nn.ctc_greedy_decoder(logits, [5])[0][0].values.numpy()
        array([0, 0, 1])
    """
    x, lengths = tensor(inputs), as_int64(sequence_length)
    classes = x.shape[-1] if x.shape.rank == 3 else None
    if classes is None:
        raise InvalidArgumentError(
            f"inputs must be [frames, batch, classes] with known classes; got shape {x.shape}."
        )
    blank = int64_constant((-1 if blank_index is None else int(blank_index)) % classes)
    best = transpose(argmax(x, 2), [1, 0])
    frames = shape(x)[0]
    steps = ox.Range(int64_constant(0), as_int64(frames), int64_constant(1))
    counts = ox.Less(steps, lengths[:, None])
    letters = ox.And(counts, not_equal(best, blank))
    if merge_repeated:
        before = concat([0 * best[:, :1] - 1, best[:, :-1]], 1)
        letters = ox.And(letters, not_equal(best, before))
    places = cumsum(as_int64(letters), 1) - 1
    found = transpose(ox.NonZero(letters))
    indices = stack([found[:, 0], gather_nd(places, found)], 1)
    none = int64_constant([0])
    longest = reduce_max(concat([none, places[:, -1] + 1], 0))
    total = stack([as_int64(shape(x)[1]), longest], 0)
    top = transpose(reduce_max(x, 2), [1, 0])
    kept = where(counts, top, scalar_like(0, x))
    score = -reduce_sum(kept, 1, keepdims=True)
    return [Decoded(indices, boolean_mask(best, letters), total)], score
