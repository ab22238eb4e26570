"""Modules that torch exported, without torch: answers, state, gradients and steps are torch's.

The reference numbers are torch's own; ``tools/gen_torch_modules.py`` made them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.bundle.safetensors import open_safetensors
from tfx.exporters.converted import save_converted
from tfx.importing.compare_answers import compare_answers
from tfx.importing.converted_module import ConvertedModule
from tfx.importing.method_graphs import MethodGraph, Port, SourceAnswer, SourceVariable

_DATA = np.load(Path(__file__).with_name("torch_modules.npz"))


def _below(prefix: str) -> dict[str, Any]:
    prefix += "/"
    return {k.removeprefix(prefix): _DATA[k] for k in _DATA.files if k.startswith(prefix)}


def _structure(text: Any) -> Any:
    ((kind, value),) = text.items()
    if kind == "port":
        return Port(value)
    if kind == "dict":
        return {k: _structure(v) for k, v in value.items()}
    if kind in ("list", "tuple"):
        items = [_structure(v) for v in value]
        return items if kind == "list" else tuple(items)
    return value


def _module(name: str) -> ConvertedModule:
    facts = json.loads(_DATA[f"{name}/facts"].tobytes())
    methods = {}
    for method, text in facts["methods"].items():
        answers = []
        for number in ("0", "1"):
            parts = [_below(f"{name}/{method}/{number}/{k}") for k in ("inputs", "outputs")]
            answers.append(SourceAnswer(*parts, _below(f"{name}/{method}/{number}/updates")))
        methods[method] = MethodGraph(
            _DATA[f"{name}/{method}"].tobytes(),
            arguments={k: v for k, v in _structure(text["arguments"]).items() if v is not None},
            results=_structure(text["results"]),
            weights=text["weights"],
            updates=text["updates"],
            answers=tuple(answers),
        )
    weights = {
        key: SourceVariable(array, key in facts["trainable"])
        for key, array in _below(f"{name}/weight").items()
    }
    return ConvertedModule(
        methods,
        weights,
        tied=facts["tied"],
        signatures={"serving_default": "forward", "train": "forward_train"},
    )


@pytest.fixture(params=["tied", "images"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_answers_in_both_modes(name: str) -> None:
    module = _module(name)
    assert all(len(c.graph.answers) == 2 for m in module.methods.values() for c in m.calls)
    assert compare_answers(module) < 1e-4


def _loss(module: ConvertedModule, x: Any, y: Any) -> Any:
    found = module.forward_train(x)
    return tf.reduce_mean(tf.square((found["logits"] if isinstance(found, dict) else found) - y))


def test_gradients_in_training(name: str) -> None:
    module = _module(name)
    expected = _below(f"{name}/gradient")
    with tf.GradientTape() as tape:
        loss = _loss(module, _DATA[f"{name}/x"], _DATA[f"{name}/y"])
    assert {v.name.removesuffix(":0") for v in module.trainable_variables} == {*expected}
    for key, gradient in tape.gradient(loss, {k: module.weights[k] for k in expected}).items():
        np.testing.assert_allclose(gradient, expected[key], rtol=1e-3, atol=1e-5, err_msg=key)


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_steps_are_torch_s(name: str, kind: str) -> None:
    module = _module(name)
    optimizer: Any = {
        "SGD": tf.optimizers.SGD(0.05),
        "Adam": tf.optimizers.Adam(0.05, epsilon=1e-8),
    }[kind]
    x, y = (tf.constant(_DATA[f"{name}/{key}"]) for key in "xy")

    @tf.function
    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = _loss(module, x, y)
        variables = module.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    expected = _DATA[f"{name}/{kind}/losses"]
    losses = [float(step()) for _ in expected]
    np.testing.assert_allclose(losses, expected, rtol=1e-3)
    for key, array in _below(f"{name}/{kind}/after").items():
        # Adam divides rounding by rounding where nothing but that is left of a gradient: there a
        # normalization takes away what a bias before it adds.
        gradient = _DATA.get(f"{name}/gradient/{key}")
        if kind == "Adam" and gradient is None:
            continue  # statistics of what such a bias was added to
        kept = np.abs(gradient) > 1e-5 if kind == "Adam" else np.full(array.shape, True)
        found = module.weights[key].numpy()
        np.testing.assert_allclose(found[kept], array[kept], rtol=2e-3, atol=1e-3, err_msg=key)


def test_two_signatures_store_the_weights_once(name: str, tmp_path: Path) -> None:
    module = _module(name)
    save_converted(module, tmp_path / "m")
    loaded = tf.saved_model.load(tmp_path / "m")
    assert {*loaded.signatures} == {"serving_default", "train"}
    unique = {id(v): v.numpy().nbytes for v in module.weights.values()}
    file = open_safetensors(tmp_path / "m" / "variables" / "model.safetensors")
    stored = [file.entry(key).nbytes for key in file if key.startswith("weights/")]
    assert sum(stored) == sum(unique.values())
    result = loaded.signatures["serving_default"](x=_DATA[f"{name}/x"])
    answer = _below(f"{name}/forward/0/outputs")
    for key, array in answer.items():
        np.testing.assert_allclose(result[key], array, rtol=1e-4, atol=1e-5)
