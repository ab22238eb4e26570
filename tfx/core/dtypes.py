"""Dtypes: the interned `DType` objects and the conversion of everything else to them.

Owns the table of element types with their NumPy, ONNX and TensorFlow identities. It must
not know tensors, promotion of operands, or what a runtime supports.

The design decision: one object per dtype for the life of the process, with every property a
plain attribute filled in once, so that layers above compare by `is` and read facts without
a call. Equality with names and NumPy types is there for users and is the slow way.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import ml_dtypes
import numpy as np

from tfx.core.mixins import Immutable

if TYPE_CHECKING:
    from collections.abc import Callable

DTypeLike: TypeAlias = "DType | str | builtins.int | type[Any] | np.dtype[Any] | Any"

# ml_dtypes' versions know NumPy's types too, but come without annotations.
_finfo: Any = ml_dtypes.finfo
_iinfo: Any = ml_dtypes.iinfo

_Range: TypeAlias = "tuple[builtins.int | builtins.float, builtins.int | builtins.float]"


class DType(Immutable):
    """The type of a tensor's elements. Compare with `==` or `is`; never make one yourself.

    Attributes:
        name: The canonical name, such as "float32".
        as_numpy_dtype: The NumPy scalar class, such as `np.float32` (`np.object_` for string).
        numpy_dtype: The `np.dtype` instance of that class.
        onnx: The number of `onnx.TensorProto.DataType`.
        as_datatype_enum: The number of TensorFlow's `DataType`.
        size: Bytes per element as NumPy stores it.
        is_floating: Real floating point, bfloat16 and float8 included.
        is_integer: An integer; bool is not.
        is_unsigned: An unsigned integer.
        is_complex: complex64 or complex128.
        is_bool: The dtype is bool.
        is_quantized: One of TensorFlow's quantized dtypes: they have names and facts, no tensors.
        is_numeric: A number: neither bool nor string.
        has_gradients: Gradients may flow through it: it is floating or complex.
        is_numeric_compatible: The same.
        is_numpy_compatible: Whether NumPy has such numbers: false for ``resource`` and ``variant``.

    Example:
        >>> float32.size, float32 == "float32", float32 == np.float32
        (4, True, True)
    """

    __slots__ = (
        "__weakref__",
        "_range",
        "as_datatype_enum",
        "as_numpy_dtype",
        "has_gradients",
        "is_bool",
        "is_complex",
        "is_floating",
        "is_integer",
        "is_numeric",
        "is_numeric_compatible",
        "is_numpy_compatible",
        "is_quantized",
        "is_unsigned",
        "name",
        "numpy_dtype",
        "onnx",
        "size",
    )

    name: str
    as_numpy_dtype: type[Any]
    numpy_dtype: np.dtype[Any]
    onnx: builtins.int
    as_datatype_enum: builtins.int
    size: builtins.int
    is_floating: builtins.bool
    is_integer: builtins.bool
    is_unsigned: builtins.bool
    is_complex: builtins.bool
    is_bool: builtins.bool
    is_numeric: builtins.bool
    has_gradients: builtins.bool
    is_quantized: builtins.bool
    is_numeric_compatible: builtins.bool
    is_numpy_compatible: builtins.bool
    _range: _Range | None

    def __new__(cls, type_value: DTypeLike) -> DType:  # noqa: PYI034  interned: never a subclass
        """Returns the interned dtype for `type_value`, exactly as `as_dtype` does."""
        return as_dtype(type_value)

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(
            f"cannot set {attribute!r} of {self!r} to {value!r}: dtypes are shared by the whole "
            "process and do not change"
        )

    def __delattr__(self, attribute: str) -> None:
        raise AttributeError(f"cannot delete {attribute!r} of {self!r}: dtypes do not change")

    @property
    def base_dtype(self) -> DType:
        """The dtype itself: there are no reference dtypes."""
        return self

    @property
    def real_dtype(self) -> DType:
        """The dtype of the real part: float32 for complex64, otherwise the dtype itself."""
        if self.is_complex:
            return float32 if self is complex64 else float64
        return self

    @property
    def min(self) -> Any:
        """The smallest finite value, as a number of this dtype's NumPy or ml_dtypes type."""
        return self._bounds("minimum")[0]

    @property
    def max(self) -> Any:
        """The largest finite value, as a number of this dtype's NumPy or ml_dtypes type."""
        return self._bounds("maximum")[1]

    def _bounds(self, what: str) -> tuple[Any, Any]:
        if self.is_quantized:
            raise TypeError(f"cannot find the {what} value of {self!r}: it is quantized")
        if self.is_floating:
            finfo = _finfo(self.numpy_dtype)
            return finfo.min, finfo.max
        if self.is_integer:
            iinfo = _iinfo(self.numpy_dtype)
            return iinfo.min, iinfo.max
        raise TypeError(
            f"cannot find the {what} value of {self!r}: expected an integer or floating dtype"
        )

    @property
    def limits(self) -> _Range:
        """The intensity range (0, max) of an image of this dtype; (0, 1) for floats.

        Raises:
            ValueError: If the dtype has no such range, as complex64 and string.
        """
        if self._range is None:
            raise ValueError(f"{self!r} has no intensity limits: expected bool, integer or float")
        return self._range

    def is_compatible_with(self, other: DTypeLike) -> builtins.bool:
        """Return whether `other`, once converted, is this dtype.

        Args:
            other: Anything `as_dtype` takes.

        Returns:
            True for the same dtype.

        Example:
            >>> float32.is_compatible_with("float"), float32.is_compatible_with(int32)
            (True, False)
        """
        return self is as_dtype(other)

    def is_subtype_of(self, other: object) -> builtins.bool:
        """Return whether `other` is this dtype: dtypes have no proper subtypes."""
        return self is other

    def __eq__(self, other: object) -> builtins.bool:
        if self is other:
            return True
        # Distinct interned objects differ. TensorFlow's enum numbers are left out on purpose:
        # `float32 == 1` would be a trap. So are arrays, which `as_dtype` reads the dtype of.
        if isinstance(other, DType):
            return False
        if not isinstance(other, (str, type, np.dtype)):
            return hasattr(other, "as_numpy_dtype") and _foreign(other) is self
        return _lookup(other) is self

    def __ne__(self, other: object) -> builtins.bool:
        return not self == other

    # Equal DTypes are identical, so the C identity hash is right and the fastest there is.
    __hash__ = object.__hash__

    def __int__(self) -> builtins.int:
        return self.as_datatype_enum

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __reduce__(self) -> tuple[Callable[[str], DType], tuple[str]]:
        return as_dtype, (self.name,)


