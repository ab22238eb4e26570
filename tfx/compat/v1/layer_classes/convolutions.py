"""Convolutional layers."""

from __future__ import annotations

from typing import Any

from tfx.compat.v1.layer_classes.basic import Function, called, signed_like
from tfx.compat.v1.layer_classes.layer import (
    InputSpec,
    Layer,
    activated,
    channels_first,
    channels_of,
    numbers,
    padding_of,
)
from tfx.compat.v1.variables.initializer_classes import Zeros
from tfx.framework.tensor import Tensor
from tfx.ops.array.reshape import expand_dims, squeeze
from tfx.ops.array.shape import shape
from tfx.ops.array.transpose import transpose
from tfx.ops.nn.conv_transpose import conv_transpose
from tfx.ops.nn.convolution import convolution
from tfx.ops.nn.convolution import separable_conv2d as separable


class Convolution(Layer):
    """The base of convolutional layers.

    Args:
        filters: How many channels the output has.
        kernel_size: Size of the windows: one number, or one for each axis.
        strides: How far apart they are, likewise.
        padding: ``"valid"`` or ``"same"``.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        dilation_rate: How far apart the elements of a window are.
        activation: Function of the output; None: none.
        use_bias: Whether a bias is added.
        kernel_initializer: Initializer of the kernel; None: the scope's, or Glorot's.
        bias_initializer: Initializer of the bias.
        kernel_regularizer: Function from the kernel to a loss.
        bias_regularizer: Function from the bias to a loss.
        activity_regularizer: Function from the output to a loss.
        kernel_constraint: Called by optimizers with the new kernel.
        bias_constraint: Called by optimizers with the new bias.
        trainable: Whether its variables are trained.
        name: Its name.
        **kwargs: See ``Layer``.

    Raises:
        ValueError: another padding or format, or another number of sizes.
    """

    axes = 2

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
        activation: Function | None = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = Zeros(),  # noqa: B008
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **kwargs)
        self.filters = int(filters)
        self.kernel_size = numbers(kernel_size, self.axes, "kernel_size")
        self.strides = numbers(strides, self.axes, "strides")
        self.padding, self.data_format = padding_of(padding), data_format
        self.dilation_rate = numbers(dilation_rate, self.axes, "dilation_rate")
        self.activation, self.use_bias = activation, use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.kernel: Any = None
        self.bias: Any = None
        self._first = channels_first(data_format)
        self.input_spec = InputSpec(ndim=self.axes + 2)

    def build(self, input_shape: Any) -> None:
        """See ``Layer``."""
        channels = channels_of(input_shape, 1 if self._first else -1, type(self).__name__)
        self._make_kernel(channels)
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [self.filters],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.input_spec = InputSpec(ndim=self.axes + 2, axes={1 if self._first else -1: channels})
        self.built = True

    def _make_kernel(self, channels: int) -> None:
        self.kernel = self.add_weight(
            "kernel",
            self._kernel_shape(channels),
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )

    def _kernel_shape(self, channels: int) -> list[int]:
        return [*self.kernel_size, channels, self.filters]

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """See ``Layer``."""
        rank = self.axes + 2
        x = transpose(inputs, [0, *range(2, rank), 1]) if self._first else inputs
        outputs = self._convolved(x)
        if self.bias is not None:
            outputs = outputs + self.bias
        if self._first:
            outputs = transpose(outputs, [0, rank - 1, *range(1, rank - 1)])
        return activated(outputs, self.activation)

    def _convolved(self, x: Tensor) -> Tensor:
        return convolution(
            x, self.kernel, self.strides, self.padding.upper(), dilations=self.dilation_rate
        )


class Conv1D(Convolution):
    """A convolution along one axis, with variables ``kernel`` and ``bias``; see ``Convolution``."""

    axes = 1


class Conv2D(Convolution):
    """A convolution along two axes, with variables ``kernel`` and ``bias``; see ``Convolution``."""


class Conv3D(Convolution):
    """A convolution along three axes, as ``Conv2D``."""

    axes = 3


