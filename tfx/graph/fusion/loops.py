"""Loops whose iterations are nothing but element-wise operators, as one operator each.

``FusedLoop`` runs iterations for some milliseconds. It stands alone in the body of a ``Loop`` that
calls it until it is done: between two calls ONNX Runtime looks whether the run is to be ended. What
a loop collects comes as many rows at a time as a call may run iterations, and is put together, and
cut to what did run, behind the loop.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tfx.graph.control import Loop
from tfx.graph.fusion.instructions import is_written, learn, operands
from tfx.graph.fusion.made_of import MadeOf
from tfx.graph.fusion.program_writer import is_number, write_program
from tfx.graph.fusion.symbols import Shape, Symbols
from tfx.graph.fusion.taken_apart import taken_apart
from tfx.graph.ir import FUSED_LOOP, Graph, Node, RawShape, Value
from tfx.graph.replacement_builder import ReplacementBuilder
from tfx.kernels import programs
from tfx.kernels.library import Instruction

_INT64, _BOOL = 7, 9
_ENDLESS = np.iinfo(np.int64).max
_END = -(1 << 62)
_MOST_IN_A_ROW = 1 << 16


@dataclass(slots=True)
class _Iterations:
    """What a ``Loop`` and a ``Scan`` have in common.

    Attributes:
        node: Either.
        body: Its body.
        limit: How many iterations there are at most; a number, if it is constant.
        begins: Whether there is a first one; None: there is.
        iteration: The number of an iteration in the body.
        goes_on: In the body, whether another one follows; None: the limit alone ends the loop.
        initial: What is carried: before all iterations,
        before: at the beginning of one,
        after: at its end,
        final: behind all.
        nodes: Of the body, with those that take the rows of a ``Scan``.
        each: What is collected: of one iteration,
        rows: and of all.
        backwards: Whether rows are in the opposite order.
    """

    node: Node
    body: Graph
    limit: Value | int
    begins: Value | None
    iteration: Value
    goes_on: Value | None
    initial: Sequence[Value | None]
    before: Sequence[Value]
    after: Sequence[Value]
    final: Sequence[Value]
    nodes: list[Node]
    each: Sequence[Value]
    rows: Sequence[Value]
    backwards: Sequence[bool]


def fused_loop(
    node: Node, out: Graph, symbols: Symbols, instructions: Mapping[Instruction, int]
) -> list[Node]:
    """A ``Loop`` in the place of another one, or of a ``Scan``, that runs iterations as a program.

    Args:
        node: The loop.
        out: The graph around it, which gets constants.
        symbols: The shapes.
        instructions: Those that the kernels have.

    Returns:
        The nodes that make the same values; none where the body has other operators, or changes the
        shape of what it carries.
    """
    loop = _of_loop(node) if node.op == "Loop" else _of_scan(node, out)
    if loop is None or not loop.nodes:
        return []
    parts = [each for inner in loop.nodes for each in taken_apart(inner, loop.body)]
    loop.nodes = [each for part in parts for each in _on_tensors(part, loop.body, instructions)]
    if not all(is_written(n, instructions, in_loop=True) for n in loop.nodes):
        return []
    if any(learn(n, symbols) is None for n in loop.nodes):
        return []
    wanted = [] if loop.goes_on is None else [loop.goes_on]
    nodes, results = _with_own_results(loop, [*wanted, *loop.after, *loop.each])
    for copy in nodes[len(loop.nodes) :]:
        if not is_written(copy, instructions) or learn(copy, symbols) is None:
            return []
    carried = results[len(wanted) : len(wanted) + len(loop.after)]
    pairs = zip(loop.before, carried, strict=True)
    if any(a.dtype != b.dtype or symbols.shape(a) != symbols.shape(b) for a, b in pairs):
        return []
    if wanted and symbols.shape(results[0]) != ():
        return []
    collected = [symbols.shape(value) for value in results[len(wanted) + len(loop.after) :]]
    if any(shape is None or len(shape) >= programs.MAX_RANK for shape in collected):
        return []
    taken = [node.outputs[0].shape for node in loop.nodes if node.op == "Gather"]
    if any(map(_is_large, (*collected, *taken))):
        return []
    nodes = _used(nodes, results)
    captured = _captured(nodes, [loop.iteration, *loop.before])
    inputs = [loop.iteration, *loop.before, *captured]
    if any(symbols.shape(v) is None for v in inputs):
        return []
    try:
        words = write_program(nodes, inputs, results, symbols, instructions)
    except programs.TooLargeError:
        return []
    return _around(loop, words, captured, [shape for shape in collected if shape is not None], out)


def _of_loop(node: Node) -> _Iterations | None:
    loop, goes_on = Loop(node), Loop(node).goes_on
    if _uses(loop.body, loop.entered) or loop.entered in (*loop.after, *loop.each):
        return None
    always = goes_on is loop.entered or (goes_on.const is not None and bool(goes_on.const.all()))
    return _Iterations(
        node,
        loop.body,
        loop.limit or _ENDLESS,
        loop.condition,
        loop.iteration,
        None if always else goes_on,
        loop.initial,
        loop.before,
        loop.after,
        loop.final,
        list(loop.body.nodes),
        loop.each,
        loop.rows,
        [False] * len(loop.rows),
    )


def _of_scan(node: Node, out: Graph) -> _Iterations | None:
    """A ``Scan`` of the latest form, along first axes; its rows are taken one by one."""
    body: Graph = node.attrs["body"]
    given: int = node.attrs["num_scan_inputs"]
    carried = len(node.inputs) - given
    collected = len(node.outputs) - carried
    if any(node.attrs.get("scan_input_axes", ())) or any(node.attrs.get("scan_output_axes", ())):
        return None
    data = [value for value in node.inputs[carried:] if value is not None]
    counts = {value.shape[0] for value in data if value.shape}
    count = counts.pop() if len(counts) == 1 else None
    if len(data) != given or not isinstance(count, int) or count < 1:
        return None
    directions = node.attrs.get("scan_input_directions", (0,) * given)
    number = Value(body.unique_name("iteration"), _INT64, ())
    numbers = {False: number}
    nodes: list[Node] = []

    def made(op: str, inputs: Sequence[Value], result: Value) -> None:
        name = body.unique_name(result.name)
        nodes.append(Node(op, tuple(inputs), {}, name, node.source, (result,)))

    for value, row, backwards in zip(data, body.inputs[carried:], directions, strict=True):
        if backwards and True not in numbers:
            numbers[True] = Value(body.unique_name("from_end"), _INT64, ())
            last = out.add_constant(np.array(count - 1, np.int64), _INT64)
            made("Sub", [last, number], numbers[True])
        made("Gather", [value, numbers[bool(backwards)]], row)
    turned = node.attrs.get("scan_output_directions", (0,) * collected)
    return _Iterations(
        node,
        body,
        count,
        None,
        number,
        None,
        node.inputs[:carried],
        body.inputs[:carried],
        body.outputs[:carried],
        node.outputs[:carried],
        [*nodes, *body.nodes],
        body.outputs[carried:],
        node.outputs[carried:],
        [bool(direction) for direction in turned],
    )


def _on_tensors(node: Node, body: Graph, instructions: Mapping[Instruction, int]) -> list[Node]:
    """A node, behind copies of constants of one number if it is written with tensors alone."""
    if is_written(node, instructions, in_loop=True):
        return [node]
    copies, inputs = [], list(node.inputs)
    for place, value in enumerate(inputs):
        if value is not None and is_number(value):
            name = body.unique_name(value.name)
            made = Value(name, value.dtype, value.shape)
            copies.append(Node("Identity", (value,), {}, name, node.source, (made,)))
            inputs[place] = made
    changed = node.replaced(inputs) if copies else node
    return [*copies, changed] if is_written(changed, instructions, in_loop=True) else [node]


def _uses(body: Graph, value: Value) -> bool:
    return any(x is value for node in body.nodes for x in node.inputs)


def _with_own_results(loop: _Iterations, wanted: Sequence[Value]) -> tuple[list[Node], list[Value]]:
    """The nodes, and results of theirs, each once: what is no such result is copied."""
    nodes, results = list(loop.nodes), []
    free = {id(node.outputs[0]) for node in nodes}
    for value in wanted:
        if id(value) in free:
            free.discard(id(value))
        else:
            name = loop.body.unique_name(value.name)
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
    loop: _Iterations,
    words: Sequence[int],
    captured: Sequence[Value],
    collected: Sequence[Shape],
    out: Graph,
) -> list[Node]:
    """The ``Loop`` that calls the program until it is done, and what puts rows together."""
    node, old = loop.node, loop.body

    def constant(number: int, kind: int) -> Value:
        return out.add_constant(np.array(number, np.int64 if kind == _INT64 else np.bool_), kind)

    limit = constant(loop.limit, _INT64) if isinstance(loop.limit, int) else loop.limit
    always = constant(1, _BOOL)
    begins = loop.begins or always
    body = Graph(old.name, old.parent)
    body.constants = list(old.constants)

    def value(base: str, kind: int, shape: RawShape = ()) -> Value:
        return Value(old.unique_name(base), kind, shape)

    number, entered, start = value("call", _INT64), value("entered", _BOOL), value("start", _INT64)
    body.inputs = [number, entered, start, *loop.before]
    goes_on, following = value("goes_on", _BOOL), value("next", _INT64)
    after = [value(f"{v.name}_after", v.dtype, v.shape) for v in loop.before]
    pairs = list(zip(loop.rows, map(_said, collected), strict=True))
    parts = [value(f"{v.name}_part", v.dtype, (None, *shape)) for v, shape in pairs]
    repeated = Node(
        FUSED_LOOP,
        # Rows have sizes even where there are none: the first call is always made.
        (limit, start, begins if parts else entered, *loop.before, *captured),
        {
            "program": tuple(words),
            "carried": len(after),
            "collected": len(parts),
            "tests": int(loop.goes_on is not None),
        },
        old.unique_name(node.name),
        node.source,
        (goes_on, following, *after, *parts),
        tag=MadeOf(tuple(old.nodes)),
    )
    body.nodes = [repeated]
    body.outputs = [goes_on, following, *after, *parts]
    total = Value(out.unique_name(f"{node.name}_iterations"), _INT64, ())
    stacks = [
        Value(out.unique_name(f"{v.name}_parts"), v.dtype, (None, None, *shape))
        for v, shape in pairs
    ]
    made = Node(
        "Loop",
        (None, always if parts else begins, constant(0, _INT64), *loop.initial),
        {"body": body},
        node.name,
        node.source,
        (total, *loop.final, *stacks),
        tag=node.tag,
        device=node.device,
    )
    return [made, *_rows(loop, stacks, total, out)] if stacks else [made]


def _rows(loop: _Iterations, stacks: Sequence[Value], total: Value, out: Graph) -> list[Node]:
    """What makes the rows of a loop of the parts that its calls gave.

    Args:
        loop: The loop.
        stacks: For each collected value, ``[calls, rows of a call, ...]``.
        total: How many iterations there were.
        out: The graph around it, which gets constants.
    """
    before = len(out.nodes)
    write = ReplacementBuilder(out, loop.node)
    begin, ends = write.ints([0]), write.Unsqueeze(total, write.ints([0]))
    for stack, rows, backwards in zip(stacks, loop.rows, loop.backwards, strict=True):
        whole = _joined(write, stack)
        if backwards:
            assert isinstance(loop.limit, int)  # of a ``Scan``
            last, end, step = (write.ints([n]) for n in (loop.limit - 1, _END, -1))
            write.Slice(whole, last, end, begin, step)
        else:
            write.Slice(whole, begin, ends, begin)
        out.nodes.append(out.nodes.pop().replaced(outputs=(rows,)))
    made = out.nodes[before:]
    del out.nodes[before:]
    return made


def _is_large(shape: RawShape) -> bool:
    """True if copying a row takes longer than starting the operators that make or read it."""
    sizes = [size for size in shape or () if isinstance(size, int)]
    return math.prod(sizes) > _MOST_IN_A_ROW


def _said(shape: Shape) -> tuple[int | None, ...]:
    return tuple([size if isinstance(size, int) else None for size in shape])


def _joined(write: ReplacementBuilder, stack: Value) -> Value:
    """Rows of all calls behind one another."""
    row = stack.shape[2:] if stack.shape is not None else ()
    sizes = [size for size in row if isinstance(size, int) and size]
    if len(sizes) == len(row):
        return write.Reshape(stack, write.ints([-1, *sizes]))
    count = write.ReduceProd(write.Shape(stack, end=2), keepdims=1)
    sizes_now = write.Concat(count, write.Shape(stack, start=2), axis=0)
    return write.Reshape(stack, sizes_now, allowzero=1)
