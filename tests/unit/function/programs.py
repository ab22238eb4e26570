"""Random programs over variables, and three ways to run them.

A program is data: functions made of statements, and a list of calls with assignments in between. It
runs with plain Python functions, with traced ones, and in NumPy by the interpreter below, which is
the definition of what the other two must do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

import tfx as tf

VARIABLES = 3
OPERATORS = ("Add", "Sub", "Mul")
_NUMPY = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}
_TFX = {"Add": tf.add, "Sub": tf.subtract, "Mul": tf.multiply}


class StopError(Exception):
    """Raised by a program itself."""


@dataclass(frozen=True)
class Function:
    """Statements over a growing list of values; number 0 is the argument."""

    statements: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Program:
    """Functions, each of which calls those before it, and what is done with the last ones."""

    functions: tuple[Function, ...]
    steps: tuple[tuple[Any, ...], ...]


@st.composite
def _functions(draw: st.DrawFn) -> tuple[Function, ...]:
    value, variable = st.integers(0, 20), st.integers(0, VARIABLES - 1)
    functions: list[Function] = []
    for number in range(draw(st.integers(1, 3))):
        kinds = [
            st.tuples(st.just("read"), variable),
            st.tuples(st.just("op"), st.sampled_from(OPERATORS), value, value),
            st.tuples(st.just("assign"), variable, value),
            st.tuples(st.just("assign_add"), variable, value),
            st.tuples(st.just("assign_sub"), variable, value),
            st.tuples(st.just("constant"), st.integers(-2, 2)),
            st.tuples(st.just("stop")),
        ]
        if number:
            callee, flag = st.integers(0, number - 1), st.booleans()
            kinds.append(st.tuples(st.just("call"), callee, value, flag))
            kinds.append(st.tuples(st.just("try"), callee, value, flag))
        statements = draw(st.lists(st.one_of(kinds), min_size=1, max_size=8))
        functions.append(Function(tuple(statements)))
    return tuple(functions)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Programs with a few functions and a few calls."""
    functions = draw(_functions())
    number = st.integers(-3, 3)
    step = st.one_of(
        st.tuples(st.just("set"), st.integers(0, VARIABLES - 1), number),
        st.tuples(
            st.just("call"),
            st.integers(0, len(functions) - 1),
            number,
            st.booleans(),  # whether `stop` statements raise
        ),
    )
    return Program(functions, tuple(draw(st.lists(step, min_size=1, max_size=6))))


@dataclass
class Reference:
    """The program in NumPy.

    Attributes:
        all_or_nothing: Whether a function that raises undoes its assignments, as a traced one does.
    """

    program: Program
    all_or_nothing: bool
    state: list[Any] = field(
        default_factory=lambda: [np.full(2, float(i + 1)) for i in range(VARIABLES)]
    )

    def set(self, variable: int, value: float) -> None:
        self.state[variable] = np.full(2, float(value))

    def call(self, number: int, x: Any, stop: bool) -> Any:
        before = list(self.state)
        try:
            return self._run(self.program.functions[number], x, stop)
        except StopError:
            if self.all_or_nothing:
                self.state = before
            raise

    def _run(self, function: Function, x: Any, stop: bool) -> Any:
        values = [np.asarray(x, np.float64)]
        for kind, *rest in function.statements:
            if kind == "read":
                values.append(self.state[rest[0]])
            elif kind == "op":
                a, b = (values[i % len(values)] for i in rest[1:])
                values.append(_NUMPY[rest[0]](a, b))
            elif kind == "constant":
                values.append(np.full(2, float(rest[0])))
            elif kind.startswith("assign"):
                new = np.broadcast_to(values[rest[1] % len(values)], (2,))
                old = self.state[rest[0]]
                sign = {"assign": 0, "assign_add": 1, "assign_sub": -1}[kind]
                self.state[rest[0]] = old + sign * new if sign else new
            elif kind in ("call", "try"):
                callee, argument, flag = rest
                try:
                    values.append(self.call(callee, values[argument % len(values)], stop and flag))
                except StopError:
                    if kind == "call":
                        raise
            elif stop:
                raise StopError
        return values[-1]


class Machine:
    """The program in tfx, traced or not."""

    def __init__(self, program: Program, traced: bool) -> None:
        self.variables = [
            tf.Variable(np.full(2, float(i + 1)), name=f"v{i}") for i in range(VARIABLES)
        ]
        self._functions: list[Any] = []
        for function in program.functions:
            body = self._body(function)
            self._functions.append(tf.function(body) if traced else body)

    @property
    def state(self) -> list[Any]:
        return [v.numpy() for v in self.variables]

    def set(self, variable: int, value: float) -> None:
        self.variables[variable].assign(np.full(2, float(value)))

    def call(self, number: int, x: Any, stop: bool) -> Any:
        return self._functions[number](x, stop)

    def _body(self, function: Function) -> Any:
        def body(x: Any, stop: bool) -> Any:
            values = [x]
            for kind, *rest in function.statements:
                if kind == "read":
                    values.append(self.variables[rest[0]].value())
                elif kind == "op":
                    a, b = (values[i % len(values)] for i in rest[1:])
                    values.append(_TFX[rest[0]](a, b))
                elif kind == "constant":
                    values.append(tf.constant(np.full(2, float(rest[0]))))
                elif kind.startswith("assign"):
                    getattr(self.variables[rest[0]], kind)(values[rest[1] % len(values)])
                elif kind in ("call", "try"):
                    callee, argument, flag = rest
                    try:
                        x = values[argument % len(values)]
                        values.append(self._functions[callee](x, stop and flag))
                    except StopError:
                        if kind == "call":
                            raise
                elif stop:
                    raise StopError
            return values[-1]

        return body
