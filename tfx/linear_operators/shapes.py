"""The shape of an operator, as far as it is known and while the program runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from tfx.core.dimension import Dimension
from tfx.core.shapes import TensorShape
from tfx.framework.convert import convert_to_tensor
from tfx.framework.module import Module
from tfx.framework.tensor import Tensor
from tfx.linear_operators.tensors import sizes
from tfx.ops.array.creation import ones, zeros
from tfx.ops.array.shape import size


class Shaped(Module, ABC):
    """What follows of ``_shape`` and ``_shape_tensor``, which a class of operators defines.

    Attributes:
        dtype: dtype of the matrices.
    """

    dtype: Any

    @abstractmethod
    def _shape(self) -> TensorShape:
        raise NotImplementedError("_shape is not implemented.")

    def _shape_tensor(self) -> Tensor:
        raise NotImplementedError("_shape_tensor is not implemented.")

    @property
    def shape(self) -> TensorShape:
        """The ``TensorShape`` of the batch of matrices, ``[B1, ..., Bb, M, N]``."""
        return self._shape()

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """The shape as an int32 vector."""
        known = self.shape
        return sizes(known) if known.is_fully_defined() else self._shape_tensor()

    @property
    def batch_shape(self) -> TensorShape:
        """The ``TensorShape`` of the axes in front of the matrices."""
        return self.shape[:-2]

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """The shape of the batch as an int32 vector."""
        return self._batch_shape_tensor()

    def _batch_shape_tensor(self, shape: Tensor | None = None) -> Tensor:
        known = self.batch_shape
        if known.is_fully_defined():
            return sizes(known)
        return (self.shape_tensor() if shape is None else shape)[:-2]

    @property
    def tensor_rank(self) -> int | None:
        """How many axes the dense operator has, ``b + 2``."""
        return self._shape().rank

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """The rank as a scalar."""
        known = self.tensor_rank
        return size(self.shape_tensor()) if known is None else convert_to_tensor(known)

    @property
    def domain_dimension(self) -> Dimension:
        """The number of columns, ``N``: the size of the vectors that the operator acts on."""
        return Dimension(self._dimension(-1))

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """The number of columns as a scalar."""
        return self._domain_dimension_tensor()

    def _domain_dimension_tensor(self, shape: Tensor | None = None) -> Tensor:
        return self._dimension_tensor(-1, shape)

    @property
    def range_dimension(self) -> Dimension:
        """The number of rows, ``M``: the size of the vectors that the operator gives."""
        return Dimension(self._dimension(-2))

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """The number of rows as a scalar."""
        return self._range_dimension_tensor()

    def _range_dimension_tensor(self, shape: Tensor | None = None) -> Tensor:
        return self._dimension_tensor(-2, shape)

    def _dimension(self, axis: int) -> int | None:
        known = self.shape
        found: int | None = None if known.rank is None else known[axis]
        return found

    def _dimension_tensor(self, axis: int, shape: Tensor | None) -> Tensor:
        known = self._dimension(axis)
        if known is not None:
            return convert_to_tensor(known)
        return (self.shape_tensor() if shape is None else shape)[axis]

    def _static_or_tensor_batch(self) -> Any:
        """The shape of the batch, as a list where it is known."""
        known = self.batch_shape
        return known.as_list() if known.is_fully_defined() else self.batch_shape_tensor()

    def _static_or_tensor_dimension(self, axis: int = -1) -> Any:
        known = self._dimension(axis)
        return self._dimension_tensor(axis, None) if known is None else known

    def _zeros_of_batch(self) -> Tensor:
        return zeros(self._static_or_tensor_batch(), self.dtype)

    def _ones_of_batch(self) -> Tensor:
        return ones(self._static_or_tensor_batch(), self.dtype)
