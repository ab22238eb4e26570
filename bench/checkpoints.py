"""Checkpoints: bytes a second to save and restore, the pause of a background save, a wide bundle.

The size is 4 GiB, or what a fifth of the disk's and a sixth of the memory's free space allow.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import tfx as tf
from bench.measure import Result

GIB = 1 << 30
VARIABLES = 10_000
SIGNATURES = 50
_BLOCK = 64 << 20
_LAYERS = 32


class Layers(tf.Module):
    """Matrices of about so many bytes together."""

    def __init__(self, nbytes: int) -> None:
        super().__init__()
        width = max(1, int((nbytes / 4 / _LAYERS) ** 0.5))
        rng = np.random.default_rng(0)
        self.layers = [
            tf.Variable(rng.standard_normal((width, width), dtype=np.float32))
            for _ in range(_LAYERS)
        ]
        self.nbytes = _LAYERS * width**2 * 4


class Many(tf.Module):
    """Small variables, divided among functions that each read some."""

    def __init__(self, variables: int, functions: int) -> None:
        super().__init__()
        each = variables // functions
        self.parts = [
            [tf.Variable(np.full(4, i * each + j, np.float32)) for j in range(each)]
            for i in range(functions)
        ]
        spec = tf.TensorSpec([None, 4], tf.float32, name="x")
        self.functions = [tf.function(_sum(p), input_signature=[spec]) for p in self.parts]

    def save(self, folder: Path) -> None:
        """Save a bundle with a signature for each function."""
        signatures = {f"part{i}": f for i, f in enumerate(self.functions)}
        tf.saved_model.save(self, folder, signatures=signatures)


def _sum(part: list[tf.Variable]) -> Callable[[tf.Tensor], dict[str, tf.Tensor]]:
    def total(x: tf.Tensor) -> dict[str, tf.Tensor]:
        for w in part:
            x = x + w
        return {"y": x}

    return total


def affordable(folder: Path, wanted: int = 4 * GIB) -> int:
    """As many bytes as the disk and the memory have room for, five and six times over."""
    memory = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(wanted, shutil.disk_usage(folder).free // 5, memory // 6)


def forget(path: Path) -> None:
    """Drop what the system keeps of a file in memory, where it lets itself be told."""
    if hasattr(os, "posix_fadvise"):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def _seconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def _write(path: Path, nbytes: int, block: bytes) -> None:
    with path.open("wb", buffering=0) as file:
        left = nbytes
        while left:
            left -= file.write(block[:left])
        os.fsync(file.fileno())


def _read(path: Path, buffer: bytearray) -> None:
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def save_and_restore(folder: Path, nbytes: int, rounds: int = 3) -> list[Result]:
    """Bytes a second against one flat file, in turns; both write new files."""
    model = Layers(nbytes)
    size = model.nbytes
    checkpoint = tf.train.Checkpoint(model=model)
    block, buffer = np.random.default_rng(1).bytes(min(size, _BLOCK)), bytearray(_BLOCK)
    flat = folder / "flat"
    file = folder / "c.safetensors"
    times: dict[str, list[float]] = {}
    writes = {
        "write": (flat, lambda: _write(flat, size, block)),
        "save": (file, lambda: checkpoint.write(folder / "c")),
    }
    for turn in range(rounds):
        # Whoever comes second finds memory and disk as the first has left them.
        for name in list(writes)[:: -1 if turn % 2 else 1]:
            target, write = writes[name]
            target.unlink(missing_ok=True)
            times.setdefault(name, []).append(_seconds(write))
    for state in ("cold", "warm"):
        if state == "warm":  # what a restore reads straight from the disk, the system does not keep
            _read(file, buffer)
        for _ in range(rounds):
            if state == "cold":
                forget(flat)
                forget(file)
            times.setdefault(f"read {state}", []).append(_seconds(lambda: _read(flat, buffer)))
            restoring = _seconds(lambda: checkpoint.read(folder / "c").assert_consumed())
            times.setdefault(f"restore {state}", []).append(restoring)
    speed = {name: size / min(found) / 1e6 for name, found in times.items()}
    text = f"{size / GIB:.3g} GiB"
    return [
        Result(
            f"checkpoint: save {text}", speed["save"], speed["write"], "MB/s", 0.7,
            "one flat file, written and made durable", at_least=True,
        ),
        Result(
            f"checkpoint: restore {text} from the disk", speed["restore cold"],
            speed["read cold"], "MB/s", 0.7, "one flat file, read into one buffer", at_least=True,
        ),
        Result(
            f"checkpoint: restore {text} from the page cache", speed["restore warm"],
            speed["read warm"], "MB/s", None, "one flat file, read into one buffer", at_least=True,
        ),
    ]  # fmt: skip


def background(folder: Path, nbytes: int, rounds: int = 3) -> Result:
    """How long ``save(..., background=True)`` stops the program, against a copy of the values."""
    model = Layers(nbytes)
    checkpoint = tf.train.Checkpoint(model=model)
    pauses, copies = [], []
    for _ in range(rounds):
        copies.append(_seconds(lambda: [w.numpy() for w in model.layers]))
        pauses.append(_seconds(lambda: checkpoint.save(folder / "b", background=True)))
        checkpoint.sync()
    return Result(
        f"checkpoint: pause of a background save of {nbytes / GIB:.3g} GiB",
        min(pauses) * 1e3, min(copies) * 1e3, "ms", 1.0, "a copy of the variables",
    )  # fmt: skip


def wide_bundle(
    folder: Path, variables: int = VARIABLES, signatures: int = SIGNATURES, rounds: int = 7
) -> Result:
    """Seconds that ``load`` takes for a bundle of many variables and signatures."""
    Many(variables, signatures).save(folder / "wide")
    seconds = []
    for _ in range(rounds):
        gc.collect()
        seconds.append(_seconds(lambda: tf.saved_model.load(folder / "wide")))
    return Result(
        f"load a bundle of {variables:,} variables and {signatures} signatures",
        min(seconds), 0.5, "s", 1.0, "half a second allowed",
    )  # fmt: skip


def run(nbytes: int | None = None, variables: int = VARIABLES, rounds: int = 3) -> list[Result]:
    """Save, restore, background save, and load of a wide bundle."""
    root = Path(__file__).parents[1] / ".cache"
    root.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root) as scratch:
        folder = Path(scratch)
        size = affordable(folder) if nbytes is None else nbytes
        results = save_and_restore(folder, size, rounds)
        results.append(background(folder, min(size, GIB), rounds))
        results.append(wide_bundle(folder, variables, min(SIGNATURES, variables), rounds * 2))
    return results
