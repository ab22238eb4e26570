"""``tf.autograph``: conversion by hand, functions left alone, options of loops, verbosity."""

from __future__ import annotations

import ast
import inspect
import logging
import sys

import pytest

import tfx as tf
from tfx.autograph.conversion import is_converted
from tfx.core.errors import OperatorNotAllowedInGraphError

X = tf.constant(3.0)
experimental = tf.autograph.experimental


def countdown(n, step=1):
    """Documented."""
    total = 0
    while n > 0:
        total += n
        n -= step
    return total


def test_to_graph():
    made = tf.autograph.to_graph(countdown)
    assert made(4) == countdown(4) == 10
    assert made(4, step=2) == 6
    assert int(tf.function(made, autograph=False)(tf.constant(4))) == 10
    assert inspect.signature(made) == inspect.signature(countdown)
    assert (made.__name__, made.__doc__) == ("countdown", "Documented.")


def test_to_graph_of_a_method():
    class Box:
        def __init__(self, n):
            self.n = n

        def count(self):
            return countdown(self.n)

    made = tf.autograph.to_graph(Box(tf.constant(3)).count)
    assert int(tf.function(made, autograph=False)()) == 6


def test_to_graph_alone():
    def outer(n):
        if n > 100:
            n = n * 2
        return countdown(n)

    shallow = tf.autograph.to_graph(outer, recursive=False)
    assert shallow(3) == 6
    assert int(tf.function(tf.autograph.to_graph(outer), autograph=False)(tf.constant(3))) == 6
    with pytest.raises(OperatorNotAllowedInGraphError):
        tf.function(shallow, autograph=False)(tf.constant(3))


@pytest.mark.parametrize("convert", [tf.autograph.to_graph, tf.autograph.to_code])
@pytest.mark.parametrize("entity", [len, int, 3, "text", tf.function(countdown), None])
def test_what_has_no_source(convert, entity):
    with pytest.raises(ValueError, match="take a Python function or method; got"):
        convert(entity)


def test_to_code():
    text = tf.autograph.to_code(countdown)
    (made,) = ast.parse(text).body
    assert text.startswith("def countdown(n, step=1):\n")
    assert isinstance(made, ast.FunctionDef)
    assert ast.get_docstring(made) == "Documented."
    assert "ag__.while_stmt(" in text
    assert "return n > 0" in text
    assert "ag_later" not in text
    compile(text, "made", "exec")


def test_do_not_convert():
    codes = []

    def plain(x):
        codes.append(sys._getframe().f_code)
        if x > 0.0:
            return x
        return -x

    for excluded in (experimental.do_not_convert(plain), experimental.do_not_convert()(plain)):
        assert excluded.__name__ == "plain"
        assert float(excluded(-X)) == 3.0
        with pytest.raises(OperatorNotAllowedInGraphError):
            tf.function(excluded)(X)
        with pytest.raises(OperatorNotAllowedInGraphError):
            tf.function(lambda x, f=excluded: f(x))(X)
    assert set(codes) == {plain.__code__}
    assert float(tf.function(plain)(-X)) == 3.0  # itself is as it was


def test_do_not_convert_reaches_what_is_called():
    def inner(x):
        return x if x > 0.0 else -x

    @experimental.do_not_convert
    def outer(x):
        return inner(x)

    with pytest.raises(OperatorNotAllowedInGraphError):
        tf.function(lambda x: outer(x))(X)


def test_do_not_convert_inside_and_on_methods():
    class Box:
        @experimental.do_not_convert
        def method(self, x):
            return is_converted_here()

        @staticmethod
        @experimental.do_not_convert
        def static(x):
            return is_converted_here()

    def outer(x):
        @experimental.do_not_convert
        def inner():
            return is_converted_here()

        assert is_converted_here()
        assert not inner()
        assert not Box().method(x)
        assert not Box.static(x)
        return x

    tf.function(outer)(X)


def is_converted_here():
    code = sys._getframe(1).f_code
    if code is is_converted_here.__code__:
        code = sys._getframe(2).f_code
    return "ag__" in code.co_freevars


is_converted_here = experimental.do_not_convert(is_converted_here)


