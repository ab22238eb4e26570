"""The ``checkpoint`` file of a folder: which checkpoints there are and which is the latest.

Owns its content, JSON with names relative to the folder, and reads it strictly: names are used to
delete files, so none may lead out of the folder. Must not know what is in a checkpoint. The one
decision: a checkpoint is listed after it was written, and what is listed but gone does not count,
so no moment at which a process dies leaves a folder that cannot be used.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfx.bundle.files import path_problem, read_limited
from tfx.core.errors import BundleError, NotFoundError
from tfx.train.files import find_files, locked, replace_file

STATE_NAME = "checkpoint"
_FORMAT = 1
_MAX_BYTES = 16 << 20
_POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class CheckpointState:
    """The contents of a folder's ``checkpoint`` file; paths are complete.

    Attributes:
        model_checkpoint_path: The latest checkpoint.
        all_model_checkpoint_paths: All that are kept, oldest first.
        all_model_checkpoint_timestamps: When each was saved, in seconds since 1970.
        last_preserved_timestamp: When the last one was saved that is kept for good.
    """

    model_checkpoint_path: str
    all_model_checkpoint_paths: tuple[str, ...] = ()
    all_model_checkpoint_timestamps: tuple[float, ...] = ()
    last_preserved_timestamp: float = 0.0


def get_checkpoint_state(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> CheckpointState | None:
    """Read the ``checkpoint`` file of a folder.

    Args:
        checkpoint_dir: The folder.
        latest_filename: Name of the file if it is not ``checkpoint``.

    Returns:
        What it says, or None if there is no such file.

    Raises:
        BundleError: the file is damaged.
    """
    folder = os.fspath(checkpoint_dir)
    path = Path(folder, latest_filename or STATE_NAME)
    try:
        data = read_limited(path, _MAX_BYTES)
    except NotFoundError:
        return None
    try:
        table = json.loads(data)
    except (ValueError, RecursionError) as e:
        raise BundleError(f"{path}: not JSON ({e}); {_ADVICE}") from e
    return _read(table, folder, str(path))


def latest_checkpoint(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> str | None:
    """Find the latest checkpoint of a folder.

    Args:
        checkpoint_dir: The folder.
        latest_filename: Name of the state file if it is not ``checkpoint``.

    Returns:
        Its path, for ``restore``; None if none was saved there. If somebody has deleted the latest
        one, it is the newest of those that are left.

    Raises:
        BundleError: the state file is damaged.

    Example:
        >>> import os, tempfile
        >>> import tfx as tf
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = tf.train.Checkpoint(step=tf.Variable(7)).save(folder + "/ckpt")
        ...     os.path.basename(latest_checkpoint(folder))
        'ckpt-1'
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    candidates = (state.model_checkpoint_path, *reversed(state.all_model_checkpoint_paths))
    return next((path for path in candidates if find_files(path) is not None), None)


def write_state(
    folder: str | os.PathLike[str],
    latest: str,
    paths: Sequence[str],
    times: Sequence[float],
    last_preserved: float,
) -> None:
    """Replace the ``checkpoint`` file of a folder.

    Args:
        folder: The folder.
        latest: The latest checkpoint, somewhere below the folder.
        paths: All checkpoints, oldest first.
        times: When each was saved.
        last_preserved: When the last one was saved that is kept for good.
    """
    root = Path(folder)
    table = {
        "format": _FORMAT,
        "latest": _relative(latest, root),
        "checkpoints": [
            {"path": _relative(path, root), "time": saved}
            for path, saved in zip(paths, times, strict=True)
        ],
        "last_preserved_time": last_preserved,
    }
    data = json.dumps(table, indent=2, ensure_ascii=False).encode() + b"\n"
    with locked(root):
        replace_file(root / STATE_NAME, data)


def checkpoints_iterator(
    checkpoint_dir: str | os.PathLike[str],
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Yield checkpoints of a folder as another process saves them.

    Args:
        checkpoint_dir: The folder; it need not exist yet.
        min_interval_secs: Least time between two of them.
        timeout: Seconds to wait for a new one; None waits forever.
        timeout_fn: Called when that time is over; True ends the iteration, False goes on waiting.
            None ends it.

    Yields:
        The path of each new latest checkpoint. Those saved while the caller is busy are skipped,
        except for the last.
    """
    latest = None
    while True:
        found = _wait_for_new(checkpoint_dir, latest, timeout)
        if found is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        latest = found
        begin = time.monotonic()
        yield latest
        time.sleep(max(0.0, min_interval_secs - (time.monotonic() - begin)))


def _wait_for_new(
    folder: str | os.PathLike[str], latest: str | None, timeout: float | None
) -> str | None:
    stop = None if timeout is None else time.monotonic() + timeout
    while True:
        found = latest_checkpoint(folder)
        if found is not None and found != latest:
            return found
        pause = _POLL_SECONDS if timeout is None else min(_POLL_SECONDS, max(timeout / 10, 0.01))
        if stop is not None and time.monotonic() + pause > stop:
            return None
        time.sleep(pause)


_ADVICE = "delete it, or write it anew by saving; the checkpoints beside it can be restored by path"


def _read(table: Any, folder: str, where: str) -> CheckpointState:
    try:
        version, latest = table["format"], table["latest"]
        rows = [(row["path"], row["time"]) for row in table["checkpoints"]]
        preserved = table["last_preserved_time"]
    except (KeyError, TypeError, AttributeError) as e:
        raise BundleError(f"{where}: no list of checkpoints ({e!r}); {_ADVICE}") from e
    if version != _FORMAT:
        raise BundleError(f"{where}: format {version!r:.80}, expected {_FORMAT}; {_ADVICE}")
    for number in (preserved, *(saved for _, saved in rows)):
        if type(number) not in (int, float):
            raise BundleError(f"{where}: the time {number!r:.80}, expected a number; {_ADVICE}")
    for path in (latest, *(path for path, _ in rows)):
        problem = path_problem(path) if isinstance(path, str) else "it is no text"
        if problem is not None:
            raise BundleError(f"{where}: the path {path!r:.200}: {problem}; {_ADVICE}")
    return CheckpointState(
        os.path.join(folder, latest),
        tuple(os.path.join(folder, path) for path, _ in rows),
        tuple(float(saved) for _, saved in rows),
        float(preserved),
    )


def _relative(path: str, folder: Path) -> str:
    return Path(os.path.abspath(path)).relative_to(os.path.abspath(folder)).as_posix()
