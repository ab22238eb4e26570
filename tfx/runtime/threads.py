"""Thread counts of the process, and the one thread pool that all sessions of tfx share.

ONNX Runtime gives each session a pool of its own unless the environment of the process has pools
for all. We want those, sized by what the process is *allowed* to use (CPU affinity and cgroup
quota): hundreds of sessions must not mean hundreds of threads. But its Python module refuses every
session with a pool of its own, which is what default options ask for, as soon as
``set_global_thread_pool_sizes`` has returned; so each library that uses ONNX Runtime beside us
would break. The refusal is the Python module's alone: the environment serves both kinds.

So the function is called in a way that it does not return from. It makes the pool for work inside
operators first, then the one for whole operators, and remembers its call last; the second pool is
asked for with more threads than there is address space for, so what comes is a `MemoryError`, with
the first pool made and nothing remembered. That no memory is really taken for it is made sure of by
a limit on the address space for as long as the call takes, about 0.2 ms. Where there is no such
limit (outside Linux), or another release behaves otherwise, sessions have threads of their own, as
many as `OwnThreads` allows.
"""

from __future__ import annotations

import logging
import math
import mmap
import os
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import onnxruntime

from tfx.runtime import memory_pool
from tfx.runtime.fork_safe_locks import fork_safe
from tfx.runtime.string_model import constant_model

_GIB = 1 << 30
# The second pool that is asked for: 256 GiB of bookkeeping alone.
_IMPOSSIBLE_POOL = 2**31 - 1
# What the first pool may take, beside its stacks; and how much of the address space at most.
_ROOM, _MOST_ROOM = 8 * _GIB, 96 * _GIB
_STACK = 64 << 20
_log = logging.getLogger("tfx")

_lock = fork_safe(threading.Lock())
_configured = False
_requested: int | None = None


class OwnThreads:
    """The choice of sessions that have threads of their own where no pool can be shared.

    Sessions without an operator that is worth it run on the thread that calls them; the others get
    threads while fewer than ``limit`` exist.

    Args:
        limit: Threads of all sessions together, beside those that call.
    """

    # Names as they stand in a serialized model.
    _HEAVY = (
        *(b"MatMul", b"Gemm", b"Product", b"Conv", b"Einsum", b"LSTM", b"GRU", b"RNN"),
        *(b"Attention", b"DFT"),
    )

    def __init__(self, limit: int = 64) -> None:
        self._limit = limit
        self._holders: weakref.WeakSet[Any] = weakref.WeakSet()

    def count_for(self, holder: Any, model: bytes | str) -> int:
        """Threads of a new session, the calling one included.

        Args:
            holder: What lives as long as the session's threads do.
            model: Serialized model, or the path of one.
        """
        count = thread_count()
        if isinstance(model, bytes) and not any(name in model for name in self._HEAVY):
            return 1
        if (len(self._holders) + 1) * (count - 1) > self._limit:
            return 1
        self._holders.add(holder)
        return count


# None: all sessions share the process's pool.
_own_threads: OwnThreads | None = None


def available_cpus() -> int:
    """CPUs this process may use: its affinity mask, capped by the cgroup's quota."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        count = os.cpu_count() or 1
    quota = _cgroup_quota()
    return max(1, count if quota is None else min(count, math.ceil(quota)))


def _cgroup_quota(root: Path = Path("/sys/fs/cgroup")) -> float | None:
    """CPUs granted by cgroup v2 (``cpu.max``) or v1 (``cpu.cfs_quota_us``); None: unlimited."""
    try:
        quota, period = (root / "cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        pass
    try:
        quota_us = int((root / "cpu/cpu.cfs_quota_us").read_text())
        period_us = int((root / "cpu/cpu.cfs_period_us").read_text())
    except (OSError, ValueError):
        return None
    return quota_us / period_us if quota_us > 0 and period_us > 0 else None


def set_thread_count(count: int) -> None:
    """Ask for ``count`` threads for the process-wide pool; only before the first session.

    Raises:
        RuntimeError: when a session already runs on the pool.
    """
    global _requested
    with _lock:
        if _configured and count != _requested:
            raise RuntimeError(
                f"The thread pool already runs with {_requested} threads and cannot be changed to "
                f"{count}: set the number of threads before the first operation runs."
            )
        _requested = count


def thread_count() -> int:
    """Threads that the process-wide pool has, or will have."""
    return _requested or available_cpus()


def are_running() -> bool:
    """True if the pool exists, because a session does or did."""
    return _configured


def use_threads(options: Any, holder: Any, model: bytes | str) -> None:
    """Let a new session run on the pool of the process, which is made if there is none.

    Args:
        options: ONNX Runtime's session options, which are changed.
        holder: What lives as long as the session.
        model: Serialized model, or the path of one.
    """
    _ensure_thread_pool()
    if _own_threads is None:
        options.use_per_session_threads = False
        return
    options.intra_op_num_threads = _own_threads.count_for(holder, model)
    # Threads that spin without work would take the CPU from those of the next session.
    options.add_session_config_entry("session.force_spinning_stop", "1")


def _ensure_thread_pool() -> None:
    """Make the process-wide pools; does nothing after the first call."""
    global _configured, _requested, _own_threads
    if _configured:
        return
    with _lock:
        if not _configured:
            _requested = thread_count()
            _make_shared_pool(_requested)
            if not _runs(shared=True):
                _own_threads = OwnThreads()
            memory_pool.create()
            _configured = True


def _make_shared_pool(count: int) -> None:
    """Give ONNX Runtime's environment a pool of threads; see the module's docstring."""
    # A call that comes before the environment would be remembered and carried out later.
    _runs(shared=False)
    try:
        with _address_space(min(_ROOM + count * _STACK, _MOST_ROOM)) as is_limited:
            if is_limited:
                onnxruntime.set_global_thread_pool_sizes(count, _IMPOSSIBLE_POOL)
    except MemoryError:
        return  # as intended
    except Exception:
        return  # other code has made the pools already
    if is_limited and not _runs(shared=False):
        _log.warning(
            "With onnxruntime %s, which tfx has not been tested with, sessions that other code "
            "makes in this process are refused unless their options have use_per_session_threads "
            "set to False.",
            onnxruntime.__version__,
        )


@contextmanager
def _address_space(room: int) -> Iterator[bool]:
    """Limit the address space of the process to what it has and ``room`` bytes more.

    Yields:
        Whether there is such a limit now.
    """
    if sys.platform != "linux":
        yield False
        return
    import resource

    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        before = resource.getrlimit(resource.RLIMIT_AS)
        limit = pages * resource.getpagesize() + room
        if before[0] == resource.RLIM_INFINITY or before[0] > limit:
            resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    except (OSError, ValueError):
        yield False
        return
    try:
        yield _is_refused(room + _GIB)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _is_refused(size: int) -> bool:
    """True if the system refuses to give the process so many bytes."""
    try:
        mmap.mmap(-1, size).close()
    except (OSError, MemoryError):
        return True
    return False


def _runs(*, shared: bool) -> bool:
    """True if ONNX Runtime makes sessions that share the pools of the process, or do not."""
    options = onnxruntime.SessionOptions()
    options.use_per_session_threads = not shared
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        onnxruntime.InferenceSession(
            constant_model([b""], ()),
            options,
            providers=["CPUExecutionProvider"],
            enable_fallback=0,
        )
    except Exception:
        return False
    return True
