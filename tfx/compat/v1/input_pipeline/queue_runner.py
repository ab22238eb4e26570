"""``QueueRunner``: threads that run the operations that fill a queue."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from tfx.compat.v1.graph.collections import GraphKeys
from tfx.compat.v1.graph.default_graph import building, is_building
from tfx.compat.v1.graph.default_session import get_default_session
from tfx.core.errors import OpError, OutOfRangeError

_log = logging.getLogger("tfx")


class QueueRunner:
    """Operations that fill a queue, each of which a thread runs again and again.

    Args:
        queue: The queue.
        enqueue_ops: The operations; one may be there several times.
        close_op: Closes the queue when all of them have come to an end; None: made of the queue.
        cancel_op: Closes it when a coordinator stops, and ends what waits for room; None: made of
            the queue.
        queue_closed_exception_types: Errors that mean that there is nothing more to add; None:
            ``OutOfRangeError``.
        queue_runner_def: Accepted for compatibility: must be None.
        import_scope: Accepted for compatibility.

    Raises:
        RuntimeError: no graph is built here.
        TypeError: what is no tuple of error classes.
        ValueError: no queue or no operations.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     queue = tf.FIFOQueue(4, tf.int32, shapes=[[]])
        ...     numbers = tf.train.QueueRunner(queue, [queue.enqueue(7)])
        ...     taken = queue.dequeue_many(3)
        ...     coordinator = tf.train.Coordinator()
        ...     threads = numbers.create_threads(session, coordinator, start=True)
        ...     found = session.run(taken)
        ...     coordinator.request_stop()
        ...     coordinator.join(threads)
        >>> found
        array([7, 7, 7], dtype=int32)
    """

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: tuple[type[OpError], ...] | None = None,
        queue_runner_def: None = None,
        import_scope: str | None = None,
    ) -> None:
        if not is_building():
            raise RuntimeError(
                "QueueRunners need a graph; where operations run at once, use tf.data."
            )
        if not queue or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        self._queue = queue
        self._enqueue_ops = list(enqueue_ops)
        self._ends = _error_classes(queue_closed_exception_types)
        self._close_op = queue.close() if close_op is None else close_op
        self._cancel_op = (
            queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        )
        self._lock = threading.Lock()
        self._running: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._errors: list[BaseException] = []

    @property
    def queue(self) -> Any:
        """The queue."""
        return self._queue

    @property
    def enqueue_ops(self) -> list[Any]:
        """The operations that fill the queue."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Any:
        """Closes the queue at the end of the data."""
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        """Closes the queue, and ends what waits for room."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type[OpError], ...]:
        """Errors that mean that there is nothing more to add."""
        return self._ends

    @property
    def exceptions_raised(self) -> list[BaseException]:
        """The errors of threads that were started without a coordinator."""
        return self._errors

    @property
    def name(self) -> str:
        """The name of the queue."""
        return str(self._queue.name)

    def create_threads(
        self, sess: Any, coord: Any = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Threads that run the operations in a session; none where they still run in it.

        Args:
            sess: The session.
            coord: The ``Coordinator`` that is told of errors, and that stops the threads.
            daemon: Whether the process may end while they run.
            start: Whether to start them.
        """
        with self._lock:
            if self._running.get(sess, 0) > 0:
                return []
            self._running[sess] = len(self._enqueue_ops)
            self._errors = []
        title = f"QueueRunnerThread-{self.name}"
        threads = [
            threading.Thread(target=self._fill, args=(sess, op, coord), name=f"{title}-{op.name}")
            for op in self._enqueue_ops
        ]
        if coord:
            stop = threading.Thread(
                target=self._cancel, args=(sess, coord), name=f"{title}-close_on_stop"
            )
            threads.append(stop)
        for thread in threads:
            if coord:
                coord.register_thread(thread)
            thread.daemon = daemon or thread.daemon
            if start:
                thread.start()
        return threads

    def _fill(self, session: Any, operation: Any, coordinator: Any) -> None:
        """Run an operation until the data end, or the coordinator stops."""
        ended = False
        try:
            add = session.make_callable(operation)
            while not (coordinator and coordinator.should_stop()):
                add()
        except self._ends:
            ended = True
        except Exception as e:
            if coordinator:
                coordinator.request_stop(e)
            else:
                _log.error("Exception in QueueRunner: %s", e)
                self._errors.append(e)
        finally:
            with self._lock:
                self._running[session] -= 1
                last = ended and self._running[session] == 0
        if last:
            _run_quietly(session, self._close_op)

    def _cancel(self, session: Any, coordinator: Any) -> None:
        coordinator.wait_for_stop()
        _run_quietly(session, self._cancel_op)


def _run_quietly(session: Any, operation: Any) -> None:
    """Run what may fail, since the session may be closed already."""
    try:
        session.run(operation)
    except Exception as e:
        _log.debug("Ignored exception: %s", e)


def _error_classes(given: Any) -> tuple[type[OpError], ...]:
    if given is None:
        return (OutOfRangeError,)
    if not isinstance(given, tuple) or not given or not all(issubclass(t, OpError) for t in given):
        raise TypeError(
            "queue_closed_exception_types, when provided, must be a tuple of classes of tf.errors, "
            f"but saw: {given}"
        )
    return given


def add_queue_runner(qr: QueueRunner, collection: Any = GraphKeys.QUEUE_RUNNERS) -> None:
    """Have ``start_queue_runners`` start the threads of a ``QueueRunner``.

    Args:
        qr: The runner.
        collection: The collection of the default graph to add it to.
    """
    building().add_to_collection(collection, qr)


def start_queue_runners(
    sess: Any = None,
    coord: Any = None,
    daemon: bool = True,
    start: bool = True,
    collection: Any = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Start the threads of all ``QueueRunner`` objects that a graph collected.

    Args:
        sess: The session; None: the default session.
        coord: The ``Coordinator`` of the threads.
        daemon: Whether the process may end while they run.
        start: Whether to start them.
        collection: The collection with the runners.

    Returns:
        The threads.

    Raises:
        RuntimeError: no graph is built here.
        TypeError: ``sess`` is no session.
        ValueError: no session is given, and there is no default one.
    """
    if not is_building():
        raise RuntimeError("Queues are not compatible with eager execution.")
    if sess is None:
        sess = get_default_session()
        if sess is None:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use `with "
                "sess.as_default()` or pass an explicit session to start_queue_runners(sess=sess)"
            )
    if not callable(getattr(sess, "make_callable", None)):
        raise TypeError(f"sess must be a `tf.compat.v1.Session` object. Given class: {type(sess)}")
    runners: Iterable[QueueRunner] = sess.graph.get_collection(collection)
    found: list[threading.Thread] = []
    for runner in runners:
        found += runner.create_threads(sess, coord, daemon, start)
    return found
