"""A server that never rests: threads call bundles while new versions are swapped into them.

Run as ``python -m bench.soak``; ``--reloads``, ``--calls`` and ``--threads`` make it shorter or
longer. Both loaders are tried, one after the other, and then opening and closing. Every result is
checked: it must be the one of a single version. Ends with status 1 if there was an error, a wrong
result, or memory or open files that grew.
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import tfx as tf
from tfx.loaders import Bundle

WIDTH = 256
LAYERS = 4
VERSIONS = 3
# Memory may go up and down by this much: what threads take for a moment, and the system's rounding.
_SLACK = 12 << 20
_SAMPLES = 40


class Model(tf.Module):
    """Layers of multiples of the identity: the factor of the whole says which version it is."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = [tf.Variable(np.eye(WIDTH, dtype=np.float32)) for _ in range(LAYERS)]
        self.bias = tf.Variable(np.zeros(WIDTH, np.float32))
        self.version = tf.Variable(0, dtype=tf.int64, trainable=False)

    def become(self, version: int) -> None:
        """Set the version."""
        for layer in self.layers:
            layer.assign(np.eye(WIDTH, dtype=np.float32) * 2.0**version)
        self.bias.assign(np.full(WIDTH, version, np.float32))
        self.version.assign(version)

    @tf.function(input_signature=[tf.TensorSpec([None, WIDTH], tf.float32, name="x")])
    def predict(self, x: Any) -> Any:
        """Give the factor times ``x``, plus the version."""
        for layer in self.layers:
            x = x @ layer
        return {"y": x + self.bias}

    @tf.function(input_signature=[])
    def sums(self) -> Any:
        """Give what tells whether all variables are of one version."""
        return {
            "sums": tf.stack([tf.reduce_sum(layer) for layer in self.layers]),
            "version": self.version.read_value(),
        }

    @tf.function(input_signature=[])
    def touch(self) -> Any:
        """Write variables, and leave them as they are."""
        for layer in self.layers:
            layer.assign(layer * 1.0)
        return {"version": self.version.read_value()}


