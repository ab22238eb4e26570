"""A 1 GiB bundle: bytes a second to save and load, and memory after a call."""

from __future__ import annotations

import mmap
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import tfx as tf
from bench.measure import Result

GIB = 1 << 30
LAYERS = 16

# Loads the bundle without tracing, calls it once, prints the process's peak and present memory.
SERVE = """
import sys, numpy
from tfx.loaders import Bundle
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
before = resident()
bundle = Bundle.open(sys.argv[1])
width = bundle.signatures["serving_default"].inputs["x"].shape[-1]
bundle.call("serving_default", {"x": numpy.zeros((1, width), numpy.float32)})
print(resident() - before)
"""


class Wide(tf.Module):
    """Layers of square matrices."""

    def __init__(self, nbytes: int) -> None:
        super().__init__()
        self.width = int((nbytes / 4 / LAYERS) ** 0.5)
        rng = np.random.default_rng(0)
        shape = (self.width, self.width)
        self.layers = [
            tf.Variable(rng.standard_normal(shape, dtype=np.float32), name=f"w{i}")
            for i in range(LAYERS)
        ]
        spec = tf.TensorSpec([None, self.width], tf.float32, name="x")
        self.predict = tf.function(self._forward, input_signature=[spec])

    def _forward(self, x):
        for w in self.layers:
            x = tf.nn.relu(tf.matmul(x, w))
        return {"y": x}

    @property
    def nbytes(self) -> int:
        """Size of the weights."""
        return LAYERS * self.width**2 * 4


def _write_speed(path: Path, nbytes: int) -> float:
    """The disk's sequential write, fsync included, in bytes a second."""
    block = np.random.default_rng(1).bytes(64 << 20)
    started = time.perf_counter()
    with path.open("wb") as file:
        for _ in range(nbytes // len(block)):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    seconds = time.perf_counter() - started
    path.unlink()
    return nbytes / seconds


def _mapped_read(path: Path) -> float:
    """Map a file and touch every page, in bytes a second."""
    started = time.perf_counter()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        np.frombuffer(mapped, np.uint8)[::4096].sum()
        size = len(mapped)
    return size / (time.perf_counter() - started)


def _full_read(path: Path) -> float:
    """Map a file and read every byte, in bytes a second."""
    started = time.perf_counter()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        np.frombuffer(mapped, np.uint64, len(mapped) // 8).sum()
        size = len(mapped)
    return size / (time.perf_counter() - started)


def _load_speed(bundle: Path, size: int, *, verify: bool | None) -> float:
    """Bytes a second of a load that touches every page; None compares sums, as users get."""
    started = time.perf_counter()
    loaded = tf.saved_model.load(bundle, options=tf.saved_model.LoadOptions(verify=verify))
    for w in loaded.layers:
        w.value().view().reshape(-1)[::1024].sum()
    return size / (time.perf_counter() - started)


def _memory_after_serving(bundle: Path) -> int:
    """Bytes that a process of its own holds after loading the bundle and one frozen call."""
    command = [sys.executable, "-c", SERVE, str(bundle)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _save_speeds(model: Wide, folder: Path, rounds: int) -> tuple[float, float]:
    """The best of saves and of plain writes, in turns, in bytes a second; all of them new files."""
    saves, disk = [], []
    bundle = folder / "b"
    for _ in range(rounds):
        shutil.rmtree(bundle, ignore_errors=True)
        disk.append(_write_speed(folder / "raw", model.nbytes))
        started = time.perf_counter()
        tf.saved_model.save(model, bundle, signatures=model.predict)
        saves.append(model.nbytes / (time.perf_counter() - started))
    return max(saves), max(disk)


def _loads(bundle: Path, size: int, rounds: int) -> list[Result]:
    """Loads with sums and without, beside reads of the mapped file, in turns."""
    weights = bundle / "variables" / "model.safetensors"
    reads, full, loads, unsummed = [], [], [], []
    for _ in range(rounds):
        reads.append(_mapped_read(weights))
        full.append(_full_read(weights))
        loads.append(_load_speed(bundle, size, verify=None))
        unsummed.append(_load_speed(bundle, size, verify=False))
    pages = "memory-mapped read of a byte of every page"
    rows = (
        ("load 1 GiB and touch every page", loads, reads, 0.6, pages),
        (
            "load 1 GiB, all of it compared with its sums",
            loads,
            full,
            0.6,
            "memory-mapped read of every byte",
        ),
        ("load 1 GiB and touch every page, without sums", unsummed, reads, None, pages),
    )
    return [
        Result(name, max(ours) / 1e6, max(theirs) / 1e6, "MB/s", target, note, at_least=True)
        for name, ours, theirs, target, note in rows
    ]


def run(nbytes: int = GIB) -> list[Result]:
    """Save, load and memory."""
    model = Wide(nbytes)
    size = model.nbytes
    with tempfile.TemporaryDirectory(dir=Path(__file__).parents[1] / ".cache") as scratch:
        folder = Path(scratch)
        save, disk = _save_speeds(model, folder, 3)
        loads = _loads(folder / "b", size, 5)
        used = _memory_after_serving(folder / "b")
    return [
        Result(
            "save 1 GiB", save / 1e6, disk / 1e6, "MB/s", 0.6, "sequential write and fsync",
            at_least=True,
        ),
        *loads,
        Result(
            "memory after loading and one frozen call", used / 1e6, size / 1e6, "MB", 1.2,
            "size of the weights",
        ),
    ]  # fmt: skip
