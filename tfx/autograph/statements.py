"""Branches, loops and assertions as calls of runtime operators.

A block becomes a local function that declares what it binds ``nonlocal``. While a condition is a
Python value the operator calls these functions just as the statement would have run them; where it
is a tensor the operator reads and sets the names through two more functions.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence

from tfx.autograph.jumps import FLAGS
from tfx.autograph.liveness import LIVE_AFTER, LIVE_AT_HEAD, Closures
from tfx.autograph.loop_options import taken_from
from tfx.autograph.names import Activity, activity, parameters
from tfx.autograph.trees import at, children, expression, load, negated, statements

# The name under which converted code finds the runtime operators.
OPERATORS = "ag__"
# Parameter that distinguishes the operands' lambdas from those of the user.
LATER = "ag_later"


class StatementConverter:
    """Converts the statements of one function.

    Args:
        function: The function; its jumps are lowered and its statements annotated.
        closures: Its nested functions.
        fresh: Makes a name that nothing else has.

    Attributes:
        shared: Names that some block binds: the function must bind them itself, too.
    """

    def __init__(
        self, function: ast.FunctionDef, closures: Closures, fresh: Callable[[str], str]
    ) -> None:
        self._closures = closures
        self._fresh = fresh
        self._global = _declared(function, ast.Global)
        self._nonlocal = _declared(function, ast.Nonlocal)
        everywhere = activity(function.body).bound | set(parameters(function.args))
        self._local = everywhere - self._global - self._nonlocal
        self.shared: set[str] = set()

    def block(self, block: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Converted statements."""
        return [made for stmt in block for made in self._statement(stmt)]

    def _statement(self, stmt: ast.stmt) -> list[ast.stmt]:
        match stmt:
            case ast.If():
                return self._if(stmt)
            case ast.While():
                return self._while(stmt)
            case ast.For():
                return self._for(stmt)
            case ast.Assert():
                return [self._assert(stmt)] if __debug__ else []
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return [stmt]
            case _:
                for name in ("body", "orelse", "finalbody"):
                    if getattr(stmt, name, None):
                        setattr(stmt, name, self.block(getattr(stmt, name)))
                for part in (*getattr(stmt, "handlers", []), *getattr(stmt, "cases", [])):
                    part.body = self.block(part.body)
                return [stmt]

    # Constructs

    def _if(self, stmt: ast.If) -> list[ast.stmt]:
        found = activity([*stmt.body, *stmt.orelse])
        # The other branch, which is traced second, must find what it reads as it was.
        live = getattr(stmt, LIVE_AFTER) | getattr(stmt, LIVE_AT_HEAD)
        symbols = self._symbols(found, live)
        texts = _texts(symbols, self._needed(stmt, symbols), *self._lent(found, symbols))
        names = [self._fresh(n) for n in ("ag_then", "ag_else", "ag_get", "ag_set")]
        then, orelse, getter, setter = names
        other = stmt.orelse or [at(ast.Pass(), stmt)]
        call = _operator(
            "if_stmt",
            (stmt.test, *_names(then, orelse, getter, setter), *texts),
            stmt,
        )
        return [
            self._function(then, (), stmt.body, stmt),
            self._function(orelse, (), other, stmt),
            *self._state(getter, setter, symbols, stmt),
            at(ast.Expr(value=call), stmt),
        ]

    def _while(self, stmt: ast.While) -> list[ast.stmt]:
        options = taken_from(stmt)
        live = getattr(stmt, LIVE_AFTER) | getattr(stmt, LIVE_AT_HEAD)
        found = activity([stmt.test, *stmt.body])
        symbols = self._symbols(found, live)
        test, body, getter, setter = (
            self._fresh(n) for n in ("ag_test", "ag_body", "ag_get", "ag_set")
        )
        flags = getattr(stmt, FLAGS, [])
        going = stmt.test
        if flags:
            parts = [negated(flags, stmt.test), _truth(stmt.test)]
            going = at(ast.BoolOp(op=ast.And(), values=parts), stmt.test)
        returned = at(ast.Return(value=going), stmt.test)
        call = _operator(
            "while_stmt",
            (
                *_names(test, body, getter, setter),
                *_texts(symbols, self._needed(stmt, symbols), *self._lent(found, symbols)),
                expression(options, stmt),
            ),
            stmt,
        )
        return [
            self._function(test, (), [returned], stmt),
            self._function(body, (), stmt.body, stmt),
            *self._state(getter, setter, symbols, stmt),
            at(ast.Expr(value=call), stmt),
        ]

    def _for(self, stmt: ast.For) -> list[ast.stmt]:
        options = taken_from(stmt)
        live = getattr(stmt, LIVE_AFTER) | getattr(stmt, LIVE_AT_HEAD)
        found = activity([stmt.target, *stmt.body])
        symbols = self._symbols(found, live)
        body, item, getter, setter = (
            self._fresh(n) for n in ("ag_body", "ag_item", "ag_get", "ag_set")
        )
        first = at(ast.Assign(targets=[stmt.target], value=load(item, stmt.target)), stmt.target)
        flags = getattr(stmt, FLAGS, [])
        made: list[ast.stmt] = [
            self._function(body, (item,), [first, *stmt.body], stmt),
            *self._state(getter, setter, symbols, stmt),
        ]
        going = "None"
        if flags:
            going = self._fresh("ag_test")
            returned = at(ast.Return(value=negated(flags, stmt)), stmt)
            made.append(self._function(going, (), [returned], stmt))
        targets = sorted(activity([stmt.target]).bound)
        needed = self._needed(stmt, symbols)
        call = _operator(
            "for_stmt",
            (
                stmt.iter,
                expression(going, stmt),
                *_names(body, getter, setter),
                *_texts(symbols, needed, *self._lent(found, symbols), targets),
                expression(options, stmt),
            ),
            stmt,
        )
        return [*made, at(ast.Expr(value=call), stmt)]

    def _assert(self, stmt: ast.Assert) -> ast.stmt:
        call = expression(f"{OPERATORS}.assert_stmt(None, lambda {LATER}=None: None)", stmt)
        assert isinstance(call, ast.Call)
        call.args[0] = stmt.test
        if stmt.msg is None:
            del call.args[1]
        else:
            message = call.args[1]
            assert isinstance(message, ast.Lambda)
            message.body = stmt.msg
        return at(ast.Expr(value=call), stmt)

    # Parts

    def _symbols(self, found: Activity, live: set[str]) -> dict[str, bool]:
        """Return the symbols that a block changes and that are visible outside, names first.

        Returns:
            Symbols, and whether the block assigns them; of the others only items change.
        """
        bound = self._closures.bound_by(found) | ((found.items | found.changed) & self._local)
        lasting = live | self._global | self._nonlocal
        names = {n for n in bound if n in lasting}
        paths = {p for p in found.attributes | found.items if p.split(".")[0] not in found.bound}
        paths -= bound
        # Of `a.b` and `a.b.c`, the outer one says it all.
        paths = {p for p in paths if not any(p.startswith(q + ".") for q in paths)}
        rebound = names | found.attributes
        return {s: s in rebound for s in (*sorted(names), *sorted(paths))}

    def _lent(
        self, found: Activity, symbols: Mapping[str, bool]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Symbols that a block may only change as Python objects, so that no value of them changes.

        Returns:
            Those whose object is changed in place, and those that only nested functions assign.
        """
        plain = found.assigned | found.items
        changed = tuple(s for s in symbols if s in found.changed and s not in plain)
        own = plain | found.changed | found.attributes
        return changed, tuple(s for s in symbols if s not in own)

    def _needed(self, stmt: ast.stmt, symbols: Mapping[str, bool]) -> tuple[str, ...]:
        """Return the symbols that are used after the statement, as all that are not local are."""
        lasting = getattr(stmt, LIVE_AFTER) | self._global | self._nonlocal
        return tuple(s for s in symbols if s in lasting or "." in s or not symbols[s])

    def _function(
        self, name: str, parameters: Sequence[str], body: Sequence[ast.stmt], place: ast.AST
    ) -> ast.stmt:
        """A block as a local function."""
        bound = activity(body).bound - set(parameters)
        own = bound - self._global
        self.shared |= own - self._nonlocal
        head: list[ast.stmt] = []
        if own:
            head.append(at(ast.Nonlocal(names=sorted(own)), place))
        if bound & self._global:
            head.append(at(ast.Global(names=sorted(bound & self._global)), place))
        plain = [s for s in body if not isinstance(s, ast.Global | ast.Nonlocal)]
        return _definition(name, parameters, [*head, *self.block(plain)], place)

    def _state(
        self, getter: str, setter: str, symbols: Mapping[str, bool], place: ast.AST
    ) -> list[ast.stmt]:
        """The functions that read and set what a block changes."""
        reads = [
            _operator("read", (_later(expression(symbol, place)),), place) for symbol in symbols
        ]
        returned = ast.Return(value=ast.Tuple(elts=list(reads), ctx=ast.Load()))
        made = [_definition(getter, (), [at(returned, place)], place)]
        plain = [s for s, assigned in symbols.items() if assigned and "." not in s]
        names = [s for s in plain if s not in self._global]
        body: list[ast.stmt] = []
        if names:
            body.append(at(ast.Nonlocal(names=names), place))
            self.shared |= set(names) - self._nonlocal
        declared = [s for s in plain if s in self._global]
        if declared:
            body.append(at(ast.Global(names=declared), place))
        for i, (symbol, assigned) in enumerate(symbols.items()):
            if assigned:  # of others, the object stays
                body += _set(i, symbol, place)
        return [*made, _definition(setter, ("ag_values",), body, place)]


def _definition(
    name: str, parameters: Sequence[str], body: Sequence[ast.stmt], place: ast.AST
) -> ast.stmt:
    (function,) = statements(f"def ag_name({', '.join(parameters)}): pass", place)
    assert isinstance(function, ast.FunctionDef)
    function.name = name
    if body:
        function.body = list(body)
    return function


def _set(number: int, symbol: str, place: ast.AST) -> list[ast.stmt]:
    """Statements that give a symbol its value, or take it away."""
    value = f"ag_values[{number}]"
    text = f"if {OPERATORS}.is_defined({value}): ag_symbol = {value}\n"
    if "." in symbol:
        text += "else:\n try: del ag_symbol\n except AttributeError: pass\n"
        return statements(text.replace("ag_symbol", symbol), place)
    text += "else:\n try: del ag_symbol\n except NameError: pass\n"
    made = statements(text, place)
    (test,) = made
    assert isinstance(test, ast.If)
    (assigned,), (tried,) = test.body, test.orelse
    assert isinstance(assigned, ast.Assign)
    assert isinstance(tried, ast.Try)
    (deleted,) = tried.body
    assert isinstance(deleted, ast.Delete)
    for (target,) in (assigned.targets, deleted.targets):
        assert isinstance(target, ast.Name)
        target.id = symbol
    return made


def _operator(name: str, args: Sequence[ast.expr], place: ast.AST) -> ast.expr:
    """A call of an operator."""
    called = ast.Attribute(value=load(OPERATORS, place), attr=name, ctx=ast.Load())
    return at(ast.Call(func=called, args=list(args), keywords=[]), place)


def _names(*names: str) -> list[ast.expr]:
    return [ast.Name(id=name, ctx=ast.Load()) for name in names]


def _texts(*groups: Iterable[str]) -> list[ast.expr]:
    """Tuples of text."""
    return [ast.Constant(value=tuple(group)) for group in groups]  # type: ignore[arg-type]


def _later(value: ast.expr) -> ast.expr:
    made = expression("lambda: None", value)
    assert isinstance(made, ast.Lambda)
    made.body = value
    return made


def _declared(function: ast.FunctionDef, kind: type[ast.Global | ast.Nonlocal]) -> set[str]:
    found: set[str] = set()
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        if isinstance(node, kind):
            found.update(node.names)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            stack += children(node)
    return found


def _truth(test: ast.expr) -> ast.expr:
    """A test as a bool, which ``and`` can put beside another: of a number, of a list."""
    if isinstance(test, ast.Compare | ast.Constant):
        return test
    once = at(ast.UnaryOp(op=ast.Not(), operand=test), test)
    return at(ast.UnaryOp(op=ast.Not(), operand=once), test)
