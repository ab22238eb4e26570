"""Golden examples: what is recorded when a bundle is saved."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.loaders.models import WEIGHTS, Model, save
from tfx.bundle.examples import MAX_EXAMPLE_BYTES, is_current
from tfx.bundle.manifest import read_manifest
from tfx.bundle.safetensors import open_safetensors
from tfx.core import errors
from tfx.loaders import Bundle

SPEC = tf.TensorSpec([None, 3], tf.float32)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: Any) -> Path:
    return save(tmp_path_factory.mktemp("examples") / "m")


def arrays(folder: Path, storages: Any) -> dict[str, Any]:
    return {n: open_safetensors(folder / s.file).array(s.key) for n, s in storages.items()}


def test_each_signature_has_examples_of_two_sizes(bundle: Path) -> None:
    manifest = read_manifest(bundle)
    names = [e.signature for e in manifest.examples]
    assert names == ["serving_default", "serving_default", "step", "step", "text", "logs"]
    shapes = [arrays(bundle, e.calls[0].inputs)["x"].shape for e in manifest.examples[:2]]
    assert shapes == [(2, 3), (3, 3)]
    assert all(is_current(e, manifest) and not e.is_given for e in manifest.examples)


def test_outputs_are_what_the_numbers_say(bundle: Path) -> None:
    for example in read_manifest(bundle).examples[:2]:
        call = example.calls[0]
        x, y = arrays(bundle, call.inputs)["x"], arrays(bundle, call.outputs)["y"]
        np.testing.assert_allclose(y, x.astype(np.float64) @ WEIGHTS, rtol=1e-5)


def test_a_step_is_recorded_as_a_sequence(bundle: Path) -> None:
    example = read_manifest(bundle).examples[2]
    counts = [float(arrays(bundle, call.outputs)["count"]) for call in example.calls]
    assert counts == [1, 2]
    w = WEIGHTS.astype(np.float64)
    for call in example.calls:
        x = arrays(bundle, call.inputs)["x"].astype(np.float64)
        w = w - 0.5 * x.T @ (x @ w)
        np.testing.assert_allclose(arrays(bundle, call.outputs)["sum"], w.sum(), rtol=1e-4)


def test_a_step_of_a_scalar_is_recorded(tmp_path: Path) -> None:
    class Counter(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.total = tf.Variable(1.0)

        @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
        def add(self, x: tf.Tensor) -> tf.Tensor:
            return self.total.assign_add(x)

    counter = Counter()
    tf.saved_model.save(counter, tmp_path / "m", signatures={"add": counter.add})
    (example,) = read_manifest(tmp_path / "m").examples
    assert len(example.calls) == 2
    for call in example.calls:
        assert arrays(tmp_path / "m", call.inputs)["x"].shape == ()


def test_made_up_values_are_such_that_results_are_finite(bundle: Path) -> None:
    call = read_manifest(bundle).examples[-1].calls[0]
    assert (arrays(bundle, call.inputs)["x"] > 0).all()


def test_the_live_object_is_not_touched(tmp_path: Path) -> None:
    model = Model()
    tf.saved_model.save(model, tmp_path / "m", signatures=model.signatures)
    assert float(model.count) == 0
    np.testing.assert_array_equal(model.w.numpy(), WEIGHTS)
    np.testing.assert_array_equal(Bundle.open(tmp_path / "m").variables["w"], WEIGHTS)


def test_the_same_bytes_each_time(bundle: Path, tmp_path: Path) -> None:
    again = save(tmp_path / "m")
    for name in ("bundle.pb", "examples.safetensors"):
        assert (again / name).read_bytes() == (bundle / name).read_bytes()


def test_they_can_be_switched_off(tmp_path: Path) -> None:
    folder = save(tmp_path / "m", examples=False)
    assert read_manifest(folder).examples == ()
    assert not (folder / "examples.safetensors").exists()


def test_given_ones(tmp_path: Path) -> None:
    x = np.ones((1, 3), np.float32)
    given = {
        "serving_default": [{"x": x}, ({"x": tf.constant(2 * x)}, {"y": 2 * x @ WEIGHTS})],
        "step": [[{"x": x}, {"x": x}, {"x": x}]],
    }
    folder = save(tmp_path / "m", examples=given)
    first, second, third = read_manifest(folder).examples
    assert (first.is_given, first.signature, len(third.calls)) == (True, "serving_default", 3)
    np.testing.assert_array_equal(arrays(folder, second.calls[0].inputs)["x"], 2 * x)
    assert float(arrays(folder, third.calls[2].outputs)["count"]) == 3


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ({"serve": {"x": [[1.0, 2, 3]]}}, "no|has not; did you mean|serving_default"),
        ({"serving_default": {"z": [[1.0, 2, 3]]}}, "takes no input 'z'"),
        ({"serving_default": {"x": [[1.0, 2]]}}, "expected float32"),
        ({"serving_default": ({"x": [[1.0, 2, 3]]}, {"y": [[0.0, 0]]})}, "differs|float64"),
        ({"serving_default": ({"x": [[1.0, 2, 3]]}, {"z": 0.0})}, "has the output 'z'"),
        ({"serving_default": 3}, "expected inputs by name"),
        (3, "expected True, False, None, or a dict"),
    ],
    ids=["signature", "name", "shape", "wrong", "no output", "form", "type"],
)
def test_mistakes_are_told_and_nothing_is_saved(
    tmp_path: Path, examples: Any, message: str
) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=message):
        save(tmp_path / "m", examples=examples)
    assert not (tmp_path / "m").exists()


def test_size_is_bounded(tmp_path: Path) -> None:
    wide = tf.function(lambda x: x + 1.0, input_signature=[tf.TensorSpec([1 << 16])])
    module = tf.Module()
    module.f = wide
    tf.saved_model.save(module, tmp_path / "auto")
    assert read_manifest(tmp_path / "auto").examples == ()  # 512 KiB of a bundle of nothing
    options = tf.saved_model.SaveOptions(examples=True)
    tf.saved_model.save(module, tmp_path / "asked", options=options)
    (item,) = read_manifest(tmp_path / "asked").examples
    assert item.signature == "serving_default"
    big = np.zeros(MAX_EXAMPLE_BYTES // 4, np.float32)
    module.g = tf.function(lambda x: x + 1.0, input_signature=[tf.TensorSpec([None])])
    options = tf.saved_model.SaveOptions(examples={"g": {"x": big}})
    with pytest.raises(errors.InvalidArgumentError, match="limit 4194304; give smaller ones"):
        tf.saved_model.save(module, tmp_path / "big", {"g": module.g}, options)


def test_what_is_random_is_not_compared(tmp_path: Path) -> None:
    @tf.function(input_signature=[tf.TensorSpec([2])])
    def noisy(x: Any) -> Any:
        return {"noise": x + tf.random.normal([2]), "plain": x}

    module = tf.Module()
    tf.saved_model.save(module, tmp_path / "m", {"f": noisy})
    for example in read_manifest(tmp_path / "m").examples:
        assert "plain" in example.calls[0].outputs


def test_a_model_that_refuses_every_input_is_saved_without(tmp_path: Path) -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64)])
    def picky(x: Any) -> Any:
        return tf.gather(tf.constant([1.0, 2.0]), x + 50)

    module = tf.Module()
    tf.saved_model.save(module, tmp_path / "m", {"f": picky})
    assert read_manifest(tmp_path / "m").examples == ()


def test_a_loop_that_does_not_end_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tfx.exporters.examples.MADE_UP_SECONDS", 0.2)

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def endless(x: Any) -> Any:
        return tf.while_loop(lambda y: y < 100.0, lambda y: (y * 1.0,), (x,))

    module = tf.Module()
    tf.saved_model.save(module, tmp_path / "m", {"f": endless})
    assert read_manifest(tmp_path / "m").examples == ()


def test_an_imported_model_has_them_too(tmp_path: Path, bundle: Path) -> None:
    from tfx.exporters import save_onnx

    module = tf.Module()
    module.f = tf.function(lambda x: 2.0 * x, input_signature=[SPEC])
    save_onnx(module.f.get_concrete_function().as_onnx(), tmp_path / "m")
    assert len(read_manifest(tmp_path / "m").examples) == 2
    save_onnx(module.f.get_concrete_function().as_onnx(), tmp_path / "n", examples=False)
    assert read_manifest(tmp_path / "n").examples == ()


def test_saving_again_keeps_them(bundle: Path, tmp_path: Path) -> None:
    shutil.copytree(bundle, tmp_path / "a")
    with Bundle.open(tmp_path / "a") as opened:
        opened.save(tmp_path / "same")
        opened.variables["count"] = 5.0
        opened.save(tmp_path / "other")
    same, other = (read_manifest(tmp_path / name) for name in ("same", "other"))
    assert len(same.examples) == len(other.examples) == 6
    assert all(is_current(e, same) for e in same.examples)
    assert not any(is_current(e, other) for e in other.examples)