def test_features():
    feature = experimental.Feature
    names = "ALL AUTO_CONTROL_DEPS ASSERT_STATEMENTS BUILTIN_FUNCTIONS EQUALITY_OPERATORS LISTS"
    assert [f.name for f in feature] == [*names.split(), "NAME_SCOPES"]
    assert feature.LISTS not in feature.all_but(feature.LISTS)
    assert feature.all_but([feature.ALL]) == feature.all()[1:]
    options = (feature.LISTS, feature.ALL)
    f = tf.function(countdown, experimental_autograph_options=options)
    assert int(f(tf.constant(3))) == 6
    assert tf.autograph.to_graph(countdown, experimental_optional_features=options)(3) == 6


def test_loop_options_outside_of_loops_do_nothing():
    assert experimental.set_loop_options(parallel_iterations=1) is None

    def f(n):
        for _ in range(3):
            experimental.set_loop_options(maximum_iterations=2)
            n += 1
        return n

    assert f(0) == tf.autograph.to_graph(f)(0) == 3


def test_loop_options():
    @tf.function
    def f(n):
        rows = tf.zeros([1, 2])
        while tf.shape(rows)[0] < n:
            experimental.set_loop_options(
                shape_invariants=[(rows, tf.TensorShape([None, 2]))],
                maximum_iterations=4,
                parallel_iterations=8,
                swap_memory=True,
            )
            rows = tf.concat([rows, rows[:1]], 0)
        return rows

    assert f(tf.constant(3)).shape == [3, 2]
    assert f(tf.constant(30)).shape == [5, 2]


def test_loop_options_beside_jumps():
    @tf.function
    def f(n):
        rows = tf.zeros([1])
        for i in tf.range(n):
            experimental.set_loop_options(8, shape_invariants=[(rows, tf.TensorShape([None]))])
            if i == 1:
                continue
            if i == 5:
                break
            rows = tf.concat([rows, [1.0]], 0)
        return rows

    assert f(tf.constant(3)).shape == [3]
    assert f(tf.constant(30)).shape == [5]


def test_loop_options_inside_of_a_statement(caplog):
    def f(n):
        while n > 0:
            if n > 1:
                experimental.set_loop_options(maximum_iterations=2)
            n -= 1
        return n

    with pytest.raises(ValueError, match="set_loop_options must be a statement of the loop"):
        tf.autograph.to_graph(f)
    with caplog.at_level(logging.WARNING, "tfx"):
        assert tf.function(lambda x: f(3) * x)(X) == 0.0
    assert "set_loop_options" in caplog.text


def test_verbosity(caplog, capsys):
    def quiet(x):
        return x if x > 0.0 else -x

    def loud(x):
        return x if x > 0.0 else -x

    with caplog.at_level(logging.INFO, "tfx"):
        tf.function(quiet)(X)
        assert not caplog.records
        tf.autograph.set_verbosity(1, alsologtostdout=True)
        try:
            tf.function(loud)(X)
        finally:
            tf.autograph.set_verbosity(0)
    assert any("loud" in r.getMessage() for r in caplog.records)
    assert "loud" in capsys.readouterr().out


def test_trace(capsys):
    @tf.function
    def f(x):
        tf.autograph.trace("tracing", x.dtype.name)
        return x

    f(X)
    f(X)
    assert capsys.readouterr().out == "tracing float32\n"


def test_converted_functions_are_marked():
    assert is_converted(tf.autograph.to_graph(countdown))
    assert not is_converted(countdown)


@pytest.mark.parametrize("arguments", [{"bad": 1}, {"maximum_iteration": 3}], ids=["bad", "typo"])
def test_unknown_loop_options_are_refused(arguments):
    (name,) = arguments

    @tf.function
    def unknown(n):
        for _ in tf.range(n):
            tf.autograph.experimental.set_loop_options(**arguments)
        return n

    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
        unknown(tf.constant(2))


def test_a_misspelt_loop_option_is_refused():
    @tf.function
    def misspelt(n):
        for _ in tf.range(n):
            tf.autograph.experimental.set_loop_options(maximum_iteration=1)
        return n

    with pytest.raises(TypeError, match="unexpected keyword argument 'maximum_iteration'"):
        misspelt(tf.constant(2))
