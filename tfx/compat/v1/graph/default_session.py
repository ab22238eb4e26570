"""The default session: the innermost of the ``with`` blocks of the thread or task."""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import Any

_sessions: ContextVar[tuple[Any, ...]] = ContextVar("tfx_default_session", default=())


def get_default_session() -> Any:
    """The innermost default session; None: there is none."""
    stack = _sessions.get()
    return stack[-1] if stack else None


def enter(session: Any) -> Token[tuple[Any, ...]]:
    """Make a session the innermost one; what ``leave`` takes."""
    return _sessions.set((*_sessions.get(), session))


def leave(token: Token[tuple[Any, ...]]) -> None:
    """Make the one before the innermost again."""
    _sessions.reset(token)


def forget(session: Any) -> None:
    """Have a session be a default no more."""
    _sessions.set(tuple(s for s in _sessions.get() if s is not session))
