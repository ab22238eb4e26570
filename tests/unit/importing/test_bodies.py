"""Branches, loops, scans, local functions, sequences and optional values of imported models."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import tfx as tf
from tests.unit.importing.samples import (
    BOOL,
    FLOAT,
    INT64,
    constant,
    make,
    node,
    numbers,
    run_stock,
    value,
)

W, V = numbers(3, 3), numbers(3, 3, seed=1)
X = numbers(2, 3, seed=2)


def body(nodes: Any, inputs: Any, outputs: Any, stored: Any = ()) -> onnx.GraphProto:
    return helper.make_graph(list(nodes), "body", inputs, outputs, list(stored))


def test_weights_inside_of_branches_are_variables() -> None:
    then = body([node("MatMul", ["x", "v"], ["a"])], [], [value("a", None)], [constant("v", V)])
    other = body([node("MatMul", ["x", "w"], ["b"])], [], [value("b", None)])
    nodes = [node("If", ["c"], ["y"], then_branch=then, else_branch=other)]
    inputs = [value("x", ["n", 3]), value("c", [], BOOL)]
    model = tf.import_onnx(make(nodes, inputs, [value("y", ["n", 3])], [constant("w", W)]))
    assert sorted(model.weights) == ["v", "w"]
    ones = np.ones((3, 3), np.float32) * X.sum(0)[:, None]
    for flag, used, factor in ((True, "v", V), (False, "w", W)):
        with tf.GradientTape() as tape:
            y = model(X, flag)
            loss = tf.reduce_sum(y)
        np.testing.assert_allclose(y, X @ factor, rtol=1e-5)
        found = tape.gradient(loss, dict(model.weights))
        np.testing.assert_allclose(found[used], ones, rtol=1e-5)
        assert not np.any(found["w" if used == "v" else "v"])
    back = model.as_onnx()
    onnx.checker.check_model(back, full_check=True)
    for flag, factor in ((True, V), (False, W)):
        found = run_stock(back, {"x": X, "c": flag})[0]
        np.testing.assert_allclose(found, X @ factor, rtol=1e-5)


def looping(typed: bool) -> onnx.ModelProto:
    """``h = tanh(h @ w + b)`` some times; all of them stacked."""
    nodes = [
        node("MatMul", ["h", "w"], ["m"]),
        node("Add", ["m", "b"], ["a"]),
        node("Tanh", ["a"], ["h2"]),
        node("Identity", ["h2"], ["s"]),
        node("Identity", ["go"], ["go2"]),
    ]
    inputs = [value("i", [], INT64), value("go", [], BOOL), value("h", [2, 3])]
    if not typed:
        inputs = [onnx.ValueInfoProto(name=i.name) for i in inputs]
    outputs = [value("go2", [], BOOL), value("h2", [2, 3]), value("s", [2, 3])]
    inner = body(nodes, inputs, outputs, [constant("b", V[0])])
    loop = node("Loop", ["n", "", "x"], ["last", "all"], body=inner)
    given = [value("x", [2, 3]), value("n", [], INT64)]
    return make([loop], given, [value("last", None), value("all", None)], [constant("w", W)])


@pytest.mark.parametrize("typed", [True, False])
def test_loops_are_differentiated(typed: bool) -> None:
    model = tf.import_onnx(looping(typed))
    x = tf.constant(X)
    sources = [x, *model.weights.values()]

    def plain() -> Any:
        h, total = x, tf.zeros([])
        for _ in range(3):
            h = tf.tanh(h @ model.weights["w"] + model.weights["b"])
            total += tf.reduce_sum(h)
        return total

    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        loss = tf.reduce_sum(model(x, np.int64(3))["all"])
        expected = plain()
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
    right = tape.gradient(expected, sources)
    for a, b in zip(tape.gradient(loss, sources), right, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4)


def test_scans_run_and_keep_their_captures() -> None:
    inner = body(
        [
            node("MatMul", ["h", "w"], ["m"]),
            node("Add", ["m", "r"], ["h2"]),
            node("Identity", ["h2"], ["s"]),
        ],
        [value("h", [3]), value("r", [3])],
        [value("h2", [3]), value("s", [3])],
    )
    scan = node("Scan", ["x0", "x"], ["last", "all"], body=inner, num_scan_inputs=1)
    inputs = [value("x0", [3]), value("x", ["t", 3])]
    proto = make([scan], inputs, [value("last", [3]), value("all", ["t", 3])], [constant("w", W)])
    model = tf.import_onnx(proto)
    feeds = {"x0": X[0], "x": numbers(4, 3)}
    found = model(**feeds)
    for name, right in zip(("last", "all"), run_stock(proto, feeds), strict=True):
        np.testing.assert_allclose(found[name], right, rtol=1e-5, atol=1e-6)
    assert found["all"].shape == (4, 3)
    again = run_stock(model.as_onnx(), feeds)
    np.testing.assert_allclose(again[1], found["all"], rtol=1e-5, atol=1e-6)


def affine_function() -> onnx.FunctionProto:
    """``(a @ w) * scale``, with an attribute and an opset of its own."""
    made = helper.make_function(
        "mine", "Affine", ["a", "w", "bias"], ["o"],
        [
            node("MatMul", ["a", "w"], ["t"]),
            node("Constant", [], ["k"]),
            node("Mul", ["t", "k"], ["u"]),
            node("Softmax", ["u"], ["o"]),
        ],
        [helper.make_opsetid("", 11)], ["scale"],
    )  # fmt: skip
    made.node[1].attribute.add(name="value_float", ref_attr_name="scale", type=1)
    return made


def test_local_functions_have_attributes_and_opsets_of_their_own() -> None:
    nodes = [
        node("Affine", ["x", "w"], ["p"], domain="mine", scale=3.0),
        node("Affine", ["p", "w"], ["y"], domain="mine", scale=-1.0),
    ]
    proto = make(nodes, stored=[constant("w", W)], domains=("mine",), functions=[affine_function()])

    def softmax(z: Any) -> Any:
        e = np.exp(z - z.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    model = tf.import_onnx(proto)
    expected = softmax(softmax(X @ W * 3) @ W * -1)
    np.testing.assert_allclose(model(X), expected, rtol=1e-5)
    np.testing.assert_allclose(run_stock(model.as_onnx(), {"x": X})[0], expected, rtol=1e-5)


def sequence(name: str, shape: Any = ("a", 3)) -> onnx.ValueInfoProto:
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, shape))
    return helper.make_value_info(name, kind)


def test_sequences_are_lists_at_the_borders() -> None:
    nodes = [
        node("SequenceInsert", ["s", "x"], ["longer"]),
        node("ConcatFromSequence", ["longer"], ["y"], axis=0),
        node("SequenceLength", ["longer"], ["count"]),
    ]
    inputs = [sequence("s"), value("x", [2, 3])]
    outputs = [value("y", ["m", 3]), value("count", [], INT64), sequence("longer")]
    proto = make(nodes, inputs, outputs)
    model = tf.import_onnx(proto)
    for sizes in ((1, 4), (), (2,)):
        parts = [numbers(n, 3, seed=n) for n in sizes]
        found = model(parts, X)
        np.testing.assert_array_equal(found["y"], np.concatenate([*parts, X]))
        assert int(found["count"]) == len(sizes) + 1
        assert [t.shape.as_list() for t in found["longer"]] == [[n, 3] for n in (*sizes, 2)]
    back = model.as_onnx()
    onnx.checker.check_model(back, full_check=True)
    assert [o.name for o in back.graph.output] == ["y", "count", "longer"]
    with pytest.raises(ValueError, match="takes a sequence of tensors"):
        model.concrete_function  # noqa: B018


def test_a_sequence_of_unknown_length_is_a_list_eagerly() -> None:
    nodes = [node("SplitToSequence", ["x", "size"], ["s"], axis=1)]
    proto = make(nodes, [value("x", [2, 5]), value("size", [], INT64)], [sequence("s", [2, None])])
    model = tf.import_onnx(proto)
    x = tf.constant(numbers(2, 5))
    for size, widths in ((2, [2, 2, 1]), (5, [5])):
        parts = model(x, np.int64(size))
        assert [t.shape.as_list() for t in parts] == [[2, n] for n in widths]
        np.testing.assert_array_equal(np.concatenate([t.numpy() for t in parts], 1), x)
    traced = tf.function(lambda x, n: model(x, n).read(1))
    np.testing.assert_array_equal(traced(x, np.int64(2)), x.numpy()[:, 2:4])


def test_sequences_inside_of_a_model_vanish_where_they_are_known() -> None:
    nodes = [
        node("SplitToSequence", ["x"], ["s"], axis=1, keepdims=0),
        node("SequenceAt", ["s", "last"], ["y"]),
    ]
    model = tf.import_onnx(make(nodes, stored=[constant("last", np.int64(-1))]))
    assert {n.op_type for n in model.as_onnx().graph.node} == {"Split", "Squeeze"}
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = model(x)
    np.testing.assert_array_equal(y, X[:, -1])
    np.testing.assert_array_equal(tape.gradient(y, x), [[0, 0, 1]] * 2)


def test_optional_inputs_can_be_left_out() -> None:
    kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(FLOAT, [3]))
    filled = body([node("OptionalGetElement", ["b"], ["e"])], [], [value("e", None)])
    empty = body([node("Identity", ["zero"], ["f"])], [], [value("f", None)])
    nodes = [
        node("OptionalHasElement", ["b"], ["has"]),
        node("Add", ["x", "x"], ["y"]),
    ]
    inputs = [value("x", [2, 3]), helper.make_value_info("b", kind)]
    outputs = [value("y", None), value("has", None, BOOL)]
    model = tf.import_onnx(make(nodes, inputs, outputs))
    assert bool(model(X, numbers(3))["has"])
    assert not bool(model(X)["has"])
    assert not bool(model(X, None)["has"])
    inner = node("If", ["has"], ["e2"], then_branch=filled, else_branch=empty)
    nodes = [nodes[0], inner, node("Add", ["x", "e2"], ["y"])]
    zero = [constant("zero", np.zeros(3, np.float32))]
    model = tf.import_onnx(make(nodes, inputs, outputs[:1], zero))
    np.testing.assert_array_equal(model(X, numbers(3)), X + numbers(3))


def test_training_mode_nodes_have_gradients() -> None:
    names = ("scale", "bias", "mean", "var")
    stored = [constant(n, np.float32([i + 1, 1])) for i, n in enumerate(names)]
    nodes = [node("BatchNormalization", ["x", *names], ["y", "m2", "v2"], training_mode=1)]
    outputs = [value("y", None), value("m2", None), value("v2", None)]
    model = tf.import_onnx(make(nodes, [value("x", ["n", 2, 4])], outputs, stored))
    x = tf.constant(numbers(3, 2, 4))
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = model(x)
        loss = tf.reduce_sum(tf.square(found["y"]) * 0.5)
    mean, var = x.numpy().mean((0, 2)), x.numpy().var((0, 2))
    np.testing.assert_allclose(found["m2"], 0.9 * np.float32([3, 1]) + 0.1 * mean, rtol=1e-5)
    np.testing.assert_allclose(found["v2"], 0.9 * np.float32([4, 1]) + 0.1 * var, rtol=1e-5)
    slope = tape.gradient(loss, [x, model.weights["bias"]])
    np.testing.assert_allclose(slope[0].numpy().sum((0, 2)), 0, atol=1e-4)
    np.testing.assert_allclose(slope[1], found["y"].numpy().sum((0, 2)), rtol=1e-5)


def test_dropout_in_training_mode_has_the_gradient_of_its_mask() -> None:
    stored = [constant("rate", np.float32(0.5)), constant("on", np.array(True))]
    nodes = [node("Dropout", ["x", "rate", "on"], ["y"])]
    model = tf.import_onnx(make(nodes, [value("x", [400])], [value("y", None)], stored))
    x = tf.ones([400])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = model(x)
    np.testing.assert_array_equal(tape.gradient(y, x), y)
    assert 100 < np.count_nonzero(y.numpy()) < 300
