"""Options of single calls: a time limit, cancellation, ONNX Runtime's log, timings.

A call with options runs inside a ``Call``, which gives ONNX Runtime run options of its own, so that
the call can be ended from outside: by a deadline, by a ``CancellationManager``, or because the task
that awaits it was cancelled. A call without options knows nothing of this.
"""

from __future__ import annotations

import contextvars
import heapq
import itertools
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from tfx.core.errors import CancelledError, DeadlineExceededError, InvalidArgumentError, OpError
from tfx.core.system_errors import starting_threads
from tfx.runtime import interrupts, run_hooks
from tfx.runtime.options import new_run_options
from tfx.runtime.values import RawValue


class Recorder(Protocol):
    """The interface of an object that measures runs of sessions; see ``profile.Recorder``."""

    def run(
        self,
        holder: Any,
        raw: run_hooks.Run,
        feeds: dict[str, RawValue],
        outputs: list[str],
        options: Any,
    ) -> Sequence[RawValue]:
        """Run once, and remember how long what took."""

    def host(self, description: str, where: str, start: int, end: int) -> None:
        """Python did something between two runs."""

    def finish(self, metadata: Any, outer: Recorder | None = None) -> None:
        """Store what was measured in the metadata, and give it to who measures around."""


class CancellationManager:
    """Cancels the calls that were started with it, from any thread.

    Give it to ``RunOptions(cancellation=...)``. Once cancelled it stays so, and calls started with
    it afterwards fail at once.

    Example:
        >>> import tfx as tf
        >>> double = tf.function(lambda x: x * 2.0)
        >>> manager = tf.CancellationManager()
        >>> run = manager.get_cancelable_function(double)
        >>> float(run(tf.constant(3.0)))
        6.0
        >>> manager.start_cancel()
        >>> try:
        ...     run(tf.constant(3.0))
        ... except tf.errors.CancelledError:
        ...     print("cancelled")
        cancelled
    """

    def __init__(self) -> None:
        self._cancelled = False
        self._lock = threading.Lock()
        self._calls: weakref.WeakSet[Call] = weakref.WeakSet()

    @property
    def is_cancelled(self) -> bool:
        """True if ``start_cancel`` was called."""
        return self._cancelled

    def start_cancel(self) -> None:
        """End the calls that run, and refuse those that would begin."""
        with self._lock:
            self._cancelled = True
            calls = list(self._calls)
        for call in calls:
            call.stop(CancelledError, "was cancelled by its CancellationManager")

    def get_cancelable_function(self, function: Any) -> Any:
        """The function with this manager in its run options.

        Args:
            function: What ``tfx.function`` returns, or one of its concrete functions.
        """
        return function.with_options(RunOptions(cancellation=self))

    def _watch(self, call: Call) -> None:
        with self._lock:
            self._calls.add(call)
        if self._cancelled:
            call.stop(CancelledError, "was cancelled by its CancellationManager before it began")


