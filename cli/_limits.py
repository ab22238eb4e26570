"""``--timeout``: the whole command ends when its time is over.

Owns the thread that watches the clock. The one decision: what is running is interrupted as with
Ctrl-C, so files are left as they were, and whoever does not listen (a single operation inside ONNX
Runtime cannot be ended) goes down with the process a little later.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import click

# Seconds between the interrupt and the end of the process.
GRACE = 3.0
TIMED_OUT = 124
"""The exit code, as that of ``timeout``."""


class _Limit:
    """A limit of one run of the command.

    Args:
        seconds: How long it may take.
        command: What is run, for the message.
    """

    def __init__(self, seconds: float, command: str) -> None:
        self.message = (
            f"{command} did not end within {seconds:g} s; give it a larger --timeout, or 0 for no "
            "limit"
        )
        self.is_over = False
        self._seconds = seconds
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        threading.Thread(target=self._watch, daemon=True, name="tfx-timeout").start()

    def stop(self) -> None:
        """The command has ended; from now on nothing is interrupted."""
        with self._lock:
            self._stopped.set()

    def _watch(self) -> None:
        if self._stopped.wait(self._seconds):
            return
        with self._lock:
            if self._stopped.is_set():
                return
            self.is_over = True
            _interrupt_main()
        if not self._stopped.wait(GRACE):
            print(f"tfx: {self.message}", file=sys.stderr, flush=True)
            os._exit(TIMED_OUT)


_limit: _Limit | None = None


def _interrupt_main() -> None:
    """Send SIGINT to the main thread, also in the middle of a system call."""
    if hasattr(signal, "pthread_kill"):
        number = threading.main_thread().ident
        assert number is not None
        signal.pthread_kill(number, signal.SIGINT)
    else:
        import _thread

        _thread.interrupt_main()


def stop() -> str:
    """End the limit of this run, if it has one.

    Returns:
        The message if the time was over; empty: it was not.
    """
    global _limit
    limit, _limit = _limit, None
    if limit is None:
        return ""
    limit.stop()
    return limit.message if limit.is_over else ""


def _start(ctx: click.Context, _: click.Parameter, value: float | None) -> float | None:
    global _limit
    if value and not ctx.resilient_parsing:
        stop()
        _limit = _Limit(value, ctx.command_path)
    return value


def timeout_option(*, help: str = "", expose_value: bool = False) -> Callable[[Any], Any]:
    """The option for a sub-command.

    Args:
        help: What is to be said beyond the usual.
        expose_value: Whether the sub-command gets the number.
    """
    text = "End the command after this time, with exit code 124; 0: no limit."
    return click.option(
        "--timeout",
        metavar="SECONDS",
        type=click.FloatRange(min=0),
        callback=_start,
        expose_value=expose_value,
        help=f"{text} {help}".strip(),
    )
