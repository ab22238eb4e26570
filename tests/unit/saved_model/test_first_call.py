"""The first call of a loaded function has its variables as constants, unless they may change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf

SPEC = tf.TensorSpec([None, 3], tf.float32, name="x")


class Scale(tf.Module):
    def __init__(self, *, learns: bool) -> None:
        super().__init__()
        self.w = tf.Variable([1.0, 2.0, 3.0])
        self.apply = tf.function(lambda x: {"y": x * self.w}, input_signature=[SPEC])
        if learns:
            self.learn = tf.function(
                lambda: {"w": self.w.assign_add(tf.ones([3]))}, input_signature=[]
            )


def _load(folder: Path, options: Any = None, *, learns: bool = False) -> Any:
    tf.saved_model.save(Scale(learns=learns), folder / "m")
    return tf.saved_model.load(folder / "m", options=options)


def _frozen(concrete: Any) -> bool:
    freezer = concrete._strategy.freezer
    return freezer is not None and freezer.plan is not None


@pytest.mark.parametrize("warm", [False, True])
def test_the_first_call_has_constants(tmp_path: Path, warm: bool) -> None:
    loaded = _load(tmp_path)
    concrete = loaded.apply.concrete_functions[0]
    if warm:
        tf.saved_model.warmup(loaded)
        assert _frozen(concrete)
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(loaded.apply(x)["y"], [[1, 2, 3]] * 2)
    assert _frozen(concrete)
    loaded.w.assign([4.0, 5.0, 6.0])
    assert not _frozen(concrete)
    np.testing.assert_array_equal(loaded.apply(x)["y"], [[4, 5, 6]] * 2)
    assert not _frozen(concrete)  # it changed once, so it may change again


def test_what_another_function_writes_is_fed(tmp_path: Path) -> None:
    loaded = _load(tmp_path, learns=True)
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(loaded.apply(x)["y"], [[1, 2, 3]] * 2)
    assert not _frozen(loaded.apply.concrete_functions[0])
    loaded.learn()
    np.testing.assert_array_equal(loaded.apply(x)["y"], [[2, 3, 4]] * 2)


def test_who_saves_memory_has_no_copies(tmp_path: Path) -> None:
    loaded = _load(tmp_path, tf.saved_model.LoadOptions(freeze=False))
    loaded.apply(np.ones((2, 3), np.float32))
    assert not _frozen(loaded.apply.concrete_functions[0])
