"""``tf.config.threading``: the size of the process-wide thread pool."""

from __future__ import annotations

from tfx.runtime.threads import set_thread_count, thread_count


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Set the threads of the pool that all sessions share; before the first operation.

    Args:
        num_threads: At least 1; 0 means as many as the process may use.

    Raises:
        RuntimeError: operations have run already.
    """
    if num_threads:
        set_thread_count(num_threads)


def get_intra_op_parallelism_threads() -> int:
    """Threads of the pool that all sessions share."""
    return thread_count()


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Accepted for compatibility: nodes run one after another, each on all threads."""


def get_inter_op_parallelism_threads() -> int:
    """Always 1; see ``set_inter_op_parallelism_threads``."""
    return 1
