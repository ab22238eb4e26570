"""``python -m bench.fused.worker NAME``; names are tfx, plain (not fused), tensorflow and jax."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.fused import networks, training
from bench.fused.networks import BETA1, BETA2, CHAINS, DIM, EPSILON, RATE
from bench.peers import worker
from bench.peers.worker import Case
from bench.zoo import tensorflow_programs
from bench.zoo import worker as zoo

ITERATIONS = 1000


def _tensorflow_cases(tf: Any) -> dict[str, Callable[[], Case]]:
    ops = networks.tensorflow_ops(tf)

    def adam(weights: list[Any]) -> Callable[[list[Any]], None]:
        first = [tf.Variable(tf.zeros_like(w)) for w in weights]
        second = [tf.Variable(tf.zeros_like(w)) for w in weights]
        count = tf.Variable(0.0)

        def update(gradients: list[Any]) -> None:
            count.assign_add(1.0)
            rate = RATE * tf.sqrt(1 - BETA2**count) / (1 - BETA1**count)
            for w, g, m, v in zip(weights, gradients, first, second, strict=True):
                m.assign(BETA1 * m + (1 - BETA1) * g)
                v.assign(BETA2 * v + (1 - BETA2) * g * g)
                w.assign_sub(rate * m / (tf.sqrt(v) + EPSILON))

        return update

    def adams() -> Callable[[], Any]:
        """An update of the network's 670,000 weights alone."""
        weights = [tf.Variable(w) for w in networks.perceptron_weights()]
        update = adam(weights)
        gradients = [tf.constant(w) for w in networks.perceptron_weights()]

        @tf.function
        def step(gradients: Any) -> None:
            update(gradients)

        return lambda: step(gradients)

    def sampler() -> Case:
        weights = [tf.Variable(w) for w in networks.sampler_weights()]
        update = adam(weights)
        x = tf.Variable(np.ones((CHAINS, DIM), np.float32))

        @tf.function
        def step() -> Any:
            with tf.GradientTape() as tape:
                v = tf.random.normal([CHAINS, DIM])
                loss, proposal, accepted = networks.sampler_loss(ops, weights, x, v)
            update(tape.gradient(loss, weights))
            taken = tf.cast(tf.random.uniform([CHAINS]) < accepted, tf.float32)[:, None]
            x.assign(taken * proposal + (1 - taken) * x)
            return loss

        return Case(step, lambda _: 0.0)

    def perceptron() -> Case:
        weights = [tf.Variable(w) for w in networks.perceptron_weights()]
        update = adam(weights)

        @tf.function
        def step(x: Any, labels: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = networks.perceptron_loss(ops, weights, x, labels)
            update(tape.gradient(loss, weights))
            return loss

        x, labels = map(tf.constant, networks.perceptron_data())
        return Case(lambda: step(x, labels), lambda _: 0.0)

    @tf.function
    def tiny(x: Any) -> Any:
        for _ in range(ITERATIONS // 2):
            x = x * 1.01 + 0.01
        return x

    @tf.function
    def loop(x: Any) -> Any:
        for _ in tf.range(ITERATIONS):
            x = x * 1.01 + 0.01
        return x

    @tf.function
    def path(state: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(state)
            angles = tf.TensorArray(tf.float32, size=ITERATIONS, element_shape=[20])
            now = state
            for i in tf.range(ITERATIONS):
                now = networks.swing(ops, now)
                angles = angles.write(i, now[0])
            loss = tf.reduce_mean(tf.square(angles.stack()))
        return tape.gradient(loss, state)

    @tf.function
    def gelu(x: Any) -> Any:
        return tf.nn.gelu(x, approximate=True) * 2.0 + x

    scalar, hanging = tf.constant(1.0), tf.constant(networks.pendulums())
    large = tf.constant(np.random.default_rng(0).normal(size=(512, 2048)).astype(np.float32))
    return {
        "sampler": sampler,
        "perceptron": perceptron,
        "tiny": lambda: Case(lambda: tiny(scalar), float),
        "loop": lambda: Case(lambda: loop(scalar), float),
        "path": lambda: Case(lambda: path(hanging), lambda slope: float(slope[0, 0])),
        "gelu": lambda: Case(lambda: gelu(large), lambda _: 0.0),
        "adam": lambda: Case(adams(), lambda _: 0.0),
        "lstm": lambda: Case(training.lstm(tf, adam), lambda _: 0.0),
        "transformer": lambda: Case(training.transformer(tf, adam), lambda _: 0.0),
        # A function is traced, and its plan made, for the call.
        "prepare": lambda: Case(
            lambda step: step(), lambda _: 0.0, prepare=lambda: training.lstm(tf, adam)
        ),
    }


def _jax_cases() -> dict[str, Callable[[], Case]]:
    import jax
    import jax.numpy as jnp

    ops = networks.jax_ops()

    def adam(weights: Any, gradients: Any, state: Any) -> tuple[Any, Any]:
        first, second, count = state
        count = count + 1
        rate = RATE * jnp.sqrt(1 - BETA2**count) / (1 - BETA1**count)
        first = [BETA1 * m + (1 - BETA1) * g for m, g in zip(first, gradients, strict=True)]
        second = [BETA2 * v + (1 - BETA2) * g * g for v, g in zip(second, gradients, strict=True)]
        parts = zip(weights, first, second, strict=True)
        weights = [w - rate * m / (jnp.sqrt(v) + EPSILON) for w, m, v in parts]
        return weights, (first, second, count)

    def begin(weights: Any) -> Any:
        weights = [jnp.asarray(w) for w in weights]
        zeros = [jnp.zeros_like(w) for w in weights]
        return weights, (zeros, zeros, jnp.float32(0))

    def case(step: Any, state: Any) -> Case:
        held = [state]

        def call() -> Any:
            held[0], loss = step(held[0])
            return loss

        return Case(call, lambda _: 0.0, wait=lambda loss: loss.block_until_ready())

    def sampler() -> Case:
        @jax.jit
        def step(state: Any) -> Any:
            weights, moments, x, key = state
            key, a, b = jax.random.split(key, 3)

            def loss_of(weights: Any) -> Any:
                v = jax.random.normal(a, (CHAINS, DIM))
                loss, proposal, accepted = networks.sampler_loss(ops, weights, x, v)
                return loss, (proposal, accepted)

            (loss, more), gradients = jax.value_and_grad(loss_of, has_aux=True)(weights)
            weights, moments = adam(weights, gradients, moments)
            taken = (jax.random.uniform(b, (CHAINS,)) < more[1]).astype(jnp.float32)[:, None]
            return (weights, moments, taken * more[0] + (1 - taken) * x, key), loss

        state = (*begin(networks.sampler_weights()), jnp.ones((CHAINS, DIM)), jax.random.key(0))
        return case(step, state)

    def perceptron() -> Case:
        x, labels = map(jnp.asarray, networks.perceptron_data())

        @jax.jit
        def step(state: Any) -> Any:
            weights, moments = state
            loss, gradients = jax.value_and_grad(
                lambda w: networks.perceptron_loss(ops, w, x, labels)
            )(weights)
            return adam(weights, gradients, moments), loss

        return case(step, begin(networks.perceptron_weights()))

    @jax.jit
    def tiny(x: Any) -> Any:
        for _ in range(ITERATIONS // 2):
            x = x * 1.01 + 0.01
        return x

    @jax.jit
    def loop(x: Any) -> Any:
        return jax.lax.fori_loop(0, ITERATIONS, lambda _, x: x * 1.01 + 0.01, x)

    @jax.jit
    @jax.grad
    def path(state: Any) -> Any:
        def step(now: Any, _: Any) -> Any:
            now = networks.swing(ops, now)
            return now, now[0]

        return jnp.mean(jnp.square(jax.lax.scan(step, state, None, ITERATIONS)[1]))

    @jax.jit
    def gelu(x: Any) -> Any:
        return jax.nn.gelu(x, approximate=True) * 2.0 + x

    scalar, hanging = jnp.float32(1.0), jnp.asarray(networks.pendulums())
    large = jnp.asarray(np.random.default_rng(0).normal(size=(512, 2048)).astype(np.float32))

    def waited(call: Callable[[], Any], value: Callable[[Any], float]) -> Callable[[], Case]:
        return lambda: Case(call, value, wait=lambda result: result.block_until_ready())

    return {
        "sampler": sampler,
        "perceptron": perceptron,
        "tiny": waited(lambda: tiny(scalar), float),
        "loop": waited(lambda: loop(scalar), float),
        "path": waited(lambda: path(hanging), lambda slope: float(slope[0, 0])),
        "gelu": waited(lambda: gelu(large), lambda _: 0.0),
    }


def cases(framework: str) -> tuple[str, dict[str, Callable[[], Case]]]:
    """The version of a framework, and what it can be asked for."""
    if framework == "jax":
        import jax

        return jax.__version__, _jax_cases()
    if framework == "tensorflow":
        import tensorflow

        return tensorflow.__version__, _tensorflow_cases(tensorflow)
    import tfx

    tfx.config.optimizer.set_jit(framework == "tfx")
    networks_of_zoo = zoo.cases("plain", tensorflow_programs.makers(tfx))
    return tfx.__version__, {**_tensorflow_cases(tfx), **networks_of_zoo}


if __name__ == "__main__":
    worker.serve(sys.argv[1], *cases(sys.argv[1]))
