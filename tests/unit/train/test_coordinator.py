"""Threads that stop together, and what stopped them."""

from __future__ import annotations

import sys
import threading
import time

import pytest

import tfx as tf


def test_an_error_of_a_thread_stops_all_and_is_raised() -> None:
    coordinator = tf.train.Coordinator()

    def work(fails: bool) -> None:
        with coordinator.stop_on_exception():
            while not coordinator.should_stop():
                if fails:
                    raise ValueError("broken")
                time.sleep(0.001)

    threads = [threading.Thread(target=work, args=(i == 2,)) for i in range(4)]
    for thread in threads:
        coordinator.register_thread(thread)
        thread.start()
    with pytest.raises(ValueError, match="broken"):
        coordinator.join()
    assert coordinator.joined and not any(t.is_alive() for t in threads)
    with pytest.raises(RuntimeError, match="already stopped and joined"):
        coordinator.request_stop()


def test_clean_stops_are_not_raised() -> None:
    for ended in (tf.errors.OutOfRangeError(None, None, "the end"), None):
        coordinator = tf.train.Coordinator()
        coordinator.request_stop(ended)
        coordinator.join()
        assert coordinator.wait_for_stop(0)
        coordinator.clear_stop()
        assert not coordinator.should_stop() and not coordinator.wait_for_stop(0.001)
    coordinator = tf.train.Coordinator(clean_stop_exception_types=(KeyError,))
    try:
        raise KeyError("k")
    except KeyError:
        coordinator.request_stop(sys.exc_info())
    coordinator.raise_requested_exception()


def test_threads_that_go_on() -> None:
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="stubborn")
    thread.start()
    try:
        for ignored in (True, False):
            coordinator = tf.train.Coordinator()
            coordinator.request_stop()
            if ignored:
                coordinator.join([thread], 0.01, ignore_live_threads=True)
            else:
                with pytest.raises(RuntimeError, match="still running: stubborn"):
                    coordinator.join([thread], 0.01)
    finally:
        release.set()
        thread.join()
