"""The one context: nested changes, undone on the way out, seen by one thread only."""

from __future__ import annotations

import threading

import pytest

import tfx as tf
from tfx.framework.context import (
    current,
    executing_eagerly,
    init_scope,
    inside_function,
    set_context,
    using,
)
from tfx.framework.func_graph import FuncGraph


def test_changes_nest_and_end():
    before = current()
    graph = FuncGraph("f")
    with using(graph=graph, device="GPU:0"):
        with using(device=None) as inner:
            assert inner.graph is graph
            assert inner.device is None
        assert current().device == "GPU:0"
    assert current() is before


def test_changes_end_with_an_exception():
    before = current()
    with pytest.raises(KeyError), using(scope="a/"):
        raise KeyError
    assert current() is before


def test_modes():
    assert executing_eagerly()
    assert not inside_function()
    with using(graph=FuncGraph("f")):
        assert not executing_eagerly()
        assert inside_function()
        with init_scope():
            assert executing_eagerly()
            assert float(tf.constant(1.0) + 1.0) == 2.0
        assert inside_function()


def test_init_scope_hides_tapes():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        with tf.init_scope():
            y = x * x
        z = y * x
    assert tape.gradient(z, x).numpy() == 4.0


def test_name_scopes():
    with tf.name_scope("a") as a, tf.name_scope("b") as b:
        assert (a, b) == ("a/", "a/b/")
        with tf.name_scope("") as reset, tf.name_scope("c/d/") as whole:
            assert (reset, whole) == ("", "c/d/")
        assert current().scope == "a/b/"
    with pytest.raises(ValueError, match="name_scope takes a str; got 3 of type int"):
        tf.name_scope(3)


def test_a_name_scope_can_be_used_again():
    scope = tf.name_scope("x")
    assert scope.name == "x"
    with scope as outer, scope as inner:
        assert (outer, inner) == ("x/", "x/x/")
    with pytest.raises(KeyError), scope:
        raise KeyError
    assert current().scope == ""


def test_a_module_remembers_the_scope_that_it_was_made_in():
    with tf.name_scope("outer"):
        inside = tf.Module(name="m")
    outside = tf.Module(name="m")
    assert (inside.name_scope.name, outside.name_scope.name) == ("outer/m/", "m/")
    with tf.name_scope("elsewhere"), inside.name_scope as prefix:
        assert prefix == "outer/m/"


def test_names_of_nodes_are_scoped():
    graph = FuncGraph("f")
    with using(graph=graph), tf.name_scope("layer"):
        x = graph.add_argument("x", 1, ())
        assert (x + 1.0).name == "layer/add:0"


def test_threads_have_contexts_of_their_own():
    seen = []
    with using(scope="main/"):
        thread = threading.Thread(target=lambda: seen.append(current().scope))
        thread.start()
        thread.join()
    assert seen == [""]


def test_set_context_lasts():
    before = current()
    try:
        set_context(scope="x/")
        assert current().scope == "x/"
    finally:
        set_context(scope=before.scope)


def test_the_name_of_the_scopes_that_are_open() -> None:
    assert tf.get_current_name_scope() == ""
    with tf.name_scope("outer"), tf.name_scope("inner"):
        assert tf.get_current_name_scope() == "outer/inner"
    assert tf.get_current_name_scope() == ""


def test_which_tensors_are_of_a_graph() -> None:
    seen = []
    tf.function(lambda x: seen.append(tf.is_symbolic_tensor(x)))(tf.constant(1))
    assert seen == [True]
    assert not tf.is_symbolic_tensor(tf.constant(1))
    assert not tf.is_symbolic_tensor(1)
