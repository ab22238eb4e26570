"""Adapters as files: there and back, several on one base, and files that are wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx import adapt
from tfx.bundle.safetensors import write_safetensors


class Net(tf.Module):
    """Two layers in torch's layout and ours, and a filter."""

    def __init__(self) -> None:
        super().__init__("net")
        self.query = tf.Module("query")
        self.query.weight = tf.Variable(tf.ones([4, 6]))  # [out, in]
        self.dense = tf.Module("dense")
        self.dense.kernel = tf.Variable(tf.ones([4, 3]))  # [in, out]
        self.conv = tf.Module("conv")
        self.conv.kernel = tf.Variable(tf.ones([2, 5, 3, 7]))  # [height, width, in, out]


def _numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def _made(rank: int = 2) -> tuple[Net, adapt.Lora]:
    net = Net()
    adapter = adapt.lora(net, rank, alpha=3.0, targets=["query", "dense", "conv"])
    for v in adapter.b.values():
        v.assign(_numbers(*v.shape.as_list()))
    return net, adapter


@pytest.mark.parametrize("name", ["one", "one.safetensors"])
def test_there_and_back(tmp_path: Path, name: str) -> None:
    _, adapter = _made()
    adapt.save(adapter, tmp_path / name)
    again = adapt.load_lora(Net(), tmp_path / name)
    assert (again.active, again.rank, again.alpha) == ("one", 2, 3.0)
    for mine, theirs in ((adapter.a, again.a), (adapter.b, again.b)):
        for key in mine:
            np.testing.assert_array_equal(mine[key], theirs[key])
    assert again.targets == adapter.targets


def test_keys_and_shapes_are_those_of_peft(tmp_path: Path) -> None:
    _, adapter = _made()
    adapt.save(adapter, tmp_path)
    reader = tf.train.load_checkpoint(str(tmp_path / "adapter_model"))
    head = "base_model.model."
    assert reader.get_variable_to_shape_map() == {
        f"{head}query.lora_A.weight": [2, 6],
        f"{head}query.lora_B.weight": [4, 2],
        f"{head}dense.lora_A.weight": [2, 4],
        f"{head}dense.lora_B.weight": [3, 2],
        f"{head}conv.lora_A.weight": [2, 3, 2, 5],
        f"{head}conv.lora_B.weight": [7, 2, 1, 1],
    }
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    assert (config["peft_type"], config["r"], config["lora_alpha"]) == ("LORA", 2, 3.0)
    assert config["target_modules"] == ["conv", "dense", "query"]


def test_one_of_a_smaller_rank_is_held_beside_others(tmp_path: Path) -> None:
    _, small = _made(rank=1)
    adapt.save(small, tmp_path / "small")
    net, adapter = _made(rank=3)
    run = tf.function(lambda x: x @ net.dense.kernel)
    x = tf.constant(_numbers(5, 4))
    first = run(x).numpy()
    adapt.load(adapter, tmp_path / "small")
    assert adapter.names == ["small", "default"]
    change = 3.0 * small.a["dense.kernel"].numpy() @ small.b["dense.kernel"].numpy()
    np.testing.assert_allclose(run(x), x.numpy() @ (np.ones([4, 3]) + change), rtol=1e-4)
    adapt.save(adapter, tmp_path / "again")
    assert adapt.load_lora(Net(), tmp_path / "again").rank == 1
    adapter.switch("default")
    np.testing.assert_array_equal(run(x), first)


def _write(path: Path, changes: dict[str, Any], **settings: Any) -> None:
    tensors: dict[str, Any] = {
        "base_model.model.dense.lora_A.weight": _numbers(2, 4),
        "base_model.model.dense.lora_B.weight": _numbers(3, 2),
    } | changes
    metadata = {"tfx.adapter": json.dumps({"r": 2, "lora_alpha": 4} | settings)}
    given = {k: v for k, v in tensors.items() if v is not None}
    write_safetensors(path, given, metadata)


LAYER = "base_model.model.dense"
WRONG: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "other layer": (
        {"base_model.model.densest.lora_A.weight": _numbers(2, 4),
         "base_model.model.densest.lora_B.weight": _numbers(3, 2)},
        {}, "'densest', which is no layer here"),
    "missing half": ({f"{LAYER}.lora_B.weight": None}, {}, "lacks one of lora_A and lora_B"),
    "shape": ({f"{LAYER}.lora_A.weight": _numbers(2, 5)}, {}, r"expected \[2, 4\]"),
    "rank": ({f"{LAYER}.lora_B.weight": _numbers(3, 1)}, {}, r"lora_B of \[3, 1\]"),
    "not finite": ({f"{LAYER}.lora_A.weight": np.full([2, 4], np.nan)}, {}, "not finite"),
    "no adapter": ({"bias": _numbers(3)}, {}, "'bias' is no factor of a LoRA adapter"),
    "vector": ({f"{LAYER}.lora_A.weight": _numbers(4)}, {}, "or a shape"),
    "alpha": ({}, {"lora_alpha": "much"}, "lora_alpha of .* is 'much'"),
    "no alpha": ({}, {"lora_alpha": None}, "does not say its alpha"),
    "dora": ({}, {"use_dora": True}, "DoRA"),
    "alphas": ({}, {"alpha_pattern": {"dense": 64}}, "alpha for each layer"),
    "kind": ({}, {"peft_type": "IA3"}, "no settings of a LoRA adapter"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_a_file_is_said_and_nothing_changes(tmp_path: Path, case: str) -> None:
    changes, settings, message = WRONG[case]
    path = tmp_path / "bad.safetensors"
    _write(path, changes, **settings)
    net = Net()
    adapter = adapt.lora(net, 2, "dense")
    before = adapter.a["dense.kernel"].numpy()
    with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.BundleError), match=message):
        adapt.load(adapter, path)
    assert adapter.names == ["default"]
    np.testing.assert_array_equal(adapter.a["dense.kernel"], before)
    with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.BundleError)):
        adapt.load_lora(fresh := Net(), path)
    assert not hasattr(fresh, "lora")
    assert len(fresh.trainable_variables) == 3


def test_what_does_not_fit_the_adapter_is_said(tmp_path: Path) -> None:
    _, adapter = _made(rank=3)
    adapt.save(adapter, tmp_path / "large")
    _write(tmp_path / "part.safetensors", {})
    other = adapt.lora(Net(), 2, ["query", "dense", "conv"])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"call lora\(rank=3\)"):
        adapt.load(other, tmp_path / "large")
    with pytest.raises(tf.errors.InvalidArgumentError, match="has nothing for conv, query"):
        adapt.load(other, tmp_path / "part.safetensors")
    with pytest.raises(tf.errors.NotFoundError):
        adapt.load(other, tmp_path / "nothing.safetensors")
    (tmp_path / "cut.safetensors").write_bytes((tmp_path / "part.safetensors").read_bytes()[:-9])
    with pytest.raises(tf.errors.BundleError):
        adapt.load(other, tmp_path / "cut.safetensors")
    assert other.names == ["default"]


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: Any) -> None:
    _, adapter = _made()
    path = tmp_path / "a.safetensors"
    adapt.save(adapter, path)
    before = path.read_bytes()

    def full(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(tf.errors.ResourceExhaustedError):
        adapt.save(adapter, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.safetensors"]
