"""What operators made of a list of operators share."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from typing import Any, ClassVar

from tfx.core.shapes import TensorShape
from tfx.framework.tensor import Tensor
from tfx.linear_operators import hints
from tfx.linear_operators.operator import LinearOperator
from tfx.linear_operators.tensors import same_shape, same_shape_tensor

_IMPLIED = ("is_non_singular", "is_self_adjoint", "is_positive_definite")


class CombinedOperator(LinearOperator):
    """An operator of several."""

    _operators: Any

    @property
    def operators(self) -> Any:
        """The operators that this one is made of."""
        return self._operators

    def _parts(self) -> list[Any]:
        """The operators whose determinants make this one's."""
        found: list[Any] = self._operators
        return found

    def _batch(self) -> TensorShape:
        return same_shape(*(each.batch_shape for each in self._operators))

    def _open_batch(self) -> Tensor:
        return same_shape_tensor(*(each.batch_shape_tensor() for each in self._operators))

    def _determinant(self) -> Any:
        return product_of([each.determinant() for each in self._parts()])

    def _log_abs_determinant(self) -> Any:
        return sum_of([each.log_abs_determinant() for each in self._parts()])

    def _each_asserts(self, method: str) -> None:
        for each in self._parts():
            getattr(each, method)()

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("operators",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"operators": [0] * len(self._operators)}


class PartwiseOperator(CombinedOperator):
    """An operator that has a property, or a factor, if its parts have.

    Attributes:
        _kind: What it is, for messages.
        _joint: What stands between the names of the parts in its own.
    """

    _kind: ClassVar[str]
    _joint: ClassVar[str]

    def _combine(self, parameters: dict[str, Any]) -> None:
        """The constructor's work, given its locals."""
        self._operators = listed(parameters["operators"])
        given = {n: parameters[n] for n in _IMPLIED}
        known = hints.of_all(self._operators, given, _IMPLIED, self._kind)
        self._set_up(self._operators[0].dtype, parameters, **known)
        if parameters["name"] is None:
            self._name = self._joint.join(each.name for each in self._operators)

    def _of_each(self, method: str, **known: Any) -> Any:
        made: Any = type(self)
        parts = [getattr(each, method)() for each in self._operators]
        return made(parts, **{**hints.own(self), **known})

    def _linop_adjoint(self) -> Any:
        return self._of_each("adjoint")

    def _linop_inverse(self) -> Any:
        return self._of_each("inverse", is_square=True)

    def _linop_cholesky(self) -> Any:
        unknown = dict.fromkeys(("is_self_adjoint", "is_positive_definite"))
        return self._of_each("cholesky", is_non_singular=True, is_square=True, **unknown)


def sum_of(terms: list[Any]) -> Any:
    """The sum of sizes, or of tensors, which broadcast."""
    return functools.reduce(operator.add, terms)


def product_of(factors: list[Any]) -> Any:
    """The product of sizes, or of tensors, which broadcast."""
    return functools.reduce(operator.mul, factors)


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
