"""Weights as arrays and files, and back into modules by their names."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import BundleError, InvalidArgumentError, NotFoundError
from tfx.exporters import from_safetensors, to_numpy, to_safetensors
from tfx.exporters.from_safetensors import load_into, to_module

safetensors = pytest.importorskip("safetensors.numpy")


class Network(tf.Module):
    """Two layers, the second tied to the first, and a counter."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = [
            {"kernel": tf.Variable([[1.0, 2.0], [3.0, 4.0]]), "bias": tf.Variable([0.5, 1.5])}
        ]
        self.last = self.layers[0]["kernel"]
        self.calls = tf.Variable(7, trainable=False, dtype=tf.int64)

    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def __call__(self, x: Any) -> Any:
        return x @ self.last + self.layers[0]["bias"]


def _zeroed() -> Network:
    network = Network()
    for variable in network.variables:
        variable.assign(tf.zeros_like(variable))
    return network


def test_names_are_paths_and_ties_one_array() -> None:
    arrays = to_numpy(Network())
    assert {*arrays} == {"calls", "last", "layers.0.bias", "layers.0.kernel"}
    assert arrays["last"] is arrays["layers.0.kernel"]
    assert arrays["layers.0.bias"].tolist() == [0.5, 1.5]


@pytest.mark.parametrize("shard", [None, 16])
def test_files_there_and_back(tmp_path: Path, shard: int | None) -> None:
    path = tmp_path / "net.safetensors"
    to_safetensors(Network(), path, max_shard_bytes=shard, metadata={"note": "x"})
    source = path if shard is None else tmp_path
    network = _zeroed()
    report = load_into(network, source)
    assert not report.missing
    assert not report.unexpected
    expected, found = to_numpy(Network()), to_numpy(network)
    assert all(found[n].tobytes() == expected[n].tobytes() for n in expected)
    if shard is None:
        assert {*safetensors.load_file(path)} == {*from_safetensors.read_weights(path)[0]}
    assert not [p for p in tmp_path.iterdir() if ".tmp" in p.name]


def test_a_note_is_no_name(tmp_path: Path) -> None:
    """What a header says of its format, or of anything else, may be a tensor's name by chance."""
    path = tmp_path / "w.safetensors"
    arrays = {"pt": np.ones(2, np.float32), "kernel": np.zeros(2, np.float32)}
    safetensors.save_file(arrays, path, metadata={"format": "pt", "title": "kernel"})
    module = tf.Module()
    module.pt, module.kernel = tf.Variable([5.0, 5.0]), tf.Variable([5.0, 5.0])
    assert load_into(module, path).loaded == ("kernel", "pt")
    assert module.pt.numpy().tolist() == [1, 1]
    assert sorted(v.name for v in to_module(path).variables) == ["kernel:0", "pt:0"]
    assert not hasattr(to_module(path), "format")
    module.last = module.kernel
    safetensors.save_file(arrays, path, metadata={"format": "pt", "last": "kernel"})
    assert load_into(module, path).missing == ()  # a tie that other programs wrote
    tied = to_module(path)
    assert tied.last is tied.kernel


@pytest.mark.parametrize("shard", [None, 8])
def test_our_own_notes_are_no_names(shard: int | None, tmp_path: Path) -> None:
    module = tf.Module()
    module.pt, module.kernel = tf.Variable([1.0, 1.0]), tf.Variable([2.0, 2.0])
    module.format = module.kernel
    path = tmp_path / "w.safetensors"
    to_safetensors(module, path, max_shard_bytes=shard, metadata={"title": "kernel"})
    again = to_module(path if shard is None else tmp_path)
    assert again.format is again.kernel
    assert not hasattr(again, "title")
    with pytest.raises(InvalidArgumentError, match=r"'(kernel|format)', which the header needs"):
        to_safetensors(module, path, metadata={"format": "x", "kernel": "y"})


