"""From a node as ONNX Runtime names it to the user's line, and to the nodes fused into it.

ONNX Runtime inlines local functions (``_inlfunc_<function>_[token_<n>_]<node>``) and appends to the
names of what it fuses (``MatMul/MatMulScaleFusion/``). Which nodes were fused is not written
anywhere: they are those nodes beside the fused one that the profile does not have. Of programs of
the fused kernels the plan knows what they were made of.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from tfx.function.inspection.run_metadata import Part
from tfx.graph.fusion.made_of import Piece, Program
from tfx.graph.ir import CALL, Graph, Node

_INLINED = "_inlfunc_"
_TOKEN = re.compile(r"^token_\d+_")
# Where a name can begin and end in the name of a fused node.
_START = re.compile(r"(?<![A-Za-z0-9_])")
_END = re.compile(r"(?![A-Za-z0-9]|_\d)")


class NodeNames:
    """The nodes of a graph, by the names that ONNX Runtime gives them.

    Args:
        graph: What was run.
    """

    def __init__(self, graph: Graph) -> None:
        seen: dict[int, Graph] = {}
        for g in (graph, *graph.subgraphs()):
            seen.setdefault(id(g), g)
        graphs = list(seen.values())
        self._everywhere = _Index(graphs)
        self._by_graph: dict[str, list[Graph]] = {}
        for g in graphs:
            self._by_graph.setdefault(g.name, []).append(g)
        # The nodes of the graphs of one name, made when ONNX Runtime names one of them.
        self._indices: dict[str, _Index] = {}
        self._found: dict[str, tuple[Graph, Node] | None] = {}

    def find(self, name: str) -> tuple[Graph, Node] | None:
        """The node and its graph; None: ONNX Runtime or a pass put it there."""
        if name not in self._found:
            self._found[name] = self._search(name)
        return self._found[name]

    def _search(self, name: str) -> tuple[Graph, Node] | None:
        if name.startswith(_INLINED):
            inlined = name.rsplit(_INLINED, 1)[1]
            # The longest name of a graph that the text begins with, up to an underscore.
            end = inlined.rfind("_")
            while end > 0:
                callee = inlined[:end]
                if callee in self._by_graph:
                    index = self._indices.get(callee)
                    if index is None:
                        index = self._indices[callee] = _Index(self._by_graph[callee])
                    return index.find(_TOKEN.sub("", inlined[end + 1 :]))
                end = inlined.rfind("_", 0, end)
        return self._everywhere.find(name)


class _Index:
    """The nodes of some graphs by name; the first of those with one name counts."""

    def __init__(self, graphs: Iterable[Graph]) -> None:
        self._places: dict[str, tuple[int, Graph, Node]] = {}
        for graph in graphs:
            for node in graph.nodes:
                if node.op != CALL:
                    self._places.setdefault(node.name, (len(self._places), graph, node))
        self._longest = max(map(len, self._places), default=0)

    def find(self, text: str) -> tuple[Graph, Node] | None:
        """The node of this name, or of the longest name that is a word of the text."""
        place = self._places.get(text)
        if place is None:
            found = [p for word in self._words(text) if (p := self._places.get(word)) is not None]
            place = min(found, key=lambda p: (-len(p[2].name), p[0]), default=None)
        return None if place is None else place[1:]

    def _words(self, text: str) -> Iterator[str]:
        """Parts of a text that stand for themselves: ``Add`` is no part of ``Add_1``."""
        starts = [m.start() for m in _START.finditer(text)]
        ends = [m.start() for m in _END.finditer(text)]
        for start in starts:
            for end in ends[bisect_right(ends, start) :]:
                if end - start > self._longest:
                    break
                yield text[start:end]


class Fusions:
    """The nodes of the graph that each executed node represents.

    Args:
        names: The graph.
        executed: Names of what was executed, in order, with the operators that ran.
        programs: The plan's programs of the fused kernels.
    """

    def __init__(
        self,
        names: NodeNames,
        executed: Iterable[tuple[str, str]],
        programs: Iterable[Program] = (),
    ) -> None:
        self._names = names
        executed = list(dict.fromkeys(executed))
        self._programs = {program.name: program.pieces for program in programs}
        found = [(name, op, names.find(name)) for name, op in executed]
        inside = [names.find(p.name) for pieces in self._programs.values() for p in pieces]
        places = [*(place for _, _, place in found), *inside]
        self._taken = {id(place[1]) for place in places if place is not None}
        self._parts: dict[str, tuple[Part, ...]] = {}
        self._around: dict[int, _Neighbours] = {}
        for name, op, place in found:
            if name in self._programs:
                self._parts[name] = _program_parts(self._programs[name])
            elif place is not None and (op != place[1].op or name.endswith("/")):
                self._parts[name] = tuple(
                    Part(n.name, n.op, text_of(n), 0.0, layer_of(n)) for n in self._beside(*place)
                )

    def first(self, name: str) -> Piece | None:
        """The first operator of a program; None: this is no program."""
        pieces = self._programs.get(name)
        return pieces[0] if pieces else None

    def parts(self, name: str) -> tuple[Part, ...]:
        """The other nodes that were fused into this one."""
        return self._parts.get(name, ())

    def _beside(self, graph: Graph, node: Node) -> list[Node]:
        """Nodes around this one that were not executed, and that no other fused node has."""
        around = self._around.get(id(graph))
        if around is None:
            around = self._around[id(graph)] = _Neighbours(graph)
        found: list[Node] = []
        waiting = [node]
        while waiting:
            for other in around.of(waiting.pop()):
                if id(other) not in self._taken and other.op not in (CALL, "Constant"):
                    self._taken.add(id(other))
                    found.append(other)
                    waiting.append(other)
        return sorted(found, key=lambda n: around.places[id(n)])


class _Neighbours:
    """The producers and consumers of each node of a graph.

    Attributes:
        places: The number of each node, by id.
    """

    def __init__(self, graph: Graph) -> None:
        self.places = {id(n): i for i, n in enumerate(graph.nodes)}
        self._users: dict[int, list[Node]] = {}
        self._makers: dict[int, Node] = {}
        for n in graph.nodes:
            for v in n.inputs:
                if v is not None:
                    self._users.setdefault(id(v), []).append(n)
            for v in n.outputs:
                self._makers[id(v)] = n

    def of(self, node: Node) -> list[Node]:
        """The neighbours of a node, users first."""
        near = [u for v in node.outputs for u in self._users.get(id(v), ())]
        makers = self._makers
        return near + [makers[id(v)] for v in node.inputs if v is not None and id(v) in makers]


def _program_parts(pieces: Sequence[Piece]) -> tuple[Part, ...]:
    """All operators of a program but the first, each with its part of the work."""
    total = sum(piece.elements for piece in pieces)
    return tuple(
        Part(p.name, p.op, text_of(p), p.elements / total, layer_of(p)) for p in pieces[1:]
    )


def text_of(made: Node | Piece | None) -> str:
    """The user's line that something comes from; empty if there is none."""
    return made.source.text() if made is not None and made.source else ""


def layer_of(made: Node | Piece | None) -> str:
    """The name scopes that something was made in; empty outside of them."""
    return made.source.layer.rstrip("/") if made is not None and made.source else ""
