"""Ways to damage a bundle, and the question whether the damage was noticed."""

from __future__ import annotations

import dataclasses
import hashlib
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tfx as tf
from tests.unit.saved_model.models import Trainer, batch, numbers
from tfx.bundle.manifest import MANIFEST_NAME, Manifest, manifest_bytes, read_manifest

EXPECTED = "expected.npz"


def make_bundle(folder: Path) -> None:
    """A bundle with all kinds of files: variables, an asset, functions of several forms."""
    model = Trainer()
    model.train_step(*batch())
    words = folder.parent / "words.txt"
    words.write_text("some words")
    model.words = tf.saved_model.Asset(words)
    model.options = {"a": [1, (2.5, None)], "names": ("x", b"y")}
    model.text = tf.Variable(["a", "bc"])
    model.flags = tf.Variable([True, False])
    big = tf.constant(numbers(40, 40))
    inner = tf.function(lambda x: x @ big)
    spec = tf.TensorSpec([None, 40], tf.float32)
    model.square = tf.function(lambda x: {"y": inner(inner(x))}, input_signature=[spec])
    signatures = {**model.signatures, "square": model.square}
    # Examples are no part of what is loaded: damage of theirs is found by whoever replays them.
    options = tf.saved_model.SaveOptions(examples=False)
    tf.saved_model.save(model, folder, signatures=signatures, options=options)


class Outcome(dict[str, np.ndarray]):
    """Arrays by name that do not fill a page when a test fails."""

    def __repr__(self) -> str:
        return "<outcome>"


def outcome(folder: Path) -> Outcome:
    """Everything that a bundle gives: variables, plain data, results of all signatures."""
    back = tf.saved_model.load(folder)
    found = Outcome()
    found.update({f"v{i}": v.numpy() for i, v in enumerate(back.variables)})
    found["options"] = np.array(repr(getattr(back, "options", None)))
    found["words"] = np.array(back.words.path.read_text())
    x, y = batch(3)
    found["logits"] = back.signatures["serving_default"](x=x)["logits"].numpy()
    found["method"] = back.predict(x)["logits"].numpy()
    found["square"] = back.signatures["square"](x=tf.constant(numbers(2, 40)))["y"].numpy()
    found["loss"] = back.signatures["train_step"](x=x, y=y)["loss"].numpy()
    found["w"] = back.w.numpy()
    return found


def same(one: Outcome, other: Outcome) -> bool:
    return one.keys() == other.keys() and all(
        one[k].dtype == other[k].dtype and np.array_equal(one[k], other[k]) for k in one
    )


def noticed(folder: Path, expected: Outcome) -> str | None:
    """The message of the error, or None if the bundle is as good as it was.

    Raises:
        AssertionError: the bundle gave something wrong.
    """
    try:
        found = outcome(folder)
    except tf.errors.OpError as e:
        assert len(str(e)) > 20
        return str(e)
    assert same(found, expected), "damage went unnoticed"
    return None


def flip(path: Path, position: int, mask: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= mask
    path.write_bytes(data)


def truncate(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


def rewrite(folder: Path, change: Callable[[Manifest], Manifest] = lambda m: m) -> None:
    """Change the manifest, and make all its sizes and hashes right again."""
    manifest = change(read_manifest(folder))
    files = []
    for entry in manifest.files:
        data = (folder / entry.path).read_bytes()
        files.append(
            dataclasses.replace(entry, size=len(data), sha256=hashlib.sha256(data).digest())
        )
    changed = dataclasses.replace(manifest, files=tuple(files))
    (folder / MANIFEST_NAME).write_bytes(manifest_bytes(changed))


def change_concrete(name: str, **changes: Any) -> Callable[[Manifest], Manifest]:
    """A change of fields of one concrete function; callables get the old value."""

    def change(manifest: Manifest) -> Manifest:
        functions = []
        for item in manifest.concrete_functions:
            if item.name == name:
                new = {k: v(getattr(item, k)) if callable(v) else v for k, v in changes.items()}
                item = dataclasses.replace(item, **new)
            functions.append(item)
        return dataclasses.replace(manifest, concrete_functions=tuple(functions))

    return change


def attack(template: Path, work: Path, kind: str, seed: int, count: int) -> None:
    """Load bundles with random changes that hashes do not show; prints one word for each.

    Made to run in a process of its own: what must not happen is that it dies or raises something
    that is not for users.
    """
    for case in range(count):
        chance = random.Random(f"{kind}{seed}{case}")
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(template, work)
        print(f"{kind} {seed} {case}", end=" ", flush=True)
        _change(work, kind, chance)
        try:
            outcome(work)
            print("loaded", flush=True)
        except (tf.errors.OpError, TypeError, KeyError, AttributeError) as e:
            # The last three: a signature or attribute that the test wants is gone.
            assert isinstance(e, tf.errors.OpError) or kind == "manifest", repr(e)
            print(type(e).__name__, flush=True)


def _change(folder: Path, kind: str, chance: random.Random) -> None:
    suffix = {"graph": ".onnx", "weights": ".safetensors"}.get(kind)
    if suffix is None:
        path = folder / MANIFEST_NAME
        body = _mutated(path.read_bytes()[:-35], chance)
        path.write_bytes(body + b"\xa2\x01\x20" + hashlib.sha256(body).digest())
        return
    path = chance.choice(sorted(folder.rglob(f"*{suffix}")))
    data = path.read_bytes()
    part = 700 if kind == "weights" else len(data)  # of weights the header
    path.write_bytes(_mutated(data[:part], chance) + data[part:])
    rewrite(folder)


def _mutated(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 2, 5])):
        at = chance.randrange(len(changed))
        what = chance.randrange(5)
        if what == 0:
            changed[at] ^= 1 << chance.randrange(8)
        elif what == 1:
            changed[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFF])
        elif what == 2:
            del changed[at : at + chance.randrange(1, 9)]
        elif what == 3:
            changed[at:at] = chance.randbytes(chance.randrange(1, 9))
        else:
            other = chance.randrange(len(changed))
            size = chance.randrange(1, 30)
            changed[at : at + size] = changed[other : other + size]
    return bytes(changed)
