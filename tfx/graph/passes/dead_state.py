"""Remove from branches and loops what nobody uses: results, collected values, carried state.

ONNX Runtime removes nodes that nobody uses, in bodies too, but it keeps every result of a body and
everything that a ``Loop`` carries. Derivatives leave such things behind: a gradient may need the
values of each iteration and not the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tfx.graph.ir import Graph, Node, Value
from tfx.graph.passes.dead_code import has_effects, used_values


def remove_dead_state(graph: Graph) -> Graph:
    """The graph, or a copy, whose ``If`` and ``Loop`` nodes make nothing that is not used."""
    if not any(node.op in ("If", "Loop") for node in graph.nodes):
        return graph
    live = {id(v) for v in graph.outputs}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        changed = _narrowed(node, live) if node.op in ("If", "Loop") else node
        kept.append(changed)
        live.update(id(v) for v in used_values(changed))
    result = graph.copy()
    result.nodes = kept[::-1]
    return result


def _narrowed(node: Node, live: set[int]) -> Node:
    if node.op == "If":
        return _narrow_if(node, live)
    return _narrow_loop(node, live)


def _narrow_if(node: Node, live: set[int]) -> Node:
    wanted = [i for i, v in enumerate(node.outputs) if id(v) in live]
    if not wanted:  # a node without results is there for its effects, or will be removed
        wanted = list(range(len(node.outputs)))
    attrs = dict(node.attrs)
    for name in ("then_branch", "else_branch"):
        branch = node.attrs[name]
        attrs[name] = _body(branch, branch.inputs, [branch.outputs[i] for i in wanted])
    changed = node.replaced(attrs=attrs)
    return _with_outputs(changed, wanted)


def _narrow_loop(node: Node, live: set[int]) -> Node:
    body: Graph = node.attrs["body"]
    count = len(node.inputs) - 2
    scans = [i for i in range(count, len(node.outputs)) if id(node.outputs[i]) in live]
    carried = {i for i in range(count) if id(node.outputs[i]) in live}
    if not scans and not carried:
        scans, carried = list(range(count, len(node.outputs))), set(range(count))
    while True:
        roots = [body.outputs[0], *(body.outputs[1 + i] for i in (*carried, *scans))]
        needed = _needed(body, roots)
        more = {i for i in range(count) if id(body.inputs[2 + i]) in needed} - carried
        if not more:
            break
        carried |= more
    state = sorted(carried)
    inputs = [*body.inputs[:2], *(body.inputs[2 + i] for i in state)]
    outputs = [body.outputs[0], *(body.outputs[1 + i] for i in (*state, *scans))]
    attrs = {**node.attrs, "body": _body(body, inputs, outputs)}
    given = (*node.inputs[:2], *(node.inputs[2 + i] for i in state))
    return _with_outputs(node.replaced(given, attrs), [*state, *scans])


def _body(body: Graph, inputs: Sequence[Value], outputs: Sequence[Value]) -> Graph:
    """A body with these inputs and outputs, and only the nodes that they need."""
    result = body.copy()
    result.inputs, result.outputs = list(inputs), list(outputs)
    needed = _needed(body, outputs)
    result.nodes = [n for n in body.nodes if _stays(n, needed)]
    return remove_dead_state(result)


def _needed(body: Graph, roots: Iterable[Value]) -> set[int]:
    """The values, by ``id``, that the roots are computed from, and what effects use."""
    needed = {id(v) for v in roots}
    for node in reversed(body.nodes):
        if _stays(node, needed):
            changed = _narrowed(node, needed) if node.op in ("If", "Loop") else node
            needed.update(id(v) for v in used_values(changed))
    return needed


def _stays(node: Node, needed: set[int]) -> bool:
    return any(id(v) in needed for v in node.outputs) or _acts(node)


def _acts(node: Node) -> bool:
    single = Graph("single")
    single.nodes = [node]
    return has_effects(single)


def _with_outputs(node: Node, which: Sequence[int]) -> Node:
    if len(which) < len(node.outputs):
        node.outputs = tuple(node.outputs[i] for i in which)
        node.tag = None  # it may speak of outputs by their numbers
    return node
