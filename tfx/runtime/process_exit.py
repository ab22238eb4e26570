"""The end of the process: threads that still run graphs are stopped before the interpreter is.

A daemon thread that comes back from ONNX Runtime while the interpreter is being taken down ends the
whole process with ``abort``. So at exit the runs of other threads are ended, and a thread that
begins another one gets ``SystemExit``, which ends it without a word; locks that it holds are
released on the way. The thread that leaves may go on running graphs: other exit handlers may.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Sequence
from typing import Any

from tfx.runtime import interrupts, run_hooks, running_threads
from tfx.runtime.values import RawValue

# Seconds that the end of the process waits: a node that has begun is finished first.
PATIENCE = 10.0

_leaver: int | None = None


def check() -> None:
    """End this thread if the process is ending, and another thread sees to that.

    Raises:
        SystemExit: it is.
    """
    if _leaver is not None and _leaver != threading.get_ident():
        raise SystemExit("the process is ending: its other threads run no more graphs")


def _closed(holder: Any, run: run_hooks.Run) -> run_hooks.Run:
    """Runs that begin while the process ends."""

    def closed(feeds: dict[str, RawValue], outputs: list[str], options: Any) -> Sequence[RawValue]:
        check()
        return run(feeds, outputs, options)

    return closed


def _leave() -> None:
    global _leaver
    if threading.active_count() == 1:
        return
    _leaver = threading.get_ident()
    run_hooks.add_layer(_closed)
    deadline = time.monotonic() + PATIENCE

    def is_quiet() -> bool:
        return not running_threads.are_others_inside() or time.monotonic() > deadline

    interrupts.end_runs(interrupts.all_options(), is_quiet)
    # Those that were ended look for their exception now; and sessions may be in the making.
    while not is_quiet():
        time.sleep(interrupts.PAUSE)


def _after_in_child() -> None:
    global _leaver
    _leaver = None
    run_hooks.remove_layer(_closed)


running_threads.waiting.add(_leave.__code__)
atexit.register(_leave)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_in_child)
