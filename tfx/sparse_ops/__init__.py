"""Sparse tensors: the entries that are not zero, and the operations that take them."""

# Sparse tensors are multiplied and taken apart by these.
from tfx.sparse_ops import operators as operators
from tfx.sparse_ops import sparse_tensor_spec as sparse_tensor_spec
