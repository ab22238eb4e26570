"""Transposed convolutions: as layers, what the gradients of convolutions are."""

from __future__ import annotations

from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.graph.formulas.windows import Window
from tfx.ops.common.arguments import cast_to, require_dtype, same_dtype, tensor
from tfx.ops.common.shapes import shape_argument, symbolic_items
from tfx.ops.nn.convolution import kernel_of
from tfx.ops.nn.convolution_gradient import transpose_convolve
from tfx.ops.nn.windows import Layout, computable


def conv2d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The transpose (gradient) of ``conv2d``, sometimes called deconvolution.

    Args:
        input: ``[batch, height, width, in]`` of a floating dtype.
        filters: ``[height, width, out, in]``, the same dtype.
        output_shape: The result's shape, four integers or a tensor of them.
        strides: 1, 2 or 4 numbers.
        padding: ``"SAME"``, ``"VALID"`` or a pair of numbers for each axis, of the convolution
            whose gradient this is.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        dilations: 1, 2 or 4 numbers; None is 1.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: an output shape that the convolution does not bring to the input's.

    Example:
        >>> import tfx as tf
        >>> x = tf.ones([1, 2, 2, 1])
        >>> tf.nn.conv2d_transpose(x, tf.ones([2, 2, 3, 1]), [1, 4, 4, 3], strides=2).shape
        TensorShape([1, 4, 4, 3])
    """
    return _transposed(
        input, filters, output_shape, strides, padding, data_format, dilations, 2,
        "Conv2DTranspose",
    )  # fmt: skip


def atrous_conv2d_transpose(
    value: Any,
    filters: Any,
    output_shape: Any,
    rate: int,
    padding: Any,
    name: str | None = None,
) -> Tensor:
    """The transpose of ``atrous_conv2d``: ``conv2d_transpose`` with dilation ``rate``."""
    return conv2d_transpose(value, filters, output_shape, 1, padding, dilations=rate)


def conv1d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of ``conv1d``; see ``conv2d_transpose``."""
    return _transposed(
        input, filters, output_shape, strides, padding, data_format, dilations, 1,
        "Conv1DTranspose",
    )  # fmt: skip


def conv3d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of ``conv3d``; see ``conv2d_transpose``."""
    return _transposed(
        input, filters, output_shape, strides, padding, data_format, dilations, 3,
        "Conv3DTranspose",
    )  # fmt: skip


def conv_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of ``convolution``; see ``conv2d_transpose``.

    Raises:
        ValueError: the filter's rank is not 3, 4 or 5.
    """
    w = tensor(filters)
    rank = w.shape.rank
    if rank not in (3, 4, 5):
        raise InvalidArgumentError(
            f"`filters` of conv_transpose must have rank 3, 4 or 5; got shape {w.shape}."
        )
    return _transposed(
        input, w, output_shape, strides, padding, data_format, dilations, rank - 2,
        "ConvTranspose",
    )  # fmt: skip


def _transposed(
    x: Any,
    filters: Any,
    output_shape: Any,
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
    for what, t in (("input", a), ("filter", w)):
        if t.shape.rank not in (None, axes + 2):
            raise InvalidArgumentError(
                f"{what} must be {axes + 2}-dimensional in {op}: {t.shape}", op=op
            )
    window = Window(
        kernel_of(w, axes, op),
        layout.per_axis(strides, "strides", op),
        layout.per_axis(1 if dilations is None else dilations, "dilations", op),
        layout.padding(padding, op),
    )
    kind = a.dtype
    a, w = computable(a), computable(w)
    # [*kernel, out, in] -> [in, out, *kernel]
    first = ox.Transpose(w, perm=(axes + 1, axes, *range(axes)))
    moved = layout.to_first(a)
    shape = _output_shape(output_shape, axes, op)
    dims = symbolic_items(shape)
    known = [d if isinstance(d, int) else None for d in dims or [None] * (axes + 2)]
    spatial, channels = layout.spatial(known), known[1 if layout.channels_first else -1]
    sizes = None if None in spatial else [d for d in spatial if d is not None]
    target = computed = None
    if sizes is not None:  # the batch, which follows from the input, may be unknown
        _check(window, moved, w, sizes, channels, op)
        pads = window.pads(sizes)
    else:
        begin = 2 if layout.channels_first else 1
        target = ox.Slice(shape, int64_constant([begin]), int64_constant([begin + axes]))
        pads = window.pads([None] * axes)
        computed = None if pads is not None else window.same_padding(ox, target)
    y = transpose_convolve(moved, first, window, 1, sizes, target, pads, computed)
    result = cast_to(layout.from_first(y), kind)
    if isinstance(result, SymbolicTensor):
        # The batch is the input's, whatever is given here.
        result.set_shape([None, *known[1:]])
    return result


def _output_shape(output_shape: Any, axes: int, op: str) -> Tensor:
    shape = shape_argument(output_shape, op)
    if not shape.shape.is_compatible_with([axes + 2]):
        raise InvalidArgumentError(
            f"output_shape of {op} must have length {axes + 2}, got {output_shape!r}.", op=op
        )
    return shape


def _check(
    window: Window, x: Tensor, w: Tensor, sizes: list[int], channels: int | None, op: str
) -> None:
    """The convolution must bring the output's sizes to the input's."""
    counts = window.outputs(sizes, op)
    given = x.shape.as_list()[2:] if x.shape.rank is not None else [None] * len(sizes)
    for count, have in zip(counts, given, strict=True):
        if have is not None and count != have:
            raise InvalidArgumentError(
                f"Size of out_backprop doesn't match computed in {op}: actual = {given}, "
                f"computed = {counts} from output_shape {sizes}, strides {window.strides}, padding "
                f"{window.padding!r}.",
                op=op,
            )
    if None not in (w.shape[-2], channels) and w.shape[-2] != channels:
        raise InvalidArgumentError(
            f"output_shape of {op} has {channels} channels; the filters {w.shape} make "
            f"{w.shape[-2]}.",
            op=op,
        )
    if (
        x.shape.rank is not None
        and None not in (w.shape[-1], x.shape[1])
        and (w.shape[-1] != x.shape[1])
    ):
        raise InvalidArgumentError(
            f"input has {x.shape[1]} channels in {op}; the filters {w.shape} take {w.shape[-1]}.",
            op=op,
        )
