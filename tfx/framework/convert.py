"""Python values, arrays and variables to tensors, by TensorFlow's rules.

Python integers become int32 (int64 where they do not fit), floats float32, NumPy values keep their
dtype. ``dtype`` is binding: a value that it cannot hold is a ``TypeError``. ``dtype_hint`` is taken
where it fits and ignored where it does not. TensorFlow wraps Python integers that are out of the
range of ``dtype`` around; here they are a ``ValueError``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import copysign, prod
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dimension import Dimension
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import ConversionError, DTypeMismatchError, InvalidArgumentError
from tfx.core.filled_arrays import filled_array
from tfx.core.shapes import TensorShape
from tfx.framework.apply import apply
from tfx.framework.context import Context, current
from tfx.framework.device import DEFAULT_DEVICE, placed, trace_device
from tfx.framework.tensor import (
    EagerTensor,
    SymbolicTensor,
    Tensor,
    from_array,
    label,
    settle_on,
)
from tfx.runtime.memory import array_from_dlpack, copy_from_gpu
from tfx.runtime.values import RawValue, from_numpy

_INT32 = np.iinfo(np.int32)
_converters: list[tuple[int, tuple[type, ...], Callable[..., Any]]] = []
_PYTHON_SCALARS = frozenset((bool, int, float))
_DLPACK_CPU, _DLPACK_CUDA = 1, 2


def register_tensor_conversion_function(
    base_type: type | tuple[type, ...],
    conversion_func: Callable[..., Any],
    priority: int = 100,
) -> None:
    """Teach ``convert_to_tensor`` a type.

    Args:
        base_type: The type, or several, subclasses included.
        conversion_func: Called as ``f(value, dtype=..., name=..., as_ref=False)``; returns a
            tensor or ``NotImplemented``.
        priority: Lower numbers are tried first.

    Example:
        >>> import tfx as tf
        >>> class Celsius:
        ...     degrees = 20.0
        >>> tf.register_tensor_conversion_function(
        ...     Celsius, lambda v, dtype=None, name=None, as_ref=False: tf.constant(v.degrees)
        ... )
        >>> float(tf.convert_to_tensor(Celsius()))
        20.0
    """
    types = base_type if isinstance(base_type, tuple) else (base_type,)
    if not callable(conversion_func):
        raise TypeError(f"conversion_func must be callable; got {conversion_func!r}.")
    _converters.append((priority, types, conversion_func))
    _converters.sort(key=lambda entry: entry[0])


def convert_to_tensor(
    value: Any,
    dtype: DTypeLike | None = None,
    dtype_hint: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Convert a value to a tensor.

    Args:
        value: Tensor, Variable, NumPy array or scalar, Python number, bool, str or bytes, nested
            lists of these (tensors among them are stacked), or any object with ``__array__``,
            ``__dlpack__`` or a registered conversion.
        dtype: Required dtype; None infers it.
        dtype_hint: Preferred dtype where ``dtype`` is None.
        name: Name of the node while tracing.

    Returns:
        A tensor; a tensor is returned as it is.

    Raises:
        TypeError: the value cannot be converted to the dtype.
        ConversionError: the value is of a type that is no tensor.
        ValueError: ragged nested lists.

    Example:
        >>> import tfx as tf
        >>> tf.convert_to_tensor([1, 2.5]).dtype
        tf.float32
    """
    if isinstance(value, Tensor):
        if dtype is not None and value.dtype is not dtypes.as_dtype(dtype):
            raise DTypeMismatchError(
                f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for Tensor with "
                f"dtype {value.dtype.name}: {value!r}. Use tfx.cast to change the dtype."
            )
        return value
    if dtype is not None:
        return _convert(value, dtypes.as_dtype(dtype), name)
    if dtype_hint is not None:
        try:
            return _convert(value, dtypes.as_dtype(dtype_hint), name)
        except (TypeError, ValueError):
            pass
    return _convert(value, None, name)


