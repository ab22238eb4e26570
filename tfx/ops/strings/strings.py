"""``tfx.strings``: what ONNX has operators for, so that graphs which use it can be saved."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.core.errors import InternalError, InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.context import init_scope
from tfx.framework.convert import constant, convert_to_tensor, embed, int64_constant
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.ops.array.concat import unstack
from tfx.ops.common.arguments import (
    cast_to,
    dtype_or,
    require_dtype,
    single_axis,
    static_ints,
    tensor,
)
from tfx.ops.common.graph_loop import repeated
from tfx.ops.common.python_ops import by_python, each
from tfx.ops.common.shapes import concat_shape, shape_vector
from tfx.ops.debugging.assertions import Assert
from tfx.ops.math.reduction import reduce_all
from tfx.ops.strings.literals import words


def text(x: Any, op: str) -> Tensor:
    """A tensor of strings.

    Raises:
        InvalidArgumentError: another dtype.
    """
    found = tensor(x)
    require_dtype(found, found.dtype is dtypes.string, op, "strings")
    return found


def text_argument(value: Any, what: str) -> bytes:
    """A text that must be known now: of Python, or of a scalar tensor.

    Raises:
        InvalidArgumentError: a tensor that only a run tells.
        TypeError: something else.
    """
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    given = tensor(value)
    if given.dtype is not dtypes.string or given.shape.rank not in (0, None):
        raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype string: {what}.")
    if not isinstance(given, EagerTensor):
        raise InvalidArgumentError(f"{what} must be known while tracing; got {value!r}.")
    found: bytes = given.view().item()
    return found


def join(inputs: Any, separator: str = "", name: str | None = None) -> Tensor:
    """Strings of several tensors written one after the other, element by element.

    Args:
        inputs: Tensors of strings of one shape; scalars are repeated.
        separator: Text between them.
        name: Accepted for compatibility.

    Returns:
        Strings of the common shape.

    Raises:
        ValueError: no inputs.

    Example:
        >>> import tfx as tf
        >>> tf.strings.join([["a", "b"], "c"], separator="-").numpy()
        array([b'a-c', b'b-c'], dtype=object)
    """
    if isinstance(inputs, str | bytes):
        raise TypeError(f"strings.join expects a list of tensors as `inputs`; got {inputs!r}.")
    parts = [text(x, "StringJoin") for x in inputs]
    return _joined(parts, separator) if parts else constant("")


def _joined(parts: list[Tensor], separator: str) -> Tensor:
    between = constant(separator) if separator else None
    result = parts[0]
    for part in parts[1:]:
        if between is not None:
            result = ox.StringConcat(result, between)
        result = ox.StringConcat(result, part)
    return result


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """The strings along axes written one after the other.

    Args:
        inputs: Tensor of strings.
        axis: One axis or several, which are joined one after the other in the order given. None:
            all, the last one first.
        keepdims: Keep the axes with length 1.
        separator: Text between neighbours.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: an axis out of range.

    Example:
        >>> import tfx as tf
        >>> tf.strings.reduce_join([["a", "b"], ["c", "d"]], axis=-1).numpy()
        array([b'ab', b'cd'], dtype=object)
    """
    x = text(inputs, "ReduceJoin")
    if x.shape.rank is None:
        raise InvalidArgumentError("ReduceJoin needs inputs of known rank; use ensure_shape.")
    if axis is None:
        axes = list(range(x.shape.rank))[::-1]
    else:
        given = list(axis) if isinstance(axis, list | tuple) else static_ints(tensor(axis))
        if given is None:
            raise InvalidArgumentError(
                f"ReduceJoin: axis must be known while a function is traced; got {axis!r}."
            )
        axes = [single_axis(a, x, "ReduceJoin") for a in given]
    for a in axes:
        if x.shape[a] is None:
            x = _joined_in_loop(x, a, separator)
            continue
        parts = unstack(x, axis=a)
        shape = [1 if i == a else d for i, d in enumerate(x.shape.as_list())]
        if parts:
            kept = ox.Unsqueeze(_joined(parts, separator), int64_constant([a]))
        else:
            kept = convert_to_tensor(_empty_texts([d or 0 for d in shape]))
        x = kept
    return x if keepdims or not axes else ox.Squeeze(x, int64_constant(sorted(axes)))


def _joined_in_loop(x: Tensor, axis: int, separator: str) -> Tensor:
    """The strings along an axis whose length a run tells, which becomes 1."""
    place = int64_constant([axis])
    between = constant(separator) if separator else None

    def append(number: Tensor, made: Tensor) -> tuple[Tensor, list[Tensor]]:
        if between is not None:
            # Nothing stands in front of the first one.
            first = ox.Equal(number, int64_constant(0))
            made = ox.Where(first, made, ox.StringConcat(made, between))
        part = ox.Gather(x, ox.Unsqueeze(number, int64_constant([0])), axis=axis)
        return embed(np.array(True)), [ox.StringConcat(made, part)]

    sizes = [shape_vector(x, 0, axis), int64_constant([1]), shape_vector(x, axis + 1)]
    empty = ox.Expand(constant(""), concat_shape(*sizes))
    if isinstance(empty, SymbolicTensor):
        empty.set_shape([1 if i == axis else d for i, d in enumerate(x.shape.as_list())])
    count = ox.Squeeze(ox.Slice(ox.Shape(x), place, ox.Add(place, int64_constant(1))))
    return repeated(count, [empty], append)[0]


def _empty_texts(shape: list[int]) -> Any:
    return np.full(shape, b"", object)


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Return whether each whole string matches a regular expression (in RE2's syntax).

    Args:
        input: Tensor of strings.
        pattern: The expression, a Python string.
        name: Accepted for compatibility.

    Returns:
        bool of the shape of ``input``.

    Raises:
        InvalidArgumentError: not a regular expression.

    Example:
        >>> import tfx as tf
        >>> tf.strings.regex_full_match(["TF lib", "TF"], ".*lib$").numpy()
        array([ True, False])
    """
    expression = text_argument(pattern, "pattern of regex_full_match").decode() or "^$"
    _check_pattern(expression)
    return ox.RegexFullMatch(text(input, "RegexFullMatch"), pattern=expression)


