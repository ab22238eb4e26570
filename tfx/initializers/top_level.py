"""The initializers that TensorFlow has at its top level: ``tf.zeros_initializer`` and others."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core.dtypes import DTypeLike
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.initializers.fixed import Constant, Ones, Zeros
from tfx.initializers.random import RandomNormal, RandomUniform

ones_initializer = Ones
random_normal_initializer = RandomNormal
random_uniform_initializer = RandomUniform
zeros_initializer = Zeros


class constant_initializer(Constant):  # noqa: N801
    """One value everywhere, or the values given, in the dtype of the value.

    Args:
        value: A number, or as many numbers as the shape has elements.
        support_partition: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.constant_initializer([1, 2, 3, 4])([2, 2]).numpy()
        array([[1, 2],
               [3, 4]], dtype=int32)
    """

    def __init__(self, value: Any = 0, support_partition: bool = False) -> None:
        super().__init__(value)

    def __call__(self, shape: Any, dtype: DTypeLike | None = None) -> Tensor:
        """A tensor of a shape, of the value's own dtype unless another is given."""
        return super().__call__(shape, _dtype_of(self.value) if dtype is None else dtype)


def _dtype_of(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic | EagerTensor):
        return value.dtype
    return convert_to_tensor(value).dtype
