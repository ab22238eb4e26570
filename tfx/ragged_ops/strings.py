"""Texts taken apart: as many pieces as each has, in ragged tensors.

The decision: a scalar gives a vector, as the operations of ``ops.strings`` make it; strings of any
other shape give a ragged tensor with one axis more. Where ONNX splits texts a graph can be saved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import constant, int64_constant
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.common.arguments import cast_to
from tfx.ops.common.python_ops import by_python
from tfx.ops.common.shapes import concat_shape, dimension
from tfx.ops.strings import python_strings, strings, unicode
from tfx.ops.strings.literals import words
from tfx.ragged_ops import partition
from tfx.ragged_ops.conversion import from_tensor
from tfx.ragged_ops.elementwise import elementwise
from tfx.ragged_ops.factories import joined
from tfx.ragged_ops.measures import axis_of
from tfx.ragged_ops.ragged_tensor import RaggedTensor, as_ragged_or_tensor
from tfx.ragged_ops.reduction import segmented

# What is made of the strings of a vector: a ragged tensor.
_Apart = Callable[[Tensor], RaggedTensor]


def _texts(input: Any, op: str) -> Any:
    x = as_ragged_or_tensor(input)
    return x if isinstance(x, RaggedTensor) else strings.text(x, op)


def _apart(x: Any, op: str, apart: _Apart) -> Any:
    """What a function makes of a vector, of strings of any shape."""
    if isinstance(x, RaggedTensor):
        return x.with_flat_values(_apart(x.flat_values, op, apart))
    rank = x.shape.rank
    if rank is None:
        raise InvalidArgumentError(f"{op} needs strings of known rank; use tf.ensure_shape.")
    if rank == 1:
        return apart(x)
    outer = from_tensor(x, ragged_rank=rank - 1)
    return outer.with_flat_values(apart(outer.flat_values))


def _by_python(kind: str, pieces: Callable[[bytes], Sequence[Any]], element: DType) -> _Apart:
    """Pieces that Python finds in each string."""

    def compute(array: Any) -> list[Any]:
        rows = [pieces(value) for value in array]
        flat = [piece for row in rows for piece in row]
        values = np.empty([len(flat)], element.as_numpy_dtype)
        values[:] = flat
        return [values, np.array([len(row) for row in rows], np.int64)]

    def apart(x: Tensor) -> RaggedTensor:
        count = x.shape.symbolic
        outputs = [(element, (None,)), (dtypes.int64, None if count is None else tuple(count))]
        values, lengths = by_python(kind, compute, [x], outputs)
        return joined(values, partition.splits_of(lengths))

    return apart


def split(input: Any, sep: str | None = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """The pieces of strings.

    Args:
        input: Strings of any shape, or a ragged tensor of strings.
        sep: What lies between pieces; None or ``""``: any run of white space.
        maxsplit: The most splits; -1: no limit.
        name: Accepted for compatibility.

    Returns:
        A ragged tensor with one axis more; a vector of the pieces of a scalar.

    Example:
        >>> import tfx as tf
        >>> tf.strings.split(["Gray wolf", "", "a b c"])
        <tf.RaggedTensor [[b'Gray', b'wolf'], [], [b'a', b'b', b'c']]>
        >>> tf.strings.split("Gray wolf").numpy()
        array([b'Gray', b'wolf'], dtype=object)
    """
    x = _texts(input, "StringSplit")
    if x.shape.rank == 0:
        return strings.split(x, sep, maxsplit)
    mark = b"" if sep is None else strings.text_argument(sep, "sep of strings.split")

    def apart(flat: Tensor) -> RaggedTensor:
        if isinstance(flat, EagerTensor) or (not mark and maxsplit >= 0):
            return _by_python(
                "strings.split", lambda value: strings.pieces(value, mark, maxsplit), dtypes.string
            )(flat)
        return _split_in_graph(flat, mark.decode(), maxsplit)

    return _apart(x, "strings.split", apart)


def _split_in_graph(flat: Tensor, mark: str, maxsplit: int) -> RaggedTensor:
    if not mark:
        found, counts = words(flat)
    else:
        attributes = {"maxsplit": maxsplit} if maxsplit >= 0 else {}
        found, counts = ox.StringSplit(flat, delimiter=mark, **attributes)
        # The operator finds nothing in an empty string, where one empty piece is.
        counts = ox.Max(counts, int64_constant(1))
        side = ox.Expand(constant(""), concat_shape(dimension(found, 0), int64_constant([1])))
        found = ox.Concat(found, side, axis=1)
    width = dimension(found, 1)
    starts = ox.Mul(partition.counted(partition.size_of(found)), width)
    places, splits = partition.spans(starts, counts)
    return joined(ox.Gather(ox.Reshape(found, int64_constant([-1])), places, axis=0), splits)


def bytes_split(input: Any, name: str | None = None) -> Any:
    """The bytes of strings.

    Args:
        input: Strings of any shape, or a ragged tensor of strings.
        name: Accepted for compatibility.

    Returns:
        A ragged tensor with one axis more; a vector of the bytes of a scalar.

    Example:
        >>> import tfx as tf
        >>> tf.strings.bytes_split(["ab", "c"])
        <tf.RaggedTensor [[b'a', b'b'], [b'c']]>
    """
    x = _texts(input, "StringBytesSplit")
    if x.shape.rank == 0:
        return python_strings.bytes_split(x)
    pieces = python_strings.bytes_of
    return _apart(x, "bytes_split", _by_python("strings.bytes_split", pieces, dtypes.string))


def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """The code points of strings.

    Args:
        input: Strings of any shape, or a ragged tensor of strings.
        input_encoding: ``"UTF-8"``, ``"UTF-16-BE"``, ``"UTF-32-BE"`` or another that Python knows.
        errors: What to do with bytes that are no character: ``"replace"``, ``"ignore"`` or
            ``"strict"``.
        replacement_char: What replaces them.
        replace_control_characters: Replace control characters too.
        name: Accepted for compatibility.

    Returns:
        A ragged tensor of int32 with one axis more; a vector for a scalar.

    Raises:
        InvalidArgumentError: not a text in that encoding, if strict.

    Example:
        >>> import tfx as tf
        >>> tf.strings.unicode_decode(["aé", ""], "UTF-8")
        <tf.RaggedTensor [[97, 233], []]>
    """
    x = _texts(input, "UnicodeDecode")
    how = (input_encoding, errors, replacement_char, replace_control_characters)
    if x.shape.rank == 0:
        return unicode.unicode_decode(x, *how)

    def points(value: bytes) -> list[int]:
        return unicode.code_points(value, *how)

    return _apart(x, "unicode_decode", _by_python("strings.unicode_decode", points, dtypes.int32))


def unicode_split(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    r"""The characters of strings; see ``unicode_decode``.

    Example:
        >>> import tfx as tf
        >>> tf.strings.unicode_split(["aé", "b"], "UTF-8")
        <tf.RaggedTensor [[b'a', b'\xc3\xa9'], [b'b']]>
    """
    x = _texts(input, "UnicodeSplit")
    how = (input_encoding, errors, replacement_char)
    if x.shape.rank == 0:
        return unicode.unicode_split(x, *how)

    def pieces(value: bytes) -> list[bytes]:
        return unicode.characters(value, *how)

    return _apart(x, "unicode_split", _by_python("strings.unicode_split", pieces, dtypes.string))


def unicode_decode_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The code points of strings, and the bytes at which they begin; see ``unicode_decode``.

    Returns:
        The code points (int32) and the offsets (int64), ragged tensors with one axis more; two
        vectors for a scalar.

    Example:
        >>> import tfx as tf
        >>> tf.strings.unicode_decode_with_offsets(["aéb", ""], "UTF-8")[1]
        <tf.RaggedTensor [[0, 1, 3], []]>
    """
    x = _texts(input, "UnicodeDecodeWithOffsets")
    how = (input_encoding, errors, replacement_char, replace_control_characters)
    return unicode_decode(x, *how), _offsets(x, *how)


