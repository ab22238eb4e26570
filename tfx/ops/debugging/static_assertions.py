"""Checks of dtypes, ranks and shapes.

What a trace knows is checked while tracing. If a rank or size is known only when the function runs,
the same check is a host call that gets the shapes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.core.source import user_frame
from tfx.framework.builder import ox
from tfx.framework.context import using
from tfx.framework.host_call import host_call
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.framework.variable import Variable
from tfx.graph.ir import HostCall
from tfx.ops.array.static_value import get_static_value
from tfx.ops.common.arguments import tensor


def is_numeric_tensor(tensor: Any) -> bool:
    """True if something is a tensor of numbers (bool and string are none).

    Example:
        >>> import tfx as tf
        >>> tf.debugging.is_numeric_tensor(tf.constant(1)), tf.debugging.is_numeric_tensor(1)
        (True, False)
    """
    return isinstance(tensor, Tensor) and tensor.dtype.is_numeric_compatible


def assert_type(
    tensor: Any, tf_type: DTypeLike, message: str | None = None, name: str | None = None
) -> None:
    """Raise unless a tensor has a dtype.

    Args:
        tensor: Tensor, also a ragged or sparse one, or a value convertible to one.
        tf_type: The dtype.
        message: In front of the error's message.
        name: Accepted for compatibility.

    Raises:
        TypeError: it has another one.

    Example:
        >>> import tfx as tf
        >>> tf.debugging.assert_type(tf.constant(1.0), tf.float32)
    """
    whole = hasattr(type(tensor), "_tfx_spec")
    _require_type(tensor if whole else _tensor(tensor), dtypes.as_dtype(tf_type), message)


def _require_type(given: Any, wanted: DType, message: str | None) -> None:
    if given.dtype is not wanted:
        raise TypeError(f"{_prefix(message)}tensor must be of type {wanted!r}; got {given.dtype!r}")


def _tensor(x: Any) -> Tensor:
    return tensor(x)


def _prefix(message: str | None) -> str:
    return f"{message}.  " if message else ""


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> None:
    """Raise a TypeError unless a tensor has an integer dtype; see ``assert_type``."""
    given = _tensor(x)
    if not given.dtype.is_integer:
        raise TypeError(
            f'{_prefix(message)}Expected "x" to be integer type.  Found: tensor of dtype '
            f"{given.dtype!r}"
        )


def assert_same_float_dtype(
    tensors: Iterable[Any] | None = None, dtype: DTypeLike | None = None
) -> DType:
    """Raise unless tensors have one floating dtype.

    Args:
        tensors: Tensors; None among them are passed over.
        dtype: The dtype that they must have; None: any.

    Returns:
        The dtype; float32 where nothing says.

    Raises:
        ValueError: dtypes differ or are not floating.

    Example:
        >>> import tfx as tf
        >>> tf.debugging.assert_same_float_dtype([tf.constant(1.0), tf.constant(2.0)])
        tf.float32
    """
    given = [x for x in tensors or () if x is not None]
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    for x in given:
        if wanted is None:
            wanted = x.dtype
        if x.dtype is not wanted:
            other = "" if x is given[0] else f" as {given[0]}"
            raise InvalidArgumentError(
                f"{x}, type={x.dtype!r}, must be of the same type ({wanted!r}){other}."
            )
    result = dtypes.float32 if wanted is None else wanted
    if not result.is_floating:
        raise InvalidArgumentError(f"Expected floating point type, got {result!r}.")
    return result


def assert_proper_iterable(values: Any) -> None:
    """Raise unless a value is a list, tuple or the like: no tensor, array or text.

    Raises:
        TypeError: it is not.

    Example:
        >>> import tfx as tf
        >>> tf.debugging.assert_proper_iterable([tf.constant(1)])
    """
    if isinstance(values, Tensor | Variable | np.ndarray | str | bytes):
        raise TypeError(
            f'Expected argument "values" to be a "proper" iterable.  Found: {type(values)}'
        )
    if not hasattr(values, "__iter__"):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')


def assert_rank(x: Any, rank: Any, message: str | None = None, name: str | None = None) -> None:
    """Raise unless a tensor has a rank.

    Args:
        x: Tensor or a value convertible to one.
        rank: The number of dimensions.
        message: In front of the error's message.
        name: Accepted for compatibility.

    Raises:
        ValueError: it has another one. Inside a function that does not know the rank, or of which
            rank, an InvalidArgumentError (which is a ValueError) when it runs.

    Example:
        >>> import tfx as tf
        >>> tf.debugging.assert_rank([[1, 2]], 2)
    """
    _check_rank(x, [rank], message, lambda w: f"{w[0]}", lambda have, w: have == w[0])


def assert_rank_at_least(
    x: Any, rank: Any, message: str | None = None, name: str | None = None
) -> None:
    """Raise unless a tensor has at least a rank; see ``assert_rank``."""
    _check_rank(x, [rank], message, lambda w: f"at least {w[0]}", lambda have, w: have >= w[0])


def assert_rank_in(
    x: Any, ranks: Iterable[Any], message: str | None = None, name: str | None = None
) -> None:
    """Raise unless a tensor has one of several ranks; see ``assert_rank``."""
    _check_rank(x, list(ranks), message, lambda w: f"in {tuple(w)}", lambda have, w: have in w)


def assert_scalar(tensor: Any, message: str | None = None, name: str | None = None) -> Tensor:
    """Raise unless a tensor is a scalar; see ``assert_rank``. Returns the tensor."""
    given = _tensor(tensor)
    prefix = _prefix(message)

    def check(shapes: Sequence[_Shape], numbers: Sequence[int | None]) -> bool:
        if shapes[0]:
            raise _WrongShape(
                f"{prefix}Expected scalar shape, saw shape: {TensorShape(shapes[0])}."
            )
        return shapes[0] is not None

    _check(check, [given], (), "scalar")
    return given


# Sizes as far as they are known; None: not even how many there are.
_Shape: TypeAlias = "tuple[int | None, ...] | None"
# Checks shapes and numbers as far as they are known and tells whether nothing was left open.
_Checker: TypeAlias = "Callable[[Sequence[_Shape], Sequence[int | None]], bool]"


class _WrongShape(Exception):  # noqa: N818
    """The failure of a static check, with its message."""


def _check(
    check: _Checker, tensors: Sequence[Tensor], numbers: Sequence[Tensor], description: str
) -> None:
    """Check what is known now, and the rest when the graph runs."""
    shapes = [None if (r := t.shape).rank is None else tuple(r) for t in tensors]
    try:
        if check(shapes, [_static_int(n) for n in numbers]):
            return
    except _WrongShape as e:
        raise InvalidArgumentError(str(e)) from None
    source = user_frame()

    def run(given: Sequence[EagerTensor]) -> None:
        arrays = [x.view() for x in given]
        met = [tuple(a.tolist()) for a in arrays[: len(tensors)]]
        try:
            check(met, [int(a) for a in arrays[len(tensors) :]])
        except _WrongShape as e:
            raise InvalidArgumentError(
                f"assertion failed: {e} [{source.text()}]", op="Assert", source=source
            ) from None

    with using(tapes=()):
        vectors = [ox.Shape(t) for t in tensors]
    host_call(HostCall("assert", run, description), [*vectors, *numbers])


def _static_int(x: Tensor) -> int | None:
    value = get_static_value(x)
    return None if value is None else int(value)


def _check_rank(
    x: Any,
    ranks: Sequence[Any],
    message: str | None,
    words: Callable[[Sequence[int]], str],
    holds: Callable[[int, Sequence[int]], bool],
) -> None:
    given = _tensor(x)
    text = f"{_prefix(message)}Tensor {_name(given)} must have rank"

    def check(shapes: Sequence[_Shape], numbers: Sequence[int | None]) -> bool:
        wanted = [n for n in numbers if n is not None]
        if shapes[0] is None or len(wanted) < len(numbers):
            return False
        have = len(shapes[0])
        if not holds(have, wanted):
            raise _WrongShape(
                f"{text} {words(wanted)}.  Received rank {have}, shape {TensorShape(shapes[0])}"
            )
        return True

    _check(check, [given], [_rank_argument(r) for r in ranks], "rank")


def _rank_argument(rank: Any) -> Tensor:
    given = _tensor(rank)
    _require_type(given, dtypes.int32, None)
    if given.shape.rank != 0:
        raise InvalidArgumentError("Rank must be a scalar.")
    return given


def _name(given: Tensor) -> str:
    return "" if isinstance(given, EagerTensor) else given.name


# What stands for any size, and for any number of leading dimensions.
_ANY_SIZE = (None, ".")
_ANY_DIMS = (Ellipsis, "*")


def assert_shapes(
    shapes: Mapping[Any, Any] | Sequence[tuple[Any, Any]],
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Raise unless tensors have given shapes, in which a letter is one size everywhere.

    Args:
        shapes: Pairs of a tensor and its shape. A dimension is a number, a name (one size wherever
            it occurs), or None (any size); ``...`` in front stands for any number of dimensions.
        data: Accepted for compatibility: the message shows the shapes.
        summarize: Accepted for compatibility.
        message: In front of the error's message.
        name: Accepted for compatibility.

    Raises:
        ValueError: a tensor has another shape. Inside a function that does not know the shape, an
            InvalidArgumentError (which is a ValueError) when it runs.

    Example:
        >>> import tfx as tf
        >>> x, y = tf.ones([2, 3]), tf.ones([2])
        >>> tf.debugging.assert_shapes([(x, ("N", 3)), (y, ("N",))])
    """
    pairs = shapes.items() if isinstance(shapes, Mapping) else shapes
    rules = [_ShapeRule(_tensor(x), wanted, _prefix(message)) for x, wanted in pairs]
    # A name that occurs once says nothing.
    names = Counter(size for rule in rules for size in rule.sizes)

    def check(met: Sequence[_Shape], numbers: Sequence[int | None]) -> bool:
        # Name -> its size, and where it was first seen.
        sizes: dict[Any, tuple[int, str]] = {}
        done = [rule.holds(shape, sizes, names) for rule, shape in zip(rules, met, strict=True)]
        return all(done)

    _check(check, [rule.tensor for rule in rules], (), "shapes")


