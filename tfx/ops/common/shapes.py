"""Shapes as operator inputs: static where they are known, computed in the graph where not.

What the array operations share. A vector made here is a constant as soon as all its numbers are
known, so graphs of static shape hold no shape arithmetic at all.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dims import is_static
from tfx.core.dtypes import DType
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, dtype_when_read, int64_constant
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.framework.tensor import raw_shape as raw_shape
from tfx.graph.symbolic_shapes import elements
from tfx.ops.common.arguments import (
    cast_to,
    int64_vector,
    is_tensor_like,
    numpy_as_integers,
    static_int,
    static_ints,
    tensor,
    whole_numbers,
)

RawDims = tuple[int | str | None, ...]


def static_dims(x: Tensor) -> tuple[int, ...] | None:
    """The shape if all of it is known."""
    shape = raw_shape(x)
    return shape if is_static(shape) else None


def rank_of(x: Tensor) -> int | None:
    """The number of dimensions, None if unknown."""
    shape = raw_shape(x)
    return None if shape is None else len(shape)


def known_rank(x: Tensor, op: str) -> int:
    """The number of dimensions of an argument that must have a known one."""
    rank = rank_of(x)
    if rank is None:
        raise InvalidArgumentError(
            f"{op} needs a tensor of known rank while a function is traced; got {x!r}. Give the "
            "number of dimensions in the input_signature, or call set_shape([None, ...])."
        )
    return rank


def shape_vector(x: Tensor, start: int = 0, end: int | None = None) -> Tensor:
    """``shape(x)[start:end]`` as int64: a constant if these dimensions are known."""
    shape = raw_shape(x)
    if shape is not None:
        part = shape[start:end]
        if is_static(part):
            return int64_constant(part)
    attrs = {} if start == 0 else {"start": start}
    if end is not None:
        attrs["end"] = end
    return ox.Shape(x, **attrs)


def dimension(x: Tensor, axis: int) -> Tensor:
    """One dimension as a vector of length 1."""
    return shape_vector(x, axis, axis + 1 if axis != -1 else None)


def concat_shape(*parts: Tensor) -> Tensor:
    """Vectors one behind the other; a constant if all of them are known."""
    known: list[int] = []
    for part in parts:
        values = _constant_items(part)
        if values is None:
            return ox.Concat(*parts, axis=0)
        known += values
    return int64_constant(known)


def few_ints(x: Tensor) -> list[int] | None:
    """``static_ints`` of a vector or scalar that is not data: None if it has many elements."""
    dims = static_dims(x)
    if dims is None or len(dims) > 1 or math.prod(dims) > _FEW:
        return None
    return static_ints(x)


_FEW = 64


def _constant_items(x: Tensor) -> list[int] | None:
    if isinstance(x, SymbolicTensor) and x._symbol.const is None:
        return None
    return few_ints(x)


def product(vector: Tensor) -> Tensor:
    """The product of a vector's elements as a vector of length 1."""
    known = _constant_items(vector)
    if known is not None:
        return int64_constant([math.prod(known)])
    return ox.ReduceProd(vector, keepdims=1)


def reshape_to(x: Tensor, shape: Tensor) -> Tensor:
    """Reshape to dimensions that may be 0."""
    known = _constant_items(shape)
    if known is not None and 0 not in known:
        return ox.Reshape(x, shape)
    return ox.Reshape(x, shape, allowzero=1)


def as_vector(x: Tensor) -> Tensor:
    """A scalar (or vector) of integers as an int64 vector."""
    x = as_int64_shape(x)
    if rank_of(x) == 1:
        return x
    known = static_int(x)
    if known is not None:
        return int64_constant([known])
    return ox.Reshape(x, int64_constant([-1]))


def as_int64_shape(x: Tensor) -> Tensor:
    """Integers as int64; what was int64 before ``shape`` made it int32 is taken from there."""
    if whole_numbers(x).dtype is dtypes.int64:
        return x
    known = few_ints(x)
    if known is not None:
        return int64_constant(known if rank_of(x) else known[0])
    if isinstance(x, SymbolicTensor):
        node = x._symbol.node
        if node is not None and node.op == "Cast":
            source = node.inputs[0]
            if (
                source is not None
                and source.node is not None
                and source.node.op in ("Shape", "Size")
            ):
                return SymbolicTensor(source, x._graph)
    return ox.Cast(x, to=dtypes.int64.onnx)


# Operations whose shapes and axes have a dtype when nothing else is said: NumPy's arrays get it.
_CONVERT_NUMPY = {
    "Tile", "Reshape", "Fill", "BroadcastTo", "Transpose", "ReverseV2", "expand_dims"
}  # fmt: skip