@functools.lru_cache(maxsize=256)
def _check_pattern(expression: str) -> None:
    """Find a pattern that is none now, and not when a function runs."""
    try:
        with init_scope():
            ox.RegexFullMatch(constant(""), pattern=expression)
    except InternalError as e:
        raise InvalidArgumentError(f"Invalid pattern: {expression!r} ({e})") from e


def lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Strings with small letters.

    Args:
        input: Tensor of strings.
        encoding: ``""``: the letters A to Z alone; ``"utf-8"``: all letters, which Python does, so
            that a function with it cannot be saved.
        name: Accepted for compatibility.

    Raises:
        ValueError: another encoding.

    Example:
        >>> import tfx as tf
        >>> tf.strings.lower("CamelCase").numpy()
        b'camelcase'
    """
    return _case(input, encoding, "LOWER")


def upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Strings with capital letters; see ``lower``.

    Example:
        >>> import tfx as tf
        >>> tf.strings.upper("CamelCase").numpy()
        b'CAMELCASE'
    """
    return _case(input, encoding, "UPPER")


def _case(x: Any, encoding: str, case: str) -> Tensor:
    if encoding not in ("", "utf-8"):
        raise InvalidArgumentError(f"encoding must be '' or 'utf-8'; got {encoding!r}.")
    x = text(x, f"String{case.title()}")
    kind = f"strings.{case.lower()}"
    if encoding or isinstance(x, EagerTensor):

        def change(value: bytes) -> bytes:
            if not encoding:
                return value.lower() if case == "LOWER" else value.upper()
            decoded = value.decode(errors="replace")
            return (decoded.lower() if case == "LOWER" else decoded.upper()).encode()

        outputs = [(dtypes.string, x.shape.symbolic)]
        return by_python(kind, lambda a: [each(change, object, a)], [x], outputs)[0]
    # The locale "C" knows the letters A to Z alone, and is there on every machine. The operator
    # takes vectors, and turns an empty one into one empty string: there is always one more.
    shape = ox.Shape(x)
    flat = ox.Concat(ox.Reshape(x, int64_constant([-1])), constant([""]), axis=0)
    changed = ox.StringNormalizer(flat, case_change_action=case, is_case_sensitive=1, locale="C")
    kept = ox.Slice(changed, int64_constant([0]), int64_constant([-1]))
    return ox.Reshape(kept, shape, allowzero=1)


