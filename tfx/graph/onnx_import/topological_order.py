"""Nodes in an order in which each finds what it uses, and whether a model can be walked at all.

Who wrote the file may have sorted it badly, made a circle, or put graphs into graphs until a
stack overflows: these questions are answered before anything is built.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import onnx

from tfx.core.errors import BundleError

MAX_DEPTH = 32
"""Graphs within graphs; protobuf itself stops at about 33."""

_MAX_CALLS = 100


def check_depth(model: onnx.ModelProto) -> None:
    """Refuse a model whose graphs are nested too deep.

    Raises:
        BundleError: they are.
    """
    level = [n for f in model.functions for n in f.node] + list(model.graph.node)
    for _ in range(MAX_DEPTH + 1):
        bodies = [g for n in level for a in n.attribute for g in _graphs(a)]
        if not bodies:
            return
        level = [n for g in bodies for n in g.node]
    raise BundleError(f"it has graphs within graphs more than {MAX_DEPTH} deep.")


def _graphs(attribute: onnx.AttributeProto) -> list[onnx.GraphProto]:
    inner = [attribute.g] if attribute.HasField("g") else []
    return [*inner, *attribute.graphs]


def check_size(model: onnx.ModelProto, most: int) -> None:
    """Refuse a model whose local functions, written out, have too many nodes or call themselves.

    Raises:
        BundleError: they do.
    """
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    sizes: dict[tuple[str, str, str], int] = {}

    def size(nodes: Sequence[onnx.NodeProto], above: tuple[tuple[str, str, str], ...]) -> int:
        total = 0
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            total += 1
            waiting += [n for a in node.attribute for g in _graphs(a) for n in g.node]
            key = (node.domain, node.op_type, node.overload)
            if key not in functions:
                continue
            if key in above or len(above) > _MAX_CALLS:
                raise BundleError(f"function {key[1]!r} of the model calls itself, or too deep.")
            if key not in sizes:
                sizes[key] = size(functions[key].node, (*above, key))
            total += sizes[key]
        return total

    found = size(model.graph.node, ())
    if found > most:
        raise BundleError(f"it has {found:,} nodes with its functions written out, limit {most:,}.")


def used_names(node: onnx.NodeProto) -> set[str]:
    """Return the names that a node reads from the enclosing graph, in its bodies too."""
    names = {name for name in node.input if name}
    for attribute in node.attribute:
        for body in _graphs(attribute):
            names |= _free_names(body)
    return names


def _free_names(body: onnx.GraphProto) -> set[str]:
    own = {i.name for i in body.input} | {t.name for t in body.initializer}
    own.update(t.values.name for t in body.sparse_initializer)
    used: set[str] = {o.name for o in body.output}
    for node in body.node:
        own.update(node.output)
        used |= used_names(node)
    return used - own


def in_order(
    nodes: Sequence[onnx.NodeProto], known: Collection[str], where: str
) -> Sequence[onnx.NodeProto]:
    """The nodes sorted, as they are if they are so already.

    Args:
        nodes: Those of one graph.
        known: Names that exist before.
        where: The graph, for messages.

    Raises:
        BundleError: a name is made twice or never, or nodes need each other in a circle.
    """
    made: dict[str, int] = {}
    sorted_already = True
    uses = [used_names(node) for node in nodes]
    for number, node in enumerate(nodes):
        if sorted_already and any(n not in made and n not in known for n in uses[number]):
            sorted_already = False
        for name in node.output:
            if name and (name in made or name in known):
                raise BundleError(f"{where} makes {name!r} twice, the second time by {label(node)}")
            if name:
                made[name] = number
    if sorted_already:
        return nodes
    return _sorted(nodes, uses, made, known, where)


def _sorted(
    nodes: Sequence[onnx.NodeProto],
    uses: Sequence[set[str]],
    made: dict[str, int],
    known: Collection[str],
    where: str,
) -> list[onnx.NodeProto]:
    waiting: list[set[int]] = []
    users: dict[int, list[int]] = {}
    for number, names in enumerate(uses):
        needed = set()
        for name in sorted(names):
            if name in made:
                needed.add(made[name])
            elif name not in known:
                raise BundleError(
                    f"{where}: {label(nodes[number])} uses {name!r}, which is no input, no "
                    "initializer and no node's output"
                )
        waiting.append(needed)
        for other in needed:
            users.setdefault(other, []).append(number)
    ready = [i for i, needed in enumerate(waiting) if not needed]
    result = []
    for number in ready:  # grows meanwhile
        result.append(nodes[number])
        for user in users.get(number, ()):
            waiting[user].discard(number)
            if not waiting[user]:
                ready.append(user)
    if len(result) < len(nodes):
        raise BundleError(f"{where}: nodes need each other in a circle: {_circle(nodes, waiting)}")
    return result


def _circle(nodes: Sequence[onnx.NodeProto], waiting: Sequence[set[int]]) -> str:
    at = next(i for i, needed in enumerate(waiting) if needed)
    path: list[int] = []
    while at not in path:
        path.append(at)
        at = min(waiting[at])
    shown = [label(nodes[i]) for i in [*path[path.index(at) :], at][:8]]
    return " <- ".join(shown)


def label(node: onnx.NodeProto) -> str:
    """A node for messages."""
    operator = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
    return f"node {node.name!r} ({operator})" if node.name else f"a node ({operator})"
