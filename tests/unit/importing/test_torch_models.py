"""Models that PyTorch exported: outputs, gradients and training are PyTorch's.

The reference numbers are PyTorch's own; ``tools/gen_torch_models.py`` made them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import tfx as tf
from tests.unit.importing.samples import run_stock

_DATA = np.load(Path(__file__).with_name("torch_models.npz"))
MODELS = sorted(k for k in _DATA.files if k.endswith(("/new", "/old")))


def reference(name: str) -> dict[str, Any]:
    prefix = name.partition("/")[0] + "/"
    return {k.removeprefix(prefix): _DATA[k] for k in _DATA.files if k.startswith(prefix)}


def model_bytes(name: str) -> bytes:
    return bytes(_DATA[name].tobytes())


def parameters(expected: dict[str, Any]) -> list[str]:
    return [k.partition(":")[2] for k in expected if k.startswith("gradient:")]


def check(found: Any, expected: Any, scale: float = 1.0) -> None:
    found = found if isinstance(found, np.ndarray) else tf.convert_to_tensor(found).numpy()
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5 * scale)


@pytest.mark.parametrize("name", MODELS)
def test_outputs_and_gradients_are_torchs(name: str) -> None:
    expected = reference(name)
    model = tf.import_onnx(model_bytes(name))
    wanted = parameters(expected)
    assert {v.name.removesuffix(":0") for v in model.trainable_variables} == {*wanted}
    x = tf.constant(expected["x"])
    sources = [model.weights[n] for n in wanted]
    with tf.GradientTape() as tape:
        if "gradient" in expected:
            tape.watch(x)
            sources.append(x)
        y = model(x)
        loss = tf.reduce_sum(tf.square(y) * expected["w"])
    check(y, expected["y"])
    right = [expected[f"gradient:{n}"] for n in wanted]
    right += [expected["gradient"]] if "gradient" in expected else []
    scale = max(float(np.abs(g).max()) for g in right)
    for found, g in zip(tape.gradient(loss, sources), right, strict=True):
        check(found, g, scale)


@pytest.mark.parametrize("name", MODELS)
def test_training_goes_step_by_step_as_in_torch(name: str) -> None:
    expected = reference(name)
    model = tf.import_onnx(model_bytes(name))
    optimizer = tf.optimizers.SGD(0.02, momentum=0.9)

    @tf.function
    def step(x: Any, w: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - w))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    x, w = tf.constant(expected["x"]), tf.constant(expected["w"])
    check(np.array([float(step(x, w)) for _ in range(4)]), expected["losses"])
    for key in parameters(expected):
        check(model.weights[key], expected[f"after:{key}"])
    trained = model.as_onnx()
    onnx.checker.check_model(trained, full_check=True)
    check(run_stock(trained, {"x": expected["x"]})[0], model(x))


@pytest.mark.parametrize("name", [n for n in MODELS if n.endswith("new")])
@pytest.mark.parametrize("weights_as_inputs", [False, True])
def test_exported_gradients_are_torchs_in_stock_runtime(name: str, weights_as_inputs: bool) -> None:
    expected = reference(name)
    names = parameters(expected) + ["x"] * ("gradient" in expected)
    data = model_bytes(name)
    proto = tf.export_gradient(data, inputs=names, weights_as_inputs=weights_as_inputs)
    onnx.checker.check_model(proto, full_check=True)
    assert [o.name for o in proto.graph.output] == ["y", *(f"{n}_grad" for n in names)]
    feeds = {"x": expected["x"], "y_grad": 2 * expected["y"] * expected["w"]}
    if weights_as_inputs:
        needed = {i.name for i in proto.graph.input}
        weights = tf.import_onnx(data).weights
        feeds |= {k: v.numpy() for k, v in weights.items() if k in needed}
    y, *gradients = run_stock(proto, feeds)
    check(y, expected["y"])
    right = [expected[f"gradient:{n}"] for n in parameters(expected)]
    right += [expected["gradient"]] if "gradient" in expected else []
    scale = max(float(np.abs(g).max()) for g in right)
    for found, g in zip(gradients, right, strict=True):
        check(found, g, scale)


def test_a_trained_model_survives_a_bundle(tmp_path: Path) -> None:
    expected = reference("residual/new")
    model = tf.import_onnx(model_bytes("residual/new"))
    model.weights["head.bias"].assign([1.0, 2.0, 3.0])
    tf.saved_model.save(model, tmp_path / "bundle")
    loaded = tf.saved_model.load(tmp_path / "bundle")
    x = tf.constant(expected["x"])
    check(loaded(x), model(x))
    check(loaded.signatures["serving_default"](x=x)["y"], model(x))
    assert sorted(loaded.weights) == sorted(model.weights)
    flags = {k: v.trainable for k, v in loaded.weights.items()}
    assert flags == {k: v.trainable for k, v in model.weights.items()}
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(loaded(x)) * expected["w"])
    assert all(g is not None for g in tape.gradient(loss, list(loaded.trainable_variables)))
    stock = run_stock(tmp_path / "bundle" / "serving_default.onnx", {"x": expected["x"]})
    check(stock[0], model(x))