def split(
    input: Any,
    sep: str | None = None,
    maxsplit: int = -1,
    name: str | None = None,
) -> Tensor:
    """The pieces of one string; ``ragged_ops.strings`` splits several.

    Args:
        input: A string (a scalar tensor).
        sep: What lies between pieces; None or ``""``: any run of white space.
        maxsplit: The most splits; -1: no limit.
        name: Accepted for compatibility.

    Returns:
        A vector of strings.

    Raises:
        InvalidArgumentError: not a scalar.

    Example:
        >>> import tfx as tf
        >>> tf.strings.split("Gray wolf").numpy()
        array([b'Gray', b'wolf'], dtype=object)
    """
    x = one_text(input, "StringSplit")
    mark = b"" if sep is None else text_argument(sep, "sep of strings.split")
    if not mark and maxsplit < 0 and not isinstance(x, EagerTensor):
        return ox.Squeeze(words(ox.Reshape(x, int64_constant([1])))[0], int64_constant([0]))
    if isinstance(x, EagerTensor) or not mark:

        def compute(a: Any) -> list[Any]:
            return [_vector(pieces(a.item(), mark, maxsplit))]

        return by_python("strings.split", compute, [x], [(dtypes.string, (None,))])[0]
    attributes: dict[str, Any] = {"delimiter": mark.decode()}
    if maxsplit >= 0:
        attributes["maxsplit"] = maxsplit
    found = ox.StringSplit(x, **attributes)[0]
    # The operator finds nothing in an empty string, where one empty piece is.
    count = ox.Shape(found)
    nothing = ox.Equal(count, int64_constant([0]))
    padded = ox.Concat(found, constant([""]), axis=0)
    end = ox.Where(nothing, int64_constant([1]), count)
    return ox.Slice(padded, int64_constant([0]), end)


def pieces(value: bytes, mark: bytes, maxsplit: int) -> list[bytes]:
    """The pieces of a text between marks, or between white space where the mark is empty."""
    if mark:
        return value.split(mark, maxsplit)
    if maxsplit == 0:
        return [value]  # with the white space around it
    found = value.split(None, maxsplit)
    # Behind the last split there is one more piece, which may be empty.
    return [*found, b""] if len(found) == maxsplit else found


def _vector(items: list[bytes]) -> Any:
    result = np.empty([len(items)], object)
    result[:] = items
    return result


def one_text(x: Any, op: str, instead: str = "use the function of tfx.strings") -> Tensor:
    """One string.

    Raises:
        InvalidArgumentError: not a scalar.
    """
    found = text(x, op)
    if found.shape.rank != 0:
        raise InvalidArgumentError(
            f"{op} takes one string (a scalar) here, got strings of shape {found.shape}: {instead}."
        )
    return found


# What C's strtod and strtol take, as a whole.
_FLOAT = r"\s*[-+]?((\d+\.?\d*|\.\d+)(e[-+]?\d+)?|0x[0-9a-f]+|inf|infinity|nan)\s*"
_INTEGER = r"\s*[-+]?\d+\s*"


def to_number(
    input: Any,
    out_type: DTypeLike | None = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """The numbers that strings are written as.

    In a function that is saved text which is no number is not noticed.

    Args:
        input: Tensor of strings.
        out_type: float32, float64, int32 or int64.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: not a number, or one that does not fit the dtype.

    Example:
        >>> import tfx as tf
        >>> tf.strings.to_number("1.55").numpy()
        np.float32(1.55)
    """
    wanted = dtype_or(out_type, dtypes.float32)
    x = text(input, "StringToNumber")
    allowed = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)
    if wanted not in allowed:
        raise InvalidArgumentError(
            f"out_type must be one of {[d.name for d in allowed]}; got {wanted.name}."
        )
    pattern = _INTEGER if wanted.is_integer else f"(?i){_FLOAT}"
    good = regex_full_match(x, pattern)
    if isinstance(x, EagerTensor):
        _complain(x, good)
    else:  # of other text, ONNX Runtime makes a number or an error, as its version has it
        x = ox.Where(good, x, constant("0"))
    number = cast_to(x, dtypes.int64 if wanted.is_integer else dtypes.float64)
    if wanted is dtypes.int32:
        low = ox.GreaterOrEqual(number, int64_constant(-(2**31)))
        high = ox.LessOrEqual(number, int64_constant(2**31 - 1))
        good = ox.And(good, ox.And(low, high))
        if isinstance(x, EagerTensor):
            _complain(x, good)
    if not isinstance(x, EagerTensor):
        Assert(reduce_all(good), ["StringToNumberOp could not correctly convert string", x])
    return cast_to(number, wanted)


def _complain(x: EagerTensor, good: Any) -> None:
    bad = x.view().reshape(-1)[~good.view().reshape(-1)]
    if bad.size:
        text = bad[0].decode(errors="backslashreplace")
        if len(text) > 80:
            text = f"{text[:80]}... ({len(bad[0])} bytes)"
        raise InvalidArgumentError(f"StringToNumberOp could not correctly convert string: {text}")
