"""What block operators share: arguments in one piece, or one piece for each block."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from tfx.core import nest
from tfx.core.dimension import Dimension
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.linear_operators.combined import CombinedOperator, sum_of
from tfx.linear_operators.operator import LinearOperator
from tfx.linear_operators.tensors import adjoint_if, broadcast_batches, joined
from tfx.ops.array.concat import concat, split
from tfx.ops.array.reshape import expand_dims, squeeze


class BlockOperator(CombinedOperator):
    """An operator of blocks; its parts are those on the diagonal."""

    @abstractmethod
    def _matmul_blocks(self, parts: list[Any], adjoint: bool) -> list[Any]:
        """The product's parts, one for each row of blocks."""

    @abstractmethod
    def _solve_blocks(self, parts: list[Any], adjoint: bool) -> list[Any]:
        """The solution's parts."""

    def _block_sizes(self, axis: int) -> list[Dimension]:
        """The numbers of columns (-1) or rows (-2) of the blocks on the diagonal."""
        return [Dimension(each._dimension(axis)) for each in self._parts()]

    def _block_total(self, axis: int) -> int | None:
        """The number of columns (-1) or rows (-2) of all blocks on the diagonal."""
        total: Dimension = sum_of(self._block_sizes(axis))
        return total.value

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """The operator times matrices, or times another operator.

        Args:
            x: ``[..., N, R]`` of the operator's dtype; a list of such matrices, one for each
                block; or a ``LinearOperator``.
            adjoint: Multiply by the adjoint of the operator.
            adjoint_arg: Multiply the adjoint of ``x``.
            name: Accepted for compatibility.

        Returns:
            ``[..., M, R]``, a list of matrices for a list, or an operator.

        Raises:
            TypeError: another dtype.
            ValueError: sizes that do not fit.
        """
        if isinstance(x, LinearOperator):
            return super().matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        axis = -2 if adjoint else -1
        blocks = self._blocks_of(x, axis, -1 if adjoint_arg else -2)
        if blocks is None:
            return super().matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        return self._matmul_blocks(_adjoints_if(blocks, adjoint_arg), adjoint)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        parts = self._split(adjoint_if(x, adjoint_arg), -2 if adjoint else -1)
        return _joined_rows(self._matmul_blocks(parts, adjoint))

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Any:
        """The operator times vectors.

        Args:
            x: ``[..., N]`` of the operator's dtype, or a list of such vectors, one for each block.
            adjoint: Multiply by the adjoint of the operator.
            name: Accepted for compatibility.

        Returns:
            ``[..., M]``, or a list of vectors for a list.

        Raises:
            TypeError: another dtype.
            ValueError: a size that does not fit.
        """
        blocks = self._blocks_of(x, -2 if adjoint else -1, -1)
        if blocks is None:
            return super().matvec(x, adjoint=adjoint)
        found = self._matmul_blocks([expand_dims(b, -1) for b in blocks], adjoint)
        return [squeeze(y, -1) for y in found]

    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """The solution ``X`` of ``A X = rhs``.

        Args:
            rhs: ``[..., M, R]`` of the operator's dtype; a list of such matrices, one for each
                block; or a ``LinearOperator``.
            adjoint: Solve with the adjoint of the operator.
            adjoint_arg: Solve for the adjoint of ``rhs``.
            name: Accepted for compatibility.

        Returns:
            ``[..., N, R]``, a list of matrices for a list, or an operator.

        Raises:
            NotImplementedError: an operator that is known to be singular, or not to be square.
            TypeError: another dtype.
            ValueError: sizes that do not fit.
        """
        self._require_solvable()
        if isinstance(rhs, LinearOperator):
            return super().solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        axis = -1 if adjoint else -2
        blocks = self._blocks_of(rhs, axis, -1 if adjoint_arg else -2)
        if blocks is None:
            return super().solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        return self._solve_blocks(_adjoints_if(blocks, adjoint_arg), adjoint)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        parts = self._split(adjoint_if(rhs, adjoint_arg), -1 if adjoint else -2)
        return _joined_rows(self._solve_blocks(parts, adjoint))

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        """The solution ``x`` of ``A x = rhs`` for vectors.

        Args:
            rhs: ``[..., M]`` of the operator's dtype, or a list of such vectors, one for each
                block.
            adjoint: Solve with the adjoint of the operator.
            name: Accepted for compatibility.

        Returns:
            ``[..., N]``, or a list of vectors for a list.

        Raises:
            NotImplementedError: an operator that is known to be singular, or not to be square.
            TypeError: another dtype.
            ValueError: a size that does not fit.
        """
        blocks = self._blocks_of(rhs, -1 if adjoint else -2, -1)
        if blocks is None:
            return super().solvevec(rhs, adjoint=adjoint)
        self._require_solvable()
        found = self._solve_blocks([expand_dims(b, -1) for b in blocks], adjoint)
        return [squeeze(x, -1) for x in found]

    def _split(self, x: Tensor, axis: int) -> list[Tensor]:
        """The rows of matrices, as the blocks have columns (-1) or rows (-2)."""
        sizes = [each._static_or_tensor_dimension(axis) for each in self._parts()]
        if all(isinstance(size, int) for size in sizes):
            return split(x, sizes, axis=-2)
        whole = joined(sizes)
        whole.set_shape([len(sizes)])
        return split(x, whole, axis=-2)

    def _blocks_of(self, x: Any, axis: int, its: int) -> list[Any] | None:
        """An argument's pieces, checked, if it is given in pieces.

        Args:
            x: The argument.
            axis: The axis of the blocks that must fit.
            its: The axis of the argument.

        Raises:
            TypeError: another dtype.
            ValueError: sizes that do not fit, or nested lists that may mean both.
        """
        sizes = self._block_sizes(axis)
        if not _is_blockwise(sizes, x, its):
            return None
        found = []
        for size, block in zip(sizes, x, strict=True):
            part = block
            if not isinstance(block, LinearOperator):
                part = convert_to_tensor(block)
                self._check_input_dtype(part)
                size.assert_is_compatible_with(part.shape[its])
            found.append(part)
        return found

    def _assert_non_singular(self) -> Any:
        return self._each_asserts("assert_non_singular")

    def _on_diagonal(self, method: str) -> Any:
        """What a method gives for the blocks of the diagonal, one vector after the other."""
        found = [getattr(each, method)()[..., None] for each in self._parts()]
        return squeeze(concat(broadcast_batches(found), -2), -1)


