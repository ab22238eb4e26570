"""Models of others as bundles: any opset, weights anywhere, nothing lost and nothing trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import tfx as tf
from tests.unit.saved_model.models import numbers, run_python
from tfx.bundle.manifest import read_manifest
from tfx.exporters import from_onnx, save_onnx

IR_VERSIONS = {9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9}


def value(name: str, shape: Any, dtype: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def constant(name: str, array: Any) -> onnx.TensorProto:
    return numpy_helper.from_array(np.asarray(array), name)


def make_model(
    nodes: list[Any], inputs: list[Any], outputs: list[Any], stored: list[Any], opset: int = 21,
    **options: Any,
) -> onnx.ModelProto:  # fmt: skip
    graph = helper.make_graph(nodes, "g", inputs, outputs, stored)
    opsets = [helper.make_opsetid("", opset), *options.pop("opsets", [])]
    model = helper.make_model(graph, opset_imports=opsets, **options)
    model.ir_version = IR_VERSIONS.get(opset, 10)
    return model


def affine(width: int = 5, **options: Any) -> onnx.ModelProto:
    """A matrix product and a vector."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Add", ["m", "b"], ["y"]),
    ]
    stored = [constant("w", numbers(3, width)), constant("b", numbers(width, seed=1))]
    return make_model(nodes, [value("x", ["N", 3])], [value("y", ["N", width])], stored, **options)


def run(model: bytes | str, feeds: dict[str, Any]) -> list[Any]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return list(onnxruntime.InferenceSession(model, options).run(None, feeds))


def check(model: Any, folder: Path, feeds: dict[str, Any], expected: list[Any]) -> Any:
    """Save a model, compare what it gives by stock ONNX Runtime and after loading."""
    save_onnx(model, folder)
    path = str(folder / "serving_default.onnx")
    onnx.checker.check_model(path, full_check=True)
    for a, b in zip(run(path, feeds), expected, strict=True):
        np.testing.assert_array_equal(a, b)
    back = tf.saved_model.load(folder)
    results = back.signatures["serving_default"](**feeds)
    for a, b in zip(results.values(), expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-5, atol=1e-6)
    return back


def old_model(opset: int, ir_version: int, weights_as_inputs: bool) -> onnx.ModelProto:
    """A small network of operators whose form has changed over the opsets."""
    stored = [
        constant("w", numbers(4, 3, 3, 3)), constant("b", numbers(4, seed=1)),
        *(constant(f"bn{i}", np.abs(numbers(4, seed=i + 2)) + 0.5) for i in range(4)),
        constant("shape", np.array([0, -1])), constant("fc", numbers(64, 5, seed=9)),
    ]  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "bn0", "bn1", "bn2", "bn3"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Dropout", ["p"], ["d"], **({"ratio": 0.5} if opset < 12 else {})),
        helper.make_node("Reshape", ["d", "shape"], ["f"]),
        helper.make_node("MatMul", ["f", "fc"], ["m"]),
    ]
    if opset < 13:
        nodes += [
            helper.make_node("Unsqueeze", ["m"], ["u"], axes=[0]),
            helper.make_node("Squeeze", ["u"], ["s"], axes=[0]),
            helper.make_node("ReduceSum", ["s"], ["sum"], axes=[1], keepdims=1),
        ]
    else:
        stored += [constant("ax0", np.array([0])), constant("ax1", np.array([1]))]
        nodes += [
            helper.make_node("Unsqueeze", ["m", "ax0"], ["u"]),
            helper.make_node("Squeeze", ["u", "ax0"], ["s"]),
            helper.make_node("ReduceSum", ["s", "ax1"], ["sum"], keepdims=1),
        ]
    if opset < 11:
        nodes.append(helper.make_node("Clip", ["s"], ["k"], min=-2.0, max=2.0))
    else:
        stored += [constant("lo", np.float32(-2)), constant("hi", np.float32(2))]
        nodes.append(helper.make_node("Clip", ["s", "lo", "hi"], ["k"]))
    nodes.append(helper.make_node("Softmax", ["k"], ["y"], axis=1))
    inputs = [value("x", ["N", 3, 8, 8])]
    if weights_as_inputs:
        inputs += [value(t.name, list(t.dims), t.data_type) for t in stored]
    outputs = [value("y", ["N", 5]), value("sum", ["N", 1])]
    model = make_model(nodes, inputs, outputs, stored, opset)
    model.ir_version = ir_version
    return model


