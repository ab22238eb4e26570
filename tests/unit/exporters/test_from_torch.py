"""Torch models against torch itself: answers, state, gradients, steps, bundles, weights."""

from __future__ import annotations

import contextlib
import copy
import io
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests import documents
from tfx import loaders as tf_loaders
from tfx.core.errors import InvalidArgumentError, PermissionDeniedError, UnimplementedError
from tfx.exporters import (
    from_safetensors,
    from_torch,
    text_generation,
    to_numpy,
    to_safetensors,
    to_torch,
    torch_graphs,
)
from tfx.exporters.example_calls import ExampleCall
from tfx.exporters.torch_weights import TorchWeights
from tfx.importing.compare_answers import compare_answers
from tfx.importing.converted_module import ConvertedModule

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
samples = pytest.importorskip("tests.unit.exporters.torch_samples")

_TOLERANCE = {"rtol": 1e-5, "atol": 1e-5}


def _array(tensor: Any) -> Any:
    return tensor.detach().cpu().numpy()


def _close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, _array(expected), **_TOLERANCE)


@pytest.fixture(scope="module")
def tied() -> tuple[Any, ConvertedModule]:
    torch.manual_seed(0)
    model = samples.Tied()
    module = from_torch.to_module(
        model,
        torch.randn(3, 4),
        signatures={
            "serving_default": "forward",
            "masked": ExampleCall("forward", (torch.randn(3, 4), torch.ones(4))),
            "encode": ("encode", (torch.randn(3, 4),)),
        },
        dynamic={"x": {0: "batch"}},
        training=True,
    )
    return model, module


def test_names_ties_and_flags(tied: Any) -> None:
    model, module = tied
    assert {*module.weights} == {
        n for n, _ in [*model.named_parameters(remove_duplicate=False), *model.named_buffers()]
    }
    assert module.tied == {"last.weight": "first.weight"}
    assert module.weights["last.weight"] is module.weights["first.weight"]
    # Biases of equal values stay two.
    assert module.weights["first.bias"] is not module.weights["last.bias"]
    assert {v.name for v in module.trainable_variables} == {
        f"{n}:0" for n, _ in model.named_parameters()
    }
    assert model.training  # as it was
    assert int(model.calls) == 0


def test_inference_is_the_model_s(tied: Any) -> None:
    model, module = copy.deepcopy(tied[0]).eval(), copy.deepcopy(tied[1])
    x = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
    found, expected = module(x), model(torch.tensor(x))
    assert [*found] == ["logits", "hidden"]
    assert isinstance(found["hidden"], tuple)
    _close(found["logits"], expected["logits"])
    _close(found["hidden"][1], expected["hidden"][1])
    assert int(module.weights["calls"].numpy()) == int(model.calls) == 1
    _close(module.encode(x), model.encode(torch.tensor(x)))
    masked = module.masked(x, np.array([0, 1, 0, 1], np.float32))
    _close(masked["logits"], model(torch.tensor(x), torch.tensor([0.0, 1, 0, 1]))["logits"])


def test_training_keeps_statistics_and_dropout(tied: Any) -> None:
    model, module = copy.deepcopy(tied[0]).train(), copy.deepcopy(tied[1])
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=(6, 4)).astype(np.float32)
        _close(module.forward_train(x)["logits"], model(torch.tensor(x))["logits"])
    for name, buffer in model.named_buffers():
        _close(module.weights[name].numpy(), buffer)
    dropping = from_torch.to_module(samples.Tied(0.5), torch.randn(64, 4), training=True)
    assert compare_answers(dropping) < 1e-5  # what is random is not compared
    x = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
    first, second = (dropping.forward_train(x)["hidden"][0].numpy() for _ in range(2))
    assert 0.3 < np.mean(first == 0) < 0.7  # the values before are none of them 0
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_gradients_and_steps_are_torch_s(name: str) -> None:
    torch.manual_seed(1)
    model = samples.Convolutions().eval()
    module = from_torch.to_module(model, torch.randn(2, 3, 8, 8), dynamic={"x": {0: "batch"}})
    ours = {"SGD": tf.optimizers.SGD(0.1), "Adam": tf.optimizers.Adam(0.01, epsilon=1e-8)}[name]
    theirs = {
        "SGD": lambda p: torch.optim.SGD(p, 0.1),
        "Adam": lambda p: torch.optim.Adam(p, 0.01, eps=1e-8),
    }[name](model.parameters())
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(4, 3, 8, 8)).astype(np.float32), rng.normal(size=(4, 5)).astype("f4")
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(module(x) - y))
    variables = {n: v for n, v in module.weights.items() if v.trainable}
    gradients = tape.gradient(loss, [*variables.values()])
    expected = torch.mean(torch.square(model(torch.tensor(x)) - torch.tensor(y)))
    expected.backward()
    _close(loss, expected)
    parameters = dict(model.named_parameters())
    assert {*parameters} == {*variables}
    for key, gradient in zip(variables, gradients, strict=True):
        _close(gradient, parameters[key].grad)
    theirs.step()
    ours.apply_gradients(zip(gradients, variables.values(), strict=True))
    if name == "SGD":  # Adam divides rounding errors by rounding errors where a gradient is 0
        for key, variable in variables.items():
            _close(variable, parameters[key])
    else:
        for key, variable in variables.items():
            large = np.abs(_array(parameters[key].grad)) > 1e-4
            np.testing.assert_allclose(
                variable.numpy()[large], _array(parameters[key])[large], rtol=1e-4, atol=1e-4
            )


