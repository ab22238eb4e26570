"""``LinearOperatorBlockDiag``: operators side by side on the diagonal."""

from __future__ import annotations

from typing import Any

from tfx.core.shapes import TensorShape
from tfx.framework.tensor import Tensor
from tfx.linear_operators.blocks import BlockOperator
from tfx.linear_operators.combined import PartwiseOperator, sum_of
from tfx.linear_operators.tensors import broadcast_batches, joined, with_shape
from tfx.ops.array.concat import concat
from tfx.ops.array.creation import zeros
from tfx.ops.array.shape import shape


class LinearOperatorBlockDiag(BlockOperator, PartwiseOperator):
    """The direct sum of operators: each acts on its part of a vector.

    Arguments are tensors, or lists with a tensor for each block; the results are alike.

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
        >>> scaled = tf.linalg.LinearOperatorScaledIdentity(1, 5.0)
        >>> turned = tf.linalg.LinearOperatorPermutation([1, 0])
        >>> operator = tf.linalg.LinearOperatorBlockDiag([scaled, turned])
        >>> operator.matvec([1.0, 2.0, 3.0]).numpy()
        array([5., 3., 2.], dtype=float32)
    """

    _kind, _joint = "direct sum", "_ds_"

    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        self._combine({**locals()})

    def _shape(self) -> TensorShape:
        return self._batch().concatenate([self._block_total(-2), self._block_total(-1)])

    def _shape_tensor(self) -> Tensor:
        rows = [each.range_dimension_tensor() for each in self._operators]
        columns = [each.domain_dimension_tensor() for each in self._operators]
        return joined(self._open_batch(), [sum_of(rows), sum_of(columns)])

    def _matmul_blocks(self, parts: list[Any], adjoint: bool) -> list[Any]:
        pairs = zip(self._operators, parts, strict=True)
        return [each.matmul(part, adjoint=adjoint) for each, part in pairs]

    def _solve_blocks(self, parts: list[Any], adjoint: bool) -> list[Any]:
        pairs = zip(self._operators, parts, strict=True)
        return [each.solve(part, adjoint=adjoint) for each, part in pairs]

    def _require_square_blocks(self, what: str) -> None:
        if not all(each.is_square for each in self._operators):
            raise NotImplementedError(
                f"`{what}` not implemented for an operator whose blocks are not square; got the "
                f"shapes {[str(each.shape) for each in self._operators]}."
            )

    def _diag_part(self) -> Any:
        self._require_square_blocks("diag_part")
        return self._on_diagonal("diag_part")

    def _trace(self) -> Any:
        self._require_square_blocks("trace")
        return sum_of([each.trace() for each in self._operators])

    def _eigvals(self) -> Any:
        self._require_square_blocks("eigvals")
        return self._on_diagonal("eigvals")

    def _to_dense(self) -> Any:
        blocks = broadcast_batches([each.to_dense() for each in self._operators])
        columns = [shape(block)[-1] for block in blocks]
        rows = []
        for number, block in enumerate(blocks):
            lead = shape(block)[:-1]
            row = [zeros(joined(lead, [n]), self.dtype) for n in columns]
            row[number] = block
            rows.append(concat(row, -1))
        return with_shape(concat(rows, -2), self.shape)

    def _assert_self_adjoint(self) -> Any:
        return self._each_asserts("assert_self_adjoint")

    def _assert_positive_definite(self) -> Any:
        return self._each_asserts("assert_positive_definite")
