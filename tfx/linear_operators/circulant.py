"""``LinearOperatorCirculant`` and its relatives: diagonal behind a Fourier transform.

A product is two transforms and a product with the spectrum. The classes differ in how many axes the
vectors are seen as having.
"""

from __future__ import annotations

from typing import Any, ClassVar

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike, as_dtype, finfo
from tfx.core.shapes import TensorShape
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.linear_operators import hints
from tfx.linear_operators.operator import LinearOperator, ratio_of_sizes
from tfx.linear_operators.tensors import (
    adjoint_if,
    assert_nowhere_zero,
    assert_real,
    joined,
    kept,
    require_rank,
    sizes,
    to_complex,
)
from tfx.ops.array.creation import ones
from tfx.ops.array.reshape import reshape
from tfx.ops.array.shape import shape
from tfx.ops.debugging.assertions import assert_less, assert_positive
from tfx.ops.linalg.matmul import matrix_transpose
from tfx.ops.math.cast import cast
from tfx.ops.math.complex_parts import conj, imag, real
from tfx.ops.math.elementwise import abs as absolute
from tfx.ops.math.elementwise import log
from tfx.ops.math.reduction import reduce_prod, reduce_sum
from tfx.ops.signal.fourier import fft, fft2d, fft3d, ifft, ifft2d, ifft3d

_TRANSFORMS = {1: (fft, ifft), 2: (fft2d, ifft2d), 3: (fft3d, ifft3d)}


class CirculantOperator(LinearOperator):
    """What circulant operators of all depths have in common."""

    _block_depth: ClassVar[int]

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: DTypeLike = dtypes.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        parameters = {**locals()}
        self._spectrum = kept(spectrum)
        require_rank(self._spectrum, self._block_depth, "spectrum")
        if not self._spectrum.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError(
                    "A real spectrum always corresponds to a self-adjoint operator; got "
                    "is_self_adjoint=False."
                )
            is_self_adjoint = True
        if is_square is False:
            raise ValueError(
                "A [[nested] block] circulant operator is always square; got is_square=False."
            )
        self._set_up(
            as_dtype(input_output_dtype),
            parameters,
            is_self_adjoint=is_self_adjoint,
            is_square=True,
        )

    @property
    def spectrum(self) -> Any:
        """The eigenvalues, or the variable that holds them."""
        return self._spectrum

    @property
    def block_depth(self) -> int:
        """How many axes vectors are seen as having."""
        return self._block_depth

    @property
    def block_shape(self) -> TensorShape:
        """The sizes of these axes."""
        known: TensorShape = self._spectrum.shape
        return known[-self._block_depth :]

    def block_shape_tensor(self) -> Tensor:
        """The sizes of these axes as a tensor."""
        known = self.block_shape
        return sizes(known) if known.is_fully_defined() else self._open_block()

    def _open_block(self) -> Tensor:
        return shape(self._spectrum)[-self._block_depth :]

    def _shape(self) -> TensorShape:
        known: TensorShape = self._spectrum.shape
        size = self.block_shape.num_elements()
        return known[: -self._block_depth].concatenate([size, size])

    def _shape_tensor(self) -> Tensor:
        known = shape(self._spectrum)
        size = reduce_prod(known[-self._block_depth :], keepdims=True)
        return joined(known[: -self._block_depth], size, size)

    def _like(self, spectrum: Any, dtype: DTypeLike = dtypes.complex64) -> Any:
        # TensorFlow gives the adjoint complex numbers, whatever this operator takes.
        known = {**hints.own(self), "is_square": True}
        return type(self)(spectrum, input_output_dtype=dtype, **known)

    def _linop_adjoint(self) -> Any:
        return self._like(conj(self._spectrum))

    def _linop_inverse(self) -> Any:
        return self._like(1.0 / convert_to_tensor(self._spectrum), self.dtype)

    def _transformed(self, x: Tensor, adjoint: bool, adjoint_arg: bool, solves: bool) -> Tensor:
        """The product with the spectrum, or its inverse, of what the transform makes of ``x``."""
        there, back = _TRANSFORMS[self._block_depth]
        spectrum = to_complex(self._spectrum)
        right = cast(adjoint_if(x, adjoint_arg), spectrum.dtype)
        rows = matrix_transpose(right)
        blocks = there(reshape(rows, joined(shape(rows)[:-1], self.block_shape_tensor())))
        factor = conj(spectrum) if adjoint else spectrum
        factor = factor[(..., None, *[slice(None)] * self._block_depth)]
        found = back(blocks / factor if solves else blocks * factor)
        return cast(matrix_transpose(self._flat(found)), self.dtype)

    def _flat(self, x: Any) -> Tensor:
        """Blocks as vectors."""
        if self._block_depth == 1:
            return convert_to_tensor(x)
        known = x.shape
        if known.is_fully_defined():
            return reshape(x, [*known[: -self._block_depth], -1])
        return reshape(x, joined(shape(x)[: -self._block_depth], [-1]))

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._transformed(x, adjoint, adjoint_arg, solves=False)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._transformed(rhs, adjoint, adjoint_arg, solves=True)

    def convolution_kernel(self, name: str = "convolution_kernel") -> Tensor:
        """The first column, in the shape of blocks: what vectors are convolved with."""
        back = _TRANSFORMS[self._block_depth][1]
        return cast(back(to_complex(self._spectrum)), self.dtype)

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Any:
        """Raise unless the matrices are real.

        Raises:
            InvalidArgumentError: the convolution kernel is not real.
        """
        eps = float(finfo(self.dtype.real_dtype).eps)
        part = imag(self.convolution_kernel())
        most = eps * cast(self.domain_dimension_tensor(), part.dtype)
        return assert_less(absolute(part), most, message="Spectrum was not Hermitian")

    def _assert_non_singular(self) -> Any:
        message = "Singular operator:  Spectrum contained zero values."
        return assert_nowhere_zero(self._spectrum, message)

    def _assert_positive_definite(self) -> Any:
        message = "Not positive definite:  Real part of spectrum was not all positive."
        return assert_positive(real(self._spectrum), message=message)

    def _assert_self_adjoint(self) -> Any:
        message = "Not self-adjoint:  The spectrum contained non-zero imaginary part."
        return assert_real(self._spectrum, message)

    def _determinant(self) -> Any:
        return cast(reduce_prod(self._flat(self._spectrum), axis=-1), self.dtype)

    def _log_abs_determinant(self) -> Any:
        logs = log(absolute(self._flat(self._spectrum)))
        return cast(reduce_sum(logs, axis=-1), self.dtype)

    def _trace(self) -> Any:
        values = self._flat(self._spectrum)
        if self.is_self_adjoint or not self.dtype.is_complex:
            values = real(values)
        return cast(reduce_sum(values, axis=-1), self.dtype)

    def _diag_part(self) -> Any:
        size = self._static_or_tensor_dimension()
        mean = self.trace() / cast(size, self.dtype)
        return mean[..., None] * ones([size], self.dtype)

    def _eigvals(self) -> Any:
        return self._flat(self._spectrum)

    def _cond(self) -> Any:
        return ratio_of_sizes(self._flat(self._spectrum))

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("spectrum", "input_output_dtype")

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"spectrum": self._block_depth}


