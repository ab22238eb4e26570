"""From a node as ONNX Runtime names it to the user's line, and to the nodes fused into it.

ONNX Runtime inlines local functions (``_inlfunc_<function>_[token_<n>_]<node>``) and appends to the
names of what it fuses (``MatMul/MatMulScaleFusion/``). Which nodes were fused is not written
anywhere: they are those nodes beside the fused one that the profile does not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tfx.function.run_metadata import Part
from tfx.graph.ir import CALL, Graph, Node

_INLINED = "_inlfunc_"
_TOKEN = re.compile(r"^token_\d+_")


class NodeNames:
    """The nodes of a graph, by the names that ONNX Runtime gives them.

    Args:
        graph: What was run.
    """

    def __init__(self, graph: Graph) -> None:
        self._graphs: list[Graph] = []
        seen: set[int] = set()
        for g in (graph, *graph.subgraphs()):
            if id(g) not in seen:
                seen.add(id(g))
                self._graphs.append(g)
        self._found: dict[str, tuple[Graph, Node] | None] = {}

    def find(self, name: str) -> tuple[Graph, Node] | None:
        """The node and its graph; None: ONNX Runtime or a pass put it there."""
        if name not in self._found:
            self._found[name] = self._search(name)
        return self._found[name]

    def _search(self, name: str) -> tuple[Graph, Node] | None:
        places, rest = self._graphs, name
        if name.startswith(_INLINED):
            inlined = name.rsplit(_INLINED, 1)[1]
            callees = [g for g in self._graphs if inlined.startswith(f"{g.name}_")]
            if callees:
                longest = max(len(g.name) for g in callees)
                places = [g for g in callees if len(g.name) == longest]
                rest = _TOKEN.sub("", inlined[longest + 1 :])
        best: tuple[Graph, Node] | None = None
        for graph in places:
            for node in graph.nodes:
                if node.name == rest and node.op != CALL:
                    return graph, node
                longer = best is None or len(node.name) > len(best[1].name)
                if node.op != CALL and longer and _is_part(node.name, rest):
                    best = graph, node
        return best


def _is_part(name: str, text: str) -> bool:
    """Whether a name stands in a text as a word of its own: ``Add`` is no part of ``Add_1``."""
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9]|_\d)", text) is not None


class Fusions:
    """Which nodes of the graph each executed node stands for.

    Args:
        names: The graph.
        executed: Names of what was executed, in order, with the operators that ran.
    """

    def __init__(self, names: NodeNames, executed: Iterable[tuple[str, str]]) -> None:
        self._names = names
        executed = list(dict.fromkeys(executed))
        found = [(name, op, names.find(name)) for name, op in executed]
        self._taken = {id(place[1]) for _, _, place in found if place is not None}
        self._parts: dict[str, tuple[Part, ...]] = {}
        for name, op, place in found:
            if place is not None and (op != place[1].op or name.endswith("/")):
                self._parts[name] = tuple(_part(n) for n in self._beside(*place))

    def parts(self, name: str) -> tuple[Part, ...]:
        """The other nodes that were fused into this one."""
        return self._parts.get(name, ())

    def _beside(self, graph: Graph, node: Node) -> list[Node]:
        """Nodes around this one that were not executed, and that no other fused node has."""
        users: dict[int, list[Node]] = {}
        makers: dict[int, Node] = {}
        for n in graph.nodes:
            for v in n.inputs:
                if v is not None:
                    users.setdefault(id(v), []).append(n)
            for v in n.outputs:
                makers[id(v)] = n
        found: list[Node] = []
        waiting = [node]
        while waiting:
            n = waiting.pop()
            near = [u for v in n.outputs for u in users.get(id(v), ())]
            near += [makers[id(v)] for v in n.inputs if v is not None and id(v) in makers]
            for other in near:
                if id(other) not in self._taken and other.op not in (CALL, "Constant"):
                    self._taken.add(id(other))
                    found.append(other)
                    waiting.append(other)
        places = {id(n): i for i, n in enumerate(graph.nodes)}
        return sorted(found, key=lambda n: places[id(n)])


def _part(node: Node) -> Part:
    return Part(node.name, node.op, node.source.text() if node.source else "")
