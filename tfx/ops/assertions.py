"""Checks of contents: ``tf.debugging.assert_equal`` and its relatives, ``Assert``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tfx.core.errors import InvalidArgumentError
from tfx.framework.tensor import Tensor
from tfx.ops._host import contents_of
from tfx.ops._support import matching, require_dtype, tensor
from tfx.ops.printing import describe

_Array = np.ndarray[Any, Any]
_INSTEAD = (
    "Check it before the call, or return the condition from the function and check it there; "
    "tfx.debugging.assert_rank, assert_type and assert_shapes need static shapes only."
)
# Elements shown of each tensor where the caller does not say.
_SHOWN = 3


def Assert(  # noqa: N802
    condition: Any, data: Sequence[Any], summarize: int | None = None, name: str | None = None
) -> None:
    """Raise unless a condition holds.

    Args:
        condition: Scalar bool tensor or a value convertible to one.
        data: What to show if it does not.
        summarize: How many elements of each to show; None: 3.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: it does not hold.
        OperatorNotAllowedInGraphError: inside a function, it is known only when that runs.

    Example:
        >>> import tfx as tf
        >>> tf.Assert(tf.constant(2) > 1, ["too small"])
    """
    checked = tensor(condition)
    (holds,) = contents_of([checked], "tf.Assert", _INSTEAD)
    if holds.size != 1:
        raise ValueError(
            f"The condition of tf.Assert must be a scalar; got the shape {checked.shape}. Reduce "
            "it with tfx.reduce_all."
        )
    if not holds.all():
        shown = [_text(a, summarize) for a in contents_of([*map(tensor, data)], "tf.Assert", "")]
        raise InvalidArgumentError(
            f"Expected '{condition}' to be true. Summarized data: " + "\n".join(shown),
            op="Assert",
        )


def _text(array: _Array, summarize: int | None) -> str:
    return describe(array, _SHOWN if summarize is None else summarize)


def _compare(
    symbol: str,
    holds: Callable[[_Array, _Array], _Array],
    x: Any,
    y: Any,
    message: str | None,
    summarize: int | None,
) -> None:
    a, b = matching(x, y, f"assertion x {symbol} y")
    left, right = contents_of([a, b], f"The assertion x {symbol} y", _INSTEAD)
    try:
        wrong = ~np.asarray(holds(left, right), np.bool_)
    except ValueError as e:
        raise InvalidArgumentError(
            f"{_prefix(message)}Incompatible shapes: {a.shape} vs. {b.shape}; x and y must "
            f"broadcast to compare x {symbol} y."
        ) from e
    if wrong.any():
        raise InvalidArgumentError(
            f"{_prefix(message)}Condition x {symbol} y did not hold.\n"
            + _differences(left, right, wrong, _SHOWN if summarize is None else summarize)
        )


def _differences(left: _Array, right: _Array, wrong: _Array, count: int) -> str:
    """Where two arrays differ, the values there, and their first elements."""
    lines = []
    if wrong.ndim:
        places = np.argwhere(wrong)[: count if count >= 0 else None]
        at = tuple(places.T)
        lines += [f"Indices of first {len(places)} different values:", str(places)]
        for name, array in (("x", left), ("y", right)):
            values = np.broadcast_to(array, wrong.shape)[at]
            lines += [f"Corresponding {name} values:", str(values)]
    for name, array in (("x", left), ("y", right)):
        first = array.reshape(-1)[: count if count >= 0 else None]
        lines += [f"First {len(first)} elements of {name}:", str(first)]
    return "\n".join(lines)


def _prefix(message: str | None) -> str:
    return f"{message}\n" if message else ""


def assert_equal(
    x: Any,
    y: Any,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise unless all elements are equal, after broadcasting.

    Args:
        x: Tensor or a value convertible to one.
        y: The same, of the same dtype.
        message: In front of the error's message.
        summarize: How many elements to show; None: 3, -1: all.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: some are not.
        OperatorNotAllowedInGraphError: inside a function, contents are known only when that runs.

    Example:
        >>> import tfx as tf
        >>> tf.debugging.assert_equal([1, 1], 1)
    """
    _compare("==", lambda a, b: a == b, x, y, message, summarize)


