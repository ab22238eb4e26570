"""``tf.config.threading``: the size of the process-wide thread pool."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.runtime import threads

_inter_op = 1


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Set the threads of the pool that all sessions share; before the first operation.

    Args:
        num_threads: At least 1; 0 means as many as the process may use.

    Raises:
        RuntimeError: operations have run already.
    """
    if num_threads:
        threads.set_thread_count(num_threads)


def get_intra_op_parallelism_threads() -> int:
    """Threads of the pool that all sessions share."""
    return threads.thread_count()


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Remembered; nodes run one after another, each on all threads.

    Args:
        num_threads: What ``get_inter_op_parallelism_threads`` is to return.

    Raises:
        RuntimeError: operations have run already, and it is another number.
    """
    global _inter_op
    if num_threads != _inter_op:
        if threads.are_running():
            raise RuntimeError(
                f"Inter op parallelism cannot be modified after initialization: it is {_inter_op}, "
                f"and {num_threads} was asked for. Set it before the first operation runs."
            )
        _inter_op = num_threads


def get_inter_op_parallelism_threads() -> int:
    """Return the setting of ``set_inter_op_parallelism_threads``; initially 1."""
    return _inter_op


_complete(__name__)
