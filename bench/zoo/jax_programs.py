"""Those of the programs that JAX needs no library for: dense layers and attention, compiled."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bench.zoo import programs
from bench.zoo.programs import Maker, Program

Loss = Callable[..., Any]


def makers() -> dict[str, Maker]:
    """What makes the programs."""
    return {"mlp": _mlp, "decoder": _decoder, "vae": _vae}


def _adam(weights: Any, grads: Any, state: Any, rate: float, decay: float = 0.0) -> tuple[Any, Any]:
    m, v, step = state
    step = step + 1
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, grads)
    factor = rate * jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    new = jax.tree.map(
        lambda w, m, v: w * (1 - rate * decay) - factor * m / (jnp.sqrt(v) + 1e-7), weights, m, v
    )
    return new, (m, v, step)


def _program(
    weights: Any, loss: Loss, batch: Any, infer: Any, given: Any, rate: float, **options: Any
) -> Program:
    """One compiled step, whose weights and moments live in the place of the old ones."""
    clip, decay = options.get("clip"), options.get("decay", 0.0)

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def step(weights: Any, state: Any, key: Any) -> Any:
        key, drawn = jax.random.split(key)
        value, grads = jax.value_and_grad(loss)(weights, batch, drawn)
        if clip is not None:
            norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
            grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, clip / norm), grads)
        return (*_adam(weights, grads, state, rate, decay), key, value)

    zeros = jax.tree.map(jnp.zeros_like, weights)
    held = [weights, (zeros, jax.tree.map(jnp.zeros_like, weights), 0.0), jax.random.key(0)]
    served = jax.tree.map(jnp.copy, weights)

    def train() -> Any:
        *held[:], value = step(*held)
        return value

    compiled = jax.jit(infer)
    count = sum(int(np.prod(w.shape)) for w in jax.tree.leaves(weights))
    return Program(train, lambda: compiled(served, given), jax.block_until_ready, count)


def _weights(*shape: int) -> Any:
    rng = np.random.default_rng(0)
    return jnp.asarray(rng.standard_normal(shape) / np.sqrt(shape[0]), jnp.float32)


def _dense(*widths: int) -> list[Any]:
    return [(_weights(a, b), jnp.zeros(b)) for a, b in itertools.pairwise(widths)]


def _layers(x: Any, weights: Any) -> Any:
    for w, b in weights[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = weights[-1]
    return x @ w + b


def _cross_entropy(logits: Any, labels: Any) -> Any:
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1)
    return -chosen.mean()


def _mlp(batch: int) -> Program:
    x, y = map(jnp.asarray, programs.images(batch, 784))

    def loss(weights: Any, data: Any, _: Any) -> Any:
        return _cross_entropy(_layers(data[0], weights), data[1])

    weights = _dense(*programs.MLP_WIDTHS)
    return _program(weights, loss, (x, y), lambda w, x: _layers(x, w), x, 1e-3)


def _vae(batch: int) -> Program:
    code, units, pixels = programs.VAE_CODE, programs.VAE_UNITS, programs.PIXELS
    weights = _dense(pixels, units, units, 2 * code), _dense(code, units, units, pixels)
    x = jnp.asarray(programs.digits(batch)).reshape(batch, pixels)

    def loss(weights: Any, x: Any, key: Any) -> Any:
        mean, log_variance = jnp.split(_layers(x, weights[0]), 2, axis=1)
        noise = jax.random.normal(key, mean.shape)
        logits = _layers(mean + jnp.exp(0.5 * log_variance) * noise, weights[1])
        of_pixels = jnp.maximum(logits, 0) - logits * x + jnp.log1p(jnp.exp(-jnp.abs(logits)))
        divergence = 0.5 * (mean**2 + jnp.exp(log_variance) - 1 - log_variance)
        return (of_pixels.sum(1) + divergence.sum(1)).mean()

    def infer(weights: Any, code: Any) -> Any:
        return jax.nn.sigmoid(_layers(code, weights[1]))

    return _program(weights, loss, x, infer, jnp.asarray(programs.codes(batch)), 1e-3)


def _decoder(batch: int) -> Program:
    width, heads = programs.DECODER_WIDTH, programs.HEADS

    def block() -> Any:
        shapes = ((width, 3 * width), (width, width), (width, 4 * width), (4 * width, width))
        return jnp.ones(width), jnp.ones(width), [_dense(*shape)[0] for shape in shapes]

    weights = {
        "characters": _weights(programs.VOCABULARY, width),
        "places": _weights(programs.TEXT, width),
        "blocks": [block() for _ in range(programs.DEPTH)],
        "norm": jnp.ones(width),
        "logits": _dense(width, programs.VOCABULARY)[0],
    }

    def norm(x: Any, gain: Any) -> Any:
        return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * gain

    def dense(x: Any, layer: Any) -> Any:
        return x @ layer[0] + layer[1]

    def logits(weights: Any, tokens: Any) -> Any:
        time = tokens.shape[1]
        x = weights["characters"][tokens] + weights["places"][:time]
        seen = jnp.tril(jnp.ones((time, time), bool))
        for first, second, (project, merge, widen, narrow) in weights["blocks"]:
            parts = dense(norm(x, first), project).reshape(batch, time, 3, heads, -1)
            q, k, v = jnp.moveaxis(parts, (2, 3), (0, 2))
            scores = q @ jnp.swapaxes(k, 2, 3) / np.float32(np.sqrt(width // heads))
            mixed = jax.nn.softmax(jnp.where(seen, scores, -1e9)) @ v
            x = x + dense(jnp.swapaxes(mixed, 1, 2).reshape(batch, time, width), merge)
            hidden = jax.nn.gelu(dense(norm(x, second), widen), approximate=False)
            x = x + dense(hidden, narrow)
        return dense(norm(x, weights["norm"]), weights["logits"])

    def loss(weights: Any, tokens: Any, _: Any) -> Any:
        return _cross_entropy(logits(weights, tokens[:, :-1]), tokens[:, 1:])

    tokens = jnp.asarray(programs.texts(batch))
    options = {"clip": programs.CLIP, "decay": 0.01}
    return _program(weights, loss, tokens, logits, tokens[:, :-1], 2e-3, **options)