def unicode_split_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> tuple[Any, Any]:
    r"""The characters of strings, and the bytes at which they begin; see ``unicode_decode``.

    Returns:
        The characters (strings) and the offsets (int64), ragged tensors with one axis more; two
        vectors for a scalar.

    Example:
        >>> import tfx as tf
        >>> characters, offsets = tf.strings.unicode_split_with_offsets("aéb", "UTF-8")
        >>> characters.numpy(), offsets.numpy()
        (array([b'a', b'\xc3\xa9', b'b'], dtype=object), array([0, 1, 3]))
    """
    x = _texts(input, "UnicodeSplitWithOffsets")
    pieces = unicode_split(x, input_encoding, errors, replacement_char)
    return pieces, _offsets(x, input_encoding, errors, replacement_char, False)


def _offsets(x: Any, *how: Any) -> Any:
    if x.shape.rank == 0:
        return unicode.unicode_offsets(x, *how)

    def starts(value: bytes) -> list[int]:
        return unicode.offsets(value, *how)

    return _apart(x, "unicode_offsets", _by_python("strings.unicode_offsets", starts, dtypes.int64))


def ngrams(
    data: Any,
    ngram_width: Any,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """``tf.strings.ngrams`` of the rows of a ragged tensor."""
    x = as_ragged_or_tensor(data)
    how = (ngram_width, separator, pad_values, padding_width, preserve_short_sequences)
    if not isinstance(x, RaggedTensor):
        return python_strings.ngrams(x, *how)
    if x.ragged_rank > 1:
        return x.with_values(ngrams(x.values, *how))
    runs = python_strings.runs_of(*how)

    def compute(values: Any, splits: Any) -> list[Any]:
        rows = [runs(list(row)) for row in np.split(values, splits[1:-1])]
        rows = rows[: len(splits) - 1]
        flat = np.empty([sum(len(row) for row in rows)], object)
        flat[:] = [item for row in rows for item in row]
        return [flat, np.array([len(row) for row in rows], np.int64)]

    given = [strings.text(x.flat_values, "StringNGrams"), x.row_splits]
    outputs = [(dtypes.string, (None,)), (dtypes.int64, (None,))]
    values, lengths = by_python("strings.ngrams", compute, given, outputs)
    return joined(values, cast_to(partition.splits_of(lengths), x.row_splits.dtype))


def join(inputs: Any, separator: str = "", name: str | None = None) -> Any:
    """``tf.strings.join`` of ragged tensors with the same rows."""
    return elementwise(lambda *parts: strings.join(parts, separator), *inputs)


def unicode_encode(plain: Callable[..., Any]) -> Callable[..., Any]:
    """``tf.strings.unicode_encode`` of ragged code points: the last axis is the text."""

    def encode(input: Any, *args: Any, **kwargs: Any) -> Any:
        points = input.flat_values
        if points.shape.rank != 1:  # texts of one length
            return input.with_flat_values(plain(points, *args, **kwargs))
        letters = plain(ox.Unsqueeze(points, int64_constant([1])), *args, **kwargs)
        return reduce_join(input.with_flat_values(letters), axis=-1)

    return encode


def format_(plain: Callable[..., Any]) -> Callable[..., Any]:
    """``tf.strings.format`` where some of the tensors are ragged."""

    def written(
        template: str,
        inputs: Any,
        placeholder: str = "{}",
        summarize: int = 3,
        name: str | None = None,
    ) -> Tensor:
        given = inputs if isinstance(inputs, list | tuple) else [inputs]
        texts = template.split(placeholder)
        if len(texts) != len(given) + 1:
            raise InvalidArgumentError(
                f"{len(texts) - 1} placeholder(s) in template {template!r} do not match "
                f"{len(given)} tensor input(s)."
            )
        parts: list[Any] = [texts[0]]
        for x, text in zip(given, texts[1:], strict=True):
            ragged = isinstance(x, RaggedTensor)
            parts += [_shown(x, summarize) if ragged else plain("{}", x, "{}", summarize), text]
        return strings.join([strings.text(part, "strings.format") for part in parts])

    return written


def _shown(x: RaggedTensor, summarize: int) -> Tensor:
    """A ragged tensor as a text, as nested lists of Python."""

    def compute(flat: Any, *splits: Any) -> list[Any]:
        shown = [_element_text(v, summarize) for v in flat]
        for rows in reversed(splits):
            shown = [_listed(shown[a:b], summarize) for a, b in pairwise(rows)]
        return [np.array(_listed(shown, summarize).encode(errors="surrogateescape"), object)]

    tensors = [x.flat_values, *x.nested_row_splits]
    return by_python("strings.format", compute, tensors, [(dtypes.string, ())])[0]


RaggedTensor._as_text = _shown


def _element_text(value: Any, summarize: int) -> str:
    if isinstance(value, np.ndarray):
        return _listed([_element_text(v, summarize) for v in value], summarize)
    if isinstance(value, bytes):
        text = value.decode(errors="surrogateescape")
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    return f"{value:f}" if isinstance(value, float | np.floating) else str(value)


def _listed(items: Sequence[str], summarize: int) -> str:
    if 0 <= 2 * summarize < len(items):
        items = [*items[:summarize], "...", *items[len(items) - summarize :]]
    return f"[{', '.join(items)}]"


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Any:
    """``tf.strings.reduce_join`` of a ragged tensor."""
    x = as_ragged_or_tensor(inputs)

    def by_segment(values: Any, ids: Any, count: Any) -> Tensor:
        return python_strings.unsorted_segment_join(values, ids, count, separator)

    def dense(values: Any, axis: Any, keepdims: Any) -> Any:
        return strings.reduce_join(values, axis, keepdims, separator)

    if keepdims:
        raise InvalidArgumentError("reduce_join of a ragged tensor takes no keepdims.")
    if axis is None:
        flat = ox.Reshape(x.flat_values, int64_constant([-1]))
        ids = ox.Expand(int64_constant(0), ox.Shape(flat))
        return ox.Squeeze(by_segment(flat, ids, int64_constant(1)), int64_constant([0]))
    found: Any = x
    for place in axis if isinstance(axis, list | tuple) else [axis]:
        found = segmented(dense, by_segment, found, axis_of(place, found, "reduce_join"))
    return found