class _Transposed(Convolution):
    """The base of the transposes of convolutions."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        activation: Function | None = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = Zeros(),  # noqa: B008
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            1,
            activation,
            use_bias,
            kernel_initializer,
            bias_initializer,
            kernel_regularizer,
            bias_regularizer,
            activity_regularizer,
            kernel_constraint,
            bias_constraint,
            trainable,
            name,
            **kwargs,
        )

    def _kernel_shape(self, channels: int) -> list[int]:
        return [*self.kernel_size, self.filters, channels]

    def _convolved(self, x: Tensor) -> Tensor:
        sizes: list[Any] = []
        for axis, (window, stride) in enumerate(zip(self.kernel_size, self.strides, strict=True)):
            size: Any = x.shape[axis + 1]
            size = shape(x)[axis + 1] if size is None else size
            more = max(window - stride, 0) if self.padding == "valid" else 0
            sizes.append(size * stride + more)
        batch = shape(x)[0] if x.shape[0] is None else x.shape[0]
        given = [batch, *sizes, self.filters]
        return conv_transpose(x, self.kernel, given, self.strides, self.padding.upper())


class Conv2DTranspose(_Transposed):
    """The transpose of a convolution along two axes.

    Args are those of ``Convolution`` without ``dilation_rate``.
    """


class Conv3DTranspose(_Transposed):
    """The transpose of a convolution along three axes, as ``Conv2DTranspose``."""

    axes = 3


class _Separable(Convolution):
    """A convolution of each channel for itself, then one of windows of one element.

    Args are those of ``SeparableConv2D``.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Function | None = None,
        use_bias: bool = True,
        depthwise_initializer: Any = None,
        pointwise_initializer: Any = None,
        bias_initializer: Any = Zeros(),  # noqa: B008
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            activation,
            use_bias,
            None,
            bias_initializer,
            None,
            bias_regularizer,
            activity_regularizer,
            None,
            bias_constraint,
            trainable,
            name,
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        self._depthwise = (depthwise_initializer, depthwise_regularizer, depthwise_constraint)
        self._pointwise = (pointwise_initializer, pointwise_regularizer, pointwise_constraint)
        self.depthwise_kernel: Any = None
        self.pointwise_kernel: Any = None

    def _make_kernel(self, channels: int) -> None:
        between = channels * self.depth_multiplier
        ones = [1] * self.axes
        kernels = {
            "depthwise_kernel": (
                [*self.kernel_size, channels, self.depth_multiplier],
                "_depthwise",
            ),
            "pointwise_kernel": ([*ones, between, self.filters], "_pointwise"),
        }
        for name, (sizes, settings) in kernels.items():
            initializer, regularizer, constraint = getattr(self, settings)
            made = self.add_weight(
                name, sizes, None, initializer, regularizer, constraint=constraint
            )
            setattr(self, name, made)

    def _convolved(self, x: Tensor) -> Tensor:
        depthwise, pointwise = self.depthwise_kernel, self.pointwise_kernel
        strides, dilations = self.strides, self.dilation_rate
        if self.axes == 1:
            x, depthwise, pointwise = (
                expand_dims(t, i) for t, i in ((x, 1), (depthwise, 0), (pointwise, 0))
            )
            strides, dilations = strides * 2, dilations * 2
        found = separable(
            x, depthwise, pointwise, [1, *strides, 1], self.padding.upper(), "NHWC", dilations
        )
        return squeeze(found, [1]) if self.axes == 1 else found


class SeparableConv1D(_Separable):
    """A separable convolution along one axis, as ``SeparableConv2D``."""

    axes = 1


class SeparableConv2D(_Separable):
    """A convolution of each channel for itself, then a mixture of the channels.

    Its variables are ``depthwise_kernel``, ``pointwise_kernel`` and ``bias``. The arguments are
    those of ``Convolution``, with ``depth_multiplier``, the number of channels made of each, in
    front of ``activation``, and initializers, regularizers and constraints for both kernels.
    """


@signed_like(Conv1D)
def conv1d(inputs: Any, filters: int, *args: Any, reuse: Any = None, **kwargs: Any) -> Any:
    """A convolution along one axis, with variables ``kernel`` and ``bias``.

    Args:
        inputs: ``[batch, length, channels]``, of known channels.
        filters: How many channels the output has.
        *args: The other arguments of ``Conv1D`` in order.
        reuse: Use the variables of an earlier call of the same ``name``.
        **kwargs: The other arguments of ``Conv1D``; ``name`` is the variable scope.

    Raises:
        ValueError: another padding or format, inputs of another rank, or variables that exist.
    """
    return called(Conv1D, inputs, (filters, *args), kwargs, reuse)


@signed_like(Conv2D)
def conv2d(inputs: Any, filters: int, *args: Any, reuse: Any = None, **kwargs: Any) -> Any:
    """A convolution along two axes, with variables ``kernel`` and ``bias``; see ``conv1d``.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     images = tf.zeros([1, 8, 8, 3])
        ...     y = tf.layers.conv2d(images, 4, 3, padding="same", activation=tf.nn.relu)
        ...     print(y.shape, [v.shape.as_list() for v in tf.trainable_variables()])
        (1, 8, 8, 4) [[3, 3, 3, 4], [4]]
    """
    return called(Conv2D, inputs, (filters, *args), kwargs, reuse)


@signed_like(Conv3D)
def conv3d(inputs: Any, filters: int, *args: Any, reuse: Any = None, **kwargs: Any) -> Any:
    """A convolution along three axes, with variables ``kernel`` and ``bias``; see ``conv1d``."""
    return called(Conv3D, inputs, (filters, *args), kwargs, reuse)


@signed_like(Conv2DTranspose)
def conv2d_transpose(
    inputs: Any, filters: int, *args: Any, reuse: Any = None, **kwargs: Any
) -> Any:
    """The transpose of a convolution along two axes; see ``conv1d``."""
    return called(Conv2DTranspose, inputs, (filters, *args), kwargs, reuse)


@signed_like(Conv3DTranspose)
def conv3d_transpose(
    inputs: Any, filters: int, *args: Any, reuse: Any = None, **kwargs: Any
) -> Any:
    """The transpose of a convolution along three axes; see ``conv1d``."""
    return called(Conv3DTranspose, inputs, (filters, *args), kwargs, reuse)


@signed_like(SeparableConv1D)
def separable_conv1d(
    inputs: Any, filters: int, *args: Any, reuse: Any = None, **kwargs: Any
) -> Any:
    """A convolution of each channel for itself along one axis, then a mixture; see ``conv1d``."""
    return called(SeparableConv1D, inputs, (filters, *args), kwargs, reuse)


@signed_like(SeparableConv2D)
def separable_conv2d(
    inputs: Any, filters: int, *args: Any, reuse: Any = None, **kwargs: Any
) -> Any:
    """A convolution of each channel for itself along two axes, then a mixture; see ``conv1d``."""
    return called(SeparableConv2D, inputs, (filters, *args), kwargs, reuse)
