"""``print``: tensors as text, long ones abbreviated, eagerly and whenever a graph runs."""

from __future__ import annotations

import logging
import pprint
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfx.core import dtypes, nest
from tfx.core.errors import InvalidArgumentError
from tfx.core.log import LOGGER
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.composite.ragged import is_ragged
from tfx.framework.composite.sparse import is_sparse
from tfx.framework.host_call import host_call
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.framework.variable import Variable
from tfx.graph.ir import HostCall
from tfx.ops.common.arguments import tensor

# Significant digits by which a float is written if they suffice, and those that always do.
_DIGITS = {8: (15, 17)}
_FEW_DIGITS = (6, 9)
_LEVELS = {"info": logging.INFO, "warn": logging.WARNING, "warning": logging.WARNING}
_LEVELS["error"] = logging.ERROR
# The levels of absl.logging, which TensorFlow's programs log with.
_ABSL_LEVELS = {0: logging.INFO, -1: logging.WARNING, -2: logging.ERROR}
# Where the text of tensor number n goes: this and the n-th private character. As wide as
# TensorFlow's placeholder, because long structures are broken into lines before contents are known.
_MARK, _FIRST = "\ue000", 0xF0000
_PLACE = re.compile(f"{_MARK}([{chr(_FIRST)}-\U0010fffd])")


def print(
    *inputs: Any,
    output_stream: Any = None,
    summarize: int = 3,
    sep: str = " ",
    end: str = "\n",
    name: str | None = None,
) -> None:
    """Print values, tensors by their contents.

    Inside a function it prints at each run of the function, in the order of the program. What is
    no tensor is shown as it was while the function was traced.

    Args:
        *inputs: Tensors, variables, structures of them, or any other objects.
        output_stream: ``sys.stderr`` (the default), ``sys.stdout``, a level or function of
            ``logging`` or ``absl.logging`` such as ``logging.INFO`` or ``logging.info``, or
            ``"file://path"`` to append to a file.
        summarize: How many elements to show at the start and end of each dimension; -1: all.
        sep: Between the inputs.
        end: After the last one.
        name: Accepted for compatibility.

    Raises:
        ValueError: another output stream.

    Example:
        >>> import sys
        >>> import tfx as tf
        >>> tf.print("x:", tf.range(10), {"y": tf.constant(0.5)}, output_stream=sys.stdout)
        x: [0 1 2 ... 7 8 9] {'y': 0.5}
        >>> @tf.function
        ... def double(x):
        ...     tf.print("doubling", x, output_stream=sys.stdout)
        ...     return 2 * x
        >>> int(double(tf.constant(4)))
        doubling 4
        8
    """
    write = _writer(output_stream)
    places = _Places(summarize)
    pieces = _PLACE.split(sep.join([_template(x, places) for x in inputs]) + end)
    # The one text that stands as it is, without quotation marks.
    plain = len(inputs) == 1 and _is_text(inputs[0])
    texts = pieces[::2]
    order = [ord(mark) - _FIRST for mark in pieces[1::2]]

    def run(given: Sequence[EagerTensor]) -> None:
        arrays = [given[i].view() for i in order]
        shown = [
            _decoded(a.item()) if plain or i in places.texts else describe(a, summarize)
            for i, a in zip(order, arrays, strict=True)
        ]
        write("".join([t + s for t, s in zip(texts, [*shown, ""], strict=True)]))

    host_call(HostCall("print", run, "{}".join(texts).strip()), places.tensors)


def _writer(stream: Any) -> Callable[[str], Any]:
    """Return a function that writes a text; it looks up standard streams at each call."""
    if stream is None or stream in (sys.stderr, sys.__stderr__):
        return lambda text: sys.stderr.write(text)
    if stream in (sys.stdout, sys.__stdout__):
        return lambda text: sys.stdout.write(text)
    level = _level(stream)
    if level is not None:
        return lambda text: LOGGER.log(level, "%s", text.removesuffix("\n"))
    if isinstance(stream, str) and stream.startswith("file://"):
        return lambda text: _append(Path(stream.removeprefix("file://")), text)
    raise InvalidArgumentError(
        f"Unsupported output stream, logging level, or file: {stream!r}. Supported streams are "
        "sys.stdout, sys.stderr, logging.info, logging.warning, logging.error. A file needs to be "
        "in the form of 'file://<filepath>'."
    )


