"""Times by layer: the scopes of modules, of Keras layers and of ``tf.name_scope``."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import tfx as tf


class Dense(tf.Module):
    def __init__(self, size: int, name: str) -> None:
        super().__init__(name)
        self.w = tf.Variable(np.eye(size, dtype=np.float32))
        self.b = tf.Variable(tf.zeros([size]))

    @tf.Module.with_name_scope
    def __call__(self, x: Any) -> Any:
        return tf.tanh(tf.matmul(x, self.w) + self.b)


class Net(tf.Module):
    def __init__(self, sizes: int, depth: int) -> None:
        super().__init__("net")
        self.layers = [Dense(sizes, f"dense{i}") for i in range(depth)]

    @tf.Module.with_name_scope
    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        with tf.name_scope("head"):
            return tf.reduce_sum(x)


def train_step(net: Net, **options: Any) -> Any:
    optimizer = tf.optimizers.SGD(0.1)

    @tf.function(autograph=False, **options)
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = net(x) + 1.0
        variables = net.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return step


def layers(p: Any) -> dict[str, Any]:
    return {row.name: row for row in p.rows("layer")}


@pytest.mark.parametrize("jit_compile", [False, None])
def test_modules_with_their_gradients(jit_compile: bool | None) -> None:
    step = train_step(Net(4, 2), jit_compile=jit_compile)
    with tf.profile() as p:
        step(tf.ones([3, 4]))
    rows = layers(p)
    assert {"net/dense0", "net/dense1", "net/head"} <= {name.lower() for name in rows}
    assert any("sgd" in name.lower() for name in rows)
    assert not any("gradient" in name for name in rows)
    assert sum(row.share for row in rows.values()) == pytest.approx(1.0)
    every = [part for n in p.nodes for part in (n, *n.parts)]
    names = [part.name for part in every if part.layer == "net/dense1"]
    assert any(name.startswith("gradient/") for name in names)
    assert any(not name.startswith("gradient/") for name in names)


def test_name_scopes() -> None:
    @tf.function(jit_compile=False)
    def f(x: Any) -> Any:
        with tf.name_scope("a"):
            with tf.name_scope("b"):
                x = tf.sin(x)
            x = tf.cos(x)
        return tf.exp(x)

    with tf.profile() as p:
        f(tf.ones([3]))
        with tf.name_scope("eager"):
            tf.sqrt(tf.constant(2.0))
    assert {n.op: n.layer for n in p.nodes} == {
        "Sin": "a/b",
        "Cos": "a",
        "Exp": "",
        "Sqrt": "eager",
    }
    assert set(layers(p)) == {"a/b", "a", "(no layer)", "eager"}
    assert "a/b" in p.table("layer")


def test_a_program_is_divided_among_layers() -> None:
    @tf.function
    def f(x: Any) -> Any:
        with tf.name_scope("a"):
            x = tf.sin(x) * 2.0 + x
        with tf.name_scope("b"):
            return tf.exp(x)

    with tf.profile() as p:
        f(tf.ones([1000]))
    if len(p.nodes) > 1:
        pytest.skip("there are no fused kernels")
    rows = layers(p)
    assert rows["a"].total_us == pytest.approx(3 * rows["b"].total_us)


def test_called_functions_are_below_the_layer_of_the_call() -> None:
    @tf.function
    def inner(x: Any) -> Any:
        with tf.name_scope("in"):
            return tf.sin(x) * tf.cos(x) + tf.exp(x)

    @tf.function
    def outer(x: Any) -> Any:
        with tf.name_scope("out"):
            return inner(x)

    with tf.profile() as p:
        outer(tf.ones([1000]))
    if len(p.nodes) > 1:
        pytest.skip("there are no fused kernels")
    assert {"out/in"} <= set(layers(p)) <= {"out", "out/in"}  # "out": results of the call


def test_large_training_steps_take_little_longer() -> None:
    net = Net(4, 260)
    step, x = train_step(net), tf.ones([2, 4])
    step(x)
    plain = min(_seconds(lambda: step(x)) for _ in range(3))
    nodes = len(step.get_concrete_function(x).graph.graph.nodes)
    assert nodes > 3800
    with tf.profile() as p:
        began = time.monotonic()
        step(x)
    made = [p.table(by) for by in ("node", "op", "source", "layer")]
    assert time.monotonic() - began < plain + 2.0
    assert all(made)
    # The least of three: a full collection of a long test process is no part of it.
    assert min(_seconds(lambda: str(step.placement())) for _ in range(3)) < 0.5
    assert len(layers(p)) > 250


def _seconds(act: Any) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began
