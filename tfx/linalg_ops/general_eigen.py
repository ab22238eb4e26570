"""``eig`` and ``eigvals``: of any square matrix. Their results are complex.

ONNX has neither the decomposition nor complex numbers, so Python computes it, with LAPACK.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.core.errors import InvalidArgumentError
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import require_dtype, tensor
from tfx.ops.common.python_ops import by_python

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
    """Eigenvalues and eigenvectors of square matrices. No gradient flows through it.

    Use ``eigh`` for symmetric matrices: it is real, has gradients and can be saved. Complex tensors
    can be kept, and ``tf.math.real``, ``imag``, ``angle`` and ``tf.abs`` make real ones of them.

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
    a, kind = _square(tensor)
    shape = a.shape.symbolic

    def decompose(array: Any) -> list[Any]:
        values, vectors = _computed(np.linalg.eig, array)
        return [values, vectors]

    outputs = [(kind, None if shape is None else shape[:-1]), (kind, shape)]
    return Eig(*by_python("linalg.eig", decompose, [a], outputs))


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
    a, kind = _square(tensor)
    shape = a.shape.symbolic
    lead = None if shape is None else shape[:-1]
    return by_python(
        "linalg.eigvals", lambda x: [_computed(np.linalg.eigvals, x)], [a], [(kind, lead)]
    )[0]


def _computed(function: Any, array: Any) -> Any:
    try:
        return function(array)
    except np.linalg.LinAlgError as e:
        raise InvalidArgumentError(
            f"Eigen decomposition was not successful ({e}). The input might not be valid: it is an "
            f"array of shape {array.shape}, whose elements must be finite.",
            op="Eig",
        ) from e


def _square(x: Any) -> tuple[Tensor, DType]:
    a = tensor(x)
    wanted = "float32, float64, complex64 or complex128"
    require_dtype(a, a.dtype in _COMPLEX, "Eig", wanted)
    rank = a.shape.rank
    fits = rank is None or (rank > 1 and a.shape[-1:].is_compatible_with(a.shape[-2:-1]))
    if not fits:
        raise InvalidArgumentError(
            f"Input matrix must be square: Eig takes [..., n, n]; got shape {a.shape}.", op="Eig"
        )
    return a, _COMPLEX[a.dtype]
