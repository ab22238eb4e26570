"""ONNX models compared with ONNX Runtime's own answers when they are saved, down to the node."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import tfx as tf
from tests.unit.exporters.test_from_onnx import constant, make_model, numbers, run, value
from tfx import loaders
from tfx.core.errors import InvalidArgumentError
from tfx.exporters import from_onnx, save_onnx
from tfx.loaders.open_files import Sources
from tfx.loaders.replay_examples import Replayer

node = helper.make_node
WAYS = pytest.mark.parametrize("save", [save_onnx, from_onnx.export], ids=["save_onnx", "export"])
Save = Callable[..., Any]


def layered() -> onnx.ModelProto:
    nodes = [
        node("MatMul", ["x", "w"], ["m"], name="first/product"),
        node("Add", ["m", "b"], ["a"], name="first/bias"),
        node("Relu", ["a"], ["r"], name="first/relu"),
        node("MatMul", ["r", "v"], ["y"]),
    ]
    stored = [constant("w", numbers(3, 5)), constant("b", numbers(5)), constant("v", numbers(5, 2))]
    return make_model(nodes, [value("x", ["N", 3])], [value("y", ["N", 2])], stored)


def stored_calls(folder: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    sources = Sources(folder, verify=True)
    try:
        replayer = Replayer(sources)
        return [c for e in sources.manifest.examples for c in replayer.stored_calls(e)]
    finally:
        sources.close()


@WAYS
def test_the_model_s_own_answers_are_stored(save: Save, tmp_path: Path) -> None:
    model = layered()
    save(model, tmp_path / "m")
    calls = stored_calls(tmp_path / "m")
    assert len({inputs["x"].shape for inputs, _ in calls}) == 2  # N is open
    for inputs, outputs in calls:
        (expected,) = run(model.SerializeToString(), inputs)
        np.testing.assert_array_equal(outputs["y"], expected)
    assert loaders.verify(tmp_path / "m").is_ok


@pytest.mark.parametrize(
    ("weight", "layer"),
    [
        ("w", r"'first/product \(MatMul\)' .*\)\."),
        ("b", r"'first/bias \(Add\)' .* All layers before it agree, the last is 'first/product"),
        ("v", r"'y \(MatMul\)' .* the last is 'first/relu \(Relu\)'"),
    ],
)
@WAYS
def test_a_difference_names_the_first_node_and_leaves_nothing(
    save: Save, weight: str, layer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A weight that goes wrong on its way into the bundle."""
    write, variable = from_onnx.write_store, from_onnx.SourceVariable
    wrong = next(t for t in layered().graph.initializer if t.name == weight)
    array = onnx.numpy_helper.to_array(wrong)

    def writing(folder: Path, arrays: dict[str, Any], **options: Any) -> Any:
        return write(folder, arrays | {weight: arrays[weight] + 1}, **options)

    def made(value: Any, *args: Any) -> Any:
        is_it = value.shape == array.shape and np.array_equal(value, array)
        return variable(value + is_it, *args)

    monkeypatch.setattr(from_onnx, "write_store", writing)
    monkeypatch.setattr(from_onnx, "SourceVariable", made)
    with pytest.raises(
        InvalidArgumentError, match=f"output 'y' .*first layer that differs is {layer}"
    ):
        save(layered(), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
    save(layered(), tmp_path / "m", verify=False, examples=False)


def test_the_form_with_variables_is_compared_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_it = Replayer.run

    def running(self: Any, signature: str, calls: Any, form: Any = "stock") -> Any:
        found = run_it(self, signature, calls, form)
        return [{n: a + (form == "live") for n, a in one.items()} for one in found]

    monkeypatch.setattr(Replayer, "run", running)
    with pytest.raises(InvalidArgumentError, match="the model with its weights as variables: out"):
        save_onnx(layered(), tmp_path / "m")


def indices() -> onnx.ModelProto:
    table = numbers(7, 4)
    nodes = [
        node("Cast", ["i"], ["c"], to=TensorProto.INT64),
        node("Gather", ["t", "c"], ["y"]),
    ]
    return make_model(
        nodes,
        [value("i", ["N", "L"], TensorProto.INT32)],
        [value("y", ["N", "L", 4])],
        [constant("t", table)],
    )


def one_hot() -> onnx.ModelProto:
    stored = [constant("depth", np.int64(5)), constant("values", np.float32([0, 1]))]
    return make_model(
        [node("OneHot", ["i", "depth", "values"], ["y"])],
        [value("i", ["N"], TensorProto.INT64)],
        [value("y", None)],
        stored,
    )


def pooled() -> onnx.ModelProto:
    nodes = [
        node("Conv", ["x", "w"], ["c"]),
        node("MaxPool", ["c"], ["y"], kernel_shape=[9, 9]),
    ]
    ports = [value("x", ["N", "C", "H", "W"])], [value("y", None)]
    return make_model(nodes, *ports, [constant("w", numbers(4, 3, 3, 3))])


def unknown_rank() -> onnx.ModelProto:
    nodes = [node("Relu", ["x"], ["r"]), node("Squeeze", ["r", "axes"], ["y"])]
    stored = [constant("axes", np.int64([2]))]
    return make_model(nodes, [value("x", None)], [value("y", None)], stored)


def quantized() -> onnx.ModelProto:
    nodes = [node("DequantizeLinear", ["w", "s"], ["d"]), node("MatMul", ["x", "d"], ["y"])]
    stored = [constant("w", np.ones((13, 4), np.int8)), constant("s", np.float32(0.5))]
    return make_model(nodes, [value("x", ["N", "K"])], [value("y", None)], stored)


def shape_given() -> onnx.ModelProto:
    ports = [value("x", ["N"]), value("s", [1], TensorProto.INT64)], [value("y", None)]
    return make_model([node("Expand", ["x", "s"], ["y"])], *ports, [])


def with_past() -> onnx.ModelProto:
    nodes = [node("Concat", ["p", "x"], ["c"], axis=1), node("Add", ["c", "mask"], ["y"])]
    inputs = [value("p", ["B", "past", 3]), value("x", ["B", "len", 3])]
    inputs.append(value("mask", ["B", "past + len", 1]))
    return make_model(nodes, inputs, [value("y", None)], [])


def logarithm() -> onnx.ModelProto:
    ports = [value("x", ["N", "L"])], [value("y", ["N", "L"])]
    return make_model([node("Log", ["x"], ["y"])], *ports, [])


@pytest.mark.parametrize(
    "make",
    [indices, one_hot, pooled, unknown_rank, quantized, shape_given, with_past, logarithm],
)
@WAYS
def test_inputs_are_made_up_that_suit(
    save: Save, make: Callable[[], onnx.ModelProto], tmp_path: Path
) -> None:
    """Without a warning, which would be an error here."""
    save(make(), tmp_path / "m")
    calls = stored_calls(tmp_path / "m")
    for inputs, outputs in calls:
        expected = run(make().SerializeToString(), inputs)
        np.testing.assert_array_equal(outputs["y"], expected[0])
    assert calls
    if make is indices:
        assert max(int(inputs["i"].max()) for inputs, _ in calls) > 1  # not the first rows alone


def picky() -> onnx.ModelProto:
    """Takes 77 elements, or a multiple."""
    stored = [constant("shape", np.int64([7, -1, 11]))]
    ports = [value("x", ["N"])], [value("y", None)]
    return make_model([node("Reshape", ["x", "shape"], ["y"])], *ports, stored)


@WAYS
def test_what_nothing_made_up_suits_is_said(save: Save, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"without being compared.*cannot be reshaped.*examples="):
        save(picky(), tmp_path / "m")
    assert stored_calls(tmp_path / "m") == []
    x = numbers(77)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save(picky(), tmp_path / "m", verify=False)
        save(picky(), tmp_path / "m", inputs={"x": tf.TensorSpec([154], tf.float32)})
        assert [i["x"].shape for i, _ in stored_calls(tmp_path / "m")] == [(154,)]
        save(picky(), tmp_path / "m", examples={"serving_default": {"x": x}})
    ((inputs, outputs),) = stored_calls(tmp_path / "m")
    np.testing.assert_array_equal(inputs["x"], x)
    np.testing.assert_array_equal(outputs["y"], x.reshape(7, 1, 11))


@WAYS
def test_given_inputs_that_do_not_suit(save: Save, tmp_path: Path) -> None:
    for given, message in (
        ({"x": numbers(76)}, "refuses the inputs of the example"),
        ({"z": numbers(77)}, "takes no input 'z'"),
        ({"x": numbers(7, 11)}, "it has 2 dimensions instead of 1"),
        ({"x": np.arange(77)}, "expected float32"),
    ):
        with pytest.raises(ValueError, match=message):
            save(picky(), tmp_path / "m", examples={"serving_default": given})
    with pytest.raises(InvalidArgumentError, match="'z'"):
        save(picky(), tmp_path / "m", inputs={"z": tf.TensorSpec([1])})
    with pytest.raises(InvalidArgumentError, match=r"int32 of shape .* does not fit"):
        save(picky(), tmp_path / "m", inputs={"x": tf.TensorSpec([77], tf.int32)})
    assert list(tmp_path.iterdir()) == []


@WAYS
def test_outputs_that_are_given_are_kept(save: Save, tmp_path: Path) -> None:
    x = numbers(77)
    pair = ({"x": x}, {"y": x.reshape(7, 1, 11)})
    save(picky(), tmp_path / "m", examples={"serving_default": pair})
    assert len(stored_calls(tmp_path / "m")) == 1
    wrong = ({"x": x}, {"y": x.reshape(7, 1, 11) + 1})
    with pytest.raises(InvalidArgumentError, match="does not give what the example says"):
        save(picky(), tmp_path / "other", examples={"serving_default": wrong})
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def random() -> onnx.ModelProto:
    ports = [value("x", ["N"])], [value("y", ["N"])]
    return make_model([node("RandomNormalLike", ["x"], ["y"])], *ports, [])


@WAYS
def test_what_is_drawn_cannot_be_compared(save: Save, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="it draws numbers"):
        save(random(), tmp_path / "m")


def test_what_the_runtime_does_not_open_is_saved_with_a_warning(tmp_path: Path) -> None:
    model = make_model(
        [node("Foo", ["x"], ["y"], domain="my")],
        [value("x", ["N"])], [value("y", None)], [], opsets=[helper.make_opsetid("my", 1)],
    )  # fmt: skip
    with pytest.warns(UserWarning, match="ONNX Runtime does not open it .*my:Foo"):
        save_onnx(model, tmp_path / "m")


def test_several_models_and_examples_by_signature(tmp_path: Path) -> None:
    models = {"first": picky(), "second": layered()}
    given = {"serving_default": [{"x": numbers(77)}, {"x": numbers(154)}]}
    from_onnx.export(models, tmp_path / "m", examples=given)
    assert [i["x"].size for i, _ in stored_calls(tmp_path / "m")] == [77, 154]
    with pytest.warns(UserWarning, match=r"\.first is saved without"):
        from_onnx.export(models, tmp_path / "m")
    assert {o["y"].shape[-1] for _, o in stored_calls(tmp_path / "m")} == {2}


def test_examples_of_two_signatures_of_one_model(tmp_path: Path) -> None:
    nodes = [node("Add", ["x", "x"], ["y"])]
    model = make_model(nodes, [value("x", ["N"])], [value("y", ["N"])], [])
    ones, fives = np.ones(2, np.float32), np.full(3, 5, np.float32)
    from_onnx.export(
        {"call": model},
        tmp_path / "m",
        signatures={"a": "call", "b": "call"},
        examples={"a": {"x": ones}, "b": {"x": fives}},
    )
    found = sorted(
        (inputs["x"].tolist(), outputs["y"].tolist())
        for inputs, outputs in stored_calls(tmp_path / "m")
    )
    assert found == [([1, 1], [2, 2]), ([5, 5, 5], [10, 10, 10])]


def test_a_given_example_of_a_model_that_draws_is_not_compared(tmp_path: Path) -> None:
    nodes = [node("RandomUniformLike", ["x"], ["y"])]
    model = make_model(nodes, [value("x", [2])], [value("y", [2])], [])
    with pytest.warns(UserWarning, match="draws numbers"):
        save_onnx(
            model, tmp_path / "m", examples={"serving_default": {"x": np.ones(2, np.float32)}}
        )


def test_indices_stay_few() -> None:
    """Of 420 by 420 indices a language model makes 35 GB of logits."""
    from tfx.exporters.sources.suitable_inputs import candidates
    from tfx.importing.model_inputs import ports_of
    from tfx.importing.open_model import open_model

    table = constant("t", numbers(7, 3))
    ids = helper.make_tensor_value_info("x", TensorProto.INT64, ["N", "T"])
    model = make_model([node("Gather", ["t", "x"], ["y"])], [ids], [value("y", None)], [table])
    loaded = open_model(model)
    ports = [p for p in ports_of(loaded, {}) if p.name == "x"]
    sizes = [one["x"].size for one in candidates(loaded.proto, ports)]
    assert sizes
    assert max(sizes) <= 1 << 14
