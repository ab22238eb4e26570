"""Contraction of two tensors by labels: what ``einsum`` and ``tensordot`` come down to.

Every axis has a label. Axes with a label in both tensors are multiplied element by element, and
summed over unless the result has the label. This is one ``MatMul`` between transpositions and
reshapes that disappear where the axes already lie right, so the gradient needs no rule of its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.shapes import concat_shape, dimension, product, reshape_to
from tfx.ops.linalg.matmul import product as matrix_product

Label = Hashable
Labels = Sequence[Label]


def contract(a: Tensor, b: Tensor, of_a: Labels, of_b: Labels, result: Labels) -> Tensor:
    """The contraction of ``a`` and ``b``.

    Args:
        a: First operand.
        b: Second operand, the same dtype.
        of_a: A label for each axis of ``a``, none twice. A label that neither ``b`` nor the result
            has is not allowed: sum over it before.
        of_b: The same for ``b``.
        result: The result's labels in order. Axes of size 1 broadcast along those.
    """
    shared = [label for label in result if label in of_a and label in of_b]
    left = [label for label in result if label not in of_b]
    right = [label for label in result if label not in of_a]
    inner = [label for label in of_a if label in of_b and label not in result]
    if not inner:
        return ox.Mul(_aligned(a, of_a, result), _aligned(b, of_b, result))
    if left and right and list(result) == [*shared, *right, *left]:
        # With the operands in the other order, nothing need be turned behind the product.
        return contract(b, a, of_b, of_a, result)
    made = [*shared, *left, *right]
    if not shared and left and len(inner) == len(right) == 1:
        # MatMul itself multiplies every row of a larger tensor by one matrix.
        x, y = transposed(a, of_a, [*left, *inner]), transposed(b, of_b, [*inner, *right])
        return transposed(matrix_product(x, y), made, result)
    x = _as_matrices(a, of_a, shared, left, inner)
    y = _as_matrices(b, of_b, shared, inner, right)
    z = matrix_product(x, y)
    if len(left) != 1 or len(right) != 1:
        sizes = [dimension(z, i) for i in range(len(shared))]
        sizes += [dimension(a, list(of_a).index(label)) for label in left]
        sizes += [dimension(b, list(of_b).index(label)) for label in right]
        z = reshape_to(z, _joined(sizes))
    return transposed(z, made, result)


def transposed(x: Tensor, have: Labels, want: Labels) -> Tensor:
    """``x`` with its labelled axes in another order."""
    order = tuple(list(have).index(label) for label in want)
    return x if order == tuple(range(len(order))) else ox.Transpose(x, perm=order)


def _aligned(x: Tensor, have: Labels, result: Labels) -> Tensor:
    """Axes in the result's order, with axes of size 1 for what is missing."""
    x = transposed(x, have, [label for label in result if label in have])
    missing = [i for i, label in enumerate(result) if label not in have]
    return ox.Unsqueeze(x, int64_constant(missing)) if missing else x


def _as_matrices(x: Tensor, have: Labels, batch: Labels, rows: Labels, columns: Labels) -> Tensor:
    """``[*batch, rows, columns]`` where the axes of rows and of columns are merged."""
    order = [*batch, *rows, *columns]
    x = transposed(x, have, order)
    if len(rows) == len(columns) == 1:
        return x
    parts = [dimension(x, i) for i in range(len(batch))]
    for group, start in ((rows, len(batch)), (columns, len(batch) + len(rows))):
        parts.append(product(_joined([dimension(x, start + i) for i in range(len(group))])))
    return reshape_to(x, _joined(parts))


def _joined(parts: Sequence[Tensor]) -> Tensor:
    return concat_shape(*parts) if parts else int64_constant([])
