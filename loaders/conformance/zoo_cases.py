"""Conformance cases of the model zoo: half trained in Python, they go on training elsewhere.

What is expected is what the model itself gives in Python when it goes on, not what a loaded bundle
gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from case import Case

import tfx as tf
from tfx.model_zoo import text
from tfx.model_zoo.char_lstm.model import CharLstm
from tfx.model_zoo.decoder.model import Decoder
from tfx.model_zoo.forces.data import ATOMS
from tfx.model_zoo.forces.model import Energy
from tfx.model_zoo.sentence_encoder.model import FineTuning, SentenceEncoder, Size

_ROUNDS = 6
_LINES = "the cat sat on the mat. the dog sat on the log. "


def _go_on(case: Case, model: Any, names: Sequence[str], batches: Sequence[dict[str, Any]]) -> None:
    """Train, save, and train on; saved once by the loader, half way."""
    for batch in batches:
        model.train_step(**_tensors(batch))
    case.save(model, {name: getattr(model, name) for name in names})
    for number, batch in enumerate(batches):
        case.call("train_step", batch, model.train_step(**_tensors(batch)))
        if number == len(batches) // 2:
            case.save_again()


def _tensors(batch: dict[str, Any]) -> dict[str, tf.Tensor]:
    return {name: tf.constant(value) for name, value in batch.items()}


def _texts(length: int) -> list[dict[str, Any]]:
    """Batches of pieces of a text, that follow one another."""
    known = text.encode(_LINES * 4)
    pieces = [known[start : start + length] for start in range(0, 4 * _ROUNDS * 5, 5)]
    return [{"tokens": np.stack(pieces[i::_ROUNDS])} for i in range(_ROUNDS)]


def zoo_decoder(case: Case) -> None:
    """A GPT-style decoder: trained on, and writing with its cache and its sampling in the graph."""
    tf.random.set_seed(0)
    model = Decoder(context=16, width=16, heads=2, depth=2)
    batches = _texts(17)
    _go_on(case, model, ["serve", "generate", "train_step"], batches)
    tokens = batches[0]["tokens"][:, :16]
    case.call("serve", {"tokens": tokens}, model.serve(tf.constant(tokens)))
    # Nearly cold: a character that is drawn is the likeliest one by far.
    given = {
        "prompt": text.encode("the "),
        "length": np.array(12, np.int32),
        "temperature": np.array(0.01, np.float32),
    }
    case.call("generate", given, model.generate(**_tensors(given)))


def zoo_char_lstm(case: Case) -> None:
    """A character LSTM, trained on."""
    tf.random.set_seed(1)
    model = CharLstm(units=12, width=8)
    batches = _texts(13)
    _go_on(case, model, ["serve", "train_step"], batches)
    case.call("serve", batches[1], model.serve(**_tensors(batches[1])))


def zoo_forces(case: Case) -> None:
    """Energies of atoms, trained on; forces are the gradient, and training differentiates them."""
    tf.random.set_seed(2)
    model = Energy(units=8)
    rng = np.random.default_rng(2)

    def batch() -> dict[str, Any]:
        positions = rng.normal(size=(4, ATOMS, 3)).astype(np.float32) * 2
        energy = np.square(positions).sum((1, 2)).astype(np.float32) * 0.01
        return {"positions": positions, "energy": energy, "forces": -0.02 * positions}

    batches = [batch() for _ in range(_ROUNDS)]
    _go_on(case, model, ["serve", "train_step"], batches)
    positions = {"positions": batches[0]["positions"]}
    case.call("serve", positions, model.serve(**_tensors(positions)))


def zoo_sentence_encoder(case: Case) -> None:
    """A sentence encoder: its adapter is trained on, and switched by assigning its variables."""
    tf.random.set_seed(3)
    encoder = SentenceEncoder(Size(vocabulary=30, width=16, inner=24, heads=2, depth=1, context=12))
    model = FineTuning(encoder, rank=2, learning_rate=1e-2)
    rng = np.random.default_rng(3)

    def batch(size: int, time: int) -> dict[str, Any]:
        mask = np.arange(time) < rng.integers(2, time + 1, [size, 1])
        tokens = np.where(mask, rng.integers(1, 30, [size, time]), 0)
        labels = np.arange(size) % 2
        return {"tokens": tokens, "mask": mask.astype(np.int64), "labels": labels}

    batches = [batch(4 + i % 2, 5 + i % 3) for i in range(_ROUNDS)]
    for given in batches:
        model.train_step(**_tensors(given))
    model.adapter.add("other")
    for given in batches[:2]:
        model.train_step(**_tensors(given))
    model.adapter.switch("default")
    case.save(encoder, {"encode": encoder.encode, "train_step": model.train_step})
    for number, given in enumerate(batches):
        case.call("train_step", given, model.train_step(**_tensors(given)))
        if number == len(batches) // 2:
            case.save_again()
    asked = {k: batches[0][k] for k in ("tokens", "mask")}
    case.call("encode", asked, encoder.encode(**_tensors(asked)))
    model.adapter.switch("other")
    adapter = model.adapter
    values = {f"lora/a/{n}": v.numpy() for n, v in adapter.a.items()}
    case.assign(values | {f"lora/b/{n}": v.numpy() for n, v in adapter.b.items()})
    case.call("encode", asked, encoder.encode(**_tensors(asked)))


CASES: dict[str, Callable[[Case], None]] = {
    "zoo_char_lstm": zoo_char_lstm,
    "zoo_decoder": zoo_decoder,
    "zoo_forces": zoo_forces,
    "zoo_sentence_encoder": zoo_sentence_encoder,
}
