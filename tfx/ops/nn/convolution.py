"""Convolutions: ``convolution``, ``conv1d`` to ``conv3d``, depthwise and separable ones.

Filters have TensorFlow's layout ``[*kernel, in / groups, out]`` and are turned for ONNX's ``Conv``;
a frozen plan folds that into the weights. The number of groups follows from the channel counts.
"""

from __future__ import annotations

from typing import Any

from tfx.core.dims import is_static
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.graph.formulas.windows import Window
from tfx.ops.common.arguments import cast_to, int64_vector, require_dtype, same_dtype, tensor
from tfx.ops.common.shapes import concat_shape, product, reshape_to, shape_vector
from tfx.ops.nn.convolution_gradient import convolve
from tfx.ops.nn.windows import Layout, computable, sizes_of


def conv2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """2-D convolution (cross-correlation) of images with filters.

    Args:
        input: ``[..., height, width, channels]`` of a floating dtype; several batch axes may lead.
        filters: ``[height, width, channels / groups, out]``, the same dtype; the number of groups
            is the ratio of the two channel counts.
        strides: 1, 2 or 4 numbers.
        padding: ``"SAME"``, ``"VALID"`` or a pair of numbers for each axis.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        dilations: 1, 2 or 4 numbers; None is 1.
        name: Accepted for compatibility.

    Returns:
        ``[..., height', width', out]``.

    Raises:
        InvalidArgumentError: ranks, channel counts or dtypes that do not fit.
        ValueError: malformed strides, padding, dilations or data format.

    Example:
        >>> import tfx as tf
        >>> x = tf.ones([1, 3, 3, 1])
        >>> tf.nn.conv2d(x, tf.ones([2, 2, 1, 1]), strides=1, padding="VALID")[0, :, :, 0].numpy()
        array([[4., 4.],
               [4., 4.]], dtype=float32)
    """
    return _convolution(input, filters, strides, padding, data_format, dilations, 2, "Conv2D")