def _convert(value: Any, dtype: DType | None, name: str | None) -> Tensor:
    kind: Any = type(value)
    # The caches take -0.0 for 0.0: they are not asked.
    if kind in _PYTHON_SCALARS and (value or kind is not float or copysign(1.0, value) > 0):
        context = current()
        graph = context.graph
        if graph is not None:
            array, found = _python_array(kind, value, dtype)
            return SymbolicTensor(graph.constant(array, found.onnx), graph)
        tensor = EagerTensor(*_python_scalar(kind, value, dtype))
        return tensor if context.device is None else label(tensor, trace_device(context.device))
    if getattr(value, "_is_tfx_variable", False):
        return convert_to_tensor(value.value(), dtype)
    for _, types, converter in _converters:
        if isinstance(value, types):
            tensor = converter(value, dtype=dtype, name=name, as_ref=False)
            if tensor is not NotImplemented:
                return convert_to_tensor(tensor, dtype)
    convert = getattr(value, "__tf_tensor__", None)
    if convert is not None:
        return _made_by(value, convert(dtype, name), dtype)
    if isinstance(value, list | tuple) and contains_tensor(value):
        return _pack(value, dtype)
    if isinstance(value, TensorShape) or _is_foreign_shape(value):
        dims = _static_dims(TensorShape(value))
        dtype = _dtype_of_shape(dims, dtype)
        value = np.array(dims, dtype.as_numpy_dtype)
    return _with_contents(value, dtype)


def _made_by(value: Any, made: Any, dtype: DType | None) -> Tensor:
    """Convert the result of ``value.__tf_tensor__`` to a tensor.

    TensorFlow's own tensors return themselves: of those, and of whatever else is no tensor of ours,
    the contents are taken, and nothing is asked again.
    """
    if isinstance(made, Tensor) or getattr(made, "_is_tfx_variable", False):
        return convert_to_tensor(made, dtype)
    if any(hasattr(made, name) for name in ("__array__", "__dlpack__", "__array_interface__")):
        return _with_contents(made, dtype)
    raise TypeError(
        f"{type(value).__name__}.__tf_tensor__ returned {made!r} of type {type(made).__name__}, "
        "expected a tensor: return one made by tfx.constant or tfx.convert_to_tensor, or something "
        "with __array__ or __dlpack__."
    )


def _is_foreign_shape(value: Any) -> bool:
    """True if it is the shape of another library's tensors, as TensorFlow's is."""
    return hasattr(value, "is_fully_defined") and hasattr(value, "as_list")


def _with_contents(value: Any, dtype: DType | None) -> Tensor:
    """A tensor of what NumPy reads, or of memory that another library shares."""
    if hasattr(value, "__dlpack__") and _is_shared(value):
        place = _dlpack_place(value)
        if place == _DLPACK_CUDA and current().graph is None:
            raw = copy_from_gpu(value)
            return convert_to_tensor(EagerTensor(raw, dtypes.from_onnx(raw.element_type())), dtype)
        value = _shared(value) if place == _DLPACK_CPU else np.asarray(value)
    return embed(to_array(value, dtype))


def _shared(value: Any) -> np.ndarray[Any, Any]:
    """The memory of an object on the CPU; its array if it cannot share that, as of a bfloat16."""
    try:
        return array_from_dlpack(value)
    except InvalidArgumentError:
        if hasattr(value, "__array__"):
            return np.asarray(value)
        raise


def _is_shared(value: Any) -> bool:
    """True if the memory of something with ``__dlpack__`` is taken, and not its array."""
    if isinstance(value, np.ndarray | np.generic):
        return False
    # TensorFlow ends the process when the memory of a tensor of texts is asked for.
    kind = getattr(getattr(value, "dtype", None), "as_numpy_dtype", None)
    return kind is not np.object_ and kind is not object


def converts_itself(value: Any) -> bool:
    """True if a user's class says how its objects become tensors."""
    if isinstance(value, Tensor) or getattr(value, "_is_tfx_variable", False):
        return False
    if hasattr(value, "__tf_tensor__"):
        return True
    return any(isinstance(value, types) for _, types, _ in _converters)


