"""``tf.CriticalSection``: functions of several threads one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tfx.core.tracebacks import cover
from tfx.framework.context import current
from tfx.runtime.fork_safe_locks import fork_safe


@cover
class CriticalSection:
    """Runs functions one at a time, whichever threads call.

    In a function that is traced, operations are in program order anyway, and calls of functions
    that assign variables wait for one another.

    Args:
        name: Name of the section.
        shared_name: Sections with one ``shared_name`` are one section; None: it is its own.

    Example:
        >>> import tfx as tf
        >>> v = tf.Variable(0)
        >>> section = tf.CriticalSection()
        >>> section.execute(lambda: v.assign_add(1)).numpy()
        np.int32(1)
    """

    def __init__(self, name: str | None = None, shared_name: str | None = None) -> None:
        self._name = name or "critical_section"
        if shared_name is None:
            self._lock = fork_safe(threading.RLock())
        else:
            with _known_lock:
                self._lock = _known.setdefault(shared_name, fork_safe(threading.RLock()))

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    def execute(
        self,
        fn: Callable[[], Any],
        exclusive_resource_access: bool = True,
        name: str | None = None,
    ) -> Any:
        """Call a function while no other call of this section runs.

        Args:
            fn: Takes no arguments.
            exclusive_resource_access: Accepted for compatibility: variables have locks of their
                own.
            name: Accepted for compatibility.

        Returns:
            What the function returned.

        Raises:
            TypeError: ``fn`` cannot be called.
        """
        if not callable(fn):
            raise TypeError(f"fn must be callable; got {fn!r}.")
        if current().graph is not None:
            return fn()
        with self._lock:
            return fn()


_known: dict[str, Any] = {}
_known_lock = fork_safe(threading.Lock())