def _level(stream: Any) -> int | None:
    """The level that a number, or a function of a logging module, stands for."""
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream if stream in _LEVELS.values() else _ABSL_LEVELS.get(stream)
    if callable(stream) and "logging" in (getattr(stream, "__module__", None) or ""):
        return _LEVELS.get(stream.__name__)
    return None


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def _is_text(x: Any) -> bool:
    return isinstance(x, Tensor | Variable) and x.dtype is dtypes.string and x.shape.rank == 0


def _decoded(text: bytes) -> str:
    return text.decode(errors="backslashreplace")


class _Text:
    """Text that ``pprint`` shows as it is."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


class _Places:
    """The tensors that are printed, by the numbers of their places in the text.

    Attributes:
        tensors: The tensors.
        texts: Which of them are texts to be printed as they are.
    """

    def __init__(self, summarize: int) -> None:
        self.tensors: list[Tensor] = []
        self.texts: set[int] = set()
        self._summarize = summarize

    def of(self, x: Any) -> Any:
        """What stands for a leaf of a structure."""
        if isinstance(x, Tensor | Variable | IndexedSlices):
            return _Text(self._place(tensor(x)))
        if is_ragged(x):
            self.texts.add(len(self.tensors))
            return _Text(self._place(x._as_text(self._summarize)))
        if is_sparse(x):
            parts = [self._place(part) for part in (x.indices, x.values, x.dense_shape)]
            return _Text("'SparseTensor(indices={}, values={}, shape={})'".format(*parts))
        return x

    def _place(self, x: Tensor) -> str:
        self.tensors.append(x)
        return _MARK + chr(_FIRST + len(self.tensors) - 1)


def _template(x: Any, places: _Places) -> str:
    """An input as text, with places for the tensors in it."""
    if isinstance(x, str):
        return x
    return pprint.pformat(nest.map_structure(places.of, x) if nest.is_nested(x) else places.of(x))


def describe(array: np.ndarray[Any, Any], summarize: int) -> str:
    """An array as text, with at most ``summarize`` elements at each end of each dimension."""
    return _rows(array, summarize if summarize >= 0 else array.size, 1)


def _rows(array: Any, edge: int, depth: int) -> str:
    if not isinstance(array, np.ndarray) or array.ndim == 0:
        return _element(array[()] if isinstance(array, np.ndarray) else array)
    count = array.shape[0]
    edge = edge if array.size else 0
    shown = range(count) if count <= 2 * edge else [*range(edge), *range(count - edge, count)]
    rows = [_rows(array[i], edge, depth + 1) for i in shown]
    if len(rows) < count:
        rows.insert(edge, "...")
    gap = " " if array.ndim == 1 else "\n" * (array.ndim - 1) + " " * depth
    if not shown and count:
        return f"[{gap}...]"
    return f"[{gap.join(rows)}]"


_ESCAPES = str.maketrans(
    {chr(i): f"\\{i:03o}" for i in (*range(32), 127)}
    | {"\n": r"\n", "\r": r"\r", "\t": r"\t", '"': r"\"", "'": r"\'", "\\": r"\\"}
)


def _escaped(text: bytes) -> str:
    """A string as it stands between quotation marks."""
    parts = text.decode(errors="surrogateescape").translate(_ESCAPES)
    return parts.encode(errors="surrogateescape").decode(errors="backslashreplace")


def _element(x: Any) -> str:
    if isinstance(x, bytes):
        return f'"{_escaped(x)}"'
    if isinstance(x, np.bool_):
        return str(int(x))
    if isinstance(x, np.integer) or np.dtype(type(x)).kind in "iu":
        return str(int(x))
    if isinstance(x, np.complexfloating):
        imaginary = _element(x.imag)
        return f"{_element(x.real)}{'' if imaginary[0] == '-' else '+'}{imaginary}j"
    few, many = _DIGITS.get(np.dtype(type(x)).itemsize, _FEW_DIGITS)
    kind = np.float64 if few > 6 else np.float32
    short = f"{float(x):.{few}g}"
    return short if kind(short) == kind(x) or x != x else f"{float(x):.{many}g}"
