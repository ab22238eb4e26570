"""The ``checkpoint`` file: what it says, what it must not say, and waiting for it to change."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.unit.train.objects import v
from tfx.core.errors import BundleError
from tfx.train import (
    Checkpoint,
    checkpoints_iterator,
    get_checkpoint_state,
    latest_checkpoint,
)
from tfx.train.files import delete_files
from tfx.train.latest_checkpoint_file import write_state


def test_no_state(tmp_path: Path) -> None:
    assert get_checkpoint_state(tmp_path) is None
    assert latest_checkpoint(tmp_path / "nowhere") is None
    Checkpoint(x=v()).write(tmp_path / "c")  # is not noted
    assert latest_checkpoint(tmp_path) is None


def test_save_notes_the_latest(tmp_path: Path) -> None:
    before = time.time()
    checkpoint = Checkpoint(x=v())
    for _ in range(2):
        path = checkpoint.save(tmp_path / "c")
        assert latest_checkpoint(tmp_path) == latest_checkpoint(str(tmp_path)) == path
    state = get_checkpoint_state(tmp_path)
    assert state is not None
    assert state.model_checkpoint_path == path
    assert state.all_model_checkpoint_paths == (path,)
    assert before <= state.all_model_checkpoint_timestamps[0] <= time.time()


def test_the_folder_can_be_moved(tmp_path: Path) -> None:
    Checkpoint(x=v()).save(tmp_path / "old" / "c")
    (tmp_path / "old").rename(tmp_path / "new")
    path = latest_checkpoint(tmp_path / "new")
    assert path == str(tmp_path / "new" / "c-1")
    Checkpoint(x=v()).restore(path).assert_consumed()


def test_what_is_listed_but_gone_does_not_count(tmp_path: Path) -> None:
    checkpoint = Checkpoint(x=v())
    paths = [checkpoint.write(tmp_path / str(i)) for i in range(3)]
    write_state(tmp_path, paths[2], paths, [1.0, 2.0, 3.0], 0.0)
    for left in (2, 1, 0):
        assert latest_checkpoint(tmp_path) == paths[left]
        delete_files(paths[left])
    assert latest_checkpoint(tmp_path) is None


def test_another_name_for_the_state(tmp_path: Path) -> None:
    path = Checkpoint(x=v()).save(tmp_path / "c")
    (tmp_path / "checkpoint").rename(tmp_path / "best")
    assert latest_checkpoint(tmp_path) is None
    assert latest_checkpoint(tmp_path, "best") == path


GOOD: dict[str, Any] = {
    "format": 1,
    "latest": "c-1",
    "checkpoints": [{"path": "c-1", "time": 1.0}],
    "last_preserved_time": 0,
}


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"format": None},
        {"latest": "../c-1"},
        {"latest": "/etc/passwd"},
        {"latest": 3},
        {"latest": "a\\b"},
        {"checkpoints": 3},
        {"checkpoints": [3]},
        {"checkpoints": [{"path": "../../x", "time": 1.0}]},
        {"checkpoints": [{"path": "x"}]},
        {"checkpoints": [{"path": "x", "time": "now"}]},
        {"checkpoints": [{"path": "x", "time": True}]},
        {"last_preserved_time": None},
    ],
    ids=str,
)
def test_damaged_states_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "checkpoint"
    path.write_text(json.dumps(GOOD))
    assert get_checkpoint_state(tmp_path) is not None
    path.write_text(json.dumps(GOOD | change))
    with pytest.raises(BundleError, match=r"checkpoint: .*can be restored by path"):
        latest_checkpoint(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, "\xff"])
def test_what_is_no_state_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "checkpoint").write_bytes(text.encode("latin-1"))
    with pytest.raises(BundleError, match="checkpoint: "):
        get_checkpoint_state(tmp_path)


def test_a_state_that_is_a_folder_or_too_large(tmp_path: Path) -> None:
    (tmp_path / "a" / "checkpoint").mkdir(parents=True)
    with pytest.raises(BundleError, match="checkpoint"):
        latest_checkpoint(tmp_path / "a")
    with open(tmp_path / "checkpoint", "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(BundleError, match="expected at most"):
        latest_checkpoint(tmp_path)


# Iterating


def test_iterator_yields_each_new_checkpoint(tmp_path: Path) -> None:
    checkpoint = Checkpoint(x=v())
    checkpoint.save(tmp_path / "c")
    found = []
    for path in checkpoints_iterator(tmp_path, timeout=0.05):
        found.append(path)
        if len(found) < 3:
            checkpoint.save(tmp_path / "c")
    assert found == [str(tmp_path / f"c-{i}") for i in (1, 2, 3)]


def test_iterator_asks_whether_to_go_on(tmp_path: Path) -> None:
    asked = []

    def stop() -> bool:
        asked.append(True)
        return len(asked) == 3

    assert list(checkpoints_iterator(tmp_path, timeout=0.01, timeout_fn=stop)) == []
    assert len(asked) == 3


def test_iterator_waits_for_another_thread(tmp_path: Path) -> None:
    iterator = checkpoints_iterator(tmp_path, timeout=30)
    saver = threading.Timer(0.1, lambda: Checkpoint(x=v()).save(tmp_path / "c"))
    saver.start()
    assert next(iterator) == str(tmp_path / "c-1")
    saver.join()


def test_iterator_keeps_the_interval(tmp_path: Path) -> None:
    checkpoint = Checkpoint(x=v())
    checkpoint.save(tmp_path / "c")
    iterator = checkpoints_iterator(tmp_path, min_interval_secs=0.2, timeout=1)
    next(iterator)
    begin = time.monotonic()
    checkpoint.save(tmp_path / "c")
    next(iterator)
    assert time.monotonic() - begin >= 0.15
