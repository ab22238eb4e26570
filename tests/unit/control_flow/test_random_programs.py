"""Random programs of nested branches and loops over tensors and variables.

Each program runs three ways: in plain Python on NumPy numbers, eagerly, and traced. All results,
all variables after every call, and the gradients (eagerly, where loops are Python loops, against
the graph) must agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import tfx as tf

LOCALS, VARIABLES = 3, 2
OPERATORS = {
    "add": lambda m, a, b: a + b * 0.5,
    "mul": lambda m, a, b: a * b * 0.7,
    "sin": lambda m, a, b: m.sin(a) + b * 0.1,
    "tanh": lambda m, a, b: m.tanh(a * b),
}

operands = st.tuples(st.sampled_from("lv"), st.integers(0, 2))
expressions = st.tuples(st.sampled_from(sorted(OPERATORS)), operands, operands)
simple = st.one_of(
    st.tuples(st.just("set"), st.integers(0, LOCALS - 1), expressions),
    st.tuples(st.just("assign"), st.integers(0, VARIABLES - 1), expressions),
)


def _blocks(inner: Any) -> Any:
    body = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        simple,
        st.tuples(st.just("if"), operands, body, body),
        st.tuples(st.just("while"), st.integers(0, 3), operands, body),
        st.tuples(st.just("call"), body),
    )


programs = st.lists(_blocks(_blocks(simple)), min_size=1, max_size=4)


class Reference:
    """The program in plain Python."""

    def __init__(self, values: list[float]) -> None:
        self.variables = list(values)

    def value(self, operand: tuple[str, int], local: list[Any]) -> Any:
        kind, i = operand
        return local[i] if kind == "l" else self.variables[i % VARIABLES]

    def run(self, block: list[Any], local: list[Any]) -> list[Any]:
        for step in block:
            kind = step[0]
            if kind == "set":
                local = [*local]
                local[step[1]] = self.expression(step[2], local)
            elif kind == "assign":
                self.variables[step[1]] = self.expression(step[2], local)
            elif kind == "if":
                local = self.run(step[2] if self.value(step[1], local) > 0.3 else step[3], local)
            elif kind == "while":
                done = 0
                while done < step[1] and self.value(step[2], local) < 1.5:
                    local, done = self.run(step[3], local), done + 1
            else:
                local = self.run(step[1], local)
        return local

    def expression(self, expression: Any, local: list[Any]) -> Any:
        name, a, b = expression
        return OPERATORS[name](np, self.value(a, local), self.value(b, local))


class Program(Reference):
    """The same with the functional forms."""

    def __init__(self, values: list[float]) -> None:
        self.tf_variables = [tf.Variable(x, dtype=tf.float64) for x in values]

    def value(self, operand: tuple[str, int], local: list[Any]) -> Any:
        kind, i = operand
        return local[i] if kind == "l" else self.tf_variables[i % VARIABLES].value()

    def expression(self, expression: Any, local: list[Any]) -> Any:
        name, a, b = expression
        return OPERATORS[name](tf, self.value(a, local), self.value(b, local))

    def run(self, block: list[Any], local: list[Any]) -> list[Any]:
        for step in block:
            kind = step[0]
            if kind == "set":
                local = [*local]
                local[step[1]] = self.expression(step[2], local)
            elif kind == "assign":
                self.tf_variables[step[1]].assign(self.expression(step[2], local))
            elif kind == "if":
                local = self._branch(step, local)
            elif kind == "while":
                local = self._loop(step, local)
            else:
                local = tf.function(lambda *given, b=step[1]: self.run(b, list(given)))(*local)
        return local

    def _branch(self, step: Any, local: list[Any]) -> list[Any]:
        return tf.cond(
            self.value(step[1], local) > 0.3,
            lambda: self.run(step[2], local),
            lambda: self.run(step[3], local),
        )

    def _loop(self, step: Any, local: list[Any]) -> list[Any]:
        def going(done: Any, local: list[Any]) -> Any:
            return tf.logical_and(done < step[1], self.value(step[2], local) < 1.5)

        return tf.while_loop(
            going, lambda done, local: (done + 1, self.run(step[3], local)), (0, local)
        )[1]


def _gradients(function: Any, inputs: list[Any], program: Program) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        results = function(*inputs)
        total = tf.add_n([x * (i + 1.0) for i, x in enumerate(results)])
    sources = [*inputs, *program.tf_variables]
    found = tape.gradient(total, sources, unconnected_gradients="zero")
    return [x.numpy() for x in results], [g.numpy() for g in found]


@settings(max_examples=60)
@given(programs, st.lists(st.floats(-2, 2), min_size=5, max_size=5))
def test_all_ways_agree(program, numbers):
    initial, start = numbers[:VARIABLES], numbers[VARIABLES:]
    reference, eager, traced = Reference(initial), Program(initial), Program(initial)
    graph = tf.function(lambda *given: traced.run(program, list(given)))
    for shift in (0.0, 0.4):
        given = [x + shift for x in start]
        expected = reference.run(program, given)
        tensors = [tf.constant(x, tf.float64) for x in given]
        plain = eager.run(program, tensors)
        found = graph(*tensors)
        np.testing.assert_allclose([x.numpy() for x in plain], expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose([x.numpy() for x in found], expected, rtol=1e-9, atol=1e-12)
        for ways in (eager.tf_variables, traced.tf_variables):
            values = [v.numpy() for v in ways]
            np.testing.assert_allclose(values, reference.variables, rtol=1e-9, atol=1e-12)


@settings(max_examples=40)
@given(programs, st.lists(st.floats(-2, 2), min_size=5, max_size=5))
def test_gradients_agree(program, numbers):
    initial, start = numbers[:VARIABLES], numbers[VARIABLES:]
    eager, traced = Program(initial), Program(initial)
    graph = tf.function(lambda *given: traced.run(program, list(given)))
    tensors = [tf.constant(x, tf.float64) for x in start]
    plain = _gradients(lambda *given: eager.run(program, list(given)), tensors, eager)
    found = _gradients(graph, tensors, traced)
    for a, b in zip(plain, found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)
