"""``tfx.strings``: what no ONNX operator does; most functions with it cannot be saved."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import dropwhile
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.core.filled_arrays import check_memory, check_sizes
from tfx.framework.builder import ox
from tfx.framework.convert import constant
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.common.arguments import cast_to, tensor
from tfx.ops.common.python_ops import by_python, each
from tfx.ops.debugging.print import describe
from tfx.ops.strings.literals import literals_of, replaceable, replaced
from tfx.ops.strings.regex import expression, replace
from tfx.ops.strings.strings import one_text, text, text_argument

_UNITS = ("BYTE", "UTF8_CHAR")

_WORDS = 8  # of memory that a string or a list takes at least


def letters(x: Tensor, kind: str, change: Callable[[bytes], bytes]) -> Tensor:
    """A function of each string.

    Args:
        x: Strings.
        kind: What the host call is known by.
        change: The function.
    """
    outputs = [(dtypes.string, x.shape.symbolic)]
    return by_python(kind, lambda a: [each(change, object, a)], [x], outputs)[0]


def strip(input: Any, name: str | None = None) -> Tensor:
    """Strings without white space at their ends.

    Example:
        >>> import tfx as tf
        >>> tf.strings.strip([" a b ", "c"]).numpy()
        array([b'a b', b'c'], dtype=object)
    """
    return letters(text(input, "StringStrip"), "strings.strip", bytes.strip)


def length(input: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """The lengths of strings.

    Args:
        input: Tensor of strings.
        unit: ``"BYTE"``, or ``"UTF8_CHAR"``: characters.
        name: Accepted for compatibility.

    Returns:
        int32 of the same shape.

    Raises:
        ValueError: another unit.

    Example:
        >>> import tfx as tf
        >>> tf.strings.length(["Hello", "é"]).numpy()
        array([5, 2], dtype=int32)
    """
    characters = _characters(unit)
    x = text(input, "StringLength")
    outputs = [(dtypes.int32, x.shape.symbolic)]
    count = _count if characters else len
    return by_python("strings.length", lambda a: [each(count, np.int32, a)], [x], outputs)[0]


def _count(value: bytes) -> int:
    """How many characters there are."""
    return len(value) if value.isascii() else len(_points(value))


def _characters(unit: str) -> bool:
    if unit not in _UNITS:
        raise InvalidArgumentError(f"unit must be one of {list(_UNITS)}; got {unit!r}.")
    return unit == "UTF8_CHAR"


def _points(value: bytes) -> str:
    return value.decode(errors="replace")


def substr(
    input: Any,
    pos: Any,
    len: Any,
    unit: str = "BYTE",
    name: str | None = None,
) -> Tensor:
    """Parts of strings.

    Args:
        input: Tensor of strings.
        pos: Where each part begins; negative: counted from the end.
        len: The most that each part has; negative: all bytes that are left.
        unit: What ``pos`` and ``len`` count: ``"BYTE"``, or ``"UTF8_CHAR"``: characters.
        name: Accepted for compatibility.

    Returns:
        Strings of the broadcast shape.

    Raises:
        InvalidArgumentError: a part begins outside of its string.
        ValueError: another unit.

    Example:
        >>> import tfx as tf
        >>> tf.strings.substr(["Hello", "World"], pos=-3, len=2).numpy()
        array([b'll', b'rl'], dtype=object)
    """
    characters = _characters(unit)
    x = text(input, "Substr")

    def part(value: bytes, start: int, count: int) -> bytes:
        whole: Any = _points(value) if characters else value
        size = whole.__len__()
        if not -size <= start <= size:
            raise InvalidArgumentError(f"pos {start} out of range for string {value!r}; in Substr.")
        first = start if start >= 0 else size + start
        end = size if count < 0 and not characters else first + max(int(count), 0)
        found: bytes = whole[first:end].encode() if characters else whole[first:end]
        return found

    given = [x, tensor(pos), tensor(len)]
    shape = x.shape.symbolic if given[1].shape.rank == given[2].shape.rank == 0 else None
    outputs = [(dtypes.string, shape)]
    return by_python("strings.substr", lambda *a: [each(part, object, *a)], given, outputs)[0]


def regex_replace(
    input: Any,
    pattern: str,
    rewrite: str,
    replace_global: bool = True,
    name: str | None = None,
) -> Tensor:
    r"""Matches of a regular expression replaced.

    Functions can be saved where the expression is one text, or some characters in brackets.

    Args:
        input: Tensor of strings.
        pattern: The expression, as RE2 has them but for ``\p``, ``\C``, ``\Q`` and the flag ``U``.
            Python carries it out, which takes long for some expressions: take none of strangers.
        rewrite: What replaces a match; ``\1`` to ``\9`` are its groups, ``\0`` the whole match.
        replace_global: Replace all matches, or the first.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: not a regular expression, or a group that it does not have.

    Example:
        >>> import tfx as tf
        >>> tf.strings.regex_replace("Text <b>bold</b>", "<[^>]+>", " ").numpy()
        b'Text  bold '
    """
    x = text(input, "RegexReplace")
    source = text_argument(pattern, "pattern of regex_replace")
    target = text_argument(rewrite, "rewrite of regex_replace")
    try:
        known = expression(source)
    except re.error as e:
        raise InvalidArgumentError(f"Invalid pattern: {pattern}, error: {e}") from e
    marks = re.split(r"\\(\d|\\)", target.decode("utf-8", "surrogateescape"))
    parts = [int(m) if i % 2 and m != "\\" else m for i, m in enumerate(marks)]
    for group in parts:
        if isinstance(group, int) and group > known.groups:
            raise InvalidArgumentError(
                f"Invalid rewrite pattern {rewrite!r}: {pattern!r} has {known.groups} group(s), "
                f"not {group}."
            )
    if not isinstance(x, EagerTensor) and replace_global and all(isinstance(p, str) for p in parts):
        literals, instead = literals_of(source), "".join(map(str, parts))
        if literals is not None and replaceable(literals, instead):
            return replaced(x, literals, instead)
    return letters(x, "strings.regex_replace", lambda s: replace(known, parts, s, replace_global))


def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Numbers as text.

    A function with it can be saved for bool, and for integers without ``width``.

    Args:
        input: Tensor of a number or bool dtype. Complex numbers become ``(real,imaginary)``.
        precision: Digits after the point of floats; -1: six.
        scientific: Floats as ``1.5e+00``.
        shortest: Floats with ``%g``, which leaves out what is not needed.
        width: The least length.
        fill: What comes in front to reach it: ``" "``, ``"0"`` or, to put spaces behind, ``"-"``.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: ``precision`` for integers, both ``scientific`` and ``shortest``, or
            another ``fill``.

    Example:
        >>> import tfx as tf
        >>> tf.strings.as_string([3.1415926, 2.0], precision=2).numpy()
        array([b'3.14', b'2.00'], dtype=object)
    """
    x = tensor(input)
    kind = x.dtype
    if kind is dtypes.string:
        return x
    if scientific and shortest:
        raise InvalidArgumentError("Cannot select both scientific and shortest notation.")
    if fill not in ("", " ", "0", "-", "+"):
        raise InvalidArgumentError(
            f"Fill argument not supported: {fill!r}; expected ' ', '0', '-'."
        )
    whole = not kind.is_floating and not kind.is_complex
    if whole and (precision >= 0 or scientific or shortest):
        raise InvalidArgumentError(f"precision and notation are for floats; got {kind.name}.")
    if kind is dtypes.bool:
        return ox.Where(x, constant("true"), constant("false"))
    if kind.is_integer and width < 0:
        return ox.Cast(x, to=dtypes.string.onnx)
    letter = "e" if scientific else "g" if shortest else "f"
    number = f".{precision}{letter}" if precision >= 0 else letter
    sign, pad = ("<", "") if fill == "-" else (">", "") if fill != "0" else ("", "0")
    room = f"{pad}{width}" if width >= 0 else ""
    layout = f"{'+' if fill == '+' else ''}{room}{'d' if whole else number}"
    align = sign if width >= 0 and not pad else ""

    place = f"{{:{align}{layout}}}"

    def written(value: Any) -> bytes:
        if kind.is_complex:
            return f"({place.format(value.real)},{place.format(value.imag)})".encode()
        return place.format(value).encode()

    wide = x if kind is not dtypes.bfloat16 else cast_to(x, dtypes.float32)
    outputs = [(dtypes.string, x.shape.symbolic)]
    return by_python("as_string", lambda a: [each(written, object, a)], [wide], outputs)[0]


