"""Variables that Python code in the middle of a function reads and assigns."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import tfx as tf

FLOAT = tf.float32


class Seen:
    """What a variable held each time that Python code ran."""

    def __init__(self, variable: tf.Variable) -> None:
        self.values: list[float] = []
        self._variable = variable

    def look(self) -> None:
        tf.py_function(self._append, [], [])

    def _append(self) -> None:
        self.values.append(float(self._variable))


@pytest.fixture
def v() -> tf.Variable:
    return tf.Variable(1.0)


def as_function(f: Callable[..., Any]) -> Any:
    return tf.function(f)


@pytest.mark.parametrize("mode", [lambda f: f, as_function], ids=["eager", "graph"])
class TestReads:
    def test_what_was_assigned_before(self, v: tf.Variable, mode: Any) -> None:
        seen = Seen(v)

        def f() -> None:
            seen.look()
            v.assign_add(1.0)
            seen.look()
            v.assign(10.0)
            tf.numpy_function(seen._append, [], [])

        mode(f)()
        assert (seen.values, float(v)) == ([1.0, 2.0, 10.0], 10.0)

    def test_in_functions_that_are_called(self, v: tf.Variable, mode: Any) -> None:
        seen = Seen(v)

        @mode
        def inner(x: tf.Tensor) -> tf.Tensor:
            seen.look()
            v.assign_add(x)
            seen.look()
            return x

        @mode
        def outer(x: tf.Tensor) -> tf.Tensor:
            v.assign(5.0)
            y = inner(x)
            seen.look()
            return y

        outer(tf.constant(2.0))
        outer(tf.constant(3.0))
        assert seen.values == [5.0, 7.0, 7.0, 5.0, 8.0, 8.0]

    def test_in_loops_and_branches(self, v: tf.Variable, mode: Any) -> None:
        seen = Seen(v)

        def even() -> tf.Tensor:
            seen.look()
            return tf.identity(v.assign_add(10.0))

        def body(i: tf.Tensor) -> tuple[tf.Tensor]:
            seen.look()  # before the loop's assignment: of the last iteration
            v.assign_add(1.0)
            tf.cond(tf.equal(i % 2, 0), even, lambda: tf.identity(v))
            return (i + 1,)

        @mode
        def f() -> None:
            v.assign(0.0)
            tf.while_loop(lambda i: i < 3, body, (tf.constant(0),))
            seen.look()

        f()
        assert seen.values == [0.0, 1.0, 11.0, 12.0, 13.0, 23.0]

    def test_functions_that_the_code_calls(self, v: tf.Variable, mode: Any) -> None:
        twice = tf.function(lambda: v * 2.0)
        for _ in range(10):  # a frozen plan by then
            assert float(twice()) == 2.0

        @mode
        def f() -> tf.Tensor:
            v.assign(4.0)
            y = tf.py_function(twice, [], FLOAT)
            v.assign(6.0)
            return y

        assert float(f()) == 8.0
        assert float(twice()) == 12.0

    def test_under_a_tape(self, v: tf.Variable, mode: Any) -> None:
        seen = Seen(v)

        @mode
        def f(x: tf.Tensor) -> tf.Tensor:
            v.assign(3.0)
            seen.look()
            return x * v

        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        assert [float(g) for g in tape.gradient(y, [x, v])] == [3.0, 2.0]
        assert (seen.values, float(v)) == ([3.0], 3.0)


class TestAssignments:
    def test_of_other_variables_take_effect_at_once(self, v: tf.Variable) -> None:
        others = [tf.Variable(0.0) for _ in range(40)]  # more than there are locks

        def count() -> None:
            for other in others:
                other.assign_add(1.0)

        @tf.function
        def f() -> None:
            v.assign_add(1.0)
            tf.py_function(count, [], [])

        f()
        f()
        assert float(v) == 3.0
        assert {float(x) for x in others} == {2.0}

    @pytest.mark.parametrize("before", [True, False])
    def test_of_what_the_function_assigns_are_refused(self, v: tf.Variable, before: bool) -> None:
        def mine() -> None:
            v.assign(7.0)

        @tf.function
        def f() -> None:
            if before:
                v.assign(2.0)
            tf.py_function(mine, [], [])
            v.assign_add(1.0)

        with pytest.raises(tf.errors.FailedPreconditionError, match=r"mine assigned.*state\.py:"):
            f()
        assert float(v) == 1.0

    def test_nothing_stays_when_the_code_fails(self, v: tf.Variable) -> None:
        def fail() -> None:
            assert float(v) == 2.0
            raise KeyError("no")

        @tf.function
        def f() -> None:
            v.assign(2.0)
            tf.py_function(fail, [], [])

        with pytest.raises(tf.errors.UnknownError, match="no"):
            f()
        assert float(v) == 1.0
        v.assign(5.0)  # no lock is left behind
        assert float(v) == 5.0

    def test_from_many_threads_none_is_lost(self, v: tf.Variable) -> None:
        other = tf.Variable(0.0)

        def count() -> None:
            other.assign_add(1.0)

        @tf.function
        def f() -> None:
            v.assign_add(1.0)
            tf.py_function(count, [], [])

        @tf.function
        def both() -> None:
            other.assign_add(1.0)
            v.assign_add(1.0)

        def work() -> None:
            for _ in range(30):
                f()
                both()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (float(v), float(other)) == (241.0, 240.0)


class TestRandomNumbers:
    """Code that draws from the generator that the function draws from, too."""

    @staticmethod
    def draws() -> Any:
        def inside() -> tf.Tensor:
            return tf.random.uniform([])

        def body(i: tf.Tensor, found: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            x = tf.py_function(inside, [], tf.TensorSpec([], FLOAT))
            return i + 1, tf.concat([found, [x]], 0)

        @tf.function
        def f() -> tf.Tensor:
            own = [tf.random.uniform([]), tf.random.uniform([])]
            others = [tf.py_function(inside, [], tf.TensorSpec([], FLOAT)) for _ in range(2)]
            start = (tf.constant(0), tf.stack(own + others))
            shapes = (tf.TensorShape([]), tf.TensorShape([None]))
            return tf.while_loop(lambda i, found: i < 3, body, start, shapes)[1]

        return f

    def test_are_others_every_time(self) -> None:
        f = self.draws()
        tf.random.set_seed(1)
        numbers = [float(x) for _ in range(4) for x in f().numpy()]
        assert len(set(numbers)) == len(numbers) == 28

    def test_follow_from_the_seed(self) -> None:
        f = self.draws()
        runs = []
        for seed in (5, 6, 5):
            tf.random.set_seed(seed)
            runs.append([f().numpy().tolist() for _ in range(2)])
        assert runs[0] == runs[2] != runs[1]