def shape_argument(shape: Any, op: str) -> Tensor:
    """Convert a shape given by the user to an int64 vector.

    Args:
        shape: TensorShape, list of ints and scalar tensors, integer tensor or int. A list whose
            first tensor is no integer is cast, as ``convert_to_tensor(list, dtype)`` casts it; a
            tensor on its own is not.
        op: Operation named in messages.

    Raises:
        InvalidArgumentError: not integers, or a tensor of several axes.
        ValueError: a dimension of None.
    """
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    if not isinstance(shape, list | tuple):
        if isinstance(shape, int) and not isinstance(shape, bool):
            return int64_constant([shape])
        if op in _CONVERT_NUMPY:
            shape = numpy_as_integers(shape)
        vector = _integer_tensor(shape, op)
        if (rank_of(vector) or 0) > 1:
            raise InvalidArgumentError(
                f"The shape given to {op} must be a vector; got {vector!r} of shape "
                f"{describe(vector)}.",
                op=op,
            )
        return as_vector(vector)
    items: list[int | Tensor] = []
    first = next((dim for dim in shape if is_tensor_like(dim)), None)
    casts = first is not None and first.dtype.is_floating
    for dim in shape:
        if type(dim) is int:
            items.append(dim)
        elif dim is None:
            raise InvalidArgumentError(
                f"The shape {list(shape)} given to {op} has a dimension of None; use -1 for one "
                "that follows from the others, or tfx.shape(x)[i] for a dynamic one."
            )
        elif is_tensor_like(dim):
            scalar = cast_to(tensor(dim), dtypes.int64) if casts else _integer_tensor(dim, op)
            known = static_int(scalar)
            items.append(scalar if known is None else known)
        else:
            items.append(_integer(dim, shape, op))
    return int64_vector(items)


def _integer(dim: Any, shape: Any, op: str) -> int:
    try:
        return operator.index(dim)
    except TypeError:
        raise DTypeMismatchError(
            f"Value for attr 'Tshape' of {type(dim).__name__} is not in the list of allowed "
            f"values: int32, int64; {op} got the shape {shape!r}.",
            op=op,
        ) from None


def _integer_tensor(x: Any, op: str) -> Tensor:
    made = tensor(x)
    if not made.dtype.is_integer:
        if static_dims(made) == (0,):
            return ox.Cast(made, to=dtypes.int64.onnx)  # [] is float32
        raise DTypeMismatchError(
            f"Value for attr 'Tshape' of {made.dtype.name} is not in the list of allowed values: "
            f"int32, int64; {op} takes integers.",
            op=op,
        )
    return made


def symbolic_items(vector: Tensor) -> RawDims | None:
    """The elements of a shape vector: numbers, symbols, None where unknown; None: nothing known."""
    if isinstance(vector, EagerTensor):
        return tuple(vector.view().tolist())
    assert isinstance(vector, SymbolicTensor)
    return elements(vector._symbol)


def filled(shape: Tensor, value: Any, dtype: DType) -> Tensor:
    """``value`` repeated to a shape, by a node that holds no data."""
    array = np.array([value], dtype.as_numpy_dtype)
    if dtype.name in _FILLABLE:
        return ox.ConstantOfShape(shape, value=array)
    return ox.Expand(convert_to_tensor(array[0], dtype), shape)


# The types that ONNX Runtime's ConstantOfShape has; the others repeat a scalar.
_FILLABLE = frozenset(
    (
        "float16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "bool",
    )
)


def zeros_shaped(x: Tensor, dtype: DType | None = None) -> Tensor:
    """Zeros of a tensor's shape, by nodes that hold no data."""
    dtype = dtype or x.dtype
    return filled(shape_vector(x), b"" if dtype is dtypes.string else 0, dtype)


def zeros_if_mismatched(gradient: Tensor, x: Tensor) -> Tensor:
    """The gradient of ``x``: zeros where what was computed is known to have another shape.

    Some kernels take tensors that do not fit each other if one has no elements: nothing depends on
    the others then.
    """
    found, wanted = static_dims(gradient), static_dims(x)
    if found is None or wanted is None or found == wanted:
        return gradient
    return zeros_shaped(x)


def common_tensors(values: Sequence[Any], op: str) -> list[Tensor]:
    """Several operands as tensors of one dtype: that of the first tensor among them.

    Raises:
        InvalidArgumentError: tensors of different dtypes.
        TypeError: a Python value that does not fit.
    """
    given: Callable[[Any], bool] = is_tensor_like
    dtype = next((dtype_when_read(v) for v in values if given(v)), None)
    made: list[Tensor] = []
    for i, value in enumerate(values):
        one = (
            value
            if isinstance(value, Tensor)
            else convert_to_tensor(value, None if given(value) else dtype)
        )
        if dtype is None:
            dtype = one.dtype
        elif one.dtype is not dtype:
            raise DTypeMismatchError(
                f"cannot compute {op} as input #{i}(zero-based) was expected to be a {dtype.name} "
                f"tensor but is a {one.dtype.name} tensor; use tfx.cast to make them agree.",
                op=op,
            )
        made.append(one)
    return made


def movable(x: Tensor) -> Tensor:
    """bfloat16 as float32, for operators that only move elements and do not take it."""
    if x.dtype is dtypes.bfloat16:
        return ox.Cast(x, to=dtypes.float32.onnx)
    return x


def describe(x: Tensor) -> str:
    """``[2,3]``: a shape as TensorFlow's messages show it."""
    shape = raw_shape(x)
    if shape is None:
        return "<unknown>"
    return "[" + ",".join("?" if d is None else str(d) for d in shape) + "]"