def _dtype_of_shape(dims: tuple[int, ...], dtype: DType | None) -> DType:
    """The dtype of a shape as a tensor: integers also where there are none."""
    if dtype not in (None, dtypes.int32, dtypes.int64):
        raise TypeError(
            f"Cannot convert TensorShape {dims} to dtype {dtype!r}. Allowed dtypes are tf.int32 "
            "and tf.int64; use tf.cast on the tensor."
        )
    return dtype or (dtypes.int64 if max(dims, default=0) >= 1 << 31 else dtypes.int32)


def _static_dims(shape: TensorShape) -> tuple[int, ...]:
    if not shape.is_fully_defined():
        raise ValueError(
            f"Cannot convert a partially known TensorShape {shape} to a Tensor; use tfx.shape."
        )
    return tuple(d for d in shape if d is not None)


def _dlpack_place(value: Any) -> int:
    """DLPack's number for the kind of device that an object's memory is on; 0: it does not say."""
    device = getattr(value, "__dlpack_device__", None)
    return 0 if device is None else int(device()[0])


@lru_cache(maxsize=1024)
def _python_array(
    kind: type, value: Any, dtype: DType | None
) -> tuple[np.ndarray[Any, Any], DType]:
    """A number as a constant of graphs, which must not change."""
    array = to_array(value, dtype)
    array.flags.writeable = False
    return array, dtypes.as_dtype(array.dtype)


@lru_cache(maxsize=1024)
def _python_scalar(kind: type, value: Any, dtype: DType | None) -> tuple[RawValue, DType]:
    """``x + 1.0`` in a loop makes its value once; its tensor not: a tape knows it by identity."""
    array = to_array(value, dtype)
    return from_numpy(array, owned=True), dtypes.as_dtype(array.dtype)


def embed(array: np.ndarray[Any, Any]) -> Tensor:
    """An array that the caller made for us as a tensor: a graph constant while tracing."""
    context = current()
    graph = context.graph
    if graph is None:
        # On the host, on a GPU's scope too: operators take axes and sizes from there.
        tensor = from_array(array, owned=array.flags.owndata)
        return tensor if context.device is None else label(tensor, trace_device(context.device))
    array = array if array.flags.owndata else array.copy()
    return SymbolicTensor(graph.constant(array, dtypes.as_dtype(array.dtype).onnx), graph)


def contains_tensor(value: Sequence[Any]) -> bool:
    """Return whether nested lists contain a tensor or a variable."""
    return any(
        isinstance(v, Tensor)
        or getattr(v, "_is_tfx_variable", False)
        or (isinstance(v, list | tuple) and contains_tensor(v))
        for v in value
    )


def _pack(value: Sequence[Any], dtype: DType | None) -> Tensor:
    """Nested lists with tensors among them: stacked along new axes.

    The first tensor decides the dtype of all. Where another one is asked for, tensors are cast;
    numbers never are, so that 1.5 is no int.
    """
    found = next((t for t in map(_tensor_dtype, value) if t is not None), None)
    return _packed(value, dtype or found, cast=dtype is not None and dtype is not found)


def _packed(value: Sequence[Any], dtype: DType | None, cast: bool) -> Tensor:
    def part(item: Any) -> Tensor:
        if isinstance(item, list | tuple) and contains_tensor(item):
            return _packed(item, dtype, cast)
        if cast and getattr(item, "_is_tfx_variable", False):
            item = item.value()
        if not cast or not isinstance(item, Tensor) or item.dtype is dtype:
            return convert_to_tensor(item, dtype)
        assert dtype is not None
        if dtypes.string in (item.dtype, dtype):
            raise DTypeMismatchError(
                f"A list of tensors of dtype {item.dtype.name} cannot become one tensor of dtype "
                f"{dtype.name}: {item!r}."
            )
        return apply("Cast", (item,), {"to": dtype.onnx})

    parts = [part(item) for item in value]
    axis = embed(np.array([0], np.int64))
    rows = [apply("Unsqueeze", (p, axis)) for p in parts]
    return apply("Concat", rows, {"axis": 0})


def _tensor_dtype(value: Any) -> DType | None:
    if isinstance(value, list | tuple):
        return next((t for t in map(_tensor_dtype, value) if t is not None), None)
    if isinstance(value, Tensor) or getattr(value, "_is_tfx_variable", False):
        return dtype_when_read(value)
    return None


