"""A function with options for its calls: what ``with_options`` returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfx.function.execution.async_calls import run_async
from tfx.function.inspection.profile import Recorder
from tfx.runtime.run_options import Call, RunOptions

if TYPE_CHECKING:
    from tfx.function.inspection.run_metadata import RunMetadata


class FunctionWithOptions:
    """A function with options for its calls; made by ``with_options``.

    Args:
        function: A function or concrete function.
        options: Options of each call.
        run_metadata: Gets the timings of each call. Without options every node is measured, as
            with ``trace_level=RunOptions.FULL_TRACE``.

    Raises:
        TypeError: something else than options or metadata was given.
    """

    def __init__(
        self,
        function: Any,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> None:
        if options is not None and not isinstance(options, RunOptions):
            raise TypeError(f"with_options takes RunOptions first; got {options!r}.")
        if run_metadata is not None and not hasattr(run_metadata, "step_stats"):
            raise TypeError(f"with_options takes RunMetadata second; got {run_metadata!r}.")
        trace = RunOptions.FULL_TRACE if options is None else options.trace_level
        self._function = function
        self._options = RunOptions() if options is None else options
        self._metadata = run_metadata if trace != RunOptions.NO_TRACE else None

    @property
    def function(self) -> Any:
        """The function without options."""
        return self._function

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function with the options.

        Raises:
            DeadlineExceededError: the call took longer than its limit; no variable changed.
            CancelledError: it was cancelled; no variable changed.
        """
        return self._inside(self._new_call(), lambda: self._function(*args, **kwargs))

    async def aio(self, /, *args: Any, **kwargs: Any) -> Any:
        """``await`` the call; see ``Function.aio``."""
        call = self._new_call()
        work = self._function

        def run() -> Any:
            return self._inside(call, lambda: work(*args, **kwargs))

        return await run_async(work, call, run)

    def _new_call(self) -> Call:
        subject = f"Function {self._function.name!r}"
        if self._metadata is None:
            return Call(self._options, subject)
        # Here, because few programs measure, and all that call functions import this module.
        return Call(self._options, subject, Recorder())

    def _inside(self, call: Call, run: Callable[[], Any]) -> Any:
        try:
            with call.active():
                call.check()
                return run()
        finally:
            if self._metadata is not None and call.recorder is not None:
                call.recorder.finish(self._metadata, call.outer_recorder)

    def __repr__(self) -> str:
        return f"<{self._function!r} with {self._options}>"


class TakesOptions:
    """A function whose calls may have options, and may be awaited."""

    def with_options(
        self, options: RunOptions | None = None, run_metadata: RunMetadata | None = None
    ) -> FunctionWithOptions:
        """The function with options for its calls.

        Args:
            options: A time limit, cancellation, ONNX Runtime's log.
            run_metadata: Gets the timings of each call; without options, of every node.

        Returns:
            A callable with the function's arguments; it has ``aio``, too.

        Example:
            >>> import tfx as tf
            >>> f = tf.function(lambda x: x + 1.0)
            >>> float(f.with_options(tf.RunOptions(timeout_in_ms=60_000))(tf.constant(1.0)))
            2.0
        """
        return FunctionWithOptions(self, options, run_metadata)

    async def aio(self, /, *args: Any, **kwargs: Any) -> Any:
        """``await`` a call, which runs in a thread while the event loop goes on.

        Device, name scope and tapes are those of the task that awaits. If that task is cancelled
        (or its ``asyncio.timeout`` ends), the call is ended as well, no variable changes, and
        ``asyncio.CancelledError`` is raised when nothing of it runs any more. Calls of a function
        that assigns variables run in the order in which they were started.

        Args:
            *args: Arguments of the function.
            **kwargs: The same by name.

        Raises:
            InvalidArgumentError: another function is being traced.

        Example:
            >>> import asyncio
            >>> import tfx as tf
            >>> double = tf.function(lambda x: x * 2.0)
            >>> float(asyncio.run(double.aio(tf.constant(3.0))))
            6.0
        """
        return await FunctionWithOptions(self, RunOptions()).aio(*args, **kwargs)
