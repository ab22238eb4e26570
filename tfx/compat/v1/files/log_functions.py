"""``logging``: TensorFlow 1's functions over the project's logger."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from typing import Any

DEBUG = logging.DEBUG
ERROR = logging.ERROR
FATAL = logging.FATAL
INFO = logging.INFO
WARN = logging.WARNING

_log = logging.getLogger("tfx")
_calls: Counter[tuple[str, int]] = Counter()  # of the lines of a program that log now and then


def log(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at a level."""
    _log.log(level, msg, *args, **kwargs)


vlog = log


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log what helps to find mistakes."""
    _log.debug(msg, *args, **kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log what is good to know."""
    _log.info(msg, *args, **kwargs)


def warn(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log what may be a mistake."""
    _log.warning(msg, *args, **kwargs)


warning = warn


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a mistake."""
    _log.error(msg, *args, **kwargs)


def fatal(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log what the program cannot go on after."""
    _log.critical(msg, *args, **kwargs)


def set_verbosity(v: int) -> None:
    """Log from a level on."""
    _log.setLevel(v)


def get_verbosity() -> int:
    """The level from which on is logged."""
    return _log.getEffectiveLevel()


def flush() -> None:
    """Write what was logged and is still held."""
    for handler in _log.handlers:
        handler.flush()


def log_if(level: int, msg: Any, condition: Any, *args: Any) -> None:
    """Log at a level, if a condition holds."""
    if condition:
        _log.log(level, msg, *args)


def log_every_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Log at a level in the first of every ``n`` calls from one line of a program."""
    log_if(level, msg, _earlier_calls() % n == 0, *args)


def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Log at a level in the first ``n`` calls from one line of a program."""
    log_if(level, msg, _earlier_calls() < n, *args)


def TaskLevelStatusMessage(msg: Any) -> None:  # noqa: N802
    """Log what the whole task is to know, as a mistake."""
    _log.error(msg)


def _earlier_calls() -> int:
    """How often the line that calls the caller did so before."""
    frame = sys._getframe(2)
    line = (frame.f_code.co_filename, frame.f_lineno)
    _calls[line] += 1
    return _calls[line] - 1
