"""Models of JAX against JAX itself: answers, gradients, state, bundles."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx import loaders
from tfx.exporters import from_jax
from tfx.exporters.converted import save_converted
from tfx.exporters.example_calls import ExampleCall
from tfx.exporters.sources import jax_graphs
from tfx.exporters.sources.jax_models import named_leaves

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
pytest.importorskip("jax2onnx")
pytestmark = pytest.mark.filterwarnings("ignore")
RNG = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def check_gradients(module: Any, model: Any, variables: Any, x: Any) -> None:
    """Gradients of a loss by all variables are those of ``jax.grad``."""
    wanted, _ = named_leaves(jax.grad(lambda v: jnp.sum(jnp.sin(model(v, x))))(variables))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.sin(module(x)))
    found = tape.gradient(loss, module.trainable_variables)
    largest = max(float(np.abs(g).max()) for g in wanted.values())
    for variable, gradient in zip(module.trainable_variables, found, strict=True):
        expected = np.asarray(wanted[variable.name.split(":")[0]])
        dense = np.zeros_like(expected) if gradient is None else tf.convert_to_tensor(gradient)
        np.testing.assert_allclose(dense, expected, atol=2e-5 * largest)


def test_a_function_of_parameters(tmp_path: Path) -> None:
    weights = {"first": {"w": normal(4, 8), "b": normal(8)}, "last": [normal(8, 3)]}
    variables = jax.tree.map(jnp.asarray, weights)

    @jax.jit
    def network(params: Any, x: Any) -> Any:
        hidden = jax.nn.gelu(x @ params["first"]["w"] + params["first"]["b"])
        return jax.nn.softmax(hidden @ params["last"][0])

    x = normal(5, 4)
    module = from_jax.export(
        network, tmp_path / "b", x, variables=variables, dynamic={"x": {0: "batch"}}
    )
    assert set(module.weights) == {"first/w", "first/b", "last/0"}
    check_gradients(module, network, variables, x)
    other = normal(7, 4)
    found = tf.saved_model.load(tmp_path / "b").signatures["serving_default"](x=other)
    np.testing.assert_allclose(found["output"], network(variables, other), rtol=1e-4, atol=1e-6)
    assert loaders.summarize(tmp_path / "b").manifest.examples


def linen_network() -> Any:
    nn = pytest.importorskip("flax.linen")

    class Network(nn.Module):  # type: ignore[misc, name-defined]
        @nn.compact
        def __call__(self, x: Any, train: bool = False) -> Any:
            x = nn.BatchNorm(use_running_average=not train)(nn.Conv(4, (3, 3))(x))
            x = nn.max_pool(nn.avg_pool(nn.relu(x), (2, 2), (2, 2)), (2, 2), (2, 2))
            return nn.Dense(3)(x.reshape((x.shape[0], -1)))

    return Network()


def test_a_linen_module_with_statistics(tmp_path: Path) -> None:
    model, x = linen_network(), normal(3, 8, 8, 2)
    variables = model.init(jax.random.key(0), x)
    calls = {
        "serving_default": "__call__",
        "train": ExampleCall("__call__", (x,), {"train": True}, None, True),
    }
    module = from_jax.export(
        model, tmp_path / "b", x, variables=variables, signatures=calls, dynamic={"x": {0: "n"}}
    )
    assert {n.split("/")[0] for n, v in module.weights.items() if v.trainable} == {"params"}
    check_gradients(module, model.apply, variables, x)
    answer, new = model.apply(variables, x, train=True, mutable=["batch_stats"])
    np.testing.assert_allclose(module.call_train(x, train=True), answer, rtol=1e-4, atol=1e-5)
    for name, value in named_leaves(dict(new))[0].items():
        np.testing.assert_allclose(module.weights[name], value, rtol=1e-5)


def test_an_nnx_module() -> None:
    nnx = pytest.importorskip("flax.nnx")

    class Network(nnx.Module):  # type: ignore[misc, name-defined]
        def __init__(self, rngs: Any) -> None:
            self.first = nnx.Linear(4, 8, rngs=rngs)
            self.norm = nnx.BatchNorm(8, rngs=rngs)
            self.drop = nnx.Dropout(0.5, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            return self.drop(nnx.relu(self.norm(self.first(x))))

    model, x = Network(nnx.Rngs(0)), normal(5, 4)
    module = from_jax.to_module(model, x, dynamic={"x": {0: "batch"}})
    assert {"first/kernel", "norm/mean"} <= set(module.weights)
    assert not module.weights["norm/mean"].trainable
    model.eval()
    np.testing.assert_allclose(module(x), model(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
def test_networks(kind: str) -> None:
    nn = pytest.importorskip("flax.linen")

    class Transformer(nn.Module):  # type: ignore[misc, name-defined]
        @nn.compact
        def __call__(self, x: Any) -> Any:
            h = nn.LayerNorm()(x)
            x = x + nn.MultiHeadDotProductAttention(num_heads=2)(h, h)
            return x + nn.Dense(8)(nn.gelu(nn.Dense(16)(nn.LayerNorm()(x))))

    class Recurrent(nn.Module):  # type: ignore[misc, name-defined]
        @nn.compact
        def __call__(self, x: Any) -> Any:
            return nn.Dense(3)(nn.RNN(nn.LSTMCell(4))(x)[:, -1])

    model = Transformer() if kind == "transformer" else Recurrent()
    x = normal(2, 5, 8)
    variables = model.init(jax.random.key(0), x)
    module = from_jax.to_module(model, x, variables=variables, dynamic={"x": {0: "batch"}})
    np.testing.assert_allclose(module(x), model.apply(variables, x), rtol=1e-4, atol=1e-5)
    check_gradients(module, model.apply, variables, x)


def layered(kind: str) -> tuple[Any, Any, Any]:
    """A model with several layers, its input, and its variables if they stand beside it."""
    x = normal(3, 4)
    if kind == "linen":
        nn = pytest.importorskip("flax.linen")

        class Linen(nn.Module):  # type: ignore[misc, name-defined]
            @nn.compact
            def __call__(self, x: Any) -> Any:
                x = nn.LayerNorm()(nn.Dense(6)(x[None]))
                return nn.Dense(2)(nn.gelu(x))[0]

        linen = Linen()
        return linen, x, linen.init(jax.random.key(0), x)
    if kind == "nnx":
        nnx = pytest.importorskip("flax.nnx")

        class Nnx(nnx.Module):  # type: ignore[misc, name-defined]
            def __init__(self, rngs: Any) -> None:
                self.first = nnx.Linear(4, 6, rngs=rngs)
                self.norm = nnx.BatchNorm(6, rngs=rngs)
                self.last = nnx.Linear(6, 2, rngs=rngs)

            def __call__(self, x: Any) -> Any:
                return self.last(nnx.relu(self.norm(self.first(x))))

        return Nnx(nnx.Rngs(0)), x, None
    if kind == "equinox":
        nn = pytest.importorskip("equinox").nn
        return nn.MLP(4, 3, 5, 2, activation=jnp.tanh, key=jax.random.key(0)), x[0], None

    @jax.jit
    def function(weights: Any, x: Any) -> Any:
        hidden = jax.nn.gelu(x @ weights["first"]["kernel"] + weights["first"]["bias"])
        return jax.nn.softmax(hidden @ weights["last"])

    first = {"kernel": jnp.asarray(normal(4, 6)), "bias": jnp.zeros(6)}
    return function, x, {"first": first, "last": jnp.asarray(normal(6, 2))}


@pytest.mark.parametrize(
    ("kind", "weight", "first", "last"),
    [
        ("linen", "params/Dense_0/kernel", r"Linen/Dense_0 \(add, test_from_jax.py", None),
        ("linen", "params/LayerNorm_0/bias", r"Linen/LayerNorm_0 \(add", r"Linen/LayerNorm_0 \("),
        ("linen", "params/Dense_1/bias", r"Linen/Dense_1 \(add", r"Linen \(mul"),
        ("nnx", "first/bias", r"first \(add, test_from_jax.py", None),
        ("nnx", "norm/mean", r"norm \(", r"first \("),
        ("nnx", "last/kernel", r"last \(", r"max, test_from_jax.py"),
        ("equinox", "layers/1/bias", r"layers/1 \(add", r".*\(tanh"),
        ("function", "first/bias", r"first \(add", r"first \(dot_general"),
        ("function", "last", r"dot_general, test_from_jax.py", "mul, test_from_jax.py"),
    ],
)
def test_a_difference_names_the_layer_and_leaves_nothing(
    kind: str, weight: str, first: str, last: str | None, tmp_path: Path
) -> None:
    """A weight that goes wrong; where scales are 1 and biases 0, layers give the same."""
    model, x, variables = layered(kind)
    module = from_jax.to_module(model, x, variables=variables)
    save_converted(module, tmp_path / "good")
    wrong = module.weights[weight]
    wrong.assign_add(np.linspace(0.5, 2.0, wrong.shape.num_elements()).reshape(wrong.shape))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not the same") as caught:
        save_converted(module, tmp_path / "bad")
    text = str(caught.value)
    assert re.search(rf"first layer that differs is '{first}", text), text
    agreed = re.search(r"before it agree, the last is '(.*)'", text)
    assert last is None or (agreed and re.match(last, agreed[1])), text
    assert [p.name for p in tmp_path.iterdir()] == ["good"]


def test_a_graph_that_is_another_one_names_the_layer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator that is converted wrongly, once for inference and once for training."""
    original = jax_graphs.to_onnx

    def broken(*args: Any) -> Any:
        proto = original(*args)
        for node in proto.graph.node:
            if node.op_type in ("Gelu", "Tanh"):
                node.op_type = "Softplus"
                del node.attribute[:]
        return proto

    model, x, variables = layered("linen")
    monkeypatch.setattr(jax_graphs, "to_onnx", broken)
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"first layer that differs is 'Linen \(.*the last is 'Linen/LayerNorm_0 \(add",
    ):
        from_jax.export(model, tmp_path / "b", x, variables=variables)
    assert not list(tmp_path.iterdir())


