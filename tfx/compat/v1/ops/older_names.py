"""Operations that TensorFlow 2 has under other names, or no more."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tfx.compat.v1.graph.graph import Graph
from tfx.core.dtypes import as_dtype
from tfx.core.errors import InvalidArgumentError
from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.array.creation import fill
from tfx.ops.array.reshape import broadcast_to, reshape
from tfx.ops.array.scatter import tensor_scatter_nd_update
from tfx.ops.array.shape import shape
from tfx.ops.debugging.print import print as show
from tfx.ops.math import arithmetic
from tfx.ops.math.cast import cast, identity
from tfx.script_ops.py_function import numpy_function


def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The quotient as Python 2 has it: of integers rounded down.

    Args:
        x: A tensor.
        y: A tensor of the same dtype.
        name: Name of the operation.
    """
    a = convert_to_tensor(x)
    b = convert_to_tensor(y, a.dtype)
    return arithmetic.floordiv(a, b) if a.dtype.is_integer else arithmetic.truediv(a, b)


def py_func(
    func: Any,
    inp: Any,
    Tout: Any,  # noqa: N803
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Call a Python function of NumPy arrays in the middle of a graph; see ``numpy_function``.

    Args:
        func: The function.
        inp: Its arguments, a list of tensors.
        Tout: The dtype of its result, or a list of dtypes.
        stateful: Whether it must be called if nothing uses its results.
        name: Name of the operation.
    """
    dtypes = [as_dtype(t) for t in Tout] if isinstance(Tout, list | tuple) else as_dtype(Tout)
    return numpy_function(func, inp, dtypes, stateful)


def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """A tensor with given elements at some places; see ``tf.sparse.to_dense``.

    Args:
        sparse_indices: A place, several ``[n]`` in a vector, or ``[n, rank]``.
        output_shape: The shape of the result.
        sparse_values: A value for each place, or one for all.
        default_value: What is everywhere else.
        validate_indices: Eagerly, refuse places that are out of order or given twice.
        name: Name of the operation.

    Raises:
        InvalidArgumentError: such places, or ones that are out of bounds.
    """
    values, places = convert_to_tensor(sparse_values), convert_to_tensor(sparse_indices)
    rank = convert_to_tensor(output_shape).shape[0]
    places = reshape(cast(places, "int64"), [-1, rank])
    if validate_indices and isinstance(places, EagerTensor):
        rows = [tuple(row) for row in places.numpy().tolist()]
        if any(a >= b for a, b in pairwise(rows)):
            raise InvalidArgumentError(
                f"sparse_indices are out of order or repeated: {rows[:10]}; sort them, or pass "
                "validate_indices=False.",
                op="SparseToDense",
            )
    background = fill(output_shape, convert_to_tensor(default_value, values.dtype))
    return tensor_scatter_nd_update(background, places, broadcast_to(values, shape(places)[:1]))


def Print(  # noqa: N802
    input_: Any,
    data: Any,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """A tensor that prints others whenever it is computed.

    Args:
        input_: The tensor.
        data: What to print.
        message: What to print first.
        first_n: Must be None: every time is printed.
        summarize: How many elements of each tensor.
        name: Name of the operation.

    Raises:
        ValueError: ``first_n`` is given.
    """
    if first_n is not None:
        raise ValueError(f"Print prints every time; got first_n={first_n}. Leave it out.")
    graph = current().graph
    values = [x for item in data for x in ("[", item, "]")]
    if not isinstance(graph, Graph):
        show(*([message] if message else []), *values, sep="", summarize=summarize or 3)
        return identity(input_)
    start = len(graph.ordered.nodes)
    show(*([message] if message else []), *values, sep="", summarize=summarize or 3)
    with graph.ordered.after(graph.ordered.nodes[start:]):
        return identity(input_)
