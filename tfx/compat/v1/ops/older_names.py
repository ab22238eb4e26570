"""Operations that TensorFlow 2 has under other names, or no more."""

from __future__ import annotations

from typing import Any

from tfx.compat.v1.graph.graph import Graph
from tfx.core.dtypes import as_dtype
from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.debugging.print import print as show
from tfx.ops.math import arithmetic
from tfx.ops.math.cast import identity
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
