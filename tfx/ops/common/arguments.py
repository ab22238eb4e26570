"""Helpers shared by the operation families: conversion, axes, broadcasting in gradients."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tfx.core import dtypes
from tfx.core.dim_names import surely_equal
from tfx.core.dims import is_static
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.composite.complex_rules import complex_rule_of
from tfx.framework.context import current
from tfx.framework.convert import contains_tensor, convert_to_tensor, int64_constant
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.graph import schema
from tfx.graph.symbolic_shapes import elements


def is_tensor_like(x: object) -> bool:
    """True if ``x`` carries a dtype that others must follow (a tensor or a variable)."""
    return isinstance(x, Tensor) or getattr(x, "_is_tfx_variable", False) is True


def tensor(x: Any, dtype: DTypeLike | None = None) -> Tensor:
    """``x`` as a tensor."""
    if isinstance(x, Tensor) and dtype is None:
        return x
    return convert_to_tensor(x, dtype)


def dtype_or(given: DTypeLike | None, default: DType) -> DType:
    """The dtype that an argument says; None says the default, as attributes of operations do."""
    return default if given is None else dtypes.as_dtype(given)


def numpy_of(x: Any) -> np.ndarray[Any, Any]:
    """Return an argument's contents as an array; a tensor of a trace raises."""
    found: Any = tensor(x)
    array: np.ndarray[Any, Any] = found.numpy()
    return array


def same_dtype(x: Any, y: Any, op: str) -> tuple[Tensor, Tensor]:
    """Two operands as tensors of one dtype: a Python or NumPy operand follows the tensor's.

    Raises:
        DTypeMismatchError: two tensors of different dtypes.
        TypeError: a Python value that does not fit the other's dtype.
    """
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        a, b = x, y
    elif _promotion is not None and (_has_own_dtype(x) or _has_own_dtype(y)):
        return _promotion(x, y)
    elif is_tensor_like(x):
        a = tensor(x)
        b = y if isinstance(y, Tensor) else convert_to_tensor(y, dtype_hint=a.dtype)
    elif is_tensor_like(y):
        b = tensor(y)
        a = convert_to_tensor(x, dtype_hint=b.dtype)
    else:
        a = convert_to_tensor(x)
        b = convert_to_tensor(y, dtype_hint=a.dtype)
    if a.dtype is not b.dtype:
        if _promotion is not None:
            return _promotion(x, y)
        _refuse_mix(x, y, a, b, op)
    return a, b


def _has_own_dtype(x: Any) -> bool:
    """True for what says its dtype as much as a tensor: NumPy's arrays, not Python's numbers."""
    return hasattr(x, "__array__") and not is_tensor_like(x)


_promotion: Callable[[Any, Any], tuple[Tensor, Tensor]] | None = None


def set_promotion(convert: Callable[[Any, Any], tuple[Tensor, Tensor]] | None) -> None:
    """Set the conversion of operands of two dtypes; None refuses such operands."""
    global _promotion
    _promotion = convert


def _refuse_mix(x: Any, y: Any, a: Tensor, b: Tensor, op: str) -> None:
    for given, other in ((y, a), (x, b)):
        if isinstance(given, bool | int | float | complex | str):
            raise DTypeMismatchError(
                f"Cannot convert {given!r} to EagerTensor of dtype {other.dtype.name}", op=op
            )
    raise DTypeMismatchError(
        f"cannot compute {op} as input #1(zero-based) was expected to be a {a.dtype.name} tensor "
        f"but is a {b.dtype.name} tensor; use tfx.cast to make them agree.",
        op=op,
    )


def binary(op: str, x: Any, y: Any) -> Tensor:
    """A broadcasting operator on two operands of one dtype."""
    if type(x) is EagerTensor and type(y) is EagerTensor and x._dtype is y._dtype:
        return apply(op, (x, y))
    return apply(op, same_dtype(x, y, op))


def cast_to(x: Tensor, dtype: DType) -> Tensor:
    """``x`` in another dtype."""
    return x if x.dtype is dtype else ox.Cast(x, to=dtype.onnx)


# A scalar constant of another tensor's dtype: ``scalar_like(value, like)``.
scalar_like = ox.like