def _make(name: str, numpy_type: Any, onnx: builtins.int, tf_enum: builtins.int) -> DType:
    dtype = object.__new__(DType)
    numpy_dtype = np.dtype(numpy_type)
    is_complex, is_bool, is_string = name.startswith("complex"), name == "bool", name == "string"
    is_unsigned, is_integer = name.startswith("uint"), name.startswith(("int", "uint"))
    is_floating = "float" in name
    is_quantized = name.startswith(("qint", "quint"))
    is_handle = name in ("resource", "variant")
    facts: dict[str, Any] = {
        "name": name,
        "as_numpy_dtype": numpy_type,
        "numpy_dtype": numpy_dtype,
        "onnx": onnx,
        "as_datatype_enum": tf_enum,
        "size": 0 if is_handle else numpy_dtype.itemsize,
        "is_floating": is_floating,
        "is_integer": is_integer,
        "is_unsigned": is_unsigned,
        "is_complex": is_complex,
        "is_bool": is_bool,
        "is_quantized": is_quantized,
        "is_numeric": not (is_bool or is_string or is_handle),
        "has_gradients": is_floating or is_complex,
        "is_numeric_compatible": not (is_bool or is_string or is_handle),
        "is_numpy_compatible": not is_handle,
        "_range": None,
    }
    if is_bool:
        facts["_range"] = (False, True)
    elif is_floating:
        facts["_range"] = (0, 1)
    elif is_integer:
        facts["_range"] = (0, builtins.int(_iinfo(numpy_dtype).max))
    for attribute, value in facts.items():
        object.__setattr__(dtype, attribute, value)
    return dtype


