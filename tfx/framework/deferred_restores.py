"""Telling a pending restore that an object has a new part.

Owns the list of restores that still hold values for parts that do not exist yet, and
``AutoTrackable``, the base class that reports assignments to them. Must not know what a checkpoint
is: a restore is anything with the methods of ``Pending``. The one decision: only the assignment of
an attribute and the creation of a variable are watched, and only while some restore is pending.
Code that creates state inside of a container that was assigned earlier calls ``changed``; what
programs put into their containers is found when it is used, see ``awaited_variables``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol


class Pending(Protocol):
    """A restore with values left over."""

    def assigned(self, owner: Any, name: str, value: Any) -> None:
        """``owner.name`` is ``value`` from now on."""

    def changed(self, owner: Any) -> None:
        """Note that the attributes of ``owner`` contain something new."""

    def traced(self, variables: Iterable[Any], created: Iterable[Any]) -> None:
        """A function that uses ``variables``, and created some, is about to run first."""

    def created(self, variable: Any) -> None:
        """Note that a variable was created."""

    def look(self) -> bool:
        """An awaiting variable is about to be used; whether looking again later makes sense."""


UNTRACKED_PREFIX = "_self_"
"""Attributes whose name begins so are an object's own business and no part of it."""

_pending: list[Pending] = []


def register(restore: Pending) -> None:
    """Notify ``restore`` of new parts until ``unregister``."""
    _pending.append(restore)


def unregister(restore: Pending) -> None:
    """Stop notifying ``restore``; harmless if it is not registered."""
    _pending[:] = [item for item in _pending if item is not restore]


def pending() -> list[Pending]:
    """Return the registered restores, oldest first: the last one takes precedence."""
    return list(_pending)


def changed(owner: Any) -> None:
    """Report state created inside of ``owner``'s containers (a slot, a list's item).

    Call it right after the creation, before anything uses the new variables: what a pending
    restore holds for them replaces their values.
    """
    for restore in tuple(_pending):
        restore.changed(owner)


def traced(variables: Iterable[Any], created: Iterable[Any] = ()) -> None:
    """Report that a function was traced and is about to run for the first time.

    Args:
        variables: All variables that it uses.
        created: Those that its Python code created while it was traced.
    """
    if _pending:
        used, new = list(variables), list(created)
        for restore in tuple(_pending):
            restore.traced(used, new)


def created(variable: Any) -> None:
    """Report a new variable, whose owner may not be known yet."""
    for restore in tuple(_pending):
        restore.created(variable)


def resolve_pending() -> bool:
    """Make the restores look for variables that have found their place.

    Returns:
        Whether looking again later makes sense.
    """
    again = False
    for restore in tuple(_pending):  # all of them: the newest has the last word
        again = restore.look() or again
    return again


class AutoTrackable:
    """Base class of objects whose attributes are part of checkpoints.

    A value that a pending restore holds for an attribute arrives when the attribute is assigned.
    """

    # Never taken apart as a structure of tensors, even if it is a dataclass: it has identity.
    _tfx_is_object = True

    # Whether each part is the value of the attribute of its name, whose assignment says so.
    _tfx_parts_are_attributes = True

    def __setattr__(self, name: str, value: Any) -> None:
        """Set the attribute, and restore what it holds if a checkpoint is waiting for it."""
        super().__setattr__(name, value)
        if _pending and not name.startswith(UNTRACKED_PREFIX):
            for restore in tuple(_pending):
                restore.assigned(self, name, value)