def dtype_when_read(value: Any) -> DType:
    """The dtype of a tensor, or that of the tensor which reading a variable gives here."""
    found: DType | None = None
    if not isinstance(value, Tensor):
        found = getattr(value, "_cast_dtype", None)
    return found or value.dtype


def to_array(value: Any, dtype: DType | None) -> np.ndarray[Any, Any]:
    """A new NumPy array (never the caller's own memory) of the inferred or required dtype.

    Raises:
        TypeError: ``value`` does not fit ``dtype`` or cannot be a tensor at all.
        ValueError: ragged nested lists.
    """
    if dtype is not None and not dtype.onnx:
        raise TypeError(
            f"Cannot convert {value!r} to a tensor of dtype {dtype.name}: no tensor has this "
            f"dtype.{dtypes.instead_of(dtype)}"
        )
    if isinstance(value, np.ndarray | np.generic):
        return _from_numpy(np.asarray(value), dtype)
    if isinstance(value, Dimension):
        value = _size_of(value)
    if not isinstance(value, bool | int | float | complex | str | bytes | list | tuple | range):
        if not hasattr(value, "__array__") and not hasattr(value, "__array_interface__"):
            raise ConversionError(
                f"Attempt to convert a value ({value!r}) with an unsupported type "
                f"({type(value)}) to a Tensor."
            )
        return _from_numpy(np.asarray(value), dtype)
    try:
        array = np.array(value)
    except UnicodeDecodeError:  # bytes beside texts
        return _python_strings(value, dtype)
    except ValueError as e:
        raise ValueError(
            f"Can't convert non-rectangular Python sequence to Tensor: {value!r}."
        ) from e
    except OverflowError as e:
        raise ValueError(f"{value!r} is out of range for every integer dtype.") from e
    if array.dtype.kind == "O":
        array = _large_numbers(value, array, dtype)
    elif array.dtype.kind == "f" and dtype is dtypes.uint64:
        array = _unsigned(value, array)
    return _typed_python(value, array, dtype)


def _size_of(dimension: Dimension) -> int:
    if dimension.value is None:
        raise ValueError("Cannot convert an unknown Dimension to a Tensor; use tfx.shape.")
    return dimension.value


