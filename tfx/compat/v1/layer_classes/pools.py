"""Pooling layers."""

from __future__ import annotations

from typing import Any

from tfx.compat.v1.layer_classes.layer import (
    InputSpec,
    Layer,
    channels_first,
    numbers,
    padding_of,
)
from tfx.ops.array.transpose import transpose
from tfx.ops.nn.pooling import pool


class Pooling(Layer):
    """The base of pooling layers.

    Args:
        pool_size: Size of the windows: one number, or one for each axis.
        strides: How far apart they are, likewise.
        padding: ``"valid"`` or ``"same"``.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        name: Its name.
        **kwargs: See ``Layer``.

    Raises:
        ValueError: another padding or format, or another number of sizes.
    """

    axes = 2
    kind = "MAX"

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.pool_size = numbers(pool_size, self.axes, "pool_size")
        self.strides = numbers(pool_size if strides is None else strides, self.axes, "strides")
        self.padding, self.data_format = padding_of(padding), data_format
        self._first = channels_first(data_format)
        self.input_spec = InputSpec(ndim=self.axes + 2)

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """See ``Layer``."""
        rank = self.axes + 2
        x = transpose(inputs, [0, *range(2, rank), 1]) if self._first else inputs
        found = pool(x, self.pool_size, self.kind, self.strides, self.padding.upper())
        return transpose(found, [0, rank - 1, *range(1, rank - 1)]) if self._first else found


class MaxPooling1D(Pooling):
    """The largest elements of windows along one axis; see ``Pooling``."""

    axes = 1


class MaxPooling2D(Pooling):
    """The largest elements of windows along two axes; see ``Pooling``."""


class MaxPooling3D(Pooling):
    """The largest elements of windows along three axes; see ``Pooling``."""

    axes = 3


class AveragePooling1D(Pooling):
    """The means of windows along one axis; see ``Pooling``."""

    axes, kind = 1, "AVG"


class AveragePooling2D(Pooling):
    """The means of windows along two axes; see ``Pooling``."""

    kind = "AVG"


class AveragePooling3D(Pooling):
    """The means of windows along three axes; see ``Pooling``."""

    axes, kind = 3, "AVG"


def max_pooling1d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Any:
    """The largest elements of windows along one axis.

    Args:
        inputs: ``[batch, length, channels]``.
        pool_size: Size of the windows: one number, or one for each axis.
        strides: How far apart they are, likewise.
        padding: ``"valid"`` or ``"same"``.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        name: Name of the scope.

    Raises:
        ValueError: another padding or format, or inputs of another rank.
    """
    return MaxPooling1D(pool_size, strides, padding, data_format, name)(inputs)


def max_pooling2d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Any:
    """The largest elements of windows along two axes; see ``max_pooling1d``.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> tf.layers.max_pooling2d(tf.zeros([1, 8, 8, 3]), 2, 2).shape
        TensorShape([1, 4, 4, 3])
    """
    return MaxPooling2D(pool_size, strides, padding, data_format, name)(inputs)


def max_pooling3d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Any:
    """The largest elements of windows along three axes; see ``max_pooling1d``."""
    return MaxPooling3D(pool_size, strides, padding, data_format, name)(inputs)


def average_pooling1d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Any:
    """The means of windows along one axis; see ``max_pooling1d``."""
    return AveragePooling1D(pool_size, strides, padding, data_format, name)(inputs)


def average_pooling2d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Any:
    """The means of windows along two axes; see ``max_pooling1d``."""
    return AveragePooling2D(pool_size, strides, padding, data_format, name)(inputs)


def average_pooling3d(
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Any:
    """The means of windows along three axes; see ``max_pooling1d``."""
    return AveragePooling3D(pool_size, strides, padding, data_format, name)(inputs)
