"""Introduction to modules: layers, models, deferred creation, saving weights and functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf


class Dense(tf.Module):
    def __init__(self, units_in: int, units_out: int, name: str | None = None) -> None:
        super().__init__(name=name)
        self.w = tf.Variable(tf.ones([units_in, units_out]) * 0.5, name="w")
        self.b = tf.Variable(tf.zeros([units_out]), name="b")

    def __call__(self, x: Any) -> tf.Tensor:
        return tf.nn.relu(tf.matmul(x, self.w) + self.b)


class FlexibleDense(tf.Module):
    """Its input size is that of the first input."""

    def __init__(self, units: int, name: str | None = None) -> None:
        super().__init__(name=name)
        self.is_built = False
        self.units = units

    def __call__(self, x: Any) -> tf.Tensor:
        if not self.is_built:
            self.w = tf.Variable(tf.ones([x.shape[-1], self.units]) * 0.25, name="w")
            self.b = tf.Variable(tf.zeros([self.units]), name="b")
            self.is_built = True
        return tf.nn.relu(tf.matmul(x, self.w) + self.b)


class Sequential(tf.Module):
    def __init__(self, kind: type = Dense, name: str | None = None) -> None:
        super().__init__(name=name)
        self.dense_1 = kind(3, 3) if kind is Dense else kind(3)
        self.dense_2 = kind(3, 2) if kind is Dense else kind(2)

    def __call__(self, x: Any) -> tf.Tensor:
        return self.dense_2(self.dense_1(x))


class Traced(Sequential):
    @tf.function
    def __call__(self, x: Any) -> tf.Tensor:
        return self.dense_2(self.dense_1(x))


X = tf.constant([[2.0, 2.0, 2.0]])


def test_a_module_finds_its_variables() -> None:
    class Simple(tf.Module):
        def __init__(self, name: str | None = None) -> None:
            super().__init__(name=name)
            self.trained = tf.Variable(5.0, name="train_me")
            self.fixed = tf.Variable(5.0, trainable=False, name="do_not")

        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            return self.trained * x + self.fixed

    simple = Simple(name="simple")
    assert simple(tf.constant(5.0)).numpy() == 30.0
    assert repr(simple.trainable_variables) == (
        "(<tf.Variable 'train_me:0' shape=() dtype=float32, numpy=5.0>,)"
    )
    assert [v.name for v in simple.variables] == ["do_not:0", "train_me:0"]
    assert simple.name == "simple"


def test_modules_of_modules() -> None:
    model = Sequential(name="the_model")
    np.testing.assert_allclose(model(X), [[4.5, 4.5]])
    assert [type(m) for m in model.submodules] == [Dense, Dense]
    assert [v.shape for v in model.variables] == [(3,), (3, 3), (2,), (3, 2)]
    assert str(model.dense_1.w) == (
        "<tf.Variable 'w:0' shape=(3, 3) dtype=float32, numpy=\n"
        "array([[0.5, 0.5, 0.5],\n       [0.5, 0.5, 0.5],\n       [0.5, 0.5, 0.5]], dtype=float32)>"
    )


def test_variables_in_lists_and_dicts() -> None:
    class Nested(tf.Module):
        def __init__(self) -> None:
            self.layers = [Dense(1, 1), Dense(1, 1)]
            self.more = {"b": tf.Variable(1.0, name="mb"), "a": (tf.Variable(2.0, name="ma"),)}

    nested = Nested()
    assert [v.name for v in nested.variables] == ["ma:0", "mb:0", "b:0", "w:0", "b:0", "w:0"]
    nested.layers.append(Dense(1, 1))
    assert len(nested.variables) == 8
    assert len(nested.submodules) == 3


def test_names() -> None:
    class CamelCase(tf.Module):
        @tf.Module.with_name_scope
        def __call__(self) -> tf.Variable:
            return tf.Variable(1.0, name="v")

    assert CamelCase().name == "camel_case"
    assert CamelCase(name="other")().name == "other/v:0"
    with pytest.raises(ValueError, match="not a valid module name"):
        tf.Module(name="1st")


def test_variables_made_when_first_called() -> None:
    model = Sequential(FlexibleDense)
    assert model.variables == ()
    np.testing.assert_allclose(model(X), [[1.125, 1.125]])
    assert model.dense_1.w.shape == (3, 3)


def test_weights_in_a_checkpoint(tmp_path: Path) -> None:
    model = Sequential(FlexibleDense)
    model(X)
    model.dense_1.b.assign([1.0, 2.0, 3.0])
    path = str(tmp_path / "my_checkpoint")
    assert tf.train.Checkpoint(model=model).write(path) == path
    names = [
        n.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE") for n, _ in tf.train.list_variables(path)
    ]
    assert [n for n in names if not n.startswith("_")] == [
        "model/dense_1/b",
        "model/dense_1/w",
        "model/dense_2/b",
        "model/dense_2/w",
    ]
    other = Sequential(FlexibleDense)
    tf.train.Checkpoint(model=other).restore(path)
    np.testing.assert_allclose(other(X), model(X))  # restored when they are made
    np.testing.assert_array_equal(other.dense_1.b, [1.0, 2.0, 3.0])


def test_a_module_with_a_graph() -> None:
    model = Traced(name="the_model")
    np.testing.assert_allclose(model([[2.0, 2.0, 2.0]]), [[4.5, 4.5]])
    np.testing.assert_allclose(model([[[2.0] * 3, [2.0] * 3]]), [[[4.5, 4.5], [4.5, 4.5]]])
    model.dense_2.b.assign([1.0, -10.0])
    np.testing.assert_allclose(model([[2.0, 2.0, 2.0]]), [[5.5, 0.0]])


def test_saved_functions(tmp_path: Path) -> None:
    model = Traced(name="the_model")
    model([[2.0, 2.0, 2.0]])
    model(X)
    path = str(tmp_path / "the_saved_model")
    tf.saved_model.save(model, path)
    loaded = tf.saved_model.load(path)
    assert not isinstance(loaded, Sequential)
    np.testing.assert_allclose(loaded([[2.0, 2.0, 2.0]]), [[4.5, 4.5]])
    np.testing.assert_allclose(loaded(X), [[4.5, 4.5]])
    np.testing.assert_array_equal(loaded.dense_1.w, model.dense_1.w)
    with pytest.raises(ValueError):
        loaded(tf.constant([[2.0, 2.0]]))


def test_scopes_of_modules_in_modules() -> None:
    class Inner(tf.Module):
        @tf.Module.with_name_scope
        def __call__(self) -> tf.Variable:
            return tf.Variable(1.0, name="v")

    class Outer(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.beside = Inner()
            with self.name_scope:
                self.below = Inner()

        @tf.Module.with_name_scope
        def __call__(self) -> list[str]:
            own = tf.Variable(1.0, name="v")
            return [self.beside().name, self.below().name, own.name]

    assert Outer()() == ["inner/v:0", "outer/inner/v:0", "outer/v:0"]
