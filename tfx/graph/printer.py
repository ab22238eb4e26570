"""Graphs as text, one node a line, for people."""

from __future__ import annotations

from tfx.graph.infer import describe
from tfx.graph.ir import Graph, Value


def _typed(value: Value) -> str:
    return f"%{value.name}: {describe(value)}"


def to_text(graph: Graph, indent: str = "") -> str:
    """The graph with types, attributes and the user's lines."""
    inputs = ", ".join(_typed(v) for v in graph.inputs)
    lines = [f"{indent}{graph.name}({inputs}):"]
    lines += [f"{indent}  {_typed(v)} = constant" for v in graph.constants]
    for node in graph.nodes:
        plain = {k: v for k, v in node.attrs.items() if not isinstance(v, Graph)}
        attrs = "".join(f", {k}={v!r}" for k, v in plain.items())
        results = ", ".join(_typed(v) for v in node.outputs)
        given = ", ".join("_" if v is None else f"%{v.name}" for v in node.inputs)
        where = f"   # {node.source.text()}" if node.source else ""
        callee = node.attrs["graph"].name + " via " if node.op == "Call" else ""
        lines.append(f"{indent}  {results} = {callee}{node.op}({given}{attrs}){where}")
        lines += [to_text(body, indent + "    ") for body in node.bodies()]
    lines.append(f"{indent}  return {', '.join(f'%{v.name}' for v in graph.outputs)}")
    return "\n".join(lines)
