"""Loops whose iterations are nothing but element-wise operators, as one operator each.

``FusedLoop`` runs iterations for some milliseconds. It stands alone in the body of a ``Loop`` that
calls it until it is done: between two calls ONNX Runtime looks whether the run is to be ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tfx.graph.control import Loop
from tfx.graph.fusion.instructions import is_written, learn, operands
from tfx.graph.fusion.made_of import MadeOf
from tfx.graph.fusion.program_writer import is_number, write_program
from tfx.graph.fusion.symbols import Symbols
from tfx.graph.ir import FUSED_LOOP, Graph, Node, Value
from tfx.kernels import programs
from tfx.kernels.library import Instruction

_INT64, _BOOL = 7, 9
_ENDLESS = np.iinfo(np.int64).max


def fused_loop(
    node: Node, out: Graph, symbols: Symbols, instructions: Mapping[Instruction, int]
) -> Node | None:
    """A ``Loop`` in the place of another one that runs whole iterations as a program.

    Args:
        node: A ``Loop``.
        out: The graph around it, which gets constants.
        symbols: The shapes.
        instructions: Those that the kernels have.

    Returns:
        The node, with the same outputs; None where the body has other operators, collects values,
        or changes the shape of what it carries.
    """
    loop = Loop(node)
    body = loop.body
    if loop.rows or not body.nodes or not all(is_written(n, instructions) for n in body.nodes):
        return None
    if any(learn(n, symbols) is None for n in body.nodes) or _uses(body, loop.entered):
        return None
    tests = loop.goes_on is not loop.entered
    nodes, results = _with_own_results(body, [loop.goes_on, *loop.after] if tests else loop.after)
    for copy in nodes[len(body.nodes) :]:
        symbols.learn(copy)
    carried = results[1:] if tests else results
    pairs = zip(loop.before, carried, strict=True)
    if any(a.dtype != b.dtype or symbols.shape(a) != symbols.shape(b) for a, b in pairs):
        return None
    if tests and symbols.shape(results[0]) != ():
        return None
    nodes = _used(nodes, results)
    captured = _captured(nodes, [loop.iteration, *loop.before])
    inputs = [loop.iteration, *loop.before, *captured]
    if any(symbols.shape(v) is None for v in inputs):
        return None
    try:
        words = write_program(nodes, inputs, results, symbols, instructions)
    except programs.TooLargeError:
        return None
    return _around(loop, words, tests, captured, out)


def _uses(body: Graph, value: Value) -> bool:
    return any(x is value for node in body.nodes for x in node.inputs)


def _with_own_results(body: Graph, wanted: Sequence[Value]) -> tuple[list[Node], list[Value]]:
    """The nodes, and results of theirs, each once: what is no such result is copied."""
    nodes, results = list(body.nodes), []
    free = {id(node.outputs[0]) for node in nodes}
    for value in wanted:
        if id(value) in free:
            free.discard(id(value))
        else:
            name = body.unique_name(value.name)
            copy = Value(name, value.dtype, value.shape)
            nodes.append(Node("Identity", (value,), {}, name, None, (copy,)))
            value = copy
        results.append(value)
    return nodes, results


def _used(nodes: Sequence[Node], results: Sequence[Value]) -> list[Node]:
    """The nodes without those that no result needs: every loop of a program writes something."""
    needed = {id(v) for v in results}
    kept = []
    for node in reversed(nodes):
        if id(node.outputs[0]) in needed:
            kept.append(node)
            needed.update(map(id, operands(node)))
    return kept[::-1]


def _captured(nodes: Sequence[Node], known: Sequence[Value]) -> list[Value]:
    """What nodes use from around the loop; constants of one number become a part of the program."""
    inside = {id(v) for v in known} | {id(node.outputs[0]) for node in nodes}
    found = {id(v): v for node in nodes for v in operands(node)}
    return [v for key, v in found.items() if key not in inside and not is_number(v)]


def _around(
    loop: Loop, words: Sequence[int], tests: bool, captured: Sequence[Value], out: Graph
) -> Node:
    """The ``Loop`` that calls the program until it is done."""
    node, old = loop.node, loop.body

    def constant(number: int, kind: int) -> Value:
        return out.add_constant(np.array(number, np.int64 if kind == _INT64 else np.bool_), kind)

    limit = loop.limit or constant(_ENDLESS, _INT64)
    begins = loop.condition or constant(1, _BOOL)
    body = Graph(old.name, old.parent)
    body.constants = list(old.constants)

    def value(base: str, kind: int) -> Value:
        return Value(old.unique_name(base), kind, ())

    number, entered, start = value("call", _INT64), value("entered", _BOOL), value("start", _INT64)
    body.inputs = [number, entered, start, *loop.before]
    goes_on, following = value("goes_on", _BOOL), value("next", _INT64)
    after = [Value(old.unique_name(f"{v.name}_after"), v.dtype, v.shape, None) for v in loop.before]
    repeated = Node(
        FUSED_LOOP,
        (limit, start, entered, *loop.before, *captured),
        {"program": tuple(words), "carried": len(after), "tests": int(tests)},
        old.unique_name(node.name),
        node.source,
        (goes_on, following, *after),
        tag=MadeOf(tuple(old.nodes)),
    )
    body.nodes = [repeated]
    body.outputs = [goes_on, following, *after]
    total = Value(out.unique_name(f"{node.name}_iterations"), _INT64, ())
    return node.replaced(
        (None, begins, constant(0, _INT64), *loop.initial),
        {**node.attrs, "body": body},
        outputs=(total, *loop.final),
    )
