"""What operators made of a list of operators share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfx.core.shapes import TensorShape
from tfx.framework.tensor import Tensor
from tfx.linear_operators.operator import LinearOperator
from tfx.linear_operators.tensors import same_shape, same_shape_tensor


class CombinedOperator(LinearOperator):
    """An operator of several."""

    _operators: Any

    @property
    def operators(self) -> Any:
        """The operators that this one is made of."""
        return self._operators

    def _batch(self) -> TensorShape:
        return same_shape(*(each.batch_shape for each in self._operators))

    def _open_batch(self) -> Tensor:
        return same_shape_tensor(*(each.batch_shape_tensor() for each in self._operators))

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("operators",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"operators": [0] * len(self._operators)}


def listed(operators: Any) -> list[Any]:
    """The operators as a list.

    Raises:
        TypeError: no list, or operators of several dtypes.
        ValueError: none.
    """
    if isinstance(operators, LinearOperator) or not isinstance(operators, Iterable):
        raise TypeError(f"Expected a list of operators; got {operators!r}.")
    found = list(operators)
    if not found:
        raise ValueError(f"Expected a non-empty list of operators. Found: {operators!r}.")
    require_one_dtype(found)
    return found


def require_one_dtype(operators: list[Any]) -> None:
    """Check that operators have the same dtype.

    Raises:
        TypeError: they have several.
    """
    if any(each.dtype is not operators[0].dtype for each in operators):
        shown = ", ".join(f"{each.name}: {each.dtype!r}" for each in operators)
        raise TypeError(f"Expected all operators to have the same dtype. Found {shown}.")