@pytest.mark.parametrize(
    ("opset", "ir_version", "weights_as_inputs"),
    [(9, 3, True), (11, 3, True), *((o, IR_VERSIONS.get(o, 10), False) for o in range(9, 22))],
)
def test_every_opset(opset: int, ir_version: int, weights_as_inputs: bool, tmp_path: Path) -> None:
    model = old_model(opset, ir_version, weights_as_inputs)
    feeds = {"x": numbers(2, 3, 8, 8)}
    back = check(model, tmp_path / "m", feeds, run(model.SerializeToString(), feeds))
    assert sorted(back.weights) == ["b", "bn0", "bn1", "bn2", "bn3", "fc", "w"]
    assert [n for n, v in back.weights.items() if not v.trainable] == ["bn2", "bn3"]
    assert read_manifest(tmp_path / "m").requirements.opset == opset


def test_the_three_ways_to_give_a_model(tmp_path: Path) -> None:
    model = affine(width=500)
    feeds = {"x": numbers(2, 3)}
    expected = run(model.SerializeToString(), feeds)
    onnx.save(model, tmp_path / "model.onnx")
    before = model.SerializeToString()
    for i, given in enumerate(
        (model, model.SerializeToString(), tmp_path / "model.onnx", str(tmp_path / "model.onnx"))
    ):
        check(given, tmp_path / f"m{i}", feeds, expected)
        contents = {p.name: p.read_bytes() for p in (tmp_path / f"m{i}").rglob("*.*")
                    if p.is_file()}  # fmt: skip
        assert contents == {
            p.name: p.read_bytes() for p in (tmp_path / "m0").rglob("*.*") if p.is_file()
        }
    assert model.SerializeToString() == before


@pytest.mark.parametrize("together", [True, False], ids=["one file", "a file each"])
def test_external_data(together: bool, tmp_path: Path) -> None:
    model = affine(width=500)
    feeds = {"x": numbers(2, 3)}
    expected = run(model.SerializeToString(), feeds)
    (tmp_path / "source").mkdir()
    path = tmp_path / "source" / "model.onnx"
    onnx.save(
        model, path, save_as_external_data=True, all_tensors_to_one_file=together,
        location="weights.bin" if together else None, size_threshold=0,
    )  # fmt: skip
    back = check(path, tmp_path / "m", feeds, expected)
    for file in (tmp_path / "source").iterdir():
        file.write_bytes(bytes(file.stat().st_size))
    np.testing.assert_array_equal(back.weights["w"], numbers(3, 500))


def test_weights_can_be_read_replaced_and_trained(tmp_path: Path) -> None:
    save_onnx(affine(), tmp_path / "m")
    back = tf.saved_model.load(tmp_path / "m")
    x, y = tf.constant(numbers(8, 3)), tf.constant(numbers(8, 5, seed=7))
    np.testing.assert_array_equal(back.weights["b"], numbers(5, seed=1))

    def loss() -> Any:
        return tf.reduce_mean((back(x)["y"] - y) ** 2)

    optimizer = tf.optimizers.SGD(0.2)
    losses = [float(loss())]
    for _ in range(5):
        optimizer.minimize(loss, back.trainable_variables)
        losses.append(float(loss()))
    assert np.all(np.diff(losses) < 0)
    tf.saved_model.save(back, tmp_path / "tuned")
    again = tf.saved_model.load(tmp_path / "tuned")
    np.testing.assert_array_equal(again(x)["y"], back(x)["y"])
    stock = run(str(tmp_path / "tuned" / "serving_default.onnx"), {"x": x.numpy()})
    np.testing.assert_allclose(stock[0], back(x)["y"], rtol=1e-5)


