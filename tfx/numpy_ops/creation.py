"""NumPy's functions that make arrays, and random numbers in its style."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.framework.apply import apply
from tfx.framework.tensor import Tensor
from tfx.numpy_ops.promotion import array, default_float, floating, named_dtype, shared
from tfx.ops.array import creation, ranges, tile
from tfx.ops.array.reshape import broadcast_to, reshape
from tfx.ops.array.shape import shape as shape_
from tfx.ops.array.transpose import reverse
from tfx.ops.common.arguments import as_int64, cast_to, scalar_like
from tfx.ops.linalg import diagonals
from tfx.ops.math.arithmetic import pow as pow_
from tfx.ops.math.elementwise import log
from tfx.ops.random import random
from tfx.ops.random.generator import set_seed


def _kind(dtype: Any) -> DType:
    return default_float() if dtype is None else named_dtype(dtype)


def asarray(a: Any, dtype: Any = None) -> Tensor:
    """A tensor with the dtype that NumPy gives; see ``array``."""
    return array(a, dtype)


asanyarray = ascontiguousarray = copy = asarray


def zeros(shape: Any, dtype: Any = None) -> Tensor:
    """Zeros; float64 by default."""
    return creation.zeros(shape, _kind(dtype))


def ones(shape: Any, dtype: Any = None) -> Tensor:
    """Ones; float64 by default."""
    return creation.ones(shape, _kind(dtype))


empty = zeros


def zeros_like(a: Any, dtype: Any = None) -> Tensor:
    """Zeros of another array's shape, and of its dtype by default."""
    x = array(a)
    return creation.zeros_like(x, x.dtype if dtype is None else named_dtype(dtype))


def ones_like(a: Any, dtype: Any = None) -> Tensor:
    """Ones of another array's shape, and of its dtype by default."""
    x = array(a)
    return creation.ones_like(x, x.dtype if dtype is None else named_dtype(dtype))


empty_like = zeros_like


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    """An array of one value, which is repeated to the shape."""
    sizes = (shape,) if isinstance(shape, int) else shape
    return broadcast_to(array(fill_value, dtype), sizes)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
) -> Tensor:
    """One value in another array's shape, and in its dtype by default.

    Args:
        a: The other array.
        fill_value: The value.
        dtype: Element type.
        order: ``"K"``: arrays have one order.
        subok: True: arrays have one class.
        shape: None; another shape is for ``full``.

    Raises:
        ValueError: another order, class or shape.
    """
    for name, usual, given in (("order", "K", order), ("subok", True, subok)):
        if given != usual:
            raise ValueError(f"{name} must be {usual!r}; got {given!r}.")
    if shape is not None:
        raise ValueError(f"Overriding the shape is not supported: use full({shape!r}, ...).")
    x = array(a)
    return broadcast_to(array(fill_value, dtype or x.dtype), shape_(x))


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Tensor:  # noqa: N803
    """Ones on the k-th diagonal, else zeros."""
    return array(np.eye(N, M, k, _kind(dtype).as_numpy_dtype))


def identity(n: int, dtype: Any = None) -> Tensor:
    """Ones on the diagonal, else zeros."""
    return eye(n, dtype=dtype)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Tensor:
    """Numbers from ``start`` to below ``stop``.

    Example:
        >>> import tfx.experimental.numpy as tnp
        >>> tnp.arange(3).numpy()
        array([0, 1, 2])
    """
    low, high = (0, start) if stop is None else (start, stop)
    kinds = shared(low, high, step)
    wanted = None if dtype is None else named_dtype(dtype)
    if wanted is not None and not wanted.is_bool:
        kinds = [cast_to(x, wanted) for x in kinds]
    first, last, by = kinds
    found = ranges.range(first, last, by)
    return found if wanted is None else cast_to(found, wanted)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = float,
    axis: int = 0,
) -> Any:
    """Numbers at equal distances.

    Args:
        start: The first.
        stop: The last, or the one behind it without ``endpoint``.
        num: How many.
        endpoint: Whether ``stop`` is among them.
        retstep: Also give the distance.
        dtype: Dtype of the result; ``float``: the default one.
        axis: The axis of the result along which they lie.

    Example:
        >>> import tfx.experimental.numpy as tnp
        >>> tnp.linspace(0, 1, 3).numpy()
        array([0. , 0.5, 1. ])
    """
    low, high = [floating(x) for x in shared(start, stop)]
    parts = (num - 1) if endpoint else num
    step = (high - low) / scalar_like(max(parts, 1), low)
    last = high if endpoint else high - step
    found = ranges.linspace(low, last, num, axis=axis)
    found = cast_to(found, named_dtype(dtype))
    return (found, step) if retstep else found


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Tensor:
    """Powers of ``base`` whose exponents are at equal distances."""
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    found = pow_(scalar_like(base, exponents), exponents)
    return found if dtype is None else cast_to(found, named_dtype(dtype))


