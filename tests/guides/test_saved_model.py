"""The saved model format: functions, signatures, variables that go on training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tfx as tf


class Scale(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.v = tf.Variable(1.0)

    @tf.function
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        return x * self.v

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def mutate(self, value: tf.Tensor) -> None:
        self.v.assign(value)


def test_functions_and_their_state(tmp_path: Path) -> None:
    module = Scale()
    module(tf.constant(0.0))
    path = str(tmp_path / "without_signatures")
    tf.saved_model.save(module, path)
    imported = tf.saved_model.load(path)
    assert imported(tf.constant(3.0)).numpy() == 3.0
    imported.mutate(tf.constant(2.0))
    assert imported(tf.constant(3.0)).numpy() == 6.0
    assert module(tf.constant(3.0)).numpy() == 3.0
    with pytest.raises(ValueError):
        imported(tf.constant([3.0]))  # no graph was traced for vectors


def test_signatures(tmp_path: Path) -> None:
    module = Scale()
    path = str(tmp_path / "with_signatures")
    any_shape = module.__call__.get_concrete_function(tf.TensorSpec(None, tf.float32))
    vector = module.__call__.get_concrete_function(tf.TensorSpec([None], tf.float32))
    tf.saved_model.save(
        module, path, signatures={"serving_default": any_shape, "array_input": vector}
    )
    assert tf.saved_model.contains_saved_model(path)
    assert not tf.saved_model.contains_saved_model(str(tmp_path))
    imported = tf.saved_model.load(path)
    assert sorted(imported.signatures) == ["array_input", "serving_default"]
    serve = imported.signatures[tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY]
    result = serve(x=tf.constant(4.0))
    assert list(result) == ["output_0"]
    assert result["output_0"].numpy() == 4.0
    args, kwargs = serve.structured_input_signature
    assert (args, list(kwargs)) == ((), ["x"])
    with pytest.raises(TypeError):
        serve(tf.constant(2.0), 3)


def test_names_of_outputs(tmp_path: Path) -> None:
    class Named(tf.Module):
        def __init__(self) -> None:
            self.v = tf.Variable(1.5)

        @tf.function(input_signature=[tf.TensorSpec(None, tf.float32)])
        def __call__(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"custom_output_name": x * self.v}

    path = str(tmp_path / "named")
    module = Named()
    tf.saved_model.save(module, path, signatures=module.__call__.get_concrete_function())
    outputs = tf.saved_model.load(path).signatures["serving_default"].structured_outputs
    assert list(outputs) == ["custom_output_name"]


def test_a_loaded_function_can_be_trained(tmp_path: Path) -> None:
    module = Scale()
    module(tf.constant(0.0))
    path = str(tmp_path / "to_train")
    tf.saved_model.save(module, path)
    imported = tf.saved_model.load(path)
    losses = []
    for _ in range(10):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((10.0 - imported(tf.constant(2.0))) ** 2)
        losses.append(float(loss))
        imported.v.assign_sub(0.05 * tape.gradient(loss, imported.v))
    np.testing.assert_allclose(losses[:3], [64.0, 23.04, 8.2944], rtol=1e-5)
    assert imported.v.trainable
    assert module.v.numpy() == 1.0


def test_a_loaded_object_in_another_one(tmp_path: Path) -> None:
    module = Scale()
    module(tf.constant(0.0))
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    tf.saved_model.save(module, first)

    class Wrapper(tf.Module):
        def __init__(self) -> None:
            self.inner = tf.saved_model.load(first)

        @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
        def twice(self, x: tf.Tensor) -> tf.Tensor:
            return self.inner(self.inner(x))

    wrapper = Wrapper()
    wrapper.inner.v.assign(3.0)
    tf.saved_model.save(wrapper, second)
    assert tf.saved_model.load(second).twice(tf.constant(2.0)).numpy() == 18.0


def test_containers_of_variables(tmp_path: Path) -> None:
    class Sums(tf.Module):
        def __init__(self) -> None:
            self.parts = [tf.Variable(1.0), tf.Variable(2.0)]

        @tf.function(input_signature=[])
        def total(self) -> tf.Tensor:
            return tf.add_n(self.parts)

    path = str(tmp_path / "sums")
    tf.saved_model.save(Sums(), path)
    loaded = tf.saved_model.load(path)
    assert loaded.total().numpy() == 3.0
    loaded.parts[1].assign(10.0)
    assert loaded.total().numpy() == 11.0


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        tf.saved_model.save(1, str(tmp_path / "number"))
    module = Scale()
    with pytest.raises(ValueError):
        tf.saved_model.save(module, str(tmp_path / "plain"), signatures=lambda x: x)
