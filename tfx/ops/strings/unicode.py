"""``tfx.strings``: code points and encodings of texts; functions with these cannot be saved."""

from __future__ import annotations

import codecs
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import tensor
from tfx.ops.common.python_ops import by_python
from tfx.ops.strings.python_strings import letters, strings_of
from tfx.ops.strings.script_table import runs
from tfx.ops.strings.strings import one_text, text

_ERRORS = ("replace", "ignore", "strict")
# Of encodings whose texts may begin with a mark that tells the order of bytes: each mark, and the
# order. Without one the higher byte comes first.
_MARKS = {
    "UTF-16": ((codecs.BOM_UTF16_LE, "-LE"), (codecs.BOM_UTF16_BE, "-BE"), (b"", "-BE")),
    "UTF-32": ((codecs.BOM_UTF32_LE, "-LE"), (codecs.BOM_UTF32_BE, "-BE"), (b"", "-BE")),
}


def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """The code points of one string.

    Args:
        input: A string (a scalar tensor).
        input_encoding: ``"UTF-8"``, ``"UTF-16-BE"``, ``"UTF-32-BE"`` or another that Python knows.
        errors: What to do with bytes that are no character: ``"replace"``, ``"ignore"`` or
            ``"strict"``.
        replacement_char: What replaces them.
        replace_control_characters: Replace control characters too.
        name: Accepted for compatibility.

    Returns:
        int32 ``[n]``.

    Raises:
        InvalidArgumentError: not a scalar; not a text in that encoding, if strict.

    Example:
        >>> import tfx as tf
        >>> tf.strings.unicode_decode("aé", "UTF-8").numpy()
        array([ 97, 233], dtype=int32)
    """
    x = one_text(input, "UnicodeDecode")

    def points(a: Any) -> list[Any]:
        how = (input_encoding, errors, replacement_char, replace_control_characters)
        return [np.array(code_points(a.item(), *how), np.int32)]

    return by_python("strings.unicode_decode", points, [x], [(dtypes.int32, (None,))])[0]


def code_points(
    value: bytes, encoding: str, errors: str, replacement: int, replace_control: bool
) -> list[int]:
    """The code points of a text; see ``unicode_decode``."""
    found = _decode(value, encoding, errors, replacement)
    if replace_control:
        found = _without_controls(found, errors, replacement)
    return [ord(c) for c in found]


def offsets(
    value: bytes, encoding: str, errors: str, replacement: int, replace_control: bool
) -> list[int]:
    """The byte of a text at which each of its ``code_points`` begins."""
    left_out = replace_control and errors == "ignore"
    placed = _placed(value, encoding, errors, replacement)
    return [start for start, c in placed if not (left_out and c < " ")]


def _check(errors: str, replacement: int) -> None:
    if errors not in _ERRORS:
        raise InvalidArgumentError(f"errors must be one of {list(_ERRORS)}; got {errors!r}.")
    if not 0 <= replacement < 0x110000:
        raise InvalidArgumentError(f"replacement_char must be a code point; got {replacement}.")


def _note(error: UnicodeError) -> tuple[str, int]:
    """Note what cannot be decoded, for the text that this thread decodes, and go on behind it."""
    assert isinstance(error, UnicodeDecodeError)
    _decoding.broken.append((error.start, max(error.end, error.start + 1)))
    return "", _decoding.broken[-1][1]


# Once: Python keeps what is registered for good.
_NOTES = "tfx.note"
_decoding = threading.local()
codecs.register_error(_NOTES, _note)


def _encoded(text: str, encoding: str) -> bytes:
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as e:
        raise InvalidArgumentError(f"A character cannot be written in {encoding}: {e}") from e


def _without_controls(text: str, errors: str, replacement: int) -> str:
    other = "" if errors == "ignore" else chr(replacement)
    return "".join([c if c >= " " else other for c in text])


def _decode(value: bytes, encoding: str, errors: str, replacement: int) -> str:
    _check(errors, replacement)
    encoding, mark = _order(value, encoding)
    try:
        return value[mark:].decode(encoding)  # what most texts are
    except (LookupError, UnicodeError):
        return "".join(_pieces(value[mark:], encoding, errors, replacement)[0])


def _order(value: bytes, encoding: str) -> tuple[str, int]:
    """The encoding with its order of bytes, and how long the mark is that told it."""
    for mark, order in _MARKS.get(encoding, ()):
        if value.startswith(mark):
            return encoding + order, len(mark)
    return encoding, 0


def _pieces(
    value: bytes, encoding: str, errors: str, replacement: int
) -> tuple[list[str], list[int]]:
    """A text in pieces, each as it is or a replacement; and the byte at which each begins."""
    _check(errors, replacement)
    broken: list[tuple[int, int]] = []
    _decoding.broken = broken
    try:
        value.decode(encoding, _NOTES)
    except LookupError as e:
        raise InvalidArgumentError(f"{encoding!r} is no encoding that Python knows.") from e
    except UnicodeError as e:
        raise InvalidArgumentError(f"Invalid formatting on input string: {e}") from e
    if broken and errors == "strict":
        start, end = broken[0]
        raise InvalidArgumentError(
            f"Invalid formatting on input string: bytes {start} to {end - 1} are no {encoding}: "
            f"{value[start : start + 8]!r}."
        )
    texts: list[str] = []
    starts: list[int] = []
    at = 0
    for start, end in [*broken, (len(value), len(value))]:
        if start > at:
            texts.append(value[at:start].decode(encoding))
            starts.append(at)
        if end > start and errors == "replace":
            texts.append(chr(replacement))
            starts.append(start)
        at = end
    return texts, starts


