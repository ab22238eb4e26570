"""Random Python functions without tensors, as source text.

They record what they do in ``log``, so that order and number of evaluations can be compared, and
use every jump, scope and block that a conversion could get wrong. Loops end by themselves.
"""

from __future__ import annotations

import random


class Writer:
    """Writes one function ``f(a, b, log)``.

    Args:
        seed: Decides everything.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.counter = 0
        self.functions: list[str] = []
        # Whether the function may assign the global name.
        self.shared = False

    def text(self) -> str:
        self.lines = ["shared = 1", "def f(a, b, log):"]
        if self.random.random() < 0.3:
            self.line(1, "'''Documented.'''")
        if self.random.random() < 0.3:
            self.line(1, "global shared")
            self.shared = True
        self.line(1, "c = a - b")
        self.block(1, 4, loop=False, final=False)
        if self.random.random() < 0.8:
            self.line(1, f"return ({self.names()})")
        return "\n".join(self.lines) + "\n"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def fresh(self, base: str) -> str:
        self.counter += 1
        return f"{base}{self.counter}"

    def name(self) -> str:
        return self.random.choice("abcde")

    def names(self) -> str:
        return ", ".join(f"log.get(lambda: {n})" for n in "abcde")

    def value(self, depth: int = 2) -> str:
        r = self.random.random()
        if depth == 0 or r < 0.25:
            return self.random.choice(["a", "b", "c", "a", "b", "c", "d", "0", "1", "2", "-1"])
        x, y = self.value(depth - 1), self.value(depth - 1)
        if r < 0.45:
            return f"({x} {self.random.choice(['+', '-', '*'])} {y})"
        if r < 0.55:
            return f"({x} if {self.test(depth - 1)} else {y})"
        if r < 0.65:
            return f"({x} {self.random.choice(['and', 'or'])} {y})"
        if r < 0.72:
            return f"log.note({x})"
        if r < 0.78:
            return f"(lambda z, w={y}: z + w if z else w)({x})"
        if r < 0.84:
            return f"sum([q + {x} for q in range(3) if q != {y}])"
        if r < 0.89:
            return f"(e := {x})"
        if r < 0.905:
            return f"(lambda z={x}, *, k={y}: lambda: z - k + a)(k={self.random.choice('12')})()"
        if r < 0.915:
            return f"max(*[{x}, {y}], *(0, 1))"
        if r < 0.925:
            return f"log.many({x}, *({y},), k=c, **{{'m': {y}}})"
        if r < 0.935:
            return "shared"
        if r < 0.96 and self.functions:
            return f"{self.random.choice(self.functions)}({x})"
        return f"abs({x})"

    def test(self, depth: int = 2) -> str:
        r = self.random.random()
        x, y = self.value(depth), self.value(depth)
        if r < 0.4:
            return f"{x} {self.random.choice(['<', '>', '==', '!=', '<=', '>='])} {y}"
        if r < 0.5:
            return f"{x} < {y} <= {self.value(depth - 1) if depth else 'a'}"
        if r < 0.6:
            return f"not {x}"
        if r < 0.7:
            return f"{x} {self.random.choice(['in', 'not in'])} (0, 1, {y})"
        if r < 0.8:
            return f"({x} and {y})"
        return x

    def block(self, depth: int, size: int, *, loop: bool, final: bool) -> None:
        for _ in range(self.random.randint(1, size)):
            self.statement(depth, loop=loop, final=final)

    def statement(self, depth: int, *, loop: bool, final: bool) -> None:
        r = self.random.random()
        if depth > 4 or r < 0.34:
            self.simple(depth)
        elif r < 0.52:
            self.branch(depth, loop=loop, final=final)
        elif r < 0.62:
            self.for_loop(depth, final=final)
        elif r < 0.70:
            self.while_loop(depth, final=final)
        elif r < 0.78:
            self.try_block(depth, loop=loop)
        elif r < 0.83:
            self.line(depth, f"with log.context({self.value(1)}):")
            self.block(depth + 1, 3, loop=loop, final=final)
        elif r < 0.87:
            self.function(depth)
        elif r < 0.885:
            self.match(depth, loop=loop, final=final)
        elif r < 0.92 and loop and not final:
            self.line(depth, self.random.choice(["break", "continue"]))
        elif r < 0.95 and not final:
            self.line(depth, f"return {self.value()}")
        else:
            self.line(depth, f"assert {self.test()}, {self.value(1)}")

    def simple(self, depth: int) -> None:
        r = self.random.random()
        if r < 0.45:
            self.line(depth, f"{self.name()} = {self.value()}")
        elif r < 0.6:
            self.line(depth, f"{self.random.choice('abc')} += {self.value()}")
        elif r < 0.7:
            self.line(depth, f"log.note({self.value()})")
        elif r < 0.74:
            self.line(depth, f"del {self.name()}")
        elif r < 0.76:
            self.line(depth, f"*c, d = {self.value(1)}, {self.value(1)}, {self.value(1)}")
            self.line(depth, "c = sum(c)")
        elif r < 0.8:
            self.line(depth, f"log.attribute = {self.value()}")
        elif r < 0.85:
            self.line(depth, f"log.attribute += {self.value()}")
        elif r < 0.9:
            name = self.fresh("items")
            self.line(depth, f"{name} = [1, 2, 3]")
            self.line(depth, f"{name}[{self.value(1)}] += {self.value(1)}")
            self.line(depth, f"{name}.append({self.value(1)})")
            self.line(depth, f"{self.name()} = {name}.pop()")
            self.line(depth, f"log.note(sum({name}))")
        elif r < 0.93:
            self.line(depth, f"log[{self.value(1)}] = {self.value(1)}")
        elif r < 0.95 and self.shared:
            self.line(depth, f"shared {self.random.choice(['', '+'])}= {self.value(1)}")
        else:
            self.line(depth, f"a, (b, c) = {self.value(1)}, ({self.value(1)}, {self.value(1)})")

    def branch(self, depth: int, *, loop: bool, final: bool) -> None:
        self.line(depth, f"if {self.test()}:")
        self.block(depth + 1, 3, loop=loop, final=final)
        if self.random.random() < 0.3:
            self.line(depth, f"elif {self.test()}:")
            self.block(depth + 1, 2, loop=loop, final=final)
        if self.random.random() < 0.5:
            self.line(depth, "else:")
            self.block(depth + 1, 3, loop=loop, final=final)

    def for_loop(self, depth: int, *, final: bool) -> None:
        target = self.random.choice(["d", "i", "a", "(c, d)"])
        items = "zip(range(3), range(5))" if target[0] == "(" else f"range({self.value(1)} % 5)"
        self.line(depth, f"for {target} in {items}:")
        self.block(depth + 1, 3, loop=True, final=False)
        if self.random.random() < 0.3:
            self.line(depth, "else:")
            self.block(depth + 1, 2, loop=False, final=final)

    def while_loop(self, depth: int, *, final: bool) -> None:
        count = self.fresh("count")
        self.line(depth, f"{count} = 0")
        self.line(depth, f"while {count} < 4 and {self.test()}:")
        self.line(depth + 1, f"{count} += 1")
        self.block(depth + 1, 3, loop=True, final=False)
        if self.random.random() < 0.3:
            self.line(depth, "else:")
            self.block(depth + 1, 2, loop=False, final=final)

    def try_block(self, depth: int, *, loop: bool) -> None:
        self.line(depth, "try:")
        self.block(depth + 1, 3, loop=loop, final=False)
        if self.random.random() < 0.4:
            self.line(depth + 1, f"raise ValueError({self.value(1)})")
        self.line(depth, "except (ValueError, AssertionError, NameError) as error:")
        # Inside a block an unbound local is a plain NameError: its base.
        self.line(depth + 1, "log.note(isinstance(error, NameError))")
        self.block(depth + 1, 2, loop=loop, final=False)
        if self.random.random() < 0.3:
            self.line(depth, "else:")
            self.block(depth + 1, 2, loop=loop, final=False)
        if self.random.random() < 0.3:
            self.line(depth, "finally:")
            if self.random.random() < 0.5:
                self.line(depth + 1, f"log.note({self.value(1)})")
            else:
                self.block(depth + 1, 2, loop=False, final=True)

    def match(self, depth: int, *, loop: bool, final: bool) -> None:
        self.line(depth, f"match ({self.value(1)}, {self.value(1)}):")
        patterns = ["(0, d)", "(1 | 2, _)", "(e, 0)", "(d, e)"]
        for pattern in self.random.sample(patterns, 2):
            guard = f" if {self.test(1)}" if self.random.random() < 0.4 else ""
            if pattern == "(d, e)" and not guard:
                guard = " if True"
            self.line(depth + 1, f"case {pattern}{guard}:")
            self.block(depth + 2, 2, loop=loop, final=final)
        if self.random.random() < 0.5:
            self.line(depth + 1, "case _:")
            self.block(depth + 2, 2, loop=loop, final=final)

    def function(self, depth: int) -> None:
        name = self.fresh("g")
        self.line(depth, f"def {name}(x, y={self.value(1)}):")
        if self.random.random() < 0.5:
            self.line(depth + 1, f"nonlocal {self.random.choice(['c', 'd'])}")
        outer, self.functions = self.functions, []
        shared, self.shared = self.shared, False
        self.block(depth + 1, 2, loop=False, final=False)
        if self.random.random() < 0.3:
            inner = self.fresh("h")
            self.line(depth + 1, f"def {inner}(*rest, k={self.value(1)}, **more):")
            self.line(depth + 2, f"nonlocal {self.random.choice(['x', 'y'])}")
            self.block(depth + 2, 2, loop=False, final=False)
            self.line(depth + 2, "x = y = len(rest) + k")
            self.line(depth + 1, f"log.note({inner}(x, *[y], k=a))")
        self.functions, self.shared = outer, shared
        self.line(depth + 1, "return x")
        self.line(depth, f"log.note({name}({self.value(1)}))")
        self.line(depth, f"log.functions.append({name})")
