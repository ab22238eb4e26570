"""NumPy's functions that move elements, and products of arrays."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.tensor import Tensor
from tfx.numpy_ops.elementwise import conjugate, truth
from tfx.numpy_ops.promotion import array, named_dtype, shared
from tfx.ops.array import concat, gather, where
from tfx.ops.array import pad as pad_ops
from tfx.ops.array import reshape as reshape_ops
from tfx.ops.array import shape as shape_ops
from tfx.ops.array import tile as tile_ops
from tfx.ops.array import transpose as transpose_ops
from tfx.ops.common.arguments import cast_to, required_int, scalar_like
from tfx.ops.common.broadcast_shapes import broadcast_dynamic_shape
from tfx.ops.linalg import einsum as einsum_
from tfx.ops.linalg.diagonals import diag_part
from tfx.ops.linalg.matmul import matmul as matmul_
from tfx.ops.math.clip import clip_by_value
from tfx.ops.math.reduction import reduce_sum


def shape(a: Any) -> tuple[Any, ...]:
    """The sizes of the axes."""
    return tuple(array(a).shape.as_list())


def ndim(a: Any) -> int:
    """The number of axes."""
    return len(array(a).shape)


def size(x: Any, axis: Any = None) -> Any:
    """The number of elements, or the size of an axis."""
    found = array(x).shape.as_list()
    if None in found:
        return shape_ops.size(array(x)) if axis is None else shape_ops.shape(array(x))[axis]
    return math.prod(found) if axis is None else found[axis]


def _rank(x: Tensor) -> int:
    return len(x.shape)


def reshape(a: Any, newshape: Any, order: str = "C") -> Tensor:
    """The same elements in another shape.

    Args:
        a: An array.
        newshape: Sizes, one of which may be -1.
        order: ``"C"``: the last axis changes first; ``"F"``: the first one.

    Raises:
        ValueError: another order.
    """
    sizes = [newshape] if isinstance(newshape, int) else newshape
    if order == "F":
        turned = reshape_ops.reshape(transpose_ops.transpose(array(a)), list(sizes)[::-1])
        return transpose_ops.transpose(turned)
    if order != "C":
        raise ValueError(f"reshape: Unsupported order argument {order!r}; expected 'C' or 'F'.")
    return reshape_ops.reshape(array(a), sizes)


def ravel(a: Any) -> Tensor:
    """Flatten to one axis."""
    return reshape_ops.reshape(array(a), [-1])


def flatten(a: Any, order: str = "C") -> Tensor:
    """Flatten to one axis.

    Args:
        a: The array.
        order: ``"C"`` or ``"K"``: the last axis first; ``"F"``: the first one first.

    Raises:
        ValueError: another order.
    """
    if order not in ("C", "F", "K", "A"):
        raise ValueError(f"order must be 'C', 'F', 'A' or 'K'; got {order!r}.")
    return ravel(transpose(a) if order == "F" else a)


def transpose(a: Any, axes: Any = None) -> Tensor:
    """The axes in another order, by default the reverse one."""
    return transpose_ops.transpose(array(a), axes)


def swapaxes(a: Any, axis1: int, axis2: int) -> Tensor:
    """Exchange two axes."""
    x = array(a)
    order = list(range(_rank(x)))
    axis1, axis2 = (_place(a, x, "axis of swapaxes") for a in (axis1, axis2))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return transpose_ops.transpose(x, order)


def _place(axis: Any, x: Tensor, what: str) -> int:
    """The place of an axis, counted from the front.

    Raises:
        InvalidArgumentError: there is no such axis.
    """
    at, rank = required_int(axis, what), _rank(x)
    if not -rank <= at < rank:
        raise InvalidArgumentError(
            f"Argument `axis` (received axis={at} as the {what}) is out of bounds for an input "
            f"of rank {rank}."
        )
    return at % rank


def _places(axes: Any, x: Tensor, what: str) -> list[int]:
    # As in TensorFlow, a scalar has one axis that can be moved: nowhere.
    if not _rank(x):
        return []
    several = axes if isinstance(axes, list | tuple) else [axes]
    return [_place(a, x, f"{what} of moveaxis") for a in several]


def moveaxis(a: Any, source: Any, destination: Any) -> Tensor:
    """Axes moved to other places; the others keep their order."""
    x = array(a)
    froms, tos = _places(source, x, "source"), _places(destination, x, "destination")
    if len(froms) != len(tos):
        raise ValueError("moveaxis: The lengths of source and destination must equal.")
    order = [i for i in range(_rank(x)) if i not in froms]
    for to, source_axis in sorted(zip(tos, froms, strict=True)):
        order.insert(to, source_axis)
    return transpose_ops.transpose(x, order)


def expand_dims(a: Any, axis: Any) -> Tensor:
    """A new axis of size 1."""
    return reshape_ops.expand_dims(array(a), axis)


def squeeze(a: Any, axis: Any = None) -> Tensor:
    """Remove axes of size 1."""
    return reshape_ops.squeeze(array(a), axis)


def broadcast_to(array: Any, shape: Any) -> Tensor:
    """Repeated to a larger shape."""
    return full_of(array, shape)


def full_of(value: Any, sizes: Any) -> Tensor:
    """See ``broadcast_to``."""
    return reshape_ops.broadcast_to(array(value), sizes)


def broadcast_arrays(*args: Any, **kwargs: Any) -> list[Tensor]:
    """Arrays repeated to the shape that they have together."""
    if kwargs.pop("subok", False) or kwargs:
        raise ValueError(f"broadcast_arrays takes no {sorted(kwargs) or ['subok']}.")
    tensors = [array(x) for x in args]
    if not tensors:
        return []
    total = shape_ops.shape(tensors[0])
    for x in tensors[1:]:
        total = broadcast_dynamic_shape(total, shape_ops.shape(x))
    return [reshape_ops.broadcast_to(x, total) for x in tensors]


def concatenate(arys: Sequence[Any], axis: Any = 0) -> Tensor:
    """Arrays one after the other along an axis; None: ravelled."""
    parts = shared(*arys)
    if axis is None:
        return concat.concat([ravel(x) for x in parts], 0)
    return concat.concat(parts, axis)


def append(arr: Any, values: Any, axis: Any = None) -> Tensor:
    """Concatenate two arrays."""
    return concatenate([arr, values], axis)


def stack(arrays: Any, axis: int = 0) -> Tensor:
    """Arrays beside each other along a new axis."""
    if hasattr(arrays, "shape"):
        return moveaxis(arrays, 0, axis) if axis else array(arrays)
    return concat.stack(shared(*arrays), axis)


def vstack(tup: Any) -> Tensor:
    """Rows, or arrays along their first axis, one after the other."""
    return concatenate([atleast_2d(x) for x in tup], 0)


def hstack(tup: Any) -> Tensor:
    """Arrays along their second axis (vectors: their first) one after the other."""
    parts = [atleast_1d(x) for x in tup]
    if not parts:
        raise ValueError("hstack: at least one array is needed.")
    return concatenate(parts, 0 if _rank(parts[0]) == 1 else 1)


def dstack(tup: Any) -> Tensor:
    """Arrays along their third axis one after the other."""
    return concatenate([atleast_3d(x) for x in tup], 2)


def _atleast(count: int, arys: tuple[Any, ...], places: dict[int, list[int]]) -> Any:
    found = []
    for a in arys:
        x = array(a)
        for place in places.get(_rank(x), []):
            x = reshape_ops.expand_dims(x, place)
        found.append(x)
    return found[0] if len(found) == 1 else found


def atleast_1d(*arys: Any) -> Any:
    """Arrays with at least one axis."""
    return _atleast(1, arys, {0: [0]})


def atleast_2d(*arys: Any) -> Any:
    """Arrays with at least two axes."""
    return _atleast(2, arys, {0: [0, 0], 1: [0]})


def atleast_3d(*arys: Any) -> Any:
    """Arrays with at least three axes."""
    return _atleast(3, arys, {0: [0, 0, 0], 1: [0, 2], 2: [2]})


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Parts of an array along an axis: so many equal ones, or cut at these indices."""
    x = array(ary)
    if isinstance(indices_or_sections, int):
        return list(concat.split(x, indices_or_sections, axis))
    length = x.shape[axis]
    if length is None:
        raise ValueError("split at indices needs an axis of known length.")
    edges = [0, *[int(i) for i in indices_or_sections], length]
    sizes = [b - a for a, b in itertools.pairwise(edges)]
    return list(concat.split(x, sizes, axis))


