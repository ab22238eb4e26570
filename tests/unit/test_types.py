"""``tf.types.experimental``: what ``isinstance`` and annotations say, as TensorFlow has it."""

from __future__ import annotations

import typing

import numpy as np

import tfx as tf

T = tf.types.experimental


def test_functions():
    f = tf.function(lambda x: x)
    concrete = f.get_concrete_function(1.0)
    assert isinstance(f, T.GenericFunction)
    assert isinstance(f, T.Callable)
    assert isinstance(f, T.PolymorphicFunction)
    assert not isinstance(f, T.ConcreteFunction)
    assert isinstance(concrete, T.ConcreteFunction)
    assert isinstance(concrete, T.GenericFunction)
    assert not isinstance(len, T.Callable)


def test_annotations_of_a_function():
    @tf.function
    def double(x: T.TensorLike) -> tf.Tensor:
        return 2 * tf.convert_to_tensor(x)

    assert int(double(3)) == 6
    assert {tf.Tensor, tf.Variable, int, np.ndarray} <= set(typing.get_args(T.TensorLike))