class LinearOperatorCirculant(CirculantOperator):
    """A batch of circulant matrices: each column is the one before it, turned by one.

    A product is the circular convolution of vectors with the first column, by Fourier transforms.

    Args:
        spectrum: ``[..., N]``, the eigenvalues: the Fourier transform of the first column. A real
            one makes the operator self-adjoint. May be a variable.
        input_output_dtype: dtype of what is multiplied, and of the results. With a real one the
            matrices have to be real: the spectrum is Hermitian.
        is_non_singular: Hint, see ``LinearOperator``.
        is_self_adjoint: Hint; True if the spectrum is real.
        is_positive_definite: Hint.
        is_square: Hint; always True.
        name: A name.

    Raises:
        ValueError: a spectrum of too few axes, or hints that cannot be.

    Products of such operators, and adjoints, have the dtype complex64, as they have in TensorFlow.

    Example:
        >>> import tfx as tf
        >>> operator = tf.linalg.LinearOperatorCirculant([6.0, 2.0, 2.0], tf.float32)
        >>> operator.to_dense().numpy().round(3)
        array([[3.333, 1.333, 1.333],
               [1.333, 3.333, 1.333],
               [1.333, 1.333, 3.333]], dtype=float32)
    """

    _block_depth = 1


class LinearOperatorCirculant2D(CirculantOperator):
    """A batch of block circulant matrices with circulant blocks: convolutions of pictures.

    Args:
        spectrum: ``[..., N0, N1]``, the eigenvalues; the matrices have ``N0 * N1`` rows.
        input_output_dtype: dtype of what is multiplied, and of the results.
        is_non_singular: Hint, see ``LinearOperator``.
        is_self_adjoint: Hint; True if the spectrum is real.
        is_positive_definite: Hint.
        is_square: Hint; always True.
        name: A name.

    Raises:
        ValueError: a spectrum of too few axes, or hints that cannot be.

    Example:
        >>> import tfx as tf
        >>> operator = tf.linalg.LinearOperatorCirculant2D(tf.ones([2, 2]), tf.float32)
        >>> operator.matvec([1.0, 2.0, 3.0, 4.0]).numpy()
        array([1., 2., 3., 4.], dtype=float32)
    """

    _block_depth = 2


class LinearOperatorCirculant3D(CirculantOperator):
    """A batch of circulant matrices of three nested levels: convolutions of volumes.

    Args:
        spectrum: ``[..., N0, N1, N2]``, the eigenvalues; the matrices have ``N0 * N1 * N2`` rows.
        input_output_dtype: dtype of what is multiplied, and of the results.
        is_non_singular: Hint, see ``LinearOperator``.
        is_self_adjoint: Hint; True if the spectrum is real.
        is_positive_definite: Hint.
        is_square: Hint; always True.
        name: A name.

    Raises:
        ValueError: a spectrum of too few axes, or hints that cannot be.

    Example:
        >>> import tfx as tf
        >>> operator = tf.linalg.LinearOperatorCirculant3D(tf.ones([2, 2, 2]), tf.float32)
        >>> operator.shape
        TensorShape([8, 8])
    """

    _block_depth = 3