@pytest.mark.parametrize("ties", ["{", "[]", '{"kernel": "kernel"}', '{"other": 3}'])
def test_a_lying_note_of_ties(ties: str, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    arrays = {"kernel": np.ones(1, np.float32)}
    safetensors.save_file(arrays, path, metadata={"tfx.tied_weights": ties})
    with pytest.raises(BundleError, match=r"w\.safetensors: 'tfx\.tied_weights' in the header"):
        to_module(path)


def test_a_module_of_nested_variables(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    arrays = {
        "encoder.layers.0.weight": np.ones((2, 2), np.float32),
        "encoder.layers.0.name": np.zeros(2, np.float16),
        "ids": np.arange(3),
    }
    safetensors.save_file(arrays, path, {"head.weight": "encoder.layers.0.weight"})
    module = to_module(path, dtype=tf.float32, trainable=lambda n: n.endswith("weight"))
    layer = module.encoder.layers["0"]
    assert layer.weight is module["encoder.layers.0.weight"] is module.head.weight
    assert module["encoder.layers.0.name"].dtype == tf.float32
    assert [v.name for v in module.trainable_variables] == ["encoder.layers.0.weight:0"]
    assert module.ids.numpy().tolist() == [0, 1, 2]
    with pytest.raises(AttributeError, match="did you mean 'encoder'"):
        module.encode  # noqa: B018
    with pytest.raises(KeyError):
        module["encoder.none"]
    from_safetensors.export(path, tmp_path / "bundle")
    loaded = tf.saved_model.load(tmp_path / "bundle")
    assert loaded.ids.numpy().tolist() == [0, 1, 2]
    assert getattr(loaded.encoder.layers, "0").weight is loaded.head.weight
    with pytest.raises(InvalidArgumentError, match="no functions"):
        from_safetensors.export(path, tmp_path / "other", signatures={"a": "b"})
    assert not (tmp_path / "other").exists()


def test_export_with_a_module(tmp_path: Path) -> None:
    to_safetensors(Network(), tmp_path / "w.safetensors")
    from_safetensors.export(
        tmp_path / "w.safetensors", tmp_path / "m", module=_zeroed(), metadata={"note": "x"}
    )
    loaded = tf.saved_model.load(tmp_path / "m")
    assert loaded([[1.0, 0.0]]).numpy().tolist() == [[1.5, 3.5]]


def test_renaming_casting_and_reports(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    safetensors.save_file(
        {
            "model.layers.0.kernel": np.ones((2, 2), np.float16),
            "model.layers.0.bias": np.ones(2, np.float32),
            "extra": np.ones(1, np.float32),
        },
        path,
    )
    network = _zeroed()

    def rename(name: str) -> str | None:
        return name.removeprefix("model.")

    with pytest.raises(InvalidArgumentError, match="float16, the variable float32; pass cast=True"):
        load_into(network, path, rename=rename)
    with pytest.raises(
        InvalidArgumentError, match="no value for 'calls' and no variable for 'extra'"
    ):
        load_into(network, path, rename=rename, cast=True)
    assert not np.any(network.layers[0]["bias"].numpy())
    report = load_into(network, path, rename=rename, cast=True, strict=False)
    assert report.missing == ("calls",)
    assert report.unexpected == ("extra",)
    assert network.last.numpy().tolist() == [[1, 1], [1, 1]]
    with pytest.raises(InvalidArgumentError, match="both get the name"):
        load_into(network, path, rename=lambda _: "x")
    with pytest.raises(InvalidArgumentError, match="no tensor of"):
        load_into(network, path, rename={"nothing": "x"})


def test_shapes_and_ties_that_do_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    network = Network()
    network.wide = tf.Variable(np.ones((2, 3), np.float32))
    safetensors.save_file({"wide": np.ones((3, 2), np.float32)}, path)
    with pytest.raises(InvalidArgumentError, match="looks transposed"):
        load_into(network, path, strict=False)
    module = to_module(path)
    module.other = module.wide
    module.weights = {"wide": module.wide, "other": module.wide}
    safetensors.save_file(
        {"wide": np.ones((3, 2), np.float32), "other": np.zeros((3, 2), np.float32)}, path
    )
    with pytest.raises(InvalidArgumentError, match="one variable of the module and two different"):
        load_into(module, path)


def test_files_that_lie(tmp_path: Path) -> None:
    header = json.dumps({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}).encode()
    lying = tmp_path / "w.safetensors"
    lying.write_bytes(struct.pack("<Q", len(header)) + header + b"1234")
    with pytest.raises(BundleError, match=r"w\.safetensors"):
        to_module(lying)
    with pytest.raises(NotFoundError, match="no such file"):
        to_module(tmp_path / "none.safetensors")
    with pytest.raises(NotFoundError, match="expected one"):
        to_module(_two(tmp_path))
    index = tmp_path / "i.safetensors.index.json"
    good = tmp_path / "good.safetensors"
    safetensors.save_file({"a": np.ones(1, np.float32)}, good)
    index.write_text(json.dumps({"weight_map": {"b": "good.safetensors"}}))
    with pytest.raises(
        BundleError, match=r"'b' is said to be in good\.safetensors, which lacks it"
    ):
        to_module(index)
    index.write_text(json.dumps({"weight_map": {"a": "../good.safetensors"}}))
    with pytest.raises(BundleError):
        to_module(index)
    index.write_text(json.dumps({"weight_map": {"a": "missing.safetensors"}}))
    with pytest.raises(BundleError, match="missing"):
        to_module(index)


def _two(folder: Path) -> Path:
    below = folder / "two"
    below.mkdir()
    for name in ("a", "b"):
        safetensors.save_file({"x": np.ones(1, np.float32)}, below / f"{name}.safetensors")
    return below


def test_a_name_that_is_a_tensor_and_a_part(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    safetensors.save_file({"a": np.ones(1, np.float32), "a.b": np.ones(1, np.float32)}, path)
    with pytest.raises(InvalidArgumentError, match="a tensor and of a part"):
        to_module(path)
    assert to_module(path, rename={"a": "c"})["a.b"].shape == (1,)


def test_writing_leaves_nothing_half_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tfx.exporters import named_weights

    def failing(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(named_weights, "write_store", failing)
    with pytest.raises(tf.errors.ResourceExhaustedError):
        to_safetensors(Network(), tmp_path / "w.safetensors")
    assert not [*tmp_path.iterdir()]
    with pytest.raises(InvalidArgumentError, match="ends in"):
        to_safetensors(Network(), tmp_path / "w.bin")
    with pytest.raises(InvalidArgumentError, match="no variables"):
        to_numpy(tf.Module())