def format_(
    template: str,
    inputs: Any,
    placeholder: str = "{}",
    summarize: int = 3,
    name: str | None = None,
) -> Tensor:
    """A text with tensors in it, as ``tfx.print`` shows them.

    Args:
        template: Text with a place for each tensor.
        inputs: A tensor or several.
        placeholder: What a place looks like.
        summarize: How many elements at each end of each dimension; -1: all.
        name: Accepted for compatibility.

    Returns:
        A scalar string.

    Raises:
        ValueError: not as many places as tensors.

    Example:
        >>> import tfx as tf
        >>> tf.strings.format("tensor: {}", tf.range(10)).numpy()
        b'tensor: [0 1 2 ... 7 8 9]'
    """
    tensors = [tensor(x) for x in (inputs if isinstance(inputs, list | tuple) else [inputs])]
    texts = template.split(placeholder)
    if len(texts) != len(tensors) + 1:
        raise InvalidArgumentError(
            f"{len(texts) - 1} placeholder(s) in template {template!r} do not match "
            f"{len(tensors)} tensor input(s)."
        )

    def written(*arrays: Any) -> list[Any]:
        shown = [*[describe(a, summarize) for a in arrays], ""]
        joined = "".join([t + s for t, s in zip(texts, shown, strict=True)])
        return [np.array(joined.encode(), object)]

    return by_python("strings.format", written, tensors, [(dtypes.string, ())])[0]