def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Tensor:
    """Numbers with equal ratios; of positive ends."""
    low, high = [floating(x) for x in shared(start, stop)]
    found = logspace(log(low), log(high), num, endpoint, base=float(np.e), axis=axis)
    return found if dtype is None else cast_to(found, named_dtype(dtype))


def diag(v: Any, k: int = 0) -> Tensor:
    """The k-th diagonal of a matrix, or a matrix with a vector on it."""
    x = array(v)
    if x.shape.rank == 1:
        return diagonals.diag(x, k=k)
    if x.shape.rank != 2:
        raise ValueError(f"diag: Input must be 1- or 2-d; got shape {x.shape}.")
    return diagonals.diag_part(x, k=k)


def diagflat(v: Any, k: int = 0) -> Tensor:
    """A matrix with all elements on its k-th diagonal."""
    return diagonals.diag(reshape(array(v), [-1]), k=k)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Tensor:  # noqa: N803
    """Ones at and below the k-th diagonal, else zeros."""
    return array(np.tri(N, M, k, _kind(dtype).as_numpy_dtype))


def _triangle(m: Any, upper: bool, k: Any) -> Tensor:
    return apply("Trilu", (array(m), as_int64(k)), {"upper": int(upper)})


def tril(m: Any, k: int = 0) -> Tensor:
    """Return the elements at and below the k-th diagonal, else zeros."""
    return _triangle(m, False, k)


def triu(m: Any, k: int = 0) -> Tensor:
    """Return the elements at and above the k-th diagonal, else zeros."""
    return _triangle(m, True, k)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:  # noqa: N803
    """The powers of numbers as columns, the highest first."""
    v = array(x)
    if v.shape.rank not in (1, None):
        raise ValueError(f"vander: x must be a vector; got shape {v.shape}.")
    count = N if N is not None else v.shape[0]
    if count is None:
        raise ValueError("vander: give N for a vector of unknown length.")
    powers = pow_(v[:, None], cast_to(array(np.arange(count)), v.dtype))
    return powers if increasing else reverse(powers, [1])


def meshgrid(*xi: Any, sparse: bool = False, copy: bool = True, indexing: str = "xy") -> Any:
    """The coordinates of a grid, one array for each axis."""
    if sparse:
        raise ValueError("meshgrid: sparse=True is not available; use ix_.")
    return tile.meshgrid(*[array(x) for x in xi], indexing=indexing)


def ix_(*args: Any) -> list[Tensor]:
    """Vectors of indices as arrays that span a grid."""
    found = []
    for i, x in enumerate(args):
        shape = [1] * len(args)
        shape[i] = -1
        found.append(reshape(array(x), shape))
    return found


def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """The indices of the main diagonal."""
    return (arange(n),) * ndim


def seed(s: int) -> None:
    """Set the seed of all random numbers; see ``tfx.random.set_seed``."""
    set_seed(s)


def _sizes(size: Any) -> Any:
    return () if size is None else (size,) if isinstance(size, int) else size


def randn(*args: int) -> Tensor:
    """Normally distributed numbers; the sizes are arguments."""
    return standard_normal(args)


def standard_normal(size: Any = None) -> Tensor:
    """Normally distributed numbers."""
    return random.normal(_sizes(size), dtype=default_float())


def uniform(low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Tensor:
    """Numbers of ``[low, high)``."""
    a, b = [cast_to(array(x), default_float()) for x in (low, high)]
    sizes = shape_(a + b) if size is None else _sizes(size)
    return a + (b - a) * random.uniform(sizes, dtype=default_float())


def rand(*size: int) -> Tensor:
    """Numbers of ``[0, 1)``; the sizes are arguments."""
    return uniform(size=size)


def random_sample(size: Any = None) -> Tensor:
    """Numbers of ``[0, 1)``."""
    return uniform(size=_sizes(size))


def randint(low: int, high: int | None = None, size: Any = None, dtype: Any = int) -> Tensor:
    """Integers of ``[low, high)``, or of ``[0, low)``."""
    first, last = (0, low) if high is None else (low, high)
    kind = named_dtype(dtype)
    inner = kind if kind in (dtypes.int32, dtypes.int64) else dtypes.int64
    return cast_to(random.uniform(_sizes(size), first, last, inner), kind)


def poisson(lam: Any = 1.0, size: Any = None) -> Tensor:
    """Counts whose mean is ``lam``, as int64."""
    rate = cast_to(array(lam), default_float())
    sizes = () if size is None else _sizes(size)
    return cast_to(random.poisson(sizes, rate), dtypes.int64)
