"""Layers around runners: put on every holder, those to come included, and taken away again."""

from __future__ import annotations

import gc

import pytest

from tfx.runtime import run_hooks


class Holder:
    """Something that keeps a runner."""

    def __init__(self, plain):
        self.run_raw = plain
        run_hooks.register(self)

    def __call__(self, feeds=None):
        return self.run_raw(feeds or {}, ["y"], None)


@pytest.fixture
def layer():
    """Makes layers that note their name, and takes all of them away in the end."""
    made = []

    def make(name):
        def layer(holder, run):
            def runner(feeds, outputs, options):
                return [name, *run(feeds, outputs, options)]

            return runner

        made.append(layer)
        run_hooks.add_layer(layer)
        return layer

    yield make
    for item in made:
        run_hooks.remove_layer(item)


def plain(feeds, outputs, options):
    return ["plain"]


def test_layers_come_and_go(layer):
    before = Holder(plain)
    assert before() == ["plain"]
    inner = layer("inner")
    after = Holder(plain)
    assert before() == after() == ["inner", "plain"]
    outer = layer("outer")
    run_hooks.add_layer(outer)  # once only
    assert before() == after() == ["outer", "inner", "plain"]
    run_hooks.remove_layer(inner)
    run_hooks.remove_layer(inner)
    assert before() == after() == ["outer", "plain"]
    run_hooks.remove_layer(outer)
    assert before() == ["plain"]


def test_a_holder_that_took_a_layered_runner(layer):
    session = Holder(plain)
    layer("once")
    plan = Holder(session.run_raw)
    assert plan() == ["once", "plain"]


def test_holders_are_not_kept(layer):
    holder = Holder(plain)
    layer("x")
    count = len(run_hooks._holders)
    del holder
    gc.collect()
    assert len(run_hooks._holders) < count


def test_whoever_is_around_runs():
    class Around:
        def run(self, holder, raw, feeds, outputs):
            seen.append((holder, feeds, outputs))
            return ["around", *raw(feeds, outputs, None)]

        def host(self, description, where, act):
            return act()

    seen = []
    holder = Holder(plain)
    run_hooks.accept_around()
    assert holder() == ["plain"]
    token = run_hooks.run_hook.set(Around())
    try:
        assert holder({"x": 1}) == ["around", "plain"]
        assert run_hooks.run_plainly(holder, {}, ["y"], None) == ["plain"]
    finally:
        run_hooks.run_hook.reset(token)
    assert seen == [(holder, {"x": 1}, ["y"])]
    run_hooks.set_everywhere(Around())
    try:
        assert holder() == ["around", "plain"]
    finally:
        run_hooks.set_everywhere(None)
    assert holder() == ["plain"]
