"""What tracebacks, debuggers and coverage see of converted code: the user's files, lines, names."""

from __future__ import annotations

import inspect
import io
import pdb
import sys
import traceback

import pytest

import tfx as tf
from tfx.core.source import user_frame

X = tf.constant(3.0)


def helper(x):
    return tf.reshape(x, [7, 7])  # wrong


def failing(x):
    for _ in tf.range(3):
        if x > 0.0:
            with tf.name_scope("inside"):
                x = helper(x)
    return x


def own_frames(error):
    frames = traceback.extract_tb(error.__traceback__)
    return [(f.name, f.line) for f in frames if f.filename == __file__]


def test_tracebacks_show_the_users_lines_only():
    with pytest.raises(ValueError) as caught:
        tf.function(failing)(X)
    assert own_frames(caught.value)[1:] == [
        ("failing", "for _ in tf.range(3):"),
        ("failing", "if x > 0.0:"),
        ("failing", "x = helper(x)"),
        ("helper", "return tf.reshape(x, [7, 7])  # wrong"),
    ]
    (note,) = caught.value.__notes__
    line = helper.__code__.co_firstlineno + 1
    assert note == f"While tracing function 'failing': File \"{__file__}\", line {line}, in helper"


def test_frames_have_the_names_of_the_users_functions():
    found = []

    def see(x):
        found.append(traceback.extract_stack()[-2].name)
        found.append(user_frame().function)
        return x

    see = tf.autograph.experimental.do_not_convert(see)

    class Box:
        def method(self, x):
            while x < 1.0:
                x = see(x) + 1.0
            if x > 0.0 and see(x) > 0.0:
                x = see(x)
            return x

    tf.function(Box().method)(X)
    assert set(found) <= {"method", "unconverted", "see"}
    assert "ag_" not in " ".join(found)


def test_nested_functions_and_classes_keep_their_names():
    def outer(x):
        if x is not None:

            def inner():
                return 1

            class Local:
                def method(self):
                    return 2

        return inner, Local, [lambda: 3][0]

    def names(made):
        inner, local, third = made
        parts = (inner, local, local.method, third)
        return [(p.__name__, p.__qualname__, p.__module__) for p in parts]

    assert names(tf.autograph.to_graph(outer)(1)) == names(outer(1))


def lines_of(function, code_name, *args):
    """The lines of the user's function that run, as a debugger or coverage sees them."""
    lines = set()

    def tracer(frame, event, argument):
        if frame.f_code.co_filename == __file__ and frame.f_code.co_name == code_name:
            lines.add(frame.f_lineno)
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        function(*args)
    finally:
        sys.settrace(before)
    return lines


def work(x, n):
    total = x * 0.0
    for i in range(n):
        if i > 1:
            total += x
        elif i == 1:
            total -= 1.0
            continue
        else:
            total = total + x
    while total > 5.0:
        total = total - 1.0
        if n == 2:
            break
    for i in range(n):
        if i == 6:
            return total
    if n > 5 and total > 1.0:
        return total
    with tf.name_scope("inside"):
        try:
            assert n
            total += 1.0 if n > 3 else 2.0
        except AssertionError:
            return -1.0
        finally:
            total += 1.0
    return -total


@pytest.mark.parametrize("n", [0, 1, 2, 4, 7])
def test_coverage_sees_the_lines_that_run(n):
    converted = tf.autograph.to_graph(work)
    assert lines_of(converted, "work", 3.0, n) == lines_of(work, "work", 3.0, n)


def test_coverage_sees_both_branches_of_the_graph():
    first = work.__code__.co_firstlineno
    lines = {n - first for n in lines_of(tf.function(work), "work", X, 2)}
    text = {lineno: line.strip() for lineno, line in enumerate(inspect.getsource(work).split("\n"))}
    seen = {text[n] for n in lines}
    assert {"while total > 5.0:", "total = total - 1.0", "break"} <= seen
    assert not {"total += x", "return -1.0"} & seen


def test_breakpoints_of_pdb_stop_in_converted_code():
    def work(x):
        y = x
        if x > 0.0:
            y = x * 2.0  # here
        return y

    out = io.StringIO()
    commands = io.StringIO("p type(x).__name__\nw\nc\n")
    debugger = pdb.Pdb(stdin=commands, stdout=out, nosigint=True, readrc=False)
    debugger.use_rawinput = False
    line = work.__code__.co_firstlineno + 3
    debugger.reset()
    assert debugger.set_break(__file__, line) is None
    before = sys.gettrace()
    traced = tf.function(work)
    debugger.botframe = sys._getframe()
    debugger._set_stopinfo(debugger.botframe, None, -1)
    sys.settrace(debugger.trace_dispatch)
    try:
        traced(X)
    finally:
        sys.settrace(before)
        debugger.clear_all_breaks()
    text = out.getvalue()
    assert "SymbolicTensor" in text
    assert "y = x * 2.0  # here" in text
    assert "work()" in text


def test_operations_know_the_users_lines():
    def work(x):
        if x > 0.0:
            x = tf.sin(x)
        return x

    line = work.__code__.co_firstlineno + 2
    graph = tf.function(work).get_concrete_function(X).graph.graph
    nodes = [n for part in (graph, *graph.subgraphs()) for n in part.nodes if n.op == "Sin"]
    assert [(n.source.file, n.source.line, n.source.function) for n in nodes] == [
        (__file__, line, "work")
    ]


def test_errors_of_python_are_those_of_the_function():
    def unbound(x):
        if x is None:
            y = 1
        return y

    def missing(a, *, b):
        return a

    for f, args in ((unbound, (1,)), (missing, ()), (missing, (1, 2))):
        with pytest.raises(Exception) as expected:
            f(*args)
        with pytest.raises(type(expected.value)) as found:
            tf.autograph.to_graph(f)(*args)
        assert str(found.value) == str(expected.value)


def out_of_bounds(x):
    y = x + 1.0
    return y[5]


def fraction_to_integer(x):
    total = tf.constant(0)
    while x > 0.0:
        total = total + 0.5
        x -= 1.0
    return total


def vector_condition(x):
    if tf.stack([x, x]) > 0.0:
        return x
    return -x


@pytest.mark.parametrize(
    ("function", "line", "args"),
    [
        (out_of_bounds, 2, [tf.constant([1.0, 2.0])]),
        (fraction_to_integer, 3, [X]),
        (vector_condition, 1, [X]),
    ],
    ids=["index", "dtype", "condition"],
)
def test_our_own_messages_end_in_the_users_line(function, line, args):
    at = function.__code__.co_firstlineno + line
    inside = tf.function(lambda *xs: tf.function(function)(*xs))
    for traced in (tf.function(function), inside):
        with pytest.raises((ValueError, TypeError)) as caught:
            traced(*args)
        assert str(caught.value).endswith(f" [test_places.py:{at} in {function.__name__}]")


def test_messages_of_the_users_stay_theirs():
    def raising(x):
        raise tf.errors.InvalidArgumentError(None, None, "mine")

    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.function(raising)(X)
    assert str(caught.value) == "mine"

    def python(x):
        raise ValueError("mine, too")

    with pytest.raises(ValueError, match="mine") as plain:
        tf.function(python)(X)
    assert str(plain.value) == "mine, too"
