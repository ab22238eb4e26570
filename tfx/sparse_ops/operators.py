"""Gives ``SparseTensor`` its operators: products with and quotients by dense tensors."""

from __future__ import annotations

from typing import Any

from tfx.ops.common import operator_overloads as operator_overloads  # of tensors
from tfx.ops.common.arguments import is_tensor_like
from tfx.ops.math.arithmetic import multiply, truediv
from tfx.sparse_ops.elementwise import with_dense
from tfx.sparse_ops.sparse_tensor import SparseTensor


def _times(self: SparseTensor, other: Any) -> Any:
    return with_dense(multiply, self, other)


def _over(self: SparseTensor, other: Any) -> Any:
    return with_dense(truediv, self, other)


def _times_dense(self: SparseTensor, other: Any) -> Any:
    if not is_tensor_like(other):
        return NotImplemented
    return with_dense(multiply, self, other)


def attach() -> None:
    """Give ``SparseTensor`` its operators."""
    for name, method in (("__mul__", _times), ("__truediv__", _over), ("__rmul__", _times_dense)):
        setattr(SparseTensor, name, method)


attach()