def test_it_is_trained_on_in_training_mode() -> None:
    torch.manual_seed(2)
    module = from_torch.to_module(
        samples.Tied(), torch.randn(8, 4), dynamic={"x": {0: "n"}}, training=True
    )
    optimizer = tf.optimizers.Adam(0.05)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(32, 4)).astype(np.float32)
    y = np.roll(x, 1, axis=1)

    @tf.function
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(module.forward_train(x)["logits"] - y))
        variables = module.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    losses = [float(step(x, y)) for _ in range(60)]
    assert losses[-1] < 0.6 * losses[0]
    assert int(module.weights["norm.num_batches_tracked"].numpy()) == 60


def test_structures_constants_and_arguments_that_are_results() -> None:
    model = samples.Nested().eval()
    a, b, c = (torch.randn(2, 3) for _ in range(3))
    module = from_torch.to_module(
        model, ({"a": a, "b": (b, c)}, a, b), {"scale": torch.tensor(2.0)}
    )
    found = module({"a": a.numpy(), "b": [b.numpy(), c.numpy()]}, a.numpy(), b.numpy(), scale=2.0)
    expected = model({"a": a, "b": (b, c)}, a, b, scale=torch.tensor(2.0))
    _close(found["total"], expected.total)
    np.testing.assert_array_equal(found["parts"][0], c)
    assert found["parts"][1:] == [None, 3]
    with pytest.raises(InvalidArgumentError, match="flag is True, expected False"):
        module(
            {"a": a.numpy(), "b": [b.numpy(), c.numpy()]},
            a.numpy(),
            b.numpy(),
            scale=2.0,
            flag=True,
        )


def test_several_calls_of_one_method() -> None:
    model = samples.Tied().eval()
    x, mask = torch.randn(2, 4), torch.ones(4)
    module = from_torch.to_module(
        model,
        signatures={"serving_default": [("forward", (x,)), ("forward", (x, mask))]},
    )
    _close(module(x.numpy())["logits"], model(x)["logits"])
    _close(module(x.numpy(), mask=mask.numpy())["logits"], model(x, mask)["logits"])
    with pytest.raises(InvalidArgumentError, match="mask"):
        module(x.numpy(), "mask")


def test_a_buffer_that_is_replaced_is_state() -> None:
    model = samples.Cache().eval()
    module = from_torch.to_module(model, torch.ones(1, 2))
    for value in (1.0, 2.0):
        x = np.full((1, 2), value, np.float32)
        _close(module(x), model(torch.tensor(x)))
    _close(module.weights["seen"], model.seen)


def test_bundle_has_the_source_s_answers(tied: Any, tmp_path: Path) -> None:
    ort = pytest.importorskip("onnxruntime")
    model = copy.deepcopy(tied[0]).eval()
    module = from_torch.export(
        model, tmp_path / "m", torch.randn(1, 4), dynamic={"x": {0: "batch"}}, training=True
    )
    loaded = tf.saved_model.load(tmp_path / "m")
    assert {*loaded.signatures} == {"serving_default", "train"}
    x = np.random.default_rng(3).normal(size=(7, 4)).astype(np.float32)
    expected = model(torch.tensor(x))
    _close(loaded.signatures["serving_default"](x=x)["logits"], expected["logits"])
    _close(loaded.forward(x)["hidden"][0], expected["hidden"][0])
    assert loaded.weights["last.weight"] is loaded.weights["first.weight"]
    proto = module.as_onnx(tmp_path / "plain.onnx")
    assert {"first.weight", "first.bias", "last.bias"} <= {t.name for t in proto.graph.initializer}
    session = ort.InferenceSession(str(tmp_path / "plain.onnx"))
    _close(session.run(["logits"], {"x": x})[0], expected["logits"])
    sizes = os.path.getsize(tmp_path / "m" / "variables" / "model.safetensors")
    assert sizes < 4096  # once, for two signatures
    report = tf_loaders.verify(tmp_path / "m")
    assert report.is_ok
    recorded = [c for c in report.checks if "as recorded" in c.detail]
    assert recorded  # torch's own answers