def assert_none_equal(
    x: Any,
    y: Any,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise unless all elements differ; see ``assert_equal``."""
    _compare("!=", lambda a, b: a != b, x, y, message, summarize)


def assert_less(
    x: Any,
    y: Any,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise unless all elements of ``x`` are less than those of ``y``; see ``assert_equal``."""
    _compare("<", lambda a, b: a < b, x, y, message, summarize)


def assert_less_equal(
    x: Any,
    y: Any,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise if an element of ``x`` is greater than that of ``y``; see ``assert_equal``."""
    _compare("<=", lambda a, b: a <= b, x, y, message, summarize)


def assert_greater(
    x: Any,
    y: Any,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise unless all elements of ``x`` are greater than those of ``y``; see ``assert_equal``."""
    _compare(">", lambda a, b: a > b, x, y, message, summarize)


def assert_greater_equal(
    x: Any,
    y: Any,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise if an element of ``x`` is less than that of ``y``; see ``assert_equal``."""
    _compare(">=", lambda a, b: a >= b, x, y, message, summarize)


def assert_positive(
    x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise unless all elements are greater than zero; see ``assert_equal``."""
    _compare(">", lambda a, b: a > b, x, _zero(x), message, summarize)


def assert_negative(
    x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise unless all elements are less than zero; see ``assert_equal``."""
    _compare("<", lambda a, b: a < b, x, _zero(x), message, summarize)


def assert_non_negative(
    x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise if an element is less than zero; see ``assert_equal``."""
    _compare(">=", lambda a, b: a >= b, x, _zero(x), message, summarize)


def assert_non_positive(
    x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise if an element is greater than zero; see ``assert_equal``."""
    _compare("<=", lambda a, b: a <= b, x, _zero(x), message, summarize)


def _zero(x: Any) -> Tensor:
    like = tensor(x)
    require_dtype(like, like.dtype.is_numeric_compatible, "a comparison with 0", "a number dtype")
    return tensor(0, like.dtype) if like.dtype.is_integer else tensor(0.0, like.dtype)


def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise unless ``|x - y| <= atol + rtol * |y|`` for all elements; see ``assert_equal``.

    Args:
        x: Tensor of a floating dtype or a value convertible to one.
        y: The same.
        rtol: Relative tolerance; None: ten times the dtype's precision.
        atol: Absolute tolerance; None: ten times the dtype's precision.
        message: In front of the error's message.
        summarize: How many elements to show; None: 3, -1: all.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: some elements are further apart; or a dtype that is not floating.

    Example:
        >>> import tfx as tf
        >>> tf.debugging.assert_near([1.0, 2.0], [1.0, 2.1], rtol=0.1)
    """
    a, b = matching(x, y, "assert_near")
    require_dtype(a, a.dtype.is_floating, "assert_near", "a floating dtype")
    precision = ml_dtypes.finfo(a.dtype.as_numpy_dtype)  # type: ignore[no-untyped-call]
    default = 10 * float(precision.eps)
    relative = default if rtol is None else float(rtol)
    absolute = default if atol is None else float(atol)

    def near(left: _Array, right: _Array) -> _Array:
        wide = left.astype(np.float64), right.astype(np.float64)
        with np.errstate(invalid="ignore"):
            close = np.abs(wide[0] - wide[1]) <= absolute + relative * np.abs(wide[1])
        return np.asarray(close | (left == right))

    tolerances = f"(tolerance rtol = {relative}, atol = {absolute})"
    _compare(f"== {tolerances}", near, a, b, message, summarize)


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """Raise if a tensor holds NaN or infinity.

    Args:
        tensor: Tensor of a floating dtype or a value convertible to one.
        message: In front of the error's message.
        name: Accepted for compatibility.

    Returns:
        The tensor.

    Raises:
        InvalidArgumentError: it does; or the dtype is not floating.
        OperatorNotAllowedInGraphError: inside a function, contents are known only when that runs.

    Example:
        >>> import tfx as tf
        >>> tf.debugging.check_numerics(tf.constant([1.0]), "weights").numpy()
        array([1.], dtype=float32)
    """
    return _checked(tensor, message)


def assert_all_finite(x: Any, message: str, name: str | None = None) -> Tensor:
    """Raise if a tensor holds NaN or infinity; the same as ``check_numerics``."""
    return _checked(x, message)


def _checked(x: Any, message: str) -> Tensor:
    given = tensor(x)
    require_dtype(given, given.dtype.is_floating, "CheckNumerics", "a floating dtype")
    (array,) = contents_of([given], "tf.debugging.check_numerics", _INSTEAD)
    found = [name for name, test in (("Inf", np.isinf), ("NaN", np.isnan)) if test(array).any()]
    if found:
        raise InvalidArgumentError(
            f"{message} : Tensor had {' and '.join(found)} values", op="CheckNumerics"
        )
    return given
