"""One conformance case while it is made: a bundle, and what a loader must make of it."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tfx as tf

ARCHIVE = "bundle.tfx"
"""Name of a case's bundle if it is one file."""


class Case:
    """A case that is being made.

    Args:
        folder: Its folder.
        about: What it is about.
        rtol: Relative tolerance for floating outputs.
        atol: Absolute tolerance for floating outputs.
    """

    def __init__(self, folder: Path, about: str, rtol: float = 1e-5, atol: float = 1e-6) -> None:
        self.folder = folder
        self._record: dict[str, Any] = {"about": about, "rtol": rtol, "atol": atol, "dtypes": []}
        self._steps: list[dict[str, Any]] = []

    @property
    def bundle(self) -> Path:
        """Where the bundle goes."""
        return self.folder / "bundle"

    def tolerate(self, rtol: float, atol: float) -> None:
        """Set the tolerances for floating outputs."""
        self._record |= {"rtol": rtol, "atol": atol}

    def save(self, model: Any, signatures: Any) -> None:
        """Save a model as the case's bundle."""
        tf.saved_model.save(model, str(self.bundle), signatures=signatures)

    def call(self, name: str, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """A call and what it gives."""
        self._steps.append(
            {"call": name, "inputs": self._tensors(inputs), "outputs": self._tensors(outputs)}
        )

    def fails(self, name: str, inputs: dict[str, Any], kind: str, *, kernel: bool = False) -> None:
        """A call and how it fails; ``kernel``: it is a kernel of the runtime that refuses."""
        step = {"call": name, "inputs": self._tensors(inputs), "error": kind}
        self._steps.append(step | ({"kernel": True} if kernel else {}))

    def variables(self, values: dict[str, Any]) -> None:
        """The values that variables have now."""
        self._steps.append({"variables": {name: tensor(value) for name, value in values.items()}})

    def assign(self, values: dict[str, Any]) -> None:
        """Replace variables."""
        self._steps.append({"assign": {name: tensor(value) for name, value in values.items()}})

    def save_again(self) -> None:
        """Save with the loader, and open that."""
        self._steps.append({"save": True})

    def is_archive(self) -> None:
        """Say that the bundle is the archive beside the folder, which is removed."""
        shutil.rmtree(self.bundle)
        self._record["bundle"] = ARCHIVE

    def finish(self) -> None:
        """Write ``case.json``."""
        self._record["steps"] = self._steps
        self._record["dtypes"] = sorted(set(self._record["dtypes"]))
        text = json.dumps(self._record, indent=1, ensure_ascii=False)
        (self.folder / "case.json").write_text(text, encoding="utf-8")

    def _tensors(self, values: dict[str, Any]) -> dict[str, Any]:
        found = {name: tensor(value) for name, value in values.items()}
        self._record["dtypes"] += [item["dtype"] for item in found.values()]
        return found


def tensor(value: Any) -> dict[str, Any]:
    """A tensor in the form of ``case.json``."""
    given = tf.convert_to_tensor(value)
    flat = np.asarray(given.numpy()).reshape(-1).tolist()
    name = given.dtype.name
    return {"dtype": name, "shape": given.shape.as_list(), "data": [_item(x, name) for x in flat]}


def _item(x: Any, dtype: str) -> Any:
    if isinstance(x, bytes):
        return x.decode()
    if dtype in ("int64", "uint64"):
        return str(x)
    if isinstance(x, float) and not math.isfinite(x):
        return "nan" if math.isnan(x) else "inf" if x > 0 else "-inf"
    return x


def spec(shape: Sequence[Any], dtype: str = "float32", name: str | None = None) -> tf.TensorSpec:
    """A ``TensorSpec``."""
    return tf.TensorSpec(list(shape), tf.as_dtype(dtype), name)
