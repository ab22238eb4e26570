"""The ONNX files of a bundle for people who have never heard of this project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import tfx as tf
from tests.unit.saved_model.models import Trainer, batch, numbers, run_python
from tfx.bundle.manifest import read_manifest

# Runs every model at the root of the bundle with the values of the .npz file beside it.
STOCK = """
import pathlib, sys
import numpy as np
import onnxruntime
bundle, data = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
for path in sorted(bundle.glob("*.onnx")):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    with np.load(data / (path.stem + ".npz")) as given:
        feeds = {i.name: given[i.name] for i in session.get_inputs()}
    names = [o.name for o in session.get_outputs()]
    np.savez(data / (path.stem + ".out.npz"), **dict(zip(names, session.run(names, feeds))))
assert not any(name.split(".")[0] == "tfx" for name in sys.modules)
"""


def check_models(bundle: Path) -> None:
    for path in bundle.glob("*.onnx"):
        onnx.checker.check_model(str(path), full_check=True)


def run_stock(bundle: Path, data: Path, feeds: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Run every model of a bundle by ONNX Runtime alone; outputs by file stem and name."""
    data.mkdir()
    for path in bundle.glob("*.onnx"):
        np.savez(data / f"{path.stem}.npz", **feeds.get(path.stem, {}))
    run_python(STOCK, bundle, data)
    found = {}
    for path in bundle.glob("*.onnx"):
        with np.load(data / f"{path.stem}.out.npz") as out:
            found[path.stem] = dict(out)
    return found


