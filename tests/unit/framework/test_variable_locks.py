"""Locks of writers: exclusive, in one order, and given back whatever happens."""

from __future__ import annotations

import threading

import pytest

from tfx.framework import variable_locks


def _free(number):
    lock = variable_locks._locks[number]
    return not lock.locked()


def test_numbers_are_shared():
    numbers = {variable_locks.new_number() for _ in range(100)}
    assert numbers == set(range(len(variable_locks._locks)))


def test_order():
    assert variable_locks.in_order([5, 1, 5, 3]) == (1, 3, 5)


@pytest.mark.parametrize("numbers", [(), (2,), (1, 3, 5)])
def test_held_inside_and_free_outside(numbers):
    with variable_locks.writing(numbers):
        assert not any(_free(n) for n in numbers)
    assert all(_free(n) for n in numbers)
    with pytest.raises(KeyError), variable_locks.writing(numbers):
        raise KeyError
    assert all(_free(n) for n in numbers)


def test_an_interrupt_while_waiting_gives_back_what_was_taken(monkeypatch):
    class Interrupting:
        def acquire(self):
            raise KeyboardInterrupt

        def release(self):
            raise AssertionError("never taken")

    monkeypatch.setattr(variable_locks, "_locks", (*variable_locks._locks[:2], Interrupting()))
    with pytest.raises(KeyboardInterrupt), variable_locks.writing((0, 1, 2)):
        raise AssertionError("not all are held")
    assert _free(0)
    assert _free(1)


def test_who_has_all_waits_for_none():
    numbers = variable_locks.all_locks()
    with variable_locks.writing(numbers):
        with (
            variable_locks.writing((2,)),
            variable_locks.writing((1, 3)),
            variable_locks.writing(numbers),
        ):
            assert not any(_free(n) for n in numbers)
        assert not any(_free(n) for n in numbers)
        other = threading.Thread(
            target=lambda: variable_locks.writing((2,)).__enter__(), daemon=True
        )
        other.start()
        other.join(0.05)
        assert other.is_alive()  # another thread waits
    other.join()
    variable_locks._locks[2].release()
    assert all(_free(n) for n in numbers)
    with variable_locks.writing((2,)):
        assert not _free(2)


def test_overlapping_writers_exclude_each_other():
    inside, most = 0, 0

    def work(numbers):
        nonlocal inside, most
        for _ in range(300):
            with variable_locks.writing(numbers):
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work, args=[n]) for n in [(0, 1), (1, 2), (1,), (0, 1, 2)]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_installations_are_counted_and_can_be_held_up():
    installs = variable_locks.SwapCounters()

    def look(begun, done):
        assert (installs.begun, installs.done) == (begun, done)

    installs.during(look, 1, 0)
    look(1, 1)
    with pytest.raises(KeyError):
        installs.during({}.__getitem__, "absent")
    assert (installs.begun, installs.done) == (2, 2)
    began = threading.Event()

    with installs.paused():
        thread = threading.Thread(target=installs.during, args=[began.set])
        thread.start()
        assert not began.wait(0.05)
    thread.join(30)
    assert began.is_set()


def test_locks_are_taken_only_if_all_are_free():
    with variable_locks.writing_if_free((1, 4)) as held:
        assert held
        with variable_locks.writing_if_free((0, 4)) as more:
            assert not more
        with variable_locks.writing_if_free((0, 5)) as others:
            assert others
    with variable_locks.writing_if_free((0, 1, 4, 5)) as again:
        assert again