def test_small_parameters_stay_inside(tmp_path: Path) -> None:
    nodes = [helper.make_node("Resize", ["x", "", "scales"], ["r"], mode="nearest"),
             helper.make_node("Mul", ["r", "factor"], ["y"])]  # fmt: skip
    stored = [
        constant("scales", np.float32([1, 1, 2, 2])),
        constant("factor", np.float32(3)),
        constant("unused", np.zeros((0, 4), np.float32)),
    ]
    model = make_model(
        nodes, [value("x", [1, 1, 2, 2])], [value("y", [1, 1, 4, 4])], stored, opset=19
    )
    feeds = {"x": numbers(1, 1, 2, 2)}
    back = check(model, tmp_path / "m", feeds, run(model.SerializeToString(), feeds))
    assert back.weights == {}
    assert not (tmp_path / "m" / "variables").exists()


def test_inputs_with_a_default_become_variables(tmp_path: Path) -> None:
    model = make_model(
        [helper.make_node("Mul", ["x", "factor"], ["y"])],
        [value("x", [None]), value("factor", [])],
        [value("y", [None])],
        [constant("factor", np.float32(3))],
    )
    save_onnx(model, tmp_path / "m")
    back = tf.saved_model.load(tmp_path / "m")
    assert list(back.signatures["serving_default"].structured_input_signature[1]) == ["x"]
    np.testing.assert_array_equal(back([1.0, 2.0])["y"], [3.0, 6.0])
    back.weights["factor"].assign(10.0)
    np.testing.assert_array_equal(back([1.0, 2.0])["y"], [10.0, 20.0])


def test_external_data_inside_branches_moves_in(tmp_path: Path) -> None:
    branch = [helper.make_node("Add", ["x", "inner"], ["out"])]
    (tmp_path / "inner.bin").write_bytes(np.float32([1, 2]).tobytes())
    tensor = TensorProto(name="inner", data_type=1, dims=[2], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="inner.bin")
    body = helper.make_graph(branch, "then", [], [value("out", [2])], [tensor])
    other = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["out2"])], "else", [], [value("out2", [2])]
    )
    node = helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=other)
    model = make_model(
        [node], [value("x", [2]), value("c", [], TensorProto.BOOL)], [value("y", [2])], []
    )
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    feeds = {"x": np.float32([5, 5]), "c": np.array(True)}
    check(tmp_path / "model.onnx", tmp_path / "m", feeds, [np.float32([6, 7])])


def test_local_functions_with_attributes(tmp_path: Path) -> None:
    scaled = helper.make_node("LeakyRelu", ["a"], ["b"])
    scaled.attribute.append(
        onnx.AttributeProto(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="slope")
    )
    function = helper.make_function(
        "custom", "Leaky", ["a"], ["b"], [scaled], [helper.make_opsetid("", 21)], ["slope"]
    )
    model = make_model(
        [helper.make_node("Leaky", ["x"], ["y"], domain="custom", slope=0.5)],
        [value("x", [None])], [value("y", [None])], [],
        opsets=[helper.make_opsetid("custom", 1)], functions=[function],
    )  # fmt: skip
    feeds = {"x": np.float32([-2, 4])}
    check(model, tmp_path / "m", feeds, [np.float32([-1, 4])])
    assert read_manifest(tmp_path / "m").requirements.domains == {"custom": 1}


def test_operators_of_other_domains_are_kept(tmp_path: Path) -> None:
    model = make_model(
        [helper.make_node("FusedMatMul", ["x", "w"], ["y"], domain="com.microsoft", alpha=2.0)],
        [value("x", ["N", 3])], [value("y", ["N", 2])], [constant("w", numbers(3, 2))],
        opsets=[helper.make_opsetid("com.microsoft", 1)],
    )  # fmt: skip
    x = numbers(2, 3)
    save_onnx(model, tmp_path / "m")
    assert read_manifest(tmp_path / "m").requirements.domains == {"com.microsoft": 1}
    (stock,) = run(str(tmp_path / "m" / "serving_default.onnx"), {"x": x})
    np.testing.assert_allclose(stock, 2 * x @ numbers(3, 2), rtol=1e-5)
    back = tf.saved_model.load(tmp_path / "m")
    np.testing.assert_array_equal(back.weights["w"], numbers(3, 2))
    found = back.signatures["serving_default"](x=tf.constant(x))["y"]
    np.testing.assert_allclose(found, stock, rtol=1e-6)


