"""Which checkpoints a manager keeps, and going on after a restart."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.unit.train.objects import f, v
from tfx.core.errors import OpError
from tfx.train import (
    Checkpoint,
    CheckpointManager,
    CheckpointOptions,
    files,
    get_checkpoint_state,
    latest_checkpoint,
    manager,
)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, to be changed: ``clock[0] += 10``."""
    now = [1000.0]
    monkeypatch.setattr(manager.time, "time", lambda: now[0])
    return now


def numbers(folder: Path) -> list[int]:
    return sorted(int(p.stem.rpartition("-")[2]) for p in folder.glob("*.safetensors"))


def kept(m: CheckpointManager) -> list[int]:
    return [int(p.rpartition("-")[2]) for p in m.checkpoints]


def test_keeps_the_newest(tmp_path: Path) -> None:
    x = v()
    m = CheckpointManager(Checkpoint(x=x), tmp_path, max_to_keep=2)
    assert m.latest_checkpoint is None
    assert m.checkpoints == []
    for i in range(1, 6):
        x.assign(float(i))
        path = m.save()
        assert path == m.latest_checkpoint == latest_checkpoint(tmp_path)
        assert path == str(tmp_path / f"ckpt-{i}")
    assert kept(m) == numbers(tmp_path) == [4, 5]
    state = get_checkpoint_state(tmp_path)
    assert state is not None
    assert state.all_model_checkpoint_paths == tuple(m.checkpoints)
    x.assign(0.0)
    m.checkpoint.restore(m.checkpoints[0])
    assert f(x) == 4.0


def test_none_keeps_all(tmp_path: Path) -> None:
    m = CheckpointManager(Checkpoint(x=v()), tmp_path, max_to_keep=None, checkpoint_name="model")
    for _ in range(4):
        m.save()
    assert kept(m) == numbers(tmp_path) == [1, 2, 3, 4]
    assert (tmp_path / "model-1.safetensors").exists()


def test_properties(tmp_path: Path) -> None:
    checkpoint, step = Checkpoint(x=v()), v(0)
    m = CheckpointManager(checkpoint, str(tmp_path), 3, step_counter=step, checkpoint_interval=5)
    assert m.checkpoint is checkpoint
    assert m.directory == str(tmp_path)
    assert m.checkpoint_interval == 5


@pytest.mark.parametrize("bad", [0, -1])
def test_max_to_keep_is_positive(tmp_path: Path, bad: int) -> None:
    with pytest.raises(ValueError, match=f"max_to_keep`, got {bad}"):
        CheckpointManager(Checkpoint(x=v()), tmp_path, bad)


def test_an_interval_needs_a_counter(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="step_counter"):
        CheckpointManager(Checkpoint(x=v()), tmp_path, 1, checkpoint_interval=3)


def test_goes_on_after_a_restart(tmp_path: Path) -> None:
    first = CheckpointManager(Checkpoint(x=v(7.0)), tmp_path, 2)
    for _ in range(3):
        first.save()
    x = v()
    second = CheckpointManager(Checkpoint(x=x), tmp_path, 2)
    assert second.checkpoints == first.checkpoints
    assert second.restore_or_initialize() == first.latest_checkpoint
    assert f(x) == 7.0
    assert second.save() == str(tmp_path / "ckpt-4")
    assert kept(second) == numbers(tmp_path) == [3, 4]


def test_restore_or_initialize_without_checkpoints(tmp_path: Path) -> None:
    called: list[Any] = []
    m = CheckpointManager(Checkpoint(x=v()), tmp_path, 1, init_fn=lambda: called.append(1))
    assert m.restore_or_initialize() is None
    assert called == [1]
    assert CheckpointManager(Checkpoint(x=v()), tmp_path, 1).restore_or_initialize() is None


def test_numbers_can_be_given(tmp_path: Path) -> None:
    m = CheckpointManager(Checkpoint(x=v()), tmp_path, 5)
    assert m.save(checkpoint_number=17) == str(tmp_path / "ckpt-17")
    assert m.save(checkpoint_number=v(4)) == str(tmp_path / "ckpt-4")
    assert m.save(checkpoint_number=17) == str(tmp_path / "ckpt-17")
    assert kept(m) == [4, 17]
    assert int(m.checkpoint.save_counter) == 3
    assert m.save() == str(tmp_path / "ckpt-4")


def test_interval_counts_steps(tmp_path: Path) -> None:
    step = v(0)
    m = CheckpointManager(
        Checkpoint(x=v()), tmp_path, None, step_counter=step, checkpoint_interval=3
    )
    saved = []
    for i in range(8):
        step.assign(i)
        if m.save() is not None:
            saved.append(i)
    assert saved == [0, 3, 6]
    assert m.save(check_interval=False) is not None
    again = CheckpointManager(
        Checkpoint(x=v()), tmp_path, None, step_counter=step, checkpoint_interval=3
    )
    again.restore_or_initialize()
    assert again.save() is None
    late = CheckpointManager(
        Checkpoint(x=v()), tmp_path, None, step_counter=step, checkpoint_interval=3,
        last_checkpoint_step=6,
    )  # fmt: skip
    assert late.save() is None


