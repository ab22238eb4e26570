"""How many threads the process may use, and the one pool that every session shares.

ONNX Runtime gives each session a pool of its own unless global pools are configured before the
first session exists. We configure them once, sized by what the process is *allowed* to use (CPU
affinity and cgroup quota), not by what the machine has.
"""

from __future__ import annotations

import math
import os
import threading
from pathlib import Path

import onnxruntime
from onnxruntime.capi import _pybind_state as _ort

from tfx.runtime import memory_pool
from tfx.runtime.surviving import survives

_lock = survives(threading.Lock())
_configured = False
_requested: int | None = None


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
    """Whether the pool exists, because a session does or did."""
    return _configured


def ensure_thread_pool() -> None:
    """Create the process-wide pools; does nothing after the first call."""
    global _configured, _requested
    if _configured:
        return
    with _lock:
        if not _configured:
            _requested = thread_count()
            # Inter-op parallelism stays 1: sessions run sequentially, nodes use the intra pool.
            onnxruntime.set_global_thread_pool_sizes(_requested, 1)
            memory_pool.create()
            _let_others_share()
            _configured = True


def _let_others_share() -> None:
    """Keep ``onnxruntime.InferenceSession(model)`` of other code in this process working.

    Once global pools exist ONNX Runtime refuses sessions with pools of their own, and its default
    options ask for one. Code that passes ``SessionOptions`` has to set ``use_per_session_threads``
    to False itself; the runtime's message says so.
    """
    original = _ort.get_default_session_options

    def shared_pool_options() -> object:
        options = original()
        options.use_per_session_threads = False
        return options

    _ort.get_default_session_options = shared_pool_options
