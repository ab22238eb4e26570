"""``make demo``: train, save, and use the bundle from new processes.

Every step after saving runs in a process of its own, to show that the folder is all it takes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import tfx as tf
from tfx.model_zoo.digits import data, train

GOAL = 0.97

# Plain ONNX Runtime, no import of tfx: what anybody can do with the folder.
PLAIN = """
import sys, numpy, onnxruntime
model, samples, expected = sys.argv[1:]
session = onnxruntime.InferenceSession(model)
digit, probabilities = session.run(["digit", "probabilities"], {"image": numpy.load(samples)})
reference = numpy.load(expected)
worst = abs(probabilities - reference["probabilities"]).max()
assert "tfx" not in sys.modules
assert (digit == reference["digit"]).all() and worst < 1e-5, worst
print(f"onnxruntime alone: {len(digit)} images, same digits, largest difference {worst:.1e}")
"""

# A new process loads the bundle and goes on training with its own copy of the state.
RESUME = """
import sys, numpy, tfx as tf
bundle, samples = sys.argv[1:]
model = tf.saved_model.load(bundle)
batch = numpy.load(samples)
losses = [float(model.train_step(batch["image"], batch["label"])["loss"]) for _ in range(20)]
print("loss goes on falling:", " ".join(f"{x:.5f}" for x in losses[::4] + losses[-1:]))
assert losses[-1] < losses[0], losses
"""


def main(argv: list[str] | None = None) -> int:
    """Run the demonstration; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--out", type=Path, help="keep the bundle here")
    options = parser.parse_args(argv)
    console = Console()
    started = time.perf_counter()
    digits = data.load()
    console.print(f"[bold]1. Train[/] on {len(digits.train_labels)} real 8x8 images")
    model = train.train(digits, epochs=options.epochs, console=console)
    reached = train.accuracy(model, digits.test_images, digits.test_labels)
    with tempfile.TemporaryDirectory() as scratch:
        bundle = options.out or Path(scratch) / "digits_bundle"
        console.print(f"[bold]2. Save[/] {bundle.name}")
        tf.saved_model.save(
            model,
            bundle,
            signatures={"serving_default": model.predict, "train_step": model.train_step},
        )
        _use(console, bundle, Path(scratch), digits, model)
        _files(console, bundle)
    seconds = time.perf_counter() - started
    console.print(
        f"[bold]Held-out accuracy {reached:.2%}[/] on {len(digits.test_labels)} images; "
        f"{seconds:.1f} s in all"
    )
    if reached < GOAL:
        console.print(f"expected at least {GOAL:.0%}")
        return 1
    return 0


def _use(console: Console, bundle: Path, scratch: Path, digits: data.Digits, model: object) -> None:
    """The same folder in four new processes."""
    samples, expected, batch = (scratch / n for n in ("samples.npy", "expected.npz", "batch.npz"))
    np.save(samples, digits.test_images)
    results = model.predict(digits.test_images)  # type: ignore[attr-defined]
    np.savez(expected, **{name: tensor.numpy() for name, tensor in results.items()})
    hard = slice(0, 256)
    np.savez(batch, image=digits.test_images[hard], label=digits.test_labels[hard])
    command = [sys.executable, "-m", "tfx.cli"]
    console.print("[bold]3. tfx show[/] in a new process")
    _run([*command, "show", str(bundle)])
    console.print("[bold]4. tfx load[/] classifies the held-out images in a new process")
    output = scratch / "classified.npz"
    arguments = ["--input", f"image=@{samples}", "--output", str(output)]
    _run([*command, "load", str(bundle), *arguments])
    found = np.load(output)["digit"]
    agree = np.mean(found == digits.test_labels)
    console.print(f"   first labels  {digits.test_labels[:12]}\n   first answers {found[:12]}")
    console.print(f"   right: {agree:.2%}")
    console.print("[bold]5. onnxruntime alone[/] in a new process")
    _run(
        [
            sys.executable,
            "-c",
            PLAIN,
            str(bundle / "serving_default.onnx"),
            str(samples),
            str(expected),
        ]
    )
    console.print("[bold]6. train on[/] from the bundle in a new process")
    _run([sys.executable, "-c", RESUME, str(bundle), str(batch)])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:4])} ... failed with status {done.returncode}")


def _files(console: Console, bundle: Path) -> None:
    table = Table("file", "bytes", title=bundle.name)
    table.columns[1].justify = "right"
    for path in sorted(p for p in bundle.rglob("*") if p.is_file()):
        table.add_row(str(path.relative_to(bundle)), f"{path.stat().st_size:,}")
    console.print(table)


if __name__ == "__main__":
    raise SystemExit(main())
