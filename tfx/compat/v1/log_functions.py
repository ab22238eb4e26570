"""``logging``: TensorFlow 1's functions over the project's logger."""

from __future__ import annotations

import logging
from typing import Any

DEBUG = logging.DEBUG
ERROR = logging.ERROR
FATAL = logging.FATAL
INFO = logging.INFO
WARN = logging.WARNING

_log = logging.getLogger("tfx")


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
