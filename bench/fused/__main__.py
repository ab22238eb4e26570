"""``python -m bench.fused [--write]``: many small operators, fused and not, and other frameworks.

One process a framework; they work in turns, and each number is the least of all rounds. The
networks of ``bench.zoo`` are here to see that none is slower than without.
"""

from __future__ import annotations

from rich.console import Console

from bench import report
from bench.comparison import Comparison, Row, parse, take_turns
from bench.peers import environments
from bench.zoo import programs

TITLES = {"tfx": "tfx", "plain": "tfx, not fused", "tensorflow": "TensorFlow", "jax": "JAX"}
COMPARISON = Comparison(TITLES)
ROWS = (
    Row("sampler", "L2HMC, a training step", "us", 1, (("tensorflow", 2.0), ("jax", 4.0))),
    Row("perceptron", "MLP with Adam, a step", "us", 1, (("jax", 1.1),)),
    Row("tiny", "1,000 tiny operations", "us", 1, (("jax", 0.5),)),
    Row("loop", "a loop of 1,000 iterations", "us", 1, (("tensorflow", 50.0), ("jax", 0.2))),
    Row("path", "a path of 1,000 steps, its gradient", "us", 1, (("tensorflow", 10), ("jax", 0.2))),
    Row("gelu", "gelu of a million elements", "us", 1, (("plain", 0.98),)),
    Row("adam", "Adam on 670,000 weights", "us", 1, (("plain", 1.2),)),
    Row("lstm", "LSTM, a training step", "us", 1, (("plain", 1.2),)),
    Row("transformer", "layer of a transformer, a training step", "us", 1, (("plain", 1.2),)),
    Row("prepare", "the LSTM's first step", "s", 1, (("plain", 1.1),)),
)
# A program may be slower by two hundredths, which is what the clock tells.
NETWORKS = tuple(
    Row(f"{name}_{part}", f"{title}: {what}", "us", 1, (("plain", 0.98),))
    for name, title in programs.TITLES.items()
    for part, what in (("train", "training step"), ("infer", "inference"))
)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print and perhaps write."""
    rows, options, pythons = parse("bench.fused", __doc__, (*ROWS, *NETWORKS), 8, arguments)
    commands = {
        name: (_python(name, pythons), ["-m", "bench.fused.worker", name], {}) for name in TITLES
    }
    small = [row for row in rows if row not in NETWORKS]
    figures = take_turns(small, commands, options.rounds, 0.5)
    ours = {name: commands[name] for name in ("tfx", "plain")}
    figures |= take_turns([r for r in rows if r in NETWORKS], ours, options.rounds, 0.5)
    lines = [COMPARISON.line(row, figures) for row in rows]
    Console(width=160).print(COMPARISON.table(lines))
    if options.write:
        text = report.table(COMPARISON.header, lines)
        report.replace("python -m bench.fused", f"{report.machine()}\n\n{text}")
    return 0


def _python(name: str, pythons: dict[str, str]) -> str:
    return environments.python_of("tfx" if name == "plain" else name, pythons)


if __name__ == "__main__":
    raise SystemExit(main())
