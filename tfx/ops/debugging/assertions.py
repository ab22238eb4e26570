"""Checks of contents: ``tf.debugging.assert_equal`` and its relatives, ``Assert``.

What is known while a function is traced is checked then. Of the rest the graph computes whether it
holds, one boolean, and a host call raises if it does not. What the message shows comes along: whole
where it is small or a graph's input anyway, otherwise the first elements, so that a check that
passes copies nothing large.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import finfo
from tfx.core.errors import InvalidArgumentError
from tfx.core.source import user_frame
from tfx.framework.builder import ox
from tfx.framework.context import current, using
from tfx.framework.convert import int64_constant
from tfx.framework.host_call import host_call
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.framework.variable import Variable
from tfx.graph.ir import HostCall
from tfx.ops.array.static_value import get_static_value
from tfx.ops.common.arguments import cast_to, require_dtype, same_dtype, tensor
from tfx.ops.debugging.print import describe
from tfx.ops.math import comparison
from tfx.ops.math.arithmetic import add, multiply, subtract
from tfx.ops.math.elementwise import abs as absolute

_Array = np.ndarray[Any, Any]
# Elements shown of each tensor where the caller does not say.
_SHOWN = 3
# Tensors of up to so many elements are available whole for the message of an assertion in a graph.
_SMALL = 256


def Assert(  # noqa: N802
    condition: Any, data: Sequence[Any], summarize: int | None = None, name: str | None = None
) -> None:
    """Raise unless a condition holds; inside a function, whenever the function runs.

    Args:
        condition: Scalar bool tensor or a value convertible to one.
        data: What to show if it does not.
        summarize: How many elements of each to show; None: 3.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: it does not hold.
        ValueError: a condition that is no scalar.

    Example:
        >>> import tfx as tf
        >>> tf.Assert(tf.constant(2) > 1, ["too small"])
    """
    checked = tensor(condition)
    if checked.shape.num_elements() not in (None, 1):
        raise InvalidArgumentError(
            f"The condition of tf.Assert must be a scalar; got the shape {checked.shape}. Reduce "
            "it with tfx.reduce_all."
        )
    shown = [tensor(x) for x in data]
    count = _SHOWN if summarize is None else summarize
    if current().graph is not None:
        _guard(checked, shown, count, "Assert", lambda parts, _: _listed(parts, count))
    elif not np.asarray(checked).all():
        text = "\n".join(_leading(np.asarray(x), count) for x in shown)
        raise InvalidArgumentError(
            f"Expected '{condition!s}' to be true. Summarized data: {text}", op="Assert"
        )


def _leading(array: _Array, count: int) -> str:
    """The first elements of an array, as TensorFlow shows them eagerly."""
    flat = array.reshape(-1)
    texts = [str(x) for x in (flat if count < 0 else flat[:count])]
    return ", ".join([*texts, "..."] if array.ndim and len(texts) < flat.size else texts)


def _listed(parts: Sequence[_Array], count: int) -> str:
    """The data of an assertion, each thing in brackets."""
    texts = []
    for part in parts:
        flat = part.reshape(-1)
        first = flat if count < 0 else flat[:count]
        text = describe(first, -1).strip("[]").replace('"', "")
        texts.append(f"[{text}{'...' if len(first) < len(flat) else ''}]")
    return " ".join(texts)


def _guard(
    holds: Tensor,
    data: Sequence[Tensor],
    count: int,
    description: str,
    explain: Callable[[Sequence[_Array], bool], str],
) -> None:
    """Raise when the graph under construction runs and a condition does not hold then.

    Args:
        holds: One element, zero or False if not.
        data: What the message is made of.
        count: How many elements of each are enough if it is large.
        description: For listings of the graph.
        explain: Makes the message from the contents of ``data`` and whether they are whole.
    """
    source = user_frame()

    whole = all(_is_kept(x, count) for x in data)

    def run(given: Sequence[EagerTensor]) -> None:
        if not bool(given[0].view()):
            text = explain([x.view() for x in given[1:]], whole)
            raise InvalidArgumentError(
                f"assertion failed: {text} [{source.text()}]", op="Assert", source=source
            )

    with using(tapes=()):
        evidence = [x if _is_kept(x, count) else _first(x, count) for x in data]
    host_call(HostCall("assert", run, description), [holds, *evidence])


def _all(holds: Tensor) -> Tensor:
    """Zero unless all are true: ``reduce_all`` without making a boolean of the result."""
    if holds.shape.rank == 0:
        return holds
    return ox.ReduceMin(cast_to(holds, dtypes.uint8), keepdims=0)


def _is_kept(x: Tensor, count: int) -> bool:
    """Return whether all of a tensor is available for a message at negligible cost."""
    if not isinstance(x, SymbolicTensor) or x._symbol.node is None or count < 0:
        return True
    size = x.shape.num_elements()
    return size is not None and size <= _SMALL


def _first(x: Tensor, count: int) -> Tensor:
    """Return the first elements: one more than is shown, which tells that there are more."""
    flat = ox.Reshape(x, int64_constant([-1]))
    return ox.Slice(flat, int64_constant([0]), int64_constant([count + 1]))


def _compare(
    symbol: str,
    holds: Callable[[_Array, _Array], _Array],
    traced: Callable[[Any, Any], Tensor],
    x: Any,
    y: Any,
    message: str | None,
    summarize: int | None,
) -> None:
    """Check a relation: with NumPy where both sides are known, otherwise in the graph."""
    a, b = same_dtype(x, y, f"assertion x {symbol} y")
    count = _SHOWN if summarize is None else summarize
    left, right = _known(a), _known(b)
    if left is None or right is None:
        with using(tapes=()):
            condition = _all(traced(a, b))
        lead = f"{_prefix(message)}Condition x {symbol} y did not hold.\n"

        def explain(parts: Sequence[_Array], whole: bool) -> str:
            p, q = parts
            if not whole:
                return lead + _first_elements(p, q, count)
            return lead + _differences(p, q, ~np.asarray(holds(p, q), np.bool_), count)

        _guard(condition, (a, b), count, f"x {symbol} y", explain)
        return
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
            + _differences(left, right, wrong, count)
        )


def _known(x: Tensor) -> _Array | None:
    """The contents of a tensor, None while they are not known."""
    if isinstance(x, EagerTensor):
        return x.view()
    value = get_static_value(x)
    return None if value is None else np.asarray(value)


def _differences(left: _Array, right: _Array, wrong: _Array, count: int) -> str:
    """Describe the positions at which two arrays differ, the values there, and first elements."""
    lines = []
    if wrong.ndim:
        places = np.argwhere(wrong)[: count if count >= 0 else None]
        at = tuple(places.T)
        lines += [f"Indices of first {len(places)} different values:", str(places)]
        for name, array in (("x", left), ("y", right)):
            values = np.broadcast_to(array, wrong.shape)[at]
            lines += [f"Corresponding {name} values:", str(values)]
    return "\n".join([*lines, _first_elements(left, right, count)])


def _first_elements(left: _Array, right: _Array, count: int) -> str:
    lines = []
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

    Example:
        >>> import tfx as tf
        >>> tf.debugging.assert_equal([1, 1], 1)
    """
    _compare("==", operator.eq, comparison.equal, x, y, message, summarize)