@dataclass(kw_only=True)
class RunOptions:
    """Options of a call; see ``Function.with_options``.

    Args:
        trace_level: ``RunOptions.FULL_TRACE`` (or another level above ``NO_TRACE``) measures every
            node; the timings go to the ``RunMetadata`` given beside the options.
        timeout_in_ms: After this many milliseconds the call ends with ``DeadlineExceededError``
            and changes no variable; 0: no limit. A node that has begun is finished first, and so
            is the tracing of a first call.
        cancellation: Ends the call from another thread.
        log_severity_level: What ONNX Runtime prints on stderr during the call: 0 verbose, 1
            information, 2 warnings, 3 errors, 4 nothing but fatal errors.
        log_verbosity_level: How much of it at level 0.
        tag: Name of the call in that log.
        interruptible: Let a signal handler of your own run while ONNX Runtime computes for the main
            thread, and not after; what it raises ends the call. Costs some 50 microseconds a call.
            Without a handler of your own Ctrl-C ends every call, with this or not.
        inter_op_thread_pool: Accepted for compatibility: all sessions share one pool.
        output_partition_graphs: Accepted for compatibility: the graph is ``concrete.graph``.
        report_tensor_allocations_upon_oom: Accepted for compatibility.

    Raises:
        InvalidArgumentError: a level or a limit that does not exist.

    Example:
        >>> import tfx as tf
        >>> f = tf.function(lambda x: x * 2.0)
        >>> quick = f.with_options(tf.RunOptions(timeout_in_ms=60_000))
        >>> float(quick(tf.constant(3.0)))
        6.0
    """

    NO_TRACE: ClassVar[int] = 0
    SOFTWARE_TRACE: ClassVar[int] = 1
    HARDWARE_TRACE: ClassVar[int] = 2
    FULL_TRACE: ClassVar[int] = 3

    trace_level: int = 0
    timeout_in_ms: float = 0
    cancellation: CancellationManager | None = None
    log_severity_level: int = 4
    log_verbosity_level: int = 0
    tag: str = ""
    interruptible: bool = False
    inter_op_thread_pool: int = 0
    output_partition_graphs: bool = False
    report_tensor_allocations_upon_oom: bool = False

    def __post_init__(self) -> None:
        if self.trace_level not in range(4):
            raise InvalidArgumentError(
                f"RunOptions: trace_level must be from RunOptions.NO_TRACE (0) to FULL_TRACE (3); "
                f"got {self.trace_level!r}."
            )
        if not self.timeout_in_ms >= 0:
            raise InvalidArgumentError(
                "RunOptions: timeout_in_ms must be a number of milliseconds, or 0 for no limit; "
                f"got {self.timeout_in_ms!r}."
            )
        if self.log_severity_level not in range(5):
            raise InvalidArgumentError(
                "RunOptions: log_severity_level must be from 0 (everything) to 4 (fatal errors "
                f"only); got {self.log_severity_level!r}."
            )


class Call:
    """One call with options: what runs its sessions (see ``run_hooks.Around``).

    Args:
        options: Its options.
        subject: What is called, for messages.
        recorder: What measures its nodes; None: nobody does.
    """

    def __init__(
        self, options: RunOptions, subject: str = "The call", recorder: Recorder | None = None
    ) -> None:
        self._options = options
        self._subject = subject
        # A call inside another one ends with it.
        outer = run_hooks.run_hook.get()
        self._outer = outer if isinstance(outer, Call) else None
        self.recorder = recorder
        if recorder is None and self._outer is not None:
            self.recorder = self._outer.recorder
        self._running: set[Any] = set()
        self._reason: OpError | None = None
        self._lock = threading.Lock()

    @property
    def outer_recorder(self) -> Recorder | None:
        """The recorder of the enclosing call, or None."""
        return None if self._outer is None else self._outer.recorder

    def stop(self, kind: type[OpError], what: str) -> None:
        """End the call with an exception; nothing happens if another one came first.

        Args:
            kind: Class of the exception.
            what: What happened to the function, for the message.
        """
        with self._lock:
            if self._reason is None:
                self._reason = kind(f"{self._subject} {what}; no variable was changed.")
            running = list(self._running)
        for options in running:
            options.terminate = True

    def check(self) -> None:
        """Raise what the call was ended with, if it was."""
        if self._reason is not None:
            # A new one: an exception must not collect the tracebacks of several threads.
            raise type(self._reason)(self._reason.message)
        if self._outer is not None:
            self._outer.check()

    def run(
        self, holder: Any, raw: run_hooks.Run, feeds: dict[str, RawValue], outputs: list[str]
    ) -> Sequence[RawValue]:
        """Run a session with run options of this call; see ``run_hooks.Around``."""
        while True:
            options = new_run_options(
                self._options.log_severity_level,
                self._options.log_verbosity_level,
                self._options.tag,
            )
            self._enter(options)
            try:
                self.check()  # after the options are known to the code that ends the call
                work = self._work(holder, raw, feeds, outputs, options)
                result: Sequence[RawValue]
                with interrupts.running(options):
                    if self._options.interruptible and _in_main_thread():
                        result = _interruptibly(work, options)
                    else:
                        result = work()
            except Exception as e:
                self.check()  # the runtime only says that it was told to stop
                if interrupts.was_ended(e):  # for a signal that this thread has served before
                    continue
                raise
            finally:
                self._leave(options)
            self.check()  # too late for the runtime, but nothing is installed yet
            return result

    def _work(
        self,
        holder: Any,
        raw: run_hooks.Run,
        feeds: dict[str, RawValue],
        outputs: list[str],
        options: Any,
    ) -> Callable[[], Sequence[RawValue]]:
        recorder = self.recorder
        if recorder is None:
            return lambda: raw(feeds, outputs, options)
        return lambda: recorder.run(holder, raw, feeds, outputs, options)

    def host(self, description: str, where: str, act: Callable[[], Any]) -> Any:
        """Run Python code between two sessions; see ``run_hooks.Around``."""
        self.check()
        if self.recorder is None:
            return act()
        start = time.perf_counter_ns()
        try:
            return act()
        finally:
            self.recorder.host(description, where, start, time.perf_counter_ns())

    def _enter(self, options: Any) -> None:
        call: Call | None = self
        while call is not None:
            with call._lock:
                call._running.add(options)
            call = call._outer

    def _leave(self, options: Any) -> None:
        call: Call | None = self
        while call is not None:
            with call._lock:
                call._running.discard(options)
            call = call._outer

    @contextmanager
    def active(self) -> Iterator[Call]:
        """Run the sessions of this thread or task inside the block with these options."""
        run_hooks.accept_around()
        limit = self._options.timeout_in_ms
        late = f"did not finish within {limit:g} ms"
        if self._options.cancellation is not None:
            self._options.cancellation._watch(self)
        timer = _deadlines.after(limit / 1e3, self, late) if limit else None
        token = run_hooks.run_hook.set(self)
        try:
            yield self
        finally:
            run_hooks.run_hook.reset(token)
            if timer is not None:
                _deadlines.forget(timer)


