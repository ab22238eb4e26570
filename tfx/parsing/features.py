"""What is wanted of an Example: ``FixedLenFeature`` and its relatives.

Owns the configurations; what reads by them is in ``parse_example`` and ``parse_sequence_example``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType, as_dtype
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.core.shapes import TensorShape, as_shape
from tfx.framework.context import init_scope
from tfx.framework.tensor import SymbolicTensor
from tfx.ops.array.static_value import get_static_value
from tfx.ops.common.arguments import numpy_of

# Which list of a feature holds values of a dtype, and what messages call it.
LISTS = {
    "float32": ("float_list", "float"),
    "int64": ("int64_list", "int64"),
    "string": ("bytes_list", "string"),
}
SAID = {"float_list": "float", "int64_list": "int64", "bytes_list": "string"}


class FixedLenFeature(NamedTuple):
    """A feature with the same number of values in each Example.

    Attributes:
        shape: Shape of the values.
        dtype: float32, int64 or string.
        default_value: What an Example without it has, of that shape; None: it is required.
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature with any number of values, which become a ``SparseTensor``.

    Attributes:
        dtype: float32, int64 or string.
    """

    dtype: Any


class FixedLenSequenceFeature(NamedTuple):
    """A feature with any number of values of one shape, filled up to the longest of a batch.

    Attributes:
        shape: Shape of each value.
        dtype: float32, int64 or string.
        allow_missing: Whether an Example may lack it; it must be True for ``parse_example``.
        default_value: A scalar that it is filled up with; None: 0 or an empty string.
    """

    shape: Any
    dtype: Any
    allow_missing: Any = False
    default_value: Any = None


class SparseFeature(NamedTuple):
    """A ``SparseTensor`` of which one feature has the values, and others the indices.

    Attributes:
        index_key: The feature with the indices; for several axes a list.
        value_key: The feature with the values.
        dtype: float32, int64 or string.
        size: The size of the axis; for several axes a list.
        already_sorted: Whether the indices are in order.
    """

    index_key: Any
    value_key: Any
    dtype: Any
    size: Any
    already_sorted: Any = False


class _RowSplits(NamedTuple):
    key: str


class _RowLengths(NamedTuple):
    key: str


class _RowStarts(NamedTuple):
    key: str


class _RowLimits(NamedTuple):
    key: str


class _ValueRowIds(NamedTuple):
    key: str


class _UniformRowLength(NamedTuple):
    length: int


class _RaggedFields(NamedTuple):
    dtype: Any
    value_key: Any = None
    partitions: Any = ()
    row_splits_dtype: Any = dtypes.int32
    validate: Any = False


class RaggedFeature(_RaggedFields):
    """A feature with any number of values, which become a ``RaggedTensor``.

    Attributes:
        dtype: float32, int64 or string.
        value_key: The feature with the values; None: the key in the dictionary of features.
        partitions: What cuts the values into rows, the outer rows first:
            ``RaggedFeature.RowSplits(key)``, ``RowLengths``, ``RowStarts``, ``RowLimits``,
            ``ValueRowIds`` and ``UniformRowLength(length)``.
        row_splits_dtype: int32 or int64.
        validate: Whether partitions are checked.
    """

    __slots__ = ()

    RowSplits = _RowSplits
    RowLengths = _RowLengths
    RowStarts = _RowStarts
    RowLimits = _RowLimits
    ValueRowIds = _ValueRowIds
    UniformRowLength = _UniformRowLength

    def __new__(
        cls,
        dtype: Any,
        value_key: str | None = None,
        partitions: Sequence[Any] = (),
        row_splits_dtype: Any = dtypes.int32,
        validate: bool = False,
    ) -> Self:
        """See the class."""
        kind = as_dtype(row_splits_dtype)
        if kind not in (dtypes.int32, dtypes.int64):
            raise InvalidArgumentError(f"row_splits_dtype must be int32 or int64; got {kind!r}.")
        for each in partitions:
            if not isinstance(each, _PARTITIONS):
                raise TypeError(
                    "partitions are RaggedFeature.RowSplits and its relatives; got "
                    f"{each!r} of type {type(each).__name__}."
                )
        return super().__new__(cls, as_dtype(dtype), value_key, tuple(partitions), kind, validate)


_PARTITIONS = (_RowSplits, _RowLengths, _RowStarts, _RowLimits, _ValueRowIds, _UniformRowLength)


def dtype_of(feature: Any, key: Any) -> DType:
    """The dtype of a feature.

    Raises:
        InvalidArgumentError: Examples have none of that.
    """
    kind = as_dtype(feature.dtype)
    if kind.name not in LISTS:
        raise DTypeMismatchError(
            f"Value for attr 'Tdense' of {kind.name} is not in the list of allowed values: float, "
            f"int64, string; feature {key!r} may be cast behind parsing.",
            op="ParseExample",
        )
    return kind


def shape_of(feature: Any, key: Any) -> tuple[int, ...]:
    """The shape of the values of a dense feature.

    Raises:
        ValueError: it is not known.
    """
    if feature.shape is None:
        raise InvalidArgumentError(f"Missing shape for feature {key}.")
    shape = as_shape(feature.shape) if not isinstance(feature.shape, int) else None
    found = TensorShape([feature.shape]) if shape is None else shape
    if not found.is_fully_defined():
        raise InvalidArgumentError(
            f"All dimensions of the shape for feature {key} need to be known but received "
            f"{found}; FixedLenSequenceFeature has values of any number."
        )
    return tuple([n for n in found if n is not None])


def array_of(value: Any) -> Any:
    """An argument's contents as an array, those of one text too.

    Raises:
        InvalidArgumentError: a tensor of a function that is known only when that runs.
    """
    if isinstance(value, SymbolicTensor):
        found: Any = get_static_value(value)
        if found is None:
            raise InvalidArgumentError(
                f"A default of parsing must be known while a function is traced; got {value!r}."
            )
    else:
        with init_scope():  # a list in a function is not a node of it
            found = numpy_of(value)
    return np.array(found, object) if isinstance(found, bytes) else np.asarray(found)


def default_of(feature: Any, key: Any) -> Any:
    """The default of a dense feature as an array of its shape; None: there is none.

    Raises:
        InvalidArgumentError: it has another number of elements.
    """
    if feature.default_value is None:
        return None
    kind = dtype_of(feature, key)
    given = array_of(feature.default_value)
    found = given.astype(object if kind is dtypes.string else kind.as_numpy_dtype)
    shape = () if isinstance(feature, FixedLenSequenceFeature) else shape_of(feature, key)
    if found.size != int(np.prod(shape, dtype=np.int64)):
        raise InvalidArgumentError(
            f"The default_value of feature {key!r} has {found.size} values, but its shape "
            f"{list(shape)} has {int(np.prod(shape, dtype=np.int64))}.",
            op="ParseExample",
        )
    return found.reshape(shape)


def checked(features: Any, allowed: tuple[type, ...], called: str) -> dict[str, Any]:
    """A dictionary of features, sorted by key.

    Raises:
        ValueError: none, or one of another kind.
    """
    if not features:
        raise InvalidArgumentError(f"Argument `{called}` cannot be None or falsy. Got {features!r}")
    if not isinstance(features, Mapping):
        raise TypeError(f"Argument `{called}` must be a dictionary; got {features!r}.")
    for key, feature in features.items():
        if not isinstance(feature, allowed):
            raise InvalidArgumentError(
                f"Unsupported {type(feature).__name__} {feature} for key {key!r}"
            )
    return {key: features[key] for key in sorted(features)}
