"""``tf.config``: devices under their logical names, and where the names are."""

from __future__ import annotations

import pytest

import tfx as tf


def test_logical_devices() -> None:
    (cpu,) = tf.config.list_logical_devices("CPU")
    assert (cpu.name, cpu.device_type) == ("/device:CPU:0", "CPU")
    assert len(tf.config.list_logical_devices()) == len(tf.config.list_physical_devices())
    with tf.device(cpu.name):
        assert float(tf.constant(1.0) + 1.0) == 2.0


def test_visible_devices() -> None:
    assert tf.config.get_visible_devices() == tf.config.list_physical_devices()
    assert tf.config.experimental.list_physical_devices("CPU") == (
        tf.config.list_physical_devices("CPU")
    )


def test_memory_growth() -> None:
    tf.config.experimental.set_memory_growth(tf.config.PhysicalDevice("/x", "GPU"), True)
    (cpu,) = tf.config.list_physical_devices("CPU")
    with pytest.raises(ValueError, match="Cannot set memory growth"):
        tf.config.experimental.set_memory_growth(cpu, True)


def test_older_names() -> None:
    tf.config.experimental_run_functions_eagerly(True)
    assert tf.config.functions_run_eagerly()
    tf.config.experimental_run_functions_eagerly(False)
    assert not tf.config.experimental_functions_run_eagerly()
