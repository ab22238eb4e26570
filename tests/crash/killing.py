"""Saves that are killed: a program that saves in forked children, kills them, and looks.

Run as ``python -m tests.crash.killing TARGET COUNT SEED HOW``. HOW is ``time``, for kills after
random times, which hit system calls too, or ``lines``, for kills between two random lines of the
Python code that saves. Prints a line for each kill: which versions were there before and after.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import numpy as np

import tfx as tf
from tests.unit.saved_model.models import Trainer
from tfx.bundle import limits, piece_checksums
from tfx.bundle.manifest import is_bundle
from tfx.loaders import Bundle

_CODE = (f"{os.sep}tfx{os.sep}bundle{os.sep}", f"{os.sep}exporters{os.sep}", f"{os.sep}shutil.py")
_PARTS = 4


class Model(Trainer):
    """Variables all of which say which version they are of, and an asset that says it too."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.payload = [tf.Variable(np.zeros(50_000, np.float32)) for _ in range(_PARTS)]
        self._words = folder / "words.txt"
        self._words.touch()
        self.words = tf.saved_model.Asset(self._words)
        self.become(0)

    def become(self, version: int) -> None:
        """Set the version."""
        self.mark = version
        for part in self.payload:
            part.assign(np.full(50_000, version, np.float32))
        self._words.write_text(str(version))

    def save(self, target: Path) -> None:
        """Save as this version."""
        options = tf.saved_model.SaveOptions(metadata={"version": str(self.mark)})
        tf.saved_model.save(self, target, signatures=self.signatures, options=options)


def check(target: Path) -> int:
    """Check every byte of a bundle and return its version."""
    with Bundle.open(target, verify=True) as bundle:
        version = int(bundle.manifest.metadata["version"])
        for i in range(_PARTS):
            assert (bundle.variables[f"payload/{i}"] == version).all(), version
        assert (bundle.path / "assets" / "words.txt").read_text() == str(version)
    return version


def counted(save: Callable[[], None], last: int | None) -> int:
    """Run ``save``, and count the lines of code that it runs; die after the line ``last``."""
    count = 0

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        if event == "line":
            count += 1
            if count == last:
                os.kill(os.getpid(), signal.SIGKILL)
        return line

    def call(frame: FrameType, event: str, argument: Any) -> Any:
        return line if any(part in frame.f_code.co_filename for part in _CODE) else None

    sys.settrace(call)
    try:
        save()
    finally:
        sys.settrace(None)
    return count


def _in_child(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(3)  # it was to be killed
    return child


def main(target: Path, count: int, seed: int, how: str) -> None:
    """Kill ``count`` saves.

    Raises:
        AssertionError: something else than the old or the new bundle was left.
    """
    chance = random.Random(seed)
    model = Model(target.parent.parent)
    model.save(target)
    model.become(0)
    started = time.perf_counter()
    lines = counted(lambda: model.save(target), None)
    model.save(target)
    seconds = (time.perf_counter() - started) / 2
    before = 0
    for kill in range(count):
        version = before + 1
        first = chance.random() < 0.1
        if first:  # the target does not exist yet
            shutil.rmtree(target)
        # Few of the lines are near the exchange.
        least = chance.choice([1, lines * 9 // 10])
        last = chance.randint(least, lines) if how == "lines" else None

        def work(version: int = version, last: int | None = last) -> None:
            model.become(version)
            if last is None:
                while True:
                    model.save(target)
            counted(lambda: model.save(target), last)
            os.kill(os.getpid(), signal.SIGKILL)

        child = _in_child(work)
        if how == "time":
            time.sleep(chance.uniform(0, seconds))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), status
        assert os.WTERMSIG(status) == signal.SIGKILL, status
        after = check(target) if target.exists() else -1
        assert after in ((-1, version) if first else (before, version)), (before, version, after)
        assert is_bundle(target) == (after >= 0)
        print(kill, before, after, flush=True)
        if after < 0:
            model.become(before)
            model.save(target)
        else:
            before = after
    model.become(before)
    model.save(target)  # cleans up
    left = sorted(p.name for p in target.parent.iterdir())
    assert left == [target.name], left


if __name__ == "__main__":
    # The weights count as large, of many pieces: their sums belong to the version, too.
    large = mock.patch.object(limits, "HASH_ON_LOAD_BYTES", 1 << 16)
    with large, mock.patch.object(piece_checksums, "PIECE", 1 << 16):
        main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
