"""``CheckpointManager``: keeps the last few checkpoints of a folder.

Owns which checkpoints are kept and when they are deleted. Must not know what is in them. The one
decision: the list is written before and after deleting, so a process that dies in between leaves a
list with names that are gone, which do not count, and never a file that is listed nowhere.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tfx.train.checkpoint import Checkpoint
from tfx.train.files import delete_files, find_files
from tfx.train.latest_checkpoint_file import get_checkpoint_state, latest_checkpoint, write_state
from tfx.train.options import CheckpointOptions

_HOUR = 3600.0


class CheckpointManager:
    """Saves numbered checkpoints in a folder and deletes old ones.

    A manager that is made for a folder with checkpoints goes on with them.

    Args:
        checkpoint: What to save.
        directory: The folder.
        max_to_keep: How many checkpoints to keep; None keeps all.
        keep_checkpoint_every_n_hours: Of those that are to be deleted, keep one for good each time
            so many hours have passed since the last one that was kept for good.
        checkpoint_name: Name of the files before the number.
        step_counter: Variable (or anything that ``int`` takes) with the current step, for
            ``checkpoint_interval``.
        checkpoint_interval: Least number of steps between two checkpoints.
        init_fn: Called by ``restore_or_initialize`` if there is no checkpoint.
        last_checkpoint_step: The step of the last checkpoint, if it was saved elsewhere.

    Raises:
        ValueError: ``max_to_keep`` is not positive, or an interval comes without a counter.
        BundleError: the list of checkpoints in the folder is damaged.

    Example:
        >>> import tempfile
        >>> import tfx as tf
        >>> checkpoint = tf.train.Checkpoint(step=tf.Variable(0))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
        ...     for _ in range(3):
        ...         path = manager.save()
        ...     [p.rpartition("-")[2] for p in manager.checkpoints]
        ['2', '3']
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: str | os.PathLike[str],
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Any = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
        last_checkpoint_step: int | None = None,
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(
                f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}."
            )
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError(
                "`step_counter` should be passed if `checkpoint_interval` is not None."
            )
        self._checkpoint = checkpoint
        self._directory = os.fspath(directory)
        self._max_to_keep = max_to_keep
        self._keep_every = keep_checkpoint_every_n_hours
        self._prefix = os.path.join(self._directory, checkpoint_name)
        self._step_counter = step_counter
        self._interval = checkpoint_interval
        self._init_fn = init_fn
        self._last_step = last_checkpoint_step
        self._step_before = last_checkpoint_step
        state = get_checkpoint_state(directory)
        now = time.time()
        self._kept: dict[str, float] = {}
        # A manager that is made again at once finds its first checkpoint to be later than this.
        self._last_preserved = now - 1.0
        self._latest = None
        if state is not None:
            # A clock that was set back must not keep everything from being preserved.
            self._last_preserved = min(now, state.last_preserved_timestamp)
            listed = zip(
                state.all_model_checkpoint_paths, state.all_model_checkpoint_timestamps, strict=True
            )
            self._kept = {path: saved for path, saved in listed if find_files(path) is not None}
            self._latest = latest_checkpoint(directory)

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint that is saved."""
        return self._checkpoint

    @property
    def checkpoint_interval(self) -> int | None:
        """Least number of steps between two checkpoints."""
        return self._interval

    @property
    def directory(self) -> str:
        """The folder."""
        return self._directory

    @property
    def checkpoints(self) -> list[str]:
        """Paths of the checkpoints, oldest first, without those that are kept for good."""
        return list(self._kept)

    @property
    def latest_checkpoint(self) -> str | None:
        """Path of the latest checkpoint, for ``restore``; None if there is none."""
        return self._latest

    def save(
        self,
        checkpoint_number: Any = None,
        check_interval: bool = True,
        options: CheckpointOptions | None = None,
        *,
        background: bool = False,
    ) -> str | None:
        """Save a checkpoint, and delete those that are too many.

        Args:
            checkpoint_number: Its number, an int or a variable; None counts up.
            check_interval: Whether ``checkpoint_interval`` is obeyed. Where there is one, a step
                that was saved already is not saved again in any case.
            options: See ``CheckpointOptions``.
            background: See ``Checkpoint.save``.

        Returns:
            Its path (in the background a ``BackgroundSave``), or None if not enough steps have
            passed.

        Raises:
            ValueError: while a function is traced.
            PermissionDeniedError: the folder may not be written to.
            ResourceExhaustedError: the disk is full.
        """
        step = None if self._interval is None else int(self._step_counter)
        if not self._is_due(step, check_interval):
            return None
        self.sync()
        counter = self._checkpoint.save_counter
        counter.assign_add(1)
        number = int(counter) if checkpoint_number is None else int(checkpoint_number)
        try:
            path = self._checkpoint.write(
                f"{self._prefix}-{number}",
                _with_callback(options, self._written),
                background=background,
            )
        except BaseException:
            counter.assign_sub(1)
            raise
        if step is not None:
            self._step_before, self._last_step = self._last_step, step
        return path

    def restore_or_initialize(self) -> str | None:
        """Restore the latest checkpoint, or call ``init_fn`` if there is none.

        Returns:
            The path of the checkpoint, or None.

        Raises:
            InvalidArgumentError: dtype or shape of a variable differ.
            BundleError: the checkpoint is damaged.
        """
        self.sync()
        if self._latest is not None:
            self._checkpoint.restore(self._latest)
            if self._interval is not None:
                self._last_step = int(self._step_counter)
            return self._latest
        if self._init_fn is not None:
            self._init_fn()
        return None

    def sync(self) -> None:
        """Wait until what is written in the background is complete.

        Raises:
            OpError: it could not be written.
        """
        try:
            self._checkpoint.sync()
        except BaseException:
            self._last_step = self._step_before  # that one does not count
            raise

    def _is_due(self, step: int | None, check_interval: bool) -> bool:
        if step is None or self._interval is None or self._last_step is None:
            return True
        if step == self._last_step:  # nothing has happened since
            return False
        return not check_interval or step >= self._last_step + self._interval

    def _written(self, path: str) -> None:
        self._kept.pop(path, None)  # written again under the same number
        self._kept[path] = time.time()
        self._latest = path
        self._record()
        if self._sweep():
            self._record()

    def _record(self) -> None:
        write_state(
            self._directory,
            str(self._latest),
            list(self._kept),
            list(self._kept.values()),
            self._last_preserved,
        )

    def _sweep(self) -> bool:
        """Delete, or keep for good, what is too much; whether there was anything."""
        if self._max_to_keep is None:
            return False
        excess = list(self._kept.items())[: -self._max_to_keep]
        for path, saved in excess:
            del self._kept[path]
            due = (
                None
                if self._keep_every is None
                else (self._last_preserved + self._keep_every * _HOUR)
            )
            if due is not None and saved >= due:
                self._last_preserved = saved
            else:
                delete_files(path)
        return bool(excess)


def _with_callback(
    options: CheckpointOptions | None, callback: Callable[[str], None]
) -> CheckpointOptions:
    options = options or CheckpointOptions()
    callbacks = [callback, *(options.experimental_write_callbacks or ())]
    return replace(options, experimental_write_callbacks=callbacks)
