"""Branches, loops and assertions as calls of runtime operators.

A block becomes a local function that declares what it binds ``nonlocal``. While a condition is a
Python value the operator calls these functions just as the statement would have run them; where it
is a tensor the operator reads and sets the names through two more functions.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from tfx.autograph.jumps import FLAGS
from tfx.autograph.liveness import LIVE_AFTER, LIVE_AT_HEAD, Closures
from tfx.autograph.names import Activity, activity
from tfx.autograph.trees import at, expression, load, negated, statements

# The name under which converted code finds the runtime operators.
OPERATORS = "ag__"
# Parameter by which the operands' lambdas are told from those of the user.
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
        needed = self._needed(stmt, symbols)
        names = [self._fresh(n) for n in ("ag_then", "ag_else", "ag_get", "ag_set")]
        then, orelse, getter, setter = names
        place = stmt.body[0]
        other = stmt.orelse or [at(ast.Pass(), stmt)]
        call = expression(
            f"{OPERATORS}.if_stmt(None, {then}, {orelse}, {getter}, {setter}, {tuple(symbols)!r}, "
            f"{needed!r})",
            stmt,
        )
        assert isinstance(call, ast.Call)
        call.args[0] = stmt.test
        return [
            self._function(then, (), stmt.body, place),
            self._function(orelse, (), other, other[0]),
            *self._state(getter, setter, symbols, stmt),
            at(ast.Expr(value=call), stmt),
        ]

    def _while(self, stmt: ast.While) -> list[ast.stmt]:
        options = self._options(stmt)
        live = getattr(stmt, LIVE_AFTER) | getattr(stmt, LIVE_AT_HEAD)
        symbols = self._symbols(activity([stmt.test, *stmt.body]), live)
        test, body, getter, setter = (
            self._fresh(n) for n in ("ag_test", "ag_body", "ag_get", "ag_set")
        )
        flags = getattr(stmt, FLAGS, [])
        going = stmt.test
        if flags:
            parts = [negated(flags, stmt.test), stmt.test]
            going = at(ast.BoolOp(op=ast.And(), values=parts), stmt.test)
        returned = at(ast.Return(value=going), stmt.test)
        call = (
            f"{OPERATORS}.while_stmt({test}, {body}, {getter}, {setter}, {tuple(symbols)!r}, "
            f"{self._needed(stmt, symbols)!r}, {options})"
        )
        return [
            self._function(test, (), [returned], stmt.test),
            self._function(body, (), stmt.body, stmt.body[0]),
            *self._state(getter, setter, symbols, stmt),
            *statements(call, stmt),
        ]

    def _for(self, stmt: ast.For) -> list[ast.stmt]:
        options = self._options(stmt)
        live = getattr(stmt, LIVE_AFTER) | getattr(stmt, LIVE_AT_HEAD)
        symbols = self._symbols(activity([stmt.target, *stmt.body]), live)
        body, item, getter, setter = (
            self._fresh(n) for n in ("ag_body", "ag_item", "ag_get", "ag_set")
        )
        first = at(ast.Assign(targets=[stmt.target], value=load(item, stmt.target)), stmt.target)
        flags = getattr(stmt, FLAGS, [])
        made: list[ast.stmt] = [
            self._function(body, (item,), [first, *stmt.body], stmt.body[0]),
            *self._state(getter, setter, symbols, stmt),
        ]
        going = "None"
        if flags:
            going = self._fresh("ag_test")
            returned = at(ast.Return(value=negated(flags, stmt)), stmt)
            made.append(self._function(going, (), [returned], stmt))
        targets = tuple(sorted(activity([stmt.target]).bound))
        call = expression(
            f"{OPERATORS}.for_stmt(None, {going}, {body}, {getter}, {setter}, {tuple(symbols)!r}, "
            f"{self._needed(stmt, symbols)!r}, {targets!r}, {options})",
            stmt,
        )
        assert isinstance(call, ast.Call)
        call.args[0] = stmt.iter
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
        """What a block changes that is seen outside: names first, then attributes and items.

        Returns:
            Symbols, and whether the block assigns them; of the others only items change.
        """
        bound = self._closures.bound_by(found)
        lasting = live | self._global | self._nonlocal
        names = {n for n in bound if n in lasting}
        paths = {p for p in found.attributes | found.items if p.split(".")[0] not in bound}
        # Of `a.b` and `a.b.c`, the outer one says it all.
        paths = {p for p in paths if not any(p.startswith(q + ".") for q in paths)}
        rebound = names | found.attributes
        return {s: s in rebound for s in (*sorted(names), *sorted(paths))}

    def _needed(self, stmt: ast.stmt, symbols: Mapping[str, bool]) -> tuple[str, ...]:
        """Those of the symbols that are used after the statement; what is not local always is."""
        lasting = getattr(stmt, LIVE_AFTER) | self._global | self._nonlocal
        return tuple(s for s in symbols if s in lasting or "." in s or not symbols[s])

    def _function(
        self, name: str, parameters: Sequence[str], body: Sequence[ast.stmt], place: ast.AST
    ) -> ast.stmt:
        """A block as a local function."""
        bound = activity(body).bound - set(parameters)
        own = bound - self._global
        self.shared |= own - self._nonlocal
        lines = [f"def {name}({', '.join(parameters)}): pass"]
        (function,) = statements("\n".join(lines), place)
        assert isinstance(function, ast.FunctionDef)
        head: list[ast.stmt] = []
        if own:
            head += statements(f"nonlocal {', '.join(sorted(own))}", place)
        if bound & self._global:
            head += statements(f"global {', '.join(sorted(bound & self._global))}", place)
        plain = [s for s in body if not isinstance(s, ast.Global | ast.Nonlocal)]
        function.body = [*head, *self.block(plain)] or [at(ast.Pass(), place)]
        return function

    def _state(
        self, getter: str, setter: str, symbols: Mapping[str, bool], place: ast.AST
    ) -> list[ast.stmt]:
        """The functions that read and set what a block changes."""
        reads = "".join(f"{OPERATORS}.read(lambda: {s}), " for s in symbols)
        text = f"def {getter}(): return ({reads})\n"
        text += f"def {setter}(ag_values):\n"
        plain = [s for s, assigned in symbols.items() if assigned and "." not in s]
        names = [s for s in plain if s not in self._global]
        if names:
            text += f"  nonlocal {', '.join(names)}\n"
            self.shared |= set(names) - self._nonlocal
        declared = [s for s in plain if s in self._global]
        if declared:
            text += f"  global {', '.join(declared)}\n"
        for i, (symbol, assigned) in enumerate(symbols.items()):
            if not assigned:  # the object stays
                continue
            text += f"  if {OPERATORS}.is_defined(ag_values[{i}]): {symbol} = ag_values[{i}]\n"
            text += "  else:\n"
            text += f"    try: del {symbol}\n"
            text += "    except (NameError, AttributeError): pass\n"
        text += "  pass\n"
        return statements(text, place)

    def _options(self, stmt: ast.While | ast.For) -> str:
        """The ``set_loop_options`` call at the start of a loop, taken out of it, as text."""
        first = stmt.body[0]
        if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Call)):
            return "None"
        called = ast.unparse(first.value.func)
        if called.split(".")[-1] != "set_loop_options":
            return "None"
        stmt.body = stmt.body[1:] or [at(ast.Pass(), stmt)]
        parts = []
        for keyword in first.value.keywords:
            if keyword.arg == "shape_invariants" and isinstance(
                keyword.value, ast.List | ast.Tuple
            ):
                pairs = []
                for pair in keyword.value.elts:
                    if isinstance(pair, ast.Tuple) and len(pair.elts) == 2:
                        name, spec = map(ast.unparse, pair.elts)
                        pairs.append(f"({name!r}, {spec})")
                parts.append(f"'shape_invariants': [{', '.join(pairs)}]")
            else:
                parts.append(f"{keyword.arg!r}: {ast.unparse(keyword.value)}")
        return "lambda: {" + ", ".join(parts) + "}"


def _declared(function: ast.FunctionDef, kind: type[ast.Global | ast.Nonlocal]) -> set[str]:
    found: set[str] = set()
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        if isinstance(node, kind):
            found.update(node.names)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            stack += ast.iter_child_nodes(node)
    return found
