"""A graph as text."""

from __future__ import annotations

import numpy as np

from tfx.core.source import SourceLocation
from tfx.graph import ir
from tfx.graph.ir import Graph
from tfx.graph.printer import to_text

FLOAT = 1


def test_text():
    graph = Graph("f")
    x = graph.add_input("x", FLOAT, ("batch", "x.d1"))
    two = graph.add_constant(np.array(2, np.float32), FLOAT)
    line = SourceLocation("/home/me/model.py", 3, "f")
    y = graph.add_node("Mul", [x, two], {}, [(FLOAT, ("batch", None))], source=line).outputs[0]
    callee = Graph("inner")
    callee.outputs = [callee.add_input("a", FLOAT, None)]
    z = graph.add_node(ir.CALL, [y], {"graph": callee}, [(FLOAT, None)]).outputs[0]
    w = graph.add_node("Clip", [z, None, two], {}, [(FLOAT, None)]).outputs[0]
    graph.outputs = list(graph.add_node("Softmax", [w], {"axis": 0}, [(FLOAT, None)]).outputs)
    assert to_text(graph).splitlines() == [
        "f(%x: float32[batch, None]):",
        "  %const: float32[] = constant",
        "  %Mul_out: float32[batch, None] = Mul(%x, %const)   # model.py:3 in f",
        "  %Call_out: float32<unknown rank> = inner via Call(%Mul_out)",
        "    inner(%a: float32<unknown rank>):",
        "      return %a",
        "  %Clip_out: float32<unknown rank> = Clip(%Call_out, _, %const)",
        "  %Softmax_out: float32<unknown rank> = Softmax(%Clip_out, axis=0)",
        "  return %Softmax_out",
    ]