def test_inference_and_training_are_two_signatures(tmp_path: Path) -> None:
    model, x, _ = layered("nnx")
    module = from_jax.export(model, tmp_path / "b", x, training=True)
    assert set(module.signatures) == {"serving_default", "train"}
    loaded = tf.saved_model.load(tmp_path / "b")
    before = module.weights["norm/mean"].numpy()
    model.eval()
    found = loaded.signatures["serving_default"](x=x)["output"]
    np.testing.assert_allclose(found, model(jnp.asarray(x)), rtol=1e-4, atol=1e-5)
    model.train()
    found = loaded.signatures["train"](x=x)["output"]  # with the statistics of these rows
    np.testing.assert_allclose(found, model(jnp.asarray(x)), rtol=1e-4, atol=1e-5)
    mean = module.weights["norm/mean"].numpy()
    np.testing.assert_array_equal(mean, before)  # comparing leaves no trace
    module.call_train(x)
    np.testing.assert_allclose(module.weights["norm/mean"], model.norm.mean[...], rtol=1e-4)


def test_structures_and_an_argument_that_comes_back() -> None:
    def model(batch: Any, scale: float = 2.0) -> Any:
        return {"scaled": batch["u"] * scale, "rest": [batch["v"].sum(), batch["u"]]}

    given = {"u": normal(2, 3), "v": normal(4)}
    module = from_jax.to_module(model, (given,), dynamic={"batch": {"u": {0: "n"}}})
    found = module(given)
    np.testing.assert_allclose(found["scaled"], 2 * given["u"])
    np.testing.assert_array_equal(found["rest"][1], given["u"])


def test_mistakes_say_what_to_do(tmp_path: Path) -> None:
    def branches(x: Any) -> Any:
        return x if x.sum() > 0 else -x

    def draws(x: Any) -> Any:
        return x + jax.random.normal(jax.random.key(0), x.shape)

    x = normal(3, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"use jax\.lax\.cond"):
        from_jax.to_module(branches, x)
    with pytest.raises(tf.errors.UnimplementedError, match="has no ONNX form in jax2onnx"):
        from_jax.to_module(jnp.linalg.eigvals, x)
    with pytest.raises(tf.errors.InvalidArgumentError, match="dynamic has 'y'"):
        from_jax.to_module(lambda x: x, x, dynamic={"y": {0: "n"}})
    with pytest.raises(tf.errors.InvalidArgumentError, match="give them with variables="):
        from_jax.to_module(linen_network(), x)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not the same"):
        from_jax.export(draws, tmp_path / "b", x)
    assert not (tmp_path / "b").exists()
