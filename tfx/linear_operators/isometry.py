"""What operators that keep lengths have in common."""

from __future__ import annotations

from typing import Any

from tfx.framework.tensor import Tensor
from tfx.linear_operators.operator import LinearOperator


class IsometricOperator(LinearOperator):
    """Operators whose singular values are all 1."""

    def _assert_non_singular(self) -> Any:
        return None

    def _log_abs_determinant(self) -> Tensor:
        return self._zeros_of_batch()

    def _cond(self) -> Tensor:
        return self._ones_of_batch()
