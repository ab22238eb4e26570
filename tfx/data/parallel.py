"""Calls of a function in several threads, and elements that a thread fetches ahead.

ONNX Runtime computes without Python's lock, so threads help where a call takes long. A short one
takes less time than handing it to a thread: calls are timed, and go to the threads only if they
take longer than that.

A thread knows the stage that it works for only through an object that both share, so a stage that
nobody needs any more is found and ends its threads.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from tfx.data.functions import DataFunction
from tfx.data.leaves import Leaves, number
from tfx.data.nodes import Stage
from tfx.data.options import Options

AUTOTUNE = -1
# Handing a call to a thread and its result back takes about so long: seconds.
_HANDING_OVER = 100e-6


def thread_count(parallel: Any, options: Options) -> int:
    """How many calls there may be at a time.

    Args:
        parallel: What the user said: a number, ``AUTOTUNE``, or None.
        options: Those of the dataset.
    """
    if parallel is None:
        return 1
    count = number(parallel)
    if count == AUTOTUNE:
        count = os.cpu_count() or 1
    limits = (options.threading.private_threadpool_size, options.autotune.cpu_budget)
    least: int = min([count, *(n for n in limits if n)])
    return max(1, least)


class ParallelMap(Stage):
    """What a function makes of elements, several at a time.

    Args:
        source: The elements.
        function: The function.
        threads: How many calls at a time.
        ordered: Whether results come in the order of the elements.
    """

    __slots__ = (
        "_calls",
        "_duration",
        "_ended",
        "_function",
        "_ordered",
        "_pool",
        "_threads",
        "_waiting",
    )
    _position = ("_ended",)

    def __init__(self, source: Stage, function: DataFunction, threads: int, ordered: bool) -> None:
        super().__init__(source)
        self._function = function
        self._threads = threads
        self._ordered = ordered
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: deque[Future[Leaves] | Exception | Leaves] = deque()
        self._ended = False
        self._duration = 0.0  # of a call, about
        self._calls = 0

    def next(self) -> Leaves:
        """See ``Stage``."""
        if not self._waiting and (self._calls < 2 or self._duration < _HANDING_OVER):
            return self._here()
        while len(self._waiting) < self._threads and not self._ended:
            self._submit()
        if not self._waiting:
            raise StopIteration
        found: Any = self._first()
        if isinstance(found, Exception):
            raise found
        leaves: Leaves = found.result() if isinstance(found, Future) else found
        return leaves

    def _here(self) -> Leaves:
        element = self.inputs[0].next()
        begin = time.perf_counter()
        try:
            return self._function(element)
        finally:
            took = time.perf_counter() - begin
            # The first call compiles the graph.
            self._duration = took if self._calls < 2 else 0.9 * self._duration + 0.1 * took
            self._calls += 1

    def _submit(self) -> None:
        try:
            element = self.inputs[0].next()
        except StopIteration:
            self._ended = True
            return
        except Exception as e:
            self._waiting.append(e)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, "tfx-data-map")
            weakref.finalize(self, self._pool.shutdown, wait=False, cancel_futures=True)
        self._waiting.append(self._pool.submit(self._function, element))

    def _first(self) -> Any:
        if not self._ordered:
            futures = [x for x in self._waiting if isinstance(x, Future)]
            if len(futures) == len(self._waiting):
                done = wait(futures, return_when=FIRST_COMPLETED).done
                found = next(x for x in self._waiting if x in done)
                self._waiting.remove(found)
                return found
        return self._waiting.popleft()

    def save(self) -> Any:
        """Wait for the calls that are going on; their results are part of the position."""
        done: list[Leaves] = []
        for item in self._waiting:
            if isinstance(item, Exception):
                raise item
            done.append(item.result() if isinstance(item, Future) else item)
        self._waiting = deque(done)
        return {**super().save(), "done": done}

    def restore(self, state: Any) -> None:
        """See ``Stage``."""
        for item in self._waiting:
            if isinstance(item, Future):
                item.cancel()
        super().restore(state)
        self._waiting = deque(tuple(leaves) for leaves in state["done"])

    def close(self) -> None:
        """See ``Stage``."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        super().close()


class _Shared:
    """What a thread and its stage share."""

    def __init__(self, source: Stage, size: int) -> None:
        self.source = source
        self.size = size
        self.ready: deque[Leaves | Exception] = deque()
        self.changed = threading.Condition()
        self.closed = False
        self.ended = False
        # Held while the source makes an element: whoever saves waits until it is there.
        self.fetching = threading.Lock()


def _work(shared: _Shared) -> None:
    """Fetch elements until there are enough, or nobody wants more."""
    item: Leaves | Exception
    while True:
        with shared.changed:
            while len(shared.ready) >= shared.size and not shared.closed:
                shared.changed.wait()
            if shared.closed:
                return
        with shared.fetching:
            if _is_closed(shared):
                return
            try:
                item = shared.source.next()
            except StopIteration:
                with shared.changed:
                    shared.ended = True
                    shared.changed.notify_all()
                return
            except Exception as e:
                item = e
            with shared.changed:
                shared.ready.append(item)
                shared.changed.notify_all()


def _is_closed(shared: _Shared) -> bool:
    return shared.closed


def _end(shared: _Shared) -> None:
    with shared.changed:
        shared.closed = True
        shared.ready.clear()
        shared.changed.notify_all()


class Prefetching(Stage):
    """Elements that a thread fetches ahead.

    Args:
        source: The elements.
        size: How many at most.
    """

    __slots__ = ("_shared", "_thread")

    def __init__(self, source: Stage, size: int) -> None:
        super().__init__(source)
        self._shared = _Shared(source, size)
        self._thread: threading.Thread | None = None
        weakref.finalize(self, _end, self._shared)

    def next(self) -> Leaves:
        """See ``Stage``."""
        shared = self._shared
        if self._thread is None:
            self._start()
        with shared.changed:
            while not shared.ready:
                if shared.ended or shared.closed:
                    raise StopIteration
                shared.changed.wait()
            item = shared.ready.popleft()
            shared.changed.notify_all()
        if isinstance(item, Exception):
            raise item
        return item

    def _start(self) -> None:
        # A daemon: one that waits for a generator must not keep the process alive.
        self._thread = threading.Thread(
            target=_work, args=(self._shared,), name="tfx-data-prefetch", daemon=True
        )
        self._thread.start()

    def save(self) -> Any:
        """See ``Stage``."""
        shared = self._shared
        with shared.fetching, shared.changed:
            for item in shared.ready:
                if isinstance(item, Exception):
                    raise item
            return {**super().save(), "ready": list(shared.ready), "ended": shared.ended}

    def restore(self, state: Any) -> None:
        """See ``Stage``."""
        self._stop()
        super().restore(state)
        shared = self._shared = _Shared(self.inputs[0], self._shared.size)
        weakref.finalize(self, _end, shared)
        shared.ready.extend(tuple(leaves) for leaves in state["ready"])
        shared.ended = state["ended"]
        if shared.ended:
            self._thread = threading.Thread()  # there is nothing to fetch

    def _stop(self) -> None:
        _end(self._shared)
        thread, self._thread = self._thread, None
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            # One that waits for a generator ends when that goes on.
            thread.join(timeout=1.0)

    def close(self) -> None:
        """See ``Stage``."""
        self._stop()
        super().close()
