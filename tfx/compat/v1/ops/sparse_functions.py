"""Functions of sparse tensors that TensorFlow 1 has otherwise, or that only it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.compat.v1.graph.placeholders import placeholder, placeholder_with_default
from tfx.compat.v1.ops.renamed_arguments import one_of
from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.core.shapes import TensorShape
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat
from tfx.ops.array.reshape import expand_dims
from tfx.ops.common.python_ops import by_python
from tfx.ops.linalg.matmul import matmul
from tfx.ops.math.cast import cast
from tfx.ragged_ops import strings
from tfx.ragged_ops.ragged_tensor import RaggedTensor
from tfx.sparse_ops import arrangement, reduction
from tfx.sparse_ops.sparse_tensor import SparseTensor, made


def sparse_matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of two dense matrices; see ``tf.matmul``.

    Args:
        a: A matrix.
        b: A matrix of the same dtype.
        transpose_a: Transpose the first.
        transpose_b: Transpose the second.
        a_is_sparse: Accepted for compatibility.
        b_is_sparse: Accepted for compatibility.
        name: Name of the operation.

    Returns:
        float32, for bfloat16 too.
    """
    product = matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b)
    return cast(product, dtypes.float32)


def sparse_split(
    keyword_required: Any = None,
    sp_input: Any = None,
    num_split: Any = None,
    axis: Any = None,
    name: str | None = None,
    split_dim: Any = None,
) -> list[SparseTensor]:
    """Parts of a sparse tensor along an axis; see ``tf.sparse.split``.

    Args:
        keyword_required: Must be left out: give the other arguments by name.
        sp_input: ``SparseTensor``.
        num_split: How many parts.
        axis: The axis.
        name: Name of the operation.
        split_dim: Older name of ``axis``.

    Raises:
        ValueError: a positional argument, or something was not given.
    """
    if keyword_required is not None:
        raise ValueError("Keyword arguments are required for this function.")
    return arrangement.split(sp_input, num_split, one_of("axis", axis, "split_dim", split_dim))


def sparse_reduce_sum_sparse(
    sp_input: Any,
    axis: Any = None,
    keepdims: Any = None,
    reduction_axes: Any = None,
    keep_dims: Any = None,
) -> SparseTensor:
    """Sums over axes of a sparse tensor, as a sparse tensor; see ``tf.sparse.reduce_sum``.

    Args:
        sp_input: ``SparseTensor``.
        axis: The axis or axes; None: all.
        keepdims: Whether the axes stay, with one element.
        reduction_axes: Older name of ``axis``.
        keep_dims: Older name of ``keepdims``.
    """
    axis = one_of("axis", axis, "reduction_axes", reduction_axes)
    keep = bool(one_of("keepdims", keepdims, "keep_dims", keep_dims))
    found: SparseTensor = reduction.reduce_sum(sp_input, axis, keep, output_is_sparse=True)
    return found


def sparse_reduce_max_sparse(
    sp_input: Any,
    axis: Any = None,
    keepdims: Any = None,
    reduction_axes: Any = None,
    keep_dims: Any = None,
) -> SparseTensor:
    """The largest elements along axes of a sparse tensor; see ``sparse_reduce_sum_sparse``."""
    axis = one_of("axis", axis, "reduction_axes", reduction_axes)
    keep = bool(one_of("keepdims", keepdims, "keep_dims", keep_dims))
    found: SparseTensor = reduction.reduce_max(sp_input, axis, keep, output_is_sparse=True)
    return found


def sparse_merge(
    sp_ids: Any,
    sp_values: Any,
    vocab_size: Any,
    name: str | None = None,
    already_sorted: bool = False,
) -> SparseTensor:
    """Values at places whose last coordinates are the numbers in other sparse tensors.

    Args:
        sp_ids: ``SparseTensor`` of integers, or a list of them.
        sp_values: ``SparseTensor`` of the same places.
        vocab_size: What the last size becomes, or a list of sizes.
        name: Name of the operation.
        already_sorted: The result is in order already.

    Raises:
        TypeError: one argument is a list, the other is not; or not sparse tensors.
        ValueError: another number of sizes than of tensors.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> ids = tf.SparseTensor([[0, 0], [1, 0]], [4, 2], [2, 1])
        >>> values = tf.SparseTensor([[0, 0], [1, 0]], [0.5, 3.0], [2, 1])
        >>> tf.sparse_merge(ids, values, 5).indices.numpy().tolist()
        [[0, 4], [1, 2]]
    """
    many, sizes = isinstance(sp_ids, list | tuple), isinstance(vocab_size, list | tuple)
    if many != sizes:
        raise TypeError(
            "sp_ids and vocab_size are both lists or both not; got "
            f"{type(sp_ids).__name__} and {type(vocab_size).__name__}."
        )
    ids = list(sp_ids) if many else [sp_ids]
    counts = list(vocab_size) if sizes else [vocab_size]
    if len(ids) != len(counts):
        raise ValueError(
            f"sp_ids and vocab_size have to have equal lengths; got {len(ids)} and {len(counts)}."
        )
    for x in (*ids, sp_values):
        if not isinstance(x, SparseTensor):
            raise TypeError(f"sparse_merge takes SparseTensors; got {x!r}.")
    columns = [expand_dims(cast(x.values, dtypes.int64), 1) for x in ids]
    indices = concat([ids[0].indices[:, :-1], *columns], 1)
    last = [expand_dims(cast(convert_to_tensor(n), dtypes.int64), 0) for n in counts]
    shape = concat([ids[0].dense_shape[:-1], *last], 0)
    found = SparseTensor(indices, sp_values.values, shape)
    return found if already_sorted else arrangement.reorder(found)


