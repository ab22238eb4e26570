"""NumPy's treatment of arguments: their dtypes, the dtype they share, and arrays of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.ops.common.arguments import cast_to

_narrow = False


def prefer_float32(wanted: bool) -> None:
    """Set whether Python floats, and results from integers, are float32 instead of float64."""
    global _narrow
    _narrow = wanted


def default_float() -> DType:
    """The dtype of Python floats."""
    return dtypes.float32 if _narrow else dtypes.float64


def _numpy_kind(x: Any) -> Any:
    """Return an argument's dtype for NumPy's promotion rules, or a Python number."""
    if isinstance(x, Tensor | Variable):
        return np.dtype(x.dtype.as_numpy_dtype)
    if isinstance(x, DType):
        return np.dtype(x.as_numpy_dtype)
    if isinstance(x, bool | int | float | np.dtype | type):
        return x
    if isinstance(x, list | tuple) and _tensors(x):
        return np.result_type(*[_numpy_kind(y) for y in x])
    return np.asarray(x).dtype


def _tensors(x: Any) -> bool:
    """True if there is a tensor somewhere in nested lists."""
    if isinstance(x, list | tuple):
        return any(_tensors(y) for y in x)
    return isinstance(x, Tensor | Variable)


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that NumPy gives to an operation on arrays, numbers and dtypes.

    Example:
        >>> import tfx.experimental.numpy as tnp
        >>> tnp.result_type(tnp.float32, tnp.int32)
        tf.float64
    """
    found = dtypes.as_dtype(np.result_type(*[_numpy_kind(x) for x in arrays_and_dtypes]))
    return dtypes.float32 if _narrow and found is dtypes.float64 else found


def named_dtype(dtype: Any) -> DType:
    """A dtype that a program names, as NumPy reads it: ``int`` is int64, ``float`` is float64."""
    if dtype is int:
        return dtypes.int64
    return default_float() if dtype is float else dtypes.as_dtype(dtype)


def promote_types(type1: Any, type2: Any) -> DType:
    """The smallest dtype that both can be converted to; see ``result_type``."""
    return result_type(named_dtype(type1), named_dtype(type2))


def _of_numpy(x: Any) -> Any:
    """A dtype, or that of a tensor, as NumPy knows it; other things as they are."""
    found = x.dtype if isinstance(x, Tensor | Variable) else x
    return found.as_numpy_dtype if isinstance(found, DType) else found


def finfo(dtype: Any) -> Any:
    """Limits of a floating dtype, as NumPy gives them.

    Example:
        >>> import tfx.experimental.numpy as tnp
        >>> float(tnp.finfo(tnp.float16).max)
        65504.0
    """
    return np.finfo(_of_numpy(dtype))


def iinfo(dtype: Any) -> Any:
    """Limits of an integer dtype, as NumPy gives them.

    Example:
        >>> import tfx.experimental.numpy as tnp
        >>> tnp.iinfo(tnp.int8).max
        127
    """
    return np.iinfo(_of_numpy(dtype))


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """True if a dtype is of a kind.

    Example:
        >>> import tfx.experimental.numpy as tnp
        >>> tnp.issubdtype(tnp.float32, tnp.inexact)
        True
    """
    return np.issubdtype(_of_numpy(arg1), _of_numpy(arg2))


def array(val: Any, dtype: Any = None, copy: bool = True, ndmin: int = 0) -> Tensor:
    """A tensor with the dtype that NumPy gives: int64 and float64 for Python's numbers.

    Args:
        val: Tensor, array, number or nested lists.
        dtype: Dtype; None: as NumPy has it.
        copy: Accepted for compatibility: tensors do not change.
        ndmin: The least number of axes; new ones come first.

    Example:
        >>> import tfx.experimental.numpy as tnp
        >>> tnp.array([1.5, 2]).dtype
        tf.float64
    """
    if isinstance(val, Tensor | Variable):
        found = convert_to_tensor(val)
    elif isinstance(val, list | tuple) and _tensors(val):
        kind = result_type(val)
        found = convert_to_tensor(_converted(val, kind), kind)
    else:
        given = np.asarray(val)
        kind = dtypes.as_dtype(given.dtype)
        python = not isinstance(val, np.ndarray | np.generic)
        if python and kind is dtypes.float64:
            kind = default_float()
        found = convert_to_tensor(given.astype(kind.as_numpy_dtype) if kind.size else given)
    if dtype is not None:
        found = cast_to(found, named_dtype(dtype))
    missing = ndmin - (found.shape.rank or 0)
    return found if missing <= 0 else found[(None,) * missing]


def _converted(value: Any, kind: DType) -> Any:
    if isinstance(value, list | tuple):
        return [_converted(y, kind) for y in value]
    return cast_to(array(value), kind)


def shared(*values: Any) -> list[Tensor]:
    """Arguments as tensors of the dtype that they share."""
    kind = result_type(*values)
    return [cast_to(array(x), kind) for x in values]


def floating(x: Any) -> Tensor:
    """An argument as a tensor of a floating dtype; complex numbers stay what they are."""
    found = array(x)
    inexact = found.dtype.is_floating or found.dtype.is_complex
    return found if inexact else cast_to(found, default_float())
