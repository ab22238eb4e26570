"""``print``: what TensorFlow writes for the same values."""

from __future__ import annotations

import logging
import sys
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


def test_a_large_matrix(capsys: pytest.CaptureFixture[str]) -> None:
    x = tf.reshape(tf.range(100), [10, 10])
    tf.print(x, summarize=1)
    tf.print(x[0], summarize=-1)
    tf.print(x[0], summarize=4)
    assert capsys.readouterr().err == (
        "[[0 ... 9]\n ...\n [90 ... 99]]\n[0 1 2 3 4 5 6 7 8 9]\n[0 1 2 3 ... 6 7 8 9]\n"
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


def test_in_a_function(capsys: pytest.CaptureFixture[str]) -> None:
    @tf.function
    def static(x: tf.Tensor) -> tf.Tensor:
        tf.print("shape:", x.shape, tf.constant([1, 2]))
        return x

    static(tf.ones([2]))
    assert capsys.readouterr().err == "shape: TensorShape([2]) [1 2]\n"

    @tf.function
    def dynamic(x: tf.Tensor) -> tf.Tensor:
        tf.print(x)
        return x

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match=r"test_printing\.py"):
        dynamic(tf.ones([2]))
