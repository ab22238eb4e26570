"""Single texts among the constants of a graph, found to be replaced: paths of files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.graph.ir import Graph, Value


def replaced_texts(graph: Graph, texts: Mapping[str, str]) -> Iterator[tuple[Value, Any]]:
    """Constants of a graph that are one of some texts, in bodies and called graphs too.

    Args:
        graph: The graph; it is not changed.
        texts: New text by old text.

    Yields:
        The constant and the array that is to take its place.
    """
    if not texts:
        return
    graphs, seen = [graph], {id(graph)}
    while graphs:
        part = graphs.pop()
        for value in part.constants:
            new = texts.get(_text(value))
            if new is not None:
                array = np.empty((), object)
                array[()] = new.encode() if isinstance(_item(value), bytes) else new
                yield value, array
        for node in part.nodes:
            for body in node.bodies():
                if id(body) not in seen:
                    seen.add(id(body))
                    graphs.append(body)


def _item(value: Value) -> Any:
    return None if value.const is None else value.const.reshape(-1)[0]


def _text(value: Value) -> str:
    """The text of a constant that is a single one; else an empty one, which is no path."""
    if value.dtype != dtypes.string.onnx or value.const is None or value.const.shape != ():
        return ""
    item = _item(value)
    return item.decode("utf-8", "surrogateescape") if isinstance(item, bytes) else str(item)
