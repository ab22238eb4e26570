"""What is saved and loaded: the sizes, the arrays and a folder that ends with the process."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers.environments import ROOT

STATE_BYTES = 256 << 20
TENSORS = 16
VARIABLES = 10_000
SIGNATURES = 50


def folder() -> Path:
    """An empty folder on the disk of the checkout."""
    root = ROOT / ".cache"
    root.mkdir(exist_ok=True)
    path = Path(tempfile.mkdtemp(dir=root, prefix="storage-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def arrays() -> list[Any]:
    """Square matrices of ``STATE_BYTES`` together."""
    width = int((STATE_BYTES / TENSORS / 4) ** 0.5)
    rng = np.random.default_rng(0)
    return [rng.standard_normal((width, width), dtype=np.float32) for _ in range(TENSORS)]


def small_arrays() -> list[Any]:
    """As many vectors of four elements as there are variables."""
    return [np.full(4, i, np.float32) for i in range(VARIABLES)]
