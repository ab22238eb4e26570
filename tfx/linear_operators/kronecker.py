"""``LinearOperatorKronecker``: Kronecker products, of which no matrix is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.framework.tensor import Tensor
from tfx.linear_operators.combined import PartwiseOperator, product_of, sum_of
from tfx.linear_operators.tensors import adjoint_if, joined, with_shape
from tfx.ops.array.reshape import reshape
from tfx.ops.array.shape import shape
from tfx.ops.linalg.matmul import matrix_transpose
from tfx.ops.math.arithmetic import pow as power
from tfx.ops.math.cast import cast


class LinearOperatorKronecker(PartwiseOperator):
    """The Kronecker product of operators.

    A product takes one axis of the argument after another through the operators, so that it needs
    no more room than the argument and the result.

    Args:
        operators: A list of operators of one dtype; their batches broadcast.
        is_non_singular: Hint, see ``LinearOperator``; True if all of them are.
        is_self_adjoint: Hint; True if all of them are.
        is_positive_definite: Hint; True if all of them are.
        is_square: Hint.
        name: A name; None: made of the operators'.

    Raises:
        TypeError: no list, or several dtypes.
        ValueError: no operators, or hints that cannot be.

    Example:
        >>> import tfx as tf
        >>> a = tf.linalg.LinearOperatorDiag([1.0, 10.0])
        >>> b = tf.linalg.LinearOperatorDiag([1.0, 2.0, 3.0])
        >>> tf.linalg.LinearOperatorKronecker([a, b]).diag_part().numpy()
        array([ 1.,  2.,  3., 10., 20., 30.], dtype=float32)
    """

    _kind, _joint = "Kronecker product", "_x_"

    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._combine({**locals()})

    def _shape(self) -> TensorShape:
        rows = product_of([each.range_dimension for each in self._operators])
        columns = product_of([each.domain_dimension for each in self._operators])
        return self._batch().concatenate([rows.value, columns.value])

    def _shape_tensor(self) -> Tensor:
        rows = [each.range_dimension_tensor() for each in self._operators]
        columns = [each.domain_dimension_tensor() for each in self._operators]
        return joined(self._open_batch(), [product_of(rows), product_of(columns)])

    def _through(
        self, x: Tensor, adjoint: bool, apply: Callable[[Any, Tensor], Tensor], backwards: bool
    ) -> Tensor:
        """Matrices, each of whose axes goes through one operator.

        Args:
            x: ``[..., d1 * ... * dn, R]``.
            adjoint: Whether the operators' adjoints are applied.
            apply: Applies an operator to matrices.
            backwards: Whether it goes from an operator's rows to its columns.
        """
        columns = shape(x)[-1:]
        found = x
        for number, each in enumerate(self._operators):
            # The axis that is next stands in front, and goes behind all others afterwards.
            axis = -2 if adjoint != backwards else -1
            size = each._static_or_tensor_dimension(axis)
            found = found if number == 0 else matrix_transpose(found)
            found = apply(each, reshape(found, joined(shape(found)[:-2], [size, -1])))
        found = matrix_transpose(found)
        turned = reshape(found, joined(shape(found)[:-2], columns, [-1]))
        result = matrix_transpose(turned)
        rows = self.shape[-1:] if adjoint != backwards else self.shape[-2:-1]
        if x.shape.rank is None or self.shape.rank is None:
            return result
        return with_shape(result, result.shape[:-2].concatenate(rows).concatenate(x.shape[-1:]))

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        def apply(each: Any, part: Tensor) -> Any:
            return each.matmul(part, adjoint=adjoint)

        return self._through(adjoint_if(x, adjoint_arg), adjoint, apply, False)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        def apply(each: Any, part: Tensor) -> Any:
            return each.solve(part, adjoint=adjoint)

        return self._through(adjoint_if(rhs, adjoint_arg), adjoint, apply, True)

    def _times(self, each: Any) -> Tensor:
        """How often an operator's determinant is a factor."""
        count = self.domain_dimension_tensor() // each.domain_dimension_tensor()
        return cast(count, self.dtype)

    def _determinant(self) -> Any:
        return product_of(
            [power(each.determinant(), self._times(each)) for each in self._operators]
        )

    def _log_abs_determinant(self) -> Any:
        found = [each.log_abs_determinant() for each in self._operators]
        counts = [
            cast(self._times(o), x.dtype) for o, x in zip(self._operators, found, strict=True)
        ]
        terms = [x * n for x, n in zip(found, counts, strict=True)]
        return sum_of(terms)

    def _all_square(self) -> bool:
        return all(each.is_square for each in self._operators)

    def _trace(self) -> Any:
        if not self._all_square():
            return super()._trace()
        return product_of([each.trace() for each in self._operators])

    def _diag_part(self) -> Any:
        if not self._all_square():
            return super()._diag_part()
        return _outer([each.diag_part() for each in self._operators])

    def _eigvals(self) -> Any:
        return _outer([each.eigvals() for each in self._operators])

    def _to_dense(self) -> Any:
        first, *rest = [each.to_dense() for each in self._operators]
        for each in rest:
            product = first[..., :, None, :, None] * each[..., None, :, None, :]
            known = shape(product)
            rows, columns = known[-4] * known[-3], known[-2] * known[-1]
            first = reshape(product, joined(known[:-4], [rows, columns]))
        return with_shape(first, self.shape)

    def _require_square_factors(self) -> None:
        if not self._all_square():
            raise InvalidArgumentError(
                "All Kronecker factors must be square for the product to be invertible or "
                f"self-adjoint; got the shapes {[str(each.shape) for each in self._operators]}."
            )

    def _assert_non_singular(self) -> Any:
        self._require_square_factors()
        return self._each_asserts("assert_non_singular")

    def _assert_self_adjoint(self) -> Any:
        self._require_square_factors()
        return self._each_asserts("assert_self_adjoint")


def _outer(vectors: list[Any]) -> Any:
    """All products of elements of vectors, the last one's changing first."""
    first, *rest = vectors
    for each in rest:
        product = first[..., :, None] * each[..., None, :]
        first = reshape(product, joined(shape(product)[:-2], [-1]))
    return first