# The last two numbers are those of onnx.TensorProto.DataType and of TensorFlow's DataType.
float16 = _make("float16", np.float16, 10, 19)
float32 = _make("float32", np.float32, 1, 1)
float64 = _make("float64", np.float64, 11, 2)
bfloat16 = _make("bfloat16", ml_dtypes.bfloat16, 16, 14)
int8 = _make("int8", np.int8, 3, 6)
int16 = _make("int16", np.int16, 5, 5)
int32 = _make("int32", np.int32, 6, 3)
int64 = _make("int64", np.int64, 7, 9)
uint8 = _make("uint8", np.uint8, 2, 4)
uint16 = _make("uint16", np.uint16, 4, 17)
uint32 = _make("uint32", np.uint32, 12, 22)
uint64 = _make("uint64", np.uint64, 13, 23)
bool = _make("bool", np.bool_, 9, 10)
string = _make("string", np.object_, 8, 7)
complex64 = _make("complex64", np.complex64, 14, 8)
complex128 = _make("complex128", np.complex128, 15, 18)
float8_e4m3fn = _make("float8_e4m3fn", ml_dtypes.float8_e4m3fn, 17, 25)
float8_e5m2 = _make("float8_e5m2", ml_dtypes.float8_e5m2, 19, 24)
int4 = _make("int4", ml_dtypes.int4, 22, 29)
uint4 = _make("uint4", ml_dtypes.uint4, 21, 30)
half = float16
double = float64


def _named(name: str, numpy_type: type[Any], tf_enum: builtins.int) -> DType:
    return _make(name, np.dtype([(name, numpy_type)]), 0, tf_enum)


# Facts alone: no tensor has one of these, since ONNX quantizes with operators and plain integers.
qint8 = _named("qint8", np.int8, 11)
quint8 = _named("quint8", np.uint8, 12)
qint32 = _named("qint32", np.int32, 13)
qint16 = _named("qint16", np.int16, 15)
quint16 = _named("quint16", np.uint16, 16)
# Names that programs compare dtypes with: variables and tables are objects, and so are datasets.
resource = _named("resource", np.uint8, 20)
variant = _named("variant", np.uint8, 21)
QUANTIZED_DTYPES: Final = frozenset((qint8, quint8, qint16, quint16, qint32))
"""TensorFlow's quantized dtypes."""


def instead_of(dtype: DType) -> str:
    """Advice for a dtype that no tensor has, or nothing."""
    if not dtype.is_quantized:
        return ""
    return " Use tfx.raw.QuantizeLinear, which makes int8 or uint8."


ALL_DTYPES: Final[tuple[DType, ...]] = (
    float16, float32, float64, bfloat16, int8, int16, int32, int64, uint8, uint16, uint32,
    uint64, bool, string, complex64, complex128, float8_e4m3fn, float8_e5m2, int4, uint4,
)  # fmt: skip
"""Every dtype, each once, in the order of the documentation."""

_BY_ONNX: Final[dict[builtins.int, DType]] = {dtype.onnx: dtype for dtype in ALL_DTYPES}
# A graph's code of a sequence of tensors: this and the code of their dtype. Users never see one; it
# has the dtype of its tensors.
SEQUENCE: Final = 1000
_BY_ONNX.update({SEQUENCE + dtype.onnx: dtype for dtype in ALL_DTYPES})
_BY_TF_ENUM: Final[dict[builtins.int, DType]] = {
    d.as_datatype_enum: d for d in (*ALL_DTYPES, *QUANTIZED_DTYPES, resource, variant)
}
# Names, NumPy scalar classes, np.dtype instances and Python types in one dict. A dtype instance
# is a key of its own although it compares equal to its class: their hashes differ. Python types
# get the dtype that a Python number of the type becomes as a tensor.
_BY_KEY: Final[dict[Any, DType]] = {
    **{dtype.name: dtype for dtype in (*ALL_DTYPES, *QUANTIZED_DTYPES, resource, variant)},
    "half": float16,
    "float": float32,
    "double": float64,
    **{dtype.as_numpy_dtype: dtype for dtype in ALL_DTYPES},
    **{dtype.numpy_dtype: dtype for dtype in ALL_DTYPES},
    np.str_: string,
    np.bytes_: string,
    builtins.float: float32,
    builtins.int: int32,
    builtins.bool: bool,
    builtins.complex: complex128,
    builtins.str: string,
    builtins.bytes: string,
    builtins.object: string,
}