def vsplit(ary: Any, indices_or_sections: Any) -> list[Tensor]:
    """``split`` along the first axis."""
    return split(ary, indices_or_sections, 0)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Tensor]:
    """``split`` along the second axis (of a vector the first)."""
    return split(ary, indices_or_sections, 0 if ndim(ary) == 1 else 1)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Tensor]:
    """``split`` along the third axis."""
    return split(ary, indices_or_sections, 2)


def flip(m: Any, axis: Any = None) -> Tensor:
    """The order of elements reversed along axes; None: all."""
    x = array(m)
    if axis is None:
        axis = list(range(_rank(x)))
    several = isinstance(axis, list | tuple) or getattr(axis, "shape", ()) != ()
    return transpose_ops.reverse(x, axis if several else [axis])


def flipud(m: Any) -> Tensor:
    """Reversed along the first axis."""
    return flip(m, 0)


def fliplr(m: Any) -> Tensor:
    """Reversed along the second axis."""
    return flip(m, 1)


def roll(a: Any, shift: Any, axis: Any = None) -> Tensor:
    """Elements moved on, those at the end to the front; without an axis, as if ravelled."""
    x = array(a)
    if axis is None:
        return reshape_ops.reshape(transpose_ops.roll(ravel(x), shift, 0), shape_ops.shape(x))
    return transpose_ops.roll(x, shift, axis)


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Tensor:
    """Turned by 90 degrees ``k`` times, from the first axis to the second."""
    first, second = axes
    x = array(m)
    times = k % 4
    if times == 0:
        return x
    if times == 2:
        return flip(flip(x, first), second)
    if times == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second)


