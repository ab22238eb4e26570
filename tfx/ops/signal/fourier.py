"""``tf.signal``'s Fourier transforms: of the last one, two or three axes, and of chosen ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from tfx.core import dtypes
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.composite.complex_pairs import joined, parts
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.ops.common.arguments import (
    as_int64,
    cast_to,
    is_tensor_like,
    scalar_like,
    static_ints,
    tensor,
)
from tfx.ops.common.shapes import concat_shape, dimension, rank_of, raw_shape, shape_vector
from tfx.ops.signal import dft
from tfx.ops.signal.dft import Length

# Sizes for the axes of a transform.
_Lengths: TypeAlias = list[Length]


def fft(input: Any, name: str | None = None) -> Tensor:
    """The discrete Fourier transform along the last axis.

    Args:
        input: Tensor of complex64 or complex128 and rank 1 or more.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        InvalidArgumentError: another dtype, or a scalar.

    Example:
        >>> import tfx as tf
        >>> tf.signal.fft(tf.constant([1, 1j, -1, -1j], tf.complex64)).numpy().round(4)
        array([0.+0.j, 4.+0.j, 0.+0.j, 0.+0.j], dtype=complex64)
    """
    return _complex("FFT", input, 1, inverse=False)


def ifft(input: Any, name: str | None = None) -> Tensor:
    """The inverse of ``fft``: with the other sign, and divided by the number of samples.

    Example:
        >>> import tfx as tf
        >>> x = tf.signal.fft(tf.constant([1, 2, 4], tf.complex64))
        >>> tf.signal.ifft(x).numpy().real.round(4)
        array([1., 2., 4.], dtype=float32)
    """
    return _complex("IFFT", input, 1, inverse=True)


def fft2d(input: Any, name: str | None = None) -> Tensor:
    """The discrete Fourier transform along the last two axes; see ``fft``.

    Example:
        >>> import tfx as tf
        >>> tf.signal.fft2d(tf.ones([2, 2], tf.complex64)).numpy().real
        array([[4., 0.],
               [0., 0.]], dtype=float32)
    """
    return _complex("FFT2D", input, 2, inverse=False)


def ifft2d(input: Any, name: str | None = None) -> Tensor:
    """The inverse of ``fft2d``.

    Example:
        >>> import tfx as tf
        >>> tf.signal.ifft2d(tf.ones([2, 2], tf.complex64)).numpy().real
        array([[1., 0.],
               [0., 0.]], dtype=float32)
    """
    return _complex("IFFT2D", input, 2, inverse=True)


def fft3d(input: Any, name: str | None = None) -> Tensor:
    """The discrete Fourier transform along the last three axes; see ``fft``.

    Example:
        >>> import tfx as tf
        >>> tf.signal.fft3d(tf.ones([5, 2, 3, 4], tf.complex64)).shape
        TensorShape([5, 2, 3, 4])
    """
    return _complex("FFT3D", input, 3, inverse=False)


def ifft3d(input: Any, name: str | None = None) -> Tensor:
    """The inverse of ``fft3d``.

    Example:
        >>> import tfx as tf
        >>> tf.signal.ifft3d(tf.ones([5, 2, 3, 4], tf.complex64)).shape
        TensorShape([5, 2, 3, 4])
    """
    return _complex("IFFT3D", input, 3, inverse=True)


def rfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The first half of the discrete Fourier transform of real numbers, along the last axis.

    The other half are the conjugates.

    Args:
        input_tensor: Tensor of float32 or float64 and rank 1 or more.
        fft_length: ``[length]``: cut or fill with zeros to this number of samples.
        name: Accepted for compatibility.

    Returns:
        ``[..., length // 2 + 1]`` of complex64 or complex128.

    Raises:
        ValueError: another dtype, or a scalar.
        InvalidArgumentError: not one length, or one below 1.

    Example:
        >>> import tfx as tf
        >>> tf.signal.rfft([1.0, 2.0, 1.0, 0.0]).numpy().round(4)
        array([4.+0.j, 0.-2.j, 0.+0.j], dtype=complex64)
    """
    return _of_real("RFFT", input_tensor, fft_length, 1)


