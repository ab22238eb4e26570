"""Transforms of gradients before the update rule sees them, each from list to list.

Nothing here knows an optimizer. Gradients are tensors (or ``Rows``) of the dtype that the update
computes in: the variable's own, or float32 for the half-precision ones, whose range squares leave.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.core.source import user_frame
from tfx.framework.builder import ox
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.optimizers.formulas import Array, clip, maximum, sqrt
from tfx.optimizers.rows import Rows, rows_of

# A loop that drops the same gradients at the same line gets one warning.
_told: dict[Any, Any] = {}


def compute_dtype(variable: Variable) -> DType:
    """Return the dtype that a variable's update is computed in and its slots are kept in."""
    return dtypes.float32 if variable.dtype.size < 4 else variable.dtype


def present(pairs: Iterable[tuple[Any, Variable]]) -> list[tuple[Any, Variable]]:
    """The pairs that have a gradient.

    Raises:
        ValueError: there are none.
    """
    pairs = list(pairs)
    kept = [(g, v) for g, v in pairs if g is not None]
    missing = [v.name for g, v in pairs if g is None]
    if not kept:
        raise ValueError(
            f"No gradients provided for any variable: {missing}. The loss must be computed from "
            "the variables inside the tape."
        )
    if missing:
        place = user_frame()
        warnings.warn_explicit(
            f"Gradients do not exist for variables {missing} when minimizing the loss.",
            UserWarning,
            place.file if place else __file__,
            place.line if place else 1,
            registry=_told,
        )
    return kept


def prepared(gradient: Any, variable: Variable, most: int) -> Array:
    """A gradient in the dtype of the update: a tensor of the variable's shape, or ``Rows``.

    Args:
        gradient: A tensor or ``IndexedSlices``.
        variable: What it is the gradient of.
        most: Elements of a table all of which are updated.

    Raises:
        ValueError: its shape is not the variable's.
    """
    if isinstance(gradient, IndexedSlices):
        count = variable.shape.num_elements()
        if count is None or count > most:
            return rows_of(gradient, variable, compute_dtype(variable))
    return dense(gradient, variable)


def dense(gradient: Any, variable: Variable) -> Tensor:
    """A gradient as a tensor of the variable's shape, in the dtype of the update.

    Raises:
        ValueError: its shape is not the variable's.
    """
    kind = compute_dtype(variable)
    if isinstance(gradient, IndexedSlices):
        found: Tensor = rows_of(gradient, variable, kind).dense()
        return found
    tensor = convert_to_tensor(gradient)
    if not tensor.shape.is_compatible_with(variable.shape):
        raise ValueError(
            f"The gradient of variable {variable.name!r} has shape {tensor.shape}; expected the "
            f"variable's, {variable.shape}."
        )
    return cast_to(tensor, kind)


def clipped_by_value(gradients: Sequence[Array], limit: float) -> list[Array]:
    """Clip each element to ``[-limit, limit]``."""
    return [clip(g, -limit, limit) for g in gradients]


def clipped_by_norm(gradients: Sequence[Array], limit: float) -> list[Array]:
    """Scale each gradient down to the norm ``limit`` if it is longer."""
    return [g * _shrink(ox.ReduceL2(_elements(g), keepdims=0), limit) for g in gradients]


def clipped_by_global_norm(gradients: Sequence[Array], limit: float) -> list[Array]:
    """Scale all gradients by one factor so that their common norm is at most ``limit``.

    If the norm is not finite all become NaN, so that the step can be recognised as failed.
    """
    kind = max((g.dtype for g in gradients), key=lambda d: d.size)
    squares = [ox.ReduceSumSquare(_elements(g), keepdims=0) for g in gradients]
    norm = sqrt(ox.Sum(*[cast_to(s, kind) for s in squares]))
    scale = _shrink(norm, limit) + (norm - norm)
    return [g * cast_to(scale, g.dtype) for g in gradients]


def _elements(gradient: Array) -> Array:
    """Return all elements that may be non-zero, each once."""
    return gradient.once().values if isinstance(gradient, Rows) else gradient


def _shrink(norm: Array, limit: float) -> Array:
    """The factor that brings something of length ``norm`` to ``limit``; 1 if it is shorter."""
    bound: Array = scalar_like(limit, norm)
    return bound / maximum(norm, bound)
