"""Conversion of a caller's value to an array of the declared dtype and shape.

Owns the rule of conversion: Python numbers, strings and lists of them (JSON too) have no dtype, and
take the declared one if they fit it; an array has a dtype, and it must be the declared one, as in
TensorFlow. Must not know of signatures. The one decision: nothing that loses information happens
silently, neither 2.7 to 2 nor 300 to an 8-bit 44.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from tfx.bundle.dtypes import BY_NAME, from_numpy
from tfx.bundle.python_values import TensorInfo
from tfx.core import dtypes
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.loaders.messages import describe, describe_array, describe_type

_PYTHON = (bool, int, float, complex, str, bytes)
# Kind of the array that NumPy makes of Python values -> the dtypes it may become: bool, integers,
# floating and complex ones.
_ACCEPTED = {"b": "b", "i": "ifc", "u": "ifc", "f": "fc", "c": "c"}


def to_array(value: object, wanted: TensorInfo, what: str) -> npt.NDArray[Any]:
    """Convert and check one value.

    Args:
        value: An array, anything with ``__array__`` or DLPack, or Python numbers and strings in
            lists and tuples.
        wanted: What it must be.
        what: The argument, for messages.

    Returns:
        The array; it is the given one where that fits.

    Raises:
        DTypeMismatchError: An array of another dtype.
        InvalidArgumentError: Another shape, or values that do not fit the dtype.
    """
    array = _literal(value, wanted, what) if _is_literal(value) else _given(value, wanted, what)
    if not fits(array.shape, wanted):
        raise InvalidArgumentError(
            f"{what} is {describe_array(array)}, expected {describe(wanted)}; "
            f"{_shape_hint(array.shape, wanted)}"
        )
    return array


def fits(shape: tuple[int, ...], wanted: TensorInfo) -> bool:
    """Return whether a value of this shape fits the wanted one."""
    if wanted.shape is None:
        return True
    return len(shape) == len(wanted.shape) and all(
        size == dim for size, dim in zip(shape, wanted.shape, strict=True) if isinstance(dim, int)
    )


def _shape_hint(shape: tuple[int, ...], wanted: TensorInfo) -> str:
    dims = wanted.shape or ()
    if len(shape) + 1 == len(dims) and fits((1, *shape), wanted):
        return "add the first dimension: value[None]"
    if len(shape) != len(dims):
        return f"it has {len(shape)} dimensions instead of {len(dims)}"
    axes = [i for i, dim in enumerate(dims) if isinstance(dim, int) and dim != shape[i]]
    return f"dimension {axes[0]} is {shape[axes[0]]} instead of {dims[axes[0]]}"


def _is_literal(value: object) -> bool:
    """Distinguish Python values from arrays by the first element: NumPy's numbers have a dtype."""
    while isinstance(value, (list, tuple)):
        if not value:
            return True
        value = value[0]
    return value is None or (isinstance(value, _PYTHON) and not isinstance(value, np.generic))


def _given(value: object, wanted: TensorInfo, what: str) -> npt.NDArray[Any]:
    try:
        takes_array = hasattr(value, "__array__") or not hasattr(value, "__dlpack__")
        array = np.asarray(value) if takes_array else np.from_dlpack(value)  # type: ignore[arg-type]
    except Exception as error:  # any object may define __array__
        raise InvalidArgumentError(
            f"{what} is a {type(value).__name__} that NumPy cannot read ({error}), expected "
            f"{describe(wanted)} as an array or as numbers in lists"
        ) from error
    row = from_numpy(array.dtype)
    target = BY_NAME[wanted.dtype]
    if row is not None and row.name == "string" and target.name == "string":
        return _texts(array, what)
    if array.dtype == np.dtype(f"V{target.numpy.itemsize}") and target.numpy.kind == "V":
        # bfloat16 and the like as NumPy's own file format gives them back: bytes without a type.
        return array.view(target.numpy)
    if row is not target:
        _refuse_dtype(value, array, wanted, what)
    return array


