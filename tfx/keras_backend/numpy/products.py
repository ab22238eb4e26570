"""Products of vectors and matrices."""

from __future__ import annotations

from typing import Any

import tfx as tf
import tfx.experimental.numpy as tnp
from tfx.keras_backend import sparse_products
from tfx.keras_backend.conversion import convert_to_tensor
from tfx.keras_backend.numpy.arrays import moveaxis
from tfx.keras_backend.numpy.promotion import floats, kind_of, result_type, tensor, together
from tfx.keras_backend.sparse import is_sparse


def matmul(x1: Any, x2: Any) -> Any:
    """The matrix product, of batches too; of 8 bits in 32."""
    if is_sparse(x1) or is_sparse(x2):
        return sparse_products.matmul(*together(x1, x2))
    if kind_of(x1) == kind_of(x2) == "int8":
        x1, x2 = convert_to_tensor(x1, "int8"), convert_to_tensor(x2, "int8")
        if min(x1.shape.rank or 0, x2.shape.rank or 0) > 1:
            return _of_bytes(x1, x2)
        x1, x2 = tf.cast(x1, tf.int32), tf.cast(x2, tf.int32)
    x1, x2 = together(x1, x2)
    if x1.dtype == tf.bool:
        return tf.cast(tnp.matmul(tf.cast(x1, tf.int32), tf.cast(x2, tf.int32)), tf.bool)
    if x1.shape.rank == x2.shape.rank == 2:
        return tf.matmul(x1, x2)
    return tnp.matmul(x1, x2)


def _of_bytes(x1: Any, x2: Any) -> Any:
    """The product of matrices of int8 in int32, by ONNX Runtime's kernel for bytes.

    That for two signed operands takes twice as long as floats do. That for one signed operand
    saturates where the machine has no dot product of bytes. So both are made unsigned, which takes
    half the time of floats and gives the exact numbers everywhere.
    """
    middle = tf.constant(128, tf.uint8)
    left, right = (tf.cast(tf.cast(x, tf.int32) + 128, tf.uint8) for x in (x1, x2))
    return tf.raw.MatMulInteger(left, right, middle, middle)


def dot(x1: Any, x2: Any) -> Any:
    """The sum of products over the last axis and the one before the last."""
    return _numbers(tnp.dot, x1, x2)


def tensordot(x1: Any, x2: Any, axes: Any = 2) -> Any:
    """The sum of products over the given axes."""
    return _numbers(lambda a, b: tf.tensordot(a, b, axes), x1, x2)


def inner(x1: Any, x2: Any) -> Any:
    """The sum of products over the last axes."""
    return _numbers(tnp.inner, x1, x2)


def outer(x1: Any, x2: Any) -> Any:
    """The products of all pairs of elements."""
    return _numbers(lambda a, b: tf.reshape(a, [-1, 1]) * tf.reshape(b, [-1]), x1, x2)


def vdot(x1: Any, x2: Any) -> Any:
    """The sum of products of all elements."""
    return _numbers(lambda a, b: tf.reduce_sum(tf.reshape(a, [-1]) * tf.reshape(b, [-1])), x1, x2)


def kron(x1: Any, x2: Any) -> Any:
    """The Kronecker product."""
    return _numbers(tnp.kron, x1, x2)


def cross(
    x1: Any, x2: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """The vector product."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x1, x2 = (moveaxis(tensor(x), a, -1) for x, a in ((x1, axisa), (x2, axisb)))
    flat = x1.shape[-1] == x2.shape[-1] == 2
    found = _numbers(tnp.cross, _in_space(x1), _in_space(x2))
    return found[..., 2] if flat else moveaxis(found, -1, axisc)


def _in_space(x: Any) -> Any:
    """Vectors of three elements, the third of which is 0 where there were two."""
    if x.shape[-1] != 2:
        return x
    return tf.pad(x, [[0, 0]] * (x.shape.rank - 1) + [[0, 1]])


def _numbers(compute: Any, x1: Any, x2: Any) -> Any:
    """A product; of truth values by way of integers."""
    x1, x2 = together(x1, x2)
    if x1.dtype == tf.bool:
        return tf.cast(compute(tf.cast(x1, tf.int32), tf.cast(x2, tf.int32)), tf.bool)
    return compute(x1, x2)


def einsum(subscripts: str, *operands: Any, **kwargs: Any) -> Any:
    """A sum of products by Einstein's convention; of 8 bits in 32."""
    kinds = {kind_of(x) for x in operands}
    if kinds == {"int8"}:
        if len(operands) == 2 and (axes := _contracted(subscripts)):
            x1, x2 = (convert_to_tensor(x, "int8") for x in operands)
            return _contraction(x1, x2, axes)
        operands = tuple([convert_to_tensor(x, "int32") for x in operands])
    operands = together(*operands)
    if operands[0].dtype == tf.bool:
        wide = [tf.cast(x, tf.int32) for x in operands]
        return tf.cast(tf.einsum(subscripts, *wide), tf.bool)
    return tf.einsum(subscripts, *operands)


def _contracted(subscripts: str) -> int:
    """How many last axes of the first operand meet as many first ones of the second; 0: others."""
    given, arrow, result = subscripts.replace(" ", "").partition("->")
    left, _, right = given.partition(",")
    for count in range(1, min(len(left), len(right)) + 1):
        rest = left[:-count] + right[count:]
        same = left[-count:] == right[:count]
        if arrow and "." not in given and same and rest == result and len(set(rest)) == len(rest):
            return count
    return 0


def _contraction(x1: Any, x2: Any, axes: int) -> Any:
    """The sum of products over the last axes of one tensor and the first ones of another."""
    before, after = tf.shape(x1)[:-axes], tf.shape(x2)[axes:]
    inner = tf.reduce_prod(tf.shape(x2)[:axes])
    rows = tf.reshape(x1, tf.stack([-1, inner]))
    columns = tf.reshape(x2, tf.stack([inner, -1]))
    found = tf.reshape(_of_bytes(rows, columns), tf.concat([before, after], 0))
    found.set_shape([*x1.shape[:-axes], *x2.shape[axes:]])
    return found


def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The sum of a diagonal."""
    x = tensor(x)
    kind = result_type(kind_of(x))
    if kind in ("bool", "int8", "int16"):
        x = tf.cast(x, tf.int32)
    elif kind in ("uint8", "uint16"):
        x = tf.cast(x, tf.uint32)
    return tf.reduce_sum(tnp.diagonal(x, offset, axis1, axis2), -1)


def slogdet(x: Any) -> Any:
    """The sign, and the logarithm of the absolute value, of the determinant."""
    return tuple(tf.linalg.slogdet(floats(x)[0]))
