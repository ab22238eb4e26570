"""``assert_close``: equality of structures of arrays up to rounding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tfx.core import dtypes, nest

# By what a short computation in the dtype may reasonably be off.
_TOLERANCES = {
    dtypes.float64: (1e-7, 1e-9),
    dtypes.float32: (1e-5, 1e-6),
    dtypes.float16: (2e-3, 1e-3),
    dtypes.bfloat16: (2e-2, 1e-2),
    dtypes.complex128: (1e-7, 1e-9),
    dtypes.complex64: (1e-5, 1e-6),
}


def assert_close(
    actual: Any, expected: Any, *, rtol: float | None = None, atol: float | None = None
) -> None:
    """Assert that two structures hold nearly the same numbers.

    Shapes must agree; dtypes need not. NaN equals NaN. Integers, bools and strings must be equal.

    Args:
        actual: Tensor, variable, array, number, list of numbers or a structure of these.
        expected: The same structure.
        rtol: Allowed difference relative to the expected number; None: that of the coarser dtype
            of the two: 1e-7 for float64, 1e-5 for float32, 2e-3 for float16, 2e-2 for bfloat16;
            for complex numbers that of their parts.
        atol: Allowed absolute difference; None: 1e-9, 1e-6, 1e-3 and 1e-2.

    Raises:
        TypeError: the structures are of different classes.
        AssertionError: naming the leaf, the largest difference and where it is.

    Example:
        >>> import tfx as tf
        >>> tf.testing.assert_close(tf.constant([0.1, 0.2]) * 3.0, [0.3, 0.6])
    """
    for path, a, b in _pairs("value", actual, expected):
        _compare(path, a, b, rtol, atol)


def _pairs(path: str, actual: Any, expected: Any) -> Iterator[tuple[str, Any, Any]]:
    """Leaves that belong together. A list of numbers is a leaf where the other side is one."""
    if not nest.is_nested(actual) or _is_numbers(actual):
        yield path, actual, expected
        return
    if isinstance(actual, list | tuple) and isinstance(expected, list | tuple):
        a, b = dict(enumerate(actual)), dict(enumerate(expected))
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        a, b = dict(actual), dict(expected)
    else:
        nest.assert_same_structure(actual, expected)
        a, b = (dict(enumerate(nest.flatten(x))) for x in (actual, expected))
    if a.keys() != b.keys():
        raise AssertionError(f"{path}: holds {list(a)}, expected {list(b)}")
    for key, item in a.items():
        yield from _pairs(f"{path}[{key!r}]", item, b[key])


def joined(x: Any) -> Any:
    """The structure with each list of numbers (nested ones too) as one array."""
    if isinstance(x, list | tuple):
        if x and _is_numbers(x):
            return np.asarray(x)
        return type(x)(map(joined, x)) if type(x) in (list, tuple) else x
    return {key: joined(value) for key, value in x.items()} if type(x) is dict else x


def _is_numbers(x: Any) -> bool:
    if isinstance(x, list | tuple):
        return all(map(_is_numbers, x))
    return isinstance(x, bool | int | float | complex)


def _compare(
    where: str, actual: Any, expected: Any, rtol: float | None, atol: float | None
) -> None:
    a, b = np.asarray(actual), np.asarray(expected)
    if a.shape != b.shape:
        raise AssertionError(f"{where}: shape {a.shape}, expected {b.shape}")
    defaults = [_TOLERANCES[d] for d in (_dtype(a), _dtype(b)) if d in _TOLERANCES]
    if not defaults:
        if not np.array_equal(a, b):
            raise AssertionError(f"{where}: {a!r} is not equal to {b!r}")
        return
    coarsest = max(defaults)
    relative = coarsest[0] if rtol is None else rtol
    absolute = coarsest[1] if atol is None else atol
    wide = np.complex128 if np.iscomplexobj(a) or np.iscomplexobj(b) else np.float64
    x, y = np.atleast_1d(a.astype(wide)), np.atleast_1d(b.astype(wide))
    close = np.isclose(x, y, rtol=relative, atol=absolute, equal_nan=True)
    if close.all():
        return
    with np.errstate(invalid="ignore"):
        difference = np.where(close, 0.0, np.nan_to_num(np.abs(x - y), nan=np.inf))
    worst = np.unravel_index(int(np.argmax(difference)), x.shape)
    raise AssertionError(
        f"{where}: {int((~close).sum())} of {x.size} elements differ by more than rtol="
        f"{relative:g}, atol={absolute:g}; the worst is at {tuple(map(int, worst))}: "
        f"{x[worst]!r}, expected {y[worst]!r}"
    )


def _dtype(array: np.ndarray[Any, Any]) -> dtypes.DType:
    return dtypes.as_dtype(array.dtype)