def bytes_split(input: Any, name: str | None = None) -> Tensor:
    """The bytes of one string, as a vector of strings.

    Raises:
        InvalidArgumentError: not a scalar.

    Example:
        >>> import tfx as tf
        >>> tf.strings.bytes_split("abc").numpy()
        array([b'a', b'b', b'c'], dtype=object)
    """
    x = one_text(input, "strings.bytes_split")

    def pieces(a: Any) -> list[Any]:
        return [strings_of(bytes_of(a.item()))]

    return by_python("strings.bytes_split", pieces, [x], [(dtypes.string, (None,))])[0]


def bytes_of(value: bytes) -> list[bytes]:
    """The bytes of a text, each a text of its own."""
    return [bytes([b]) for b in value]


def strings_of(items: Sequence[bytes]) -> Any:
    """Texts as an array of objects, ``[n]``."""
    result = np.empty([len(items)], object)
    result[:] = items
    return result


def ngrams(
    data: Any,
    ngram_width: Any,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Tensor:
    """Runs of neighbouring strings written together.

    Args:
        data: Strings; the last axis is the sequence.
        ngram_width: How many make a run, or several such numbers.
        separator: Text between them.
        pad_values: What stands before and after each sequence: a string, or one for each end.
        padding_width: How often, at most ``ngram_width - 1`` and by default that.
        preserve_short_sequences: Give a sequence too short for any run as one run.
        name: Accepted for compatibility.

    Returns:
        Strings with the runs on the last axis, those of each width after the other.

    Raises:
        ValueError: a width below 1.

    Example:
        >>> import tfx as tf
        >>> tf.strings.ngrams(["A", "B", "C"], 2).numpy()
        array([b'A B', b'B C'], dtype=object)
    """
    x = text(data, "StringNGrams")
    if x.shape.rank == 0:
        raise InvalidArgumentError("Data must have rank>0; got a scalar, in StringNGrams.")
    runs = runs_of(ngram_width, separator, pad_values, padding_width, preserve_short_sequences)

    def compute(a: Any) -> list[Any]:
        rows = [runs(list(row)) for row in a.reshape(-1, a.shape[-1])]
        count = len(rows[0]) if rows else 0
        flat = strings_of([item for row in rows for item in row])
        return [flat.reshape(*a.shape[:-1], count)]

    shape = x.shape.symbolic
    static = None if shape is None else (*shape[:-1], None)
    return by_python("strings.ngrams", compute, [x], [(dtypes.string, static)])[0]


def runs_of(
    ngram_width: Any,
    separator: str,
    pad_values: Any,
    padding_width: int | None,
    preserve_short_sequences: bool,
) -> Callable[[Sequence[bytes]], list[bytes]]:
    """What makes the runs of one row; see ``ngrams``."""
    widths = [ngram_width] if isinstance(ngram_width, int) else [int(w) for w in ngram_width]
    if any(w < 1 for w in widths):
        raise InvalidArgumentError(
            f"All ngram_widths must be greater than or equal to 1; got {ngram_width}"
        )
    ends = ("", "") if pad_values is None else pad_values
    left, right = (e.encode() for e in ((ends, ends) if isinstance(ends, str) else ends))
    most = max(widths) - 1 if padding_width is None else padding_width

    def runs(row: Sequence[bytes]) -> list[bytes]:
        found = []
        for width in widths:
            around = min(width - 1, most) if pad_values is not None else 0
            items = [left] * around + list(row) + [right] * around
            found += [
                separator.encode().join(items[i : i + width]) for i in range(len(items) - width + 1)
            ]
        if not found and preserve_short_sequences and len(row):
            found = [separator.encode().join(row)]
        return found

    return runs


def _joined(words: list[bytes], mark: bytes) -> bytes:
    """The words with a mark before each one that something precedes, as TensorFlow's are."""
    return mark.join(dropwhile(lambda word: not word, words))


def unsorted_segment_join(
    inputs: Any,
    segment_ids: Any,
    num_segments: Any,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """Strings of each segment written one after the other.

    Args:
        inputs: Strings, ``[n, ...]``.
        segment_ids: ``[n]`` integers: where each belongs; negative: nowhere.
        num_segments: How many there are.
        separator: Text between them.
        name: Accepted for compatibility.

    Returns:
        Strings ``[num_segments, ...]``.

    Raises:
        InvalidArgumentError: a segment that there is not.

    Example:
        >>> import tfx as tf
        >>> tf.strings.unsorted_segment_join(["a", "b", "c"], [0, 1, 0], 2, separator=":").numpy()
        array([b'a:c', b'b'], dtype=object)
    """
    x = text(inputs, "UnsortedSegmentJoin")
    ids, many = tensor(segment_ids), tensor(num_segments)

    def compute(a: Any, where: Any, count: Any) -> list[Any]:
        size = int(count)
        rest = a.shape[where.ndim :]
        check_sizes([size])
        # A list, and later a string, takes a few times as much as its place.
        check_memory([size, *rest, _WORDS], object)
        groups: list[list[Any]] = [[] for _ in range(size)]
        for place, item in zip(where.reshape(-1), a.reshape(where.size, -1), strict=True):
            if place >= size:
                raise InvalidArgumentError(f"segment_ids = {place} is out of range [0, {size}).")
            if place >= 0:
                groups[place].append(item)
        width = int(np.prod(rest, dtype=int))
        mark = separator.encode()
        flat = [_joined([row[j] for row in group], mark) for group in groups for j in range(width)]
        return [strings_of(flat).reshape(size, *rest)]

    return by_python(
        "strings.unsorted_segment_join", compute, [x, ids, many], [(dtypes.string, None)]
    )[0]