def _placed(
    value: bytes, encoding: str, errors: str, replacement: int
) -> Iterator[tuple[int, str]]:
    """The characters of a text, each with the byte at which it begins."""
    encoding, mark = _order(value, encoding)
    for piece, start in zip(*_pieces(value[mark:], encoding, errors, replacement), strict=True):
        at = start
        for number, character in enumerate(piece, 1):
            yield at + mark if at else 0, character  # a mark belongs to the first one
            if number < len(piece):
                at += len(character.encode(encoding))


def unicode_offsets(
    input: Any,
    input_encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
) -> Tensor:
    """The bytes at which the code points of one string begin, int64 ``[n]``."""
    x = one_text(input, "UnicodeDecodeWithOffsets")

    def starts(a: Any) -> list[Any]:
        how = (input_encoding, errors, replacement_char, replace_control_characters)
        return [np.array(offsets(a.item(), *how), np.int64)]

    return by_python("strings.unicode_offsets", starts, [x], [(dtypes.int64, (None,))])[0]


def unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Tensor:
    r"""Strings from rows of code points.

    Args:
        input: int32; the last axis is the text.
        output_encoding: See ``unicode_decode``.
        errors: What to do with numbers that are no character.
        replacement_char: What replaces them.
        name: Accepted for compatibility.

    Returns:
        Strings, with one axis less.

    Raises:
        InvalidArgumentError: a number is no character, if strict.

    Example:
        >>> import tfx as tf
        >>> tf.strings.unicode_encode([97, 233], "UTF-8").numpy()
        b'a\xc3\xa9'
    """
    x = tensor(input, dtypes.int32)
    if x.shape.rank == 0:
        raise InvalidArgumentError(
            f"input_tensor's rank must be at least 1 in unicode_encode; got {input!r}."
        )

    def letter(point: int) -> str:
        if 0 <= point < 0x110000 and not 0xD800 <= point < 0xE000:
            return chr(point)
        if errors == "strict":
            raise InvalidArgumentError(f"Code point {point} is out of range for Unicode.")
        return chr(replacement_char) if errors == "replace" else ""

    def compute(a: Any) -> list[Any]:
        rows = [
            "".join([letter(int(p)) for p in row]).encode(output_encoding)
            for row in a.reshape(int(np.prod(a.shape[:-1], dtype=int)), a.shape[-1])
        ]
        return [strings_of(rows).reshape(a.shape[:-1])]

    shape = x.shape.symbolic
    static = None if shape is None else shape[:-1]
    return by_python("strings.unicode_encode", compute, [x], [(dtypes.string, static)])[0]


def unicode_split(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Tensor:
    r"""The characters of one string, as a vector of strings; see ``unicode_decode``.

    Example:
        >>> import tfx as tf
        >>> tf.strings.unicode_split("aé", "UTF-8").numpy()
        array([b'a', b'\xc3\xa9'], dtype=object)
    """
    x = one_text(input, "UnicodeSplit")

    def pieces(a: Any) -> list[Any]:
        return [strings_of(characters(a.item(), input_encoding, errors, replacement_char))]

    return by_python("strings.unicode_split", pieces, [x], [(dtypes.string, (None,))])[0]


def characters(value: bytes, encoding: str, errors: str, replacement: int) -> list[bytes]:
    """The characters of a text, each a text of its own; see ``unicode_decode``."""
    plain = _order(value, encoding)[0]
    return [_encoded(c, plain) for c in _decode(value, encoding, errors, replacement)]


def unicode_transcode(
    input: Any,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    r"""Strings in another encoding; see ``unicode_decode``.

    Example:
        >>> import tfx as tf
        >>> tf.strings.unicode_transcode(["a"], "UTF-8", "UTF-16-BE").numpy()
        array([b'\x00a'], dtype=object)
    """

    def change(value: bytes) -> bytes:
        found = _decode(value, input_encoding, errors, replacement_char)
        if replace_control_characters:
            found = _without_controls(found, errors, replacement_char)
        return _encoded(found, output_encoding)

    return letters(text(input, "UnicodeTranscode"), "strings.unicode_transcode", change)


def unicode_script(input: Any, name: str | None = None) -> Tensor:
    """The script that characters belong to, by the numbers of ICU's ``UScriptCode``.

    Args:
        input: int32 code points.
        name: Accepted for compatibility.

    Returns:
        int32 of the same shape: 0: common to scripts, 17: Han, 25: Latin; -1: no character.

    Example:
        >>> import tfx as tf
        >>> tf.strings.unicode_script([ord("a"), ord("語"), ord("!")]).numpy()
        array([25, 17,  0], dtype=int32)
    """
    x = tensor(input, dtypes.int32)

    def scripts(points: Any) -> list[Any]:
        starts, codes = runs()
        found = codes[np.searchsorted(starts, points, "right") - 1]
        return [np.where((points >= 0) & (points < 0x110000), found, np.int32(-1))]

    return by_python("strings.unicode_script", scripts, [x], [(dtypes.int32, x.shape.symbolic)])[0]