def rfft2d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The discrete Fourier transform of real numbers along the last two axes.

    Along the last one it has the first half of the frequencies; see ``rfft``.

    Example:
        >>> import tfx as tf
        >>> tf.signal.rfft2d(tf.ones([3, 4])).shape
        TensorShape([3, 3])
    """
    return _of_real("RFFT2D", input_tensor, fft_length, 2)


def rfft3d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The discrete Fourier transform of real numbers along the last three axes; see ``rfft2d``.

    Example:
        >>> import tfx as tf
        >>> tf.signal.rfft3d(tf.ones([2, 3, 4]), [2, 2, 6]).shape
        TensorShape([2, 2, 4])
    """
    return _of_real("RFFT3D", input_tensor, fft_length, 3)


def irfft(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of ``rfft``: real numbers, of which the first half of a transform is given.

    Args:
        input_tensor: ``[..., frequencies]`` of complex64 or complex128.
        fft_length: ``[length]``: the number of samples of the result, even or odd; None:
            ``2 * (frequencies - 1)``. Frequencies that are missing are 0, others are left out.
        name: Accepted for compatibility.

    Returns:
        ``[..., length]`` of float32 or float64.

    Raises:
        ValueError: another dtype, or a scalar.
        InvalidArgumentError: not one length, or one below 1.

    Example:
        >>> import tfx as tf
        >>> tf.signal.irfft(tf.signal.rfft([1.0, 2.0, 4.0]), [3]).numpy().round(4)
        array([1., 2., 4.], dtype=float32)
    """
    return _to_real("IRFFT", input_tensor, fft_length, 1)


def irfft2d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of ``rfft2d``; see ``irfft``.

    Example:
        >>> import tfx as tf
        >>> tf.signal.irfft2d(tf.signal.rfft2d(tf.ones([3, 4]))).shape
        TensorShape([3, 4])
    """
    return _to_real("IRFFT2D", input_tensor, fft_length, 2)


def irfft3d(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
    """The inverse of ``rfft3d``; see ``irfft``.

    Example:
        >>> import tfx as tf
        >>> tf.signal.irfft3d(tf.signal.rfft3d(tf.ones([2, 3, 4]))).shape
        TensorShape([2, 3, 4])
    """
    return _to_real("IRFFT3D", input_tensor, fft_length, 3)


def fftnd(
    input_tensor: Any,
    fft_length: Any = None,
    axes: Any = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The discrete Fourier transform along several axes.

    TensorFlow has no kernel of it for CPUs; the results are those of ``numpy.fft.fftn``.

    Args:
        input_tensor: Tensor of complex64 or complex128, of a known rank.
        fft_length: A length for each axis: cut or fill with zeros. None: the sizes of the axes.
        axes: Numbers of the axes; None: all.
        norm: ``"backward"`` (or None), ``"ortho"`` or ``"forward"``: the inverse, both or this one
            is divided, by the number of samples or its root.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same dtype.

    Raises:
        ValueError: a dtype that is not complex, another norm, or a rank that is not known.
        InvalidArgumentError: axes that there are not or that are given twice, other lengths.

    Example:
        >>> import tfx as tf
        >>> tf.signal.fftnd(tf.ones([3, 4], tf.complex64), [2, 2]).numpy().real
        array([[4., 0.],
               [0., 0.]], dtype=float32)
    """
    return _nd_complex("FFTND", input_tensor, fft_length, axes, norm, inverse=False)


def ifftnd(
    input_tensor: Any,
    fft_length: Any = None,
    axes: Any = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of ``fftnd``.

    Example:
        >>> import tfx as tf
        >>> tf.signal.ifftnd(tf.ones([3, 4], tf.complex64), axes=[1]).numpy().real[0]
        array([1., 0., 0., 0.], dtype=float32)
    """
    return _nd_complex("IFFTND", input_tensor, fft_length, axes, norm, inverse=True)


def rfftnd(
    input_tensor: Any,
    fft_length: Any = None,
    axes: Any = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The discrete Fourier transform of real numbers along several axes; see ``fftnd``.

    Along the last of the axes that are given it has the first half of the frequencies.

    Example:
        >>> import tfx as tf
        >>> tf.signal.rfftnd(tf.ones([3, 4]), axes=[1, 0]).shape
        TensorShape([2, 4])
    """
    x = _real_tensor(input_tensor)
    places = _places("RFFTND", x, axes)
    lengths = _given_lengths("RFFTND", x, fft_length, places)
    factor = _factor("rfftnd", norm, lengths, x, inverse=False)
    for place, length in zip(places, lengths, strict=True):
        x = _fitted(x, place, length)
    x = _to_last(x, places[-1], extra=0)
    pairs = _from_last(dft.transform_of_real(x, lengths[-1]), places[-1])
    pairs = _through(pairs, places[:-1], lengths[:-1], inverse=False)
    return joined(pairs if factor is None else ox.Mul(pairs, factor))


def irfftnd(
    input_tensor: Any,
    fft_length: Any = None,
    axes: Any = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of ``rfftnd``; ``fft_length`` has the sizes of the result.

    Example:
        >>> import tfx as tf
        >>> tf.signal.irfftnd(tf.signal.rfftnd(tf.ones([3, 4])), [3, 4]).shape
        TensorShape([3, 4])
    """
    z = _complex_tensor(input_tensor, "IRFFT")
    places = _places("IRFFTND", z, axes)
    lengths = _given_lengths("IRFFTND", z, fft_length, places, half=True)
    found = _back(parts(z), places, lengths)
    factor = _factor("irfftnd", norm, lengths, found, inverse=True)
    return found if factor is None else ox.Mul(found, factor)


# The last few axes


def _complex(op: str, value: Any, count: int, *, inverse: bool) -> Tensor:
    array = hasattr(value, "__array__") and not is_tensor_like(value)
    z = convert_to_tensor(value, dtypes.complex64) if array else tensor(value)
    if not z.dtype.is_complex:
        if is_tensor_like(value):
            raise DTypeMismatchError(
                f"Value for attr 'Tcomplex' of {z.dtype.name} is not in the list of allowed "
                f"values: complex64, complex128; {op} takes complex numbers. Use tfx.cast, or "
                "tfx.signal.rfft for real ones.",
                op=op,
            )
        z = convert_to_tensor(value, dtypes.complex64)
    rank = rank_of(z)
    if rank is not None and rank < count:
        raise InvalidArgumentError(
            f"Input must have rank of at least {count} but got: {z.shape}", op=op
        )
    whole = _Batch(parts(z), count, extra=1)
    lengths = _own_lengths(whole.x, whole.places)
    return joined(whole.unfolded(_through(whole.x, whole.places, lengths, inverse=inverse)))


def _of_real(op: str, value: Any, fft_length: Any, count: int) -> Tensor:
    x = _real_tensor(value)
    _require_rank(x, count)
    whole = _Batch(x, count, extra=0)
    lengths = _given_lengths(op, whole.x, fft_length, whole.places)
    x = whole.x
    for place, length in zip(whole.places, lengths, strict=True):
        x = _fitted(x, place, length)
    pairs = dft.transform_of_real(x, lengths[-1])
    pairs = _through(pairs, whole.places[:-1], lengths[:-1], inverse=False)
    return joined(whole.unfolded(pairs, extra=1))


def _to_real(op: str, value: Any, fft_length: Any, count: int) -> Tensor:
    z = _complex_tensor(value, "IRFFT")
    _require_rank(z, count)
    whole = _Batch(parts(z), count, extra=1)
    lengths = _given_lengths(op, whole.x, fft_length, whole.places, half=True)
    return whole.unfolded(_back(whole.x, whole.places, lengths), extra=0)


def _real_tensor(value: Any) -> Tensor:
    x = convert_to_tensor(value, dtype_hint=dtypes.float32)
    if x.dtype not in (dtypes.float32, dtypes.float64):
        raise InvalidArgumentError(
            f"RFFT requires tf.float32 or tf.float64 inputs, got: {x!r}. Use tfx.cast, or "
            "tfx.signal.fft for complex numbers."
        )
    return x


def _complex_tensor(value: Any, op: str) -> Tensor:
    z = convert_to_tensor(value, dtype_hint=dtypes.complex64)
    if not z.dtype.is_complex:
        raise InvalidArgumentError(
            f"{op} requires tf.complex64 or tf.complex128 inputs, got: {z!r}. Use tfx.cast."
        )
    return z


def _require_rank(x: Tensor, count: int) -> None:
    rank = rank_of(x)
    if rank is not None and rank < count:
        raise InvalidArgumentError(f"Shape {x.shape} must have rank at least {count}")


class _Batch:
    """A tensor whose rank is known: axes before the last few are put together if it was not.

    Args:
        x: The tensor.
        count: How many axes are transformed.
        extra: How many are behind these: 1 for pairs.
    """

    def __init__(self, x: Tensor, count: int, *, extra: int) -> None:
        self._count = count
        self._extra = extra
        self._head: Tensor | None = None
        rank = rank_of(x)
        if rank is None:
            last = count + extra
            self._head = shape_vector(x, 0, -last)
            x = ox.Reshape(
                x, concat_shape(ox.ReduceProd(self._head), shape_vector(x, -last)), allowzero=1
            )
            rank = last + 1
            if isinstance(x, SymbolicTensor):
                x.set_shape([*[None] * (count + 1), *[2] * extra])
        self.x = x
        # The axes that are transformed.
        self.places = list(range(rank - extra - count, rank - extra))

    def unfolded(self, y: Tensor, extra: int | None = None) -> Tensor:
        """A result with the axes that the tensor had before these."""
        if self._head is None:
            return y
        last = self._count + (self._extra if extra is None else extra)
        return ox.Reshape(y, concat_shape(self._head, shape_vector(y, -last)), allowzero=1)


# Chosen axes


def _nd_complex(
    op: str, value: Any, fft_length: Any, axes: Any, norm: str | None, *, inverse: bool
) -> Tensor:
    z = _complex_tensor(value, op)
    places = _places(op, z, axes)
    lengths = _given_lengths(op, z, fft_length, places)
    pairs = parts(z)
    for place, length in zip(places, lengths, strict=True):
        pairs = _fitted(pairs, place, length)
    factor = _factor(op.lower(), norm, lengths, pairs, inverse=inverse)
    pairs = _through(pairs, places, lengths, inverse=inverse)
    return joined(pairs if factor is None else ox.Mul(pairs, factor))


def _places(op: str, x: Tensor, axes: Any) -> list[int]:
    """The axes as numbers from 0 on."""
    rank = rank_of(x)
    if rank is None:
        raise InvalidArgumentError(
            f"{op} needs a tensor of known rank while a function is traced; got {x!r}. Give the "
            "number of dimensions in the input_signature, or call set_shape([None, ...])."
        )
    given = list(range(rank)) if axes is None else static_ints(tensor(axes))
    if given is None:
        raise InvalidArgumentError(f"{op}: the axes must be known while tracing.", op=op)
    found = [a + rank if a < 0 else a for a in given]
    if not found or len(set(found)) < len(found) or not all(0 <= a < rank for a in found):
        raise InvalidArgumentError(
            f"{op}: expected one or more different axes in [{-rank}, {rank}); got {given}.", op=op
        )
    return found


def _factor(
    what: str, norm: str | None, lengths: Sequence[Length], like: Tensor, *, inverse: bool
) -> Tensor | None:
    """What a result is multiplied by besides what ``"backward"`` does; None: nothing."""
    if norm in (None, "backward"):
        return None
    if norm not in ("ortho", "forward"):
        raise InvalidArgumentError(
            f"{what} takes the norm 'backward', 'ortho' or 'forward', or None; got {norm!r}."
        )
    if all(isinstance(n, int) for n in lengths):
        total = float(math.prod(n for n in lengths if isinstance(n, int)))
        total = math.sqrt(total) if norm == "ortho" else total
        return scalar_like(total if inverse else 1 / total, like)
    found = scalar_like(1, like)
    for length in lengths:
        found = ox.Mul(found, cast_to(ox.Squeeze(dft.as_length(length)), like.dtype))
    found = ox.Sqrt(found) if norm == "ortho" else found
    return found if inverse else ox.Reciprocal(found)


def _own_lengths(x: Tensor, places: Sequence[int]) -> _Lengths:
    """The sizes of axes, as numbers where they are known."""
    shape = raw_shape(x)
    assert shape is not None
    found: _Lengths = []
    for place in places:
        size = shape[place]
        found.append(size if isinstance(size, int) else dimension(x, place))
    return found


def _given_lengths(
    op: str, x: Tensor, fft_length: Any, places: Sequence[int], *, half: bool = False
) -> _Lengths:
    """The lengths of transforms along axes; ``half``: along the last one frequencies are given."""
    if fft_length is None:
        found = _own_lengths(x, places)
        last = found[-1]
        if half and isinstance(last, int):
            found[-1] = max(0, 2 * (last - 1))
        elif half:
            assert isinstance(last, Tensor)
            found[-1] = ox.Mul(ox.Sub(last, int64_constant([1])), int64_constant([2]))
    else:
        found = _lengths(op, fft_length, len(places))
    for length in found:
        if isinstance(length, int) and length < 1 and 0 not in (raw_shape(x) or ()):
            raise InvalidArgumentError(
                f"{op}: fft_length must be 1 or more along each axis; got {found}. Give fft_length "
                "if it does not follow from the input.",
                op=op,
            )
    return found


def _lengths(op: str, given: Any, count: int) -> _Lengths:
    if isinstance(given, int):
        raise TypeError(
            f"{op} takes fft_length as a list of {count}, one for each axis; got {given}."
        )
    vector = tensor(given)
    if not vector.dtype.is_integer:
        raise TypeError(f"fft_length of {op} must be integers; got {vector!r}.")
    shape = raw_shape(vector)
    if shape is not None and (len(shape) != 1 or shape[0] not in (None, count)):
        raise InvalidArgumentError(
            f"fft_length must have shape [{count}]; {op} got one of shape {vector.shape}.", op=op
        )
    known = static_ints(vector)
    if known is not None:
        for i, length in enumerate(known):
            if length < 0:
                raise InvalidArgumentError(f"fft_length[{i}] must >= 0, but got: {length}", op=op)
        return list(known)
    sizes = ox.Split(as_int64(vector), int64_constant([1] * count), axis=0, outputs=count)
    return list(sizes)


def _through(
    pairs: Tensor, places: Sequence[int], lengths: Sequence[Length], *, inverse: bool
) -> Tensor:
    """Transforms along several axes of complex numbers."""
    for place, length in reversed(list(zip(places, lengths, strict=True))):
        if isinstance(length, int) and length == 0:
            continue
        turned = _to_last(pairs, place, extra=1)
        pairs = _from_last(dft.transform(turned, length, inverse=inverse), place)
    return pairs


def _back(pairs: Tensor, places: Sequence[int], lengths: Sequence[Length]) -> Tensor:
    """Real numbers of the pairs of a transform."""
    *others, last = lengths
    for place, length in zip(places[:-1], others, strict=True):
        pairs = _fitted(pairs, place, length)
    half = last // 2 + 1 if isinstance(last, int) else dft.half_of(last)
    pairs = _fitted(pairs, places[-1], half)
    pairs = _through(pairs, places[:-1], others, inverse=True)
    found = dft.transform_to_real(_to_last(pairs, places[-1], extra=1), last)
    return _from_last(found, places[-1], extra=0)


def _fitted(x: Tensor, place: int, length: Length) -> Tensor:
    """An axis cut, or filled up with zeros, to a length."""
    shape = raw_shape(x)
    assert shape is not None
    size = shape[place]
    axis, zero = int64_constant([place]), int64_constant([0])
    longer, shorter = True, True
    if isinstance(size, int) and isinstance(length, int):
        longer, shorter = size > length, size < length
    if longer:
        x = ox.Slice(x, zero, dft.as_length(length), axis)
    if shorter:
        missing = ox.Sub(dft.as_length(length), dimension(x, place))
        x = ox.Pad(x, ox.Concat(zero, missing, axis=0), None, axis)
    if isinstance(x, SymbolicTensor) and isinstance(length, int):
        x.set_shape([*shape[:place], length, *shape[place + 1 :]])
    return x


def _to_last(x: Tensor, place: int, *, extra: int) -> Tensor:
    """An axis moved to the end, before ``extra`` others."""
    rank = rank_of(x)
    assert rank is not None
    last = rank - extra
    if place == last - 1:
        return x
    order = [*(i for i in range(last) if i != place), place, *range(last, rank)]
    return ox.Transpose(x, perm=order)


def _from_last(x: Tensor, place: int, *, extra: int = 1) -> Tensor:
    """The last axis moved to its place."""
    rank = rank_of(x)
    assert rank is not None
    last = rank - extra
    if place == last - 1:
        return x
    order = [*range(place), last - 1, *range(place, last - 1), *range(last, rank)]
    return ox.Transpose(x, perm=order)
