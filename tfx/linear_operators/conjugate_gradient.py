"""``tf.linalg.experimental.conjugate_gradient``: systems of equations by the method of that name.

After Hestenes and Stiefel, "Methods of conjugate gradients for solving linear systems" (1952).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tfx.control_flow.while_loop import while_loop
from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import Tensor
from tfx.linalg_ops.norms import norm
from tfx.ops.array.creation import zeros_like
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.ops.math.arithmetic import multiply
from tfx.ops.math.comparison import greater
from tfx.ops.math.complex_parts import conj, real
from tfx.ops.math.reduction import reduce_any, reduce_sum


class CGState(NamedTuple):
    """The last state of ``conjugate_gradient``."""

    i: Tensor
    x: Tensor
    r: Tensor
    p: Tensor
    gamma: Tensor


def conjugate_gradient(
    operator: Any,
    rhs: Any,
    preconditioner: Any = None,
    x: Any = None,
    tol: float = 1e-5,
    max_iter: int = 20,
    name: str = "conjugate_gradient",
) -> CGState:
    """Solve ``operator @ x = rhs`` with nothing but products with the operator.

    Args:
        operator: A linear operator that is self-adjoint and positive definite, and says so.
        rhs: ``[..., n]`` of its dtype.
        preconditioner: A linear operator near the inverse of ``operator``, of the same kind.
        x: Where to begin, ``[..., n]``; None: zeros.
        tol: It ends where the norm of ``r`` is at most this part of that of ``rhs``, for all.
        max_iter: The greatest number of steps.
        name: Accepted for compatibility.

    Returns:
        A named tuple: ``i``, the number of steps, ``x``, the solution, ``r``, what is left of
        ``rhs``, ``p``, the last direction, and ``gamma``, the product of ``r`` and the
        preconditioned ``r``.

    Raises:
        ValueError: an operator that does not say that it is self-adjoint and positive definite.

    Example:
        >>> import tfx as tf
        >>> a = tf.linalg.LinearOperatorFullMatrix(
        ...     [[4.0, 1.0], [1.0, 3.0]], is_self_adjoint=True, is_positive_definite=True
        ... )
        >>> found = tf.linalg.experimental.conjugate_gradient(a, [1.0, 2.0])
        >>> found.x.numpy().round(4), int(found.i)
        (array([0.0909, 0.6364], dtype=float32), 2)
    """
    for given, what in ((operator, "operator"), (preconditioner, "preconditioner")):
        if given is not None and not (given.is_self_adjoint and given.is_positive_definite):
            raise InvalidArgumentError(f"Expected a self-adjoint, positive definite {what}.")
    right = convert_to_tensor(rhs, operator.dtype)
    start = zeros_like(right) if x is None else convert_to_tensor(x, operator.dtype)
    left = right if x is None else right - operator.matvec(start)
    first = _prepared(preconditioner, left)
    size = _size(right)
    limit = ox.Mul(size, scalar_like(tol, size))
    count = cast_to(int64_constant(0), dtypes.int32)

    def goes_on(i: Tensor, x: Tensor, r: Tensor, p: Tensor, gamma: Tensor) -> Tensor:
        return ox.And(ox.Less(i, scalar_like(max_iter, i)), reduce_any(greater(_size(r), limit)))

    def step(i: Tensor, x: Tensor, r: Tensor, p: Tensor, gamma: Tensor) -> tuple[Tensor, ...]:
        z = operator.matvec(p)
        alpha = gamma / _product(p, z)
        x, r = x + alpha[..., None] * p, r - alpha[..., None] * z
        q = _prepared(preconditioner, r)
        new = _product(r, q)
        p = q + (new / gamma)[..., None] * p
        return i + 1, x, r, p, new

    state = (count, start, left, first, _product(left, first))
    return CGState(*while_loop(goes_on, step, state))


def _prepared(preconditioner: Any, r: Tensor) -> Any:
    return r if preconditioner is None else preconditioner.matvec(r)


def _size(x: Any) -> Tensor:
    """The norm of each vector, which has the dtype of the vectors in TensorFlow."""
    return real(norm(x, axis=-1))


def _product(x: Any, y: Any) -> Any:
    return reduce_sum(multiply(conj(x), y), axis=-1)