def test_names_that_python_has_no_parameters_for(tmp_path: Path) -> None:
    model = make_model(
        [helper.make_node("Sub", ["input.1", "lambda"], ["out/put:0"])],
        [value("input.1", [None]), value("lambda", [None])], [value("out/put:0", [None])], [],
    )  # fmt: skip
    feeds = {"input.1": np.float32([3]), "lambda": np.float32([1])}
    back = check(model, tmp_path / "m", feeds, [np.float32([2])])
    assert list(back(**feeds)) == ["out/put:0"]


def test_weights_of_every_dtype(tmp_path: Path) -> None:
    import ml_dtypes

    kinds = [np.float16, np.float64, np.int8, np.uint16, np.int64, np.bool_, ml_dtypes.bfloat16]
    stored = [constant(f"w{i}", np.ones((40, 40)).astype(k)) for i, k in enumerate(kinds)]
    nodes = [helper.make_node("Identity", [t.name], [f"y{t.name}"]) for t in stored]
    outputs = [value(f"y{t.name}", [40, 40], t.data_type) for t in stored]
    model = make_model(nodes, [], outputs, stored)
    save_onnx(model, tmp_path / "m")
    back = tf.saved_model.load(tmp_path / "m")
    assert len(back.weights) == len(kinds)
    results = back()
    for i, kind in enumerate(kinds):
        assert results[f"yw{i}"].numpy().dtype == kind
        assert np.all(results[f"yw{i}"].numpy().astype(np.float32) == 1)
    assert (tmp_path / "m" / "serving_default.onnx").stat().st_size < 4000


def test_options(tmp_path: Path) -> None:
    save_onnx(
        affine(width=500), tmp_path / "m", signature="a/b", metadata={"from": "x"},
        max_shard_bytes=2500,
    )  # fmt: skip
    manifest = read_manifest(tmp_path / "m")
    assert manifest.metadata == {"from": "x"}
    assert [s.name for s in manifest.signatures] == ["a/b"]
    assert len([f for f in manifest.files if f.path.startswith("variables/model-")]) == 2
    (path,) = (tmp_path / "m").glob("*.onnx")
    onnx.checker.check_model(str(path))
    with pytest.raises(tf.errors.InvalidArgumentError, match="signature is ''"):
        save_onnx(affine(), tmp_path / "n", signature="")


