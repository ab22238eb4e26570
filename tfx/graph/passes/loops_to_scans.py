"""``Loop`` as ``Scan``, where a loop takes row after row: for what is run, not for what is saved.

ONNX Runtime's ``Scan`` gives an iteration its rows without copying them and lets it write its
results into the whole; its ``Loop`` leaves both to copies: a ``Gather`` for each row, and one more
pass over all that was collected, at the end. A loop qualifies if it is known how often it runs, if
nothing but that ends it, and if what it carries keeps its shape. What is saved keeps its ``Loop``,
the one kind of loop that is differentiated when it is loaded again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfx.core.dtypes import SEQUENCE
from tfx.graph.control import Loop
from tfx.graph.ir import CALL, HOST, Attributes, Graph, Node, Value, free_values
from tfx.graph.passes.batch_scan_rows import Row, compute_for_all
from tfx.graph.rewrite import Inputs, Rewriter

_INT64 = 7
_INTEGERS = (6, 7)
# Steps beyond which the numbers of the iterations are not stored.
_MOST_STEPS = 1 << 16
# A bound in front of every tensor.
_END = 1 << 62


def scan_loops(graph: Graph) -> Graph:
    """A copy of the graph, bodies and callees included, with ``Scan`` for the loops that allow it.

    Args:
        graph: The graph, ready to be compiled: constants are folded.
    """
    return _Scanner().run(graph)


class _Scanner(Rewriter):
    def run(self, graph: Graph) -> Graph:
        """Rewrite a graph; the same graph if it has neither loops nor anything that may."""
        if not any(n.attrs and any(True for _ in n.bodies()) for n in graph.nodes):
            return graph
        return super().run(graph)

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        node = self.rewired(node, inputs)
        out.nodes.append((_scan(node, out) if node.op == "Loop" else None) or node)

    def leave(self, out: Graph) -> None:
        _turn_results(out)


def _scan(loop: Node, home: Graph) -> Node | None:
    """The ``Scan`` that does what a loop does; None: there is none, or it is no faster.

    What it computes of all rows at once is put at the end of ``home``.
    """
    view = Loop(loop)
    body = view.body
    count = _trip_count(view)
    if count is None or not _keeps_shapes(view) or not all(map(_is_plain, view.each)):
        return None
    found = _rows(body, count)
    taken = {id(node) for node, _ in found}
    scan = Graph(body.name, body.parent)
    scan.constants = list(body.constants)
    scan.inputs = list(body.inputs)
    scan.nodes = [n for n in body.nodes if id(n) not in taken]
    scan.outputs = [*view.after, *view.each]
    scan.nodes = _live(scan)
    number = view.iteration
    if _uses(scan, view.entered) or (_uses(scan, number) and count > _MOST_STEPS):
        return None
    rows = compute_for_all(home, scan, [_row(n, backwards) for n, backwards in found], count)
    rows = [row for row in rows if _uses(scan, row.value)]
    if _uses(scan, number):
        numbers = Value(home.unique_name(f"{loop.name}_numbers"), _INT64, (count,))
        numbers.const = np.arange(count)
        home.constants.append(numbers)
        rows.append(Row(number, numbers, False))
    if not rows:
        return None
    scan.inputs = [*view.before, *(row.value for row in rows)]
    attrs: Attributes = {"body": scan, "num_scan_inputs": len(rows)}
    if any(row.backwards for row in rows):
        attrs["scan_input_directions"] = tuple(int(row.backwards) for row in rows)
    given = (*view.initial, *(row.data for row in rows))
    made = Node(
        "Scan",
        given,
        attrs,
        loop.name,
        loop.source,
        outputs=loop.outputs,
        tag=loop.tag,
        device=loop.device,
    )
    return made


def _turn_results(graph: Graph) -> None:
    """Let each ``Scan`` give a result backwards that is only used backwards.

    Args:
        graph: Under construction; changed.
    """
    scans = [i for i, node in enumerate(graph.nodes) if node.op == "Scan"]
    uses: dict[int, list[int]] = {}
    for i, node in enumerate(graph.nodes if scans else ()):
        for v in _used(node):
            uses.setdefault(id(v), []).append(i)
    left = set(map(id, graph.outputs))
    for i in scans:
        node = graph.nodes[i]
        if "scan_output_directions" in node.attrs:
            continue
        first = len(node.inputs) - node.attrs["num_scan_inputs"]
        directions = [0] * (len(node.outputs) - first)
        for k, y in enumerate(node.outputs[first:]):
            places = uses.get(id(y), [])
            if id(y) in left or not places:
                continue
            if all(_turns(graph.nodes[place]) for place in places):
                directions[k] = 1
                for place in places:
                    graph.nodes[place] = _copy_of(graph.nodes[place], y)
        if any(directions):
            attrs = {**node.attrs, "scan_output_directions": tuple(directions)}
            graph.nodes[i] = node.replaced(attrs=attrs)


def _turns(node: Node) -> bool:
    """True if a node turns the first axis of its input around."""
    if node.op != "Slice" or len(node.inputs) != 5 or node.tag is not None:
        return False
    bounds = [None if v is None or v.const is None else v.const for v in node.inputs[1:]]
    if any(b is None or b.size != 1 for b in bounds):
        return False
    first, last, axis, step = (int(b.reshape(-1)[0]) for b in bounds if b is not None)
    return (first, axis, step) == (-1, 0, -1) and last <= -_END


def _copy_of(node: Node, value: Value) -> Node:
    """A node that hands a value on in the place of another one."""
    made = Node(
        "Identity", (value,), {}, node.name, node.source, outputs=node.outputs, device=node.device
    )
    return made


def _row(node: Node, backwards: bool) -> Row:
    data = node.inputs[0]
    assert data is not None
    return Row(node.outputs[0], data, backwards)


def _trip_count(loop: Loop) -> int | None:
    """Return the trip count if it is constant and nothing else ends the loop, else None."""
    limit, condition = loop.limit, loop.condition
    if limit is None or limit.const is None:
        return None
    if condition is not None and not (condition.const is not None and condition.const.all()):
        return None
    going = loop.goes_on
    goes_on = going is loop.entered or (going.const is not None and bool(going.const.all()))
    count = int(limit.const.reshape(-1)[0])
    return count if goes_on and count > 0 else None


def _keeps_shapes(loop: Loop) -> bool:
    """True if what is carried has one known shape, which ``Scan`` asks for."""
    return all(
        c.initial is not None
        and _is_plain(c.initial)
        and c.initial.shape == c.before.shape == c.after.shape
        for c in loop.carried
    )


def _is_plain(value: Value) -> bool:
    return value.dtype < SEQUENCE and value.shape is not None and None not in value.shape


def _rows(body: Graph, count: int) -> list[tuple[Node, bool]]:
    """The nodes that take the iteration's row of something from outside; True: from the end."""
    inner = {id(v) for v in body.inputs} | {id(v) for n in body.nodes for v in n.outputs}
    # By ``id``, values that are the iteration's number, or count down to 0; True: down.
    numbers: dict[int, bool] = {id(body.inputs[0]): False}
    found: list[tuple[Node, bool]] = []
    for node in body.nodes:
        if node.op in ("Cast", "Identity") and id(node.inputs[0]) in numbers:
            if node.outputs[0].dtype in _INTEGERS:
                numbers[id(node.outputs[0])] = numbers[id(node.inputs[0])]
        elif node.op == "Sub" and _is_last(node.inputs[0], count):
            if id(node.inputs[1]) in numbers:
                numbers[id(node.outputs[0])] = not numbers[id(node.inputs[1])]
        elif node.op == "Gather" and node.attrs.get("axis", 0) == 0:
            data, index = node.inputs
            if data is None or id(index) not in numbers or id(data) in inner:
                continue
            if data.shape and data.shape[0] == count and _is_plain(node.outputs[0]):
                found.append((node, numbers[id(index)]))
    return found


def _is_last(value: Value | None, count: int) -> bool:
    return value is not None and value.const is not None and bool((value.const == count - 1).all())


def _live(graph: Graph) -> list[Node]:
    """The nodes that the outputs need; a body that Python works in is not compiled at all."""
    wanted = {id(v) for v in graph.outputs}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if node.op == HOST or any(id(v) in wanted for v in node.outputs):
            kept.append(node)
            wanted.update(id(v) for v in _used(node))
    return kept[::-1]


def _uses(graph: Graph, value: Value) -> bool:
    known = any(v is value for v in graph.outputs)
    return known or any(v is value for node in graph.nodes for v in _used(node))


def _used(node: Node) -> Sequence[Value | None]:
    if node.op == CALL or not node.attrs:
        return node.inputs
    return [*node.inputs, *(v for body in node.bodies() for v in free_values(body))]
