"""Loops that run as ``Scan``: which ones, and that they compute the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.graph.ir import Graph
from tfx.graph.passes.loops_to_scans import scan_loops
from tfx.graph.passes.pipeline import prepare
from tfx.graph.serialization.serialize import to_model
from tfx.graph.verify import verify
from tfx.runtime.session import Session
from tfx.runtime.values import from_numpy, to_numpy

STEPS, ROWS = 5, np.arange(10, dtype=np.float32).reshape(5, 2) / 7 - 0.5


def ops(graph: Graph) -> list[str]:
    return [n.op for part in (graph, *graph.subgraphs()) for n in part.nodes]


def run(graph: Graph, *arrays: Any) -> list[Any]:
    names = [f"x{i}" for i in range(len(arrays))]
    outputs = [f"y{i}" for i in range(len(graph.outputs))]
    model = to_model(graph, input_names=names, output_names=outputs)
    given = {n: from_numpy(np.asarray(a)) for n, a in zip(names, arrays, strict=True)}
    found = Session(model.SerializeToString()).run(given)
    return [to_numpy(found[i]) for i in range(len(outputs))]


def both(function: Callable[..., Any], *arrays: Any) -> tuple[Graph, Graph]:
    """The graph as it is and with scans, which must give the same numbers."""
    specs = [tf.TensorSpec(np.shape(a), np.asarray(a).dtype) for a in arrays]
    graph = prepare(tf.function(function).get_concrete_function(*specs).graph.graph)
    changed = scan_loops(graph)
    verify(changed)
    for one, other in zip(run(graph, *arrays), run(changed, *arrays), strict=True):
        np.testing.assert_array_equal(one, other)
    return graph, changed


def recurrence(xs: Any, h: Any) -> Any:
    ys = tf.TensorArray(tf.float32, STEPS, element_shape=[2])

    def body(t: Any, h: Any, ys: Any) -> Any:
        h = tf.tanh(h + xs[t])
        return t + 1, h, ys.write(t, h)

    _, h, ys = tf.while_loop(lambda t, *_: t < STEPS, body, (0, h, ys))
    return h, ys.stack()


def test_rows_and_results() -> None:
    graph, changed = both(recurrence, ROWS, ROWS[0])
    assert "Loop" in ops(graph)
    assert "Loop" not in ops(changed)
    assert "Gather" not in ops(changed)
    (scan,) = [n for n in changed.nodes if n.op == "Scan"]
    assert scan.attrs["num_scan_inputs"] == 1
    assert [v.name for v in scan.outputs] == [
        v.name for n in graph.nodes if n.op == "Loop" for v in n.outputs
    ]


def test_gradient_takes_rows_from_the_end() -> None:
    def gradient(xs: Any, h: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([xs, h])
            last, ys = recurrence(xs, h)
            loss = tf.reduce_sum(ys * ys) + tf.reduce_sum(last)
        return tape.gradient(loss, [xs, h])

    _, changed = both(gradient, ROWS, ROWS[0])
    scans = [n for n in changed.nodes if n.op == "Scan"]
    assert len(scans) == 2
    assert set(scans[1].attrs["scan_input_directions"]) == {1}


def test_the_number_of_the_iteration() -> None:
    def counted(xs: Any, h: Any) -> Any:
        def body(t: Any, h: Any) -> Any:
            return t + 1, h * 0.5 + xs[t] * tf.cast(t, tf.float32)

        return tf.while_loop(lambda t, _: t < STEPS, body, (0, h))[1]

    _, changed = both(counted, ROWS, ROWS[0])
    (scan,) = [n for n in changed.nodes if n.op == "Scan"]
    assert scan.attrs["num_scan_inputs"] == 2


def test_a_loop_in_a_loop_and_a_branch() -> None:
    def nested(xs: Any, h: Any) -> Any:
        def inner(k: Any, a: Any) -> Any:
            return k + 1, a * 0.5 + xs[k]

        def outer(t: Any, h: Any) -> Any:
            a = tf.while_loop(lambda k, _: k < STEPS, inner, (0, h + xs[t]))[1]
            return t + 1, tf.cond(tf.reduce_sum(a) > 0, lambda: a * xs[t], lambda: a - xs[t])

        return tf.while_loop(lambda t, _: t < STEPS, outer, (0, h))[1]

    _, changed = both(nested, ROWS, ROWS[0])
    assert ops(changed).count("Scan") == 2


@pytest.mark.parametrize("kind", ["condition", "shape", "length", "part", "other row"])
def test_other_loops_stay(kind: str) -> None:
    def function(xs: Any, h: Any, n: Any) -> Any:
        limit = {"length": n, "part": STEPS - 1}.get(kind, STEPS)

        def going(t: Any, h: Any) -> Any:
            more = t < limit
            return tf.logical_and(more, tf.reduce_sum(h) < 1.0) if kind == "condition" else more

        def body(t: Any, h: Any) -> Any:
            row = xs[(t * 2) % STEPS] if kind == "other row" else xs[t]
            if kind == "shape":
                return t + 1, tf.concat([h, row], 0)
            return t + 1, h * 0.5 + row

        shapes = (tf.TensorShape([]), tf.TensorShape([None])) if kind == "shape" else None
        return tf.while_loop(going, body, (0, h), shape_invariants=shapes)[1]

    _, changed = both(function, ROWS, ROWS[0], np.int32(4))
    scans = [n for n in changed.nodes if n.op == "Scan"]
    # What counts to a constant is still given its numbers, though not the rows.
    numbers = [1] if kind in ("part", "other row") else []
    assert [n.attrs["num_scan_inputs"] for n in scans] == numbers


def test_functions_run_scans_and_keep_loops_in_what_is_saved() -> None:
    function = tf.function(recurrence)
    h, ys = function(ROWS, ROWS[0])
    state, rows = ROWS[0].astype(np.float64), []
    for x in ROWS.astype(np.float64):
        state = np.tanh(state + x)
        rows.append(state)
    np.testing.assert_allclose(ys.numpy(), rows, rtol=1e-5)
    np.testing.assert_allclose(h.numpy(), state, rtol=1e-5)
    (concrete,) = function.concrete_functions
    assert "Loop" in ops(concrete.graph.graph)
    assert "Scan" not in ops(prepare(concrete.graph.graph))


def test_what_rows_alone_decide_is_computed_for_all_at_once() -> None:
    def decayed(xs: Any, h: Any) -> Any:
        def body(t: Any, h: Any) -> Any:
            gate = tf.sigmoid(xs[t]) * (1.0 - tf.sigmoid(xs[t]))
            return t + 1, tf.where(xs[t] > 0.0, h * gate, h - gate)

        return tf.while_loop(lambda t, _: t < STEPS, body, (0, h))[1]

    _, changed = both(decayed, ROWS, ROWS[0])
    (scan,) = [n for n in changed.nodes if n.op == "Scan"]
    assert ops(scan.attrs["body"]) == ["Mul", "Sub", "Where"]
    assert {"Exp", "Greater"} <= {n.op for n in changed.nodes}
    assert scan.attrs["num_scan_inputs"] == 2


def test_results_that_are_used_backwards_alone_are_given_backwards() -> None:
    def reverse(xs: Any, h: Any) -> Any:
        return tf.reverse(recurrence(xs, h)[1], [0])

    _, changed = both(reverse, ROWS, ROWS[0])
    (scan,) = [n for n in changed.nodes if n.op == "Scan"]
    assert scan.attrs["scan_output_directions"] == (1,)
    assert "Slice" not in ops(changed)


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda ys: (tf.reverse(ys, [0]), ys), id="both-ways"),
        pytest.param(lambda ys: (tf.reverse(ys, [0]), ys[0]), id="a-row-too"),
        pytest.param(lambda ys: tf.reverse(ys, [1]), id="another-axis"),
        pytest.param(lambda ys: ys[::-2], id="every-other"),
    ],
)
def test_other_results_stay_as_they_are(use: Callable[[Any], Any]) -> None:
    _, changed = both(lambda xs, h: use(recurrence(xs, h)[1]), ROWS, ROWS[0])
    (scan,) = [n for n in changed.nodes if n.op == "Scan"]
    assert "scan_output_directions" not in scan.attrs


def products(xs: Any, h: Any, one: Any, other: Any, again: bool = False) -> Any:
    """A loop with ``h * one(row) * other(row)``, ``again``: with the first product alone, too."""
    ys = tf.TensorArray(tf.float32, STEPS, element_shape=[2])

    def body(t: Any, h: Any, ys: Any) -> Any:
        first = h * one(xs[t])
        y = first * other(xs[t])
        return t + 1, tf.sin(y) + 0.5, ys.write(t, y + first if again else y)

    return tf.while_loop(lambda t, *_: t < STEPS, body, (0, h, ys))[2].stack()


def in_body(graph: Graph, op: str) -> int:
    (scan,) = [n for n in graph.nodes if n.op == "Scan"]
    return ops(scan.attrs["body"]).count(op)


@pytest.mark.parametrize("turned", [False, True], ids=["last", "first"])
def test_factors_of_rows_are_multiplied_for_all_at_once(turned: bool) -> None:
    functions = [tf.sigmoid, lambda x: 3.0 * x]

    def function(xs: Any, h: Any) -> Any:
        return products(xs, h, *(functions[::-1] if turned else functions))

    graph = prepare(tf.function(function).get_concrete_function(ROWS, ROWS[0]).graph.graph)
    changed = scan_loops(graph)
    verify(changed)
    assert in_body(changed, "Mul") == 1
    found = run(changed, ROWS, ROWS[0])[0]
    np.testing.assert_allclose(run(graph, ROWS, ROWS[0])[0], found, rtol=1e-6)


def test_factors_that_may_be_large_are_left() -> None:
    """Their product may be infinite, and what it is multiplied with 0."""
    rows = np.full((STEPS, 2), 1e30, np.float32)
    _, changed = both(
        lambda xs, h: products(xs, h, tf.abs, tf.identity), rows, np.zeros(2, np.float32)
    )
    assert in_body(changed, "Mul") == 2


def test_a_product_that_is_used_again_stays() -> None:
    def function(xs: Any, h: Any) -> Any:
        return products(xs, h, tf.sigmoid, tf.tanh, again=True)

    _, changed = both(function, ROWS, ROWS[0])
    assert in_body(changed, "Mul") == 2


def test_the_backward_loop_of_an_lstm_multiplies_six_times() -> None:
    """By the slopes of five nonlinearities, which the rows tell, and by the forget gate."""
    kernel = np.linspace(-0.5, 0.5, 16, dtype=np.float32).reshape(2, 8)

    def gradient(xs: Any, kernel: Any) -> Any:
        def body(t: Any, h: Any, c: Any) -> Any:
            i, f, g, o = tf.split(tf.matmul(h + xs[t], kernel), 4, axis=1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            return t + 1, tf.sigmoid(o) * tf.tanh(c), c

        with tf.GradientTape() as tape:
            tape.watch(kernel)
            zeros = tf.zeros((3, 2))
            h = tf.while_loop(lambda t, *_: t < STEPS, body, (0, zeros, zeros))[1]
            loss = tf.reduce_sum(h * h)
        return tape.gradient(loss, kernel)

    xs = np.sin(np.arange(STEPS * 6, dtype=np.float32)).reshape(STEPS, 3, 2)
    graph = prepare(tf.function(gradient).get_concrete_function(xs, kernel).graph.graph)
    changed = scan_loops(graph)
    verify(changed)
    backward = [n for n in changed.nodes if n.op == "Scan"][-1]
    assert ops(backward.attrs["body"]).count("Mul") == 6
    one, other = run(graph, xs, kernel)[0], run(changed, xs, kernel)[0]
    np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-7)
