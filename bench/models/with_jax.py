"""Checks one network of JAX, Flax or Equinox against tfx: ``python -m bench.models.with_jax NAME``.

Prints one line of JSON with what was found. Runs in the environment that has jax and the rest.
"""

# mypy: ignore-errors
# ruff: noqa: D101, D102

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import flax.linen as nn
import flax.nnx as nnx
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


class Vit(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(32, (4, 4), strides=4)(x)
        x = x.reshape((x.shape[0], -1, 32))
        x = x + self.param("places", nn.initializers.normal(0.02), (1, x.shape[1], 32))
        for _ in range(2):
            x = x + nn.MultiHeadDotProductAttention(4)(nn.LayerNorm()(x))
            x = x + nn.Dense(32)(nn.gelu(nn.Dense(64)(nn.LayerNorm()(x))))
        return nn.Dense(10)(nn.LayerNorm()(x).mean(1))


class NnxMlp(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(6, 32, rngs=rngs)
        self.norm = nnx.LayerNorm(32, rngs=rngs)
        self.last = nnx.Linear(32, 4, rngs=rngs)

    def __call__(self, x):
        return self.last(self.norm(nnx.silu(self.first(x))))


class NnxCnn(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Conv(3, 8, (3, 3), rngs=rngs)
        self.second = nnx.Conv(8, 16, (3, 3), strides=2, rngs=rngs)
        self.last = nnx.Linear(16, 10, rngs=rngs)

    def __call__(self, x):
        x = nnx.max_pool(nnx.relu(self.first(x)), (2, 2), (2, 2))
        return self.last(nnx.relu(self.second(x)).mean((1, 2)))


class Lstm(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(nn.RNN(nn.OptimizedLSTMCell(8))(x))


def _linen(module, x):
    variables = jax.jit(module.init)(_KEY, x)

    def call(params, x):
        return module.apply({"params": params}, x)

    return module, variables, call, variables["params"], x, "params/"


def _nnx(module, x):
    definition, state, rest = nnx.split(module, nnx.Param, ...)

    def call(params, x):
        filled = jax.tree.map(lambda v: v, state)
        nnx.replace_by_pure_dict(filled, params)
        return nnx.merge(definition, filled, rest)(x)

    return module, None, call, nnx.to_pure_dict(state), x, ""


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


def _function_cnn():
    x = _images()
    keys = jax.random.split(_KEY, 3)
    params = {"w0": jax.random.normal(keys[0], (3, 3, 3, 8)) * 0.2, "b0": jnp.full((8,), 0.1),
              "w1": jax.random.normal(keys[1], (3, 3, 8, 16)) * 0.2,
              "w2": jax.random.normal(keys[2], (16, 10)) * 0.3}  # fmt: skip
    layout = ("NHWC", "HWIO", "NHWC")

    def call(params, x):
        for name, stride in (("w0", 1), ("w1", 2)):
            x = jax.lax.conv_general_dilated(
                x, params[name], (stride, stride), "SAME", dimension_numbers=layout
            )
            x = jax.nn.relu(x + params["b0"]) if name == "w0" else jnp.tanh(x)
        return x.mean((1, 2)) @ params["w2"]

    return call, params, call, params, x, ""


def _function_gru():
    x = jax.random.normal(_KEY, (6, 2, 4))
    keys = jax.random.split(_KEY, 2)
    sizes = {"wx": (4, 24), "wh": (8, 24)}
    params = {
        n: jax.random.normal(k, s) * 0.3 for (n, s), k in zip(sizes.items(), keys, strict=True)
    }
    params["b"] = jnp.full((24,), 0.1)

    def call(params, x):
        def step(h, now):
            zx, rx, nx = jnp.split(now @ params["wx"] + params["b"], 3, axis=-1)
            zh, rh, nh = jnp.split(h @ params["wh"], 3, axis=-1)
            z, r = jax.nn.sigmoid(zx + zh), jax.nn.sigmoid(rx + rh)
            h = (1.0 - z) * jnp.tanh(nx + r * nh) + z * h
            return h, h

        return jax.lax.scan(step, jnp.zeros((2, 8)), x)[1]

    return call, params, call, params, x, ""


def _equinox(make, shape):
    import equinox as eqx

    model = make(eqx.nn)
    arrays, static = eqx.partition(model, eqx.is_array)

    def call(params, x):
        return eqx.combine(params, static)(x)

    return model, None, call, arrays, jax.random.normal(_KEY, shape), ""


def _equinox_cnn(layers):
    first, second, last = jax.random.split(_KEY, 3)
    return layers.Sequential([
        layers.Conv2d(3, 8, 3, padding=1, key=first), layers.Lambda(jax.nn.relu),
        layers.Conv2d(8, 16, 3, stride=2, key=second), layers.Lambda(jnp.tanh),
        layers.Lambda(jnp.ravel), layers.Linear(16 * 7 * 7, 10, key=last),
    ])  # fmt: skip


def _equinox_mlp(layers):
    return layers.MLP(6, 3, 16, 2, key=_KEY)


def _images():
    return jax.random.normal(_KEY, (2, 16, 16, 3))


MODELS = {
    "jax/mlp": _function_mlp,
    "jax/transformer": _function_transformer,
    "jax/cnn": _function_cnn,
    "jax/gru": _function_gru,
    "flax/mlp": lambda: _linen(Mlp(), jax.random.normal(_KEY, (8, 6))),
    "flax/cnn": lambda: _linen(Cnn(), _images()),
    "flax/resnet": lambda: _linen(Residual(), _images()),
    "flax/transformer": lambda: _linen(Transformer(), jax.random.randint(_KEY, (2, 9), 0, 64)),
    "flax/lstm": lambda: _linen(Lstm(), jax.random.normal(_KEY, (2, 6, 4))),
    "flax/vit": lambda: _linen(Vit(), _images()),
    "flax/nnx_mlp": lambda: _nnx(NnxMlp(nnx.Rngs(0)), jax.random.normal(_KEY, (8, 6))),
    "flax/nnx_cnn": lambda: _nnx(NnxCnn(nnx.Rngs(0)), _images()),
    "equinox/mlp": lambda: _equinox(_equinox_mlp, (6,)),
    "equinox/cnn": lambda: _equinox(_equinox_cnn, (3, 16, 16)),
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
    found = {"parameters": sum(int(np.size(p)) for p in jax.tree.leaves(params))}
    found["nodes"] = len(imported.as_onnx().graph.node)
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
                # Not rounded to the parameter's size, as the source's own step is.
                [-_RATE * e.astype(np.float64)],
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
