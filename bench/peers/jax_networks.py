"""The networks in JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bench.peers import networks
from bench.peers.worker import Case

Loss = Callable[[list[Any], list[Any]], Any]


def cases() -> dict[str, Callable[[], Case]]:
    """Makers of the cases."""
    return {
        name + suffix: _maker(name, with_gradient=bool(suffix))
        for name in networks.NAMES
        for suffix in ("", "_gradient")
    }


def _maker(name: str, *, with_gradient: bool) -> Callable[[], Case]:
    def make() -> Case:
        if with_gradient:
            return Case(step(name), _value, wait=jax.block_until_ready)
        inputs, weights = _tensors(name)
        function = jax.jit(LOSSES[name])
        return Case(lambda: function(inputs, weights), float, wait=jax.block_until_ready)

    return make


def step(name: str, batch: int | None = None) -> Callable[[], Any]:
    """A call that returns a network's loss and gradients.

    Args:
        name: Of the network.
        batch: Another number of examples than the usual.
    """
    inputs, weights = _tensors(name, batch)
    wanted = (0, 1) if name in networks.INNER else (1,)
    compute = jax.jit(jax.value_and_grad(LOSSES[name], argnums=wanted))
    return lambda: compute(inputs, weights)


def _tensors(name: str, batch: int | None = None) -> tuple[list[Any], list[Any]]:
    inputs, weights = networks.arrays(name, batch)
    return [jnp.asarray(a) for a in inputs], [jnp.asarray(a) for a in weights]


def _value(result: Any) -> float:
    gradients = [np.asarray(g) for g in jax.tree_util.tree_leaves(result[1])]
    return networks.number_of(np.asarray(result[0]), gradients)


def _mlp(inputs: list[Any], weights: list[Any]) -> Any:
    (h, labels), (w1, b1, w2, b2, w3, b3) = inputs, weights
    h = jax.nn.relu(h @ w1 + b1)
    h = jax.nn.relu(h @ w2 + b2)
    return -jnp.mean(jnp.sum(labels * jax.nn.log_softmax(h @ w3 + b3), axis=-1))


def _block(inputs: list[Any], weights: list[Any]) -> Any:
    (x,), (w1, s1, o1, w2, s2, o2) = inputs, weights

    def convolved(x: Any, w: Any) -> Any:
        return jax.lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def normalized(x: Any, scale: Any, offset: Any) -> Any:
        mean, variance = jnp.mean(x, (0, 1, 2)), jnp.var(x, (0, 1, 2))
        return (x - mean) * jax.lax.rsqrt(variance + networks.EPSILON) * scale + offset

    h = jax.nn.relu(normalized(convolved(x, w1), s1, o1))
    h = normalized(convolved(h, w2), s2, o2)
    return jnp.mean(jnp.square(jax.nn.relu(h + x)))


def _attention(inputs: list[Any], weights: list[Any]) -> Any:
    (x,), (wq, wk, wv, wo) = inputs, weights
    _, length, width, heads = networks.ATTENTION

    def split(w: Any) -> Any:
        return (x @ w).reshape(-1, length, heads, width // heads).transpose(0, 2, 1, 3)

    q, k, v = split(wq), split(wk), split(wv)
    scores = q @ k.swapaxes(-1, -2) * np.float32(np.sqrt(heads / width))
    rows = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(-1, length, width)
    return jnp.mean(jnp.square(rows @ wo))


LOSSES: dict[str, Loss] = {"mlp": _mlp, "block": _block, "attention": _attention}
