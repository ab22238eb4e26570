"""Seconds that a profile adds to a training step of ResNet-50, with all that is made of it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tfx as tf
from bench.measure import Result
from tfx.model_zoo.resnet50.model import ResNet

# Seconds that are allowed.
ALLOWED = 2.0
TABLES = ("node", "op", "source", "layer", "function")


def run(side: int = 224, batch: int = 8, depths: tuple[int, ...] = (3, 4, 6, 3)) -> list[Result]:
    """A step that is profiled, beside one that is not; then tables, and files for two viewers.

    Args:
        side: Height and width of the images.
        batch: Images in a step.
        depths: Blocks of each stage.
    """
    step = _step(side, batch, depths)
    step()
    alone = min(_seconds(step) for _ in range(3))
    started = time.perf_counter()
    with tf.profile() as profile:
        step()
    profiled = time.perf_counter() - started
    with tempfile.TemporaryDirectory() as folder:
        tables = _seconds(lambda: _write(profile, Path(folder)))
        board = _seconds(lambda: _board(step, Path(folder))) - alone
    note = f"{ALLOWED:g} s allowed"
    return [
        Result("profile of a ResNet-50 step: longer by", profiled - alone, ALLOWED, "s", 1.0, note),
        Result("its tables and Chrome trace", tables, ALLOWED, "s", 1.0, note),
        Result("the step for TensorBoard: longer by", board, ALLOWED, "s", None, note),
    ]


def _step(side: int, batch: int, depths: tuple[int, ...]) -> Callable[[], Any]:
    model = ResNet(side, 3, 1000, depths)
    rng = np.random.default_rng(0)
    images = tf.constant(rng.standard_normal((batch, side, side, 3), np.float32))
    labels = tf.constant(rng.integers(0, 1000, batch))
    return lambda: model.train_step(images, labels)


def _seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _write(profile: Any, folder: Path) -> None:
    for by in TABLES:
        profile.table(by)
    profile.save_chrome_trace(folder / "trace.json")
    if (folder / "trace.json").stat().st_size == 0 or not profile.rows("layer"):
        raise AssertionError("The profile of a training step is empty.")


def _board(step: Callable[[], Any], folder: Path) -> None:
    with tf.profiler.experimental.Profile(str(folder / "logs")):
        step()
    if not list((folder / "logs").rglob("*.xplane.pb")):
        raise AssertionError("There is no file for TensorBoard.")