def assert_none_equal(
    x: Any,
    y: Any,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Raise unless all elements differ; see ``assert_equal``."""
    _compare("!=", operator.ne, comparison.not_equal, x, y, message, summarize)


def assert_less(
    x: Any,
    y: Any,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise unless all elements of ``x`` are less than those of ``y``; see ``assert_equal``."""
    _compare("<", operator.lt, comparison.less, x, y, message, summarize)


def assert_less_equal(
    x: Any,
    y: Any,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise if an element of ``x`` is greater than that of ``y``; see ``assert_equal``."""
    _compare("<=", operator.le, comparison.less_equal, x, y, message, summarize)


def assert_greater(
    x: Any,
    y: Any,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise unless all elements of ``x`` are greater than those of ``y``; see ``assert_equal``."""
    _compare(">", operator.gt, comparison.greater, x, y, message, summarize)


def assert_greater_equal(
    x: Any,
    y: Any,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raise if an element of ``x`` is less than that of ``y``; see ``assert_equal``."""
    _compare(">=", operator.ge, comparison.greater_equal, x, y, message, summarize)


def assert_positive(
    x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise unless all elements are greater than zero; see ``assert_equal``."""
    _compare(">", operator.gt, comparison.greater, x, _zero(x), message, summarize)


def assert_negative(
    x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise unless all elements are less than zero; see ``assert_equal``."""
    _compare("<", operator.lt, comparison.less, x, _zero(x), message, summarize)


def assert_non_negative(
    x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise if an element is less than zero; see ``assert_equal``."""
    _compare(">=", operator.ge, comparison.greater_equal, x, _zero(x), message, summarize)


def assert_non_positive(
    x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raise if an element is greater than zero; see ``assert_equal``."""
    _compare("<=", operator.le, comparison.less_equal, x, _zero(x), message, summarize)


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
    a, b = same_dtype(x, y, "assert_near")
    require_dtype(a, a.dtype.is_floating, "assert_near", "a floating dtype")
    precision = finfo(a.dtype)
    default = 10 * float(precision.eps)
    relative, absolute_ = (_tolerance(default if t is None else t) for t in (rtol, atol))
    symbol = f"== (tolerance rtol = {relative}, atol = {absolute_})"
    given = [t for t in (relative, absolute_) if isinstance(t, Tensor)]

    def near(left: _Array, right: _Array) -> _Array:
        if given:  # only a graph knows them
            return np.asarray(left == right)
        wide = left.astype(np.float64), right.astype(np.float64)
        with np.errstate(invalid="ignore"):
            close = np.abs(wide[0] - wide[1]) <= absolute_ + relative * np.abs(wide[1])
        return np.asarray(close | (left == right))

    def traced(left: Tensor, right: Tensor) -> Tensor:
        wide = dtypes.float64 if left.dtype is dtypes.float64 else dtypes.float32
        p, q, r, t = (cast_to(tensor(v), wide) for v in (left, right, relative, absolute_))
        allowed = add(t, multiply(r, absolute(q)))
        within = comparison.less_equal(absolute(subtract(p, q)), allowed)
        return comparison.logical_or(within, comparison.equal(left, right))

    _compare(symbol, near, traced, a, b, message, summarize)


def _tolerance(x: Any) -> Any:
    """A Python number, or a tensor that has no contents yet."""
    if not isinstance(x, Tensor | Variable):
        return float(x)
    known = _known(tensor(x))
    return tensor(x) if known is None else float(known)