def _is_blockwise(sizes: list[Dimension], x: Any, axis: int) -> bool:
    if not isinstance(x, list | tuple) or len(x) != len(sizes):
        return False
    if not any(nest.is_nested(part) for part in x):
        return not all(isinstance(part, int | float | complex) for part in x)
    given = [convert_to_tensor(part).shape[axis] for part in x]
    known = [size.value for size in sizes]
    if all(size is None for size in known):
        if len(given) == 1:
            return False
        if any(size != given[0] for size in given):
            return True
        raise ValueError(
            "Parsing of the input structure is ambiguous. Please input a blockwise iterable of "
            f"tensors or a single tensor; got lists of the sizes {given}."
        )
    if all(has in (None, size) for has, size in zip(known, given, strict=True)):
        return True
    total = sum(size for size in known if size is not None)
    if all(size == given[0] for size in given) and given[0] >= total:
        return False
    raise ValueError(
        f"Input dimension does not match operator dimension: got {given} for blocks of {known}."
    )


def _adjoints_if(blocks: list[Any], wanted: bool) -> list[Any]:
    if not wanted:
        return blocks
    return [b.adjoint() if isinstance(b, LinearOperator) else adjoint_if(b, True) for b in blocks]


def _joined_rows(parts: list[Any]) -> Tensor:
    """Matrices below each other."""
    return concat(broadcast_batches(parts), -2)