class _ShapeRule:
    """One tensor of ``assert_shapes`` and the shape that it should have."""

    def __init__(self, tensor: Tensor, wanted: Any, prefix: str) -> None:
        self.tensor = tensor
        self._prefix = prefix
        text = self._text(tuple(tensor.shape) if tensor.shape.rank is not None else None)
        if not hasattr(wanted, "__iter__") and not hasattr(wanted, "__getitem__"):
            raise InvalidArgumentError(
                f"{prefix}{text}.  Specified shape must be an iterable.  Got: {wanted!r}"
            )
        sizes = list(wanted)
        self._open = bool(sizes) and any(sizes[0] is s or sizes[0] == s for s in _ANY_DIMS)
        self.sizes = sizes[1:] if self._open else sizes
        if any(d is Ellipsis or d == "*" for d in self.sizes):
            raise InvalidArgumentError(
                f"{prefix}{text}: `...` or `*` for a variable number of unspecified dimensions is "
                f"only allowed as the first entry; got {wanted!r}."
            )

    def _text(self, shape: _Shape) -> str:
        name = f" {_name(self.tensor)}".rstrip()
        return f"Tensor{name} shape={TensorShape(shape)} dtype={self.tensor.dtype.name}"

    def holds(
        self, shape: _Shape, sizes: dict[Any, tuple[int, str]], names: Mapping[Any, int]
    ) -> bool:
        """Check a shape as far as it is known, and tell whether nothing was left open."""
        wanted = self.sizes
        if shape is None:
            return self._open and not wanted
        rank = len(shape)
        if rank < len(wanted) or (rank > len(wanted) and not self._open):
            expected = f"at least {len(wanted)}" if self._open else str(len(wanted))
            raise _WrongShape(
                f"{self._prefix}{self._text(shape)} must have rank {expected}.  Received rank "
                f"{rank}, shape {TensorShape(shape)}"
            )
        done = True
        for i, size in enumerate(wanted, rank - len(wanted)):
            fixed = isinstance(size, int | np.integer)
            if size in _ANY_SIZE or (not fixed and names[size] == 1):
                continue
            if shape[i] is None:
                done = False
            else:
                self._check_size(shape, i, size, sizes)
        return done

    def _check_size(
        self, shape: tuple[int | None, ...], axis: int, size: Any, sizes: dict[Any, Any]
    ) -> None:
        have, text = shape[axis], self._text(shape)
        if isinstance(size, int | np.integer):
            expected, origin = int(size), "Specified explicitly."
        else:
            place = f"{text.removeprefix('Tensor ')} dimension {axis}"
            expected, where = sizes.setdefault(size, (have, place))
            origin = f"Specified by tensor {where}."
        if have != expected:
            raise _WrongShape(
                f"{self._prefix}{origin}  {text} dimension {axis} must have size {expected}.  "
                f"Received size {have}, shape {TensorShape(shape)}"
            )