def _lookup(key: str | type[Any] | np.dtype[Any]) -> DType | None:
    dtype = _BY_KEY.get(key)
    if dtype is None and isinstance(key, np.dtype):
        # Byte-swapped dtypes, "<U5" strings, and C types that share a width (longlong).
        dtype = _BY_KEY.get(key.type) or _BY_KEY.get(key.newbyteorder("="))
    elif dtype is None and isinstance(key, type) and issubclass(key, np.generic):
        try:
            dtype = _BY_KEY.get(np.dtype(key))
        except TypeError:  # abstract classes such as np.floating
            return None
    return dtype


def finfo(dtype: DType) -> Any:
    """The limits of a floating type, ``eps``, ``tiny``, ``max``..., as NumPy has them."""
    return _finfo(dtype.as_numpy_dtype)


def as_dtype(type_value: DTypeLike) -> DType:
    """Converts `type_value` to the interned `DType`.

    Python's `float`, `int`, `bool`, `complex`, `str` and `bytes` give what such a value becomes
    as a tensor: float32, int32, bool, complex128 and string. (TensorFlow refuses `int`.) An
    integer is taken for a number of TensorFlow's `DataType`; for ONNX's see `from_onnx`.

    Args:
        type_value: A DType, a name, a NumPy dtype or scalar class, a Python type, an object
            with a `dtype`, a dtype of TensorFlow or PyTorch, or a number of TensorFlow's enum.

    Returns:
        The DType.

    Raises:
        TypeError: If there is no such dtype.

    Example:
        >>> as_dtype("half"), as_dtype(np.int64), as_dtype(float)
        (tf.float16, tf.int64, tf.float32)
    """
    if type(type_value) is DType:
        return type_value
    try:
        return _BY_KEY[type_value]
    except (KeyError, TypeError):  # not a usual spelling, or not hashable
        pass
    dtype: DType | None = None
    if isinstance(type_value, (str, type, np.dtype)):
        dtype = _lookup(type_value)
    elif isinstance(type_value, builtins.int) and not isinstance(type_value, builtins.bool):
        dtype = _BY_TF_ENUM.get(type_value)
    elif (inner := getattr(type_value, "dtype", None)) is not None:
        dtype = inner if isinstance(inner, DType) else (_lookup_numpy(inner) or _foreign(inner))
    else:
        dtype = _foreign(type_value)
    if dtype is None:
        raise TypeError(
            f"cannot convert {type_value!r} to a dtype: expected one of "
            f"{', '.join(d.name for d in ALL_DTYPES)}, or the NumPy type of one"
        )
    return dtype


def _foreign(value: Any) -> DType | None:
    """A dtype of another library, whose tensors come as arguments: TensorFlow's or PyTorch's."""
    numpy_type = getattr(value, "as_numpy_dtype", None)
    if numpy_type is not None:
        return _lookup_numpy(numpy_type)
    if type(value).__module__ == "torch":
        return _BY_KEY.get(str(value).removeprefix("torch."))
    return None


def _lookup_numpy(value: Any) -> DType | None:
    try:
        return _lookup(np.dtype(value))
    except TypeError:
        return None


def from_onnx(number: builtins.int) -> DType:
    """Converts a number of `onnx.TensorProto.DataType` to a DType.

    Args:
        number: Such as 1 for float32.

    Returns:
        The DType.

    Raises:
        TypeError: If the number stands for a type that tfx does not have.

    Example:
        >>> from_onnx(1)
        tf.float32
    """
    dtype = _BY_ONNX.get(number)
    if dtype is None:
        known = ", ".join(f"{d.onnx} ({d.name})" for d in ALL_DTYPES)
        raise TypeError(f"ONNX element type {number!r} is not supported: expected one of {known}")
    return dtype
