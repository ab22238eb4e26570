"""A loaded object is warmed up, and closed: its memory comes back and later uses are refused."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.saved_model.test_variable_swap import sessions as sessions
from tfx.saved_model import variable_swap

X = np.array([1.0, 2.0, 3.0], np.float32)


class Scale(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable([1.0, 1.0, 1.0])
        self.words = tf.constant(["a", "b"])
        self.part = tf.Module()
        self.part.step = tf.Variable(0)

    @tf.function(input_signature=[tf.TensorSpec([3])])
    def scale(self, x: Any) -> Any:
        return x * self.w

    @tf.function(input_signature=[tf.TensorSpec([3])])
    def double(self, x: Any) -> Any:
        return x * 2.0

    @tf.function(input_signature=[tf.TensorSpec([3])])
    def update(self, x: Any) -> None:
        self.w.assign_add(x)


def saved(folder: Path) -> Path:
    model = Scale()
    tf.saved_model.save(model, folder, signatures={"scale": model.scale, "update": model.update})
    return folder


def test_warming_up_opens_what_the_first_calls_need(tmp_path: Path, sessions: list[str]) -> None:
    path = saved(tmp_path / "m")
    loaded = tf.saved_model.load(path)
    sessions.clear()
    loaded.warmup("scale")
    assert len(sessions) == 1
    loaded.warmup()
    assert len(sessions) == 3
    loaded.scale(X), loaded.double(X), loaded.update(X), loaded.signatures["scale"](x=X)
    assert len(sessions) == 3
    with pytest.raises(tf.errors.NotFoundError, match=r"no signature 'scal'; did you mean 'scale'"):
        tf.saved_model.warmup(loaded, "scal")


def test_warming_up_reads_the_variables_of_large_files(tmp_path: Path) -> None:
    model = tf.Module()
    model.w = tf.Variable(tf.zeros([1 << 21]))
    model.f = tf.function(lambda: model.w[0], input_signature=[])
    tf.saved_model.save(model, tmp_path / "m")
    file = tmp_path / "m" / "variables" / "model.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    loaded = tf.saved_model.load(tmp_path / "m")
    with pytest.raises(tf.errors.BundleError, match=r"model\.safetensors"):
        loaded.warmup()


USES: dict[str, Callable[[Any], Any]] = {
    "function": lambda m: m.scale(X),
    "function without variables": lambda m: m.double(X),
    "update": lambda m: m.update(X),
    "signature": lambda m: m.signatures["scale"](x=X),
    "concrete function": lambda m: m.scale.get_concrete_function(),
    "read": lambda m: m.w.numpy(),
    "arithmetic": lambda m: m.part.step + 1,
    "assignment": lambda m: m.w.assign(X),
    "increment": lambda m: m.w.assign_add(X),
    "swap": lambda m: m.assign({"w": X}),
    "warmup": lambda m: m.warmup(),
    "pickle": pickle.dumps,
    "copy": copy.deepcopy,
    "checkpoint": lambda m: tf.train.Checkpoint(m).write("nowhere"),
    "save": lambda m: tf.saved_model.save(m, "nowhere"),
    "reload": lambda m: m.reload("nowhere"),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("called", [False, True], ids=["unused", "called"])
def test_uses_of_a_closed_object_are_refused(use: str, called: bool, tmp_path: Path) -> None:
    loaded = tf.saved_model.load(saved(tmp_path / "m"))
    if called:
        for _ in range(10):
            loaded.scale(X), loaded.double(X), loaded.update(X)
    loaded.close()
    with pytest.raises(tf.errors.FailedPreconditionError, match="m was closed; load it again"):
        USES[use](loaded)


def test_what_others_made_of_it_is_refused_and_values_stay(tmp_path: Path) -> None:
    loaded = tf.saved_model.load(saved(tmp_path / "m"))
    value, words = loaded.w.read_value(), loaded.words
    concrete = [f.get_concrete_function() for f in (loaded.scale, loaded.double)]
    outer = tf.function(lambda x: loaded.scale(x) + 1.0)
    for _ in range(12):  # it comes to hold the variable's value
        outer(tf.constant(X))
    twin = copy.deepcopy(loaded)
    loaded.close()
    loaded.close()
    for function in (*concrete, outer):
        with pytest.raises(tf.errors.FailedPreconditionError, match="was closed"):
            function(tf.constant(X))
    assert value.numpy().tolist() == [1.0, 1.0, 1.0]
    assert words.numpy().tolist() == [b"a", b"b"]
    assert twin.scale(X).numpy().tolist() == X.tolist()
    assert "closed" in repr(loaded.w)


def test_closing_lets_go_of_graphs_and_files(tmp_path: Path) -> None:
    loaded = tf.saved_model.load(saved(tmp_path / "m"))
    loaded.scale(X)
    files = loaded._self_files
    graph = weakref.ref(files.trace(0).concrete.graph)
    store = weakref.ref(files.store)
    tf.saved_model.close(loaded.part)  # a part stands for the whole
    gc.collect()
    assert graph() is None
    assert store() is None


def test_calls_under_way_end_well(tmp_path: Path) -> None:
    loaded = tf.saved_model.load(saved(tmp_path / "m"))
    counts: list[Any] = []

    def serve() -> None:
        count = 0
        try:
            while True:
                assert loaded.scale(tf.constant(X)).numpy().tolist() == X.tolist()
                count += 1
        except tf.errors.FailedPreconditionError:
            counts.append(count)

    threads = [threading.Thread(target=serve) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    loaded.close()
    for thread in threads:
        thread.join()
    assert len(counts) == 3
    assert min(counts) > 0


def test_saved_attributes_come_before_methods(tmp_path: Path) -> None:
    model = tf.Module()
    model.close, model.v = "a value", tf.Variable(1.0)
    tf.saved_model.save(model, tmp_path / "m")
    loaded = tf.saved_model.load(tmp_path / "m")
    assert loaded.close == "a value"
    tf.saved_model.close(loaded)
    with pytest.raises(tf.errors.FailedPreconditionError):
        loaded.v.numpy()


def test_what_was_not_loaded_cannot_be_closed() -> None:
    for use in (tf.saved_model.close, tf.saved_model.warmup):
        with pytest.raises(tf.errors.InvalidArgumentError, match="nothing that was loaded"):
            use(tf.Module())


def test_a_reloaded_object_is_pickled(tmp_path: Path) -> None:
    path = saved(tmp_path / "m")
    loaded = tf.saved_model.load(path)
    saved(path)
    loaded.reload(path)
    back = pickle.loads(pickle.dumps(loaded))
    assert back.scale(X).numpy().tolist() == X.tolist()


@pytest.mark.parametrize("step", ["open_consistently", "_install"])
def test_closing_while_another_version_is_taken(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path / "m")
    loaded = tf.saved_model.load(path)
    files = loaded._self_files
    real = getattr(variable_swap, step)

    def close_behind(*args: Any) -> Any:
        found = real(*args)
        loaded.close()
        return found

    monkeypatch.setattr(variable_swap, step, close_behind)
    with pytest.raises(tf.errors.FailedPreconditionError, match="was closed"):
        loaded.reload(path)
    assert not hasattr(files, "store")
    assert not files.saved
