"""``set_log_device_placement``: what runs where, on stderr, and nothing while it is off."""

from __future__ import annotations

import pytest

import tfx as tf

LONG = "/job:localhost/replica:0/task:0/device:"


@pytest.fixture
def log():
    tf.debugging.set_log_device_placement(True)
    yield
    tf.debugging.set_log_device_placement(False)


def test_operations_are_told_each_time(log, three_cpus, capfd):
    x = tf.constant([1.0, 2.0])
    capfd.readouterr()
    x * x
    with tf.device("/CPU:1"):
        x * x
        x * x
    lines = capfd.readouterr().err.splitlines()
    assert lines == [
        f"Executing op Mul in device {LONG}CPU:0",
        f"Executing op Mul in device {LONG}CPU:1",
        f"Executing op Mul in device {LONG}CPU:1",
    ]


def test_functions_are_told_once(log, capfd):
    f = tf.function(lambda x: tf.nn.relu(x) - 1.0)
    x = tf.constant([1.0])
    capfd.readouterr()
    for _ in range(3):
        f(x)
    told = capfd.readouterr().err.splitlines()
    assert [line.split(": ", 1)[1] for line in told] == [
        f"(Relu): {LONG}CPU:0",
        f"(Sub): {LONG}CPU:0",
    ]


def test_off_again(capfd):
    x = tf.constant([1.0])
    f = tf.function(lambda x: x + 1.0)
    f(x)
    assert not tf.debugging.get_log_device_placement()
    tf.debugging.set_log_device_placement(True)
    tf.debugging.set_log_device_placement(True)
    assert tf.debugging.get_log_device_placement()
    f(x)  # compiled before: not told
    assert capfd.readouterr().err == ""
    tf.debugging.set_log_device_placement(False)
    x + x
    f(x)
    assert capfd.readouterr().err == ""
