"""What programs of the fused kernels were made of, in summaries and in profiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tfx as tf
from tfx.graph.fusion.made_of import Fusion
from tfx.kernels.library import usable_library

pytestmark = pytest.mark.skipif(usable_library(True) is None, reason="there are no fused kernels")


def wave(x: Any, w: Any) -> Any:
    y = tf.exp(-x * x) * tf.tanh(x + 1.0)  # line: before
    z = tf.matmul(y, w)  # line: product
    return tf.sin(z) * z + tf.cos(z)  # line: behind


X, W = tf.TensorSpec([64, 512], tf.float32), tf.TensorSpec([512, 512], tf.float32)


def fusion_of(function: Callable[..., Any], **options: Any) -> Fusion | None:
    concrete = tf.function(function, **options).get_concrete_function(X, W)
    fusion: Fusion | None = concrete.graph.summary().fusion
    return fusion


def line_of(text: str) -> int:
    with open(__file__, encoding="utf-8") as file:
        return next(i for i, line in enumerate(file, 1) if text in line)


def lines_of(pieces: Any) -> set[int]:
    return {p.source.line for p in pieces}


def test_each_program_has_its_operators_and_lines() -> None:
    fusion = fusion_of(wave)
    assert fusion is not None
    first, second = fusion.programs
    assert {"Neg", "Mul", "Exp", "Tanh", "Add"} <= {p.op for p in first.pieces}
    assert lines_of(first.pieces) == {line_of("# line: before")}
    assert sorted(p.op for p in second.pieces) == ["Add", "Cos", "Mul", "Sin"]
    assert lines_of(second.pieces) == {line_of("# line: behind")}
    assert [p.op for p in fusion.outside] == ["MatMul"]
    assert lines_of(fusion.outside) == {line_of("# line: product")}
    assert all(p.elements == 64 * 512 for p in second.pieces)


def test_programs_of_called_functions_and_loops() -> None:
    inner = tf.function(wave)

    def outer(x: Any, w: Any) -> Any:
        y = inner(x, w)
        return tf.while_loop(lambda y: tf.reduce_sum(y) < 1.0, lambda y: [tf.exp(y) * 2.0 + y], [y])

    fusion = fusion_of(outer)
    assert fusion is not None
    inside = [{p.op for p in program.pieces} for program in fusion.programs]
    assert {"Sin", "Cos"} <= set.union(*inside)
    assert any({"Exp", "Mul", "Add"} <= ops for ops in inside)
    assert "Loop" in {p.op for p in fusion.outside}


def test_nothing_is_told_where_nothing_is_fused() -> None:
    assert fusion_of(wave, jit_compile=False) is None
    none = fusion_of(lambda x, w: tf.matmul(x, w))
    assert none is not None
    assert none.programs == ()


def test_the_table() -> None:
    concrete = tf.function(wave).get_concrete_function(X, W)
    text = str(concrete.graph.summary())
    assert "in 2 programs, 1 outside" in text
    before, behind = line_of("# line: before"), line_of("# line: behind")
    assert f"test_made_of.py:{before} in wave  Neg Mul Exp" in text
    assert f"test_made_of.py:{behind} in wave  Sin Mul Cos Add" in text
    assert f"test_made_of.py:{line_of('# line: product')} in wave  MatMul" in text


def test_a_long_table_has_the_largest() -> None:
    def many(x: Any, w: Any) -> Any:
        for i in range(6):
            x = tf.sin(tf.matmul(x, w))
            for _ in range(i + 1):
                x = tf.cos(x) * 2.0
        return x

    fusion = fusion_of(many)
    assert fusion is not None
    lines = fusion.lines(2)
    assert "  ... and 4 smaller programs" in lines
    shown = [line for line in lines if line.endswith("operators")]
    sizes = sorted((len(p.pieces) for p in fusion.programs), reverse=True)
    assert sorted((int(s.split()[-2]) for s in shown), reverse=True) == sizes[:2]
    assert len(fusion.lines()) > len(lines)


def test_a_profile_has_the_operators_of_programs() -> None:
    function = tf.function(wave)
    fusion = function.get_concrete_function(X, W).graph.summary().fusion
    with tf.profile() as p:
        function(tf.ones(X.shape), tf.ones(W.shape))
    programs = [n for n in p.nodes if n.op == "Fused"]
    assert [[n.name, *[part.name for part in n.parts]] for n in programs] == [
        [piece.name for piece in program.pieces] for program in fusion.programs
    ]
    for node, program in zip(programs, fusion.programs, strict=True):
        assert 0 < sum(part.share for part in node.parts) < 1
        assert [part.op for part in node.parts] == [piece.op for piece in program.pieces[1:]]


def test_the_time_of_a_program_is_divided_among_its_lines() -> None:
    def f(x: Any) -> Any:
        y = tf.exp(x) * 2.0 + x  # line: two thirds
        return y * tf.abs(y)  # line: the rest

    with tf.profile() as p:
        tf.function(f)(tf.ones([1000]))
    (node,) = p.nodes
    rows = {row.name.split(" ")[0]: row for row in p.rows("source")}
    first = rows[f"test_made_of.py:{line_of('# line: two thirds')}"]
    rest = rows[f"test_made_of.py:{line_of('# line: the rest')}"]
    assert len(rows) == 2
    assert first.total_us == pytest.approx(node.self_us * 3 / 5)
    assert rest.total_us == pytest.approx(node.self_us * 2 / 5)
    assert (first.count, rest.count) == (1, 1)


def test_what_passes_put_in_place_keeps_its_line_and_layer() -> None:
    filters = tf.Variable(tf.ones([3, 3, 16, 16]))

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape, tf.name_scope("conv"):
            y = tf.nn.relu(tf.nn.conv2d(x, filters, 1, "SAME"))
        return tape.gradient(y, filters)

    with tf.profile() as p:
        step(tf.ones([2, 16, 16, 16]))
    products = [n for n in p.nodes if "Conv" in n.op]
    assert products
    assert {n.layer for n in products} == {"conv"}
    assert all(n.source.startswith("test_made_of.py:") for n in products)
