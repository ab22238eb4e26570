"""Ragged tensors: rows of different lengths, and the operations that take them."""

# Ragged tensors are added, compared and taken apart by these.
from tfx.ragged_ops import operators as operators
from tfx.ragged_ops import ragged_tensor_spec as ragged_tensor_spec
