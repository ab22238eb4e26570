"""Support for ``os.fork()``: a child of a process that ran sessions can run them too.

A forked child has a copy of ONNX Runtime's memory, but none of its threads. Sessions work there
nevertheless, on the child's one thread: who starts a parallel section does the work that no thread
of the pool has begun, and takes back what it gave away. Three things go wrong. A thread that is
inside ONNX Runtime at the moment of the fork leaves locks that nobody will ever open; so forking
waits for such threads, and keeps new runs from beginning meanwhile. A thread of the pool that has
found no work for some milliseconds goes to sleep, and holds a lock while it does;
who is to wake it waits for that lock. So forking waits until the pool sleeps. And CUDA does not
survive a fork at all. Where a child cannot work, it says so at its first run, and never hangs.

Nothing here costs a run anything: runners are replaced around the fork only (see ``run_hooks``).
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from tfx.core.errors import FailedPreconditionError
from tfx.runtime import run_hooks, running_threads, values
from tfx.runtime.values import RawValue

# Seconds that a fork waits for runs of other threads.
PATIENCE = 10.0
# Seconds that it waits for threads that Python does not know to fall asleep. Those of the pool need
# a few milliseconds; those of other libraries may compute forever, and need not concern us.
POOL_PATIENCE = 1.0
_TASKS = "/proc/self/task"
_INSTEAD = (
    "Start processes with multiprocessing.get_context('spawn') or 'forkserver', or fork before the "
    "first operation runs."
)


class _State:
    """The process-wide state of fork handling.

    Attributes:
        started: Whether a session exists.
        quiet: Whether no other thread was inside ONNX Runtime when the fork came.
        gate: Closed while a fork is under way.
        broken: Why sessions cannot run in this child; empty: they can.
        broken_gpu: The same for sessions on a GPU.
    """

    def __init__(self) -> None:
        self.started = False
        self.quiet = True
        self.gate = threading.Event()
        self.gate.set()
        self.broken = ""
        self.broken_gpu = ""


_state = _State()


def session_made(device: str) -> None:
    """A session is about to be made.

    Args:
        device: Canonical device name.

    Raises:
        FailedPreconditionError: this is a forked child that cannot run it.
    """
    _check(device)
    _state.started = True


def _check(device: str) -> None:
    reason = _state.broken or ("" if device.startswith("CPU") else _state.broken_gpu)
    if reason:
        raise FailedPreconditionError(reason)


def _before() -> None:
    """Wait until no other thread is inside ONNX Runtime, and let none begin."""
    _state.quiet = True
    if not _state.started:
        return
    if len(sys._current_frames()) > 1:
        _wait_for_runs()
    if _state.quiet:
        _wait_for_the_pool()


def _wait_for_runs() -> None:
    _state.gate.clear()
    run_hooks.add_layer(_gated)
    deadline = time.monotonic() + PATIENCE
    while running_threads.are_others_inside():
        if time.monotonic() > deadline:
            _state.quiet = False
            return
        time.sleep(0.0005)


def _wait_for_the_pool() -> None:
    """Wait until the threads of the pool sleep, where the system tells (Linux)."""
    deadline = time.monotonic() + POOL_PATIENCE
    while _is_pool_awake() and time.monotonic() < deadline:
        time.sleep(0.0002)


def _is_pool_awake() -> bool:
    """True if a thread that Python did not start is running or about to."""
    try:
        numbers = {int(name) for name in os.listdir(_TASKS)}
    except OSError:
        return False
    numbers.difference_update(t.native_id for t in threading.enumerate() if t.native_id is not None)
    return any(_is_running(number) for number in numbers)


def _is_running(thread: int) -> bool:
    try:
        with open(f"{_TASKS}/{thread}/stat", "rb") as file:
            # The state follows the name, which is in parentheses and may hold anything.
            return file.read().rpartition(b")")[2].split()[0] == b"R"
    except (OSError, IndexError):  # the thread has ended
        return False


def _gated(holder: Any, run: run_hooks.Run) -> run_hooks.Run:
    """Runs wait here while the process forks."""

    def gated(feeds: dict[str, RawValue], outputs: list[str], options: Any) -> Sequence[RawValue]:
        _wait()
        return run(feeds, outputs, options)

    return gated


def _wait() -> None:
    while not _state.gate.is_set():
        _state.gate.wait(1)


running_threads.waiting.add(_wait.__code__)


def _after_in_child() -> None:
    _state.gate = threading.Event()
    _open()
    if not _state.started:
        return
    if not _state.quiet:
        _state.broken = (
            f"This process was forked (process {os.getppid()} is its parent) while another thread "
            f"was running an operation, which did not end within {PATIENCE:g} s; what that thread "
            f"had locked stays locked here, so nothing can run. {_INSTEAD}"
        )
    if values.gpu_in_use:
        _state.broken_gpu = (
            f"This process was forked (process {os.getppid()} is its parent) after the GPU had "
            f"been used, and CUDA does not work in a forked child. {_INSTEAD}"
        )
    if _state.broken or _state.broken_gpu:
        run_hooks.add_layer(_refusing)


def _open() -> None:
    run_hooks.remove_layer(_gated)
    _state.gate.set()


def _refusing(holder: Any, run: run_hooks.Run) -> run_hooks.Run:
    """Runs in a child that cannot run end with an exception."""
    session = getattr(holder, "session", holder)
    device = str(getattr(session, "device", "CPU:0"))

    def refusing(
        feeds: dict[str, RawValue], outputs: list[str], options: Any
    ) -> Sequence[RawValue]:
        _check(device)
        return run(feeds, outputs, options)

    return refusing


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_open, after_in_child=_after_in_child)
