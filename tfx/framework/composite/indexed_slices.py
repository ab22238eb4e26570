"""``IndexedSlices``: a few rows of a larger tensor."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from tfx.core.shapes import TensorShape
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor


class IndexedSlices:
    """``values[i]`` belongs to row ``indices[i]`` of a dense tensor; repeated rows add up.

    This is what the gradient of ``tf.gather`` (along the first axis) and of what is made of it is:
    a table of a million rows of which a step uses ten has a gradient of ten rows. Optimizers,
    ``tf.clip_by_norm``, ``tf.clip_by_global_norm``, ``tf.math.scalar_mul``, ``tf.cast``,
    ``tf.identity`` and ``-`` keep the form; any other operation takes the dense tensor, into which
    ``tf.convert_to_tensor`` turns it.

    Args:
        values: ``[n, ...]``.
        indices: ``[n]`` integers.
        dense_shape: Shape of the dense tensor, an integer vector, if known.

    Example:
        >>> import tfx as tf
        >>> table = tf.Variable(tf.zeros([1000, 2]))
        >>> with tf.GradientTape() as tape:
        ...     y = tf.reduce_sum(tf.gather(table, [7, 7]))
        >>> gradient = tape.gradient(y, table)
        >>> gradient.indices.numpy(), gradient.values.numpy()
        (array([7, 7], dtype=int32), array([[1., 1.],
               [1., 1.]], dtype=float32))
        >>> gradient.shape
        TensorShape([1000, 2])
    """

    __slots__ = ("__dict__", "__weakref__", "dense_shape", "indices", "values")
    # Arguments and results of traced functions are taken apart; tf.nest takes it for a leaf.
    _tfx_fields = ("values", "indices", "dense_shape")
    _is_indexed_slices = True

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self.values = values
        self.indices = indices
        self.dense_shape = dense_shape

    @property
    def dtype(self) -> Any:
        """Element type of the values."""
        return self.values.dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape of the dense tensor, as far as it is known."""
        form = self.dense_shape
        if form is None:
            return TensorShape(None)
        if isinstance(form, SymbolicTensor):
            return _form_of(form, self.values)
        if isinstance(form, EagerTensor):
            return TensorShape(form.view().tolist())
        return TensorShape(form)

    @property
    def device(self) -> Any:
        """The device of the values."""
        return self.values.device

    @property
    def name(self) -> Any:
        """The name of the values, in a graph."""
        return self.values.name

    @property
    def op(self) -> Any:
        """The operation that made the values, in a graph."""
        return self.values.op

    @property
    def graph(self) -> Any:
        """The graph that the values belong to."""
        return self.values.graph

    def consumers(self) -> Any:
        """The operations that use the values, in a graph."""
        return self.values.consumers()

    def numpy(self) -> Any:
        """The dense tensor as a NumPy array, which TensorFlow's slices do not offer.

        Raises:
            ValueError: ``dense_shape`` is not known.
        """
        return self.__array__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(convert_to_tensor(self), dtype)

    def __neg__(self) -> Tensor:
        return slices_like(self, -self.values)

    def __str__(self) -> str:
        form = "" if self.dense_shape is None else f", dense_shape={self.dense_shape!s}"
        return f"IndexedSlices(indices={self.indices!s}, values={self.values!s}{form})"

    def __repr__(self) -> str:
        form = "" if self.dense_shape is None else f", dense_shape={self.dense_shape!r}"
        return f"IndexedSlices(indices={self.indices!r}, values={self.values!r}{form})"


class IndexedSlicesValue(NamedTuple):
    """The contents of ``IndexedSlices``, as ``Session.run`` gives them: NumPy arrays."""

    values: Any
    indices: Any
    dense_shape: Any


def slices_like(slices: IndexedSlices, values: Any, indices: Any = None) -> Tensor:
    """Slices of the same rows with other values, where a tensor would be returned."""
    rows = slices.indices if indices is None else indices
    return cast(Tensor, IndexedSlices(values, rows, slices.dense_shape))


def _form_of(form: SymbolicTensor, values: Any) -> TensorShape:
    """Return the dense shape as far as tracing knows it: a constant, else the rows' own shape."""
    const = form._symbol.const
    if const is not None:
        return TensorShape(const.tolist())
    rows: TensorShape = values.shape
    return TensorShape(None) if rows.rank is None else TensorShape([None, *rows[1:]])