def sparse_placeholder(
    dtype: DTypeLike, shape: Any = None, name: str | None = None
) -> SparseTensor:
    """A sparse tensor whose contents every run is given.

    Args:
        dtype: Element type.
        shape: Its shape; sizes that are None are given with the contents. None: of an unknown
            rank, which most operations refuse.
        name: Name of the operation.

    Raises:
        RuntimeError: operations run at once, or a function is being traced.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     x = tf.sparse_placeholder(tf.float32, [None, 4])
        ...     total = tf.sparse_reduce_sum(x)
        ...     session.run(total, {x: tf.SparseTensorValue([[1, 2]], [3.0], [2, 4])})
        np.float32(3.0)
    """
    sizes = TensorShape(shape)
    label = name or "Placeholder"
    indices = placeholder(dtypes.int64, [None, sizes.rank], f"{label}/indices")
    values = placeholder(dtype, [None], f"{label}/values")
    if sizes.is_fully_defined():
        known = np.array(sizes.as_list(), np.int64)
        dense_shape = placeholder_with_default(known, [sizes.rank], f"{label}/shape")
    else:
        dense_shape = placeholder(dtypes.int64, [sizes.rank], f"{label}/shape")
    found = SparseTensor(indices, values, dense_shape)
    if sizes.rank is not None:
        found._static = sizes
    return found


def string_split(
    source: Any,
    sep: str | None = None,
    skip_empty: bool = True,
    delimiter: str | None = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """The pieces of strings between any of some characters.

    Args:
        source: A vector of strings.
        sep: The characters, each of which ends a piece; None: a space; ``""``: every byte is a
            piece.
        skip_empty: Leave out pieces without characters.
        delimiter: Older name of ``sep``.
        result_type: ``"SparseTensor"`` or ``"RaggedTensor"``.
        name: Name of the operation.

    Raises:
        ValueError: another result type, or both names of ``sep``.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> tf.string_split(["a b", "c,d"], " ,").values.numpy()
        array([b'a', b'b', b'c', b'd'], dtype=object)
    """
    given = one_of("sep", sep, "delimiter", delimiter)
    ends = _bytes(" " if given is None else given)

    def compute(texts: Any) -> Sequence[Any]:
        rows = [_pieces(bytes(text), ends, skip_empty) for text in texts]
        places = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
        pieces = np.empty(len(places), object)
        pieces[:] = [piece for row in rows for piece in row]
        widest = max(map(len, rows), default=0)
        return [
            np.array(places, np.int64).reshape(-1, 2),
            pieces,
            np.array([len(rows), widest], np.int64),
        ]

    outputs = [(dtypes.int64, (None, 2)), (dtypes.string, (None,)), (dtypes.int64, (2,))]
    inputs = [convert_to_tensor(source, dtypes.string)]
    return _as_type(made(*by_python("string_split", compute, inputs, outputs)), result_type)


def strings_split(
    input: Any = None,
    sep: str | None = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> Any:
    """The pieces of strings, as ``tf.strings.split``, in a sparse tensor.

    Args:
        input: Strings.
        sep: What lies between pieces; None or ``""``: any run of white space.
        maxsplit: The most splits; -1: no limit.
        result_type: ``"SparseTensor"`` or ``"RaggedTensor"``.
        source: Older name of ``input``.
        name: Name of the operation.

    Raises:
        ValueError: another result type, or both names of ``input``.
    """
    texts = convert_to_tensor(one_of("input", input, "source", source), dtypes.string)
    if texts.shape.rank == 0:
        texts = expand_dims(texts, 0)
    ragged = strings.split(texts, sep, maxsplit)
    if result_type not in _RESULTS:
        _as_type(None, result_type)
    return ragged if result_type == "RaggedTensor" else ragged.to_sparse()


_RESULTS = ("SparseTensor", "RaggedTensor")


def _as_type(found: Any, result_type: str) -> Any:
    if result_type not in _RESULTS:
        raise ValueError(f"result_type must be one of {_RESULTS}; got {result_type!r}.")
    return found if result_type == "SparseTensor" else RaggedTensor.from_sparse(found)


def _bytes(text: Any) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode()


def _pieces(text: bytes, ends: bytes, skip_empty: bool) -> list[bytes]:
    if not ends:
        return [text[i : i + 1] for i in range(len(text))]
    for end in ends[1:]:
        text = text.replace(bytes([end]), ends[:1])
    found = text.split(ends[:1])
    return [piece for piece in found if piece] if skip_empty else found