def repeat(a: Any, repeats: Any, axis: Any = None) -> Tensor:
    """Repeat each element."""
    return tile_ops.repeat(array(a), repeats, axis)


def tile(a: Any, reps: Any) -> Tensor:
    """The whole array several times along each axis."""
    x = array(a)
    times = [reps] if isinstance(reps, int) else list(reps)
    for _ in range(len(times) - _rank(x)):
        x = reshape_ops.expand_dims(x, 0)
    return tile_ops.tile(x, [1] * (_rank(x) - len(times)) + times)


def pad(array: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Tensor:
    """More elements around an array.

    Args:
        array: What to pad.
        pad_width: How many before and after each axis, ``[axes, 2]``.
        mode: ``"constant"``, ``"reflect"`` or ``"symmetric"``.
        **kwargs: ``constant_values``.

    Raises:
        ValueError: another mode.
    """
    if mode not in ("constant", "reflect", "symmetric"):
        raise ValueError(f"pad: Unsupported padding mode: {mode!r}.")
    return pad_ops.pad(asarray_(array), pad_width, mode, kwargs.get("constant_values", 0))


asarray_ = array


def take(a: Any, indices: Any, axis: Any = None, out: None = None, mode: str = "clip") -> Tensor:
    """Elements by index; those outside are clipped, or wrap around."""
    x, at = (ravel(a), 0) if axis is None else (array(a), axis)
    index = array(indices)
    count = cast_to(shape_ops.shape(x)[at], index.dtype)
    if mode == "clip":
        index = clip_by_value(index, scalar_like(0, index), count - 1)
    elif mode == "wrap":
        index = index % count
    else:
        raise ValueError(f"take: mode must be 'clip' or 'wrap'; got {mode!r}.")
    return gather.gather(x, index, axis=at)


def take_along_axis(arr: Any, indices: Any, axis: Any) -> Tensor:
    """Elements along an axis, by an index for each; what ``argsort`` gives fits.

    Example:
        >>> import tfx.experimental.numpy as tnp
        >>> tnp.take_along_axis([[3, 1]], [[1, 0]], 1).numpy()
        array([[1, 3]])
    """
    x, index = (ravel(arr), ravel(indices)) if axis is None else (array(arr), array(indices))
    at = 0 if axis is None else _place(axis, x, "axis of take_along_axis")
    shared_shape = [
        max(a or 1, b or 1) if i != at else None
        for i, (a, b) in enumerate(zip(x.shape.as_list(), index.shape.as_list(), strict=True))
    ]
    wide = [x.shape[i] if s is None else s for i, s in enumerate(shared_shape)]
    many = [index.shape[i] if s is None else s for i, s in enumerate(shared_shape)]
    if None not in wide and None not in many:
        x, index = reshape_ops.broadcast_to(x, wide), reshape_ops.broadcast_to(index, many)
    return ox.GatherElements(x, index, axis=at)


def compress(condition: Any, a: Any, axis: Any = None) -> Tensor:
    """The slices along an axis for which the condition holds."""
    x, at = (ravel(a), 0) if axis is None else (array(a), axis)
    wanted = truth(condition)
    return ox.Compress(x, wanted, axis=_place(at, x, "axis of compress"))


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Tensor:
    """Elements of the choice whose condition holds first, else the default."""
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(
            f"select: as many conditions as choices, at least one; got {len(condlist)} and "
            f"{len(choicelist)}."
        )
    *choices, found = shared(*choicelist, default)
    for condition, choice in zip(condlist[::-1], choices[::-1], strict=True):
        found = where.where(truth(condition), choice, found)
    return found


def diff(a: Any, n: int = 1, axis: int = -1) -> Tensor:
    """Differences of neighbours, n times."""
    if n < 0:
        raise ValueError(f"diff: n must be 0 or more; got {n}.")
    x = array(a)
    at = _place(axis, x, "axis of diff")
    for _ in range(n):
        front: list[Any] = [slice(None)] * at
        later, earlier = x[(*front, slice(1, None))], x[(*front, slice(None, -1))]
        x = masking_xor(later, earlier) if x.dtype.is_bool else later - earlier
    return x


def masking_xor(a: Tensor, b: Tensor) -> Tensor:
    """Return whether booleans differ."""
    return ox.Xor(a, b)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """A diagonal of two axes, as the last axis."""
    x = array(a)
    if _rank(x) < 2:
        raise InvalidArgumentError(f"diagonal: at least two axes are needed; got shape {x.shape}.")
    return diag_part(moveaxis(x, (axis1, axis2), (-2, -1)), k=offset)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    """The sum of a diagonal."""
    found = diagonal(a, offset, axis1, axis2)
    if dtype is not None:
        found = cast_to(found, named_dtype(dtype))
    return reduce_sum(found, -1)


def matmul(x1: Any, x2: Any) -> Tensor:
    """The product of matrices, or of stacks of them; vectors are rows or columns."""
    a, b = shared(x1, x2)
    if not _rank(a) or not _rank(b):
        raise ValueError("matmul: scalars are not allowed; use multiply.")
    if _rank(a) == 1 and _rank(b) == 1:
        return reduce_sum(a * b)
    if _rank(a) == 1:
        return reshape_ops.squeeze(matmul_(a[None, :], b), [-2])
    if _rank(b) == 1:
        return reshape_ops.squeeze(matmul_(a, b[:, None]), [-1])
    return matmul_(a, b)


def dot(a: Any, b: Any) -> Tensor:
    """The product over the last axis of one and the last but one of the other."""
    x, y = shared(a, b)
    if not _rank(x) or not _rank(y):
        return x * y
    return einsum_.tensordot(x, y, [[-1 % _rank(x)], [max(_rank(y) - 2, 0)]])


def inner(a: Any, b: Any) -> Tensor:
    """The product over the last axes of both."""
    x, y = shared(a, b)
    if not _rank(x) or not _rank(y):
        return x * y
    return einsum_.tensordot(x, y, [[_rank(x) - 1], [_rank(y) - 1]])


def vdot(a: Any, b: Any) -> Tensor:
    """The sum of products of all elements, of which the first are conjugated."""
    x, y = shared(ravel(a), ravel(b))
    return reduce_sum(conjugate(x) * y)


def outer(a: Any, b: Any) -> Tensor:
    """Return all products of elements of two vectors."""
    x, y = shared(ravel(a), ravel(b))
    return x[:, None] * y[None, :]


def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """Products summed over several axes."""
    x, y = shared(a, b)
    return einsum_.tensordot(x, y, axes)


def einsum(subscripts: str, *operands: Any, **kwargs: Any) -> Tensor:
    """Products summed as the subscripts say."""
    if kwargs.pop("casting", "safe") != "safe" or set(kwargs) - {"optimize"}:
        raise ValueError(f"einsum takes optimize alone; got {sorted(kwargs)}.")
    return einsum_.einsum(subscripts, *shared(*operands))


def kron(a: Any, b: Any) -> Tensor:
    """Return all products of elements of two arrays, as blocks of one array."""
    x, y = shared(a, b)
    rank = max(_rank(x), _rank(y))
    for _ in range(rank - _rank(x)):
        x = reshape_ops.expand_dims(x, 0)
    for _ in range(rank - _rank(y)):
        y = reshape_ops.expand_dims(y, 0)
    for i in range(rank):
        x, y = reshape_ops.expand_dims(x, 2 * i + 1), reshape_ops.expand_dims(y, 2 * i)
    total = shape_ops.shape(x * y)
    sizes = reshape_ops.reshape(total, [-1, 2])
    return reshape_ops.reshape(x * y, sizes[:, 0] * sizes[:, 1])


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None
) -> Any:
    """The cross product of vectors of two or three elements along an axis.

    The third element of a vector of two is 0; of two such vectors only the third is returned.
    """
    first, second, third = (axis,) * 3 if axis is not None else (axisa, axisb, axisc)
    x, y = shared(moveaxis(a, first, -1), moveaxis(b, second, -1))
    counts = [t.shape[-1] if _rank(t) else None for t in (x, y)]
    if not {2, 3}.issuperset(counts):
        raise ValueError(f"cross: vectors must have 2 or 3 elements; got {x.shape} and {y.shape}.")
    a1, a2, *more = concat.unstack(x, counts[0], -1)
    b1, b2, *others = concat.unstack(y, counts[1], -1)
    if not more and not others:
        return a1 * b2 - a2 * b1
    (a3,), (b3,) = more or [0 * a1], others or [0 * b1]
    found = concat.stack([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1], -1)
    return moveaxis(found, -1, third)


def polyval(p: Any, x: Any) -> Tensor:
    """A polynomial at numbers; the coefficient of the highest power is the first."""
    coefficients, at = shared(p, x)
    if not _rank(coefficients):
        coefficients = coefficients[None]
    found = 0 * at
    count = coefficients.shape[0]
    if count is None:
        raise ValueError("polyval: the number of coefficients must be known.")
    for i in range(count):
        found = found * at + coefficients[i]
    return found


newaxis = np.newaxis
