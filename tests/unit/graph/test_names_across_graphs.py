"""Names of sizes hold in one graph: calls, feeds, captures and programs do not carry them over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import tfx as tf
import tfx.compat.v1 as v1

SIZES = [(4, 2), (2, 4), (3, 1), (1, 3), (2, 1), (1, 2)]
VECTOR = tf.TensorSpec([None])


def _difference(x: Any) -> Any:
    return x[1:] * x[:-1]


def _chain(x: Any) -> Any:
    return tf.exp(x[1:] * 2.0 + 1.0) * 3.0 - x[1:]


def _branch(x: Any) -> Any:
    cut = tf.cond(tf.reduce_sum(x) > 0.0, lambda: x[1:], lambda: (x * 2.0)[1:])
    return tf.nn.relu(cut * 2.0)


def _slope(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x[1:] * tf.exp(x[:-1]))
    return tape.gradient(y, x)


@pytest.mark.parametrize("function", [_difference, _chain, _branch, _slope])
def test_a_function_is_called_with_two_sizes(function: Any, tmp_path: Path) -> None:
    inner = tf.function(function)
    both = tf.function(lambda x, y: [inner(x), inner(y)], input_signature=[VECTOR, VECTOR])
    module = tf.Module()
    module.both = both
    tf.saved_model.save(module, tmp_path / "bundle")
    loaded = tf.saved_model.load(tmp_path / "bundle")
    (file,) = (tmp_path / "bundle").rglob("*.onnx")
    session = onnxruntime.InferenceSession(file)
    names = [i.name for i in session.get_inputs()]
    for sizes in SIZES:
        given = [np.linspace(0.5, 1.5, size).astype(np.float32) for size in sizes]
        expected = [function(tf.constant(x)).numpy() for x in given]
        found = session.run(None, dict(zip(names, given, strict=True)))
        for results in (both(*given), loaded.both(*given), found):
            for result, wanted in zip(results, expected, strict=True):
                np.testing.assert_allclose(result, wanted, rtol=1e-5)


def test_a_function_that_prints_is_called_with_two_sizes(capfd: Any) -> None:
    @tf.function
    def inner(x: Any) -> Any:
        tf.print("size", tf.shape(x))
        return tf.shape(x[1:])

    both = tf.function(lambda x, y: (inner(x), inner(y)), input_signature=[VECTOR, VECTOR])
    assert [int(n[0]) for n in both(tf.zeros([9]), tf.zeros([7]))] == [8, 6]
    assert capfd.readouterr().err.split() == ["size", "[9]", "size", "[7]"]


def test_what_is_fed_has_its_own_size() -> None:
    @tf.function(input_signature=[VECTOR])
    def f(x: Any) -> Any:
        y = x[1:]
        return y, tf.shape(y), tf.shape(tf.exp(x)[1:])

    graph = f.get_concrete_function().graph
    (cut,) = [op for op in graph.get_operations() if op.type == "Slice"][:1]
    part = f.get_concrete_function().prune(
        [graph.inputs[0], cut.outputs[0]], [graph.outputs[1], graph.outputs[2]]
    )
    found = part(tf.zeros([4]), tf.zeros([1]))
    assert [int(n[0]) for n in found] == [1, 3]


def test_what_a_session_or_a_wrapped_function_is_fed_has_its_own_size() -> None:
    def f(x: Any) -> Any:
        y = x[1:]
        grown = tf.cond(tf.reduce_sum(y) > 0.0, lambda: tf.concat([y, y], 0), lambda: y)
        return y, tf.shape(y), tf.shape(tf.exp(x)[1:]), tf.shape(tf.tanh(y) * 2.0), grown

    with v1.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None])
        y, *results = f(x)
        total = v1.get_variable("total", [2])
        more = v1.assign_add(total, tf.cast(tf.concat([results[0], results[1]], 0), tf.float32))
    with v1.Session(graph=graph) as session:
        session.run(total.assign([0.0, 0.0]))
        given = {x: np.zeros(4), y: np.ones(1)}
        for _ in range(2):
            found = session.run([*results, more], given)
        assert [n.tolist() for n in found] == [[1], [3], [1], [1, 1], [2, 6]]
        assert session.run(total).tolist() == [2, 6]

    wrapped = v1.wrap_function(f, [VECTOR])
    (cut,) = [op for op in wrapped.graph.get_operations() if op.type == "Slice"][:1]
    part = wrapped.prune([wrapped.inputs[0], cut.outputs[0]], wrapped.outputs[1:])
    found = part(tf.zeros([4]), tf.ones([1]))
    assert [n.numpy().tolist() for n in found] == [[1], [3], [1], [1, 1]]


def test_captured_sizes_are_those_of_what_is_captured() -> None:
    @tf.function(input_signature=[VECTOR, VECTOR])
    def f(x: Any, y: Any) -> Any:
        n = tf.shape(x)[0]

        @tf.function
        def inner(a: Any) -> Any:
            ones = tf.ones([n])
            with tf.GradientTape() as tape:
                tape.watch(a)
                total = tf.reduce_sum(a * ones)
            return tf.shape(a), tf.shape(ones), tape.gradient(total, a)

        return inner(x), inner(y)

    first, second = f(tf.zeros([3]), tf.zeros([1]))
    assert [x.numpy().tolist() for x in first] == [[3], [3], [1, 1, 1]]
    assert [x.numpy().tolist() for x in second] == [[1], [3], [3]]


def test_shapes_that_programs_pass_on_are_unknown_where_they_were() -> None:
    with v1.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None])
        y = v1.placeholder(tf.float32, x.shape)
        z = v1.placeholder(tf.float32, x[1:].get_shape())
        sizes = [tf.shape(v) for v in (x, y, z, x[1:])]
    with v1.Session(graph=graph) as session:
        found = session.run(sizes, {x: [1.0, 2.0, 3.0], y: [1.0], z: [1.0, 2.0, 3.0, 4.0]})
    assert [int(n[0]) for n in found] == [3, 1, 4, 2]

    @tf.function(input_signature=[VECTOR, VECTOR])
    def masked(x: Any, y: Any) -> Any:
        kept = tf.boolean_mask(x, x > 0.0)
        kept.set_shape(y.shape)
        return tf.shape(y), tf.shape(kept)

    sizes = masked(tf.constant([1.0, -1.0, 2.0]), tf.zeros([5]))
    assert [int(n[0]) for n in sizes] == [5, 2]

    @tf.function(input_signature=[VECTOR])
    def f(x: Any) -> Any:
        spec = tf.TensorSpec(x[1:].shape)

        @tf.function(input_signature=[spec, spec])
        def inner(a: Any, b: Any) -> Any:
            return tf.shape(a), tf.shape(b)

        return inner(x, x[2:])

    assert [int(n[0]) for n in f(tf.zeros([5]))] == [5, 3]


def test_a_loop_whose_variable_may_have_any_size_ends() -> None:
    @tf.function(input_signature=[VECTOR])
    def grown(x: Any) -> Any:
        return tf.while_loop(
            lambda i, y: i < 3,
            lambda i, y: (i + 1, tf.concat([y, x], 0)),
            [tf.constant(0), x],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape(["n"])],
        )[1]

    assert grown(tf.zeros([2])).shape == (8,)


def test_a_size_of_zero_is_copied_where_a_reshape_says_so() -> None:
    @tf.function(input_signature=[VECTOR, VECTOR])
    def f(x: Any, y: Any) -> Any:
        shaped = tf.raw.Reshape(x, tf.shape(y, tf.int64))
        return tf.shape(y), tf.shape(shaped)

    assert [int(n[0]) for n in f(tf.zeros([3]), tf.zeros([0]))] == [0, 3]


def test_a_gradient_of_what_was_broadcast_to_nothing() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, None])] * 2)
    def slope(a: Any, b: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(a)
            total = tf.reduce_sum(a[:, :1] * b)
        return tape.gradient(total, a)

    np.testing.assert_array_equal(slope(tf.ones([2, 3]), tf.ones([2, 0])), np.zeros([2, 3]))


@pytest.mark.parametrize("name", ["1", "2", "a*a", "a|b", "n-1", "(n-1)."])
def test_names_of_users_are_not_taken_for_what_they_look_like(name: str) -> None:
    @tf.function(input_signature=[VECTOR, tf.TensorSpec([name])])
    def f(x: Any, y: Any) -> Any:
        made = [tf.concat([x, y], 0), tf.concat([x, [1.0]], 0), tf.concat([x, x], 0), x[1:]]
        made += [tf.reshape(x[:, None] * y, [-1]), tf.reshape(y[:, None] * y, [-1])]
        return [tf.shape(v) for v in made]

    found = f(tf.zeros([4]), tf.zeros([3]))
    assert [int(n[0]) for n in found] == [7, 5, 8, 3, 12, 9]
