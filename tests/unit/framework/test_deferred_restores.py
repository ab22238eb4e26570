"""Who is told of assignments, and that nobody pays for it when nobody listens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from tfx.framework import deferred_restores
from tfx.framework.deferred_restores import AutoTrackable
from tfx.framework.module import Module


class Listener:
    def __init__(self) -> None:
        self.heard: list[Any] = []

    def assigned(self, owner: Any, name: str, value: Any) -> None:
        self.heard.append((owner, name, value))

    def changed(self, owner: Any) -> None:
        self.heard.append(owner)

    def traced(self, variables: Iterable[Any], created: Iterable[Any]) -> None:
        self.heard.append((list(variables), list(created)))


@pytest.fixture
def listener() -> Iterator[Listener]:
    result = Listener()
    deferred_restores.register(result)
    yield result
    deferred_restores.unregister(result)


def test_assignments_are_told_after_they_happened(listener: Listener) -> None:
    class Watching(Listener):
        def assigned(self, owner: Any, name: str, value: Any) -> None:
            assert getattr(owner, name) is value
            super().assigned(owner, name, value)

    item, watching = AutoTrackable(), Watching()
    deferred_restores.register(watching)
    try:
        item.x = "value"
    finally:
        deferred_restores.unregister(watching)
    assert watching.heard == listener.heard == [(item, "x", "value")]


def test_modules_report_and_keep_their_own_rules(listener: Listener) -> None:
    class Typed(Module):
        @property
        def units(self) -> int:
            return self._units

        @units.setter
        def units(self, value: int) -> None:
            self._units = value

    item = Typed()
    item.units = 3
    assert item.units == 3
    assert (item, "_units", 3) in listener.heard


def test_changes_and_traces_are_told(listener: Listener) -> None:
    item = AutoTrackable()
    deferred_restores.changed(item)
    deferred_restores.traced(iter([1, 2]), [2])
    assert listener.heard == [item, ([1, 2], [2])]


def test_unregister_ends_it_and_is_harmless_twice() -> None:
    listener = Listener()
    deferred_restores.register(listener)
    assert deferred_restores.pending() == [listener]
    deferred_restores.unregister(listener)
    deferred_restores.unregister(listener)
    AutoTrackable().x = 1
    assert listener.heard == []
    assert deferred_restores.pending() == []


def test_a_listener_may_unregister_itself(listener: Listener) -> None:
    class Once(Listener):
        def assigned(self, owner: Any, name: str, value: Any) -> None:
            super().assigned(owner, name, value)
            deferred_restores.unregister(self)

    once = Once()
    deferred_restores.register(once)
    item = AutoTrackable()
    item.x = 1
    item.y = 2
    assert len(once.heard) == 1
    assert len(listener.heard) == 2


def test_untracked_attributes_are_not_told(listener: Listener) -> None:
    item = AutoTrackable()
    item._self_mine = 1  # type: ignore[attr-defined]
    assert listener.heard == []
