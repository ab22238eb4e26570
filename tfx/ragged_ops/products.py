"""Products of matrices with rows of different numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.core.errors import InvalidArgumentError, UnimplementedError
from tfx.ops.common.arguments import tensor
from tfx.ragged_ops.conversion import from_tensor
from tfx.ragged_ops.ragged_tensor import RaggedTensor


def matmul(plain: Callable[..., Any]) -> Callable[..., Any]:
    """``tf.matmul`` of a batch of matrices of which some have more rows than others.

    The matrices are padded with zeros for the product, and the rows that this makes are left out.
    """

    def product(
        a: Any,
        b: Any,
        transpose_a: bool = False,
        transpose_b: bool = False,
        adjoint_a: bool = False,
        adjoint_b: bool = False,
        **options: Any,
    ) -> Any:
        if transpose_a or transpose_b or adjoint_a or adjoint_b:
            raise InvalidArgumentError(
                "tf.matmul of a RaggedTensor takes no transpose and no adjoint."
            )
        for x in (a, b):
            if x.shape.rank != 3:
                raise InvalidArgumentError(
                    "tf.matmul of a RaggedTensor takes batches of matrices, of rank 3; got "
                    f"{x!r} of shape {x.shape}."
                )
        if isinstance(b, RaggedTensor) and b.ragged_rank > 1:
            raise UnimplementedError(
                "tf.matmul of a RaggedTensor: the second operand's last axis must be uniform; "
                f"got {b!r}. Pad it with b.to_tensor()."
            )
        found = plain(_dense(a), _dense(b), **options)
        if not isinstance(a, RaggedTensor):
            return from_tensor(found)
        return from_tensor(found, lengths=a.row_lengths(), row_splits_dtype=a.row_splits.dtype)

    return product


def _dense(x: Any) -> Any:
    return x.to_tensor() if isinstance(x, RaggedTensor) else tensor(x)
