"""``export_gradient``: plain models that compute gradients, and what is refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import tfx as tf
from tests.unit.importing.samples import INT64, constant, make, node, numbers, run_stock, value

W = numbers(3, 4)
X = numbers(2, 3, seed=1)


def squares(loss: bool = True) -> onnx.ModelProto:
    """``h = tanh(x @ w)``, ``y = h * h``, and their sum."""
    nodes = [
        node("MatMul", ["x", "w"], ["m"]),
        node("Tanh", ["m"], ["h"]),
        node("Mul", ["h", "h"], ["y"]),
        node("ReduceSum", ["y"], ["loss"], keepdims=0),
    ]
    outputs = [value("loss", [])] if loss else [value("y", ["n", 4])]
    return make(nodes[: 4 if loss else 3], [value("x", ["n", 3])], outputs, [constant("w", W)])


def slopes() -> tuple[Any, Any]:
    """Gradients of the loss with respect to x and w, in float64."""
    h = np.tanh(X.astype(np.float64) @ W)
    dm = 2 * h * (1 - h * h)
    return dm @ W.T, X.T @ dm


def outputs_of(proto: Any) -> list[str]:
    onnx.checker.check_model(proto, full_check=True)
    return [o.name for o in proto.graph.output]


def inputs_of(proto: Any) -> list[str]:
    return [i.name for i in proto.graph.input]


def test_a_scalar_loss_needs_no_seed() -> None:
    proto = tf.export_gradient(squares(), inputs=["x", "w"])
    assert (inputs_of(proto), outputs_of(proto)) == (["x"], ["loss", "x_grad", "w_grad"])
    assert [t.name for t in proto.graph.initializer if t.name == "w"] == ["w"]
    _, dx, dw = run_stock(proto, {"x": X})
    np.testing.assert_allclose(dx, slopes()[0], rtol=1e-5)
    np.testing.assert_allclose(dw, slopes()[1], rtol=1e-5)


def test_other_outputs_have_seeds_as_inputs() -> None:
    proto = tf.export_gradient(squares(loss=False))
    assert (inputs_of(proto), outputs_of(proto)) == (["x", "y_grad"], ["y", "x_grad"])
    dims = proto.graph.input[1].type.tensor_type.shape.dim
    assert (dims[0].dim_param, dims[1].dim_value) == ("n", 4)
    ones = np.ones((2, 4), np.float32)
    np.testing.assert_allclose(
        run_stock(proto, {"x": X, "y_grad": ones})[1], slopes()[0], rtol=1e-5
    )
    without = tf.export_gradient(squares(loss=False), seeds=False, keep_outputs=False)
    assert (inputs_of(without), outputs_of(without)) == (["x"], ["x_grad"])
    np.testing.assert_allclose(run_stock(without, {"x": X})[0], slopes()[0], rtol=1e-5)
    seeded = tf.export_gradient(squares(), seeds=True)
    assert inputs_of(seeded) == ["x", "loss_grad"]
    two = run_stock(seeded, {"x": X, "loss_grad": np.float32(2)})[1]
    np.testing.assert_allclose(two, 2 * slopes()[0], rtol=1e-5)


def test_weights_can_be_inputs() -> None:
    proto = tf.export_gradient(squares(), inputs="w", weights_as_inputs=True)
    assert (inputs_of(proto), outputs_of(proto)) == (["x", "w"], ["loss", "w_grad"])
    np.testing.assert_allclose(run_stock(proto, {"x": X, "w": W})[1], slopes()[1], rtol=1e-5)


def test_values_inside_of_the_model_can_be_chosen() -> None:
    proto = tf.export_gradient(squares(), outputs="y", inputs="h", seeds=False)
    assert outputs_of(proto) == ["loss", "h_grad"]
    h = np.tanh(X @ W)
    np.testing.assert_allclose(run_stock(proto, {"x": X})[1], 2 * h, rtol=1e-5)


def test_it_takes_whatever_import_takes_and_writes_files(tmp_path: Path) -> None:
    path, out = tmp_path / "m.onnx", tmp_path / "g.onnx"
    onnx.save(squares(), path)
    model = tf.import_onnx(path)
    for source in (path, str(path), path.read_bytes(), squares(), model):
        proto = tf.export_gradient(source, path=out)
        assert out.read_bytes() == proto.SerializeToString(deterministic=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["g.onnx", "m.onnx"]
    model.weights["w"].assign(W * 0)
    np.testing.assert_array_equal(run_stock(tf.export_gradient(model), {"x": X})[1], X * 0)
    f = tf.function(lambda x: tf.square(x)).get_concrete_function(tf.TensorSpec([]))
    assert run_stock(tf.export_gradient(f), {"x": np.float32(3)})[1] == 6


def test_a_gradient_of_a_gradient() -> None:
    first = tf.export_gradient(squares(), keep_outputs=False)
    second = tf.export_gradient(first, seeds=False)
    found = run_stock(second, {"x": X})[1]
    x = tf.constant(X, tf.float64)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(tf.square(tf.tanh(x @ tf.constant(W, tf.float64))))
        slope = tape.gradient(loss, x)
    np.testing.assert_allclose(found, outer.gradient(slope, x), rtol=1e-4)


NAMES = [
    ({"outputs": "z"}, r"outputs names 'z', which the model does not have.*It has loss"),
    ({"inputs": "ww"}, r"inputs names 'ww'.*did you mean 'w'"),
    ({"inputs": []}, r"inputs is \[\], expected names"),
    ({"inputs": ["x", "x"]}, "expected names, each once"),
    ({"outputs": [3]}, "expected names"),
]


@pytest.mark.parametrize(("options", "message"), NAMES, ids=[str(i) for i in range(len(NAMES))])
def test_names_that_the_model_lacks(options: Any, message: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.export_gradient(squares(), **options)


def test_whole_numbers_have_no_gradients() -> None:
    nodes = [node("Gather", ["w", "i"], ["y"])]
    proto = make(nodes, [value("i", [2], INT64)], [value("y", None)], [constant("w", W)])
    with pytest.raises(ValueError, match="'i', which is of dtype int64"):
        tf.export_gradient(proto, inputs="i")
    with pytest.raises(ValueError, match=r"no input of floating-point numbers; name.*: w"):
        tf.export_gradient(proto)
    made = tf.export_gradient(proto, inputs="w", seeds=False)
    found = run_stock(made, {"i": np.array([1, 1])})[1]
    np.testing.assert_array_equal(found, [[0] * 4, [2] * 4, [0] * 4])


def test_what_does_not_depend_on_an_input_is_refused_or_zero() -> None:
    nodes = [node("Relu", ["x"], ["y"]), node("Sign", ["z"], ["s"])]
    inputs, outputs = [value("x", [2]), value("z", [2])], [value("y", [2]), value("s", [2])]
    proto = make(nodes, inputs, outputs)
    with pytest.raises(ValueError, match="'y' of the model has no gradient with respect to 'z'"):
        tf.export_gradient(proto, "y", ["x", "z"])
    zeros = tf.export_gradient(
        proto, "y", ["x", "z"], seeds=False, unconnected_gradients=tf.UnconnectedGradients.ZERO
    )
    found = run_stock(zeros, {"x": np.float32([1, -1]), "z": np.float32([3, 4])})
    np.testing.assert_array_equal(found[2:], [[1, 0], [0, 0]])


def test_operators_without_gradient_are_named() -> None:
    nodes = [node("NonZero", ["x"], ["n"], name="count"), node("Cast", ["n"], ["y"], to=1)]
    with pytest.raises(ValueError, match=r"operators without gradient alone: NonZero \(count"):
        tf.export_gradient(make(nodes))


def quantized() -> onnx.ModelProto:
    stored = [constant("s", np.float32(0.1)), constant("z", np.uint8(128)), constant("w", W)]
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"], name="into8"),
        node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        node("Add", ["d", "x"], ["a"]),
        node("MatMul", ["a", "w"], ["y"]),
    ]
    return make(nodes, stored=stored)


def test_quantized_models_run_and_gradients_pass_straight_through_unless_told() -> None:
    model = tf.import_onnx(quantized())
    np.testing.assert_array_equal(model(X), run_stock(quantized(), {"x": X})[0])
    assert list(model.weights) == ["w"]
    with pytest.raises(ValueError, match=r"through a quantization.*QuantizeLinear \(into8\)"):
        tf.export_gradient(quantized(), straight_through=False)
    assert outputs_of(tf.export_gradient(quantized(), seeds=False)) == ["y", "x_grad"]
    behind = tf.export_gradient(quantized(), inputs="w", seeds=False)
    assert outputs_of(behind) == ["y", "w_grad"]
