"""``LinearOperatorBlockLowerTriangular``: operators in a triangle, solved by substitution."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfx.core.shapes import TensorShape
from tfx.framework.tensor import Tensor
from tfx.linear_operators import hints
from tfx.linear_operators.blocks import BlockOperator
from tfx.linear_operators.combined import listed, require_one_dtype, sum_of
from tfx.linear_operators.identity import LinearOperatorScaledIdentity
from tfx.linear_operators.sums import added
from tfx.linear_operators.tensors import (
    broadcast_batches,
    joined,
    same_shape,
    same_shape_tensor,
    with_shape,
)
from tfx.ops.array.concat import concat
from tfx.ops.array.creation import zeros
from tfx.ops.array.shape import shape
from tfx.ops.math.cast import cast
from tfx.ops.math.elementwise import exp


class LinearOperatorBlockLowerTriangular(BlockOperator):
    """Operators as the blocks on and below the diagonal of a matrix of blocks.

    Arguments are tensors, or lists with a tensor for each block; the results are alike.

    Args:
        operators: A list of rows: the first has one operator, the second two, and so on. Those in
            a row have as many rows, those in a column as many columns, and the last of each row is
            square. They have one dtype; their batches broadcast.
        is_non_singular: Hint, see ``LinearOperator``; that of the blocks on the diagonal.
        is_self_adjoint: Hint.
        is_positive_definite: Hint.
        is_square: Hint; always True.
        name: A name.

    Raises:
        TypeError: no lists, or several dtypes.
        ValueError: another number of operators in a row, sizes that do not fit, or hints that
            cannot be.

    Example:
        >>> import tfx as tf
        >>> one = tf.linalg.LinearOperatorIdentity(1)
        >>> three = tf.linalg.LinearOperatorFullMatrix([[3.0]])
        >>> operator = tf.linalg.LinearOperatorBlockLowerTriangular([[one], [three, one]])
        >>> operator.solvevec([1.0, 5.0]).numpy()
        array([1., 2.], dtype=float32)
    """

    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = "LinearOperatorBlockLowerTriangular",
    ) -> None:
        parameters = {**locals()}
        if not isinstance(operators, Iterable):
            raise TypeError(f"Expected a list of rows of operators; got {operators!r}.")
        self._operators = [listed(row) for row in operators]
        if not self._operators:
            raise ValueError(f"Argument `operators` must be a list of >=1 rows; got {operators!r}.")
        require_one_dtype(self._all())
        known = self._singular_or_not(is_non_singular)
        self._check_sizes()
        self._check_square(is_square)
        self._set_up(self._operators[0][0].dtype, parameters, is_non_singular=known, is_square=True)

    def _parts(self) -> list[Any]:
        return [row[-1] for row in self._operators]

    def _all(self) -> list[Any]:
        return [each for row in self._operators for each in row]

    def _singular_or_not(self, said: bool | None) -> bool | None:
        on_diagonal = [each.is_non_singular for each in self._parts()]
        known = True if all(on_diagonal) else False if False in on_diagonal else None
        if None not in (known, said) and known != said:
            raise ValueError(
                "A blockwise lower-triangular operator is non-singular if and only if the blocks "
                f"on the diagonal are; theirs are {on_diagonal}, got is_non_singular={said}."
            )
        return known

    def _check_sizes(self) -> None:
        rows = self._operators
        for i, row in enumerate(rows):
            if len(row) != i + 1:
                raise ValueError(
                    f"Argument `operators[{i}]` must contain `{i + 1}` blocks; got {len(row)}."
                )
        for i, row in enumerate(rows):
            for j, each in enumerate(row[:-1]):
                for what, other in (("domain", rows[i - 1][j]), ("range", row[j + 1])):
                    sizes = [getattr(x, f"{what}_dimension") for x in (each, other)]
                    if sizes[0] != sizes[1]:
                        raise ValueError(
                            f"The {what} dimension of `operators[{i}][{j}]` must be that of its "
                            f"neighbour {other!r}; got {sizes[0]} and {sizes[1]}."
                        )

    def _check_square(self, said: bool | None) -> None:
        if said is False:
            raise ValueError(
                "A LinearOperatorBlockLowerTriangular must be square; got is_square=False."
            )
        for i, each in enumerate(self._parts()):
            if each.is_square is False:
                raise ValueError(
                    "Matrices on the diagonal (the last of each row) must be square; got the shape "
                    f"{each.shape} in row {i}."
                )

    def _shape(self) -> TensorShape:
        batch = same_shape(*(each.batch_shape for each in self._all()))
        return batch.concatenate([self._block_total(-2), self._block_total(-1)])

    def _shape_tensor(self) -> Tensor:
        size = sum_of([each.domain_dimension_tensor() for each in self._parts()])
        batch = same_shape_tensor(*(each.batch_shape_tensor() for each in self._all()))
        return joined(batch, [size, size])

    def _linop_inverse(self) -> Any:
        made: list[list[Any]] = []
        for row in self._operators:
            last = row[-1].inverse()
            minus = LinearOperatorScaledIdentity(
                last.domain_dimension_tensor(), cast(-1, self.dtype)
            )
            blocks = []
            for i in range(len(row) - 1):
                terms = [row[j].matmul(made[j][i]) for j in range(i, len(row) - 1)]
                blocks.append(minus.matmul(last.matmul(added(terms))))
            made.append([*blocks, last])
        known = {**hints.own(self), "is_square": True}
        return LinearOperatorBlockLowerTriangular(made, **known)

    def _matmul_blocks(self, parts: list[Any], adjoint: bool) -> list[Any]:
        rows = self._operators
        size = len(rows)
        if adjoint:
            places = [[(j, i) for j in range(i, size)] for i in range(size)]
        else:
            places = [[(i, j) for j in range(i + 1)] for i in range(size)]
        return [
            sum_of(
                [rows[i][j].matmul(parts[i if adjoint else j], adjoint=adjoint) for i, j in terms]
            )
            for terms in places
        ]

    def _solve_blocks(self, parts: list[Any], adjoint: bool) -> list[Any]:
        rows, size = self._operators, len(self._operators)
        found: dict[int, Any] = {}
        for i in reversed(range(size)) if adjoint else range(size):
            rest = parts[i]
            for j, known in found.items():
                block = rows[j][i] if adjoint else rows[i][j]
                rest = rest - block.matmul(known, adjoint=adjoint)
            found[i] = rows[i][i].solve(rest, adjoint=adjoint)
        return [found[i] for i in range(size)]

    def _determinant(self) -> Any:
        if all(each.is_positive_definite for each in self._parts()):
            return exp(self._log_abs_determinant())
        return super()._determinant()

    def _diag_part(self) -> Any:
        return self._on_diagonal("diag_part")

    def _trace(self) -> Any:
        return sum_of([each.trace() for each in self._parts()])

    def _eigvals(self) -> Any:
        return self._on_diagonal("eigvals")

    def _to_dense(self) -> Any:
        blocks = iter(broadcast_batches([each.to_dense() for each in self._all()]))
        rows = [[next(blocks) for _ in row] for row in self._operators]
        columns = [shape(row[-1])[-1] for row in rows]
        whole = []
        for number, row in enumerate(rows):
            lead = shape(row[0])[:-1]
            empty = [zeros(joined(lead, [n]), self.dtype) for n in columns[number + 1 :]]
            whole.append(concat([*row, *empty], -1))
        return with_shape(concat(whole, -2), self.shape)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"operators": [[0] * len(row) for row in self._operators]}
