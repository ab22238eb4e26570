"""``print``: tensors as text, long ones abbreviated."""

from __future__ import annotations

import logging
import pprint
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tfx.core import nest
from tfx.core.log import LOGGER
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.ops._host import contents_of
from tfx.ops._support import tensor

# Significant digits by which a float is written if they suffice, and those that always do.
_DIGITS = {8: (15, 17)}
_FEW_DIGITS = (6, 9)
_LEVELS = {
    logging.info: logging.INFO,
    logging.warning: logging.WARNING,
    logging.error: logging.ERROR,
}


def print(
    *inputs: Any,
    output_stream: Any = None,
    summarize: int = 3,
    sep: str = " ",
    end: str = "\n",
    name: str | None = None,
) -> None:
    """Print values, tensors by their contents.

    Args:
        *inputs: Tensors, variables, structures of them, or any other objects.
        output_stream: ``sys.stderr`` (the default), ``sys.stdout``, a ``logging`` function such as
            ``logging.info``, or ``"file://path"`` to append to a file.
        summarize: How many elements to show at the start and end of each dimension; -1: all.
        sep: Between the inputs.
        end: After the last one.
        name: Accepted for compatibility.

    Raises:
        ValueError: another output stream.
        OperatorNotAllowedInGraphError: inside a function, a tensor whose contents are not known.

    Example:
        >>> import sys
        >>> import tfx as tf
        >>> tf.print("x:", tf.range(10), {"y": tf.constant(0.5)}, output_stream=sys.stdout)
        x: [0 1 2 ... 7 8 9] {'y': 0.5}
    """
    write = _writer(output_stream)
    write(sep.join([_shown(x, summarize) for x in inputs]) + end)


def _writer(stream: Any) -> Callable[[str], Any]:
    if stream is None:
        return sys.stderr.write
    if stream in (sys.stderr, sys.stdout):
        written: Callable[[str], Any] = stream.write
        return written
    if stream in _LEVELS:
        level = _LEVELS[stream]
        return lambda text: LOGGER.log(level, "%s", text.removesuffix("\n"))
    if isinstance(stream, str) and stream.startswith("file://"):
        return lambda text: _append(Path(stream.removeprefix("file://")), text)
    raise ValueError(
        f"Unsupported output stream, logging level, or file: {stream!r}. Supported streams are "
        "sys.stdout, sys.stderr, logging.info, logging.warning, logging.error. A file needs to be "
        "in the form of 'file://<filepath>'."
    )


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


class _Text:
    """Text that ``pprint`` shows as it is."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _shown(x: Any, summarize: int) -> str:
    if isinstance(x, str):
        return x
    if isinstance(x, Tensor | Variable):
        return _summary(x, summarize)
    if nest.is_nested(x):

        def leaf(y: Any) -> Any:
            return _Text(_summary(y, summarize)) if isinstance(y, Tensor | Variable) else y

        return pprint.pformat(nest.map_structure(leaf, x))
    return pprint.pformat(x)


def _summary(x: Any, summarize: int) -> str:
    (array,) = contents_of(
        [tensor(x)],
        "tf.print",
        "Use Python's print to see the tensor once while tracing, or return it from the function "
        "and print it there.",
    )
    return describe(array, summarize)


def describe(array: np.ndarray[Any, Any], summarize: int) -> str:
    """An array as text, with at most ``summarize`` elements at each end of each dimension."""
    return _rows(array, summarize if summarize >= 0 else array.size, 1)


def _rows(array: Any, edge: int, depth: int) -> str:
    if not isinstance(array, np.ndarray) or array.ndim == 0:
        return _element(array[()] if isinstance(array, np.ndarray) else array)
    count = array.shape[0]
    shown = range(count) if count <= 2 * edge else [*range(edge), *range(count - edge, count)]
    rows = [_rows(array[i], edge, depth + 1) for i in shown]
    if len(rows) < count:
        rows.insert(edge, "...")
    gap = " " if array.ndim == 1 else "\n" * (array.ndim - 1) + " " * depth
    return f"[{gap.join(rows)}]"


def _element(x: Any) -> str:
    if isinstance(x, bytes):
        return f'"{x.decode(errors="backslashreplace")}"'
    if isinstance(x, np.bool_):
        return str(int(x))
    if isinstance(x, np.integer) or np.dtype(type(x)).kind in "iu":
        return str(int(x))
    few, many = _DIGITS.get(np.dtype(type(x)).itemsize, _FEW_DIGITS)
    kind = np.float64 if few > 6 else np.float32
    short = f"{float(x):.{few}g}"
    return short if kind(short) == kind(x) or x != x else f"{float(x):.{many}g}"
