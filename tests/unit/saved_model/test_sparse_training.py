"""Train steps that change a few rows of a table: saved, run by ONNX Runtime alone, loaded again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import tfx as tf

ROWS = [[1, 3, 1], [0, 0, 4], [2, 4, 1]]


class Recommender(tf.Module):
    """A table of embeddings and a dense layer."""

    def __init__(self, optimizer: Any) -> None:
        rng = np.random.default_rng(0)
        self.table = tf.Variable(rng.normal(size=(5, 2)).astype(np.float32), name="table")
        self.weight = tf.Variable([[0.5], [-1.0]], name="weight")
        self.optimizer = optimizer

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32, "rows")])
    def step(self, rows: tf.Tensor) -> dict[str, tf.Tensor]:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.nn.embedding_lookup(self.table, rows) @ self.weight - 1) ** 2)
        variables = [self.table, self.weight]
        found = tape.gradient(loss, variables)
        assert isinstance(found[0], tf.IndexedSlices)
        self.optimizer.apply_gradients(zip(found, variables, strict=True))
        return {"loss": loss}


def _losses(step: Any) -> list[float]:
    return [float(step(tf.constant(rows))["loss"]) for rows in ROWS]


def _stock_losses(path: Path, model: Recommender) -> list[float]:
    """What ONNX Runtime computes with nothing but the file; new state goes in again."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    values = {"table": model.table, "weight": model.weight}
    values |= {v.name.removesuffix(":0"): v for v in model.optimizer.variables}
    state = {}
    for i in session.get_inputs():
        if i.name != "rows":
            state[i.name] = np.asarray(_named(values, i.name))
    losses = []
    for rows in ROWS:
        out = dict(zip(names, session.run(names, {**state, "rows": np.int32(rows)}), strict=True))
        losses.append(float(out["loss"]))
        state = {name: out[f"{name}_new"] for name in state if f"{name}_new" in out} | {
            name: value for name, value in state.items() if f"{name}_new" not in out
        }
    return losses


def _named(values: dict[str, Any], name: str) -> Any:
    if name in values:
        return values[name]
    slot, _, variable = name.removeprefix("optimizer/").partition("/")
    found = [v for n, v in values.items() if n.endswith(f"/{slot}") and n.startswith(variable)]
    assert len(found) == 1, (name, list(values))
    return found[0]


@pytest.mark.parametrize("name", ["SGD", "Adam", "Adagrad", "RMSprop"])
def test_the_saved_step_trains(name: str, tmp_path: Path) -> None:
    model = Recommender(getattr(tf.optimizers, name)(0.1))
    model.optimizer.build([model.table, model.weight])
    tf.saved_model.save(model, tmp_path / "bundle", signatures={"step": model.step})
    (path,) = (tmp_path / "bundle").glob("step*.onnx")
    onnx.checker.check_model(str(path), full_check=True)
    stock = _stock_losses(path, model)
    loaded = tf.saved_model.load(tmp_path / "bundle")
    again = _losses(loaded.step)
    own = _losses(model.step)
    np.testing.assert_allclose(stock, own, rtol=1e-6)
    np.testing.assert_allclose(again, own, rtol=1e-6)
    np.testing.assert_allclose(loaded.table, model.table, rtol=1e-6)
    assert own[-1] != own[0]


def test_a_loaded_function_has_gradients_of_few_rows(tmp_path: Path) -> None:
    class Table(tf.Module):
        def __init__(self) -> None:
            self.table = tf.Variable(tf.ones([5, 2]))

        @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
        def look_up(self, rows: tf.Tensor) -> tf.Tensor:
            return tf.gather(self.table, rows)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
        def slopes(self, rows: tf.Tensor) -> tf.IndexedSlices:
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(self.look_up(rows) ** 2)
            return tape.gradient(y, self.table)

    tf.saved_model.save(Table(), tmp_path / "bundle")
    loaded = tf.saved_model.load(tmp_path / "bundle")
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(loaded.look_up(tf.constant([3, 3])) ** 2)
    by_tape = tape.gradient(y, loaded.table)
    assert isinstance(by_tape, tf.IndexedSlices)
    for found in (by_tape, loaded.slopes(tf.constant([3, 3]))):
        assert found.indices.numpy().tolist() == [3, 3]
        assert found.values.numpy().tolist() == [[2.0, 2.0], [2.0, 2.0]]
        assert found.shape == (5, 2)
