"""Arithmetic composed of the operators: polynomials, truncated division, scaling, monotony."""

from __future__ import annotations

from typing import Any

from tfx.core.dtypes import DTypeLike
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.framework.builder import ox
from tfx.framework.composite.indexed_slices import IndexedSlices, slices_like
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import require_dtype, same_dtype, scalar_like, tensor, zeros_of
from tfx.ops.math.arithmetic import add, add_n, multiply
from tfx.ops.math.comparison import less, less_equal
from tfx.ops.math.error_functions import divide_no_nan
from tfx.ops.math.reduction import reduce_all


def polyval(coeffs: list[Any], x: Any, name: str | None = None) -> Tensor:
    """The polynomial with the given coefficients at ``x``, by Horner's rule.

    Args:
        coeffs: List of tensors or values convertible to them, highest power first.
        x: Tensor that broadcasts with each coefficient.
        name: Accepted for compatibility.

    Returns:
        ``coeffs[0] * x**(n-1) + ... + coeffs[n-1]``; zeros if there are no coefficients.

    Raises:
        ValueError: ``coeffs`` is not a list.

    Example:
        >>> import tfx as tf
        >>> tf.math.polyval([1.0, 2.0, 3.0], 2.0).numpy()
        np.float32(11.0)
    """
    if not isinstance(coeffs, list):
        raise InvalidArgumentError(
            f"Argument coeffs must be list type. Received type {type(coeffs)}: {coeffs!r}."
        )
    x = tensor(x)
    if not coeffs:
        return zeros_of(x)
    first, *others = [convert_to_tensor(c, dtype_hint=x.dtype) for c in coeffs]
    result = first
    for c in others:
        result = add(c, multiply(result, x))
    return result


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Tensor:
    """A scalar times a tensor.

    Args:
        scalar: Scalar tensor or number of the dtype of ``x``.
        x: Tensor or a value convertible to one.
        name: Accepted for compatibility.

    Returns:
        A tensor of the dtype and shape of ``x``; of ``IndexedSlices``, slices.

    Raises:
        ValueError: ``scalar`` is not a scalar.

    Example:
        >>> import tfx as tf
        >>> tf.math.scalar_mul(2.0, tf.constant([1.0, 2.0])).numpy()
        array([2., 4.], dtype=float32)
    """
    if type(x) is IndexedSlices:
        return slices_like(x, scalar_mul(scalar, x.values))
    x, factor = same_dtype(x, scalar, "Mul")
    if factor.shape.rank not in (None, 0):
        raise InvalidArgumentError(f"Only scalar multiply works, got shape {factor.shape}")
    return multiply(factor, x)


def accumulate_n(
    inputs: Any,
    shape: Any = None,
    tensor_dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """The sum of tensors of one shape and dtype; see ``add_n``.

    Args:
        inputs: List of tensors.
        shape: Shape that the inputs must have; None: any.
        tensor_dtype: Dtype that the inputs must have; None: any.
        name: Accepted for compatibility.

    Raises:
        ValueError: no inputs, or of other shapes or dtypes.

    Example:
        >>> import tfx as tf
        >>> tf.math.accumulate_n([tf.constant(1), tf.constant(2)]).numpy()
        np.int32(3)
    """
    if not isinstance(inputs, list | tuple) or not inputs:
        raise InvalidArgumentError(
            "inputs must be a list of at least one Tensor with the same dtype and shape; got "
            f"{inputs!r}."
        )
    total = add_n([tensor(x, tensor_dtype) for x in inputs])
    if shape is not None:
        TensorShape(shape).assert_is_compatible_with(total.shape)
    return total


def reciprocal_no_nan(x: Any, name: str | None = None) -> Tensor:
    """``1 / x`` element by element, and 0 (with gradient 0) where ``x`` is 0.

    Example:
        >>> import tfx as tf
        >>> tf.math.reciprocal_no_nan([0.0, 2.0]).numpy()
        array([0. , 0.5], dtype=float32)
    """
    x = tensor(x)
    known = x.dtype.is_floating or x.dtype.is_complex
    require_dtype(x, known, "DivNoNan", "a floating or complex dtype")
    return divide_no_nan(scalar_like(1, x), x)


def truncatediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The quotient rounded towards zero, as in C; in the operands' dtype.

    Example:
        >>> import tfx as tf
        >>> tf.truncatediv(-7, 2).numpy()
        np.int32(-3)
    """
    a, b = same_dtype(x, y, "TruncateDiv")
    quotient = ox.Div(a, b)
    if a.dtype.is_integer:
        return quotient
    toward_zero = ox.Floor(ox.Abs(quotient))
    return multiply(ox.Sign(quotient), toward_zero)


def truncatemod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the remainder of ``truncatediv``, as C's ``%`` and ``fmod``: it has the sign of ``x``.

    Example:
        >>> import tfx as tf
        >>> tf.truncatemod(-7, 2).numpy()
        np.int32(-1)
    """
    a, b = same_dtype(x, y, "TruncateMod")
    return ox.Mod(a, b, fmod=1)


def realdiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x / y`` in the operands' dtype, which must be floating or complex.

    Example:
        >>> import tfx as tf
        >>> tf.realdiv(3.0, 2.0).numpy()
        np.float32(1.5)
    """
    a, b = same_dtype(x, y, "RealDiv")
    known = a.dtype.is_floating or a.dtype.is_complex
    require_dtype(a, known, "RealDiv", "a floating or complex dtype")
    return ox.Div(a, b)


def is_non_decreasing(x: Any, name: str | None = None) -> Tensor:
    """Return whether each element, in row order, is at least as large as the one before.

    Example:
        >>> import tfx as tf
        >>> tf.math.is_non_decreasing([1, 1, 2]).numpy()
        np.True_
    """
    return reduce_all(less_equal(*_neighbours(x)))


def is_strictly_increasing(x: Any, name: str | None = None) -> Tensor:
    """Return whether each element, in row order, is larger than the one before.

    Example:
        >>> import tfx as tf
        >>> tf.math.is_strictly_increasing([1, 1, 2]).numpy()
        np.False_
    """
    return reduce_all(less(*_neighbours(x)))


def _neighbours(x: Any) -> tuple[Tensor, Tensor]:
    """The elements but the last, and the elements but the first."""
    x = tensor(x)
    if not x.dtype.is_numeric_compatible:
        raise DTypeMismatchError(f"Order needs numbers; got {x.dtype.name}.")
    flat = ox.Reshape(x, int64_constant([-1]))
    start, second, last, end = (int64_constant([i]) for i in (0, 1, -1, 2**62))
    return ox.Slice(flat, start, last), ox.Slice(flat, second, end)