def test_one_every_so_many_hours_is_kept_for_good(tmp_path: Path, clock: list[float]) -> None:
    m = CheckpointManager(Checkpoint(x=v()), tmp_path, 2, keep_checkpoint_every_n_hours=1)
    for _ in range(10):  # number i is saved after i * 20 minutes
        clock[0] += 1200
        m.save()
    assert kept(m) == [9, 10]
    assert numbers(tmp_path) == [3, 6, 9, 10]
    # A new manager remembers when the last one was kept for good.
    again = CheckpointManager(Checkpoint(x=v()), tmp_path, 2, keep_checkpoint_every_n_hours=1)
    again.restore_or_initialize()
    for _ in range(3):
        clock[0] += 1200
        again.save()
    assert numbers(tmp_path) == [3, 6, 9, 12, 13]


def test_a_clock_that_was_set_back(tmp_path: Path, clock: list[float]) -> None:
    CheckpointManager(Checkpoint(x=v()), tmp_path, 1, keep_checkpoint_every_n_hours=1).save()
    clock[0] = 10.0
    m = CheckpointManager(Checkpoint(x=v()), tmp_path, 1, keep_checkpoint_every_n_hours=1)
    for _ in range(4):
        clock[0] += 3600
        m.save(checkpoint_number=int(clock[0]))
    assert len(numbers(tmp_path)) >= 4


def test_deleted_files_do_not_count(tmp_path: Path) -> None:
    first = CheckpointManager(Checkpoint(x=v()), tmp_path, 5)
    for _ in range(3):
        first.save()
    for number in (1, 3):
        (tmp_path / f"ckpt-{number}.safetensors").unlink()
    second = CheckpointManager(Checkpoint(x=v()), tmp_path, 5)
    assert kept(second) == [2]
    assert second.latest_checkpoint == str(tmp_path / "ckpt-2")


def test_shards_are_deleted_too(tmp_path: Path) -> None:
    options = CheckpointOptions(max_shard_bytes=8)
    m = CheckpointManager(Checkpoint(x=v([1.0, 2.0]), y=v([1.0, 2.0])), tmp_path, 1)
    for _ in range(3):
        m.save(options=options)
    names = sorted(os.listdir(tmp_path))
    assert names[0] == "checkpoint"
    assert all(name.startswith("ckpt-3.") for name in names[1:])
    m.checkpoint.restore(latest_checkpoint(tmp_path)).assert_consumed()


@pytest.mark.parametrize("via_options", [False, True])
def test_in_the_background(tmp_path: Path, via_options: bool) -> None:
    x = v()
    m = CheckpointManager(Checkpoint(x=x), tmp_path, 2)
    heard: list[str] = []
    for i in range(1, 5):
        x.assign(float(i))
        m.save(
            options=CheckpointOptions(
                enable_async=via_options, experimental_write_callbacks=[heard.append]
            ),
            background=not via_options,
        )
        x.assign(-1.0)
    m.sync()
    assert kept(m) == numbers(tmp_path) == [3, 4]
    assert heard == [str(tmp_path / f"ckpt-{i}") for i in range(1, 5)]
    m.restore_or_initialize()
    assert f(x) == 4.0


def test_a_failed_save_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    m = CheckpointManager(Checkpoint(x=v()), tmp_path, 1)
    m.save()

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "write_store", fail)
        with pytest.raises(OpError, match="disk is full"):
            m.save()
    assert kept(m) == numbers(tmp_path) == [1]
    assert m.save() == str(tmp_path / "ckpt-2")


class Stop(BaseException):
    """Stands for the end of the process."""


def test_stopped_at_any_call_there_is_a_latest_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for last in range(100):
        folder = tmp_path / str(last)
        x = v(1.0)
        CheckpointManager(Checkpoint(x=x), folder, 1).save()
        m = CheckpointManager(Checkpoint(x=x), folder, 1)
        m.restore_or_initialize()
        x.assign(2.0)
        complete, left = False, [last]

        def counted(real: Any, left: list[int] = left) -> Any:
            def call(*args: Any, **kwargs: Any) -> Any:
                left[0] -= 1
                if left[0] < 0:
                    raise Stop
                return real(*args, **kwargs)

            return call

        with monkeypatch.context() as patch:
            for name in ("rename", "replace", "unlink", "rmdir", "mkdir", "fsync"):
                patch.setattr(os, name, counted(getattr(os, name)))
            try:
                m.save()
                complete = True
            except Stop:
                pass
        x.assign(0.0)
        after = CheckpointManager(Checkpoint(x=x), folder, 1)
        assert after.restore_or_initialize() is not None
        assert f(x) in (1.0, 2.0)
        after.save()
        assert kept(after) == numbers(folder) == [int(after.checkpoint.save_counter)]
        if complete:
            break
    assert complete
    assert f(x) == 2.0


def test_a_step_is_saved_once(tmp_path: Path) -> None:
    """As in TensorFlow: also where the interval does not count."""
    step = v(0)
    m = CheckpointManager(
        Checkpoint(x=v(1.0)), tmp_path, 9, step_counter=step, checkpoint_interval=3
    )
    assert m.save() is not None
    assert m.save(check_interval=False) is None
    step.assign(1)
    assert m.save() is None
    assert m.save(check_interval=False) is not None
    assert numbers(tmp_path) == [1, 2]


def test_the_first_checkpoint_may_be_kept_for_good(tmp_path: Path, clock: list[float]) -> None:
    """A manager's clock begins a second before it is made, as TensorFlow's does."""
    m = CheckpointManager(
        Checkpoint(x=v(1.0)), tmp_path, 1, keep_checkpoint_every_n_hours=0.5 / 3600
    )
    for _ in range(3):
        m.save()
    assert numbers(tmp_path) == [1, 3]
