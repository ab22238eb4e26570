"""Forms of ``tf.raw_ops`` that are more than one call: slopes, updates, orders of axes, ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tfx as tf


def numbers(given: Any) -> Any:
    """Axes or sizes that are given as a tensor, as the Python numbers that functions take."""
    known = tf.get_static_value(tf.convert_to_tensor(given))
    return given if known is None else known.tolist()


def slope(function: Callable[[Any], Any], x: Any, dy: Any) -> Any:
    """The gradient of a function by its argument."""
    at = tf.convert_to_tensor(x)
    with tf.GradientTape() as tape:
        tape.watch(at)
        y = function(at)
    return tape.gradient(y, at, tf.convert_to_tensor(dy))


def _scattered(change: str, *, slices: bool) -> Callable[..., Any]:
    """What changes rows, or elements, of the variable of a handle."""

    def rows(*, resource: Any, indices: Any, updates: Any, name: Any = None) -> None:
        getattr(resource, change)(tf.IndexedSlices(updates, indices))

    def elements(
        *, ref: Any, indices: Any, updates: Any, use_locking: bool = True,
        bad_indices_policy: str = "", name: Any = None,
    ) -> None:  # fmt: skip
        getattr(ref, change)(indices, updates)

    return rows if slices else elements


def _pool_slope(pool: str, x: Any, grad: Any, *window: Any) -> Any:
    return slope(lambda at: getattr(tf.nn, pool)(at, *window), x, grad)


def _set_bits(x: Any) -> Any:
    """How many bits of each integer are 1."""
    values = tf.convert_to_tensor(x)
    places = tf.range(8 * values.dtype.size)
    words = tf.bitcast(values, f"uint{8 * values.dtype.size}")
    bits = tf.bitwise.right_shift(words[..., None], tf.cast(places, words.dtype))
    return tf.cast(tf.reduce_sum(tf.cast(bits & tf.cast(1, words.dtype), tf.int32), -1), "uint8")


def _order_of_formats(source: str, target: str) -> list[int]:
    return [source.index(axis) for axis in target]


def _permuted(x: Any, source: str, target: str) -> Any:
    """Numbers of axes in the order of another format; of four, or of the two of space."""
    values = tf.convert_to_tensor(x)
    if values.shape.rank and values.shape[0] == len(source) - 2:
        source, target = (f.replace("N", "").replace("C", "") for f in (source, target))
    return tf.gather(values, _order_of_formats(source, target))


def _offsets(axis: Any, shapes: Any) -> list[Any]:
    """Where each of several tensors begins in what they are put together to."""
    sizes = tf.stack(shapes)
    before = tf.cumsum(sizes, exclusive=True)
    mask = tf.one_hot(numbers(axis), sizes.shape[1], dtype=sizes.dtype)
    return tf.unstack(before * mask)


def entries(x: Any) -> tuple[Any, Any, Any]:
    """The components of a sparse tensor."""
    return x.indices, x.values, x.dense_shape


def _splits_and_values(x: Any) -> tuple[Any, Any]:
    return x.row_splits, x.flat_values


def _text_of(x: Any) -> str:
    known = tf.get_static_value(tf.convert_to_tensor(x))
    return str(known.item().decode() if hasattr(known, "item") else known.decode())


def _split_strings(x: Any, mark: str, most: int) -> tuple[Any, Any, Any]:
    return entries(tf.strings.split(x, mark, most).to_sparse())


FORMS: dict[str, Callable[..., Any]] = {
    **{
        f"ResourceScatter{change}": _scattered(f"scatter_{change.lower()}", slices=True)
        for change in ("Add", "Sub", "Mul", "Div", "Min", "Max", "Update")
    },
    **{
        f"ResourceScatterNd{change}": _scattered(f"scatter_nd_{change.lower()}", slices=False)
        for change in ("Add", "Sub", "Min", "Max", "Update")
    },
    "AvgPool3DGrad": lambda *, orig_input_shape, grad, ksize, strides, padding,
    data_format="NDHWC", name=None: _pool_slope(
        "avg_pool3d", tf.zeros(orig_input_shape, tf.convert_to_tensor(grad).dtype), grad,
        ksize, strides, padding, data_format,
    ),
    "MaxPool3DGrad": lambda *, orig_input, orig_output, grad, ksize, strides, padding,
    data_format="NDHWC", name=None: (
        _pool_slope("max_pool3d", orig_input, grad, ksize, strides, padding, data_format)
    ),
    "MaxPoolGradV2": lambda *, orig_input, orig_output, grad, ksize, strides, padding,
    data_format="NHWC", name=None: _pool_slope(
        "max_pool2d", orig_input, grad, numbers(ksize), numbers(strides), padding, data_format
    ),
    "LRNGrad": lambda *, input_grads, input_image, output_image, depth_radius=5, bias=1, alpha=1,
    beta=0.5, name=None: (
        _pool_slope(
            "local_response_normalization", input_image, input_grads, depth_radius, bias, alpha,
            beta,
        )
    ),
    "Dilation2DBackpropInput": lambda *, input, filter, out_backprop, strides, rates, padding,
    name=None: _pool_slope(
        "dilation2d", input, out_backprop, filter, strides, padding, "NHWC", rates
    ),
    "Dilation2DBackpropFilter": lambda *, input, filter, out_backprop, strides, rates, padding,
    name=None: slope(
        lambda w: tf.nn.dilation2d(input, w, strides, padding, "NHWC", rates),
        filter, out_backprop,
    ),
    "ResizeBicubicGrad": lambda *, grads, original_image, align_corners=False,
    half_pixel_centers=False, name=None: slope(
        lambda x: tf.compat.v1.image.resize_bicubic(
            x, tf.shape(grads)[1:3], align_corners, half_pixel_centers=half_pixel_centers
        ),
        original_image, grads,
    ),
    "ResizeBilinearGrad": lambda *, grads, original_image, align_corners=False,
    half_pixel_centers=False, name=None: slope(
        lambda x: tf.compat.v1.image.resize_bilinear(
            x, tf.shape(grads)[1:3], align_corners, half_pixel_centers=half_pixel_centers
        ),
        original_image, grads,
    ),
    "ConcatOffset": lambda *, concat_dim, shape, name=None: _offsets(concat_dim, shape),
    "DataFormatDimMap": lambda *, x, src_format="NHWC", dst_format="NCHW", name=None: (
        tf.gather(_order_of_formats(dst_format, src_format), tf.math.floormod(x, len(src_format)))
    ),
    "DataFormatVecPermute": lambda *, x, src_format="NHWC", dst_format="NCHW", name=None: (
        _permuted(x, src_format, dst_format)
    ),
    "Multinomial": lambda *, logits, num_samples, seed=0, seed2=0, output_dtype=tf.int64,
    name=None: tf.random.categorical(
        logits, num_samples, output_dtype, seed or seed2 or None
    ),
    "NthElement": lambda *, input, n, reverse=False, name=None: (
        tf.gather(tf.sort(input, direction="DESCENDING" if reverse else "ASCENDING"), n, axis=-1)
    ),
    "PopulationCount": lambda *, x, name=None: _set_bits(x),
    "RandomGamma": lambda *, shape, alpha, seed=0, seed2=0, name=None: tf.random.gamma(
        shape, alpha, dtype=tf.convert_to_tensor(alpha).dtype, seed=seed or seed2 or None
    ),
    "RandomPoissonV2": lambda *, shape, rate, seed=0, seed2=0, dtype=tf.int64, name=None: (
        tf.random.poisson(shape, rate, dtype, seed or seed2 or None)
    ),
    "RaggedRange": lambda *, starts, limits, deltas, Tsplits=tf.int64, name=None: (  # noqa: N803
        _splits_and_values(tf.ragged.range(starts, limits, deltas, row_splits_dtype=Tsplits))
    ),
    "SeluGrad": lambda *, gradients, outputs, name=None: gradients * tf.where(
        tf.less(outputs, 0), outputs + 1.7580993408473768, 1.0507009873554805
    ),
    "StringSplitV2": lambda *, input, sep, maxsplit=-1, name=None: _split_strings(
        input, _text_of(sep), maxsplit
    ),
    "UnicodeDecode": lambda *, input, input_encoding, errors="replace", replacement_char=65533,
    replace_control_characters=False, Tsplits=tf.int64, name=None: _splits_and_values(  # noqa: N803
        tf.strings.unicode_decode(
            input, input_encoding, errors, replacement_char, replace_control_characters
        ).with_row_splits_dtype(Tsplits)
    ),
    "UnicodeEncode": lambda *, input_values, input_splits, output_encoding, errors="replace",
    replacement_char=65533, name=None: tf.strings.unicode_encode(
        tf.RaggedTensor.from_row_splits(input_values, input_splits), output_encoding, errors,
        replacement_char,
    ),
}  # fmt: skip
