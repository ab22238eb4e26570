"""Device scopes."""

from __future__ import annotations

import pytest

import tfx as tf
from tfx.core.errors import InvalidArgumentError, NotFoundError
from tfx.framework.context import current
from tfx.runtime.devices import list_physical_devices


@pytest.mark.parametrize("name", ["/CPU:0", "cpu", "/device:CPU:0", lambda op: "/CPU:0"])
def test_the_default_by_name(name):
    with tf.device(name):
        assert current().device is None  # the same kernels and traces serve both
        assert (tf.constant(1.0) + 1.0).device.endswith("CPU:0")


@pytest.mark.parametrize("name", [None, ""])
def test_back_to_the_default(name):
    with tf.device("/CPU:0"), tf.device(name):
        assert current().device is None


def test_a_function_is_traced_once_for_the_default_device():
    f = tf.function(lambda x: x + 1)
    f(tf.constant(1))
    with tf.device("/CPU:0"):
        f(tf.constant(1))
    assert f.experimental_get_tracing_count() == 1


def test_inside_a_function():
    @tf.function
    def f(x):
        with tf.device("/CPU:0"):
            return x * 2

    assert int(f(tf.constant(4))) == 8


def test_no_device():
    with (
        pytest.raises(InvalidArgumentError, match="'nonsense' is not a device name"),
        tf.device("nonsense"),
    ):
        pass
    assert current().device is None


@pytest.mark.skipif(bool(list_physical_devices("GPU")), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_an_error():
    """Never a silent run on the CPU."""
    with pytest.raises(NotFoundError, match="/GPU:0"), tf.device("/GPU:0"):
        tf.constant(1.0) + 1.0
