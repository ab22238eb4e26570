"""What operators do with tensors: shapes that may be unknown, batches that broadcast, checks."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.core.shapes import TensorShape, unknown_shape
from tfx.framework.convert import convert_to_tensor
from tfx.framework.module import Module
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.linalg_ops.solve import solve
from tfx.ops.array.concat import concat
from tfx.ops.array.reshape import broadcast_to, reshape
from tfx.ops.array.shape import shape
from tfx.ops.array.static_value import get_static_value
from tfx.ops.array.transpose import transpose
from tfx.ops.common.broadcast_shapes import broadcast_dynamic_shape, broadcast_static_shape
from tfx.ops.debugging.assertions import assert_equal, assert_less
from tfx.ops.linalg.matmul import adjoint as adjoint_of
from tfx.ops.math.cast import cast
from tfx.ops.math.complex_parts import imag
from tfx.ops.math.elementwise import abs as absolute


def is_reference(value: Any) -> bool:
    """True for what has another value later: variables, and modules that stand for a tensor."""
    stands = isinstance(value, Module) and hasattr(value, "dtype") and hasattr(value, "shape")
    return isinstance(value, Variable) or stands


def kept(value: Any, dtype: DType | None = None) -> Any:
    """A parameter of an operator: variables stay, all else becomes a tensor."""
    if value is None or is_reference(value):
        return value
    return convert_to_tensor(value, dtype)


def require_rank(value: Any, least: int, name: str) -> None:
    """Check that a parameter has enough dimensions.

    Raises:
        ValueError: it has not.
    """
    if value.shape.rank is not None and value.shape.rank < least:
        raise ValueError(
            f"Argument `{name}` must have at least {least} dimension{'s' * (least > 1)}; got the "
            f"shape {value.shape}."
        )


def refuse_reference(value: Any, name: str) -> None:
    """Check that a size is no variable.

    Raises:
        TypeError: it is one.
    """
    if is_reference(value):
        raise TypeError(f"Argument `{name}` cannot be a variable; got {type(value).__name__}.")


def size_tensor(value: Any, name: str, rank: int) -> Tensor:
    """A number of rows (rank 0) or a batch shape (rank 1) as a tensor, checked if it is known.

    Raises:
        TypeError: no integers, or a variable.
        ValueError: another rank, or a negative size.
    """
    refuse_reference(value, name)
    if isinstance(value, TensorShape):
        value = value.as_list()
    empty = isinstance(value, list | tuple) and not value
    found = convert_to_tensor(value, dtypes.int32 if empty else None)
    if not found.dtype.is_integer:
        raise TypeError(f"Argument `{name}` must be integer type; got {found}.")
    known = get_static_value(found)
    if known is not None and np.ndim(known) != rank:
        raise ValueError(f"Argument `{name}` must be a {rank}-D Tensor; got {known}.")
    if known is not None and np.any(known < 0):
        raise ValueError(f"Argument `{name}` must be non-negative; got {known}.")
    return found


def static_sizes(*scalars: Tensor) -> TensorShape:
    """The shape of sizes, as far as they are known."""
    known = [get_static_value(n) for n in scalars]
    return TensorShape([None if n is None else int(n) for n in known])


def static_shape(vector: Tensor) -> TensorShape:
    """The shape that a vector holds, as far as it is known."""
    known = get_static_value(vector, partial=True)
    if known is None:
        return unknown_shape(vector.shape[0] if vector.shape.rank else None)
    return TensorShape([None if n is None else int(n) for n in known])


def require_compatible(operator: Any, x: Tensor) -> None:
    """Raise, while the program runs, unless matrices have as many rows as an operator columns."""
    message = "Dimensions are not compatible: shape[-2] of the argument must be the operator's."
    assert_equal(shape(x)[-2], operator.domain_dimension_tensor(), message=message)


def sizes(known: TensorShape) -> Tensor:
    """A fully defined shape as a tensor."""
    return convert_to_tensor(known.as_list(), dtypes.int32)


def same_shape(*shapes: TensorShape) -> TensorShape:
    """What shapes broadcast to."""
    return functools.reduce(broadcast_static_shape, shapes)


def same_shape_tensor(*shapes: Tensor) -> Tensor:
    """What shapes broadcast to, while the program runs."""
    return functools.reduce(broadcast_dynamic_shape, shapes)


def joined(*parts: Any) -> Tensor:
    """A shape of pieces: vectors, and lists of numbers and scalars."""
    return concat([convert_to_tensor(part, dtypes.int32) for part in parts], 0)


def with_shape(x: Tensor, known: TensorShape) -> Tensor:
    """A tensor of which a shape is known."""
    x.set_shape(known)
    return x


def broadcast_batches(matrices: Sequence[Tensor]) -> list[Tensor]:
    """Matrices whose axes before the last two are what those of all broadcast to."""
    if len(matrices) < 2:
        return list(matrices)
    common = same_shape(*(x.shape[:-2] for x in matrices))
    if common.is_fully_defined():
        if all(x.shape[:-2] == common for x in matrices):
            return list(matrices)
        batch: Tensor = sizes(common)
    else:
        batch = same_shape_tensor(*(shape(x)[:-2] for x in matrices))
    return [
        x
        if common.is_fully_defined() and x.shape[:-2] == common
        else broadcast_to(x, joined(batch, shape(x)[-2:]))
        for x in matrices
    ]


def solve_broadcast(matrix: Any, rhs: Tensor, adjoint: bool = False) -> Tensor:
    """``linalg.solve`` for batches that broadcast.

    A matrix is decomposed once for all right-hand sides where these have more axes than it has.
    """
    a = convert_to_tensor(matrix)
    ranks = rhs.shape.rank, a.shape.rank
    extra = 0 if ranks[0] is None or ranks[1] is None else ranks[0] - ranks[1]
    if extra <= 0 or math.prod(n or 2 for n in rhs.shape[:extra]) < 2:
        a, b = broadcast_batches([a, rhs])
        return solve(a, b, adjoint=adjoint)
    rank: Any = rhs.shape.rank
    perm = [*range(extra, rank), *range(extra)]
    at_end = transpose(rhs, perm)
    whole = shape(at_end)
    wide = reshape(at_end, joined(whole[: rank - extra - 1], [-1]))
    a, wide = broadcast_batches([a, wide])
    found = solve(a, wide, adjoint=adjoint)
    back = reshape(found, joined(shape(found)[:-1], whole[rank - extra - 1 :]))
    return transpose(back, [int(i) for i in np.argsort(perm)])


def adjoint_if(x: Tensor, wanted: bool) -> Tensor:
    """The adjoint of matrices, or the matrices."""
    return adjoint_of(x) if wanted else x


def to_complex(x: Any) -> Tensor:
    """Numbers as complex ones of their precision."""
    if x.dtype.is_complex:
        return convert_to_tensor(x)
    return cast(x, dtypes.complex128 if x.dtype is dtypes.float64 else dtypes.complex64)


def assert_nowhere_zero(x: Any, message: str) -> Any:
    """Raise unless all numbers differ from 0."""
    size = absolute(convert_to_tensor(x))
    return assert_less(convert_to_tensor(0, size.dtype), size, message=message)


def assert_real(x: Any, message: str) -> Any:
    """Raise unless all numbers are real."""
    if not x.dtype.is_complex:
        return None
    return assert_equal(convert_to_tensor(0, x.dtype.real_dtype), imag(x), message=message)
