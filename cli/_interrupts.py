"""Ctrl-C while Python loads extension modules.

Owns one fact: some of these modules turn the exception of an interrupt into an ``ImportError``,
which whoever tries an import takes for a missing package, and the interrupt is lost. So it waits
until the module is there.
"""

from __future__ import annotations

import functools
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import ExtensionFileLoader
from typing import Any

_METHODS = ("create_module", "exec_module")


@contextmanager
def whole_imports() -> Iterator[None]:
    """Let SIGINT wait, in the thread that imports, while an extension module is loaded."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = {name: getattr(ExtensionFileLoader, name) for name in _METHODS}
    try:
        for name, method in before.items():
            setattr(ExtensionFileLoader, name, _undisturbed(method))
        yield
    finally:
        for name, method in before.items():
            setattr(ExtensionFileLoader, name, method)


def _undisturbed(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*args: Any) -> Any:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return method(*args)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    return call
