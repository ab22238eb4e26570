"""What is done when a program first makes an object of some kind, and not before.

Must not know the kinds. The decision: a program that makes none pays nothing for what these objects
need, such as operations that look for them among their arguments.
"""

from __future__ import annotations

from collections.abc import Callable

_waiting: dict[str, Callable[[], None]] = {}


def when_first(kind: str, prepare: Callable[[], None]) -> None:
    """Have something done before the first object of a kind is there.

    Args:
        kind: A name.
        prepare: What to do.
    """
    _waiting[kind] = prepare


def first(kind: str) -> None:
    """The first object of a kind is made; later ones make no difference."""
    prepare = _waiting.pop(kind, None)
    if prepare is not None:
        prepare()
