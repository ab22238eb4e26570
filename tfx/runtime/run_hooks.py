"""Layers between the callers of sessions and ONNX Runtime, which cost nothing while unused.

Objects that call a session often keep its C-level runner in an attribute ``run_raw``, so that a
call has no overhead. Such *holders* are registered here by weak references. A *layer* wraps a
runner; adding one replaces the attribute of every holder, later ones included. Three layers exist:
calls with options (``run_hook``), the wait for a fork (``runtime.fork``), and outermost notes of
what ran (``summary.tracing``).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, Protocol

from tfx.runtime.fork_safe_locks import fork_safe
from tfx.runtime.values import RawValue

# As ``session.Runner``: feeds, names of the outputs, ONNX Runtime's run options.
Run = Callable[[dict[str, RawValue], list[str], Any], Sequence[RawValue]]
# A holder and its runner -> the runner to put in its place.
Layer = Callable[[Any, Run], Run]


class Around(Protocol):
    """A replacement for the plain run of a session."""

    def run(
        self, holder: Any, raw: Run, feeds: dict[str, RawValue], outputs: list[str]
    ) -> Sequence[RawValue]:
        """Run once.

        Args:
            holder: The session, or the plan or kernel that holds its runner.
            raw: The plain runner.
            feeds: A value for each input, by name.
            outputs: Names of the outputs.
        """

    def host(self, description: str, where: str, act: Callable[[], Any]) -> Any:
        """Run Python code between two sessions.

        Args:
            description: What it does.
            where: The user's line.
            act: Does it; its result is returned.
        """


# Who runs the sessions of this thread or task; None: ONNX Runtime directly.
run_hook: ContextVar[Around | None] = ContextVar("tfx_around", default=None)
# The same for threads that have nobody of their own.
everywhere: Around | None = None
_plainly: ContextVar[bool] = ContextVar("tfx_plainly", default=False)

_holders: weakref.WeakSet[Any] = weakref.WeakSet()
_layers: list[Layer] = []
_outermost: list[Layer] = []
_lock = fork_safe(threading.RLock())


def register(holder: Any) -> None:
    """Make a holder known; its ``run_raw`` is set already, possibly by a session's layers."""
    with _lock:
        _holders.add(holder)
        if _layers or _outermost:
            holder.run_raw = _layered(holder)


def add_layer(layer: Layer, *, outermost: bool = False) -> None:
    """Put a layer on all others, unless it is there.

    Args:
        layer: It sees a call before those that are there.
        outermost: Before those that come later, too: it sees every call, whoever runs it.
    """
    with _lock:
        where = _outermost if outermost else _layers
        if layer not in where:
            where.append(layer)
            _renew()


def remove_layer(layer: Layer) -> None:
    """Take a layer away, if it is there."""
    with _lock:
        for where in (_layers, _outermost):
            if layer in where:
                where.remove(layer)
                _renew()


def run_plainly(
    holder: Any, feeds: dict[str, RawValue], outputs: list[str], options: Any
) -> Sequence[RawValue]:
    """Run without asking who runs the sessions of this thread."""
    token = _plainly.set(True)
    try:
        result: Sequence[RawValue] = holder.run_raw(feeds, outputs, options)
        return result
    finally:
        _plainly.reset(token)


def accept_around() -> None:
    """Let ``run_hook`` and ``everywhere`` have their effect, from now on."""
    add_layer(_asking)


def set_everywhere(value: Around | None) -> None:
    """Run other threads' sessions by ``value``, too."""
    global everywhere
    everywhere = value


def _renew() -> None:
    for holder in list(_holders):
        holder.run_raw = _layered(holder)


# Attribute of a run with layers: the one without.
_PLAIN = "plain"


def plain(run: Run) -> Run:
    """A runner without the layers that it may have."""
    found: Run = getattr(run, _PLAIN, run)
    return found


def _layered(holder: Any) -> Run:
    run = first = plain(holder.run_raw)
    for layer in (*_layers, *_outermost):
        run = layer(holder, run)
    if run is not first:
        setattr(run, _PLAIN, first)
    return run


def _asking(holder: Any, run: Run) -> Run:
    """Ask at each call whether somebody runs the sessions of this thread or task."""
    reference = weakref.ref(holder)
    get = run_hook.get

    def asked(feeds: dict[str, RawValue], outputs: list[str], options: Any) -> Sequence[RawValue]:
        how = get() or everywhere
        owner = None if how is None else reference()
        if how is None or owner is None or _plainly.get():
            return run(feeds, outputs, options)
        return how.run(owner, run, feeds, outputs)

    return asked
