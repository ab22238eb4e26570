"""Hooks that look at values: logging, NaN, and what is run or fed beside a training step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tfx.compat.v1.files import log_functions as log
from tfx.compat.v1.training.session_hooks import (
    NanLossDuringTrainingError,
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from tfx.compat.v1.training.step_timer import SecondOrStepTimer


class LoggingTensorHook(SessionRunHook):
    """Logs the values of tensors every so many runs or seconds, or at the end.

    Args:
        tensors: Tensors or their names in a list, or in a mapping from what they are called in the
            log.
        every_n_iter: How many runs lie between two lines.
        every_n_secs: How many seconds lie between two lines.
        at_end: Log them at the end of the session, too.
        formatter: Makes the line of the mapping to the values.

    Raises:
        ValueError: both or neither of ``every_n_iter`` and ``every_n_secs`` are given (neither is
            enough with ``at_end``), or ``every_n_iter`` is not positive.
    """

    def __init__(
        self,
        tensors: Any,
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[Any], str] | None = None,
    ) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError(
                "either at_end and/or exactly one of every_n_iter and every_n_secs must be "
                f"provided; got every_n_iter={every_n_iter}, every_n_secs={every_n_secs}."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        named = dict(tensors) if isinstance(tensors, Mapping) else {x: x for x in tensors}
        self._names = list(named)
        self._tensors = list(named.values())
        self._formatter = formatter
        self._at_end = at_end
        self._timer = None if only_at_end else SecondOrStepTimer(every_n_secs, every_n_iter)

    def begin(self) -> None:
        """Start counting."""
        if self._timer is not None:
            self._timer.reset()
        self._runs = 0

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Ask for the tensors where they are to be logged."""
        self._due = self._timer is not None and self._timer.should_trigger_for_step(self._runs)
        return SessionRunArgs(self._tensors) if self._due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Log the tensors if they were asked for."""
        if self._due:
            self._log(run_values.results)
        self._runs += 1

    def end(self, session: Any) -> None:
        """Log the tensors a last time if ``at_end`` is set."""
        if self._at_end:
            self._log(session.run(self._tensors))

    def _log(self, values: list[Any]) -> None:
        passed = None
        if self._timer is not None:
            passed, _ = self._timer.update_last_triggered_step(self._runs)
        named = dict(zip(self._names, values, strict=True))
        if self._formatter is not None:
            log.info(self._formatter(named))
            return
        text = ", ".join(f"{_title(name)} = {value}" for name, value in named.items())
        log.info("%s%s", text, "" if passed is None else f" ({passed:.3f} sec)")


def _title(name: Any) -> str:
    return name if isinstance(name, str) else str(getattr(name, "name", name))


class NanTensorHook(SessionRunHook):
    """Stops when a loss is NaN.

    Args:
        loss_tensor: The loss, a scalar, or its name.
        fail_on_nan_loss: Raise ``NanLossDuringTrainingError``; otherwise a stop is requested.

    Raises:
        NanLossDuringTrainingError: in a run, if the loss is NaN.
    """

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss = loss_tensor
        self._fail = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Ask for the loss."""
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Look at the loss."""
        if np.isnan(run_values.results):
            message = "Model diverged with loss = NaN."
            if self._fail:
                log.error(message)
                raise NanLossDuringTrainingError
            log.warning(message)
            run_context.request_stop()


class FinalOpsHook(SessionRunHook):
    """Runs something at the end of a session.

    Args:
        final_ops: Tensors, operations or a structure of them.
        final_ops_feed_dict: What to feed.
    """

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._final_ops = final_ops
        self._feeds = final_ops_feed_dict
        self._values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values, once the session has ended."""
        return self._values

    def end(self, session: Any) -> None:
        """Run it."""
        if self._final_ops is not None:
            self._values = session.run(self._final_ops, feed_dict=self._feeds)


class FeedFnHook(SessionRunHook):
    """Feeds every run what a function returns.

    Args:
        feed_fn: Returns what to feed.
    """

    def __init__(self, feed_fn: Callable[[], Any]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Ask the function."""
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())
