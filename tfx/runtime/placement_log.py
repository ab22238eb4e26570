"""``set_log_device_placement``: a line on stderr for everything that runs, and where.

A layer around sessions (see ``run_hooks``), so that it costs nothing while it is off. Operations
run eagerly are logged at each call, nodes of functions once, when the function is compiled.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from typing import Any

from tfx.runtime import run_hooks
from tfx.runtime.devices import full_name
from tfx.runtime.run_hooks import Run
from tfx.runtime.values import RawValue

_on = False
# Compiled functions that were logged, or that existed before the log was turned on.
_told: weakref.WeakSet[Any] = weakref.WeakSet()


def set_log_device_placement(enabled: bool) -> None:
    """Start or stop logging the device of each operation on stderr.

    Args:
        enabled: Whether to tell.

    Example:
        >>> import tfx as tf
        >>> tf.debugging.set_log_device_placement(False)
        >>> tf.debugging.get_log_device_placement()
        False
    """
    global _on
    if enabled and not _on:
        run_hooks.add_layer(_telling)  # existing functions: noted, not logged
        _on = True
    elif not enabled:
        _on = False
        run_hooks.remove_layer(_telling)


def get_log_device_placement() -> bool:
    """True if the devices of operations are logged on stderr."""
    return _on


def _telling(holder: Any, run: Run) -> Run:
    """The layer: kernels have an operator, plans a graph, bare sessions neither."""
    session = getattr(holder, "session", None)
    if session is None:
        return run
    where = full_name(session.device)
    op = getattr(holder, "op", None)
    if op is None:
        graph = getattr(holder, "graph", None)
        if graph is not None and holder not in _told:
            _told.add(holder)
            if _on:
                for node in graph.nodes:
                    sys.stderr.write(f"{node.name}: ({node.op}): {where}\n")
        return run

    def told(feeds: dict[str, RawValue], outputs: list[str], options: Any) -> Sequence[RawValue]:
        sys.stderr.write(f"Executing op {op} in device {where}\n")
        return run(feeds, outputs, options)

    return told
