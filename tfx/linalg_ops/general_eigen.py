"""``eig`` and ``eigvals``: of any square matrix. Their results are complex.

ONNX has neither the decomposition nor complex numbers, so Python computes it, with LAPACK.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.tensor import Tensor
from tfx.function.gradients.custom_gradient import custom_gradient
from tfx.linalg_ops.row_loops import either
from tfx.linalg_ops.solve import solve
from tfx.ops.common.arguments import cast_to, require_dtype, scalar_like, tensor
from tfx.ops.common.complex_parts import conjugate
from tfx.ops.common.python_ops import by_python
from tfx.ops.linalg.diagonals import diag, diag_part
from tfx.ops.linalg.matmul import adjoint, matmul
from tfx.ops.math.complex_parts import real

_COMPLEX = {
    dtypes.float32: dtypes.complex64,
    dtypes.float64: dtypes.complex128,
    dtypes.complex64: dtypes.complex64,
    dtypes.complex128: dtypes.complex128,
}


class Eig(NamedTuple):
    """The results of ``eig``.

    Attributes:
        e: Eigenvalues ``[..., n]``.
        v: Eigenvectors, the columns of ``[..., n, n]``.
    """

    e: Tensor
    v: Tensor


def eig(tensor: Any, name: str | None = None) -> Eig:
    """Eigenvalues and eigenvectors of square matrices.

    Use ``eigh`` for self-adjoint matrices: its values are real, and it can be saved. Gradients
    leave out what equal eigenvalues would divide by zero; those of a loss that depends on the
    phases of eigenvectors, which are not defined, mean nothing.

    Args:
        tensor: ``[..., n, n]`` of float32, float64, complex64 or complex128.
        name: Accepted for compatibility.

    Returns:
        ``(e, v)``: eigenvalues ``[..., n]`` in no particular order, and eigenvectors of length 1 as
        the columns of ``[..., n, n]``; complex64 for single and complex128 for double precision. A
        function with it cannot be saved.

    Raises:
        InvalidArgumentError: no square matrices, or with elements that are not finite.

    Example:
        >>> import tfx as tf
        >>> e, v = tf.linalg.eig([[0.0, 1.0], [-1.0, 0.0]])
        >>> tf.math.imag(e).numpy()
        array([ 1., -1.], dtype=float32)
    """
    return Eig(*_differentiable(_square(tensor)))


def eigvals(tensor: Any, name: str | None = None) -> Tensor:
    """Eigenvalues of square matrices; see ``eig``.

    Args:
        tensor: ``[..., n, n]`` of float32, float64, complex64 or complex128.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.reduce_max(tf.abs(tf.linalg.eigvals([[0.0, 2.0], [-2.0, 0.0]]))).numpy()
        np.float32(2.0)
    """
    found: Tensor = _differentiable_values(_square(tensor))
    return found


@custom_gradient
def _differentiable(a: Tensor) -> tuple[list[Tensor], Any]:
    def gradient(de: Tensor, dv: Tensor) -> Tensor:
        e, v = either(_differentiable, _decomposed)(a)
        turned = adjoint(v)
        inner = matmul(turned, dv)
        # Eigenvectors keep their length 1.
        along = diag(cast_to(real(diag_part(inner)), inner.dtype))
        gaps = e[..., None, :] - e[..., :, None]
        none = ox.Equal(gaps, scalar_like(0, gaps))
        over = ox.Where(none, gaps, 1 / ox.Where(none, scalar_like(1, gaps), gaps))
        middle = diag(de) + conjugate(over) * (inner - matmul(matmul(turned, v), along))
        return _brought_back(turned, middle, a)

    return _decomposed(a), gradient


@custom_gradient
def _differentiable_values(a: Tensor) -> tuple[Tensor, Any]:
    def gradient(de: Tensor) -> Tensor:
        v = either(_differentiable, _decomposed)(a)[1]
        return _brought_back(adjoint(v), diag(de), a)

    kind, shape = _COMPLEX[a.dtype], a.shape.symbolic
    lead = None if shape is None else shape[:-1]
    found = by_python(
        "linalg.eigvals", lambda x: [_computed(np.linalg.eigvals, x)], [a], [(kind, lead)]
    )
    return found[0], gradient


def _brought_back(turned: Tensor, middle: Tensor, like: Tensor) -> Tensor:
    """A gradient in the basis of eigenvectors, whose adjoint is given, in that of the matrix."""
    found = solve(turned, matmul(middle, turned))
    return found if like.dtype.is_complex else real(found)


def _decomposed(a: Tensor) -> list[Tensor]:
    def decompose(array: Any) -> list[Any]:
        values, vectors = _computed(np.linalg.eig, array)
        return [values, vectors]

    kind, shape = _COMPLEX[a.dtype], a.shape.symbolic
    outputs = [(kind, None if shape is None else shape[:-1]), (kind, shape)]
    return list(by_python("linalg.eig", decompose, [a], outputs))


def _computed(function: Any, array: Any) -> Any:
    try:
        return function(array)
    except np.linalg.LinAlgError as e:
        raise InvalidArgumentError(
            f"Eigen decomposition was not successful ({e}). The input might not be valid: it is an "
            f"array of shape {array.shape}, whose elements must be finite.",
            op="Eig",
        ) from e


def _square(x: Any) -> Tensor:
    a = tensor(x)
    wanted = "float32, float64, complex64 or complex128"
    require_dtype(a, a.dtype in _COMPLEX, "Eig", wanted)
    rank = a.shape.rank
    fits = rank is None or (rank > 1 and a.shape[-1:].is_compatible_with(a.shape[-2:-1]))
    if not fits:
        raise InvalidArgumentError(
            f"Input matrix must be square: Eig takes [..., n, n]; got shape {a.shape}.", op="Eig"
        )
    return a
