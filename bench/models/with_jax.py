"""Checks one network of JAX, Flax or Equinox against tfx: ``python -m bench.models.with_jax NAME``.

Prints one line of JSON with what was found. Runs in the environment that has jax and the rest.
"""

# mypy: ignore-errors
# ruff: noqa: D101, D102

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

import tfx
from bench.models.checks import Checked, deviation, flat, least, plain_session, report_on, temporary
from tfx.exporters import from_jax
from tfx.loaders import Bundle

_KEY = jax.random.PRNGKey(0)
_RATE = 1e-3


class Mlp(nn.Module):
    @nn.compact
    def __call__(self, x):
        for width in (32, 16):
            x = nn.gelu(nn.Dense(width)(x))
        return nn.Dense(4)(x)


class Cnn(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Conv(8, (3, 3))(x))
        x = nn.avg_pool(x, (2, 2), (2, 2))
        x = nn.relu(nn.Conv(16, (3, 3), strides=2)(x))
        return nn.Dense(10)(x.reshape((x.shape[0], -1)))


class Residual(nn.Module):
    @nn.compact
    def __call__(self, x):
        for width in (8, 16):
            y = nn.Conv(width, (3, 3), strides=2, use_bias=False)(x)
            y = nn.relu(nn.GroupNorm(4)(y))
            y = nn.GroupNorm(4)(nn.Conv(width, (3, 3), use_bias=False)(y))
            x = nn.relu(y + nn.Conv(width, (1, 1), strides=2, use_bias=False)(x))
        return nn.Dense(10)(x.mean((1, 2)))


