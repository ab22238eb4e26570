"""Loaded objects that are saved again, copied, extended, or saved over while in use."""

from __future__ import annotations

import copy
import threading
from typing import Any

import numpy as np

import tfx as tf
from tests.unit.saved_model.models import Dense, Trainer, batch, file_bytes, numbers, saved

X = tf.constant(numbers(2, 3))


def test_a_loaded_object_can_be_saved_again(tmp_path: Any) -> None:
    model = Trainer()
    model.note = {"a": [1, 2]}
    for i in range(2):
        model.train_step(*batch(i))
    once = saved(model, tmp_path / "a", signatures=model.signatures)
    x, y = batch(7)
    once.train_step(x, y)
    twice = saved(once, tmp_path / "b")
    thrice = saved(twice, tmp_path / "c")
    assert list(thrice.signatures) == ["serving_default", "train_step"]
    assert thrice.note == {"a": [1, 2]}
    model.train_step(x, y)
    for i in range(3):
        x, y = batch(i + 10)
        loss = model.train_step(x, y)["loss"].numpy()
        for back in (once, twice):
            np.testing.assert_array_equal(back.train_step(x, y)["loss"], loss)
        np.testing.assert_array_equal(thrice.signatures["train_step"](x=x, y=y)["loss"], loss)
        np.testing.assert_array_equal(
            thrice.signatures["serving_default"](x=x)["logits"], model.predict(x)["logits"]
        )


def test_saving_again_is_stable(tmp_path: Any) -> None:
    model = Trainer()
    layer = Dense(3, 2)
    model.layer = layer
    layer(X)
    layer(X, training=True)
    saved(model, tmp_path / "a", signatures=model.signatures)
    saved(tf.saved_model.load(tmp_path / "a"), tmp_path / "b")
    saved(tf.saved_model.load(tmp_path / "b"), tmp_path / "c")
    b, c = file_bytes(tmp_path / "b"), file_bytes(tmp_path / "c")
    assert b.keys() == file_bytes(tmp_path / "a").keys()
    assert [n for n in b if b[n] != c[n]] == []


def test_a_loaded_object_can_be_extended(tmp_path: Any) -> None:
    base = saved(Dense(3, 2), tmp_path / "unused")
    layer = Dense(3, 2)
    layer(X)
    base = saved(layer, tmp_path / "base")

    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.base = base
            self.head = Dense(2, 4, seed=5)

        @tf.function(input_signature=[tf.TensorSpec([2, 3], tf.float32)])
        def __call__(self, x: Any) -> Any:
            return self.head(self.base(x))

    model = Model()
    assert len(model.trainable_variables) == 4
    back = saved(model, tmp_path / "m")
    np.testing.assert_allclose(back(X), model(X), rtol=1e-6)
    np.testing.assert_array_equal(back.base(X), base(X))
    back.base.w.assign(tf.zeros([3, 2]))
    np.testing.assert_allclose(back(X), model.head(tf.zeros([2, 2]) + layer.b), rtol=1e-6)


def test_signatures_can_be_chosen_anew(tmp_path: Any) -> None:
    model = Trainer()
    once = saved(model, tmp_path / "a", signatures=model.signatures)
    chosen = {"only": once.signatures["serving_default"], "step": once.train_step}
    back = saved(once, tmp_path / "b", signatures=chosen)
    assert list(back.signatures) == ["only", "step"]
    x, y = batch()
    np.testing.assert_array_equal(
        back.signatures["only"](x=x)["logits"], model.predict(x)["logits"]
    )
    assert list(back.signatures["step"](x=x, y=y)) == ["loss"]
    single = saved(once, tmp_path / "c", signatures=once.signatures["train_step"])
    assert list(single.signatures) == ["serving_default"]


def test_deep_copies_are_independent(tmp_path: Any) -> None:
    model = Trainer()
    back = saved(model, tmp_path / "m", signatures=model.signatures)
    other = copy.deepcopy(back)
    x, y = batch()
    expected = back.predict(x)["logits"].numpy()
    other.train_step(x, y)
    other.signatures["train_step"](x=x, y=y)
    assert int(other.optimizer.iterations) == 2
    assert int(back.optimizer.iterations) == 0
    np.testing.assert_array_equal(back.predict(x)["logits"], expected)
    assert not np.array_equal(other.predict(x)["logits"], expected)
    assert any(other.w is v for v in other.predict.variables)


def test_deep_copies_of_loaded_functions(tmp_path: Any) -> None:
    v = tf.Variable(2.0)
    f = tf.function(lambda x: x * v, input_signature=[tf.TensorSpec([], tf.float32)])
    back = saved(f, tmp_path / "m")
    other = copy.deepcopy(back)
    other.variables[0].assign(5.0)
    assert (float(back(1.0)), float(other(1.0))) == (2.0, 5.0)
    assert float(other.signatures["serving_default"](x=1.0)["output_0"]) == 5.0


def test_a_save_over_a_bundle_leaves_its_users_alone(tmp_path: Any) -> None:
    model, newer = Trainer(seed=1), Trainer(seed=2)
    x, y = batch()
    tf.saved_model.save(model, tmp_path / "m", signatures=model.signatures)
    used, unused = tf.saved_model.load(tmp_path / "m"), tf.saved_model.load(tmp_path / "m")
    used.predict(x)
    tf.saved_model.save(newer, tmp_path / "m", signatures=newer.signatures)
    expected = model.predict(x)["logits"].numpy()
    # One has its graphs open, the other opens them only now.
    for back in (used, unused):
        np.testing.assert_array_equal(back.predict(x)["logits"], expected)
    assert used.train_step(x, y)["loss"] == unused.train_step(x, y)["loss"]
    fresh = tf.saved_model.load(tmp_path / "m")
    np.testing.assert_array_equal(fresh.predict(x)["logits"], newer.predict(x)["logits"])


def test_a_loaded_object_can_be_saved_over_its_own_bundle(tmp_path: Any) -> None:
    model = Trainer()
    x, y = batch()
    back = saved(model, tmp_path / "m", signatures=model.signatures)
    for i in range(4):
        back.train_step(x, y)
        tf.saved_model.save(back, tmp_path / "m")
        if i % 2:
            back = tf.saved_model.load(tmp_path / "m")
    for _ in range(4):
        model.train_step(x, y)
    assert int(back.optimizer.iterations) == 4
    np.testing.assert_array_equal(back.w.numpy(), model.w.numpy())


def test_loading_while_another_saves(tmp_path: Any) -> None:
    models = [Trainer(seed=i) for i in range(2)]
    x, _ = batch()
    results = [m.predict(x)["logits"].numpy() for m in models]
    tf.saved_model.save(models[0], tmp_path / "m")
    stop = threading.Event()
    failures: list[BaseException] = []

    def save_on() -> None:
        try:
            for i in range(20):
                tf.saved_model.save(models[i % 2], tmp_path / "m")
        except BaseException as e:
            failures.append(e)
        finally:
            stop.set()

    writer = threading.Thread(target=save_on)
    writer.start()
    loads = 0
    while not stop.is_set() or loads < 5:
        found = tf.saved_model.load(tmp_path / "m").predict(x)["logits"].numpy()
        assert any(np.array_equal(found, r) for r in results)
        loads += 1
    writer.join()
    assert not failures


def test_the_working_directory_may_change(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    layer = Dense(3, 2)
    expected = layer(X)
    tf.saved_model.save(layer, "m")
    back = tf.saved_model.load("m")
    monkeypatch.chdir("/")
    np.testing.assert_array_equal(back(X), expected)
