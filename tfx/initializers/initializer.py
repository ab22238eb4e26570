"""``Initializer``: a callable that makes a tensor of a given shape, and its configuration."""

from __future__ import annotations

from typing import Any, Self

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.mixins import Configured
from tfx.core.shapes import TensorShape
from tfx.framework.tensor import Tensor


class Initializer(Configured):
    """Base class: override ``__call__``, and ``get_config`` if the constructor has arguments.

    Example:
        >>> import tfx as tf
        >>> class Sevens(tf.initializers.Initializer):
        ...     def __call__(self, shape, dtype=None):
        ...         return tf.constant(7, dtype or tf.float32, shape)
        >>> tf.Variable(Sevens()([2])).numpy()
        array([7., 7.], dtype=float32)
    """

    def __call__(self, shape: Any, dtype: DTypeLike | None = None) -> Tensor:
        """A tensor of a shape; float32 unless a dtype is given."""
        raise TypeError(
            f"Initializer {type(self).__name__!r} must override "
            "`__call__(self, shape, dtype=None)`."
        )

    def clone(self) -> Self:
        """An equal initializer."""
        return self.from_config(self.get_config())

    def __repr__(self) -> str:
        arguments = ", ".join(f"{k}={v!r}" for k, v in self.get_config().items())
        return f"{type(self).__name__}({arguments})"


def known_shape(shape: Any) -> list[int]:
    """A shape as sizes.

    Raises:
        ValueError: a size is not known.
    """
    known = TensorShape(shape)
    if not known.is_fully_defined():
        raise ValueError(f"An initializer needs a fully defined shape; got {known}.")
    return [size for size in known.as_list() if size is not None]


def wanted_dtype(dtype: DTypeLike | None) -> DType:
    """A dtype, float32 by default."""
    return dtypes.float32 if dtype is None else dtypes.as_dtype(dtype)


def floating_dtype(dtype: DTypeLike | None, name: str) -> DType:
    """A floating dtype, float32 by default.

    Raises:
        ValueError: another dtype.
    """
    kind = wanted_dtype(dtype)
    if not kind.is_floating:
        raise ValueError(f"{name}: Expected float dtype, got {kind.name}.")
    return kind
