"""Random programs of effects and state do the same in the same order, eagerly and as graphs."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest

import tfx as tf

# A step is what it does and to which of two variables.
KINDS = ("print", "note", "assign", "check", "read", "look", "call", "branch", "loop")
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 1)), min_size=1, max_size=8)


class Sink(io.StringIO):
    """A stream that puts what is written into a list."""

    def __init__(self, seen: list[str]) -> None:
        super().__init__()
        self._seen = seen

    def write(self, text: str) -> int:
        self._seen.append(text)
        return len(text)


class Program:
    """The steps as a function of a tensor, and what it leaves behind."""

    def __init__(self, steps: list[tuple[str, int]], wrap: Callable[[Any], Any]) -> None:
        self.variables = [tf.Variable(1.0), tf.Variable(2.0)]
        self.seen: list[str] = []
        self._inner = wrap(lambda x: self._run([("print", 0), ("assign", 1), ("look", 1)], x))
        self._wrap = wrap
        self._f = wrap(lambda x: self._run(steps, x))

    def _run(self, steps: list[tuple[str, int]], x: tf.Tensor) -> tf.Tensor:
        for kind, i in steps:
            x = getattr(self, f"_{kind}")(self.variables[i], x)
        return x

    def _print(self, v: tf.Variable, x: tf.Tensor) -> tf.Tensor:
        tf.print("print", v, x, output_stream=sys.stdout)
        return x

    def _assign(self, v: tf.Variable, x: tf.Tensor) -> tf.Tensor:
        v.assign_add(x)
        return x + 1.0

    def _check(self, v: tf.Variable, x: tf.Tensor) -> tf.Tensor:
        tf.debugging.assert_less(v, 12.0)
        return tf.debugging.check_numerics(x * 1.5, "x")

    def _read(self, v: tf.Variable, x: tf.Tensor) -> tf.Tensor:
        def add(v: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
            self.seen.append(f"read {float(v):g} {float(x):g}")
            return v + x

        return tf.py_function(add, [v, x], tf.TensorSpec([], tf.float32)) * 0.5

    def _note(self, v: tf.Variable, x: tf.Tensor) -> tf.Tensor:
        tf.py_function(lambda v: self.seen.append(f"note {float(v):g}"), [v], [])
        return x

    def _look(self, v: tf.Variable, x: tf.Tensor) -> tf.Tensor:
        tf.py_function(lambda: self.seen.append(f"look {float(v):g}"), [], [])
        return x

    def _loop(self, v: tf.Variable, x: tf.Tensor) -> tf.Tensor:
        def body(i: tf.Tensor, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            self._look(v, x)
            return i + 1, self._branch(v, x)

        return tf.while_loop(lambda i, x: i < 2, body, (tf.constant(0), x))[1]

    def _call(self, v: tf.Variable, x: tf.Tensor) -> tf.Tensor:
        return self._inner(x - v)

    def _branch(self, v: tf.Variable, x: tf.Tensor) -> tf.Tensor:
        return tf.cond(v > 3.0, lambda: self._print(v, x), lambda: self._assign(v, x))

    def __call__(self, x: float) -> list[Any]:
        """What was seen and printed, in order, and what was returned or raised."""
        self.seen.clear()
        result: Any
        with contextlib.redirect_stdout(Sink(self.seen)):
            try:
                result = float(self._f(tf.constant(x)))
            except tf.errors.InvalidArgumentError:
                result = "refused"
        return [list(self.seen), result]

    def state(self) -> list[float]:
        return [float(v) for v in self.variables]


@hypothesis.settings(max_examples=60)
@hypothesis.given(STEPS)
def test_programs(steps: list[tuple[str, int]]) -> None:
    eager, graph = Program(steps, lambda f: f), Program(steps, tf.function)
    for x in (1.0, 2.0):
        before = graph.state()
        expected = eager(x)
        assert graph(x) == expected
        if expected[1] == "refused":  # eager code stops in the middle, a graph takes all back
            assert graph.state() == before
            return
        assert graph.state() == pytest.approx(eager.state())


def test_an_assignment_in_a_function_has_an_operation():
    v, rows = tf.Variable([1.0, 2.0]), tf.Variable([1.0, 2.0])

    @tf.function
    def write(x):
        ops = [v.assign(x).op, rows.scatter_nd_update([[0]], [7.0]).op]
        with tf.control_dependencies([tf.group(*ops)]):
            return v + rows

    assert write(tf.constant([3.0, 4.0])).numpy().tolist() == [10.0, 6.0]
    assert not hasattr(v.assign([0.0, 0.0]), "op")  # eagerly there is nothing to wait for
    with pytest.raises(AttributeError, match="has no op: this function has not assigned it"):
        tf.function(lambda: v.op)()
