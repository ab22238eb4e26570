"""What the programs share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def repeated(tf: Any, times: int, body: Callable[..., Any], *state: Any) -> Any:
    """What is carried through a loop of that many iterations; ``body(i, *state)`` is one."""

    def step(i: Any, *now: Any) -> Any:
        return (i + 1, *body(i, *now))

    return tf.while_loop(lambda i, *_: i < times, step, (0, *state))[1:]
