"""Make the folder of the demo pages: pages, loader, runtime, and their bundles.

That of digits is trained now. That of sentences is MiniLM with an adapter that changes nothing yet,
or, where the package with its weights is not installed, a small encoder trained for some seconds.
Run as ``python tools/make_demo_web.py FOLDER``; any static server can serve it.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import tfx as tf
from tfx.model_zoo.digits import data, train
from tfx.model_zoo.sentence_encoder import data as subjects
from tfx.model_zoo.sentence_encoder import model as encoders
from tfx.model_zoo.sentence_encoder import train as tuning

_LOADER = Path(__file__).parents[1] / "loaders" / "javascript"
_RUNTIME = _LOADER / "node_modules" / "onnxruntime-web" / "dist"
_RUNTIME_FILES = ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")
_EPOCHS = 4
_REHEARSAL = 200
_STEPS = 150
_GROUPS = [
    {
        "name": "work with files",
        "sentences": [
            "Copy a file into another folder.",
            "Remove the directory and everything in it.",
            "Open an archive and list its members.",
            "Return the size of a path on the disk.",
        ],
    },
    {
        "name": "talk to servers",
        "sentences": [
            "Connect to a host and send a request.",
            "Return the headers of the response.",
            "Close the socket when the peer goes away.",
            "Accept a connection on this port.",
        ],
    },
    {
        "name": "count and compute",
        "sentences": [
            "Return the square root of a number.",
            "Compute the mean of a list of values.",
            "Draw a random integer between two bounds.",
            "Round a decimal to two digits.",
        ],
    },
]
_ASKED = "Delete a folder."


def main(folder: Path) -> None:
    """Make the folder anew."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(_LOADER / "demo", folder)
    shutil.copy(_LOADER / "dist" / "tfx-web.js", folder)
    for name in _RUNTIME_FILES:
        shutil.copy(_RUNTIME / name, folder)
    digits = data.load()
    model = train.train(digits, epochs=_EPOCHS)
    signatures = {"serving_default": model.predict, "train_step": model.train_step}
    tf.saved_model.save(model, folder / "digits_bundle", signatures=signatures)
    samples = [
        {"image": image.reshape(-1).tolist(), "digit": int(digit)}
        for image, digit in zip(
            digits.train_images[:_REHEARSAL], digits.train_labels[:_REHEARSAL], strict=True
        )
    ]
    (folder / "samples.json").write_text(json.dumps(samples))
    _make_sentences(folder)


def _make_sentences(folder: Path) -> None:
    tf.random.set_seed(0)
    (texts, labels), _ = subjects.split()
    encoder, tokenizer = tuning.base(texts)
    name = "MiniLM-L6, 22.6 million weights"
    if encoders.pretrained_folder() is None:
        name = "A small encoder"
        step = tf.adapt.train_step(
            encoder,
            encoders.contrast,
            tf.optimizers.Adam(3e-3),
            inputs=encoders.SENTENCES,
            labels=encoders.LABELS,
        )
        batches = subjects.batches(texts, labels, tokenizer, 32, tuning.LENGTH, seed=0)
        for batch in batches.take(_STEPS):
            step(*batch)
    model = encoders.FineTuning(encoder, rank=4, learning_rate=3e-3)
    signatures = {"encode": encoder.encode, "train_step": model.train_step}
    tf.saved_model.save(encoder, folder / "sentences_bundle", signatures=signatures)
    page = {
        "model": name,
        "settings": {
            "peft_type": "LORA",
            "r": model.adapter.rank,
            "lora_alpha": model.adapter.alpha,
        },
        "groups": _GROUPS,
        "asked": _ASKED,
        "vocabulary": tokenizer.vocabulary,
    }
    (folder / "sentences.json").write_text(json.dumps(page))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