def feeds_of(bundle: Path, values: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Inputs of every model: given values, and the variables' stored ones."""
    from tfx.bundle.shards import Store

    manifest, store = read_manifest(bundle), Store(bundle)
    feeds = {}
    for concrete in manifest.concrete_functions:
        for graph in (concrete.graph, concrete.live_graph):
            if graph is not None:
                feeds[Path(graph.file).stem] = {
                    i.name: store.value(manifest.variables[i.index])
                    if i.source == "variable"
                    else values[i.name]
                    for i in graph.inputs
                }
    return feeds


def test_a_trained_model(tmp_path: Any) -> None:
    model = Trainer()
    for i in range(3):
        model.train_step(*batch(i))
    tf.saved_model.save(model, tmp_path / "m", signatures=model.signatures)
    check_models(tmp_path / "m")
    x, y = batch(9)
    values = {"x": x.numpy(), "y": y.numpy()}
    found = run_stock(tmp_path / "m", tmp_path / "d", feeds_of(tmp_path / "m", values))
    assert set(found) == {"serving_default", "serving_default.live", "train_step"}
    expected = model.predict(x)["logits"].numpy()
    np.testing.assert_allclose(found["serving_default"]["logits"], expected, rtol=1e-6)
    np.testing.assert_allclose(found["serving_default.live"]["logits"], expected, rtol=1e-6)
    loss = model.train_step(x, y)["loss"].numpy()
    np.testing.assert_allclose(found["train_step"]["loss"], loss, rtol=1e-6)
    np.testing.assert_allclose(found["train_step"]["w_new"], model.w.numpy(), rtol=1e-6)
    assert found["train_step"]["optimizer/iterations_new"] == 4


@pytest.mark.parametrize("shard", [None, 1000, 1], ids=["one file", "shards", "one each"])
def test_external_data_in_shards(shard: int | None, tmp_path: Any) -> None:
    options = None if shard is None else tf.saved_model.SaveOptions(max_shard_bytes=shard)
    module = tf.Module()
    module.layers = [tf.Variable(numbers(8, 8, seed=i)) for i in range(6)]
    big = tf.constant(numbers(8, 200, seed=9))

    @tf.function(input_signature=[tf.TensorSpec([None, 8], tf.float32)])
    def f(x: Any) -> Any:
        for w in module.layers:
            x = tf.tanh(x @ w)
        return x @ big

    module.f = f
    tf.saved_model.save(module, tmp_path / "m", options=options)
    files = sorted(p.name for p in (tmp_path / "m" / "variables").iterdir())
    assert len(files) == {None: 1, 1000: 4, 1: 8}[shard]
    check_models(tmp_path / "m")
    x = numbers(3, 8)
    found = run_stock(tmp_path / "m", tmp_path / "d", {"serving_default": {"x": x}})
    np.testing.assert_allclose(found["serving_default"]["output_0"], f(x), rtol=1e-6)
    back = tf.saved_model.load(tmp_path / "m")
    np.testing.assert_array_equal(back.f(x), f(x))


WIDTHS = (8, 16, 32, 64)
NATIVE = [f"{kind}{bits}" for kind in ("int", "uint") for bits in WIDTHS]
NATIVE += ["float16", "float32", "float64", "bool"]


def test_every_dtype_as_argument_weight_and_result(tmp_path: Any) -> None:
    module = tf.Module()
    module.weights = {d: tf.Variable(np.array([0, 1, 1]).astype(d)) for d in NATIVE}
    functions = {}
    for d in NATIVE:
        functions[d] = tf.function(
            lambda x, d=d: tf.concat([x, module.weights[d].value()], 0)
        ).get_concrete_function(tf.TensorSpec([None], d, name="x"))
    tf.saved_model.save(module, tmp_path / "m", signatures=functions)
    check_models(tmp_path / "m")
    feeds = {d: {"x": np.array([1, 0]).astype(d)} for d in NATIVE}
    found = run_stock(tmp_path / "m", tmp_path / "d", feeds)
    for d in NATIVE:
        assert found[d]["output_0"].dtype == d
        np.testing.assert_array_equal(found[d]["output_0"], np.array([1, 0, 0, 1, 1]).astype(d))


def test_odd_variables_and_constants(tmp_path: Any) -> None:
    module = tf.Module()
    module.scalar = tf.Variable(2.0)
    module.empty = tf.Variable(np.zeros((0, 3), np.float32))
    module.half = tf.Variable(tf.cast(tf.constant(numbers(5)), tf.bfloat16))
    module.text = tf.Variable(["a", "b"])
    module.free = tf.Variable([1.0, 2.0], shape=tf.TensorShape([None]))
    module.quiet = tf.Variable([3.0])

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def f(x: Any) -> Any:
        rows = tf.concat([x, module.empty.value()], 0) * module.scalar
        total = tf.reduce_sum(rows) + tf.reduce_sum(module.free)
        return {
            "total": total + tf.reduce_sum(tf.cast(module.half.value(), tf.float32)),
            "text": module.text.value(),
            "variable": module.quiet.value(),
            "x": x,
        }

    module.f = f
    tf.saved_model.save(module, tmp_path / "m")
    check_models(tmp_path / "m")
    (path,) = (tmp_path / "m").glob("*.onnx")
    program = """
import sys, onnxruntime, numpy as np
session = onnxruntime.InferenceSession(sys.argv[1])
out = dict(zip([o.name for o in session.get_outputs()],
               session.run(None, {"x": np.ones((2, 3), np.float32)})))
print(*out["text"], out["total"].tobytes().hex(), *out["variable"], out["x_1"].shape)
"""
    expected = f(np.ones((2, 3), np.float32))
    total = expected["total"].numpy().tobytes().hex()
    assert run_python(program, path).strip() == f"a b {total} 3.0 (2, 3)"


def test_values_of_unknown_rank(tmp_path: Any) -> None:
    module = tf.Module()
    module.v = tf.Variable([1.0, 2.0], shape=tf.TensorShape(None))
    module.f = tf.function(
        lambda x: module.v + x, input_signature=[tf.TensorSpec(None, tf.float32)]
    )
    tf.saved_model.save(module, tmp_path / "m")
    x = numbers(3, 2)
    found = run_stock(tmp_path / "m", tmp_path / "d", {"serving_default": {"x": x}})
    np.testing.assert_array_equal(found["serving_default"]["output_0"], x + np.float32([1, 2]))


def test_local_functions_and_hoisted_constants(tmp_path: Any) -> None:
    big = tf.constant(numbers(64, 64))
    inner = tf.function(lambda x: tf.tanh(x @ big))
    outer = tf.function(lambda x: inner(inner(x)) + tf.stop_gradient(x))
    module = tf.Module()
    module.f = tf.function(
        lambda x: {"y": outer(x)}, input_signature=[tf.TensorSpec(["batch", 64], tf.float32)]
    )
    tf.saved_model.save(module, tmp_path / "m")
    check_models(tmp_path / "m")
    assert (tmp_path / "m" / "serving_default.onnx").stat().st_size < 4000
    x = numbers(3, 64)
    found = run_stock(tmp_path / "m", tmp_path / "d", {"serving_default": {"x": x}})
    # Sums near 0 have the rounding of what they are sums of.
    np.testing.assert_allclose(found["serving_default"]["y"], module.f(x)["y"], 1e-5, atol=1e-6)
