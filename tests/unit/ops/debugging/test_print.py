"""``print``: what TensorFlow writes for the same values."""

from __future__ import annotations

import contextlib
import functools
import io
import logging
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import tfx as tf


class Point(NamedTuple):
    x: Any
    y: int


CASES: list[tuple[Any, str]] = [
    ("hello", "hello"),
    (("hello", tf.constant([1, 2]), 3, 1.5, True, None), "hello [1 2] 3 1.5 True None"),
    (
        tuple(tf.constant(x) for x in (1.0, 1 / 3, 1e10, 1e-5, 123456789.0, 0.1, -0.0)),
        "1 0.333333343 1e+10 1e-05 123456792 0.1 -0",
    ),
    (tuple(tf.constant(x) for x in (float("nan"), float("inf"))), "nan inf"),
    (
        tuple(tf.constant(x, tf.float64) for x in (1 / 3, 1e20, 0.1)),
        "0.33333333333333331 1e+20 0.1",
    ),
    ((tf.constant(0.1, tf.float16), tf.constant(0.1, tf.bfloat16)), "0.0999755859 0.100097656"),
    (tf.constant([100000.0, 1e6, 1234567.0]), "[100000 1e+06 1234567]"),
    ((tf.range(6), tf.range(7)), "[0 1 2 3 4 5] [0 1 2 ... 4 5 6]"),
    (tf.reshape(tf.range(6), [2, 3]), "[[0 1 2]\n [3 4 5]]"),
    (tf.reshape(tf.range(4), [2, 1, 2]), "[[[0 1]]\n\n [[2 3]]]"),
    (tf.zeros([0]), "[]"),
    ((tf.constant("abc"), tf.constant(["a", "é"])), '"abc" ["a" "é"]'),
    (tf.constant("a\nb"), "a\nb"),  # alone it is text
    (tf.constant(['a"b', "a\nb\x01\x7f\t\\'"]), r"""["a\"b" "a\nb\001\177\t\\\'"]"""),
    (([tf.zeros([0, 2])], tf.zeros([2, 0])), "[[]] [\n ...]"),
    ((tf.constant(True), tf.constant([True, False])), "1 [1 0]"),
    ((tf.constant(1, tf.int8), tf.constant(200, tf.uint8)), "1 200"),
    ({"a": tf.constant(1.5), "b": [tf.constant([1, 2]), 3]}, "{'a': 1.5, 'b': [[1 2], 3]}"),
    (([tf.constant(1), "x"], (tf.constant(1),)), "[1, 'x'] (1,)"),
    (Point(tf.constant(1), 2), "Point(x=1, y=2)"),
    ((tf.Variable([1.0, 2.0]), tf.Variable(3)), "[1 2] 3"),
    ((np.array([1, 2]), tf.TensorShape([1, None])), "array([1, 2]) TensorShape([1, None])"),
    ("{} {:.2f} %s", "{} {:.2f} %s"),
]


