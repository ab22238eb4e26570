"""``await`` a call: it runs in a thread, with the context of the task that awaits it.

A call that is cancelled is ended through ONNX Runtime's terminate flag and awaited to its end: when
``CancelledError`` reaches the task, nothing of the call runs any more, and no variable has changed.
Calls of one function that assigns variables run in the order in which they were started.
"""

from __future__ import annotations

import contextvars
import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfx.core.errors import CancelledError, InvalidArgumentError
from tfx.core.system_errors import starting_threads
from tfx.framework.context import current
from tfx.runtime.fork_safe_locks import fork_safe
from tfx.runtime.run_options import Call
from tfx.runtime.threads import available_cpus

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_lock = fork_safe(threading.Lock())
_executor: ThreadPoolExecutor | None = None
# Function -> the last call of it that was started, and the loop that it was started in.
_lines: weakref.WeakKeyDictionary[Any, tuple[Any, Any]] = weakref.WeakKeyDictionary()


async def run_async(function: Any, call: Call, run: Callable[[], Any]) -> Any:
    """Run a call in a thread of its own and wait for it.

    Args:
        function: Whose call it is.
        call: What the call runs in.
        run: The call itself.

    Raises:
        InvalidArgumentError: a function is being traced.
        asyncio.CancelledError: the task that waits was cancelled.
    """
    import asyncio

    graph = current().graph
    if graph is not None:
        raise InvalidArgumentError(
            f"aio() was called while function {graph.name!r} was being traced: "
            "call the function itself instead; a graph has nothing to wait for."
        )
    loop = asyncio.get_running_loop()
    before = _step_in_line(function, loop)
    own = loop.create_future()
    if before is not None:
        _lines[function] = (loop, own)
    try:
        if before is not None and not before.done():
            await asyncio.shield(before)
        context = contextvars.copy_context()
        with starting_threads():
            future = loop.run_in_executor(_threads(), context.run, run)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            call.stop(CancelledError, "was cancelled with the task that awaits it")
            await _finished(future)
            raise
    finally:
        _leave_line(before, own)


def _leave_line(before: Any, own: Any) -> None:
    """Let the next call begin, once those before this one are over."""
    if before is None or before.done():
        own.set_result(None)
    else:
        before.add_done_callback(lambda _: own.set_result(None))


def _step_in_line(function: Any, loop: Any) -> Any:
    """The call to wait for: a future that is done if there is none; None if order is no matter."""
    if not _may_write(function):
        return None
    known = _lines.get(function)
    if known is not None and known[0] is loop:
        return known[1]
    nobody = loop.create_future()
    nobody.set_result(None)
    return nobody


def _may_write(function: Any) -> bool:
    """True if a call can assign variables; one that was never traced might."""
    if hasattr(function, "written_variables"):
        return bool(function.written_variables)
    traces = function.concrete_functions if hasattr(function, "concrete_functions") else ()
    return not traces or any(c.written_variables for c in traces)


async def _finished(future: Any) -> None:
    """Wait for a call that was asked to stop, however often the task is cancelled meanwhile."""
    import asyncio

    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            continue
    if not future.cancelled():
        future.exception()  # seen: asyncio need not report it


def _threads() -> ThreadPoolExecutor:
    """Threads for waiting calls; ONNX Runtime's own pool does the work inside them."""
    from concurrent.futures import ThreadPoolExecutor

    global _executor
    with _lock:
        if _executor is None:
            _executor = ThreadPoolExecutor(max(4, available_cpus() + 2), "tfx-aio")
        return _executor


def after_fork() -> None:
    """Forget threads that are the parent's."""
    global _executor
    _executor = None
    _lines.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=after_fork)
