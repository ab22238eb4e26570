"""``return``, ``break`` and ``continue`` as assignments: blocks have one way in and one out.

A block that becomes a branch or a loop body cannot be left in the middle. What follows a branch
that always jumps is moved into the other branch; where a branch only may jump, a flag tells, and
what follows is guarded by it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tfx.autograph.parsing import SourceError
from tfx.autograph.trees import assign, at, constant, load, negated

RETURN_VALUE = "ag_return_value"
RETURNED = "ag_returned"
# Field of a ``For`` node: the flags that end it.
FLAGS = "ag_flags"

_Block = list[ast.stmt]


@dataclass(slots=True)
class _Outcome:
    """The end of a block: ``always`` by a jump, and the flags that it may have set."""

    always: bool = False
    flags: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Loop:
    """The flags of the loop around a statement."""

    broken: str
    continued: str


def lower_jumps(node: ast.FunctionDef, fresh: Callable[[str], str]) -> None:
    """Rewrite a function's body in place.

    Args:
        node: The function; nested functions are left alone.
        fresh: Makes a name that nothing else has.

    Raises:
        SourceError: a jump out of a ``finally`` block.
    """
    lowerer = _Lowerer(fresh, keep_returns=not _returns_inside(node.body))
    if lowerer.keep_returns:
        node.body, _ = lowerer.block(node.body, None)
        return
    end = at(ast.Return(value=None), node)
    body, _ = lowerer.block([*node.body, end], None)
    first = [] if RETURNED not in lowerer.tested else [assign(RETURNED, constant(False), node)]
    # Not at the last statement, which may not have run.
    last = at(ast.Return(value=load(RETURN_VALUE, node)), node)
    node.body = [*first, *body, last]


def _returns_inside(block: Sequence[ast.stmt]) -> bool:
    """True if some branch or loop of a block returns."""
    return any(
        isinstance(part, ast.If | ast.For | ast.While | ast.Match) and _has(part, ast.Return)
        for stmt in block
        for part in _own(stmt)
    )


def _own(stmt: ast.AST) -> list[ast.AST]:
    """A statement and those in it that belong to the same function."""
    found = [stmt]
    if not isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
        for child in ast.iter_child_nodes(stmt):
            found += _own(child)
    return found


def _has(stmt: ast.AST, *kinds: type[ast.stmt]) -> bool:
    return any(isinstance(part, kinds) for part in _own(stmt))


def _jumps(stmt: ast.stmt) -> bool:
    """True if a statement may jump out of itself."""
    if isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    if isinstance(stmt, ast.For | ast.While):
        inside = any(_has(s, ast.Return) for s in (*stmt.body, *stmt.orelse))
        return inside or any(_jumps(s) for s in stmt.orelse)
    if isinstance(stmt, ast.Return | ast.Break | ast.Continue):
        return True
    return any(_jumps(s) for s in _own(stmt)[1:] if isinstance(s, ast.stmt) and _nearest(stmt, s))


def _nearest(outer: ast.stmt, inner: ast.stmt) -> bool:
    """True if ``inner`` is in a block of ``outer`` itself."""
    return any(inner in block for block in _blocks(outer))


def _blocks(stmt: ast.stmt) -> list[_Block]:
    blocks = [getattr(stmt, name, []) for name in ("body", "orelse", "finalbody")]
    parts = (*getattr(stmt, "handlers", []), *getattr(stmt, "cases", []))
    return [block for block in (*blocks, *(part.body for part in parts)) if block]


def _always(block: Sequence[ast.stmt]) -> bool:
    """True if a block always ends with a jump (an exception is none)."""
    for stmt in block:
        if isinstance(stmt, ast.Return | ast.Break | ast.Continue):
            return True
        if isinstance(stmt, ast.If) and _always(stmt.body) and _always(stmt.orelse):
            return True
        if _is_endless(stmt):
            return True
    return False


def _is_endless(stmt: ast.stmt) -> bool:
    """True if what follows a statement is never reached: ``while True`` without a ``break``."""
    if not (isinstance(stmt, ast.While) and isinstance(stmt.test, ast.Constant)):
        return False
    return bool(stmt.test.value) and not any(_breaks(s) for s in stmt.body)


def _breaks(stmt: ast.stmt) -> bool:
    """True if a statement may end the loop that it is in the body of."""
    if isinstance(stmt, ast.For | ast.While):
        return any(_breaks(s) for s in stmt.orelse)
    return isinstance(stmt, ast.Break) or any(_breaks(s) for b in _blocks(stmt) for s in b)


class _Lowerer:
    def __init__(self, fresh: Callable[[str], str], keep_returns: bool) -> None:
        self._fresh = fresh
        self.keep_returns = keep_returns
        # Flags that something asks for: only these need a first value.
        self.tested: set[str] = set()

    def block(self, block: Sequence[ast.stmt], loop: _Loop | None) -> tuple[_Block, _Outcome]:
        """The statements without jumps out of the block, and how they end."""
        out: _Block = []
        outcome = _Outcome()
        for i, stmt in enumerate(block):
            rest = block[i + 1 :]
            if isinstance(stmt, ast.If) and (_always(stmt.body) or _always(stmt.orelse)):
                made, ended = self._split(stmt, rest, loop)
                outcome.flags |= ended.flags
                return [*out, *made], _Outcome(ended.always, outcome.flags)
            made, ended = self._statement(stmt, loop)
            out += made
            outcome.flags |= ended.flags
            if ended.always:
                return out, _Outcome(True, outcome.flags)
            if ended.flags and rest:
                made, after = self.block(rest, loop)
                out += self._guarded(made, ended.flags, stmt)
                return out, _Outcome(False, outcome.flags | after.flags)
        return out, outcome

    def _split(
        self, stmt: ast.If, rest: Sequence[ast.stmt], loop: _Loop | None
    ) -> tuple[_Block, _Outcome]:
        """Move what follows an ``if`` with one side that always jumps into the other side."""
        body, orelse = list(stmt.body), list(stmt.orelse)
        if not _always(body):
            body += rest
        elif not _always(orelse):
            orelse += rest
        first, one = self.block(body, loop)
        second, other = self.block(orelse, loop)
        stmt.body, stmt.orelse = first or [at(ast.Pass(), stmt)], second
        return [stmt], _Outcome(one.always and other.always, one.flags | other.flags)

    def _statement(self, stmt: ast.stmt, loop: _Loop | None) -> tuple[_Block, _Outcome]:
        match stmt:
            case ast.Return():
                return self._return(stmt)
            case ast.Break():
                assert loop is not None
                return [assign(loop.broken, constant(True), stmt)], _Outcome(True, {loop.broken})
            case ast.Continue():
                assert loop is not None
                name = loop.continued
                return [assign(name, constant(True), stmt)], _Outcome(True, {name})
            case ast.For() | ast.While():
                return self._loop(stmt, loop)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.AsyncFor():
                return [stmt], _Outcome()
            case ast.Try() | ast.TryStar():
                return self._try(stmt, loop)
            case ast.If() | ast.With() | ast.Match():
                outcome = _Outcome()
                for block in _blocks(stmt):
                    block[:], ended = self.block(block, loop)
                    block[:] = block or [at(ast.Pass(), stmt)]
                    outcome.flags |= ended.flags
                if self.keep_returns and loop is None:
                    outcome.flags = set()
                return [stmt], outcome
            case _:
                return [stmt], _Outcome()

    def _return(self, stmt: ast.Return) -> tuple[_Block, _Outcome]:
        if self.keep_returns:
            return [stmt], _Outcome(True)
        value = stmt.value or at(ast.Constant(value=None), stmt)
        made: _Block = [
            assign(RETURN_VALUE, value, stmt),
            assign(RETURNED, constant(True), stmt),
        ]
        return made, _Outcome(True, {RETURNED})

    def _try(self, stmt: ast.Try | ast.TryStar, loop: _Loop | None) -> tuple[_Block, _Outcome]:
        if any(_jumps(s) for s in stmt.finalbody):
            raise SourceError(f"line {stmt.lineno} jumps out of a finally block")
        stmt.body, outcome = self.block(stmt.body, loop)
        stmt.orelse, ended = self.block(stmt.orelse, loop)
        if outcome.flags and stmt.orelse:
            stmt.orelse = self._guarded(stmt.orelse, outcome.flags, stmt)
        flags = outcome.flags | ended.flags
        for handler in stmt.handlers:
            handler.body, ended = self.block(handler.body, loop)
            flags |= ended.flags
        stmt.finalbody, _ = self.block(stmt.finalbody, loop)
        return [stmt], _Outcome(False, flags)

    def _loop(self, stmt: ast.For | ast.While, outer: _Loop | None) -> tuple[_Block, _Outcome]:
        endless = _is_endless(stmt)
        if isinstance(stmt, ast.While) and isinstance(stmt.test, ast.Constant) and stmt.test.value:
            stmt.test = at(ast.Constant(value=True), stmt.test)  # `while 1`
        own = _Loop(self._fresh("ag_broken"), self._fresh("ag_continued"))
        body, ended = self.block(stmt.body, own)
        flags = ended.flags - {own.continued}
        if own.continued in self.tested:
            body.insert(0, assign(own.continued, constant(False), stmt))
        before: _Block = []
        if own.broken in flags:
            before.append(assign(own.broken, constant(False), stmt))
        self.tested |= flags
        stmt.body = body or [at(ast.Pass(), stmt)]
        setattr(stmt, FLAGS, sorted(flags))
        orelse, after = self.block(stmt.orelse, outer)
        stmt.orelse = []
        made: _Block = [*before, stmt]
        if endless and RETURNED in flags:  # that is how it ended
            made.append(assign(RETURNED, constant(True), stmt))
        if orelse:
            made += self._guarded(orelse, flags, stmt) if flags else orelse
        outgoing = (flags - {own.broken}) | after.flags
        return made, _Outcome(endless, outgoing)

    def _guarded(self, block: _Block, flags: set[str], place: ast.stmt) -> _Block:
        """A block that is skipped when a flag is set; the line is that of what sets it."""
        if not block:
            return []
        self.tested |= flags
        test = negated(sorted(flags), place)
        return [at(ast.If(test=test, body=block, orelse=[]), place)]