@pytest.mark.parametrize(("values", "expected"), CASES, ids=[e[:20] for _, e in CASES])
def test_text(values: Any, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    plain = isinstance(values, tuple) and not hasattr(values, "_fields")
    assert tf.print(*(values if plain else (values,))) is None
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", expected + "\n")


def test_complex_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    tf.print(tf.constant([1 + 2j, -0.5j]), output_stream=sys.stdout)
    assert capsys.readouterr().out == "[1+2j -0-0.5j]\n"


def test_a_large_matrix(capsys: pytest.CaptureFixture[str]) -> None:
    x = tf.reshape(tf.range(100), [10, 10])
    tf.print(x, summarize=1)
    tf.print(x[0], summarize=-1)
    tf.print(x[0], summarize=4)
    tf.print(x[0], x, summarize=0)
    assert capsys.readouterr().err == (
        "[[0 ... 9]\n ...\n [90 ... 99]]\n[0 1 2 3 4 5 6 7 8 9]\n[0 1 2 3 ... 6 7 8 9]\n"
        "[ ...] [\n ...]\n"
    )


def test_where_it_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    tf.print("a", "b", sep=", ", end="!", output_stream=sys.stdout)
    assert capsys.readouterr().out == "a, b!"
    path = tmp_path / "out.txt"
    for i in range(2):
        tf.print("line", tf.constant(i), output_stream=f"file://{path}")
    assert path.read_text() == "line 0\nline 1\n"
    tf.print("logged", output_stream=logging.warning)
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [("WARNING", "logged")]
    with pytest.raises(ValueError, match="Unsupported output stream"):
        tf.print("x", output_stream="nowhere")


def test_structures_are_broken_into_lines_as_if_tensors_were_short(
    capsys: pytest.CaptureFixture[str],
) -> None:
    x = tf.range(4)
    tf.print({"a" * 30: x, "b" * 30: x, "c": [1, "x"], "d": tf.constant("s")})
    tf.print(OrderedDict([("z", tf.constant(1)), ("a", tf.constant(2))]))
    broken = (
        f"{{'{'a' * 30}': [0 1 2 3],\n '{'b' * 30}': [0 1 2 3],\n 'c': [1, 'x'],\n 'd': \"s\"}}"
    )
    ordered = repr(OrderedDict([("z", 1), ("a", 2)]))
    assert capsys.readouterr().err == f"{broken}\n{ordered}\n"


def test_streams_of_logging(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tfx")
    for stream in (logging.INFO, logging.info, logging.ERROR, logging.warning):
        tf.print("x", output_stream=stream)
    levels = [logging.INFO, logging.INFO, logging.ERROR, logging.WARNING]
    assert [r.levelno for r in caplog.records] == levels


def test_levels_of_absl(caplog: pytest.LogCaptureFixture) -> None:
    """INFO, WARNING and ERROR of absl.logging are 0, -1 and -2; its DEBUG is no stream."""
    caplog.set_level(logging.INFO, "tfx")
    for stream in (0, -1, -2):
        tf.print("x", output_stream=stream)
    levels = [logging.INFO, logging.WARNING, logging.ERROR]
    assert [r.levelno for r in caplog.records] == levels
    for unsupported in (1, True):
        with pytest.raises(ValueError, match="Unsupported output stream"):
            tf.print("x", output_stream=unsupported)


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: tf.ragged.constant([[1, 2], [], [3]]), "[[1, 2], [], [3]]"),
        (lambda: tf.ragged.constant([[[1], [2, 3]]]), "[[[1], [2, 3]]]"),
        (lambda: {"r": tf.ragged.constant([["a", "b"], []])}, "{'r': [['a', 'b'], []]}"),
        (
            lambda: tf.ragged.constant([list(range(9))]),
            "[[0, 1, 2, ..., 6, 7, 8]]",
        ),
        (
            lambda: tf.sparse.from_dense([0, 5]),
            "'SparseTensor(indices=[[1]], values=[5], shape=[2])'",
        ),
    ],
)
def test_ragged_and_sparse_tensors(
    make: Any, expected: str, traced: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    def show() -> None:
        tf.print("x:", make(), output_stream=sys.stdout)

    (tf.function(show) if traced else show)()
    assert capsys.readouterr().out == f"x: {expected}\n"


class TestInAFunction:
    def test_at_each_run(self, capsys: pytest.CaptureFixture[str]) -> None:
        @tf.function
        def f(x: tf.Tensor, note: str) -> tf.Tensor:
            returned = tf.print(note, x * 2, {"shape": x.shape, "x": [x]}, sep="|", end="!\n")
            del returned
            return x

        for i in range(2):
            f(tf.constant([i, 1]), "a")
        f(tf.constant([5, 1]), "b")
        assert capsys.readouterr().err == "".join(
            f"{note}|[{2 * i} 2]|{{'shape': TensorShape([2]), 'x': [[{i} 1]]}}!\n"
            for note, i in (("a", 0), ("a", 1), ("b", 5))
        )

    def test_without_tensors(self, capsys: pytest.CaptureFixture[str]) -> None:
        f = tf.function(lambda: tf.print("here", 1))
        assert [f(), f()] == [None, None]
        assert capsys.readouterr().err == "here 1\n" * 2

    def test_all_of_it_is_the_eager_text(self, capsys: pytest.CaptureFixture[str]) -> None:
        for values, expected in CASES:
            plain = isinstance(values, tuple) and not hasattr(values, "_fields")
            tf.function(functools.partial(tf.print, *(values if plain else (values,))))()
            assert capsys.readouterr().err == expected + "\n"

    def test_order(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        v = tf.Variable(1.0)
        seen: list[float] = []
        path = tmp_path / "log"

        def note(y: tf.Tensor) -> None:
            seen.append(float(y))
            sys.stderr.write("python\n")

        @tf.function
        def inner(x: tf.Tensor) -> tf.Tensor:
            tf.print("inner", x, v)
            return x + 1.0

        @tf.function
        def outer(x: tf.Tensor) -> tf.Tensor:
            tf.print("start", x, v)
            v.assign(5.0)
            y = inner(x)
            tf.py_function(note, [y], [])
            tf.print("end", tf.reduce_sum(y), output_stream=f"file://{path}")
            tf.print("end", v.assign_add(1.0))
            return y

        for start in (1, 6):
            assert float(outer(tf.constant(1.0))) == 2.0
            printed = capsys.readouterr().err
            assert printed == f"start 1 {start}\ninner 1 5\npython\nend 6\n"
        assert (seen, path.read_text()) == ([2.0, 2.0], "end 2\n" * 2)

    def test_under_a_tape_it_prints_once(self, capsys: pytest.CaptureFixture[str]) -> None:
        @tf.function
        def f(x: tf.Tensor) -> tf.Tensor:
            y = x * x
            tf.print("y", y)
            return y * x

        @tf.function
        def slope(x: tf.Tensor) -> tf.Tensor:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            return tape.gradient(y, x)

        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        assert (float(tape.gradient(y, x)), float(slope(x))) == (12.0, 12.0)
        assert capsys.readouterr().err == "y 4\n" * 2

    def test_the_stream_of_the_moment(self) -> None:
        f = tf.function(lambda x: tf.print(x, output_stream=sys.stdout))
        for i in range(2):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                f(tf.constant(i))
            assert out.getvalue() == f"{i}\n"

    def test_what_ran_before_an_error_was_printed(self, capsys: pytest.CaptureFixture[str]) -> None:
        @tf.function
        def f(x: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
            tf.print("before", x + 1)
            y = tf.gather(x, i)
            tf.print("after", y)
            return y

        with pytest.raises(tf.errors.InvalidArgumentError):
            f(tf.constant([1, 2]), tf.constant(5))
        assert capsys.readouterr().err == "before [2 3]\n"
