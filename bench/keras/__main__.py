"""``python -m bench.keras [--write]``: the same Keras programs on tfx, TensorFlow and JAX.

One process a backend; they work in turns, and each number is the least of all rounds.
"""

from __future__ import annotations

import os
import subprocess

from rich.console import Console

from bench import report
from bench.comparison import Comparison, Figures, Row, parse, take_turns
from bench.peers import environments
from bench.peers.process import SETTINGS, PeerError

BACKENDS = ("tfx", "tensorflow", "jax")
COMPARISON = Comparison({"tfx": "tfx", "tensorflow": "TensorFlow", "jax": "JAX"})


ROWS = (
    Row("fit_mlp", "`fit`, MLP, steps", "1/s", 50, (("tensorflow", 1.2), ("jax", 0.8))),
    Row("predict", "`predict`, MLP, batches", "1/s", 50, (("tensorflow", 1.0), ("jax", 0.8))),
    Row("fit_resnet50", "`fit`, ResNet50, images", "1/s", 8, (("tensorflow", 1.0),)),
    Row("fit_mobilenet", "`fit`, MobileNetV2, images", "1/s", 8, (("tensorflow", 1.0),)),
    Row("fit_lstm", "`fit`, LSTM, steps", "1/s", 5, (("tensorflow", 1.0),)),
    Row("fit_transformer", "`fit`, transformer, steps", "1/s", 5, (("tensorflow", 1.0),)),
    Row("data", "dataset alone, batches of 128 images", "1/s", 100, (("tensorflow", 0.8),)),
    Row("fit_data", "`fit` of that dataset, steps", "1/s", 100),
    Row("fit_ready", "`fit` of batches that are there, steps", "1/s", 100),
    Row("first", "first step of `fit`, MLP", "s"),
    Row("import", "import of Keras with the backend", "s"),
    Row("mlp_memory", "memory of the process, MLP", "MB", promises=(("tensorflow", 1.1),)),
    Row("mobilenet_memory", "the same, MobileNetV2", "MB", promises=(("tensorflow", 1.1),)),
)
_ONCE = ("first", "import", "mlp_memory", "mobilenet_memory")


def main(arguments: list[str] | None = None) -> int:
    """Measure, print and perhaps write; 1 if a backend could not be had."""
    rows, options, pythons = parse("bench.keras", __doc__, ROWS, 5, arguments)
    here = {name: environments.python_of(name, pythons) for name in BACKENDS}
    commands = {
        name: (python, ["-m", "bench.keras.worker", name], {"KERAS_BACKEND": name})
        for name, python in here.items()
    }
    repeated = [r for r in rows if r.case not in _ONCE]
    figures = take_turns(repeated, commands, options.rounds, 1.0)
    for row in [r for r in rows if r.case in _ONCE]:  # NumPy's backend needs JAX, too
        for name in (*BACKENDS, *(["numpy"] if row.case == "import" else [])):
            turns = [_once(name, here.get(name, here["jax"]), row.case) for _ in range(3)]
            figures[row.case, name] = min(turns)
    lines = [_line(row, figures) for row in rows]
    Console(width=150).print(COMPARISON.table(lines))
    if options.write:
        about = report.machine("Keras 3.15.1")
        text = report.table(COMPARISON.header, lines)
        report.replace("python -m bench.keras", f"{about}\n\n{text}")
    return 0


def _once(name: str, python: str, what: str) -> float:
    settings = {**SETTINGS, "KERAS_BACKEND": name, "PYTHONPATH": str(environments.ROOT)}
    settings.pop("PYTHONDONTWRITEBYTECODE")  # imports are measured as users have them
    done = subprocess.run(
        [python, "-m", "bench.keras.worker", name, what],
        capture_output=True,
        text=True,
        cwd=environments.ROOT,
        env={**{k: v for k, v in os.environ.items() if k not in SETTINGS}, **settings},
    )
    if done.returncode:
        raise PeerError(f"{name} failed in {what}: {done.stderr.strip()[-300:]}")
    return float(done.stdout.split()[-1])


def _line(row: Row, figures: Figures) -> tuple[str, ...]:
    name = row.name
    if (row.case, "numpy") in figures:
        name += f" (NumPy's: {figures[row.case, 'numpy']:.2f} s)"
    return COMPARISON.line(row, figures, name)


if __name__ == "__main__":
    raise SystemExit(main())