def sequence_model() -> onnx.ModelProto:
    out = helper.make_tensor_sequence_value_info("s", 1, None)
    nodes = [helper.make_node("SequenceConstruct", ["x"], ["s"])]
    return make_model(nodes, [value("x", [1])], [out], [])


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (b"", tf.errors.BundleError, "the model: is not an ONNX model"),
        (b"rubbish", tf.errors.BundleError, "the model: is not an ONNX model"),
        ("no/such.onnx", tf.errors.NotFoundError, "no/such.onnx"),
        (sequence_model(), tf.errors.InvalidArgumentError, "output 's' cannot be one of a"),
        (object(), tf.errors.InvalidArgumentError, "expected the path of an ONNX file"),
    ],
    ids=["empty", "rubbish", "missing", "sequence", "object"],
)
def test_what_cannot_be_saved(model: Any, error: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=message):
        save_onnx(model, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def damaged(change: Any) -> Any:
    def make(folder: Path) -> Path:
        path = folder / "model.onnx"
        onnx.save(affine(width=500), path, save_as_external_data=True, location="weights.bin",
                  size_threshold=0)  # fmt: skip
        model = onnx.load(path, load_external_data=False)
        change(folder, {e.key: e for e in model.graph.initializer[0].external_data})
        path.write_bytes(model.SerializeToString())
        return path

    return make


DAMAGES = {
    "missing": damaged(lambda folder, place: (folder / "weights.bin").unlink()),
    "truncated": damaged(lambda folder, place: (folder / "weights.bin").write_bytes(b"1234")),
    "outside": damaged(lambda folder, place: setattr(place["location"], "value", "../x.bin")),
    "absolute": damaged(lambda folder, place: setattr(place["location"], "value", "/etc/passwd")),
    "negative": damaged(lambda folder, place: setattr(place["offset"], "value", "-4")),
    "beyond": damaged(lambda folder, place: setattr(place["offset"], "value", "999999")),
    "no number": damaged(lambda folder, place: setattr(place["offset"], "value", "x")),
    "too short": damaged(lambda folder, place: setattr(place["length"], "value", "8")),
}


@pytest.mark.parametrize("make", DAMAGES.values(), ids=DAMAGES.keys())
def test_damaged_external_data(make: Any, tmp_path: Path) -> None:
    path = make(tmp_path)
    with pytest.raises(tf.errors.BundleError, match=r"(weights|x)\.bin|passwd|'w'|'b'"):
        save_onnx(path, tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_external_data_without_a_folder(tmp_path: Path) -> None:
    path = DAMAGES["missing"](tmp_path)
    model = onnx.load(path, load_external_data=False)
    with pytest.raises(tf.errors.BundleError, match="give the path of the model"):
        save_onnx(model, tmp_path / "m")


def test_damaged_raw_data(tmp_path: Path) -> None:
    model = affine()
    model.graph.initializer[0].raw_data = b"123"
    with pytest.raises(tf.errors.BundleError, match="initializer 'w'"):
        save_onnx(model, tmp_path / "m")


MEMORY = """
import sys
import numpy as np, onnx
from onnx import helper, numpy_helper
from tfx.exporters import save_onnx
path = sys.argv[1]
save_onnx(path + "/small.onnx", path + "/warm")
def peak():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
open("/proc/self/clear_refs", "w").write("5")
before = peak()
save_onnx(path + "/big.onnx", path + "/m", verify=False)  # comparing opens the model
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif("sys.platform != 'linux'", reason="reads /proc")
@pytest.mark.parametrize("external", [True, False])
def test_weights_are_never_held_twice(external: bool, tmp_path: Path) -> None:
    def save(width: int, name: str) -> None:
        tensors = [constant(f"w{i}", np.full((width, width), i, np.float32)) for i in range(8)]
        nodes = [helper.make_node("MatMul", [f"x{i}" if i else "x", f"w{i}"], [f"x{i + 1}"])
                 for i in range(8)]  # fmt: skip
        ports = [value("x", [1, width])], [value("x8", [1, width])]
        model = make_model(nodes, *ports, tensors)
        if external:
            onnx.save(model, tmp_path / name, save_as_external_data=True, location=f"{name}.bin")
        else:
            onnx.save(model, tmp_path / name)

    save(4, "small.onnx")
    save(2048, "big.onnx")
    # Of 128 MiB; pages of mapped files count too, though the system may take them back.
    assert int(run_python(MEMORY, tmp_path)) < 150 << 20


def test_several_models_over_one_set_of_weights(tmp_path: Path) -> None:
    w = numbers(3, 2)
    scaled = make_model(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [value("x", ["N", 3])], [value("y", ["N", 2])], [constant("w", w)],
    )  # fmt: skip
    back = make_model(
        [helper.make_node("Gemm", ["z", "w"], ["y"], transB=1)],
        [value("z", ["N", 2])], [value("y", ["N", 3])], [constant("w", w)],
    )  # fmt: skip
    module = from_onnx.export({"encode": scaled, "decode": back}, tmp_path / "b")
    assert list(module.weights) == ["w"]
    module.weights["w"].assign(2 * w)
    x = numbers(4, 3)
    np.testing.assert_allclose(module.decode(module.encode(x)), 4 * x @ w @ w.T, rtol=1e-4)
    assert set(tf.saved_model.load(tmp_path / "b").signatures) == {"serving_default", "decode"}
    back.graph.initializer[0].CopyFrom(constant("w", w + 1))
    with pytest.raises(tf.errors.InvalidArgumentError, match="different weights 'w'"):
        from_onnx.to_module({"encode": scaled, "decode": back})
