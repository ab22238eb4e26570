"""Checkpoints as files: whether there are any, since when, and which is the latest."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from typing import Any

from tfx.core.errors import NotFoundError
from tfx.train.files import delete_files, find_files
from tfx.train.latest_checkpoint_file import write_state


def checkpoint_exists(checkpoint_prefix: str | os.PathLike[str]) -> bool:
    """Whether there is a checkpoint.

    Args:
        checkpoint_prefix: What ``Saver.save`` returned.
    """
    return find_files(checkpoint_prefix) is not None


def get_checkpoint_mtimes(checkpoint_prefixes: Iterable[str | os.PathLike[str]]) -> list[float]:
    """When checkpoints were written, in seconds since 1970.

    Args:
        checkpoint_prefixes: What ``Saver.save`` returned.

    Returns:
        A time for each checkpoint that exists.
    """
    files = [find_files(prefix) for prefix in checkpoint_prefixes]
    return [path.stat().st_mtime for path in files if path is not None]


def remove_checkpoint(
    checkpoint_prefix: str | os.PathLike[str],
    checkpoint_format_version: Any = None,
    meta_graph_suffix: str = "meta",
) -> None:
    """Delete the files of a checkpoint; nothing happens if there are none.

    Args:
        checkpoint_prefix: What ``Saver.save`` returned.
        checkpoint_format_version: Accepted for compatibility.
        meta_graph_suffix: Accepted for compatibility.
    """
    delete_files(checkpoint_prefix)


def update_checkpoint_state(
    save_dir: str | os.PathLike[str],
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Note which checkpoint of a folder is the latest, for ``latest_checkpoint``.

    Args:
        save_dir: The folder.
        model_checkpoint_path: The latest checkpoint, in the folder.
        all_model_checkpoint_paths: All that are kept, oldest first; the latest is added if it is
            not the last one.
        latest_filename: Must be None or ``"checkpoint"``.
        all_model_checkpoint_timestamps: When each of them was saved; None: now.
        last_preserved_timestamp: When the last one was saved that is kept for good.

    Raises:
        ValueError: another number of times than of checkpoints, or another name of the file.

    Example:
        >>> import os, tempfile
        >>> import tfx.compat.v1 as tf
        >>> folder = tempfile.mkdtemp()
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     session.run(tf.get_variable("v", initializer=1.0).initializer)
        ...     saver = tf.train.Saver()
        ...     paths = [saver.save(session, folder + "/model", i) for i in range(2)]
        >>> tf.train.update_checkpoint_state(folder, paths[0], paths[1:])
        >>> os.path.basename(tf.train.latest_checkpoint(folder))
        'model-0'
    """
    if latest_filename not in (None, "checkpoint"):
        raise ValueError(f"latest_filename must be 'checkpoint'; got {latest_filename!r}.")
    paths = list(all_model_checkpoint_paths or ())
    if not paths or paths[-1] != model_checkpoint_path:
        paths.append(model_checkpoint_path)
    now = time.time()
    times = list(all_model_checkpoint_timestamps or [now] * len(paths))
    if len(times) != len(paths):
        raise ValueError(
            f"Checkpoint timestamps must match checkpoint paths; got paths {paths} and timestamps "
            f"{times}."
        )
    if not os.path.isdir(save_dir):
        raise NotFoundError(f"{os.fspath(save_dir)}; No such file or directory")
    write_state(save_dir, model_checkpoint_path, paths, times, last_preserved_timestamp or now)