class Transformer(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(64, 32)(tokens) + nn.Embed(16, 32)(jnp.arange(tokens.shape[1]))
        mask = nn.make_causal_mask(tokens)
        for _ in range(2):
            y = nn.LayerNorm()(x)
            x = x + nn.MultiHeadDotProductAttention(4)(y, mask=mask)
            x = x + nn.Dense(32)(nn.gelu(nn.Dense(64)(nn.LayerNorm()(x))))
        return nn.Dense(64)(x)


class Lstm(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(nn.RNN(nn.OptimizedLSTMCell(8))(x))


def _linen(module, x):
    variables = module.init(_KEY, x)

    def call(params, x):
        return module.apply({"params": params}, x)

    return module, variables, call, variables["params"], x, "params/"


def _function_mlp():
    x = jax.random.normal(_KEY, (8, 6))
    keys = jax.random.split(_KEY, 3)
    params = {"w0": jax.random.normal(keys[0], (6, 16)) * 0.3, "b0": jnp.full((16,), 0.1),
              "w1": jax.random.normal(keys[1], (16, 3)) * 0.3}  # fmt: skip

    def call(params, x):
        return jnp.tanh(x @ params["w0"] + params["b0"]) @ params["w1"]

    return call, params, call, params, x, ""


def _function_transformer():
    x = jax.random.normal(_KEY, (2, 7, 16))
    keys = jax.random.split(_KEY, 4)
    params = {n: jax.random.normal(k, (16, 16)) * 0.2 for n, k in zip("qkvo", keys, strict=True)}

    def call(params, x):
        q, k, v = (x @ params[n] for n in "qkv")
        scores = jnp.einsum("btd,bsd->bts", q, k) / 4.0
        scores = jnp.where(jnp.tril(jnp.ones((7, 7), bool)), scores, -1e9)
        return x + jax.nn.softmax(scores) @ v @ params["o"]

    return call, params, call, params, x, ""


def _equinox_mlp():
    import equinox as eqx

    model = eqx.nn.MLP(6, 3, 16, 2, key=_KEY)
    x = jax.random.normal(_KEY, (6,))
    arrays, static = eqx.partition(model, eqx.is_array)

    def call(params, x):
        return eqx.combine(params, static)(x)

    return model, None, call, arrays, x, ""


def _images():
    return jax.random.normal(_KEY, (2, 16, 16, 3))


MODELS = {
    "jax/mlp": _function_mlp,
    "jax/transformer": _function_transformer,
    "flax/mlp": lambda: _linen(Mlp(), jax.random.normal(_KEY, (8, 6))),
    "flax/cnn": lambda: _linen(Cnn(), _images()),
    "flax/resnet": lambda: _linen(Residual(), _images()),
    "flax/transformer": lambda: _linen(Transformer(), jax.random.randint(_KEY, (2, 9), 0, 64)),
    "flax/lstm": lambda: _linen(Lstm(), jax.random.normal(_KEY, (2, 6, 4))),
    "equinox/mlp": _equinox_mlp,
}


def _own(call, params, x, weights):
    answer = jax.jit(call)(params, x)
    gradients = jax.jit(jax.grad(lambda p, x: (call(p, x) * weights).sum()))(params, x)
    return np.asarray(answer), [np.asarray(g) for g in jax.tree.leaves(gradients)]


def check(name):
    model, variables, call, params, x, prefix = MODELS[name]()
    weights = np.asarray(jax.random.normal(jax.random.PRNGKey(1), call(params, x).shape))
    low = _own(call, params, x, weights)
    # JAX computes in one precision a process, and the model is exported in this one: its own
    # float32 is what is compared with, so 1e-4 is all that is allowed.
    exact = low
    imported = from_jax.to_module(model, x, variables=variables)
    found = {"nodes": len(imported.as_onnx().graph.node)}
    checked, arrays = Checked(imported), [np.asarray(x)]
    if arrays[0].dtype.kind == "i":
        arrays = [arrays[0].astype(np.int32)]
    found["answers"] = deviation(checked.answers(arrays), [low[0]], [exact[0]])
    yield found
    names = [
        "/".join(_key(k) for k in path) for path, _ in jax.tree_util.tree_leaves_with_path(params)
    ]
    found["names"] = sorted(imported.weights)[:4]
    chosen = [imported.weights[prefix + n] for n in names]
    gradients = checked.gradients(arrays, [weights], chosen)
    floor = 1e-6 * max(np.abs(g).max() for g in exact[1])
    each = zip(names, gradients, low[1], exact[1], strict=True)
    worst = {n: deviation([g], [s], [e], floor=floor) for n, g, s, e in each}
    found["worst_gradient"] = max(worst, key=worst.get)
    found["gradient"] = worst[found["worst_gradient"]]
    yield found
    before = [v.numpy() for v in chosen]
    with temporary() as folder:
        checked.save(Path(folder), arrays, [weights.shape], chosen)
        loaded = tfx.saved_model.load(folder).signatures["serving_default"]
        bundle = Bundle.open(folder)
        (port,) = bundle.signatures["serving_default"].inputs
        again = loaded(**{port: tfx.constant(arrays[0])})
        found["reloaded"] = deviation([flat(again)[0].numpy()], [low[0]], [exact[0]])
        session = plain_session(Path(folder) / "serving_default.onnx")
        found["plain"] = deviation(session.run(None, {port: arrays[0]}), [low[0]], [exact[0]])
        ports = bundle.signatures["train_step"].inputs
        bundle.call("train_step", dict(zip(ports, [*arrays, weights], strict=True)))
        steps = [
            deviation(
                [np.asarray(bundle.variables[f"weights/{quote(prefix + n, safe='')}"]) - b],
                [(b - np.float32(_RATE) * s) - b],
                [(b - _RATE * e) - b],
                floor=floor * _RATE,
            )
            for n, b, s, e in zip(names, before, low[1], exact[1], strict=True)
        ]
        found["step"] = max(steps)
    found["ms"] = least({"ours": lambda: imported(*map(tfx.constant, arrays))})["ours"]
    yield found


def _key(key):
    return str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key))))


if __name__ == "__main__":
    report_on(check)
