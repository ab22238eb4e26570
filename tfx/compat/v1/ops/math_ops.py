"""Reductions with TensorFlow 1's older arguments."""

from __future__ import annotations

from typing import Any

from tfx.compat.v1.ops.renamed_arguments import one_of
from tfx.framework.tensor import Tensor
from tfx.ops.math import reduction


def _options(axis: Any, keepdims: Any, indices: Any, keep_dims: Any) -> dict[str, Any]:
    return {
        "axis": one_of("axis", axis, "reduction_indices", indices),
        "keepdims": bool(one_of("keepdims", keepdims, "keep_dims", keep_dims)),
    }


def reduce_sum(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The sum of the elements, over some axes.

    Args:
        input_tensor: A tensor.
        axis: The axes; None: all.
        keepdims: Whether the axes stay, with one element.
        name: Name of the operation.
        reduction_indices: Older name of ``axis``.
        keep_dims: Older name of ``keepdims``.
    """
    options = _options(axis, keepdims, reduction_indices, keep_dims)
    return reduction.reduce_sum(input_tensor, **options)


def reduce_mean(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The mean of the elements, over some axes.

    Args:
        input_tensor: A tensor.
        axis: The axes; None: all.
        keepdims: Whether the axes stay, with one element.
        name: Name of the operation.
        reduction_indices: Older name of ``axis``.
        keep_dims: Older name of ``keepdims``.
    """
    options = _options(axis, keepdims, reduction_indices, keep_dims)
    return reduction.reduce_mean(input_tensor, **options)


def reduce_max(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The largest of the elements, over some axes.

    Args:
        input_tensor: A tensor.
        axis: The axes; None: all.
        keepdims: Whether the axes stay, with one element.
        name: Name of the operation.
        reduction_indices: Older name of ``axis``.
        keep_dims: Older name of ``keepdims``.
    """
    options = _options(axis, keepdims, reduction_indices, keep_dims)
    return reduction.reduce_max(input_tensor, **options)


def reduce_min(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The least of the elements, over some axes.

    Args:
        input_tensor: A tensor.
        axis: The axes; None: all.
        keepdims: Whether the axes stay, with one element.
        name: Name of the operation.
        reduction_indices: Older name of ``axis``.
        keep_dims: Older name of ``keepdims``.
    """
    options = _options(axis, keepdims, reduction_indices, keep_dims)
    return reduction.reduce_min(input_tensor, **options)


def reduce_prod(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The product of the elements, over some axes.

    Args:
        input_tensor: A tensor.
        axis: The axes; None: all.
        keepdims: Whether the axes stay, with one element.
        name: Name of the operation.
        reduction_indices: Older name of ``axis``.
        keep_dims: Older name of ``keepdims``.
    """
    options = _options(axis, keepdims, reduction_indices, keep_dims)
    return reduction.reduce_prod(input_tensor, **options)


def reduce_all(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Return whether all elements over some axes are true.

    Args:
        input_tensor: A tensor.
        axis: The axes; None: all.
        keepdims: Whether the axes stay, with one element.
        name: Name of the operation.
        reduction_indices: Older name of ``axis``.
        keep_dims: Older name of ``keepdims``.
    """
    options = _options(axis, keepdims, reduction_indices, keep_dims)
    return reduction.reduce_all(input_tensor, **options)


def reduce_any(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Return whether any element over some axes is true.

    Args:
        input_tensor: A tensor.
        axis: The axes; None: all.
        keepdims: Whether the axes stay, with one element.
        name: Name of the operation.
        reduction_indices: Older name of ``axis``.
        keep_dims: Older name of ``keepdims``.
    """
    options = _options(axis, keepdims, reduction_indices, keep_dims)
    return reduction.reduce_any(input_tensor, **options)


def reduce_logsumexp(
    input_tensor: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The logarithm of the sum of the exponentials of the elements, over some axes.

    Args:
        input_tensor: A tensor.
        axis: The axes; None: all.
        keepdims: Whether the axes stay, with one element.
        name: Name of the operation.
        reduction_indices: Older name of ``axis``.
        keep_dims: Older name of ``keepdims``.
    """
    options = _options(axis, keepdims, reduction_indices, keep_dims)
    return reduction.reduce_logsumexp(input_tensor, **options)
