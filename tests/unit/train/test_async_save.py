"""Background saves: the handle, errors, and the end of the process."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import source_tree
from tests.unit.train.objects import module, v
from tfx.core.errors import ResourceExhaustedError
from tfx.train import BackgroundSave, Checkpoint, CheckpointManager, load_variable
from tfx.train import checkpoint as checkpoint_module


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Hold background saves back until the event is set."""
    event, write = threading.Event(), checkpoint_module.write_files

    def held(*arguments: Any) -> None:
        event.wait(20)
        write(*arguments)

    monkeypatch.setattr(checkpoint_module, "write_files", held)
    return event


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> ResourceExhaustedError:
    """Give the error with which every save fails."""
    error = ResourceExhaustedError("the disk is full")

    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(checkpoint_module, "write_files", fail)
    return error


def test_the_handle_is_the_path(tmp_path: Path, gate: threading.Event) -> None:
    x = v(1.0)
    saving = Checkpoint(x=x).save(tmp_path / "c", background=True)
    assert isinstance(saving, BackgroundSave)
    assert saving == str(tmp_path / "c-1")
    assert not saving.done()
    with pytest.raises(TimeoutError):
        saving.result(0.01)
    x.assign(2.0)
    gate.set()
    assert type(saving.result()) is str
    assert saving.done()
    assert saving.exception() is None
    assert load_variable(saving, "x") == 1.0
    assert type(pickle.loads(pickle.dumps(saving))) is str


def test_no_copy_is_made(tmp_path: Path, gate: threading.Event) -> None:
    x = v(np.zeros(1000, np.float32))
    checkpoint = Checkpoint(x=x)
    tensors, _ = checkpoint._snapshot()
    assert np.shares_memory(tensors["x"], np.asarray(x.value().view()))
    gate.set()


@pytest.mark.parametrize("how", ["result", "sync", "save", "restore"])
def test_the_first_who_waits_gets_the_error(
    tmp_path: Path, full: ResourceExhaustedError, how: str
) -> None:
    checkpoint = Checkpoint(x=v(1.0))
    saving = checkpoint.save(tmp_path / "c", background=True)
    assert isinstance(saving, BackgroundSave)
    wait = {
        "result": saving.result,
        "sync": checkpoint.sync,
        "save": lambda: checkpoint.save(tmp_path / "d"),
        "restore": lambda: checkpoint.restore(tmp_path / "c-1"),
    }[how]
    with pytest.raises(ResourceExhaustedError, match="the disk is full"):
        wait()
    checkpoint.sync()  # once is enough
    assert saving.exception() is full


def test_a_save_that_failed_does_not_put_off_the_next(
    tmp_path: Path, full: ResourceExhaustedError, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = v(0.0)
    manager = CheckpointManager(
        Checkpoint(step=step), tmp_path, 3, step_counter=step, checkpoint_interval=10
    )
    assert manager.save(background=True) is not None
    with pytest.raises(ResourceExhaustedError):
        manager.sync()
    monkeypatch.undo()
    assert manager.save(background=True) is not None
    manager.sync()
    assert manager.save() is None  # not due yet
    assert len(manager.checkpoints) == 1


PROGRAM = """
import sys, time
import tfx as tf
from tfx.train import checkpoint as module
write = module.write_files
def slow(*arguments):
    time.sleep(0.3)
    if sys.argv[2] == "fail":
        raise tf.errors.ResourceExhaustedError(None, None, "the disk is full")
    write(*arguments)
module.write_files = slow
tf.train.Checkpoint(x=tf.Variable(7.0)).save(sys.argv[1], background=True)
"""


@pytest.mark.parametrize("end", ["write", "fail"])
def test_the_end_of_the_process_waits_and_tells(tmp_path: Path, end: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "c"), end],
        capture_output=True,
        text=True,
        cwd=source_tree.ROOT,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    if end == "write":
        assert load_variable(tmp_path / "c-1", "x") == 7.0
        assert not done.stderr
    else:
        assert "c-1 was not written" in done.stderr
        assert "the disk is full" in done.stderr


def test_a_model_that_trains_meanwhile(tmp_path: Path) -> None:
    model = module(parts=[v(0.0) for _ in range(50)])
    checkpoint = Checkpoint(m=model)
    for number in range(5):
        for x in model.parts:
            x.assign(float(number))
        path = checkpoint.save(tmp_path / "c", background=True)
        for x in model.parts:
            x.assign(-1.0)
        checkpoint.read(path).assert_consumed()
        assert {float(x.numpy()) for x in model.parts} == {float(number)}
