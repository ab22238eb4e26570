"""Helpers shared by the decompositions: batches as one axis, row loops, higher gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.control_flow.while_loop import while_loop
from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.composite.complex_pairs import joined, parts
from tfx.framework.context import executing_eagerly, using
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.ops.common.arguments import cast_to, require_dtype, scalar_like, tensor
from tfx.ops.common.shapes import (
    concat_shape,
    dimension,
    known_rank,
    product,
    reshape_to,
    shape_vector,
)
from tfx.ops.common.traced_once import Composite
from tfx.ops.linalg.bands import numbers
from tfx.ops.linalg.matmul import adjoint

KINDS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)


def matrices(x: Any, op: str, *, square: bool = False, complex_too: bool = False) -> Tensor:
    """An argument ``[..., m, n]`` of a floating dtype, or a complex one where that is taken.

    Raises:
        InvalidArgumentError: another dtype, fewer than two axes, or not square though it must be.
    """
    a = tensor(x)
    known = a.dtype in KINDS or (complex_too and a.dtype.is_complex)
    require_dtype(a, known, op, f"a floating {'or complex ' * complex_too}dtype")
    if known_rank(a, op) < 2:
        raise InvalidArgumentError(
            f"{op} takes matrices [..., m, n]; got shape {a.shape}: the input must have at least "
            "2 dimensions.",
            op=op,
        )
    if square and not a.shape[-1:].is_compatible_with(a.shape[-2:-1]):
        raise InvalidArgumentError(
            f"Input matrix must be square: {op} takes [..., n, n]; got shape {a.shape}.", op=op
        )
    return a


def run(
    composite: Composite,
    *inputs: Tensor,
    sizes: Sequence[Sequence[int | None]],
    **options: Any,
) -> list[Tensor]:
    """A composite on matrices whose batch is one axis; eager tapes do not see what is inside.

    Half precision is computed in float32.

    Args:
        composite: Takes ``[batch, m, n]`` each, real numbers or complex ones.
        inputs: ``[..., m, n]`` each, of one batch.
        sizes: What is known of the axes of each result behind the batch.
        options: Options of the composite.
    """
    with using(tapes=()) if executing_eagerly() else using():
        kind = inputs[0].dtype
        wide = kind if kind.size >= 4 else dtypes.float32
        lead = shape_vector(inputs[0], 0, -2)
        batch = product(lead)
        flat = [
            reshape_to(cast_to(x, wide), concat_shape(batch, shape_vector(x, -2))) for x in inputs
        ]
        if kind.is_complex:
            pairs = composite.on_pairs(*[parts(x) for x in flat], **options)
            # One more axis than the batch and what is behind it: that of a pair.
            found = [
                joined(y) if y.shape.rank == len(size) + 2 else y
                for y, size in zip(pairs, sizes, strict=True)
            ]
        else:
            (count, *_) = flat[0].shape.symbolic or (None,)
            results = composite(*flat, shapes=[(count, *size) for size in sizes], **options)
            found = [cast_to(y, kind) if y.dtype is wide else y for y in results]
        return [_batched(y, lead, inputs[0], size) for y, size in zip(found, sizes, strict=True)]


def _batched(y: Tensor, lead: Tensor, like: Tensor, size: Sequence[int | None]) -> Tensor:
    """A result with the axes of the batch again."""
    made = reshape_to(y, concat_shape(lead, shape_vector(y, 1)))
    if isinstance(made, SymbolicTensor):
        made.set_shape([*like.shape[:-2], *size])
    return made


def count(x: Tensor, axis: int) -> Tensor:
    """The length of an axis as a scalar."""
    return ox.Squeeze(dimension(x, axis))


def loop(times: Tensor, body: Callable[..., Sequence[Tensor]], *state: Tensor) -> list[Tensor]:
    """``body(i, *state)`` for each i below ``times``."""

    def step(i: Tensor, *values: Tensor) -> tuple[Tensor, ...]:
        return (ox.Add(i, int64_constant(1)), *body(i, *values))

    found = while_loop(lambda i, *_: ox.Less(i, times), step, [int64_constant(0), *state])
    return list(found[1:])


def column(x: Tensor, j: Tensor) -> Tensor:
    """``x[:, :, j]`` as ``[batch, m, 1]``."""
    return ox.Gather(x, ox.Reshape(j, int64_constant([1])), axis=2)


def row(x: Tensor, j: Tensor) -> Tensor:
    """``x[:, j, :]`` as ``[batch, 1, n]``."""
    return ox.Gather(x, ox.Reshape(j, int64_constant([1])), axis=1)


def either(eager: Callable[..., Any], traced: Callable[..., Any]) -> Callable[..., Any]:
    """Return the form of a decomposition that its gradient uses.

    A graph of a gradient is built at once: with its own gradients in it, it would be endless. There
    the second derivative goes through the loop.
    """
    return eager if executing_eagerly() else traced


def lower_part(x: Tensor, diagonal: float = 1.0) -> Tensor:
    """The lower triangle, its diagonal times a number."""
    rows, columns = places(x)
    zero = scalar_like(0, x)
    on = zero if diagonal == 0 else ox.Mul(x, scalar_like(diagonal, x))
    rest = ox.Where(ox.Equal(rows, columns), on, zero)
    return ox.Where(ox.Greater(rows, columns), x, rest)


def mirrored(x: Tensor) -> Tensor:
    """The self-adjoint matrix with this lower triangle; its diagonal is real."""
    strict = lower_part(x, 0.0)
    if not x.dtype.is_complex:
        return lower_part(x) + adjoint(strict)
    on = lower_part(x) - strict
    return strict + adjoint(strict) + (on + adjoint(on)) * 0.5


def places(x: Tensor) -> tuple[Tensor, Tensor]:
    """The number of the row, ``[m, 1]``, and of the column, ``[n]``, of each element."""
    rows = ox.Unsqueeze(numbers(count(x, -2)), int64_constant([1]))
    return rows, numbers(count(x, -1))