def time_limit(seconds: float | None, subject: str) -> AbstractContextManager[Any]:
    """End what the sessions of this thread or task run inside a ``with`` block, if it takes long.

    Args:
        seconds: How long; None: as long as it likes.
        subject: What is called, for messages.

    Raises:
        DeadlineExceededError: in the block, when the time is over.
    """
    if seconds is None:
        return nullcontext()
    return Call(RunOptions(timeout_in_ms=seconds * 1e3), subject).active()


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _interruptibly(work: Callable[[], Any], options: Any) -> Any:
    """Run in another thread, so that this one can serve signals; a signal's exception ends it."""
    found: list[tuple[bool, Any]] = []
    context = contextvars.copy_context()

    def run() -> None:
        try:
            found.append((True, context.run(work)))
        except BaseException as e:
            found.append((False, e))

    thread = threading.Thread(target=run, daemon=True, name="tfx-interruptible")
    with starting_threads():
        thread.start()
    try:
        thread.join()
    except BaseException:
        options.terminate = True
        thread.join()
        raise
    good, result = found[0]
    if not good:
        raise result
    return result


class _Deadlines:
    """One thread that ends calls when their time is up; it exists once a call had a limit."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._start()

    def _start(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[tuple[float, int, weakref.ref[Call], str]] = []
        self._forgotten: set[int] = set()
        self._process = os.getpid()
        self._thread: threading.Thread | None = None

    def after(self, seconds: float, call: Call, what: str) -> int:
        """Stop a call later; gives a number to ``forget`` it by."""
        if self._process != os.getpid():  # after a fork: the thread is in the parent
            self._start()
        number = next(self._numbers)
        entry = (time.monotonic() + seconds, number, weakref.ref(call), what)
        with self._changed:
            heapq.heappush(self._waiting, entry)
            if self._thread is None:
                thread = threading.Thread(
                    target=self._watch, args=[self._changed], daemon=True, name="tfx-deadlines"
                )
                with starting_threads():
                    thread.start()
                self._thread = thread
            elif self._waiting[0] is entry:
                self._changed.notify()
        return number

    def forget(self, number: int) -> None:
        """The call is over."""
        with self._changed:
            self._forgotten.add(number)

    def _watch(self, changed: threading.Condition) -> None:
        with changed:
            while True:
                while self._waiting and self._waiting[0][1] in self._forgotten:
                    self._forgotten.discard(heapq.heappop(self._waiting)[1])
                wait = self._waiting[0][0] - time.monotonic() if self._waiting else None
                if wait is None or wait > 0:
                    changed.wait(wait)
                    continue
                _, number, reference, what = heapq.heappop(self._waiting)
                call = reference()
                if call is not None and number not in self._forgotten:
                    call.stop(DeadlineExceededError, what)
                self._forgotten.discard(number)


_deadlines = _Deadlines()
