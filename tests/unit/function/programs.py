"""Random programs over variables, and three ways to run them.

A program is data: functions made of statements, and a list of calls with assignments in between. It
runs with plain Python functions, with traced ones, and in NumPy by the interpreter below, which is
the definition of what the other two must do.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

import tfx as tf

VARIABLES = 3
OPERATORS = ("Add", "Sub", "Mul")
_NUMPY = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}
_TFX = {"Add": tf.add, "Sub": tf.subtract, "Mul": tf.multiply}


LIMIT = 1.0


class StopError(Exception):
    """Raised by a program itself, while it is traced if it is."""


class LimitError(Exception):
    """What a program computes is above the limit: only a run can tell."""


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
def _functions(draw: st.DrawFn, limits: bool) -> tuple[Function, ...]:
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
            st.tuples(st.just("swap"), variable, variable),
            st.tuples(st.just("slice"), variable, value),
            st.tuples(st.just("scatter"), variable, value),
            st.tuples(st.just("by_argument"), variable, value),
            st.tuples(st.just("accumulate"), value),
            st.tuples(st.just("total")),
        ]
        limit = st.tuples(st.just("limit"), value)
        if limits:
            kinds.append(limit)
        if number:
            callee, flag = st.integers(0, number - 1), st.booleans()
            kinds.append(st.tuples(st.just("call"), callee, value, flag))
            kinds.append(st.tuples(st.just("try"), callee, value, flag))
        statements = draw(st.lists(st.one_of(kinds), min_size=1, max_size=8))
        if limits:  # at the end, too: drawn lists are short, and most would have none
            statements.append(draw(limit))
        functions.append(Function(tuple(statements)))
    return tuple(functions)


@st.composite
def programs(draw: st.DrawFn, limits: bool = False) -> Program:
    """Programs with a few functions and a few calls.

    Args:
        draw: Hypothesis's.
        limits: Whether functions check what they compute.
    """
    functions = draw(_functions(limits))
    number = st.integers(-3, 3)
    step = st.one_of(
        st.tuples(st.just("set"), st.integers(0, VARIABLES - 1), number),
        st.tuples(st.just("add"), st.integers(0, VARIABLES - 1), st.integers(0, VARIABLES - 1)),
        st.tuples(st.just("lazy"), number),
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
        limits: Whether limits are checked; while a function is traced nothing is compared.
    """

    program: Program
    all_or_nothing: bool
    limits: bool = True
    # Vectors, then the number of `accumulate` statements, then what they added up.
    state: list[Any] = field(
        default_factory=lambda: [
            *(np.full(2, float(i + 1)) for i in range(VARIABLES)),
            np.int64(0),
            np.float64(0.0),
        ]
    )
    lazy_state: Any = 0.0

    def set(self, variable: int, value: float) -> None:
        self.state[variable] = np.full(2, float(value))

    def add(self, variable: int, other: int) -> None:
        self.state[variable] = self.state[variable] + self.state[other]

    def lazy(self, value: float) -> Any:
        self.lazy_state = self.lazy_state + value
        return self.lazy_state

    def call(self, number: int, x: Any, stop: bool) -> Any:
        before = list(self.state)
        if self.all_or_nothing and self.limits:  # traced first, which is where a `stop` raises
            replace(self, limits=False, state=list(before)).call(number, x, stop)
        try:
            return self._run(self.program.functions[number], x, stop)
        except (StopError, LimitError):
            if self.all_or_nothing:
                self.state = before
            raise

    def _change(self, kind: str, variable: int, other: Any, values: list[Any]) -> None:
        state = self.state
        if kind == "swap":
            state[variable], state[other] = state[other], state[variable]
            return
        new, old = np.broadcast_to(values[other % len(values)], (2,)), state[variable]
        parts = {"slice": [new[1], old[1]], "scatter": [old[0], new[0]]}
        state[variable] = np.array(parts[kind]) if kind in parts else old + new

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
            elif kind in ("swap", "slice", "scatter", "by_argument"):
                self._change(kind, rest[0], rest[1], values)
            elif kind == "accumulate":
                self.state[-2] = self.state[-2] + 1
                self.state[-1] = self.state[-1] + np.sum(values[rest[0] % len(values)])
            elif kind == "total":
                values.append(np.full(2, self.state[-1] * self.state[-2]))
            elif kind == "limit":
                if self.limits and not np.all(values[rest[0] % len(values)] <= LIMIT):
                    raise LimitError
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
        self.variables += [tf.Variable(0, dtype=tf.int64), tf.Variable(0.0, dtype=tf.float64)]
        self._lazy = Lazy() if traced else PlainLazy()
        add = lambda v, x: v.assign_add(x)  # noqa: E731
        self._add_to = tf.function(add) if traced else add
        self._functions: list[Any] = []
        for function in program.functions:
            body = self._body(function)
            self._functions.append(tf.function(body) if traced else body)

    @property
    def state(self) -> list[Any]:
        return [v.numpy() for v in self.variables]

    def set(self, variable: int, value: float) -> None:
        self.variables[variable].assign(np.full(2, float(value)))

    def add(self, variable: int, other: int) -> None:
        self.variables[variable].assign_add(self.variables[other])

    def lazy(self, value: float) -> Any:
        return self._lazy.add(tf.constant(value, tf.float64))

    def call(self, number: int, x: Any, stop: bool) -> Any:
        return self._functions[number](x, stop)

    def _change(self, kind: str, variable: int, other: int, values: list[Any]) -> None:
        v = self.variables[variable]
        if kind == "swap":
            w = self.variables[other]
            first, second = v.value(), w.value()
            v.assign(second)
            w.assign(first)
            return
        x = values[other % len(values)]
        if kind == "slice":
            v[0:1].assign(x[1:2])
        elif kind == "scatter":
            v.scatter_nd_update([[1]], x[0:1])
        else:
            self._add_to(v, x)

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
                elif kind in ("swap", "slice", "scatter", "by_argument"):
                    self._change(kind, rest[0], rest[1], values)
                elif kind == "accumulate":
                    self.variables[-2].assign_add(1)
                    self.variables[-1].assign_add(tf.reduce_sum(values[rest[0] % len(values)]))
                elif kind == "total":
                    count = tf.cast(self.variables[-2], tf.float64)
                    values.append(tf.fill([2], self.variables[-1] * count))
                elif kind == "limit":
                    tf.debugging.assert_less_equal(
                        values[rest[0] % len(values)], tf.constant(LIMIT, tf.float64)
                    )
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


class PlainLazy:
    """Makes its variable in the first call."""

    v: Any = None

    def add(self, x: Any) -> Any:
        if self.v is None:
            self.v = tf.Variable(tf.zeros_like(x))
        return self.v.assign_add(x)


class Lazy(PlainLazy):
    """The same, traced."""

    @tf.function
    def add(self, x: Any) -> Any:
        return super().add(x)
