"""What TensorFlow's guide to saved models does, step by step, and calls in all their forms."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.core import errors


class CustomModule(tf.Module):
    """A factor that can be changed."""

    def __init__(self) -> None:
        super().__init__()
        self.v = tf.Variable(1.0)

    @tf.function
    def __call__(self, x: Any) -> Any:
        """Multiply."""
        return x * self.v

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def mutate(self, new_v: Any) -> None:
        """Change the factor."""
        self.v.assign(new_v)


def test_a_custom_module(tmp_path: Path) -> None:
    module = CustomModule()
    module(tf.constant(0.0))
    tf.saved_model.save(module, tmp_path / "m")
    imported = tf.saved_model.load(tmp_path / "m")
    assert float(imported(tf.constant(3.0))) == 3
    imported.mutate(tf.constant(2.0))
    assert float(imported(tf.constant(3.0))) == 6
    assert len(imported.signatures) == 0
    with pytest.raises(ValueError, match="Could not find matching concrete function"):
        imported(tf.constant([3.0]))


def test_fine_tuning(tmp_path: Path) -> None:
    module = CustomModule()
    module(tf.constant(0.0))
    tf.saved_model.save(module, tmp_path / "m")
    imported = tf.saved_model.load(tmp_path / "m")
    optimizer = tf.optimizers.SGD(0.05)

    def train_step() -> float:
        with tf.GradientTape() as tape:
            loss = (10.0 - imported(tf.constant(2.0))) ** 2
        variables = tape.watched_variables()
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return float(loss)

    losses = [train_step() for _ in range(10)]
    assert losses[0] == 64
    assert losses[-1] < 0.01


def test_signatures(tmp_path: Path) -> None:
    module = CustomModule()
    call = module.__call__.get_concrete_function(tf.TensorSpec(None, tf.float32))
    array = module.__call__.get_concrete_function(tf.TensorSpec([None], tf.float32))
    signatures = {"serving_default": call, "array_input": array}
    tf.saved_model.save(module, tmp_path / "m", signatures=signatures)
    back = tf.saved_model.load(tmp_path / "m")
    assert list(back.signatures.keys()) == ["serving_default", "array_input"]
    serving = back.signatures["serving_default"]
    assert serving(x=tf.constant([1.0, 2.0]))["output_0"].numpy().tolist() == [1, 2]
    assert [len(serving.inputs), len(serving.outputs), len(serving.variables)] == [2, 1, 1]


def test_a_mistaken_signature_is_told_the_nearest(tmp_path: Path) -> None:
    module = CustomModule()
    call = module.__call__.get_concrete_function(tf.TensorSpec(None, tf.float32))
    tf.saved_model.save(module, tmp_path / "m", signatures=call)
    signatures = tf.saved_model.load(tmp_path / "m").signatures
    with pytest.raises(KeyError) as caught:
        signatures["serving_defualt"]
    assert isinstance(caught.value, errors.NotFoundError)
    assert str(caught.value) == (
        "there is no signature 'serving_defualt' (did you mean 'serving_default'?); the bundle has "
        "'serving_default'"
    )
    assert signatures.get("other") is None
    assert "other" not in signatures


@pytest.mark.parametrize(("tags", "good"), [(None, True), ("serve", True), (["serve"], True),
                                            ("train", False), (["serve", "gpu"], False)],
                         ids=["none", "text", "list", "other", "more"])  # fmt: skip
def test_tags(tmp_path: Path, tags: Any, good: bool) -> None:
    tf.saved_model.save(tf.Module(), tmp_path / "m")
    if good:
        tf.saved_model.load(tmp_path / "m", tags)
        return
    with pytest.raises(ValueError, match="incompatible argument to `tags`"):
        tf.saved_model.load(tmp_path / "m", tags)


def test_the_path_of_an_asset_follows_the_bundle(tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("one\ntwo\n")

    class Reader(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.asset = tf.saved_model.Asset(words)

        @tf.function(input_signature=[tf.TensorSpec([], tf.bool)])
        def path(self, twice: Any) -> Any:
            """The path, also out of a branch."""
            other = tf.cond(twice, lambda: self.asset.asset_path, lambda: tf.constant("no"))
            return self.asset.asset_path, other

    tf.saved_model.save(Reader(), tmp_path / "m")
    assert str(tmp_path).encode() not in (tmp_path / "m" / "serving_default.onnx").read_bytes()
    words.unlink()
    (tmp_path / "m").rename(tmp_path / "moved")
    for folder in ("moved", "again"):
        back = tf.saved_model.load(tmp_path / folder)
        place = tmp_path / folder / "assets" / "words.txt"
        assert back.asset.path == place
        found = [item.numpy().decode() for item in back.path(tf.constant(True))]
        assert found == [str(place)] * 2
        assert Path(found[0]).read_text() == "one\ntwo\n"
        if folder == "moved":
            tf.saved_model.save(back, tmp_path / "again")


def test_tables(tmp_path: Path) -> None:
    module = tf.Module()
    words = tf.lookup.KeyValueTensorInitializer(["emerson", "lake"], [10, 20])
    ids = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
    module.tables = {"one": tf.lookup.StaticHashTable(words, -1, name="words")}
    module.vocabulary = tf.lookup.StaticVocabularyTable(ids, 1)
    module.look = tf.function(
        lambda w: (module.tables["one"][w], module.vocabulary[w]),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    tf.saved_model.save(module, tmp_path / "m")
    asked = tf.constant(["lake", "b", "x"])
    for folder in ("m", "again"):
        back = tf.saved_model.load(tmp_path / folder)
        table = back.tables["one"]
        assert table.name == "words"
        assert table.lookup(asked).numpy().tolist() == [20, -1, -1]
        assert [found.numpy().tolist() for found in back.look(asked)] == [[20, -1, -1], [2, 1, 2]]
        extended = tf.function(lambda w, back=back: back.tables["one"][w] + 1)
        assert extended(asked).numpy().tolist() == [21, 0, 0]
        assert back.vocabulary.num_oov_buckets == 1
        if folder == "m":
            tf.saved_model.save(back, tmp_path / "again")


@dataclasses.dataclass
class Power:
    """A tensor and a plain number."""

    base: Any
    times: int = 2

    def __tf_flatten__(self) -> tuple[Any, Any]:
        """The number is no tensor."""
        return (self.times,), (self.base,)

    @classmethod
    def __tf_unflatten__(cls, metadata: Any, components: Any) -> Power:
        """Make one."""
        return cls(components[0], *metadata)


def test_what_a_dataclass_has_beside_tensors_counts(tmp_path: Path) -> None:
    module = tf.Module()
    module.f = tf.function(lambda p: p.base ** float(p.times))
    for times in (2, 3):
        module.f(Power(tf.constant(1.0), times))
    tf.saved_model.save(module, tmp_path / "m")
    for folder in ("m", "again"):
        back = tf.saved_model.load(tmp_path / folder)
        assert float(back.f(Power(tf.constant(2.0), 2))) == 4
        assert float(back.f(Power(tf.constant(2.0), 3))) == 8
        with pytest.raises(ValueError, match="Could not find matching"):
            back.f(Power(tf.constant(2.0), 4))
        if folder == "m":
            tf.saved_model.save(back, tmp_path / "again")


@dataclasses.dataclass(frozen=True)
class Settings:
    """Plain data, and a place for a tensor."""

    scale: float = 2.0
    bias: Any = None


def test_plain_dataclasses_are_arguments_and_results(tmp_path: Path) -> None:
    module = tf.Module()

    @tf.function
    def f(x: Any, settings: Settings = Settings(5.0)) -> Settings:
        y = x * settings.scale
        return Settings(0.0, y if settings.bias is None else y + settings.bias)

    module.f = f
    one = tf.constant(1.0)
    calls = [(), (Settings(),), (Settings(3.0, one),)]
    expected = [float(f(one, *args).bias) for args in calls]
    assert expected == [5.0, 2.0, 4.0]
    tf.saved_model.save(module, tmp_path / "m")
    for folder in ("m", "again"):
        back = tf.saved_model.load(tmp_path / folder)
        assert [float(back.f(one, *args).bias) for args in calls] == expected
        for other in (Settings(4.0), Settings(3.0), {"scale": 2.0, "bias": None}):
            with pytest.raises(ValueError, match="argument 'settings'"):
                back.f(one, other)
        if folder == "m":
            tf.saved_model.save(back, tmp_path / "again")


class Tree(tf.Module):
    """Arguments of every kind."""

    @tf.function
    def f(self, x: Any, training: bool = False, scale: Any = None, *, extra: Any = None) -> Any:
        """A function with defaults."""
        y = x["a"] + x["b"][0]
        if training:
            y = y * 2.0
        if scale is not None:
            y = y * scale
        return [y if extra is None else y + extra, {"z": (y, None)}]


def test_a_loaded_object_is_called_like_the_original(tmp_path: Path) -> None:
    tree = Tree()
    x = {"a": tf.constant(1.0), "b": (tf.constant(2.0),)}
    calls: list[tuple[tuple[Any, ...], dict[str, Any], float]] = [
        ((x,), {}, 3),
        ((x, True), {}, 6),
        ((x,), {"training": True}, 6),
        ((x, True, tf.constant(3.0)), {}, 18),
        ((x,), {"extra": tf.constant(5.0)}, 8),
        ((), {"x": x, "training": False, "scale": None}, 3),
        (({"b": [tf.constant(2.0)], "a": tf.constant(1.0)},), {}, 3),
        (({"a": 1.0, "b": [np.float32(2)]},), {}, 3),
    ]
    for args, kwargs, _ in calls[:5]:
        tree.f(*args, **kwargs)
    tf.saved_model.save(tree, tmp_path / "m")
    back = tf.saved_model.load(tmp_path / "m")
    for args, kwargs, expected in calls:
        found = back.f(*args, **kwargs)
        assert float(found[0]) == expected
        assert (type(found), type(found[1]["z"]), found[1]["z"][1]) == (list, tuple, None)
    with pytest.raises(ValueError, match="it was saved with 4 traces"):
        back.f(x, True, extra=tf.constant(1.0))
