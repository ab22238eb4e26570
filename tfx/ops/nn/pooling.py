"""Maximum and average over windows: ``max_pool``, ``avg_pool`` and their 1-D to 3-D forms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dims import is_static
from tfx.core.dtypes import DTypeLike
from tfx.core.errors import InvalidArgumentError, UnimplementedError
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.convert import embed, int64_constant
from tfx.framework.rules import OpRecord, forward, gradient, linear
from tfx.framework.tensor import Tensor
from tfx.graph.formulas.windows import Pads, Window, pad_spatial, window_of
from tfx.ops.common.arguments import cast_to, require_dtype, scalar_like, tensor
from tfx.ops.common.batching import BatchedOp, Results, as_one_batch, batching, known_rank
from tfx.ops.common.shapes import concat_shape, dimension, filled, product, reshape_to, shape_vector
from tfx.ops.nn.convolution import merge_batch, split_batch
from tfx.ops.nn.convolution_gradient import transpose_convolve
from tfx.ops.nn.windows import Layout, computable, sizes_of


def max_pool(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The largest value of each window, along the one, two or three spatial axes of ``input``.

    Gradients go to the first of several largest values, in the order of the axes.

    Args:
        input: ``[batch, *sizes, channels]`` of a number dtype; integers of 64 bits are exact up to
            2 ** 53.
        ksize: Window sizes: 1, n or n + 2 numbers.
        strides: Steps: 1, n or n + 2 numbers.
        padding: ``"SAME"``, ``"VALID"`` or a pair of numbers for each axis. Padding is never the
            largest value.
        data_format: ``"NWC"``, ``"NHWC"`` or ``"NDHWC"`` (the default), or with the channels first.
        name: Accepted for compatibility.

    Raises:
        ValueError: malformed sizes, strides, padding or data format.
        InvalidArgumentError: the input's rank is not 3, 4 or 5.

    Example:
        >>> import tfx as tf
        >>> x = tf.reshape(tf.range(4.0), [1, 2, 2, 1])
        >>> tf.nn.max_pool(x, ksize=2, strides=2, padding="VALID").numpy().item()
        3.0
    """
    return _pool(input, ksize, strides, padding, data_format, None, None, "MaxPool")


def max_pool1d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """``max_pool`` of ``[batch, width, channels]``."""
    return _pool(input, ksize, strides, padding, data_format, None, 1, "MaxPool")


def max_pool2d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """``max_pool`` of ``[batch, height, width, channels]``."""
    return _pool(input, ksize, strides, padding, data_format, None, 2, "MaxPool")


def max_pool3d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """``max_pool`` of ``[batch, depth, height, width, channels]``."""
    return _pool(input, ksize, strides, padding, data_format, None, 3, "MaxPool")


