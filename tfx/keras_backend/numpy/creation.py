"""New tensors: filled, counted, spaced, and windows."""

from __future__ import annotations

import math
from typing import Any

from keras.src.backend import config
from keras.src.backend.common import standardize_dtype

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor
from tfx.keras_backend.numpy.promotion import cast, kind_of, result_type, tensor


def _named(dtype: Any) -> str:
    """A dtype's name; Keras' floating one where there is none."""
    name: str = standardize_dtype(dtype or config.floatx())
    return name


def array(x: Any, dtype: Any = None) -> Any:
    """A tensor of what is given."""
    return convert_to_tensor(x, dtype)


def zeros(shape: Any, dtype: Any = None) -> Any:
    """A tensor of zeros."""
    return tf.zeros(shape, _named(dtype))


def ones(shape: Any, dtype: Any = None) -> Any:
    """A tensor of ones."""
    return tf.ones(shape, _named(dtype))


empty = zeros  # what the elements are does not matter


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """A tensor of one value, or of values that are broadcast."""
    value = convert_to_tensor(fill_value, _named(dtype))
    return tf.broadcast_to(value, shape)


def zeros_like(x: Any, dtype: Any = None) -> Any:
    """Zeros of the shape of ``x``."""
    return tf.zeros_like(tensor(x), dtype=dtype and standardize_dtype(dtype))


def ones_like(x: Any, dtype: Any = None) -> Any:
    """Ones of the shape of ``x``."""
    return tf.ones_like(tensor(x), dtype=dtype and standardize_dtype(dtype))


def empty_like(x: Any, dtype: Any = None) -> Any:
    """Zeros of the shape of ``x``, which do not matter."""
    return zeros_like(x, dtype)


def full_like(x: Any, fill_value: Any, dtype: Any = None) -> Any:
    """One value in the shape of ``x``."""
    x = tensor(x)
    value = convert_to_tensor(fill_value, standardize_dtype(dtype or x.dtype))
    return tf.broadcast_to(value, tf.shape(x) if None in x.shape.as_list() else x.shape)


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Any:
    """Numbers from ``start`` up to, without, ``stop``."""
    given = [start, *([] if stop is None else [stop]), *([] if step is None else [step])]
    if dtype is None:
        dtype = result_type(*[kind_of(x) for x in given])
    dtype = standardize_dtype(dtype)
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    if dtype == "bool":
        return tf.cast(tf.range(start, stop, step), "bool")
    counted = dtype if dtype in ("int32", "int64", "float32", "float64") else None
    if counted is None:
        counted = "float32" if "float" in dtype else "int32"
    if all(isinstance(x, int | float) for x in (start, stop, step)) and "int" in counted:
        found = tf.range(math.ceil(start), math.ceil(stop), step, dtype=counted)
    else:
        found = tf.range(*[convert_to_tensor(x, counted) for x in (start, stop, step)])
    return cast(found, dtype)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Evenly spaced numbers; with ``retstep`` also how far they are apart."""
    if num < 0:
        raise ValueError(f"`num` must be a non-negative integer. Received: num={num}")
    kind = dtype or result_type(kind_of(start), kind_of(stop), float)
    kind = standardize_dtype(kind)
    compute = kind if "float" in kind else config.floatx()
    start, stop = (convert_to_tensor(x, compute) for x in (start, stop))
    parts = float(num - 1 if endpoint else num)
    span = stop - start
    step = span / parts if parts > 0 else span * float("nan")
    places = tf.cast(tf.range(num), compute)
    shape = [num, *[1] * (span.shape.rank or 0)]
    places = tf.reshape(places, shape)
    found = start + places * (step if parts > 0 else span)
    if endpoint and num > 1:  # exactly the end, whatever was rounded
        last = tf.reshape(tf.equal(tf.range(num), num - 1), shape)
        found = tf.where(last, stop, found)
    if axis != 0:
        rank = found.shape.rank
        order = list(range(1, rank))
        order.insert(axis % rank, 0)
        found = tf.transpose(found, order)
    if "int" in kind:
        found = tf.math.floor(found)
    found = cast(found, kind)
    return (found, step) if retstep else found


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Numbers evenly spaced by their logarithms."""
    kind = standardize_dtype(dtype or result_type(kind_of(start), kind_of(stop), float))
    compute = kind if "float" in kind else config.floatx()
    places = linspace(start, stop, num, endpoint, dtype=compute, axis=axis)
    return cast(tf.math.pow(convert_to_tensor(base, compute), places), kind)


