"""Awaiting variables: when restores are asked, and when a variable stops to wait."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from tfx.framework import awaited_variables, deferred_restores
from tfx.framework.variable import Variable
from tfx.framework.variable_state import state_of


class Listener:
    """A restore that counts how often it looks, and may do something then."""

    def __init__(self) -> None:
        self.looks = 0
        self.again = True
        self.then: Any = lambda: None

    def look(self) -> bool:
        self.looks += 1
        self.then()
        return self.again

    def created(self, variable: Any) -> None:
        pass


@pytest.fixture
def listener() -> Iterator[Listener]:
    result = Listener()
    deferred_restores.register(result)  # type: ignore[arg-type]
    yield result
    deferred_restores.unregister(result)  # type: ignore[arg-type]


def test_each_use_looks(listener: Listener) -> None:
    x = Variable(1.0)
    awaited_variables.wait(x)
    assert awaited_variables.is_awaiting(x)
    for use in (x.numpy, x.value, lambda: x.assign(2.0), lambda: x.assign_add(1.0), x.__repr__):
        before = listener.looks
        use()
        assert listener.looks > before
    assert float(x.numpy()) == 3.0


def test_it_stops_when_no_restore_wants_to_look_again(listener: Listener) -> None:
    x = Variable(1.0)
    awaited_variables.wait(x)
    listener.again = False
    assert float(x.numpy()) == 1.0
    assert type(x) is Variable
    looks = listener.looks
    x.numpy()
    assert listener.looks == looks


def test_it_stops_after_some_reads(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(awaited_variables, "_LOOKS", 3)
    x = Variable(1.0)
    awaited_variables.wait(x)
    for _ in range(4):
        x.numpy()
    assert not awaited_variables.is_awaiting(x)
    assert listener.looks == 3
    x.numpy()
    assert listener.looks == 3


def test_a_look_may_use_the_variable(listener: Listener) -> None:
    x = Variable(1.0)
    awaited_variables.wait(x)

    def restore() -> None:
        x.assign(x.numpy() + 6.0)
        awaited_variables.release(x)

    listener.then = restore
    assert float(x.numpy()) == 7.0
    assert listener.looks == 1


def test_an_error_is_told_once(listener: Listener) -> None:
    x = Variable(1.0)
    awaited_variables.wait(x)

    def fail() -> None:
        raise RuntimeError("does not fit")

    listener.then = fail
    with pytest.raises(RuntimeError, match="does not fit"):
        x.numpy()
    assert float(x.numpy()) == 1.0


def test_other_classes_do_not_wait(listener: Listener) -> None:
    class Special(Variable):
        __slots__ = ()

    x = Special(1.0)
    awaited_variables.wait(x)
    assert type(x) is Special


def test_nothing_is_kept_of_a_variable_that_is_gone(listener: Listener) -> None:
    x = Variable(1.0)
    awaited_variables.wait(x)
    state = weakref.ref(state_of(x))
    del x
    assert state() is None