def test_a_difference_names_the_layer_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = samples.Convolutions().eval()
    original = torch_graphs.convert

    def broken(*args: Any) -> Any:
        converted = original(*args)
        for node in converted.graph.model.graph.node:
            if node.op_type == "MaxPool":
                node.op_type = "AveragePool"
                kept = [a for a in node.attribute if a.name in ("kernel_shape", "strides")]
                del node.attribute[:]
                node.attribute.extend(kept)
        return converted

    monkeypatch.setattr("tfx.exporters.from_torch.convert", broken)
    with pytest.raises(InvalidArgumentError, match=r"first layer that differs is 'body.3"):
        from_torch.export(model, tmp_path / "m", torch.randn(2, 3, 8, 8))
    assert not [*tmp_path.iterdir()]


def test_weights_there_and_back(tied: Any, tmp_path: Path) -> None:
    model, module = tied
    state, expected = to_torch(module), model.state_dict()
    assert [*sorted(state)] == [*sorted(expected)]
    assert all(torch.equal(state[n], expected[n]) for n in expected)
    assert state["last.weight"] is state["first.weight"]
    samples.Tied().load_state_dict(state)
    to_safetensors(module, tmp_path / "w.safetensors")
    other = copy.deepcopy(module)
    for variable in other.variables:
        variable.assign(tf.zeros_like(variable))
    report = from_safetensors.load_into(other, tmp_path / "w.safetensors")
    assert not report.missing
    arrays, again = to_numpy(module), to_numpy(other)
    assert all(
        again[n].tobytes() == arrays[n].tobytes() for n in arrays if n not in module.unstored
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "int8", "bool", "complex64"])
def test_dtypes_there_and_back(dtype: str) -> None:
    kind = getattr(torch, dtype)
    model = torch.nn.Module()
    model.register_buffer("value", torch.randn(5).mul(3).to(kind))
    model.forward = lambda x: x
    weights = TorchWeights.of_module("m", model).variables()
    holder = tf.Module()
    holder.value = tf.Variable(weights["value"].value)
    assert torch.equal(to_torch(holder)["value"], model.value)


def test_copies_and_pickles(tied: Any) -> None:
    _, module = tied
    x = np.ones((2, 4), np.float32)
    expected = module.encode(x).numpy()
    again = pickle.loads(pickle.dumps(module))
    other = copy.deepcopy(module)
    other.weights["first.weight"].assign(tf.zeros([4, 4]))
    np.testing.assert_array_equal(again.encode(x), expected)
    np.testing.assert_array_equal(module.encode(x), expected)
    assert not np.array_equal(other.encode(x), expected)
    assert again.weights["last.weight"] is again.weights["first.weight"]


def test_the_module_does_not_share_torch_s_memory() -> None:
    model = torch.nn.Linear(2, 2)
    module = from_torch.to_module(model, torch.ones(1, 2))
    before = module.weights["weight"].numpy().copy()
    with torch.no_grad():
        model.weight.zero_()
    np.testing.assert_array_equal(module.weights["weight"].numpy(), before)


def test_exported_programs_and_files(tmp_path: Path) -> None:
    model = samples.Tied().eval()
    x = torch.randn(3, 4)
    program = torch.export.export(model, (x,), dynamic_shapes={"x": {0: torch.export.Dim("n")}})
    module = from_torch.to_module(program)
    _close(module(x.numpy())["logits"], model(x)["logits"])
    assert module.tied == {"last.weight": "first.weight"}
    torch.export.save(program, tmp_path / "m.pt2")
    with pytest.raises(PermissionDeniedError, match="allow_pickle"):
        from_torch.to_module(tmp_path / "m.pt2")
    loaded = from_torch.export(tmp_path / "m.pt2", tmp_path / "m", allow_pickle=True)
    _close(loaded(x.numpy())["logits"], model(x)["logits"])
    with pytest.raises(InvalidArgumentError, match="forward alone"):
        from_torch.to_module(program, signatures={"encode": "encode"})
    (tmp_path / "bad.pt2").write_bytes(b"nothing")
    with pytest.raises(InvalidArgumentError, match=r"bad\.pt2"):
        from_torch.to_module(tmp_path / "bad.pt2", allow_pickle=True)