def _refuse_dtype(
    value: object, array: npt.NDArray[Any], wanted: TensorInfo, what: str
) -> NoReturn:
    if array.dtype == object:
        came = f"an object of type {type(value).__name__} that is no array of numbers"
    else:
        came = describe_array(array)
    hint = "give numbers or an array"
    if array.dtype.kind in "biuf" and wanted.dtype not in ("string", "bool"):
        hint = f"convert it with .astype({wanted.dtype!r})"
    raise DTypeMismatchError(f"{what} is {came}, expected {describe(wanted)}; {hint}")


def _literal(value: object, wanted: TensorInfo, what: str) -> npt.NDArray[Any]:
    target = dtypes.as_dtype(wanted.dtype)
    if target is dtypes.string:
        return _texts(_natural(value, wanted, what, object), what, wanted)
    natural = _natural(value, wanted, what, None)
    if not natural.size:
        return natural.astype(target.numpy_dtype)
    if natural.dtype == object:
        natural = _big_integers(natural, value, wanted, what)
    if _group(target) not in _ACCEPTED.get(natural.dtype.kind, ""):
        _refuse_literal(value, wanted, what)
    if target.is_integer:
        _check_range(natural, target, wanted, what)
    with np.errstate(over="ignore"):
        array = natural.astype(target.numpy_dtype)
    if target.is_floating and np.isfinite(natural).all() and not np.isfinite(array).all():
        raise InvalidArgumentError(
            f"{what} has numbers beyond the greatest that {wanted.dtype} holds, {target.max}; "
            f"expected {describe(wanted)}"
        )
    return array


def _group(dtype: dtypes.DType) -> str:
    if dtype.is_bool or dtype.is_complex:
        return "b" if dtype.is_bool else "c"
    return "i" if dtype.is_integer else "f"


def _check_range(
    array: npt.NDArray[Any], dtype: dtypes.DType, wanted: TensorInfo, what: str
) -> None:
    low, high = int(dtype.min), int(dtype.max)
    if int(array.min()) < low or int(array.max()) > high:
        bad = next(item for item in array.ravel().tolist() if not low <= item <= high)
        raise InvalidArgumentError(
            f"{what} has the number {bad}, expected {describe(wanted)}, which holds {low} to {high}"
        )


def _natural(
    value: object, wanted: TensorInfo, what: str, dtype: type[Any] | None
) -> npt.NDArray[Any]:
    try:
        array = np.array(value, dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidArgumentError(
            f"{what} is {_short(value)}, expected {describe(wanted)}; lists beside each other must "
            "have equal lengths"
        ) from error
    if dtype is object and any(isinstance(item, (list, tuple)) for item in array.ravel()):
        raise InvalidArgumentError(
            f"{what} is {_short(value)}, expected {describe(wanted)}; lists beside each other must "
            "have equal lengths"
        )
    return array


def _big_integers(
    array: npt.NDArray[Any], value: object, wanted: TensorInfo, what: str
) -> npt.NDArray[Any]:
    """Integers beyond 64 bits come as objects; so does None, which is refused."""
    items = array.ravel().tolist()
    if not all(type(item) is int for item in items):
        _refuse_literal(value, wanted, what)
    if dtypes.as_dtype(wanted.dtype).is_integer:
        raise InvalidArgumentError(
            f"{what} has the number {max(items, key=abs)}, which {describe(wanted)} does not hold"
        )
    return array.astype(np.float64)


def _texts(
    array: npt.NDArray[Any], what: str, wanted: TensorInfo | None = None
) -> npt.NDArray[Any]:
    if array.dtype == object:
        for item in array.ravel().tolist():
            if not isinstance(item, (str, bytes)):
                shape = wanted.shape if wanted else None
                raise InvalidArgumentError(
                    f"{what} has the element {_short(item)} of type {type(item).__name__}, "
                    f"expected str or bytes for {describe_type('string', shape)}"
                )
        return array
    return array.astype(object)


def _refuse_literal(value: object, wanted: TensorInfo, what: str) -> NoReturn:
    raise InvalidArgumentError(
        f"{what} is {_short(value)}, expected {describe(wanted)}; Python values are converted only "
        "where nothing is lost"
    )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