@dataclass
class Outcome:
    """What a part of the soak came to.

    Attributes:
        name: The part.
        calls: Calls that were made.
        reloads: Versions that were swapped in, or bundles that were opened.
        seconds: How long it took.
        errors: What went wrong.
        memory: Resident bytes, from the time when everything had been used once.
        files: Open files, at the same moments.
    """

    name: str
    calls: int = 0
    reloads: int = 0
    seconds: float = 0.0
    errors: list[str] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    files: list[int] = field(default_factory=list)

    def sample(self) -> None:
        """Measure memory and open files."""
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        self.memory.append(pages * os.sysconf("SC_PAGE_SIZE"))
        self.files.append(len(os.listdir("/proc/self/fd")))

    @property
    def growth(self) -> int:
        """Bytes by which the end is above the beginning; single peaks do not count."""
        part = max(len(self.memory) // 4, 1)
        return int(np.median(self.memory[-part:]) - np.median(self.memory[:part]))

    @property
    def good(self) -> bool:
        """True if nothing went wrong and nothing grew."""
        return not self.errors and self.growth < _SLACK and self.files[-1] <= self.files[0] + 4


def save_versions(folder: Path) -> list[Path]:
    """Save the versions of the model."""
    model = Model()
    paths = []
    for version in range(VERSIONS):
        model.become(version)
        paths.append(folder / f"version{version}")
        signatures = {"predict": model.predict, "sums": model.sums, "touch": model.touch}
        tf.saved_model.save(model, paths[-1], signatures=signatures)
    return paths


def check(version: int, y: Any, sums: Any) -> str | None:
    """Say what is wrong with results that should be of one version; None if nothing is."""
    allowed = {2.0 ** (v * LAYERS) + v for v in range(VERSIONS)}
    found = set(np.unique(y).tolist())
    if len(found) != 1 or not found <= allowed:
        return f"a prediction of several versions: {sorted(found)[:4]}"
    if set(np.unique(sums).tolist()) != {WIDTH * 2.0**version}:
        return f"variables of several versions: {np.unique(sums)[:4]}, version {version}"
    return None


@contextmanager
def threads(count: int, work: Callable[[int], None], outcome: Outcome) -> Iterator[None]:
    """Run ``work`` in threads, beside the block."""

    def run(number: int) -> None:
        try:
            work(number)
        except Exception as error:
            outcome.errors.append(f"{type(error).__name__}: {error}")

    running = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in running:
        thread.start()
    try:
        yield
    finally:
        for thread in running:
            thread.join()


def soak(
    name: str,
    call: Callable[[str], dict[str, Any]],
    reload: Callable[[Path], None],
    paths: list[Path],
    options: argparse.Namespace,
) -> Outcome:
    """Call a bundle from threads while versions are swapped into it.

    Args:
        name: What to call this part.
        call: Calls a signature.
        reload: Swaps a version in.
        paths: The versions.
        options: ``reloads``, ``calls`` and ``threads``.
    """
    outcome = Outcome(name)
    made = [0] * options.threads
    share = options.calls // options.threads
    done = threading.Event()

    def work(number: int) -> None:
        while made[number] < share or not done.is_set():
            y = call("predict")["y"]
            state = call("sums")
            made[number] += 2
            wrong = check(int(state["version"]), y, state["sums"])
            if wrong is not None:
                outcome.errors.append(wrong)
            if made[number] % 50 == 0:
                call("touch")
                made[number] += 1

    for path in paths:  # everything was used once
        for signature in ("predict", "sums", "touch"):
            call(signature)
        reload(path)
    started = time.perf_counter()
    with threads(options.threads, work, outcome):
        for number in range(options.reloads):
            reload(paths[number % len(paths)])
            outcome.reloads += 1
            if number % max(options.reloads // _SAMPLES, 1) == 0:
                outcome.sample()
            # Reloads and calls take as long together.
            while sum(made) < options.calls * number / options.reloads and not outcome.errors:
                time.sleep(0.001)
        done.set()
    outcome.seconds = time.perf_counter() - started
    outcome.calls = sum(made)
    gc.collect()
    outcome.sample()
    return outcome


def soak_bundle(paths: list[Path], options: argparse.Namespace) -> Outcome:
    """The small reader."""
    x = np.eye(WIDTH, dtype=np.float32).sum(0, keepdims=True)
    with Bundle.open(paths[0]) as bundle:

        def call(signature: str) -> dict[str, Any]:
            return bundle.call(signature, {"x": x} if signature == "predict" else {})

        return soak("Bundle.reload", call, bundle.reload, paths, options)


def soak_loaded(paths: list[Path], options: argparse.Namespace) -> Outcome:
    """Python objects."""
    x = tf.ones([1, WIDTH])
    loaded = tf.saved_model.load(paths[0])

    def call(signature: str) -> dict[str, Any]:
        function = loaded.signatures[signature]
        found = function(x=x) if signature == "predict" else function()
        return {name: value.numpy() for name, value in found.items()}

    def reload(path: Path) -> None:
        tf.saved_model.reload(loaded, path)

    return soak("saved_model.reload", call, reload, paths, options)


def soak_opening(paths: list[Path], options: argparse.Namespace) -> Outcome:
    """Opening, calling and closing, from all threads."""
    outcome = Outcome("open and close")
    x = np.ones((1, WIDTH), np.float32)
    share = max(options.reloads // options.threads, 1)
    opened = [0] * options.threads

    def work(number: int) -> None:
        for _ in range(share):
            version = (number + opened[number]) % VERSIONS
            with Bundle.open(paths[version]) as bundle:
                y = bundle.call("predict", {"x": x})["y"]
                wrong = check(version, y, bundle.call("sums")["sums"])
            opened[number] += 1
            if wrong is not None:
                outcome.errors.append(wrong)
            if number == 0 and opened[0] > share // 10:
                outcome.sample()

    started = time.perf_counter()
    with threads(options.threads, work, outcome):
        pass
    outcome.seconds = time.perf_counter() - started
    outcome.reloads, outcome.calls = sum(opened), 2 * sum(opened)
    gc.collect()
    outcome.sample()
    return outcome


def run(options: argparse.Namespace) -> list[Outcome]:
    """Run all parts."""
    with tempfile.TemporaryDirectory() as folder:
        paths = save_versions(Path(folder))
        return [part(paths, options) for part in (soak_bundle, soak_loaded, soak_opening)]


def main(arguments: list[str] | None = None) -> int:
    """Run it and print a table; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--reloads", type=int, default=500)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=4)
    outcomes = run(parser.parse_args(arguments))
    table = Table("what", "reloads", "calls", "errors", "memory", "growth", "files", "seconds", "")
    for o in outcomes:
        table.add_row(
            o.name, str(o.reloads), str(o.calls), str(len(o.errors)),
            f"{o.memory[-1] / 2**20:.1f} MiB", f"{o.growth / 2**20:+.1f} MiB",
            f"{o.files[0]} to {o.files[-1]}", f"{o.seconds:.1f}", "good" if o.good else "BAD",
        )  # fmt: skip
    console = Console(width=110)
    console.print(table)
    for o in outcomes:
        for error in dict.fromkeys(o.errors[:100]):
            console.print(f"{o.name}: {error[:300]}", markup=False)
    return 0 if all(o.good for o in outcomes) else 1


if __name__ == "__main__":
    raise SystemExit(main())
