"""Objects that write and read their own state, as parts of checkpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tfx as tf


class Settings(tf.train.experimental.PythonState):
    def __init__(self, values: Any, scale: float | None = None) -> None:
        self.values = values
        self.seen: list[Any] = []
        self.variable = None if scale is None else tf.Variable(scale)

    def serialize(self) -> str:
        return json.dumps(self.values)

    def deserialize(self, string_value: Any) -> None:
        self.seen.append(string_value)
        self.values = json.loads(string_value)


def test_state_comes_back(tmp_path: Path) -> None:
    inner, weight = Settings({"rate": 0.5}, scale=2.0), tf.Variable(1.0)
    checkpoint = tf.train.Checkpoint(parts=[inner], weight=weight)
    first = checkpoint.save(tmp_path / "step")
    inner.values = {"rate": 0.25, "text": "ä"}
    second = checkpoint.save(tmp_path / "step")
    inner.variable.assign(5.0)  # type: ignore[union-attr]
    checkpoint.restore(first).assert_consumed()
    assert inner.values == {"rate": 0.5}
    assert inner.seen == [b'{"rate": 0.5}']
    checkpoint.restore(second).assert_consumed()
    assert inner.values == {"rate": 0.25, "text": "ä"}
    assert float(inner.variable) == 5.0  # type: ignore[arg-type]  # the object's own affair
    names = [name for name, _ in tf.train.list_variables(first)]
    assert names == ["parts/0/py_state", "save_counter", "weight"]


def test_state_waits_for_its_object(tmp_path: Path) -> None:
    path = tf.train.Checkpoint(settings=Settings([1, 2])).save(tmp_path / "step")
    later: Any = tf.train.Checkpoint()
    later.restore(path)
    later.settings = Settings(None)
    assert later.settings.values == [1, 2]


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    settings = Settings(0)
    settings.serialize = lambda: 5  # type: ignore[method-assign, assignment, return-value]
    with pytest.raises(TypeError, match=r"Settings.serialize must return text or bytes; got 5"):
        tf.train.Checkpoint(settings=settings).save(tmp_path / "step")
    with pytest.raises(TypeError, match="abstract"):
        tf.train.experimental.PythonState()  # type: ignore[abstract]
