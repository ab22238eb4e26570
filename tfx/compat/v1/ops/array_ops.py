"""Operations on arrays with TensorFlow 1's names and arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.compat.v1.graph.graph import Graph
from tfx.compat.v1.ops.renamed_arguments import one_of
from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.framework import convert
from tfx.framework.builder import ox
from tfx.framework.composite.ragged import is_ragged
from tfx.framework.context import current
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.ops.array import reshape
from tfx.ops.array import where as where_ops
from tfx.ops.common.arguments import same_dtype, tensor
from tfx.ops.common.shapes import concat_shape, shape_vector
from tfx.ops.math import argmax as argmax_ops
from tfx.ops.math import cast
from tfx.ops.random import random


def constant(
    value: Any,
    dtype: DTypeLike | None = None,
    shape: Any = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """A tensor with the given contents; in a graph an operation with a name.

    Args:
        value: Number, string, array or nested lists of them.
        dtype: Element type; None infers it.
        shape: Shape. In a graph, a value with fewer elements is filled up with its last one; one
            without elements takes any value, and is float32 where ``dtype`` does not say otherwise.
            Eagerly, only one element is repeated.
        name: Name of the operation.
        verify_shape: Whether a value of another shape is refused.

    Raises:
        TypeError: ``verify_shape`` and the shapes differ, or the elements do not fit eagerly.
        ValueError: more elements than the shape has, in a graph.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     tf.constant([1.0, 2.0], name="c")
        <tf.Tensor 'c:0' shape=(2,) dtype=float32>
    """
    graph = current().graph
    if isinstance(value, Tensor):
        return convert.constant(value, dtype, shape, name)
    dims = None if shape is None else tuple(convert._dims_of(shape))
    if not isinstance(graph, Graph):
        _check_shape(convert.to_array(value, None), dims if verify_shape else None)
        return convert.constant(value, dtype, shape, name)
    if dims is not None and 0 in dims:
        array = np.zeros(dims, dtypes.as_dtype(dtype or dtypes.float32).as_numpy_dtype)
    else:
        array = convert.to_array(value, None if dtype is None else dtypes.as_dtype(dtype))
        _check_shape(array, dims if verify_shape else None)
        array = array if dims is None else _filled_up(array, dims)
    code = dtypes.as_dtype(array.dtype).onnx
    label = f"{current().scope}{name}"
    made = SymbolicTensor(graph.ordered.add_named_constant(array, code, label), graph)
    # A constant has no order; a copy of it has.
    return cast.identity(made) if graph.ordered.active else made


def _check_shape(array: np.ndarray[Any, Any], dims: tuple[int, ...] | None) -> None:
    if dims is not None and array.shape != dims:
        raise TypeError(f"Expected Tensor's shape: {dims}, got {array.shape}.")


def _filled_up(array: np.ndarray[Any, Any], dims: tuple[int, ...]) -> Any:
    count = int(np.prod(dims))
    if array.size > count:
        raise ValueError(
            f"Too many elements provided. Takes at most {count}, but got {array.size}."
        )
    flat = array.reshape(-1)
    if flat.size < count:
        flat = np.concatenate([flat, np.repeat(flat[-1:], count - flat.size)])
    return np.asarray(flat.reshape(dims), order="C")  # keeps what is a scalar


def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """``input`` with one more axis, of one element.

    Args:
        input: A tensor.
        axis: Where the axis goes.
        name: Name of the operation.
        dim: Older name of ``axis``.

    Raises:
        ValueError: neither is given.
    """
    axis = one_of("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return reshape.expand_dims(input, axis)


def squeeze(
    input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None
) -> Tensor:
    """``input`` without axes of one element.

    Args:
        input: A tensor.
        axis: Which; None: all of them.
        name: Name of the operation.
        squeeze_dims: Older name of ``axis``.
    """
    return reshape.squeeze(input, one_of("axis", axis, "squeeze_dims", squeeze_dims))


def argmax(
    input: Any,
    axis: Any = None,
    name: str | None = None,
    dimension: Any = None,
    output_type: DTypeLike = dtypes.int64,
) -> Tensor:
    """Return the index of the largest element along an axis.

    Args:
        input: A tensor.
        axis: The axis; None: the first.
        name: Name of the operation.
        dimension: Older name of ``axis``.
        output_type: int32 or int64.
    """
    axis = one_of("axis", axis, "dimension", dimension)
    return argmax_ops.argmax(input, axis, output_type=output_type)


def argmin(
    input: Any,
    axis: Any = None,
    name: str | None = None,
    dimension: Any = None,
    output_type: DTypeLike = dtypes.int64,
) -> Tensor:
    """Return the index of the smallest element along an axis; see ``argmax``."""
    axis = one_of("axis", axis, "dimension", dimension)
    return argmax_ops.argmin(input, axis, output_type=output_type)


def arg_max(
    input: Any, dimension: Any, output_type: DTypeLike = dtypes.int64, name: str | None = None
) -> Tensor:
    """Older name of ``argmax``."""
    return argmax_ops.argmax(input, dimension, output_type=output_type)


def arg_min(
    input: Any, dimension: Any, output_type: DTypeLike = dtypes.int64, name: str | None = None
) -> Tensor:
    """Older name of ``argmin``."""
    return argmax_ops.argmin(input, dimension, output_type=output_type)


def to_float(x: Any, name: str = "ToFloat") -> Tensor:
    """``x`` as float32."""
    return cast.cast(x, dtypes.float32)


def to_double(x: Any, name: str = "ToDouble") -> Tensor:
    """``x`` as float64."""
    return cast.cast(x, dtypes.float64)


def to_complex64(x: Any, name: str = "ToComplex64") -> Tensor:
    """``x`` as complex64."""
    return cast.cast(x, dtypes.complex64)


def to_complex128(x: Any, name: str = "ToComplex128") -> Tensor:
    """``x`` as complex128."""
    return cast.cast(x, dtypes.complex128)


def to_int32(x: Any, name: str = "ToInt32") -> Tensor:
    """``x`` as int32."""
    return cast.cast(x, dtypes.int32)


def to_int64(x: Any, name: str = "ToInt64") -> Tensor:
    """``x`` as int64."""
    return cast.cast(x, dtypes.int64)


def to_bfloat16(x: Any, name: str = "ToBFloat16") -> Tensor:
    """``x`` as bfloat16."""
    return cast.cast(x, dtypes.bfloat16)


def random_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = "random_normal",
) -> Tensor:
    """Normally distributed numbers, other ones in every run; see ``random.normal``.

    Args:
        shape: Shape of the result.
        mean: Mean.
        stddev: Standard deviation.
        dtype: Element type.
        seed: With the graph's seed, decides which numbers a session gets.
        name: Name of the operation.
    """
    return random.normal(shape, mean, stddev, dtype, seed)


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = "truncated_normal",
) -> Tensor:
    """Normal numbers within two standard deviations; see ``random_normal``."""
    return random.truncated_normal(shape, mean, stddev, dtype, seed)


def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = "random_uniform",
) -> Tensor:
    """Uniformly distributed numbers in ``[minval, maxval)``; see ``random_normal``."""
    return random.uniform(shape, minval, maxval, dtype, seed)


def random_shuffle(
    value: Any, seed: int | None = None, name: str | None = "RandomShuffle"
) -> Tensor:
    """The slices of ``value`` along its first axis in random order."""
    return random.shuffle(value, seed)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """``x`` where the condition holds and ``y`` elsewhere, without broadcasting.

    Args:
        condition: Booleans of the shape of ``x``, a scalar, or a vector that selects rows; without
            ``x`` and ``y`` also numbers, of which all but 0 count.
        x: Tensor.
        y: Tensor of the same shape and dtype.
        name: Accepted for compatibility.

    Returns:
        A tensor of the shape of ``x``; without ``x`` and ``y`` the coordinates where the condition
        holds, see ``tfx.where``.

    Raises:
        ValueError: only one of ``x`` and ``y`` was given.
        InvalidArgumentError: shapes or dtypes that do not fit.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> tf.where([True, False], [[1, 1], [1, 1]], [[0, 0], [0, 0]]).numpy()
        array([[1, 1],
               [0, 0]], dtype=int32)
    """
    if x is None or y is None or any(map(is_ragged, (condition, x, y))):
        return where_ops.where(condition, x, y)
    chosen = tensor(condition, dtypes.bool)
    a, b = same_dtype(x, y, "Select")
    if not a.shape.is_compatible_with(b.shape):
        raise InvalidArgumentError(
            f"Inputs to operation Select must have the same size and shape; got x of shape "
            f"{a.shape} and y of shape {b.shape}. tfx.where broadcasts.",
            op="Select",
        )
    form, rows = a.shape.merge_with(b.shape), chosen.shape
    rank, depth = form.rank, rows.rank
    by_row = depth == 1 and rank is not None and rank > 1
    if rank is not None and depth is not None:
        expected = form[:1] if by_row else form
        if depth and not rows.is_compatible_with(expected):
            raise InvalidArgumentError(
                "Inputs to operation Select must have the same size and shape, or the condition "
                f"one element for each row; got a condition of shape {rows} and x of shape {form}. "
                "tfx.where broadcasts.",
                op="Select",
            )
        if by_row:
            chosen = ox.Unsqueeze(chosen, int64_constant(range(1, rank)))
    else:
        behind = ox.Sub(_rank_vector(a), _rank_vector(chosen))
        ones = ox.Expand(int64_constant(1), behind)
        chosen = ox.Reshape(chosen, concat_shape(shape_vector(chosen), ones), allowzero=1)
    return ox.Where(chosen, a, b)


def _rank_vector(x: Tensor) -> Tensor:
    return ox.Shape(ox.Shape(x))


def multinomial(
    logits: Any,
    num_samples: Any,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: DTypeLike | None = None,
) -> Tensor:
    """Class numbers drawn with unnormalized log-probabilities: ``categorical``'s older name.

    Args:
        logits: ``[batch, classes]``.
        num_samples: How many to draw for each row.
        seed: Gives this call a sequence of its own.
        name: Accepted for compatibility.
        output_dtype: int32 or int64 (the default).

    Example:
        >>> import tfx as tf
        >>> tf.compat.v1.multinomial([[-100.0, 0.0]], 3, output_dtype=tf.int32).numpy()
        array([[1, 1, 1]], dtype=int32)
    """
    return random.categorical(logits, num_samples, output_dtype, seed)
