"""Frozen and live forms: whatever was assigned is what is computed with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.loaders.make_bundle import Function, node, sample_variables, write_bundle
from tfx.core import errors
from tfx.loaders import Bundle
from tfx.loaders import plan as plan_module


def test_assignment_moves_to_the_live_form(bundle: Bundle) -> None:
    x = np.ones((2, 4), np.float32)
    frozen = bundle.call("serving_default", {"x": x})["logits"]
    kernel = np.full((4, 3), 2, np.float32)
    bundle.variables["dense/kernel"] = kernel
    live = bundle.call("serving_default", {"x": x})["logits"]
    np.testing.assert_allclose(live, x @ kernel + sample_variables()["dense/bias"], rtol=1e-5)
    assert not np.allclose(frozen, live)


def test_an_unrelated_assignment_leaves_the_frozen_form(bundle: Bundle) -> None:
    bundle.call("serving_default", {"x": [[1, 2, 3, 4]]})
    function = bundle._functions[0]
    before = function._frozen
    bundle.variables["count"] = 3
    bundle.call("serving_default", {"x": [[1, 2, 3, 4]]})
    assert function._frozen is before is not None
    assert function._live is None


def test_without_a_live_form_initializers_become_inputs(bundle: Bundle) -> None:
    # Exp(bias) is folded in the frozen session: an initializer that were only overridden would
    # leave the old product of folding in place.
    y = np.array([[1, 2, 3]], np.float32)
    bundle.call("scaled", {"y": y})
    for value in (np.zeros(3, np.float32), np.array([0.5, -1, 2], np.float32)):
        bundle.variables["dense/bias"] = value
        out = bundle.call("scaled", {"y": y})["scaled"]
        np.testing.assert_allclose(out, y * np.exp(value), rtol=1e-5)


def test_strings_inside_the_graph_can_be_assigned(bundle: Bundle) -> None:
    bundle.variables["labels"] = ["a", "b", "cé"]
    out = bundle.call("greet", {"names": ["x"], "suffix": ""})
    assert out["known"].tolist() == ["a", "b", "cé"]


def test_bfloat16_can_be_assigned(bundle: Bundle) -> None:
    bundle.variables["half"] = [2, 2, 2, 2]
    assert bundle.call("halve", {"h": [1, 2, 3, 4]})["out"].tolist() == [2, 4, 6, 8]


def test_an_empty_variable_can_be_assigned(bundle: Bundle) -> None:
    bundle.variables["empty"] = np.zeros((0, 2), np.float32)
    assert bundle.call("shift", {"i": [1]})["nothing"].shape == (0, 2)


def test_folded_normalisation_follows_an_assignment(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    # ONNX Runtime merges Conv and BatchNormalization into one Conv with other weights.
    values = {
        "w": rng.standard_normal((8, 3, 3, 3)).astype(np.float32),
        "scale": rng.standard_normal(8).astype(np.float32),
        "bias": rng.standard_normal(8).astype(np.float32),
        "mean": rng.standard_normal(8).astype(np.float32),
        "var": np.abs(rng.standard_normal(8)).astype(np.float32) + 1,
    }
    nodes = [
        node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "scale", "bias", "mean", "var"], ["y"]),
    ]
    inputs = [("x", "float32", ("n", 3, 8, 8))]
    outputs = [("y", "float32", ("n", 8, 8, 8))]
    function = Function("f", nodes, inputs, outputs, frozen=list(values))
    path = write_bundle(tmp_path / "b", values, [function])
    x = rng.standard_normal((2, 3, 8, 8)).astype(np.float32)
    with Bundle.open(path) as bundle, Bundle.open(path, freeze=False) as shared:
        old = bundle.call("f", {"x": x})["y"]
        np.testing.assert_allclose(shared.call("f", {"x": x})["y"], old, rtol=1e-3, atol=1e-4)
        bundle.variables.assign({"scale": values["scale"] * 2, "bias": values["bias"] * 2})
        new = bundle.call("f", {"x": x})["y"]
        np.testing.assert_allclose(new, old * 2, rtol=1e-3, atol=1e-4)


def test_a_graph_that_needs_constants_says_what_to_do(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Some operators of ONNX Runtime's own take a weight only as an initializer.
    class Session(plan_module.Session):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            cause = RuntimeError("weight must be a constant")
            raise errors.InternalError(str(cause)) from cause

    bundle.variables["dense/bias"] = [0, 0, 0]
    monkeypatch.setattr(plan_module, "Session", Session)
    with pytest.raises(
        errors.UnimplementedError, match=r"must be a constant.*save the bundle with"
    ):
        bundle.call("scaled", {"y": [[1, 2, 3]]})


def test_freeze_false_gives_the_same_numbers(sample_path: Path, rng: np.random.Generator) -> None:
    x = rng.standard_normal((3, 4)).astype(np.float32)
    with Bundle.open(sample_path) as frozen, Bundle.open(sample_path, freeze=False) as shared:
        for name, inputs in (
            ("serving_default", {"x": x}),
            ("scaled", {"y": x[:, :3]}),
            ("greet", {"names": ["a"], "suffix": "b"}),
            ("halve", {"h": [1, 2, 3, 4]}),
            ("shift", {"i": [1, 2]}),
        ):
            a: Any = frozen.call(name, inputs)
            b: Any = shared.call(name, inputs)
            for key in a:
                if a[key].dtype == object:
                    assert a[key].tolist() == b[key].tolist()
                else:
                    np.testing.assert_allclose(
                        a[key].astype(float), b[key].astype(float), rtol=1e-5
                    )
        assert all(function._frozen is None for function in shared._functions.values())


def test_a_variable_of_open_shape_can_change_it(tmp_path: Path) -> None:
    function = Function(
        "total",
        [node("ReduceSum", ["v"], ["total"], keepdims=0)],
        [],
        [("total", "float32", ())],
        frozen=["v"],
    )
    values = {"v": np.ones(3, np.float32)}
    path = write_bundle(tmp_path / "b", values, [function], shapes={"v": ("rows",)})
    with Bundle.open(path) as bundle:
        assert bundle.call("total")["total"] == 3
        bundle.variables["v"] = np.ones(10, np.float32)
        assert bundle.call("total")["total"] == 10


def test_weights_replaced_on_disk_do_not_reach_an_open_bundle(own_path: Path) -> None:
    x = np.ones((1, 4), np.float32)
    with Bundle.open(own_path) as old, Bundle.open(own_path) as other:
        other.variables["dense/kernel"] = np.zeros((4, 3), np.float32)
        other.save(own_path)  # a new folder in the place of the one that `old` has open
        v = sample_variables()
        expected = x @ v["dense/kernel"] + v["dense/bias"]
        np.testing.assert_allclose(
            old.call("serving_default", {"x": x})["logits"], expected, rtol=1e-5
        )
        assert old.call("scaled", {"y": [[1, 1, 1]]})["scaled"].shape == (1, 3)
    with Bundle.open(own_path) as new:
        np.testing.assert_allclose(
            new.call("serving_default", {"x": x})["logits"][0], v["dense/bias"], rtol=1e-5
        )


def test_a_graph_replaced_on_disk_is_noticed(own_path: Path) -> None:
    with Bundle.open(own_path) as bundle:
        data = (own_path / "ping.onnx").read_bytes()
        os.unlink(own_path / "ping.onnx")
        (own_path / "ping.onnx").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        with pytest.raises(errors.BundleError, match=r"ping\.onnx: its SHA-256 is not the one"):
            bundle.call("ping")