def normalize_axes(axis: Any, rank: int | None, op: str) -> list[int] | None:
    """Axes as non-negative numbers where the rank is known; None: all axes.

    Raises:
        InvalidArgumentError: an axis out of range.
    """
    if axis is None:
        return None
    if is_tensor_like(axis) or hasattr(axis, "__array__"):
        axis = numpy_of(axis).tolist()
    axes = [int(a) for a in axis] if isinstance(axis, Sequence) else [int(axis)]
    if rank is None:
        return axes
    for a in axes:
        if not -rank <= a < rank:
            raise InvalidArgumentError(
                f"Invalid reduction dimension ({a} for input with {rank} dimension(s)) in {op}; "
                f"expected a value in [{-rank}, {rank}).",
                op=op,
            )
    return [a % rank for a in axes]


def unbroadcast(dy: Tensor, like: Tensor, *others: Tensor) -> Tensor:
    """Sum ``dy`` over the axes along which ``like`` was broadcast, back to its shape.

    Args:
        dy: A gradient of the common shape.
        like: One of the operands.
        others: All others, where they are at hand: what has no such axis, or one of size 1,
            spreads nothing along it, also where the size of ``like`` is not known.
    """
    have, want = _raw_shape(dy), _raw_shape(like)
    if have is not None and have == want and None not in have:
        return dy
    beside = tuple(map(_raw_shape, others))
    if have is None or want is None or not _known_pattern(have, want, beside):
        return _unbroadcast_dynamic(dy, like)
    lead = len(have) - len(want)
    axes = [i for i, d in enumerate(have) if i < lead or (want[i - lead] == 1 and d != 1)]
    if axes == list(range(lead)):
        return ox.ReduceSum(dy, int64_constant(axes), keepdims=0) if axes else dy
    dy = ox.ReduceSum(dy, int64_constant(axes), keepdims=1)
    return ox.Squeeze(dy, int64_constant(range(lead))) if lead else dy


_Sizes: TypeAlias = tuple[int | str | None, ...]


def _raw_shape(x: Tensor) -> _Sizes | None:
    return x._symbol.shape if type(x) is SymbolicTensor else x.shape.symbolic


def _known_pattern(have: _Sizes, want: _Sizes, beside: tuple[_Sizes | None, ...]) -> bool:
    """Return whether it is known for each axis if it is broadcast."""
    tail = have[len(have) - len(want) :]
    return all(
        isinstance(w, int) or surely_equal(w, h) or _is_widest(len(want) - i, beside)
        for i, (h, w) in enumerate(zip(tail, want, strict=True))
    )


def _is_widest(place: int, beside: tuple[_Sizes | None, ...]) -> bool:
    """Whether no other operand is longer than 1 along an axis, counted from the last one."""
    known = all(sizes is not None for sizes in beside)
    pairs = [(sizes, len(sizes) - place) for sizes in beside if sizes is not None]
    return bool(beside) and known and all(i < 0 or sizes[i] == 1 for sizes, i in pairs)


def _unbroadcast_dynamic(dy: Tensor, like: Tensor) -> Tensor:
    """The same with axes found when the graph runs."""
    target = ox.Shape(like)
    lead = ox.Sub(ox.Size(ox.Shape(dy)), ox.Size(target))
    ones = ox.Expand(int64_constant(1), ox.Unsqueeze(lead, int64_constant([0])))
    padded = ox.Concat(ones, target, axis=0)
    single = ox.Equal(padded, int64_constant(1))
    axes = ox.Squeeze(ox.NonZero(single), int64_constant([0]))
    summed = ox.ReduceSum(dy, axes, keepdims=1, noop_with_empty_axes=1)
    return ox.Reshape(summed, target, allowzero=1)


def transposed(x: Tensor, perm: Sequence[int]) -> Tensor:
    """A transposition for gradients: one of a transposition is a single one, or none."""
    context = current()
    # A tape knows tensors, not what they are made from.
    if type(x) is SymbolicTensor and x._graph is context.graph and not context.tapes:
        node = x._symbol.node
        inner = None if node is None or node.op != "Transpose" else node.attrs.get("perm")
        if node is not None and inner and node.tag is None and node.device is None:
            source = node.inputs[0]
            assert source is not None
            x, perm = SymbolicTensor(source, x._graph), [inner[p] for p in perm]
            if perm == list(range(len(inner))):
                return x
    return ox.Transpose(x, perm=tuple(perm))


