"""``SecondOrStepTimer``: tells when something that is done every so often is due again."""

from __future__ import annotations

import time


class SecondOrStepTimer:
    """A timer that counts seconds or steps.

    Args:
        every_secs: How many seconds lie between two times.
        every_steps: How many steps lie between two times; exactly one of both is given.

    Raises:
        ValueError: neither or both are given.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> timer = tf.train.SecondOrStepTimer(every_steps=10)
        >>> timer.update_last_triggered_step(0)
        (None, None)
        >>> timer.should_trigger_for_step(9), timer.should_trigger_for_step(10)
        (False, True)
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs = every_secs
        self._every_steps = every_steps
        self.reset()

    def reset(self) -> None:
        """Forget the last time."""
        self._last_step: int | None = None
        self._last_time: float | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Whether it is due at a step; always the first time, never twice at one step."""
        if self._last_step is None or self._last_time is None:
            return True
        if self._last_step == step:
            return False
        if self._every_secs is not None:
            return time.time() >= self._last_time + self._every_secs
        assert self._every_steps is not None
        return bool(step >= self._last_step + self._every_steps)

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Note that it was done at a step.

        Returns:
            The seconds and the steps since the last time; None and None the first time.
        """
        now = time.time()
        if self._last_step is None or self._last_time is None:
            passed: tuple[float | None, int | None] = (None, None)
        else:
            passed = (now - self._last_time, step - self._last_step)
        self._last_step, self._last_time = step, now
        return passed

    def last_triggered_step(self) -> int | None:
        """The step of the last time; None: there was none."""
        return self._last_step
