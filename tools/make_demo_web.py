"""Make the folder of the demo page: page, loader, runtime, and a bundle of digits trained now.

Run as ``python tools/make_demo_web.py FOLDER``; any static server can serve it.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import tfx as tf
from tfx.model_zoo.digits import data, train

_LOADER = Path(__file__).parents[1] / "loaders" / "javascript"
_RUNTIME = _LOADER / "node_modules" / "onnxruntime-web" / "dist"
_RUNTIME_FILES = ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")
_EPOCHS = 4
_REHEARSAL = 200


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


if __name__ == "__main__":
    main(Path(sys.argv[1]))