def require_dtype(x: Tensor, ok: bool, op: str, expected: str) -> None:
    """Refuse a dtype that an operation does not take."""
    if not ok:
        raise DTypeMismatchError(
            f"Value for attr 'T' of {x.dtype.name} is not allowed by {op}; expected {expected}.",
            op=op,
        )


def as_int64(x: Any) -> Tensor:
    """Integers (shape, axes, indices) as an int64 tensor.

    Raises:
        DTypeMismatchError: something else than integers.
    """
    if isinstance(x, int) and not isinstance(x, bool):
        return int64_constant(x)
    if isinstance(x, list | tuple) and all(type(i) is int for i in x):
        return int64_constant(x)
    return cast_to(whole_numbers(tensor(x)), dtypes.int64)


def whole_numbers(x: Tensor) -> Tensor:
    """Sizes, axes or indices as they are, if they are integers; an empty list is of floats.

    Raises:
        DTypeMismatchError: something else than integers.
    """
    if not x.dtype.is_integer and x.shape.num_elements() != 0:
        raise DTypeMismatchError(
            f"Expected integers, as sizes, axes and indices are; got {x!r} of dtype "
            f"{x.dtype.name}. Use tfx.cast(x, tfx.int64) if it holds whole numbers."
        )
    return x


INT64_MAX, INT64_MIN = 2**63 - 1, -(2**63)


def numpy_as_integers(x: Any) -> Any:
    """NumPy's arrays and numbers as int32, without fractions, and everything else as it is.

    TensorFlow converts arrays to the dtype that an operation takes when nothing else is said, so
    that programs may compute sizes and axes with NumPy. It does not convert lists of numbers.
    """
    if isinstance(x, np.ndarray | np.generic) and x.dtype.kind == "f":
        return x.astype(np.int32)
    return x


def static_ints(x: Tensor) -> list[int] | None:
    """The elements of an integer scalar or vector where they are known already."""
    if isinstance(x, EagerTensor):
        return [int(i) for i in x.view().reshape(-1)]
    assert isinstance(x, SymbolicTensor)
    const = x._symbol.const
    if const is not None:
        return [int(i) for i in const.reshape(-1)]
    dims = elements(x._symbol)
    if not is_static(dims):
        return None
    return list(dims)


def static_int(x: Tensor) -> int | None:
    """The value of an integer scalar where it is known already."""
    known = static_ints(x)
    return known[0] if known is not None and len(known) == 1 else None


def required_int(x: Any, what: str) -> int:
    """An integer, or the value of a tensor that is known now.

    Raises:
        InvalidArgumentError: a tensor that only a run tells.
        TypeError: no integer.
    """
    if not is_tensor_like(x):
        return operator.index(x)
    known = static_int(tensor(x))
    if known is None:
        raise InvalidArgumentError(
            f"The {what} must be known while the function is traced; got {x!r}. Pass a Python int."
        )
    return known


def int64_vector(items: Sequence[int | Tensor]) -> Tensor:
    """A vector of numbers some of which may be scalar tensors; runs of constants stay together."""
    known = [i for i in items if isinstance(i, int)]
    if len(known) == len(items):
        return int64_constant(known)
    parts: list[Tensor] = []
    run: list[int] = []
    for item in items:
        if isinstance(item, int):
            run.append(item)
            continue
        if run:
            parts.append(int64_constant(run))
            run = []
        parts.append(ox.Reshape(cast_to(item, dtypes.int64), int64_constant([1])))
    if run:
        parts.append(int64_constant(run))
    return parts[0] if len(parts) == 1 else ox.Concat(*parts, axis=0)


def unary_floating(op: str, x: Any) -> Tensor:
    """An operator of one input that takes floating dtypes, and complex ones where it has a rule."""
    a = tensor(x)
    if a.dtype.is_complex and complex_rule_of(op) is not None:
        return apply(op, (a,))
    require_dtype(a, a.dtype.is_floating, op, "a floating dtype")
    if a.dtype is dtypes.bfloat16 and not _takes_bfloat16(op):
        return cast_to(apply(op, (cast_to(a, dtypes.float32),)), a.dtype)
    return apply(op, (a,))


