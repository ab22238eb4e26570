"""Named entry points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.saved_model.models import Dense, Trainer, batch, numbers, saved

SPEC = tf.TensorSpec([None, 3], tf.float32)
X = tf.constant(numbers(2, 3))


def test_the_only_known_function_becomes_the_default(tmp_path: Any) -> None:
    module = tf.Module()
    module.f = tf.function(lambda x: x + 1.0, input_signature=[SPEC])
    module.untraced = tf.function(lambda x: x)
    back = saved(module, tmp_path / "m")
    assert list(back.signatures) == ["serving_default"]
    np.testing.assert_array_equal(back.signatures["serving_default"](X)["output_0"], X.numpy() + 1)


def test_functions_that_write_state_are_no_default(tmp_path: Any) -> None:
    model = Trainer()
    back = saved(model, tmp_path / "m")
    assert list(back.signatures) == ["serving_default"]
    assert list(back.signatures["serving_default"].structured_outputs) == ["logits"]


def test_two_known_functions_make_no_default(tmp_path: Any) -> None:
    module = tf.Module()
    module.f = tf.function(lambda x: x + 1.0, input_signature=[SPEC])
    module.g = tf.function(lambda x: x + 2.0, input_signature=[SPEC])
    assert saved(module, tmp_path / "m").signatures == {}


def test_names_of_inputs_and_outputs(tmp_path: Any) -> None:
    @tf.function
    def f(table: Any, other: Any, *more: Any) -> Any:
        return {"sum": table["b"] + other, "parts": (table["a"][0], more[0])}

    concrete = f.get_concrete_function(
        {"b": SPEC, "a": [SPEC]}, tf.TensorSpec([None, 3], tf.float32, name="image"), SPEC
    )
    back = saved(tf.Module(), tmp_path / "m", signatures={"f": concrete})
    signature = back.signatures["f"]
    _, inputs = signature.structured_input_signature
    assert list(inputs) == ["table_a_0", "table_b", "image", "more_0"]
    assert list(signature.structured_outputs) == ["parts_0", "parts_1", "sum"]
    values = {n: tf.constant(numbers(2, 3, seed=i)) for i, n in enumerate(inputs)}
    result = signature(**values)
    np.testing.assert_array_equal(result["parts_0"], values["table_a_0"])
    np.testing.assert_array_equal(result["sum"], values["table_b"] + values["image"])


def test_repeated_spec_names_give_way_to_parameters(tmp_path: Any) -> None:
    spec = tf.TensorSpec([], tf.float32, name="x")
    f = tf.function(lambda a, b: a - b, input_signature=[spec, spec])
    back = saved(f, tmp_path / "m")
    one, two = tf.constant(1.0), tf.constant(2.0)
    assert float(back.signatures["serving_default"](a=one, b=two)["output_0"]) == -1.0


def test_an_output_may_have_the_name_of_an_input(tmp_path: Any) -> None:
    f = tf.function(lambda x, y: {"x": y, "y": x + 1.0, "z_0": y, "z": [x]},
                    input_signature=[tf.TensorSpec([], tf.float32)] * 2)  # fmt: skip
    back = saved(f, tmp_path / "m").signatures["serving_default"]
    result = back(x=tf.constant(1.0), y=tf.constant(5.0))
    assert {k: float(v) for k, v in result.items()} == {
        "x": 5.0,
        "y": 2.0,
        "z_0": 1.0,
        "z_0_1": 5.0,
    }


def test_structured_results_of_a_signature_are_flat(tmp_path: Any) -> None:
    f = tf.function(lambda x: (x, None, [x + 1.0]), input_signature=[SPEC])
    back = saved(f, tmp_path / "m").signatures["serving_default"]
    assert len(back(X)) == 2
    assert all(isinstance(v, tf.Tensor) for v in back(X).values())


def test_odd_signature_names_are_good(tmp_path: Any) -> None:
    f = tf.function(lambda x: x + 1.0, input_signature=[SPEC])
    g = tf.function(lambda x: x + 2.0, input_signature=[SPEC])
    names = ["a/b", "../up", "ä ö", "a_b", "A_B", "x.live", "x", ".hidden", "n" * 300, "bundle"]
    signatures = {n: (f if i % 2 else g) for i, n in enumerate(names)}
    signatures = {n: tf.function(lambda x, i=i: x + float(i)).get_concrete_function(SPEC)
                  for i, n in enumerate(signatures)}  # fmt: skip
    back = saved(tf.Module(), tmp_path / "m", signatures=signatures)
    assert list(back.signatures) == names
    for i, signature in enumerate(back.signatures.values()):
        np.testing.assert_array_equal(signature(X)["output_0"], X.numpy() + i)
    files = {p.name.casefold() for p in (tmp_path / "m").iterdir()}
    assert len(files) == len(names) + 2
    assert all(p.parent == tmp_path / "m" for p in (tmp_path / "m").rglob("*.onnx"))


def test_one_function_under_two_names_is_one_file(tmp_path: Any) -> None:
    f = tf.function(lambda x: x + 1.0, input_signature=[SPEC])
    back = saved(tf.Module(), tmp_path / "m", signatures={"a": f, "b": f})
    assert [p.name for p in (tmp_path / "m").glob("*.onnx")] == ["a.onnx"]
    np.testing.assert_array_equal(back.signatures["b"](X)["output_0"], X.numpy() + 1)


def test_a_mistaken_call_is_told(tmp_path: Any) -> None:
    model = Trainer()
    back = saved(model, tmp_path / "m", signatures=model.signatures)
    step = back.signatures["train_step"]
    x, y = batch()
    with pytest.raises(TypeError, match="'train_step' takes x, y; missing y"):
        step(x=x)
    with pytest.raises(TypeError, match="Unknown: labels"):
        step(x=x, y=y, labels=y)
    with pytest.raises(TypeError, match="did you mean 'x'"):
        step(xx=x, y=y)
    with pytest.raises(TypeError, match="by name"):
        step(x, y)
    with pytest.raises(tf.errors.InvalidArgumentError, match="argument 'x' expected shape"):
        step(x=y, y=y)
    with pytest.raises(tf.errors.InvalidArgumentError, match="argument 'y' expected float32"):
        step(x=x, y=tf.cast(y, tf.float64))


def test_facts_of_a_signature(tmp_path: Any) -> None:
    model = Trainer()
    back = saved(model, tmp_path / "m", signatures=model.signatures)
    serving = back.signatures["serving_default"]
    assert serving.name == "serving_default"
    assert {v.name for v in serving.variables} == {"w:0", "b:0", "scale:0"}
    assert {v.name for v in serving.trainable_variables} == {"w:0", "b:0"}
    assert serving.structured_input_signature[1]["x"].shape.as_list() == [None, 4]
    assert serving.structured_outputs["logits"].dtype is tf.float32
    assert serving.as_onnx().graph.output[0].name == "logits"
    assert "serving_default" in repr(serving)


@pytest.mark.parametrize(
    ("signatures", "message"),
    [
        (lambda x: x, "Expected signatures to be"),
        ({"a": lambda x: x}, "Signature 'a' is .*expected a tf.function"),
        ({"": tf.function(lambda x: x, input_signature=[SPEC])}, "non-empty strings; got ''"),
        ({3: tf.function(lambda x: x, input_signature=[SPEC])}, "non-empty strings; got 3"),
        ({"a": tf.function(lambda x: x)}, "'lambda' has 0 traces and no input_signature"),
        ([1], "Expected signatures to be"),
        (tf.function(lambda x: None, input_signature=[SPEC]), "returns no tensor and changes no"),
    ],
)
def test_signatures_that_cannot_be_are_refused(
    signatures: Any, message: str, tmp_path: Any
) -> None:
    with pytest.raises(ValueError, match=message):
        tf.saved_model.save(tf.Module(), tmp_path / "m", signatures=signatures)
    assert not (tmp_path / "m").exists()


def test_two_traces_without_a_signature_are_refused(tmp_path: Any) -> None:
    layer = Dense(3, 2)
    layer(X)
    layer(X, training=True)
    with pytest.raises(ValueError, match="has 2 traces"):
        tf.saved_model.save(layer, tmp_path / "m", signatures=layer.__call__)


def test_live_graphs_are_written_only_where_needed(tmp_path: Any) -> None:
    model = Trainer()
    tf.saved_model.save(model, tmp_path / "serving", signatures=model.predict)
    names = sorted(p.name for p in (tmp_path / "serving").glob("*.onnx"))
    assert names == ["serving_default.live.onnx", "serving_default.onnx", "train_step.onnx"]
    layer = Dense(3, 2)
    layer(X)
    tf.saved_model.save(layer, tmp_path / "layer")
    assert not list((tmp_path / "layer").glob("*.live.onnx"))