def avg_pool(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The mean of each window; padding does not count.

    See ``max_pool`` for the arguments; the dtype must be floating.

    Example:
        >>> import tfx as tf
        >>> x = tf.reshape(tf.range(4.0), [1, 2, 2, 1])
        >>> tf.nn.avg_pool(x, ksize=2, strides=2, padding="VALID").numpy().item()
        1.5
    """
    return _pool(input, ksize, strides, padding, data_format, None, None, "AveragePool")


def avg_pool1d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """``avg_pool`` of ``[batch, width, channels]``."""
    return _pool(input, ksize, strides, padding, data_format, None, 1, "AveragePool")


def avg_pool2d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """``avg_pool`` of ``[batch, height, width, channels]``."""
    return _pool(input, ksize, strides, padding, data_format, None, 2, "AveragePool")


def avg_pool3d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """``avg_pool`` of ``[batch, depth, height, width, channels]``."""
    return _pool(input, ksize, strides, padding, data_format, None, 3, "AveragePool")


def pool(
    input: Any,
    window_shape: Sequence[int],
    pooling_type: str,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """``max_pool`` or ``avg_pool`` by name.

    Args:
        input: ``[batch, *sizes, channels]``.
        window_shape: Window sizes, one for each spatial axis.
        pooling_type: ``"MAX"`` or ``"AVG"``.
        strides: Steps; None is 1.
        padding: ``"SAME"``, ``"VALID"`` or a pair of numbers for each axis.
        data_format: See ``max_pool``.
        dilations: Distances between the elements of a window; None is 1.
        name: Accepted for compatibility.
    """
    kinds = {"MAX": "MaxPool", "AVG": "AveragePool"}
    if pooling_type not in kinds:
        raise InvalidArgumentError(
            f"pooling_type of pool must be 'MAX' or 'AVG'; got {pooling_type!r}."
        )
    steps = 1 if strides is None else strides
    return _pool(
        input, window_shape, steps, padding, data_format, dilations, len(window_shape),
        kinds[pooling_type],
    )  # fmt: skip


def max_pool_with_argmax(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    output_dtype: DTypeLike = dtypes.int64,
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """``max_pool2d`` and where each maximum is.

    Args:
        input: ``[batch, height, width, channels]``.
        ksize: Window sizes.
        strides: Steps.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NHWC"``.
        output_dtype: int32 or int64.
        include_batch_in_index: Count the images before it, too.
        name: Accepted for compatibility.

    Returns:
        The maxima, and ``(row * width + column) * channels + channel`` of each.
    """
    op = "MaxPoolWithArgmax"
    if data_format != "NHWC":
        raise InvalidArgumentError(f"`data_format` of {op} must be 'NHWC'; got {data_format!r}.")
    layout = Layout.parse(data_format, 2, op)
    given = tensor(input).dtype
    x = _poolable(tensor(input))
    moved = layout.to_first(x)
    window = _window(layout, ksize, strides, padding, None, op)
    attrs = window.attributes(sizes_of(moved, 2))
    if attrs is None:
        raise UnimplementedError(
            f"{op} with strides {window.strides} above the window's {window.kernel} needs static "
            f"sizes; got {x.shape}.",
            op=op,
        )
    y, flat = ox.MaxPool(moved, **attrs, outputs=2)
    # ONNX counts in [batch, channels, height, width].
    channels, area = shape_vector(x, 3, 4), product(shape_vector(x, 1, 3))
    plane = ox.Div(flat, area)
    place = ox.Add(ox.Mul(ox.Mod(flat, area), channels), ox.Mod(plane, channels))
    if include_batch_in_index:
        image = ox.Div(plane, channels)
        place = ox.Add(place, ox.Mul(image, ox.Mul(area, channels)))
    kind = dtypes.as_dtype(output_dtype)
    return cast_to(layout.from_first(y), given), cast_to(layout.from_first(place), kind)


def _window(
    layout: Layout, ksize: Any, strides: Any, padding: Any, dilations: Any, op: str
) -> Window:
    return Window(
        layout.per_axis(ksize, "ksize", op),
        layout.per_axis(strides, "strides", op),
        layout.per_axis(1 if dilations is None else dilations, "dilations", op),
        layout.padding(padding, op),
    )


def _pool(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None,
    dilations: Any,
    axes: int | None,
    op: str,
) -> Tensor:
    x = tensor(input)
    require_dtype(
        x,
        x.dtype.is_floating or (op == "MaxPool" and x.dtype.is_integer),
        op,
        "a number dtype" if op == "MaxPool" else "a floating dtype",
    )
    if axes is None:
        rank = x.shape.rank
        if rank not in (3, 4, 5):
            raise InvalidArgumentError(
                f"Input tensor must be of rank 3, 4 or 5 but was {rank} in {op}: {x.shape}", op=op
            )
        axes = rank - 2
    layout = Layout.parse(data_format, axes, op)
    window = _window(layout, ksize, strides, padding, dilations, op)
    kind = x.dtype
    x, batch = merge_batch(_poolable(x), axes, op)
    moved = layout.to_first(x)
    window.outputs(sizes_of(moved, axes), op)
    attrs = window.attributes(sizes_of(moved, axes))
    y = _computed_padding(moved, window, op) if attrs is None else apply(op, (moved,), attrs)
    return cast_to(split_batch(layout.from_first(y), batch), kind)


def _poolable(x: Tensor) -> Tensor:
    """ONNX pools integers of 8 bits only; float64 holds the others, int64 up to 2 ** 53."""
    if x.dtype.is_integer and x.dtype.size > 1:
        return cast_to(x, dtypes.float64)
    return computable(x)


def _computed_padding(x: Tensor, window: Window, op: str) -> Tensor:
    """SAME padding of sizes that neither we nor ``auto_pad`` can tell."""
    before, after = window.same_padding(ox, ox.Shape(x, start=2))
    bare = Window(window.kernel, window.strides, window.dilations, "VALID")
    attrs = bare.attributes([None] * len(window.kernel))
    assert attrs is not None
    if op == "MaxPool":
        least = -math.inf if x.dtype.is_floating else x.dtype.min
        return apply(op, (pad_spatial(ox, x, before, after, scalar_like(least, x)),), attrs)
    # The share of each window that is not padding.
    ones = pad_spatial(ox, _ones(x), before, after)
    total = apply(op, (pad_spatial(ox, x, before, after),), attrs)
    return ox.Div(total, apply(op, (ones,), attrs))


def _ones(x: Tensor) -> Tensor:
    """One channel of ones of the spatial sizes of ``x``."""
    return filled(concat_shape(int64_constant([1, 1]), shape_vector(x, 2)), 1, x.dtype)


@gradient("MaxPool")
def _max_pool_grad(op: OpRecord, dy: Tensor | None, *_: Any) -> Tensor | None:
    """Add every element of ``dy`` at the position of its maximum.

    The kernel that also returns the places is ten times slower than the one that does not, so the
    places are found here.
    """
    (x,) = op.inputs
    if dy is None:
        return None
    attrs = {k: v for k, v in op.attrs.items() if k != "storage_order"}
    # Places by ONNX's second output are in [batch, channels, *sizes], flat.
    found = (
        op.outputs[1]
        if len(op.outputs) > 1 and not op.attrs.get("storage_order")
        else (ox.MaxPool(x, **attrs, outputs=2)[1])
    )
    flat = int64_constant([-1])
    zeros = filled(product(shape_vector(x)), 0, x.dtype)
    scattered = ox.ScatterElements(
        zeros, ox.Reshape(found, flat), ox.Reshape(dy, flat), axis=0, reduction="add"
    )
    return reshape_to(scattered, shape_vector(x))


@forward("MaxPool")
def _max_pool_forward(op: OpRecord, tangent: Tensor) -> list[Tensor | None]:
    """What the tangent has where the maxima were."""
    (x,) = op.inputs
    attrs = {k: v for k, v in op.attrs.items() if k != "storage_order"}
    found = (
        op.outputs[1]
        if len(op.outputs) > 1 and not op.attrs.get("storage_order")
        else ox.MaxPool(x, **attrs, outputs=2)[1]
    )
    flat = int64_constant([-1])
    taken = ox.Gather(ox.Reshape(tangent, flat), ox.Reshape(found, flat))
    moved = reshape_to(taken, shape_vector(op.outputs[0]))
    return [moved, *[None] * (len(op.outputs) - 1)]


@gradient("AveragePool")
def _average_pool_grad(op: OpRecord, dy: Tensor) -> Tensor:
    """Every element of ``dy``, divided by how many it is the mean of, goes to all of them."""
    (x,) = op.inputs
    window = window_of(op.attrs, op.attrs["kernel_shape"])
    axes = len(window.kernel)
    counts = _window_counts(op, x, window, sizes_of(x, axes), sizes_of(dy, axes))
    return spread_over_windows(ox.Div(dy, counts), x, window)


linear("AveragePool", inputs=(0,))


def spread_over_windows(shares: Tensor, x: Tensor, window: Window) -> Tensor:
    """Add every element of ``shares`` to all elements of its window in a tensor shaped like ``x``.

    Args:
        shares: One number for each window, ``[batch, channels, *counts]``.
        x: What the window slid over, of which only the shape is used.
        window: The window.
    """
    axes = len(window.kernel)
    sizes = sizes_of(x, axes)
    # All channels are alike: they join the batch.
    batch = product(shape_vector(shares, 0, 2))
    single = reshape_to(shares, concat_shape(batch, int64_constant([1]), shape_vector(shares, 2)))
    filled = embed(np.ones((1, 1, *window.kernel), x.dtype.as_numpy_dtype))
    pads = window.pads(sizes)
    computed = window.same_padding(ox, ox.Shape(x, start=2)) if pads is None else None
    static = sizes if is_static(sizes) else None
    target = None if static is not None else ox.Shape(x, start=2)
    spread = transpose_convolve(single, filled, window, 1, static, target, pads, computed)
    return reshape_to(spread, shape_vector(x))


def _window_counts(
    op: OpRecord,
    x: Tensor,
    window: Window,
    sizes: Sequence[int | None],
    counts: Sequence[int | None],
) -> Tensor:
    """Return the number of elements each window averages; it broadcasts to the result."""
    include = bool(op.attrs.get("count_include_pad", 0))
    total = math.prod(window.kernel)
    pads = window.pads(sizes)
    if (
        not op.attrs.get("ceil_mode")
        and pads is not None
        and (include or not any(itertools.chain(*pads)))
    ):
        return scalar_like(total, x)
    if pads is not None and op.attrs.get("ceil_mode") and (None in sizes or None in counts):
        return _measured_window_counts(op, x, window, pads)
    if pads is None or None in sizes or None in counts:
        # The mean over padded windows of ones is the share that is not padding.
        attrs = {**op.attrs, "count_include_pad": 1}
        return ox.Mul(ox.AveragePool(_ones(x), **attrs), scalar_like(total, x))
    result = np.ones((1, 1), x.dtype.as_numpy_dtype)
    for i, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        assert size is not None
        assert count is not None
        starts = np.arange(count) * window.strides[i] - pads[i][0]
        taps = starts[:, None] + np.arange(window.kernel[i]) * window.dilations[i]
        end = size + (pads[i][1] if include else 0)
        begin = -pads[i][0] if include else 0
        inside = ((taps >= begin) & (taps < end)).sum(1)
        result = result[..., None] * inside.astype(x.dtype.as_numpy_dtype)
    return embed(result)


def _measured_window_counts(op: OpRecord, x: Tensor, window: Window, pads: Pads) -> Tensor:
    """The same for sizes that are known at run time only."""
    include = bool(op.attrs.get("count_include_pad", 0))
    result: Tensor | None = None
    axes = len(window.kernel)
    for i, (before, after) in enumerate(pads):
        offsets = np.arange(window.kernel[i]) * window.dilations[i] - before
        first = ox.Mul(_numbers(op.outputs[0], i + 2), int64_constant(window.strides[i]))
        taps = ox.Add(first, int64_constant(offsets.tolist()))
        end = dimension(x, i + 2)
        begin = int64_constant(-before if include else 0)
        end = ox.Add(end, int64_constant(after)) if include else end
        inside = ox.And(ox.GreaterOrEqual(taps, begin), ox.Less(taps, end))
        count = ox.ReduceSum(cast_to(inside, x.dtype), int64_constant([1]))
        shape = [1] * (axes + 2)
        shape[i + 2] = -1
        count = ox.Reshape(count, int64_constant(shape))
        result = count if result is None else ox.Mul(result, count)
    assert result is not None
    return result


def _numbers(x: Tensor, axis: int) -> Tensor:
    """0, 1, 2 ... along an axis, as a column."""
    stop = ox.Squeeze(dimension(x, axis))
    numbers = ox.Range(int64_constant(0), stop, int64_constant(1))
    return ox.Unsqueeze(numbers, int64_constant([1]))


@gradient("GlobalAveragePool")
def _global_average_pool_grad(op: OpRecord, dy: Tensor) -> Tensor:
    (x,) = op.inputs
    area = product(shape_vector(x, 2))
    return ox.Expand(ox.Div(dy, cast_to(area, x.dtype)), shape_vector(x))


linear("GlobalAveragePool", inputs=(0,))


batching("AveragePool", "GlobalAveragePool")(as_one_batch)


@batching("MaxPool")
def _max_pool_batching(op: BatchedOp) -> Results:
    """Places count the elements of the image's tensor, so those of the images before come off."""
    found = op.apply((op.merged(0),))
    results = [op.split(y) for y in found]
    if len(results) > 1:
        area = product(shape_vector(op.input(0), 1))
        results[1] = ox.Sub(results[1], _starts(op, results[1], area))
    return results


def _starts(op: BatchedOp, like: Tensor, length: Tensor) -> Tensor:
    """Return the start of each element of ``length`` numbers: ``[size, 1, 1, ...]``."""
    count = ox.Reshape(op.size, int64_constant([]))
    numbers = ox.Range(int64_constant(0), count, int64_constant(1))
    starts = ox.Mul(numbers, length)
    return ox.Reshape(starts, int64_constant([-1, *([1] * (known_rank(like) - 1))]))
