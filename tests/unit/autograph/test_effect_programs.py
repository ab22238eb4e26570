"""Effects on Python objects happen once, while tracing, with TensorFlow's results."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.autograph import effect_programs

N, X, V = 3, 2.0, [1.0, 2.0, 3.0]


def plain(value):
    """A result as numbers, text and lists."""
    if isinstance(value, tuple | list):
        return [plain(x) for x in value]
    if isinstance(value, dict):
        return {key: plain(x) for key, x in value.items()}
    found = value.numpy() if isinstance(value, tf.Tensor) else value
    if isinstance(found, bytes):
        return found.decode()
    return found.tolist() if isinstance(found, np.ndarray | np.generic) else found


@pytest.mark.parametrize(
    "function, expected", effect_programs.FOUND, ids=lambda x: getattr(x, "__name__", "")
)
def test_result_is_tensorflows(function, expected):
    effect_programs.LOG.clear()
    traced = tf.function(function)
    found = [plain(traced(tf.constant(n), tf.constant(X), tf.constant(V))) for n in (N, 0)]
    assert found == list(expected)
    assert traced.experimental_get_tracing_count() == 1


def test_what_is_logged():
    effect_programs.LOG.clear()
    functions = {f.__name__: f for f, _ in effect_programs.FOUND}
    arguments = tf.constant(N), tf.constant(X), tf.constant(V)
    for name in ("append_to_global", "append_to_global_in_if", "prints"):
        tf.function(functions[name])(*arguments)
    assert effect_programs.LOG == ["trace", "then", "else", "()"]
    effect_programs.LOG.clear()


def test_values_of_the_graph_take_the_place_of_what_was_lent():
    """A list gets text in one branch and tensors in the other: it is a list of the graph, then."""

    @tf.function
    def f(n):
        found, names = [], []
        for i in tf.range(n):
            names.append("loop")
            if i > 0:
                found.append(0)
                names.append("then")
            else:
                found.append(i + 10)
        return found, names

    found, names = f(tf.constant(3))
    assert found.numpy().tolist() == [10, 0, 0]
    assert [x.numpy().decode() for x in names] == ["loop", "then"]


def test_a_tensor_kept_in_an_object_may_stay_unused():
    class Box:
        last = None

        def keep(self, x):
            self.last = x
            return x

    box = Box()

    @tf.function
    def f(n):
        total = 0
        for i in tf.range(n):
            total += box.keep(i * 2)
        return total

    assert int(f(tf.constant(4))) == 12
    with pytest.raises(tf.errors.InaccessibleTensorError, match=r"test_effect_programs\.py:\d+"):
        tf.function(lambda: box.last + 1)()


def test_lent_objects_are_as_before_after_an_error():
    names, marks = ["a"], {"k": 1}

    @tf.function
    def f(n, names, marks):
        for _ in tf.range(n):
            names.append("b")
            marks.pop("k")
            raise KeyError("stop")
        return names, marks

    def run(n):
        return f.python_function(n, names, marks)

    with pytest.raises(KeyError):
        tf.function(run)(tf.constant(3))
    assert (names, marks) == (["a"], {"k": 1})
