"""Log messages of AutoGraph: ``set_verbosity`` and ``trace``."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

from tfx.core.log import get_logger

_level: int | None = None
_to_stdout = False


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Set how much AutoGraph tells about what it converts.

    Args:
        level: 0: nothing but warnings. 1 and above: each function that is converted; 3 and above:
            the converted code, too. Overrides the environment variable ``AUTOGRAPH_VERBOSITY``.
        alsologtostdout: Print it as well, besides logging it.

    Example:
        >>> import tfx as tf
        >>> tf.autograph.set_verbosity(0)
    """
    global _level, _to_stdout
    _level, _to_stdout = int(level), alsologtostdout


def trace(*args: Any) -> None:
    """Print the arguments while a function is traced, not when its graph runs.

    Args:
        *args: What to print.

    Example:
        >>> import tfx as tf
        >>> @tf.function
        ... def double(x):
        ...     tf.autograph.trace("tracing", x.shape)
        ...     return x * 2.0
        >>> results = [double(tf.ones([2])), double(tf.zeros([2]))]
        tracing (2,)
    """
    print(*args)


def logger() -> logging.Logger:
    """The logger of all of tfx."""
    return get_logger()


def tell(level: int, message: str, *args: Any) -> None:
    """Log something if the verbosity is at least ``level``."""
    known = _level
    if known is None:
        given = os.environ.get("AUTOGRAPH_VERBOSITY", "0")
        known = int(given) if given.lstrip("-").isdigit() else 0
    if known < level:
        return
    logger().info(message, *args)
    if _to_stdout:
        sys.stdout.write(message % args + "\n")
