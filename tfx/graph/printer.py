"""Graphs as text, one node a line, for people.

A value has the name by which a program can ask for it: that of the operation that makes it, with
the number of the output where it has several. Called graphs stand below, each once, but for those
that are a part of this library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfx.graph.infer import describe
from tfx.graph.ir import CALL, HOST, Graph, Node, Value

_CONTENTS = 8  # elements of a constant that are shown
_ATTRIBUTE = 60  # letters of an attribute that are shown
_SOURCE_COLUMN = 72


def to_text(
    graph: Graph,
    *,
    notes: Mapping[int, str] | None = None,
    output_names: Sequence[str] | None = None,
) -> str:
    """The graph with types, attributes, small constants, devices and the user's lines.

    Args:
        graph: What to list.
        notes: What to add to inputs and nodes, by ``id``.
        output_names: What the outputs are called; None: nothing.
    """
    printer = _Printer(notes or {})
    lines = printer.graph(graph, "", output_names)
    listed = {id(graph)}
    while printer.callees:
        callee = printer.callees.pop(0)
        if id(callee) not in listed:
            listed.add(id(callee))
            lines += ["", *printer.graph(callee, "", None)]
    return "\n".join(lines)


def name_of(value: Value) -> str:
    """The name of a value for people: its operation's, with ``:1`` and so on where it has more."""
    node = value.node
    if node is None:
        return value.name
    if len(node.outputs) == 1:
        return node.name
    number = next((i for i, v in enumerate(node.outputs) if v is value), 0)
    return f"{node.name}:{number}"


def contents(array: np.ndarray[Any, Any]) -> str:
    """A small constant in full, of a large one its size."""
    if array.size <= _CONTENTS:
        return str(array.tolist())
    return f"constant of {array.nbytes:,} bytes"


class _Printer:
    def __init__(self, notes: Mapping[int, str]) -> None:
        self.notes = notes
        self.callees: list[Graph] = []

    def graph(self, graph: Graph, indent: str, output_names: Sequence[str] | None) -> list[str]:
        inputs = ", ".join(self._typed(v) + self._note(v) for v in graph.inputs)
        lines = [f"{indent}{graph.name}({inputs}):"]
        for value in graph.constants:
            text = "constant" if value.const is None else contents(value.const)
            lines.append(f"{indent}  {self._typed(value)} = {text}")
        for node in graph.nodes:
            lines.append(self._node(node, indent + "  "))
            if node.op == CALL:
                if not node.attrs["graph"].library:
                    self.callees.append(node.attrs["graph"])
            else:
                for body in node.bodies():
                    lines += self.graph(body, indent + "    ", None)
        results = [f"%{name_of(v)}" for v in graph.outputs]
        if output_names is not None:
            pairs = zip(output_names, results, strict=True)
            results = [f"{name}={result}" for name, result in pairs]
        lines.append(f"{indent}  return {', '.join(results)}".rstrip())
        return lines

    def _node(self, node: Node, indent: str) -> str:
        results = ", ".join(map(self._typed, node.outputs))
        given = ["_" if v is None else f"%{name_of(v)}" for v in node.inputs]
        given += [
            f"{name}={_short(value)}"
            for name, value in node.attrs.items()
            if not isinstance(value, Graph) and node.op != HOST
        ]
        head = node.op
        if node.op == CALL:
            head = f"call {node.attrs['graph'].name}"
        elif node.op == HOST:
            head = f"host {node.attrs['call'].kind}"
        if not results:
            results = f"%{node.name}"
        line = f"{indent}{results} = {head}({', '.join(given)}){self._note(node)}"
        if node.device is not None:
            line += f" on {node.device}"
        if node.source:
            line = f"{line:<{_SOURCE_COLUMN}}   # {node.source.text()}"
        return line

    def _note(self, item: Value | Node) -> str:
        note = self.notes.get(id(item))
        return f" <{note}>" if note else ""

    @staticmethod
    def _typed(value: Value) -> str:
        return f"%{name_of(value)}: {describe(value)}"


def _short(value: Any) -> str:
    text = contents(value) if isinstance(value, np.ndarray) else repr(value)
    return text if len(text) <= _ATTRIBUTE else f"{text[: _ATTRIBUTE - 3]}..."