@pytest.mark.parametrize(
    ("model", "dynamic", "error", "message"),
    [
        ("Branches", None, UnimplementedError, r"contents of a tensor.*torch_samples\.py:\d+"),
        ("NoConversion", None, UnimplementedError, r"bessel_j0 in layer 'inner'.*torch_samples"),
        ("InPlace", None, InvalidArgumentError, "changes its argument 'x' in place"),
        ("Tied", {"x": {1: "width"}}, InvalidArgumentError, "'width', but the model fixes it.*4"),
        ("Tied", {"y": {0: "n"}}, InvalidArgumentError, "'y', which is no argument"),
        ("Tied", {"x": {2: "n"}}, InvalidArgumentError, "axis 2"),
        ("Tied", {"x": "batch"}, InvalidArgumentError, "expected names by axis"),
    ],
)
def test_errors_name_what_and_where(
    model: str, dynamic: Any, error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        from_torch.export(
            getattr(samples, model)().eval(), tmp_path / "m", torch.randn(3, 4), dynamic=dynamic
        )
    assert not [*tmp_path.iterdir()]


def test_other_mistakes() -> None:
    model = samples.Tied()
    with pytest.raises(InvalidArgumentError, match="no method 'decode'"):
        from_torch.to_module(model, torch.ones(2, 4), signatures={"a": "decode"})
    with pytest.raises(InvalidArgumentError, match="cannot be called with the example"):
        from_torch.to_module(model)
    with pytest.raises(InvalidArgumentError, match="meta device"):
        with torch.device("meta"):
            meta = samples.Tied()
        from_torch.to_module(meta, torch.ones(2, 4))
    with pytest.raises(InvalidArgumentError, match=r"expected a torch\.nn\.Module"):
        from_torch.to_module(3)


def test_the_guide_s_program_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (program,) = documents.blocks("docs/models-in.md", "python")
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        documents.run(program)
    assert printed.getvalue().startswith("['encode', 'encode_train', 'serving_default', 'train']")
    assert {*tf.saved_model.load("trained").signatures} >= {"train", "encode"}


class _Cache:
    """Results that are made of tensors by code which makes tensors, as transformers' caches are."""

    def __init__(self, values: list[Any]) -> None:
        self.values = [torch.cat([torch.tensor([]), value]) for value in values]


class _Caching(torch.nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, *tensors: Any) -> Any:
        return {"y": self.linear(tensors[0]) - tensors[1], "cache": _Cache([tensors[0][0]])}


def test_results_that_make_tensors_and_any_number_of_arguments(tmp_path: Path) -> None:
    pytree = torch.utils._pytree
    pytree.register_pytree_node(
        _Cache, lambda c: (c.values, None), lambda values, _: _Cache(list(values))
    )
    model, x = _Caching(), [torch.randn(3, 2), torch.randn(3, 2)]
    module = from_torch.export(model, tmp_path / "m", tuple(x))
    expected = model(*x)
    _close(module(*[_array(t) for t in x])["y"], expected["y"])
    loaded = tf.saved_model.load(tmp_path / "m")
    _close(loaded(*[_array(t) for t in x])["y"], expected["y"])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_language_model_with_its_cache() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        n_layer=1, n_head=2, n_embd=8, vocab_size=11, n_positions=16, bos_token_id=1, eos_token_id=2
    )
    model = transformers.GPT2LMHeadModel(config).eval()
    tokens = torch.randint(0, 11, (2, 5))
    axes = {"input_ids": {0: "batch", 1: "length"}}
    module = from_torch.to_module(model, kwargs={"input_ids": tokens}, dynamic=axes)
    assert compare_answers(module) < 1e-4
    other = torch.randint(0, 11, (3, 7))
    _close(module(input_ids=_array(other))["logits"], model(other).logits)
    with pytest.raises(InvalidArgumentError, match="pad with is 50256, expected one of the 11"):
        text_generation.to_generator(model, pad_token=50256)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_mixture_of_experts_of_transformers() -> None:
    """Its usual operator has no form in ONNX; the other way is only taken while it is traced."""
    transformers = pytest.importorskip("transformers")
    config = transformers.MixtralConfig(
        hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, num_local_experts=4, vocab_size=17, use_cache=False,
    )  # fmt: skip
    model = transformers.MixtralForCausalLM(config).eval()
    model.set_experts_implementation("grouped_mm")
    tokens = torch.randint(0, 17, (2, 5))
    axes = {"input_ids": {0: "batch", 1: "length"}}
    module = from_torch.to_module(model, kwargs={"input_ids": tokens}, dynamic=axes)
    assert model.get_experts_implementation()[""] == "grouped_mm"
    assert compare_answers(module) < 1e-4
    other = torch.randint(0, 17, (3, 7))
    _close(module(input_ids=_array(other))["logits"], model(other).logits)
    model(tokens).logits.square().sum().backward()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(module(input_ids=_array(tokens))["logits"]))
    name = "model.layers.0.mlp.experts.down_proj"
    found = tf.convert_to_tensor(tape.gradient(loss, module.weights[name]))
    _close(found, dict(model.named_parameters())[name].grad)
