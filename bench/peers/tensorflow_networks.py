"""The networks in TensorFlow's names, for tfx and for TensorFlow itself.

Gradients are those of the weights, and of the input too where the network is one layer of many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.peers import networks
from bench.peers.worker import Case

Loss = Callable[..., Any]


def cases(tf: Any) -> dict[str, Callable[[], Case]]:
    """Makers of the cases.

    Args:
        tf: ``tfx`` or ``tensorflow``.
    """
    return {
        name + suffix: _maker(tf, name, with_gradient=bool(suffix))
        for name in networks.NAMES
        for suffix in ("", "_gradient")
    }


def _maker(tf: Any, name: str, *, with_gradient: bool) -> Callable[[], Case]:
    def make() -> Case:
        if with_gradient:
            return Case(step(tf, name), _value)
        given = networks.arrays(name)
        inputs, variables = _tensors(tf, given[0]), _variables(tf, given[1])
        loss = LOSSES[name](tf)
        function = tf.function(lambda *inputs: loss(*inputs, *variables))
        return Case(lambda: function(*inputs), lambda result: float(result.numpy()))

    return make


def step(tf: Any, name: str, batch: int | None = None) -> Callable[[], Any]:
    """A call that returns a network's loss and gradients.

    Args:
        tf: ``tfx`` or ``tensorflow``.
        name: Of the network.
        batch: Another number of examples than the usual.
    """
    given = networks.arrays(name, batch)
    inputs, variables = _tensors(tf, given[0]), _variables(tf, given[1])
    loss = LOSSES[name](tf)

    @tf.function
    def compute(*inputs: Any) -> Any:
        sources = [*variables, *inputs] if name in networks.INNER else variables
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            result = loss(*inputs, *variables)
        return result, tape.gradient(result, sources)

    return lambda: compute(*inputs)


def _tensors(tf: Any, arrays: list[Any]) -> list[Any]:
    return [tf.constant(a) for a in arrays]


def _variables(tf: Any, arrays: list[Any]) -> list[Any]:
    return [tf.Variable(a) for a in arrays]


def _value(result: Any) -> float:
    return networks.number_of(result[0].numpy(), [g.numpy() for g in result[1]])


def _mlp(tf: Any) -> Loss:
    def loss(images: Any, labels: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
        h = tf.nn.relu(tf.matmul(images, w1) + b1)
        h = tf.nn.relu(tf.matmul(h, w2) + b2)
        logits = tf.matmul(h, w3) + b3
        return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels, logits))

    return loss


def _block(tf: Any) -> Loss:
    def normalized(x: Any, scale: Any, offset: Any) -> Any:
        mean, variance = tf.nn.moments(x, [0, 1, 2])
        return tf.nn.batch_normalization(x, mean, variance, offset, scale, networks.EPSILON)

    def loss(x: Any, w1: Any, s1: Any, o1: Any, w2: Any, s2: Any, o2: Any) -> Any:
        h = tf.nn.relu(normalized(tf.nn.conv2d(x, w1, 1, "SAME"), s1, o1))
        h = normalized(tf.nn.conv2d(h, w2, 1, "SAME"), s2, o2)
        return tf.reduce_mean(tf.square(tf.nn.relu(h + x)))

    return loss


def _attention(tf: Any) -> Loss:
    _, length, width, heads = networks.ATTENTION

    def loss(x: Any, wq: Any, wk: Any, wv: Any, wo: Any) -> Any:
        def split(w: Any) -> Any:
            y = tf.reshape(tf.matmul(x, w), [-1, length, heads, width // heads])
            return tf.transpose(y, [0, 2, 1, 3])

        q, k, v = split(wq), split(wk), split(wv)
        scores = tf.matmul(q, k, transpose_b=True) * float(np.sqrt(heads / width))
        mixed = tf.matmul(tf.nn.softmax(scores), v)
        rows = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [-1, length, width])
        return tf.reduce_mean(tf.square(tf.matmul(rows, wo)))

    return loss


LOSSES: dict[str, Callable[[Any], Loss]] = {
    "mlp": _mlp,
    "block": _block,
    "attention": _attention,
}