@functools.cache
def _takes_bfloat16(op: str) -> bool:
    """True if the standard does; some functions got bfloat16 in a later opset than ours."""
    constraints = schema.operator(op).schema.type_constraints
    return any("tensor(bfloat16)" in c.allowed_type_strs for c in constraints)


def zeros_of(x: Tensor) -> Tensor:
    """Zeros of a tensor's dtype and shape."""
    return ox.Expand(scalar_like(0, x), ox.Shape(x))


def reduction_axes(axis: Any, x: Tensor, op: str) -> list[int] | Tensor:
    """The axes of a reduction, or a vector of them where they are known only at run time.

    Raises:
        InvalidArgumentError: an axis out of range or given twice.
        TypeError: not an integer.
    """
    if isinstance(axis, list | tuple) and any(is_tensor_like(a) for a in axis):
        axis = convert_to_tensor(axis, dtypes.int64)
    if is_tensor_like(axis):
        given = tensor(axis)
        require_dtype(given, given.dtype.is_integer, f"axis of {op}", "an integer dtype")
        known = static_ints(given)
        if known is None:
            return ox.Reshape(cast_to(given, dtypes.int64), int64_constant([-1]))
        axis = known
    axes = normalize_axes(_integers(numpy_as_integers(axis), op), x.shape.rank, op)
    assert axes is not None
    for a in axes:
        if axes.count(a) > 1:
            raise InvalidArgumentError(
                f"Invalid reduction arguments: Axes contains duplicate dimension: {a} in {op}; "
                f"got axis={axis!r}.",
                op=op,
            )
    return axes


def _integers(axis: Any, op: str) -> list[int]:
    items = axis.reshape(-1).tolist() if hasattr(axis, "__array__") else axis
    try:
        return [operator.index(a) for a in (items if isinstance(items, Iterable) else [items])]
    except TypeError as e:
        raise TypeError(f"axis of {op} must be an integer or several; got {axis!r}.") from e


def single_axis(axis: Any, x: Tensor, op: str) -> int:
    """One axis that must be known now, non-negative where the rank is known.

    Raises:
        InvalidArgumentError: out of range, or known only at run time.
    """
    if is_tensor_like(axis):
        known = static_int(tensor(axis))
        if known is None:
            raise InvalidArgumentError(
                f"The axis of {op} must be known while the function is traced; got {axis!r}. "
                "Pass a Python int.",
                op=op,
            )
        axis = known
    try:
        index = operator.index(axis)
    except TypeError as e:
        raise TypeError(f"axis of {op} must be an integer; got {axis!r}.") from e
    rank = x.shape.rank
    if rank is None:
        return index
    if not -rank <= index < rank:
        raise InvalidArgumentError(
            f"{op}: Expected dimension in the range [{-rank}, {rank}), but got {index}", op=op
        )
    return index % rank


def scaled(x: Tensor, factor: float) -> Tensor:
    """A tensor times a number."""
    return x if factor == 1.0 else ox.Mul(x, scalar_like(factor, x))


def floating_tensor(x: Any, op: str) -> Tensor:
    """A value as a tensor, which must be of a floating dtype."""
    a = tensor(x)
    require_dtype(a, a.dtype.is_floating, op, "a floating dtype")
    return a


def with_last_axis(x: Tensor) -> Tensor:
    """Return a tensor with a new last axis of size 1."""
    return ox.Unsqueeze(x, int64_constant([-1]))


def integers(value: Any, kind: DType) -> Tensor:
    """Integers that an operation takes, such as paddings.

    A list with floating tensors in it is cast, as ``convert_to_tensor(list, dtype)`` casts it; a
    tensor on its own and a list of floats are left as they are, for the operation to refuse.

    Args:
        value: What a user gave.
        kind: What a list is cast to.
    """
    found = tensor(value)
    if not found.dtype.is_floating or not isinstance(value, list | tuple):
        return found
    return cast_to(found, kind) if contains_tensor(value) else found
