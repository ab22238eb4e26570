"""Language models that transformers made: what they generate, with the cache as state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import tfx as tf
from tfx.exporters import text_generation
from tfx.importing.text_generation import CacheSlot, TextGenerator
from tfx.loaders import Bundle

# Made by tools/gen_language_models.py.
RECORDS = Path(__file__).parent / "language_models.npz"
MODELS = ("llama", "mistral", "gpt2")


@pytest.fixture(scope="module")
def records() -> Iterator[Any]:
    with np.load(RECORDS) as loaded:
        yield loaded


def _generator(records: Any, name: str, end: bool = False) -> TextGenerator:
    model = renamed(records[f"{name}/model"].tobytes())
    ends = [int(records[f"{name}/end"])] if end else []
    return text_generation.to_generator(model, end_tokens=ends)


def renamed(data: bytes) -> onnx.ModelProto:
    """A recorded model."""
    return onnx.load_from_string(data)


@pytest.mark.parametrize("name", MODELS)
def test_generates_what_transformers_does(records: Any, name: str) -> None:
    generator = _generator(records, name)
    tokens, mask = records[f"{name}/tokens"], records[f"{name}/mask"]
    found = generator.generate(tokens, mask, 12)["tokens"].numpy()
    assert np.array_equal(found, records[f"{name}/free"])


@pytest.mark.parametrize("name", MODELS)
def test_ends_where_transformers_does(records: Any, name: str) -> None:
    generator = _generator(records, name, end=True)
    tokens, mask = records[f"{name}/tokens"], records[f"{name}/mask"]
    found = generator.generate(tokens, mask, 12)["tokens"].numpy()
    wanted = records[f"{name}/ended"]
    assert np.array_equal(found, wanted)
    assert (wanted != records[f"{name}/free"][:, : wanted.shape[1]]).any()  # the end matters


@pytest.mark.parametrize("name", MODELS)
def test_cache_is_state(records: Any, name: str) -> None:
    generator = _generator(records, name)
    tokens, mask = records[f"{name}/tokens"], records[f"{name}/mask"]
    wanted = records[f"{name}/free"]
    logits = generator.prefill(tokens, mask)["logits"].numpy()
    exact = records[f"{name}/logits"]
    assert np.abs(logits - exact).max() <= 1e-4 * np.abs(exact).max()
    for place in range(tokens.shape[1], wanted.shape[1]):
        assert np.array_equal(logits.argmax(-1), wanted[:, place])
        logits = generator.decode(wanted[:, place])["logits"].numpy()
    assert all(c.value().shape[2] == wanted.shape[1] for c in generator.cache.values())
    # A new prompt begins anew, with another batch.
    again = generator.prefill(tokens[:1])["logits"].numpy()
    assert np.abs(again - exact[:1]).max() <= 1e-4 * np.abs(exact).max()


def test_saved_generator_runs_in_onnxruntime(records: Any, tmp_path: Path) -> None:
    generator = _generator(records, "llama", end=True)
    tokens, mask = records["llama/tokens"], records["llama/mask"]
    tf.saved_model.save(generator, str(tmp_path / "bundle"), signatures=generator.signatures)
    settings = {
        "max_new_tokens": np.array(12, np.int32),
        "temperature": np.array(0, np.float32),
        "top_k": np.array(0, np.int32),
        "seed": np.array(0, np.int64),
    }
    given = {"input_ids": tokens, "attention_mask": mask}
    session = onnxruntime.InferenceSession(tmp_path / "bundle" / "generate.onnx")
    (found,) = session.run(["tokens"], {**given, **settings})
    assert np.array_equal(found, records["llama/ended"])
    with Bundle.open(tmp_path / "bundle") as bundle:
        before = bundle.call("prefill", given)["logits"]
        after = bundle.call("decode", {"tokens": before.argmax(-1)})["logits"]
        found = bundle.call("generate", {**given, **settings})["tokens"]
    assert np.array_equal(after.argmax(-1), records["llama/free"][:, 7])
    assert np.array_equal(found, records["llama/ended"])


def test_loaded_generator_goes_on(records: Any, tmp_path: Path) -> None:
    generator = _generator(records, "gpt2")
    tokens = records["gpt2/tokens"][:1]
    generator.prefill(tokens)
    tf.saved_model.save(generator, str(tmp_path / "bundle"), signatures=generator.signatures)
    loaded = tf.saved_model.load(str(tmp_path / "bundle"))
    following = records["gpt2/free"][:1, 6]
    found = loaded.signatures["decode"](tokens=tf.constant(following))["logits"].numpy()
    assert found.argmax() == records["gpt2/free"][0, 7]


def test_a_conversation_is_saved_again_by_a_loader(records: Any, tmp_path: Path) -> None:
    generator = _generator(records, "gpt2")
    tokens, wanted = records["gpt2/tokens"][:1], records["gpt2/free"][:1]
    tf.saved_model.save(generator, str(tmp_path / "new"), signatures=generator.signatures)
    folder = tmp_path / "new"
    assert any(tmp_path.glob("new/variables/model.safetensors"))
    with Bundle.open(folder) as bundle:
        bundle.call("prefill", {"input_ids": tokens, "attention_mask": np.ones_like(tokens)})
        bundle.save(tmp_path / "0")
    for number, place in enumerate(range(tokens.shape[1], wanted.shape[1] - 1)):
        with Bundle.open(tmp_path / str(number), verify=True) as bundle:
            logits = bundle.call("decode", {"tokens": wanted[:, place]})["logits"]
            bundle.save(tmp_path / str(number + 1))  # one token longer
            cached = bundle.variables["mask"].shape
        assert cached == (1, place + 1)
        assert logits.argmax() == wanted[0, place + 1]
    assert number > 2
    loaded = tf.saved_model.load(str(tmp_path / str(number + 1)))
    assert loaded.mask.value().shape == cached


def test_draws_are_of_the_likeliest_tokens_and_repeat(records: Any) -> None:
    generator = _generator(records, "llama")
    tokens = records["llama/tokens"][:1].repeat(64, 0)
    logits = generator.prefill(tokens[:1])["logits"].numpy()[0]
    options: dict[str, Any] = {"temperature": 2.0, "top_k": 3, "seed": 5}
    first = generator.generate(tokens, None, 1, **options)["tokens"].numpy()
    again = generator.generate(tokens, None, 1, **options)["tokens"].numpy()
    other = generator.generate(tokens, None, 1, **{**options, "seed": 6})["tokens"].numpy()
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    likeliest = set(np.argsort(-logits)[:3].tolist())
    assert set(first[:, -1].tolist()) <= likeliest
    assert len(set(first[:, -1].tolist()) | set(other[:, -1].tolist())) > 1


def test_frequencies_of_draws_follow_the_softmax() -> None:
    logits = np.log(np.array([0.5, 0.3, 0.15, 0.05], np.float32))

    def fixed(tokens: Any, mask: Any, positions: Any, cache: Any) -> Any:
        rows = tf.ones([tf.shape(tokens)[0], 1, 1])
        seen = tf.concat([cache[0], tf.cast(tokens, tf.float32)[:, :, None]], 1)
        return rows * tf.constant(logits), [seen]

    slot = CacheSlot("seen", (None, None, 1))
    generator = TextGenerator(tf.Module(), fixed, [slot])
    found = generator.generate(np.zeros([4000, 1]), None, 3, temperature=1.0, seed=1)
    counts = np.bincount(found["tokens"].numpy()[:, 1:].reshape(-1), minlength=4) / 12000
    assert np.abs(counts - [0.5, 0.3, 0.15, 0.05]).max() < 0.02


@pytest.mark.parametrize("count", [0, 1])
def test_adds_no_more_than_it_is_told(records: Any, count: int) -> None:
    generator = _generator(records, "gpt2")
    tokens = records["gpt2/tokens"]
    found = generator.generate(tokens, records["gpt2/mask"], count)["tokens"].numpy()
    assert np.array_equal(found, records["gpt2/free"][:, : tokens.shape[1] + count])


def test_weights_train_through_the_network(records: Any) -> None:
    generator = _generator(records, "llama")
    assert len(generator.network.trainable_variables) > 10
    assert not any(v.trainable for v in generator.cache.values())


def test_wrong_models_and_prompts_are_named(records: Any) -> None:
    generator = _generator(records, "gpt2")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"expected \[batch, prompt\]"):
        generator.generate([1, 2, 3])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"attention_mask has the shape"):
        generator.prefill([[1, 2]], [[1]])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"expected two sizes that are None"):
        TextGenerator(tf.Module(), lambda *a: a, [CacheSlot("k", (None, 2, 4))])
    other = tf.function(lambda x: x * 2.0)
    proto = other.get_concrete_function(tf.TensorSpec(["n"], tf.float32, name="x")).as_onnx()
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected one that is called 'input_"):
        text_generation.to_generator(proto)
    proto = onnx.load_from_string(records["gpt2/model"].tobytes())
    del proto.graph.output[-1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected as many"):
        text_generation.to_generator(proto)
