"""Liveness: the names needed after a statement, which a branch or loop must return.

Works backwards over statements without jumps (``jumps.lower_jumps`` ran before). Knows nothing of
tensors.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tfx.autograph.names import Activity, activity, free_names, parameters

# Fields of If, While and For nodes.
LIVE_AFTER = "ag_live_after"
LIVE_AT_HEAD = "ag_live_at_head"


class Closures:
    """Functions defined inside a function, and what they use of it.

    What a nested function reads is needed wherever the function may be called: where its name is
    read. If it is handed on by assignment, that may be anywhere.
    """

    def __init__(self, node: ast.FunctionDef) -> None:
        self.reads: dict[str, set[str]] = {}
        self.rebinds: dict[str, set[str]] = {}
        self.everywhere: set[str] = set()
        local = activity(node.body).bound | set(parameters(node.args))
        for part in _inside(node.body):
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
                self.reads.setdefault(part.name, set()).update(free_names(part) & local)
                own = activity(part.body)
                rebound = own.bound & own.declared & local
                self.rebinds.setdefault(part.name, set()).update(rebound)
        self._close()
        for part in _inside(node.body):
            if isinstance(part, ast.Return | ast.Assign | ast.AnnAssign) and part.value is not None:
                handed = {n.id for n in _direct_names(part.value)}
                for name in handed & self.reads.keys():
                    self.everywhere |= self.reads[name]
                for function in _direct_lambdas(part.value):
                    self.everywhere |= free_names(function) & local

    def _close(self) -> None:
        """A function that uses another one uses what that uses."""
        changed = True
        while changed:
            changed = False
            for table in (self.reads, self.rebinds):
                for name, used in table.items():
                    more = {u for n in self.reads[name] if n in table for u in table[n]} - used
                    if more and name in table:
                        used |= more
                        changed = True

    def read_by(self, found: Activity) -> set[str]:
        """Names that code reads, itself or through functions that it mentions."""
        reads = set(found.read)
        for name in found.read & self.reads.keys():
            reads |= self.reads[name]
        return reads

    def bound_by(self, found: Activity) -> set[str]:
        """Names that code binds, itself or through functions that it mentions."""
        bound = set(found.bound)
        for name in found.read & self.rebinds.keys():
            bound |= self.rebinds[name]
        return bound


def _inside(block: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements of a function, nested functions' bodies left out."""
    found: list[ast.stmt] = []
    for stmt in block:
        found.append(stmt)
        if not isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                found += _inside(getattr(stmt, name, []))
            for part in (*getattr(stmt, "handlers", []), *getattr(stmt, "cases", [])):
                found += _inside(part.body)
    return found


def _direct_names(node: ast.expr) -> list[ast.Name]:
    """Names whose objects become (part of) the value, not those that are called to make it."""
    if isinstance(node, ast.Name):
        return [node]
    if isinstance(node, ast.Call | ast.Lambda):
        return []
    return [
        n for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr) for n in _direct_names(c)
    ]


def _direct_lambdas(node: ast.expr) -> list[ast.Lambda]:
    """Lambdas that become (part of) the value; those in calls are used in the call."""
    if isinstance(node, ast.Lambda):
        return [node]
    if isinstance(node, ast.Call):
        return []
    children = [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]
    return [found for child in children for found in _direct_lambdas(child)]


def _may_suppress(item: ast.withitem) -> bool:
    """True if a ``with`` may go on after an exception: few do, and their names tell."""
    text = ast.unparse(item.context_expr)
    return "suppress" in text or "raises" in text


def annotate(node: ast.FunctionDef, closures: Closures) -> None:
    """Mark the ``If``, ``While`` and ``For`` nodes of a function with what is live around them."""
    _Liveness(closures).block(node.body, set())


class _Liveness:
    def __init__(self, closures: Closures) -> None:
        self._closures = closures
        # Live wherever an exception may lead: what handlers around use.
        self._caught: list[set[str]] = []

    def block(self, block: Sequence[ast.stmt], after: set[str]) -> set[str]:
        """Return the names that are live before the statements."""
        for stmt in reversed(block):
            after = self._statement(stmt, after) | self._closures.everywhere
            for caught in self._caught:
                after = after | caught
        return after

    def _reads(self, *nodes: ast.AST) -> set[str]:
        return self._closures.read_by(activity(nodes))

    def _statement(self, stmt: ast.stmt, after: set[str]) -> set[str]:
        match stmt:
            case ast.If():
                other = self.block(stmt.orelse, after)
                setattr(stmt, LIVE_AFTER, after)
                setattr(stmt, LIVE_AT_HEAD, other)
                return self.block(stmt.body, after) | other | self._reads(stmt.test)
            case ast.While():
                return self._loop(stmt, self._reads(stmt.test), set(), after)
            case ast.For():
                targets = activity([stmt.target])
                head = self._loop(stmt, targets.read, targets.bound, after)
                return head | self._reads(stmt.iter)
            case ast.With() | ast.AsyncWith():
                inside = self.block(stmt.body, after)
                if any(map(_may_suppress, stmt.items)):
                    inside |= after
                return (inside - activity(stmt.items).bound) | self._reads(*stmt.items)
            case ast.AsyncFor():
                return self.block(stmt.body, after) | after | self._reads(stmt.iter)
            case ast.Match():
                inside = set(after)
                for case in stmt.cases:
                    inside |= self.block(case.body, after) | self._reads(case)
                return inside | self._reads(stmt.subject)
            case ast.Try() | ast.TryStar():
                return self._try(stmt, after)
            case ast.Return() | ast.Raise():
                return self._reads(stmt)
            case _:
                found = activity([stmt])
                reads = self._closures.read_by(found)
                if isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    reads = found.read - self._closures.reads.get(stmt.name, set())
                return (after - found.bound) | reads

    def _loop(
        self, stmt: ast.While | ast.For, reads: set[str], targets: set[str], after: set[str]
    ) -> set[str]:
        """A loop: what one iteration leaves may be what the next one reads."""
        flags = set(getattr(stmt, "ag_flags", ()))
        head = after | reads | flags
        while True:
            again = after | reads | flags | (self.block(stmt.body, head) - targets)
            if again == head:
                break
            head = again
        setattr(stmt, LIVE_AFTER, after)
        setattr(stmt, LIVE_AT_HEAD, head)
        return head

    def _try(self, stmt: ast.Try | ast.TryStar, after: set[str]) -> set[str]:
        final = self.block(stmt.finalbody, after)
        caught = set(final)
        for handler in stmt.handlers:
            caught |= self.block(handler.body, final) | self._reads(
                *([handler.type] if handler.type else [])
            )
        orelse = self.block(stmt.orelse, final)
        self._caught.append(caught)
        try:
            inside = self.block(stmt.body, orelse)
        finally:
            self._caught.pop()
        return inside | caught