def conv1d(
    input: Any,
    filters: Any,
    stride: Any,
    padding: Any,
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """1-D convolution of ``[..., width, channels]`` with ``[width, channels / groups, out]``.

    See ``conv2d``; the data formats are ``"NWC"`` and ``"NCW"``.

    Example:
        >>> import tfx as tf
        >>> x = tf.constant([[[1.0], [2.0], [3.0]]])
        >>> tf.nn.conv1d(x, tf.ones([2, 1, 1]), stride=1, padding="VALID")[0, :, 0].numpy()
        array([3., 5.], dtype=float32)
    """
    return _convolution(input, filters, stride, padding, data_format, dilations, 1, "Conv1D")


def conv3d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """3-D convolution of ``[..., depth, height, width, channels]``.

    See ``conv2d``; the data formats are ``"NDHWC"`` and ``"NCDHW"``.
    """
    return _convolution(input, filters, strides, padding, data_format, dilations, 3, "Conv3D")


def convolution(
    input: Any,
    filters: Any,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Convolution along one, two or three axes, as many as the filter has.

    See ``conv2d`` for the arguments.

    Raises:
        ValueError: the filter's rank is not 3, 4 or 5.

    Example:
        >>> import tfx as tf
        >>> tf.nn.convolution(tf.ones([1, 5, 2]), tf.ones([3, 2, 4])).shape
        TensorShape([1, 3, 4])
    """
    w = tensor(filters)
    rank = w.shape.rank
    if rank not in (3, 4, 5):
        raise InvalidArgumentError(
            "`filters` of convolution must have rank 3, 4 or 5 (1 to 3 spatial axes); got shape "
            f"{w.shape}."
        )
    steps = 1 if strides is None else strides
    return _convolution(input, w, steps, padding, data_format, dilations, rank - 2, "Convolution")


def atrous_conv2d(
    value: Any, filters: Any, rate: int, padding: Any, name: str | None = None
) -> Tensor:
    """2-D convolution with holes: ``conv2d`` with dilation ``rate``."""
    return conv2d(value, filters, 1, padding, dilations=rate)


def _convolution(
    x: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str | None,
    dilations: Any,
    axes: int,
    op: str,
) -> Tensor:
    layout = Layout.parse(data_format, axes, op)
    a, w = same_dtype(x, filters, op)
    require_dtype(a, a.dtype.is_floating, op, "a floating dtype")
    if w.shape.rank not in (None, axes + 2):
        raise InvalidArgumentError(
            f"filter must be {axes + 2}-dimensional in {op}: {w.shape}", op=op
        )
    kind = a.dtype
    a, w = computable(a), computable(w)
    # [*kernel, in, out] -> [out, in, *kernel]
    first = ox.Transpose(w, perm=(axes + 1, axes, *range(axes)))
    window = Window(
        kernel_of(w, axes, op),
        layout.per_axis(strides, "strides", op),
        layout.per_axis(1 if dilations is None else dilations, "dilations", op),
        layout.padding(padding, op),
    )
    a, batch = merge_batch(a, axes, op)
    moved = layout.to_first(a)
    window.outputs(sizes_of(moved, axes), op)
    y = layout.from_first(convolve(moved, first, window, _groups(moved, w, op)))
    return cast_to(split_batch(y, batch), kind)


def kernel_of(w: Tensor, axes: int, op: str) -> tuple[int, ...]:
    """The spatial sizes of a filter in TensorFlow's layout."""
    kernel = None if w.shape.rank is None else tuple(w.shape.as_list()[:axes])
    if not is_static(kernel):
        raise InvalidArgumentError(
            f"The spatial size of the filters of {op} must be static; got shape {w.shape}. Give "
            "the shape in the function's signature or with tfx.ensure_shape.",
            op=op,
        )
    return kernel


def _groups(x: Tensor, w: Tensor, op: str) -> int:
    """Return the number of groups that the channels are divided into."""
    channels, depth = x.shape[1], w.shape[-2]
    if channels is None or depth is None or channels == depth:
        return 1
    outs = w.shape[-1]
    if depth == 0 or channels % depth or (outs is not None and outs % (channels // depth)):
        raise InvalidArgumentError(
            f"input depth must be evenly divisible by filter depth in {op}: {channels} vs {depth} "
            f"(filters {w.shape}); the number of output channels must be a multiple of the ratio.",
            op=op,
        )
    return int(channels // depth)


def merge_batch(x: Tensor, axes: int, op: str) -> tuple[Tensor, Tensor | None]:
    """Several batch axes as one; returns their sizes if there is more than one.

    Raises:
        InvalidArgumentError: too few axes.
    """
    rank = x.shape.rank
    if rank is None:
        x.set_shape([None] * (axes + 2))
        rank = x.shape.rank
    if rank is None:
        raise InvalidArgumentError(f"The rank of the input of {op} must be known.", op=op)
    if rank < axes + 2:
        raise InvalidArgumentError(
            f"input must be {axes + 2}-dimensional in {op}: got shape {x.shape}", op=op
        )
    if rank == axes + 2:
        return x, None
    batch = rank - axes - 1
    flat = concat_shape(product(shape_vector(x, 0, batch)), shape_vector(x, batch))
    return reshape_to(x, flat), shape_vector(x, 0, batch)


def split_batch(y: Tensor, batch: Tensor | None) -> Tensor:
    """The inverse of ``merge_batch``."""
    if batch is None:
        return y
    return reshape_to(y, concat_shape(batch, shape_vector(y, 1)))


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """2-D convolution of every channel with filters of its own.

    Args:
        input: ``[batch, height, width, channels]``.
        filter: ``[height, width, channels, multiplier]``.
        strides: 1, 2 or 4 numbers.
        padding: ``"SAME"``, ``"VALID"`` or a pair of numbers for each axis.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        dilations: 1, 2 or 4 numbers; None is 1.
        name: Accepted for compatibility.

    Returns:
        ``[batch, height', width', channels * multiplier]``; the results of channel ``c`` start at
        ``c * multiplier``.

    Example:
        >>> import tfx as tf
        >>> x = tf.ones([1, 3, 3, 2])
        >>> tf.nn.depthwise_conv2d(x, tf.ones([2, 2, 2, 3]), [1, 1, 1, 1], "VALID").shape
        TensorShape([1, 2, 2, 6])
    """
    op = "DepthwiseConv2D"
    layout = Layout.parse(data_format, 2, op)
    a, w = same_dtype(input, filter, op)
    require_dtype(a, a.dtype.is_floating, op, "a floating dtype")
    if w.shape.rank not in (None, 4):
        raise InvalidArgumentError(f"filter must be 4-dimensional in {op}: {w.shape}", op=op)
    channels = w.shape[2]
    if channels is None:
        raise InvalidArgumentError(
            f"The number of channels of {op} must be static; filter has shape {w.shape}.", op=op
        )
    a, batch = merge_batch(a, 2, op)
    moved = layout.to_first(a)
    if moved.shape[1] not in (None, channels):
        raise InvalidArgumentError(
            f"input and filter must have the same depth in {op}: {moved.shape[1]} vs {channels}",
            op=op,
        )
    # [h, w, c, m] -> [c, m, h, w] -> [c * m, 1, h, w]
    kind, kernel = a.dtype, kernel_of(w, 2, op)
    moved, w = computable(moved), computable(w)
    turned = ox.Transpose(w, perm=(2, 3, 0, 1))
    first = ox.Reshape(turned, int64_constant([-1, 1, *kernel]))
    window = Window(
        kernel,
        layout.per_axis(strides, "strides", op),
        layout.per_axis(1 if dilations is None else dilations, "dilations", op),
        layout.padding(padding, op),
    )
    window.outputs(sizes_of(moved, 2), op)
    y = layout.from_first(convolve(moved, first, window, channels))
    return cast_to(split_batch(y, batch), kind)


def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """A depthwise convolution followed by a 1 x 1 convolution.

    Args:
        input: ``[batch, height, width, channels]``.
        depthwise_filter: ``[height, width, channels, multiplier]``.
        pointwise_filter: ``[1, 1, channels * multiplier, out]``.
        strides: Of the depthwise convolution.
        padding: Of the depthwise convolution.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        dilations: Of the depthwise convolution.
        name: Accepted for compatibility.

    Returns:
        ``[batch, height', width', out]``.
    """
    point = tensor(pointwise_filter)
    if not point.shape.is_compatible_with([1, 1, None, None]):
        raise InvalidArgumentError(
            f"pointwise_filter of separable_conv2d must have shape [1, 1, in, out]; got "
            f"{point.shape}."
        )
    middle = depthwise_conv2d(input, depthwise_filter, strides, padding, data_format, dilations)
    return _convolution(middle, point, 1, "VALID", data_format, None, 2, "SeparableConv2D")


def bias_add(
    value: Any, bias: Any, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """Add one number to each channel.

    Args:
        value: Tensor whose last axis (or second, with ``"NC..."``) is the channels.
        bias: ``[channels]``, the same dtype.
        data_format: ``"N...C"`` (the default) or ``"NC..."``.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: the number of channels differs.

    Example:
        >>> import tfx as tf
        >>> tf.nn.bias_add([[1.0, 2.0]], [10.0, 20.0]).numpy()
        array([[11., 22.]], dtype=float32)
    """
    x, b = same_dtype(value, bias, "BiasAdd")
    first = data_format is not None and data_format.startswith("NC")
    if not first and data_format is not None and not data_format.startswith("N"):
        raise InvalidArgumentError(
            f"`data_format` of bias_add must be 'N...C' or 'NC...'; got {data_format!r}."
        )
    bias_shape = b.shape
    if b.shape.rank not in (None, 1):
        raise InvalidArgumentError(f"Biases must be 1D: {b.shape}", op="BiasAdd")
    rank = x.shape.rank
    if rank is not None and rank < 2:
        raise InvalidArgumentError(f"Input tensor must be at least 2D: {x.shape}", op="BiasAdd")
    channels = None if rank is None else x.shape[1 if first else -1]
    if channels is not None and b.shape.rank and b.shape[0] not in (None, channels):
        raise InvalidArgumentError(
            "Must provide as many biases as the last dimension of the input tensor: "
            f"{b.shape} vs. {x.shape}",
            op="BiasAdd",
        )
    if first and rank is None:
        raise InvalidArgumentError("bias_add with channels first needs a known rank.", op="BiasAdd")
    if first and rank is not None and rank > 2:
        b = ox.Reshape(b, int64_vector([-1, *([1] * (rank - 2))]))
    result = ox.Add(x, b)
    count = bias_shape[0] if bias_shape.rank else None
    if channels is None and rank is not None and count not in (None, 1):
        dims = result.shape.as_list()
        dims[1 if first else -1] = count
        result.set_shape(dims)
    return result
