"""``SparseTensor``: the entries of a tensor most of which is zero.

Owns what a sparse tensor is: where its entries are, what they are, and the shape of the whole.
Operations on it are the business of other modules. The one decision: it takes part in traces,
branches, loops and tapes as these three tensors, so everything about it is ordinary operators.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np

from tfx.core import dtypes, first_use
from tfx.core.dtypes import DType
from tfx.core.errors import ConversionError, InvalidArgumentError
from tfx.core.nest_kinds import Kind
from tfx.core.shapes import ShapeLike, TensorShape, as_shape
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, register_tensor_conversion_function
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.ops.common.arguments import cast_to, is_tensor_like
from tfx.ops.common.shapes import symbolic_items


class SparseTensorValue(NamedTuple):
    """A sparse tensor as arrays; ``tf.compat.v1.SparseTensorValue``."""

    indices: Any
    values: Any
    dense_shape: Any


class SparseTensor:
    """A tensor given by the entries that are not zero.

    ``values[i]`` stands at ``indices[i]``; everything else is zero. Most operations expect the
    indices in row-major order, as ``tf.sparse.reorder`` puts them, and each of them once.
    Functions take and return sparse tensors; so do ``tf.cond``, ``tf.while_loop``, datasets and
    tapes, whose gradients reach ``values``.

    Args:
        indices: ``[n, rank]`` int64.
        values: ``[n]``, any dtype.
        dense_shape: ``[rank]`` int64.

    Raises:
        ValueError: shapes that do not fit each other.
        TypeError: indices or a shape of another dtype.

    Example:
        >>> import tfx as tf
        >>> x = tf.SparseTensor(indices=[[0, 3], [2, 4]], values=[10, 20], dense_shape=[3, 10])
        >>> x.shape, x.dtype
        (TensorShape([3, 10]), tf.int32)
        >>> tf.sparse.to_dense(x)[0].numpy()
        array([ 0,  0,  0, 10,  0,  0,  0,  0,  0,  0], dtype=int32)
    """

    __slots__ = ("__weakref__", "_dense_shape", "_indices", "_static", "_values")

    _indices: Any
    _values: Any
    _dense_shape: Any
    # What a signature says of the shape, on the way into a trace; None: what the tensors say.
    _static: TensorShape | None
    _tfx_expanded_kind: Kind  # set where the spec is
    _tfx_spec: Any
    _is_tfx_sparse = True

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        first_use.first("SparseTensor")
        self._indices = _integers(indices, "indices")
        self._values = convert_to_tensor(values)
        self._dense_shape = _integers(dense_shape, "dense_shape")
        self._static = None
        _check(self._indices.shape, self._values.shape, self._dense_shape.shape)

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """A sparse tensor of one, or of its three parts as arrays.

        Args:
            sparse_tensor_value: A ``SparseTensor`` or ``tf.compat.v1.SparseTensorValue``.

        Raises:
            TypeError: anything else.
        """
        if not isinstance(sparse_tensor_value, SparseTensor | SparseTensorValue):
            raise TypeError(
                "Argument sparse_tensor_value must be a SparseTensor or SparseTensorValue; got "
                f"{sparse_tensor_value!r}."
            )
        parts = sparse_tensor_value
        return SparseTensor(parts.indices, parts.values, parts.dense_shape)

    @property
    def indices(self) -> Any:
        """Where the entries are: ``[n, rank]`` int64."""
        return self._indices

    @property
    def values(self) -> Any:
        """The entries: ``[n]``."""
        return self._values

    @property
    def dense_shape(self) -> Any:
        """The shape of the whole: ``[rank]`` int64."""
        return self._dense_shape

    @property
    def dtype(self) -> DType:
        """Element type."""
        found: DType = self._values.dtype
        return found

    @property
    def shape(self) -> TensorShape:
        """The static shape: None for what is not known."""
        if self._static is not None:
            return self._static
        items = symbolic_items(self._dense_shape)
        if items is not None:
            return TensorShape([n if isinstance(n, int) and n >= 0 else None for n in items])
        rank = self.rank
        return TensorShape(None) if rank is None else TensorShape([None] * rank)

    def get_shape(self) -> TensorShape:
        """Same as ``shape``."""
        return self.shape

    @property
    def rank(self) -> int | None:
        """The number of axes, if it is known."""
        for vector, axis in ((self._dense_shape.shape, 0), (self._indices.shape, 1)):
            if vector.rank is not None and vector[axis] is not None:
                found: int = vector[axis]
                return found
        return None

    @property
    def op(self) -> Any:
        """The operation that made the values."""
        return self._values.op

    @property
    def graph(self) -> Any:
        """The graph that the tensors belong to."""
        return self._values.graph

    def with_values(self, new_values: Any) -> SparseTensor:
        """Other entries in the same places.

        Args:
            new_values: As many as there are.

        Example:
            >>> import tfx as tf
            >>> x = tf.SparseTensor([[0], [2]], [1, 2], [3])
            >>> tf.sparse.to_dense(x.with_values([5, 6])).numpy()
            array([5, 0, 6], dtype=int32)
        """
        return SparseTensor(self._indices, new_values, self._dense_shape)

    def set_shape(self, shape: ShapeLike) -> None:
        """State what is known of the shape.

        Raises:
            ValueError: it is known to be another one.
        """
        wanted = as_shape(shape)
        if not wanted.is_compatible_with(self.shape):
            raise InvalidArgumentError(f"Shapes {self.shape} and {wanted} are incompatible")
        merged = self.shape.merge_with(wanted)
        if isinstance(self._dense_shape, SymbolicTensor) and merged.rank is not None:
            self._dense_shape = stated(self._dense_shape, merged)

    def eval(self, feed_dict: Any = None, session: Any = None) -> SparseTensorValue:
        """The parts as arrays; those of a tensor of TensorFlow 1's graphs, as a session runs it.

        Raises:
            ValueError: inside of a function.
        """
        parts = (self._indices, self._values, self._dense_shape)
        if all(isinstance(x, EagerTensor) for x in parts):
            return SparseTensorValue(*[x.numpy() for x in parts])
        return SparseTensorValue(*[x.eval(feed_dict, session) for x in parts])

    def _numpy(self) -> np.ndarray[Any, Any]:
        """The dense array, for pipelines."""
        indices, values = self._indices.numpy(), self._values.numpy()
        nothing: Any = b"" if self.dtype is dtypes.string else np.zeros((), values.dtype)
        found = np.full(tuple(self._dense_shape.numpy().tolist()), nothing, values.dtype)
        found[tuple(indices.T)] = values
        return found

    def __repr__(self) -> str:
        return (
            f"SparseTensor(indices={_shown(self._indices)}, values={_shown(self._values)}, "
            f"dense_shape={_shown(self._dense_shape)})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return SparseTensor, (self._indices, self._values, self._dense_shape)


def made(indices: Any, values: Any, dense_shape: Any) -> SparseTensor:
    """A sparse tensor of parts that are known to fit."""
    first_use.first("SparseTensor")
    found = object.__new__(SparseTensor)
    found._indices, found._values, found._dense_shape = indices, values, dense_shape
    found._static = None
    return found


def stated(dense_shape: Tensor, shape: TensorShape) -> Tensor:
    """The vector with the numbers that are known of it written into it."""
    if shape.rank is None or all(n is None for n in shape):
        return dense_shape
    parts = []
    for axis, size in enumerate(shape):
        if size is None:
            parts.append(ox.Slice(dense_shape, ox.ints([axis]), ox.ints([axis + 1])))
        else:
            parts.append(ox.ints([size]))
    return ox.Concat(*parts, axis=0)


def _shown(x: Any) -> str:
    return str(x) if isinstance(x, EagerTensor) else repr(x)


def _integers(value: Any, name: str) -> Tensor:
    """Indices or a shape as int64; of none, a list says no dtype."""
    if isinstance(value, TensorShape):
        value = value.as_list()
    if not is_tensor_like(value):
        return convert_to_tensor(value, dtypes.int64)
    found = convert_to_tensor(value)
    if found.dtype is not dtypes.int64:
        raise InvalidArgumentError(
            f"Tensor conversion requested dtype int64 for {name} of a SparseTensor, which has "
            f"dtype {found.dtype.name}; use tfx.cast."
        )
    return found


def _check(indices: TensorShape, values: TensorShape, dense_shape: TensorShape) -> None:
    for shape, rank in ((indices, 2), (values, 1), (dense_shape, 1)):
        if shape.rank not in (None, rank):
            raise InvalidArgumentError(f"Shape {shape} must have rank {rank}")
    if indices.rank is None:
        return
    others = (values, dense_shape)
    for size, other in zip(indices, others, strict=True):
        if other.rank is not None and size is not None and other[0] not in (None, size):
            raise InvalidArgumentError(
                f"Dimensions {size} and {other[0]} are not compatible: a SparseTensor has indices "
                "[n, rank], values [n] and dense_shape [rank]; got "
                f"{indices}, {values} and {dense_shape}."
            )


def require_sparse(x: Any, op: str = "") -> SparseTensor:
    """A sparse tensor as it is, or made of arrays.

    Raises:
        TypeError: anything else.
    """
    if isinstance(x, SparseTensorValue):
        return SparseTensor.from_value(x)
    if not isinstance(x, SparseTensor):
        where = f" of {op}" if op else ""
        raise TypeError(
            f"Input{where} must be a SparseTensor, got {x!r} of type {type(x).__name__}; "
            "tfx.sparse.from_dense makes one of a tensor."
        )
    return x


def known_rank_of(x: SparseTensor, op: str) -> int:
    """The number of axes, which must be known while tracing.

    Raises:
        InvalidArgumentError: it is not.
    """
    rank = x.rank
    if rank is None:
        raise InvalidArgumentError(
            f"{op} needs a SparseTensor of known rank while a function is traced; got {x!r}. Give "
            "its shape in the input_signature: tfx.SparseTensorSpec([None, None]).",
            op=op,
        )
    return rank


def strings_or_integers(values: Tensor) -> Tensor:
    """Strings as they are, numbers as int64: what of numbers is compared and written."""
    return values if values.dtype is dtypes.string else cast_to(values, dtypes.int64)


def _refuse_conversion(value: SparseTensor, **_: Any) -> NoReturn:
    raise ConversionError(
        f"Attempt to convert a value ({value!r}) with an unsupported type ({type(value)}) to a "
        "Tensor. The operation takes no sparse tensors: give it tf.sparse.to_dense(x), or look for "
        "one in tf.sparse that does."
    )


register_tensor_conversion_function(SparseTensor, _refuse_conversion)