def _unsigned(value: Any, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Integers of which some need all 64 bits: NumPy meets int64 and uint64, and takes float64."""
    exact = np.array(value, object)
    if set(map(type, exact.reshape(-1))) == {int} and exact.min() >= 0:
        return exact.astype(np.uint64)
    return array


def _large_numbers(
    value: Any, array: np.ndarray[Any, Any], dtype: DType | None
) -> np.ndarray[Any, Any]:
    """Integers beyond 64 bits among floats, or meant to be floats."""
    kinds = set(map(type, array.reshape(-1)))
    if Dimension in kinds:
        sizes = [_size_of(x) if isinstance(x, Dimension) else x for x in array.reshape(-1)]
        return np.array(sizes).reshape(array.shape)
    if kinds <= {int, float} and (float in kinds or (dtype is not None and dtype.is_floating)):
        return array.astype(np.float64)
    if kinds == {int}:
        raise ValueError(f"{value!r} is out of range for every integer dtype.")
    raise ValueError(
        f"Can't convert Python sequence with mixed types or unsupported ones to Tensor: {value!r}."
    )


def _from_numpy(array: np.ndarray[Any, Any], dtype: DType | None) -> np.ndarray[Any, Any]:
    if array.dtype.kind == "O" and dtype is not None and dtype is not dtypes.string:
        return _numbers_of_objects(array, dtype)
    if array.dtype.kind in "SUOT":
        if dtype is not None and dtype is not dtypes.string:
            raise TypeError(f"Cannot convert an array of {array.dtype} to dtype {dtype.name}.")
        return _string_array(array)
    known = dtypes.as_dtype(array.dtype)
    if dtype is None or dtype is known:
        return np.array(array, dtype=known.as_numpy_dtype, order="C")
    if dtype is dtypes.string:
        raise TypeError(f"Cannot convert an array of {array.dtype} to dtype {dtype.name}.")
    return _cast(array, dtype)


def _numbers_of_objects(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """Python numbers of an array of objects, as a table's column is, cast as NumPy casts them."""
    try:
        return _cast(array, dtype)
    except (TypeError, ValueError, OverflowError) as e:
        raise ConversionError(
            f"Cannot convert an array of object to dtype {dtype.name}: {e}. Expected numbers."
        ) from e


def _string_array(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    flat = []
    for item in array.reshape(-1).tolist():
        if not isinstance(item, str | bytes):
            raise ConversionError(
                f"Failed to convert an object of type {type(item)} ({item!r}) to a Tensor: object "
                "arrays may hold str and bytes only. Say the dtype of an array of numbers: "
                "tfx.constant(array, tfx.float32), or array.astype(numpy.float32)."
            )
        flat.append(item.encode() if isinstance(item, str) else item)
    result = np.empty(len(flat), object)
    result[:] = flat
    return result.reshape(array.shape)


def _typed_python(
    value: Any, array: np.ndarray[Any, Any], dtype: DType | None
) -> np.ndarray[Any, Any]:
    """Apply the rules for Python numbers to what NumPy made of them."""
    kind = array.dtype.kind
    if kind in "SU":
        return _python_strings(value, dtype)
    if dtype is None:
        return _default_typed(value, array)
    if dtype is dtypes.string:
        if array.size:
            raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype string")
        return np.empty(array.shape, object)
    fits = (
        (kind == "b" and not dtype.is_complex)
        or (kind in "iu" and not dtype.is_bool)
        or (kind in "fV" and (dtype.is_floating or dtype.is_complex))
        or (kind == "c" and dtype.is_complex)
        or array.size == 0
    )
    if not fits:
        raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {dtype.name}")
    if kind in "iu" and dtype.is_integer and array.size:
        _require_fit(array, dtype)
    return _cast(array, dtype)


def _require_fit(array: np.ndarray[Any, Any], dtype: DType) -> None:
    """Refuse integers that do not fit into 64 bits; narrower dtypes wrap, as in TensorFlow."""
    holds = dtypes.uint64 if dtype is dtypes.uint64 else dtypes.int64
    low, high = int(array.min()), int(array.max())
    if low < holds.min or high > holds.max:
        raise ValueError(
            "Can't convert Python sequence with out-of-range integer to Tensor: "
            f"{low if low < holds.min else high} is out of range for dtype {dtype.name}, expected "
            f"{holds.min} to {holds.max}."
        )


def _cast(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """A new array of the dtype; what does not fit becomes infinite, or wraps, without a warning."""
    with np.errstate(over="ignore", invalid="ignore"):
        return array.astype(dtype.as_numpy_dtype, order="C")


def _python_strings(value: Any, dtype: DType | None) -> np.ndarray[Any, Any]:
    if dtype is not None and dtype is not dtypes.string:
        raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {dtype.name}")
    array = np.array(value, dtype=object)
    if not all(isinstance(item, str | bytes) for item in array.reshape(-1)):
        raise ValueError(f"Can't convert Python sequence with mixed types to Tensor: {value!r}.")
    return _string_array(array)


def _default_typed(value: Any, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The dtype of Python numbers; NumPy floats at the front of a list keep theirs."""
    kind = array.dtype.kind
    first = _first_leaf(value)
    if kind != "b" and type(first) is bool:
        raise ValueError(f"Can't convert Python sequence with mixed types to Tensor: {value!r}.")
    if kind in "iu":
        if array.dtype == np.uint64:
            raise ValueError(
                f"Can't convert Python sequence with out-of-range integer to Tensor: "
                f"{int(array.max())} does not fit int64; give dtype=tfx.uint64."
            )
        small = array.size == 0 or (array.min() >= _INT32.min and array.max() <= _INT32.max)
        return array.astype(np.int32 if small else np.int64)
    if isinstance(first, np.ndarray | np.generic) and first.dtype.kind == kind:
        return array.astype(first.dtype)
    if kind == "f":
        return array.astype(np.float32)
    if kind == "c":
        return array.astype(np.complex128)
    return array


def _first_leaf(value: Any) -> Any:
    while isinstance(value, list | tuple) and value:
        value = value[0]
    return value


def constant(
    value: Any, dtype: DTypeLike | None = None, shape: Any = None, name: str = "Const"
) -> Tensor:
    """A tensor with the given contents.

    Args:
        value: Number, string, array or nested lists of them. A tensor is returned as it is.
        dtype: Element type; None infers it (int32, float32, NumPy's own).
        shape: Shape; a scalar ``value`` is repeated to fill it.
        name: Name of the node while tracing.

    Raises:
        TypeError: the value does not fit the dtype or the shape.
        ValueError: ragged lists, or a variable-sized value.

    Example:
        >>> import tfx as tf
        >>> tf.constant([[1, 2], [3, 4]], dtype=tf.float32).shape
        TensorShape([2, 2])
    """
    context = current()
    tensor = _constant(value, dtype, shape, name)
    graph = context.graph
    if (
        graph is not None
        and tensor is not value
        and (
            name not in ("Const", None)
            or graph.names_constants
            or not isinstance(context.device, str | None)
        )
    ):
        return _named(context, tensor, name or "Const")
    if context.device is None or graph is not None or tensor is value:
        return tensor
    device = placed(context.device, "Const", name, ()) or DEFAULT_DEVICE
    return settle_on(tensor, device)  # type: ignore[arg-type]


def _named(context: Context, tensor: Tensor, name: str) -> Tensor:
    """A constant of the graph being traced as one of its own, under the user's name."""
    graph = context.graph
    if graph is None or not isinstance(tensor, SymbolicTensor) or tensor._symbol.const is None:
        return tensor
    value = tensor._symbol
    assert value.const is not None
    own = graph.named_constant(value.const, value.dtype, context.scope + name)
    if context.device is not None:
        graph.place_constant(own)
    return SymbolicTensor(own, graph)


def _constant(value: Any, dtype: DTypeLike | None, shape: Any, name: str) -> Tensor:
    """``constant`` on whatever device."""
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    if isinstance(value, TensorShape):  # numbers here, of whatever dtype
        value = _static_dims(value)
    if isinstance(value, Tensor) or getattr(value, "_is_tfx_variable", False):
        tensor = convert_to_tensor(value, wanted)
        return tensor if shape is None else _reshaped(tensor, _dims_of(shape))
    if shape is None:
        return _convert(value, wanted, name)
    array, dims = to_array(value, wanted), _dims_of(shape)
    if array.size == 1:
        return embed(filled_array(dims, array.reshape(-1)[0], array.dtype))
    if array.size != prod(dims):
        raise TypeError(
            f"Eager execution of tf.constant with unsupported shape. Tensor {value!r} (converted "
            f"from a value of shape {array.shape}) has {array.size} elements, but got `shape` "
            f"{dims} with {prod(dims)} elements."
        )
    return embed(array.reshape(dims))


def _dims_of(shape: Any) -> tuple[int, ...]:
    static = TensorShape([shape]) if isinstance(shape, int) else TensorShape(shape)
    if not static.is_fully_defined():
        raise ValueError(f"The shape of a constant must be known; got {shape!r}.")
    return tuple(d for d in static if d is not None)


def _reshaped(tensor: Tensor, dims: tuple[int, ...]) -> Tensor:
    if tensor.shape.num_elements() not in (None, prod(dims)):
        raise TypeError(f"A tensor of shape {tensor.shape} cannot have the shape {dims}.")
    return apply("Reshape", (tensor, int64_constant(dims)), {"allowzero": 1})


@lru_cache(maxsize=4096)
def _small_ints(items: tuple[int, ...] | int) -> EagerTensor:
    return from_array(np.array(items, np.int64), owned=True)


def int64_constant(items: Sequence[int] | int) -> Tensor:
    """An int64 vector (or scalar) for operator inputs such as axes and shapes; cached."""
    key = items if isinstance(items, int) else tuple(items)
    graph = current().graph
    try:
        if graph is None:
            return _small_ints(key)
        return SymbolicTensor(graph.int64_constant(key), graph)
    except OverflowError:
        raise ValueError(
            f"Can't convert Python sequence with out-of-range integer to Tensor: {items!r} does "
            "not fit int64."
        ) from None
