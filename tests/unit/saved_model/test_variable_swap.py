"""Variables of a loaded object, replaced between calls all at once."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.function.execution import plan as plan_module


class Line(tf.Module):
    """y = w x + b, where w and b say which version it is."""

    def __init__(self, version: float = 1.0, size: int = 3) -> None:
        super().__init__()
        self.w = tf.Variable(tf.fill([size], float(version)))
        self.parts = [tf.Variable(float(version))]
        self.step = tf.Variable(0, trainable=False, dtype=tf.int64)
        self.words = tf.constant(["a", "b"])

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])
    def __call__(self, x: Any) -> Any:
        return {"y": tf.reduce_sum(x * self.w, -1) + self.parts[0]}

    @tf.function(input_signature=[])
    def difference(self) -> Any:
        return tf.reduce_max(tf.abs(self.w - self.parts[0]))

    @tf.function(input_signature=[])
    def bump(self) -> Any:
        self.step.assign_add(1)
        self.w.assign_add(tf.ones([3]))
        self.parts[0].assign_add(tf.ones(self.parts[0].shape))
        return self.step.read_value()


X = np.ones((1, 3), np.float32)


def save(model: Any, folder: Path) -> Path:
    tf.saved_model.save(model, folder, signatures={"line": model.__call__, "bump": model.bump})
    return folder


def line(loaded: Any) -> float:
    return float(loaded(tf.constant(X))["y"][0])


@pytest.fixture
def sessions(monkeypatch: Any) -> list[str]:
    opened: list[str] = []

    class Session(plan_module.Session):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            opened.append("session")
            super().__init__(*args, **kwargs)

    monkeypatch.setattr(plan_module, "Session", Session)
    return opened


def test_assign_by_name(tmp_path: Path) -> None:
    loaded = tf.saved_model.load(save(Line(), tmp_path / "m"))
    for _ in range(20):  # a frozen plan is open by now
        assert line(loaded) == 4
    kept = loaded.w.value()
    tf.saved_model.assign(loaded, {"w": [2, 2, 2], "parts/0": 5.0})
    assert line(loaded) == 11
    assert loaded.signatures["line"](x=tf.constant(X))["y"].numpy() == 11
    assert kept.numpy().tolist() == [1, 1, 1]
    tf.saved_model.assign(loaded.signatures["line"], {"w": np.zeros(3, np.float32)})
    assert line(loaded) == 5


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"w": [2.0, 2, 2], "v": 1.0}, tf.errors.NotFoundError, "has no variable 'v'"),
        ({"w": [2.0, 2, 2], "parts/0": [1.0, 2.0]}, tf.errors.InvalidArgumentError, "shape"),
        ({"w": [2.0, 2, 2], "parts/0": tf.constant(1)}, TypeError, "float32"),
        ({"w": [2.0, 2, 2], "step": "one"}, TypeError, "int64"),
    ],
    ids=["name", "shape", "dtype", "text"],
)
def test_one_wrong_value_leaves_all(
    tmp_path: Path, values: Any, error: type[Exception], message: str
) -> None:
    loaded = tf.saved_model.load(save(Line(), tmp_path / "m"))
    with pytest.raises(error, match=message):
        tf.saved_model.assign(loaded, values)
    assert line(loaded) == 4


@pytest.mark.parametrize("freeze", [True, False])
def test_reload_swaps_and_sessions_stay(tmp_path: Path, sessions: Any, freeze: bool) -> None:
    folder = save(Line(1), tmp_path / "m")
    loaded = tf.saved_model.load(folder, options=tf.saved_model.LoadOptions(freeze=freeze))
    for _ in range(10):
        assert line(loaded) == 4
    loaded.bump()
    before = len(sessions)
    assert before == (3 if freeze else 2)
    for version in range(2, 6):
        tf.saved_model.reload(loaded, save(Line(version), folder))
        assert line(loaded) == 4 * version
        assert int(loaded.bump()) == 1
    assert len(sessions) == before
    tf.saved_model.save(loaded, tmp_path / "again")
    assert line(tf.saved_model.load(tmp_path / "again")) == 4 * 6


def test_what_was_not_open_is_of_the_new_version(tmp_path: Path) -> None:
    loaded = tf.saved_model.load(save(Line(1), tmp_path / "m"))
    tf.saved_model.reload(loaded, save(Line(2), tmp_path / "other"))
    assert line(loaded) == 8
    with tf.GradientTape() as tape:
        y = loaded(tf.constant(X))["y"]
    assert tape.gradient(y, loaded.w).numpy().tolist() == [1, 1, 1]


class Steeper(Line):
    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])
    def __call__(self, x: Any) -> Any:
        return {"y": tf.reduce_sum(x * self.w, -1) - self.parts[0]}


class Longer(Line):
    def __init__(self) -> None:
        super().__init__()
        self.parts.append(tf.Variable(1.0))


class Wider(Line):
    def __init__(self) -> None:
        super().__init__()
        self.parts[0] = tf.Variable([1.0])


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (Steeper, r"the graph 'line(\.live)?\.onnx' is another one there"),
        (Longer, "it has the variable 'parts/1', which the open bundle has not"),
        (Wider, r"variable 'parts/0' is float32\[1\] there, float32\[\] here"),
    ],
    ids=["graph", "more", "shape"],
)
def test_other_graphs_are_refused(tmp_path: Path, kind: type[Line], reason: str) -> None:
    loaded = tf.saved_model.load(save(Line(), tmp_path / "m"))
    assert line(loaded) == 4
    other = save(kind(), tmp_path / "other")
    with pytest.raises(tf.errors.FailedPreconditionError, match=reason):
        tf.saved_model.reload(loaded, other)
    assert line(loaded) == 4


def test_what_was_not_loaded_is_refused(tmp_path: Path) -> None:
    model = Line()
    for thing in (model, model.bump, 5):
        with pytest.raises(tf.errors.InvalidArgumentError, match="expected what tf"):
            tf.saved_model.assign(thing, {})
    both = tf.Module()
    both.parts = [tf.saved_model.load(save(model, tmp_path / name)) for name in "ab"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="parts of several bundles"):
        tf.saved_model.reload(both, tmp_path / "a")
    tf.saved_model.reload(both.parts[0], tmp_path / "b")


def test_not_while_a_function_is_traced(tmp_path: Path) -> None:
    loaded = tf.saved_model.load(save(Line(), tmp_path / "m"))

    @tf.function
    def f() -> None:
        tf.saved_model.assign(loaded, {"w": [1.0, 2.0, 3.0]})

    with pytest.raises(tf.errors.InvalidArgumentError, match="while a function is traced"):
        f()


def test_threads_see_whole_versions(tmp_path: Path) -> None:
    folders = [save(Line(100 * i), tmp_path / str(i)) for i in range(3)]
    loaded = tf.saved_model.load(folders[0])
    failures: list[object] = []
    stop = threading.Event()

    def work() -> None:
        try:
            while not stop.is_set():
                found = float(loaded.difference())
                if found:
                    failures.append(found)
                loaded.bump()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(60):
        if i % 2:
            tf.saved_model.reload(loaded, folders[i % 3])
        else:
            tf.saved_model.assign(loaded, {"w": [float(i)] * 3, "parts/0": float(i)})
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures


def test_pickles_follow_a_reload(tmp_path: Path) -> None:
    import pickle

    loaded = tf.saved_model.load(save(Line(1), tmp_path / "m"))
    tf.saved_model.reload(loaded, save(Line(2), tmp_path / "other"))
    assert len(pickle.dumps(loaded.w)) < 500  # by its place in the new bundle
    assert pickle.loads(pickle.dumps(loaded.w)).numpy().tolist() == [2, 2, 2]
