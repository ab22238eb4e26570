"""Initializers without randomness: constants and the identity."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core.dtypes import DTypeLike
from tfx.framework.convert import constant, embed
from tfx.framework.tensor import Tensor
from tfx.initializers.initializer import Initializer, known_shape, wanted_dtype


class Constant(Initializer):
    """One value everywhere, or the values given.

    Args:
        value: A number, or as many numbers as the shape has elements.

    Example:
        >>> import tfx as tf
        >>> tf.initializers.Constant(3.0)([2]).numpy()
        array([3., 3.], dtype=float32)
    """

    def __init__(self, value: Any = 0.0) -> None:
        self.value = value

    def __call__(self, shape: Any, dtype: DTypeLike | None = None) -> Tensor:
        """A tensor of a shape; float32 unless a dtype is given."""
        kind = wanted_dtype(dtype)
        values = np.asarray(self.value, kind.as_numpy_dtype)
        return constant(values, kind, known_shape(shape))


class Zeros(Constant):
    """Zeros, False in bool.

    Example:
        >>> import tfx as tf
        >>> tf.initializers.Zeros()([2], tf.int32).numpy()
        array([0, 0], dtype=int32)
    """

    def __init__(self) -> None:
        super().__init__(0)

    def get_config(self) -> dict[str, Any]:
        """No arguments."""
        return {}


class Ones(Constant):
    """Ones, True in bool."""

    def __init__(self) -> None:
        super().__init__(1)

    def get_config(self) -> dict[str, Any]:
        """No arguments."""
        return {}


class Identity(Initializer):
    """A matrix with one value on the diagonal and zeros elsewhere.

    Args:
        gain: The value.

    Example:
        >>> import tfx as tf
        >>> tf.initializers.Identity(2.0)([2, 3]).numpy()
        array([[2., 0., 0.],
               [0., 2., 0.]], dtype=float32)
    """

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def __call__(self, shape: Any, dtype: DTypeLike | None = None) -> Tensor:
        """A matrix of a shape.

        Raises:
            ValueError: the shape is not a matrix's.
        """
        sizes = known_shape(shape)
        if len(sizes) != 2:
            raise ValueError(
                "Identity matrix initializer can only be used for 2D matrices. Received: "
                f"shape={sizes} of rank {len(sizes)}."
            )
        return embed(np.eye(*sizes, dtype=wanted_dtype(dtype).as_numpy_dtype) * self._gain(dtype))

    def _gain(self, dtype: DTypeLike | None) -> Any:
        return wanted_dtype(dtype).as_numpy_dtype(self.gain)
