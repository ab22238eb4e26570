"""The logarithm of matrices: square roots until one is near 1, and a quadrature of what is left."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.control_flow.while_loop import while_loop
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.function.gradients.custom_gradient import custom_gradient
from tfx.linalg_ops.complex_matrices import embedded, of_embedded
from tfx.linalg_ops.matrix_square_root import iterated_root
from tfx.linalg_ops.row_loops import either, matrices, places
from tfx.linalg_ops.solve import solve
from tfx.ops.common.arguments import cast_to, scalar_like, tensor
from tfx.ops.common.open_ranks import over_batches, rank_is_open
from tfx.ops.linalg.matmul import adjoint
from tfx.ops.math.cast import stop_gradient
from tfx.ops.math.reduction import reduce_max, reduce_sum

# Nodes of the quadrature; with the norm it is exact to rounding in double precision.
_NODES = 8
_NEAR = 0.25
_MOST_ROOTS = 60


def logm(input: Any, name: str | None = None) -> Tensor:
    """The principal logarithms of square matrices: imaginary parts of eigenvalues are below pi.

    It has gradients of any order. (TensorFlow raises ``LookupError`` there.)

    Args:
        input: ``[..., n, n]`` of a complex dtype, invertible, without negative real eigenvalues.
        name: Accepted for compatibility.

    Returns:
        ``[..., n, n]`` with ``expm(result)`` equal to ``input``; NaN where there is none.

    Raises:
        InvalidArgumentError: a real dtype, no square matrices, or one without inverse.

    Example:
        >>> import tfx as tf
        >>> turn = tf.constant([[0.0, -1.0], [1.0, 0.0]], tf.complex128)
        >>> tf.math.real(tf.linalg.logm(turn)).numpy().round(4) + 0.0
        array([[ 0.    , -1.5708],
               [ 1.5708,  0.    ]])
    """
    if rank_is_open(input):
        whole: Tensor = over_batches(logm, (input, 2))
        return whole
    given = tensor(input)
    if not given.dtype.is_complex:
        raise InvalidArgumentError(
            f"Value for attr 'T' of {given.dtype.name} is not in the list of allowed values: "
            "complex64, complex128. Use tf.cast to make the matrices complex.",
            op="MatrixLogarithm",
        )
    a = matrices(given, "MatrixLogarithm", square=True, complex_too=True)
    found: Tensor = _differentiable(a)
    return found


@custom_gradient
def _differentiable(a: Tensor) -> tuple[Tensor, Any]:
    def gradient(dy: Tensor) -> Tensor:
        # The derivative in a direction is a block of the logarithm of a matrix of blocks.
        turned = adjoint(a)
        below = ox.Concat(turned * scalar_like(0, a), turned, axis=-1)
        blocks = ox.Concat(ox.Concat(turned, dy, axis=-1), below, axis=-2)
        found = either(_differentiable, _logarithm)(blocks)
        upper, _ = ox.Split(found, axis=-2, num_outputs=2, outputs=2)
        _, right = ox.Split(upper, axis=-1, num_outputs=2, outputs=2)
        return right

    return _logarithm(stop_gradient(a)), gradient


def _logarithm(given: Tensor) -> Tensor:
    a = embedded(given)
    rows, columns = places(a)
    one = cast_to(ox.Equal(rows, columns), a.dtype)

    def more(i: Tensor, x: Tensor) -> Tensor:
        norms = reduce_max(reduce_sum(ox.Abs(x - one), -2), -1)
        none = ox.Reshape(scalar_like(0, a), int64_constant([1]))
        largest = reduce_max(ox.Concat(ox.Reshape(norms, int64_constant([-1])), none, axis=0))
        far = ox.Greater(largest, scalar_like(_NEAR, a))
        return ox.And(far, ox.Less(i, int64_constant(_MOST_ROOTS)))

    def root(i: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        return i + 1, iterated_root(x)

    times, near = while_loop(more, root, [int64_constant(0), a])
    rest = near - one
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    total: Any = None
    # log(1 + x) is the integral of x / (1 + t x) from 0 to 1.
    for point, weight in zip((points + 1) / 2, weights / 2, strict=True):
        part = solve(one + rest * scalar_like(float(point), a), rest) * scalar_like(
            float(weight), a
        )
        total = part if total is None else total + part
    doubled = ox.Pow(scalar_like(2, a), cast_to(times, a.dtype))
    return of_embedded(total * doubled, given)
