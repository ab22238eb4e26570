"""Listings of a folder of checkpoints and of one checkpoint, for people and programs."""

from __future__ import annotations

import dataclasses
import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfx.bundle.shards import INDEX_SUFFIX
from tfx.core.dims import format_shape
from tfx.core.errors import MissingFileError
from tfx.core.mixins import AsJson
from tfx.train.files import SUFFIX, find_files
from tfx.train.latest_checkpoint_file import get_checkpoint_state, latest_checkpoint
from tfx.train.reader import load_checkpoint

_SHOWN = 60


@dataclass(frozen=True, slots=True)
class CheckpointInfo(AsJson):
    """A checkpoint of a folder; ``saved`` is when, in local time, if the folder says so."""

    path: str
    is_latest: bool
    saved: str
    variables: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class SavedVariable:
    """A variable of a checkpoint; ``value`` is the beginning of it as text, if it was asked for."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    value: str = ""

    @property
    def type(self) -> str:
        """Dtype and shape as ``float32[2, 8]``."""
        return f"{self.dtype}{format_shape(self.shape)}"


@dataclass(frozen=True, slots=True)
class CheckpointDescription:
    """A checkpoint's file and variables."""

    path: str
    variables: tuple[SavedVariable, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it as objects that JSON can hold."""
        return {"path": self.path, "variables": [dataclasses.asdict(v) for v in self.variables]}


def list_checkpoints(directory: str | os.PathLike[str]) -> list[CheckpointInfo]:
    """List the checkpoints of a folder.

    Args:
        directory: The folder.

    Returns:
        Those that its ``checkpoint`` file names and that are there, oldest first; then others that
        lie in it, by name.

    Raises:
        MissingFileError: there is no such folder.
        BundleError: the ``checkpoint`` file, or a checkpoint, is damaged.
    """
    folder = os.fspath(directory)
    if not os.path.isdir(folder):
        raise MissingFileError(f"{folder}: no such folder, expected one with checkpoints")
    state = get_checkpoint_state(folder)
    latest = latest_checkpoint(folder)
    times: dict[str, float] = {}
    paths: list[str] = []
    if state is not None:
        paths = [*state.all_model_checkpoint_paths]
        if state.model_checkpoint_path not in paths:
            paths.append(state.model_checkpoint_path)
        saved = state.all_model_checkpoint_timestamps
        times = dict(zip(state.all_model_checkpoint_paths, saved, strict=False))
    known = {os.path.normpath(path) for path in paths}
    paths += [p for p in _prefixes(folder) if os.path.normpath(p) not in known]
    return [_info(path, path == latest, times.get(path)) for path in paths if find_files(path)]


def describe_checkpoint(
    prefix: str | os.PathLike[str], *, verify: bool = False, values: bool = False
) -> CheckpointDescription:
    """Describe the variables of a checkpoint.

    Args:
        prefix: See ``load_checkpoint``.
        verify: Whether to compare the whole content with its hash first.
        values: Whether to tell the beginning of each value.

    Returns:
        The file, and the variables sorted by name.

    Raises:
        NotFoundError: there is no such checkpoint.
        BundleError: it is damaged.
    """
    with load_checkpoint(prefix) as reader:
        if verify:
            reader.verify()
        found = []
        for key in reader.keys():  # noqa: SIM118
            entry = reader.entry(key)
            text = _text(reader.array(key)) if values else ""
            found.append(SavedVariable(key, entry.dtype, entry.shape, entry.nbytes, text))
        return CheckpointDescription(str(reader.path), tuple(found))


def _text(array: np.ndarray[Any, Any]) -> str:
    with np.printoptions(threshold=6, edgeitems=2, precision=4):
        text = " ".join(str(array).split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _prefixes(folder: str) -> list[str]:
    names = {
        name.removesuffix(suffix)
        for name in os.listdir(folder)
        for suffix in (SUFFIX, INDEX_SUFFIX)
        if name.endswith(suffix) and not name.startswith(".") and "-of-" not in name
    }
    return [os.path.join(folder, name) for name in sorted(names)]


def _info(path: str, is_latest: bool, saved: float | None) -> CheckpointInfo:
    with load_checkpoint(path) as reader:
        keys = reader.keys()
        size = sum(reader.entry(key).nbytes for key in keys)
    when = "" if saved is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(saved))
    return CheckpointInfo(path, is_latest, when, len(keys), size)
