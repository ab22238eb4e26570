"""What programs were made of: the operators in each, with the user's lines, and those outside.

A ``Fused`` node has the nodes that it stands for as its tag. Whoever lists or measures a plan keeps
``Piece``s, which hold no values and no graph.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from tfx.core.source import SourceLocation
from tfx.graph.ir import CALL, FUSED, FUSED_LOOP, Graph, Node, bodies_below
from tfx.graph.tags import Tag

# Operators of a line that are written out.
_OPERATORS = 12


@dataclass(frozen=True, eq=False, slots=True)
class MadeOf(Tag):
    """The tag of a node that runs a program.

    Attributes:
        nodes: What the program computes, in program order.
    """

    nodes: tuple[Node, ...]


class Piece(NamedTuple):
    """An operator of a plan.

    Attributes:
        name: Name of the node.
        op: The operator.
        source: The user's line; None: there is none.
        elements: How many numbers it computes, as far as sizes are known: 1 for an unknown one.
    """

    name: str
    op: str
    source: SourceLocation | None
    elements: int


class Program(NamedTuple):
    """A program of the fused kernels.

    Attributes:
        name: Name of its node in the plan.
        pieces: The operators in it.
    """

    name: str
    pieces: tuple[Piece, ...]


class Fusion(NamedTuple):
    """A plan's programs, and the rest of it.

    Attributes:
        programs: In program order, those of branches and loops behind.
        outside: The operators that run on their own.
    """

    programs: tuple[Program, ...] = ()
    outside: tuple[Piece, ...] = ()

    def lines(self, limit: int | None = None) -> list[str]:
        """Each program with its lines and their operators, and the lines that are in none.

        Args:
            limit: How many programs, the largest ones, and how many lines outside; None: all.
        """
        inside = sum(len(p.pieces) for p in self.programs)
        head = (
            f"fused: {_number(inside, 'operator')} in {_number(len(self.programs), 'program')}, "
            f"{len(self.outside)} outside"
        )
        shown = self.programs
        if limit is not None and len(shown) > limit:
            largest = sorted(shown, key=lambda p: -len(p.pieces))[:limit]
            kept = set(map(id, largest))
            shown = tuple(p for p in shown if id(p) in kept)
        result = [head]
        for program in shown:
            result.append(f"  {program.name}: {_number(len(program.pieces), 'operator')}")
            result += [f"    {line}" for line in _by_line(program.pieces)]
        if len(shown) < len(self.programs):
            result.append(f"  ... and {len(self.programs) - len(shown)} smaller programs")
        if self.outside:
            lines = _by_line(sorted(self.outside, key=_line))
            result.append("  outside")
            result += [f"    {line}" for line in lines[:limit]]
            if limit is not None and len(lines) > limit:
                result.append(f"    ... and {len(lines) - limit} more lines")
        return result


def fusion_of(graph: Graph) -> Fusion:
    """What the programs of a plan, bodies included, were made of.

    Args:
        graph: What ``fuse_elementwise`` returned.
    """
    programs: list[Program] = []
    outside: list[Piece] = []
    for part in (graph, *bodies_below(graph)):
        for node in part.nodes:
            if isinstance(node.tag, MadeOf):
                programs.append(Program(node.name, tuple(map(_piece, node.tag.nodes))))
            elif node.op not in (CALL, FUSED, FUSED_LOOP):
                outside.append(_piece(node))
    return Fusion(tuple(programs), tuple(outside))


def _piece(node: Node) -> Piece:
    shape = node.outputs[0].shape if node.outputs else None
    elements = math.prod([d for d in shape or () if isinstance(d, int)])
    return Piece(node.name, node.op, node.source, max(1, elements))


def _line(piece: Piece) -> tuple[str, int, str]:
    source = piece.source
    return (source.file, source.line, source.function) if source else ("", 0, "")


def _by_line(pieces: Sequence[Piece]) -> list[str]:
    """One text for each run of operators of one line: the line, and the operators."""
    runs = [(key, [p.op for p in run]) for key, run in groupby(pieces, _line)]
    texts = [SourceLocation(*key).text() if key[1] else "(no line)" for key, _ in runs]
    width = max(map(len, texts), default=0)
    return [f"{text:<{width}}  {_counted(ops)}" for text, (_, ops) in zip(texts, runs, strict=True)]


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _counted(ops: Sequence[str]) -> str:
    """``Mul Exp x3``; of a great number the first."""
    found = []
    for op, run in groupby(ops):
        count = len(list(run))
        found.append(op if count == 1 else f"{op} x{count}")
    rest = len(found) - _OPERATORS
    return " ".join(found[:_OPERATORS]) + (f" and {rest} more" if rest > 0 else "")
