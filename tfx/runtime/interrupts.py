"""Ctrl-C ends the run, or the creation of a session, that the main thread is in, and no other.

Python runs signal handlers between two instructions of the main thread, so none runs while ONNX
Runtime computes there. But the descriptor of ``signal.set_wakeup_fd`` is written to at once. A
thread that reads from it sets the ``terminate`` flag of the main thread's run options; the run ends
with an error at its next node, and Python raises ``KeyboardInterrupt`` in place of that error.

Nothing of this costs a run anything. That has a price: all calls without options of their own share
one object of run options, so that the runs of other threads are ended as well. These are repeated
(``repeated``): a run has no effect but its results. So is one of the main thread for which no
signal is pending any more.

Who has a handler of their own for the signal has chosen what it does: nothing is ended. Where
another library has the wakeup descriptor (asyncio with ``add_signal_handler``, trio) it keeps it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from onnxruntime.capi import onnxruntime_pybind11_state as _ort

from tfx.runtime.options import RUN_OPTIONS
from tfx.runtime.running_threads import is_creating, is_thread_inside
from tfx.runtime.values import RawValue

_ENDED = "terminate flag being set"
# Seconds between two looks at whether a thread has left ONNX Runtime.
PAUSE = 0.001


class _State:
    """The process-wide state of signal handling.

    Attributes:
        reader: The end of the pipe that the thread reads; -1: there is none.
        writer: The end that Python writes to when a signal comes.
        foreign: Descriptor of another library that is in our place.
        going: Cleared while the shared run options end runs.
        lock: Who ends runs holds it.
        own: Run options of runs that have their own, with the thread that waits for the run.
        creating: Options of sessions that are being made, by the thread that waits.
    """

    def __init__(self) -> None:
        self.reader = self.writer = self.foreign = -1
        self.going = threading.Event()
        self.going.set()
        self.lock = threading.Lock()
        self.own: dict[int, tuple[Any, int]] = {}
        self.creating: dict[int, Any] = {}


_state = _State()
_shared: list[Any] = [RUN_OPTIONS]


def share(options: Any) -> Any:
    """Register run options shared by many runs, to be ended and reset with the usual ones.

    Args:
        options: ONNX Runtime's run options.
    """
    _shared.append(options)
    return options


def was_ended(error: BaseException) -> bool:
    """True if a run failed because its ``terminate`` flag was set."""
    return isinstance(error, _ort.Fail | _ort.RuntimeException) and _ENDED in str(error)


def repeated(
    error: Exception, holder: Any, feeds: dict[str, RawValue], outputs: list[str]
) -> Sequence[RawValue]:
    """The results of a run that was ended on behalf of another thread.

    Args:
        error: What the run raised.
        holder: What holds its runner.
        feeds: A value for each input, by name.
        outputs: Names of the outputs.

    Raises:
        Exception: ``error``, if the run failed by itself, or what the repetition raised.
    """
    # Where a signal waits for this thread, Python has raised its exception by now.
    while was_ended(error):
        wait()
        try:
            result: Sequence[RawValue] = holder.run_raw(feeds, outputs, RUN_OPTIONS)
            return result
        except Exception as e:
            error = e
    raise error


def wait() -> None:
    """Wait until the shared run options end no runs."""
    while not _state.going.wait(1):
        pass


@contextmanager
def running(options: Any) -> Iterator[None]:
    """Let a signal end this thread's runs that have their own options.

    Args:
        options: ONNX Runtime's run options, used by this thread alone.
    """
    own = _state.own
    own[id(options)] = (options, threading.get_ident())
    try:
        yield
    finally:
        own.pop(id(options), None)


@contextmanager
def creating(options: Any) -> Iterator[None]:
    """Let a signal end the creation of a session by this thread.

    Args:
        options: ONNX Runtime's session options, used for this session alone.
    """
    this = threading.get_ident()
    _state.creating[this] = options
    try:
        yield
    finally:
        _state.creating.pop(this, None)


def end_runs(options: Sequence[Any], until: Any) -> None:
    """End runs, and repeat those of them that were not meant.

    Args:
        options: The run options of the runs to end.
        until: Called again and again; True once those that were meant have ended.
    """
    with _state.lock:
        shared = [o for o in _shared if any(o is one for one in options)]
        if shared:
            _state.going.clear()
        try:
            for one in options:
                one.terminate = True
            while not until():
                time.sleep(PAUSE)
        finally:
            for one in shared:
                one.terminate = False
            _state.going.set()


def all_options() -> list[Any]:
    """The run options of all threads but this one."""
    this = threading.get_ident()
    own = [options for options, thread in list(_state.own.values()) if thread != this]
    return [*own, *_shared]


def _end_main() -> None:
    """End what the main thread runs, if a signal would raise an exception there."""
    main = threading.main_thread().ident
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    if not is_thread_inside(main):
        return
    if is_creating(main):
        options = None if main is None else _state.creating.get(main)
        if options is not None:
            options.set_load_cancellation_flag(True)
        return
    own = [options for options, thread in list(_state.own.values()) if thread == main]

    def has_left() -> bool:
        if own and not any(id(options) in _state.own for options in own):
            return True
        return not is_thread_inside(main)

    end_runs(own or _shared, has_left)


def arm() -> None:
    """Notice signals from now on; called again and again, as others may have disarmed it."""
    if threading.current_thread() is not threading.main_thread():
        return
    if "trio" in sys.modules:  # it warns of a descriptor that was set before
        return
    if _state.writer == -1 and not _start():
        return
    try:
        before = signal.set_wakeup_fd(_state.writer, warn_on_full_buffer=False)
        _state.foreign = -1
        if before not in (-1, _state.writer):
            _state.foreign = before
            signal.set_wakeup_fd(before)
    except (ValueError, OSError):  # a subinterpreter, or somebody closed our pipe
        return


def _start() -> bool:
    """Make the pipe and the thread; without room for them Ctrl-C waits for the end of a run."""
    try:
        reader, writer = os.pipe()
    except OSError:
        return False
    if hasattr(os, "set_blocking"):
        os.set_blocking(writer, False)
    arguments = [_state, reader]
    try:
        threading.Thread(target=_watch, args=arguments, daemon=True, name="tfx-interrupts").start()
    except RuntimeError:
        os.close(reader)
        os.close(writer)
        return False
    _state.reader, _state.writer = reader, writer
    return True


def _watch(state: _State, reader: int) -> None:
    while True:
        try:
            signals = os.read(reader, 64)
        except OSError:
            return
        if not signals:
            return
        if state.foreign != -1:  # came in the moment in which it was not in its place
            with contextlib.suppress(OSError):
                os.write(state.foreign, signals)
        if signal.SIGINT in signals:
            _end_main()


def _after_in_child() -> None:
    """Reset the state in a forked child: it lacks the thread, and the pipe is the parent's."""
    global _state
    before, _state = _state, _State()
    for one in _shared:
        one.terminate = False
    if before.writer == -1:
        return
    with contextlib.suppress(ValueError):
        found = signal.set_wakeup_fd(-1)
        if found not in (-1, before.writer):
            signal.set_wakeup_fd(found)
    for descriptor in (before.reader, before.writer):
        with contextlib.suppress(OSError):
            os.close(descriptor)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_in_child)