def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Numbers each of which is the same multiple of the one before."""
    kind = standardize_dtype(dtype or result_type(kind_of(start), kind_of(stop), float))
    compute = kind if "float" in kind else config.floatx()
    start, stop = (convert_to_tensor(x, compute) for x in (start, stop))
    sign = tf.math.sign(start)
    first, last = (tf.math.log(tf.math.abs(x)) for x in (start, stop))
    places = linspace(first, last, num=num, endpoint=endpoint, dtype=compute, axis=axis)
    return cast(sign * tf.math.exp(places), kind)


def eye(N: Any, M: Any = None, k: int = 0, dtype: Any = None) -> Any:
    """Ones on a diagonal."""
    rows, columns = _size(N, "N"), _size(N if M is None else M, "M")
    row = tf.range(rows)[:, None]
    column = tf.range(columns)[None, :]
    return tf.cast(tf.equal(column - row, k), _named(dtype))


def _size(x: Any, name: str) -> Any:
    if isinstance(x, float):
        raise TypeError(f"Argument `{name}` must be an integer or an integer tensor. Received: {x}")
    return x if isinstance(x, int) else convert_to_tensor(x, "int32")


def identity(n: Any, dtype: Any = None) -> Any:
    """Ones on the main diagonal."""
    return eye(n, dtype=dtype)


def tri(N: Any, M: Any = None, k: int = 0, dtype: Any = None) -> Any:
    """Ones at and below a diagonal."""
    row = tf.range(_size(N, "N"))[:, None]
    column = tf.range(_size(N if M is None else M, "M"))[None, :]
    return tf.cast(tf.less_equal(column - row, k), _named(dtype))


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Powers of a vector as columns."""
    x = tensor(x)
    count: Any = N
    if count is None:
        count = x.shape[-1] if x.shape[-1] is not None else tf.shape(x)[-1]
    dtype = result_type(kind_of(x))
    compute = dtype if "float" in dtype else config.floatx()
    powers = tf.cast(tf.range(count), compute)
    if not increasing:
        powers = tf.reverse(powers, [0])
    return cast(tf.math.pow(tf.cast(x, compute)[..., None], powers), dtype)


def _window(x: Any, *weights: float) -> Any:
    """A sum of cosines over ``x`` points, 1 for a single one."""
    count = convert_to_tensor(x, "int32")
    n = tf.cast(tf.range(count), config.floatx())
    turn = n * (2 * math.pi) / tf.cast(tf.maximum(count - 1, 1), config.floatx())
    found = sum(w * tf.math.cos(k * turn) for k, w in enumerate(weights))
    return tf.where(count == 1, tf.ones_like(n), found)


def hanning(x: Any) -> Any:
    """The Hann window of ``x`` points."""
    return _window(x, 0.5, -0.5)


def hamming(x: Any) -> Any:
    """The Hamming window of ``x`` points."""
    return _window(x, 0.54, -0.46)


def blackman(x: Any) -> Any:
    """The Blackman window of ``x`` points."""
    return _window(x, 0.42, -0.5, 0.08)


def bartlett(x: Any) -> Any:
    """The triangular window of ``x`` points."""
    count = convert_to_tensor(x, "int32")
    n = tf.cast(tf.range(count), config.floatx())
    half = tf.cast(count - 1, config.floatx()) / 2
    found = 1 - tf.math.abs(n - half) / tf.where(half > 0, half, 1.0)
    return tf.where(count == 1, tf.ones_like(n), found)


def kaiser(x: Any, beta: Any) -> Any:
    """The Kaiser window of ``x`` points."""
    count = convert_to_tensor(x, "int32")
    n = tf.cast(tf.range(count), config.floatx())
    beta = convert_to_tensor(beta, config.floatx())
    half = tf.cast(tf.maximum(count - 1, 1), config.floatx()) / 2
    inside = tf.maximum(1 - tf.math.square((n - half) / half), 0.0)
    found = tf.math.bessel_i0(beta * tf.math.sqrt(inside)) / tf.math.bessel_i0(beta)
    return tf.where(count == 1, tf.ones_like(n), found)


def meshgrid(*x: Any, indexing: str = "xy") -> Any:
    """Coordinates of a grid."""
    return tf.meshgrid(*[tf.reshape(tensor(v), [-1]) for v in x], indexing=indexing)
