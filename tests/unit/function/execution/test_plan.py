"""Live and frozen plans: which one runs, and that nobody can tell from the numbers."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import InvalidArgumentError, OpError
from tfx.function.execution import freeze_policy
from tfx.function.execution.freeze_policy import FIRST_FREEZE, FreezePolicy
from tfx.function.execution.plan import Plan
from tfx.graph.ir import Graph
from tfx.runtime.values import from_numpy, to_numpy


def _frozen(function):
    (concrete,) = function.concrete_functions
    return concrete._strategy.freezer.plan is not None


def _model(shape=(3,), dtype=np.float32):
    v = tf.Variable(np.ones(shape, dtype))
    return v, tf.function(lambda x: x * v)


def test_freezing_after_some_calls_and_thawing_on_assign():
    v, f = _model()
    x = tf.constant([1.0, 2.0, 3.0])
    for _ in range(FIRST_FREEZE - 1):
        f(x)
        assert not _frozen(f)
    f(x)
    assert _frozen(f)
    np.testing.assert_array_equal(f(x), x)
    v.assign([2.0, 2.0, 2.0])
    assert not _frozen(f)
    np.testing.assert_array_equal(f(x), x * 2)


def test_every_change_makes_the_next_freeze_later():
    v, f = _model()
    x = tf.ones([3])
    for expected in (FIRST_FREEZE, 2 * FIRST_FREEZE, 4 * FIRST_FREEZE):
        calls = 0
        while not calls or not _frozen(f):
            f(x)
            calls += 1
        assert calls == expected
        v.assign_add([1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    "change",
    [
        lambda v: v.assign([5.0, 5.0, 5.0]),
        lambda v: v.assign_add([4.0, 4.0, 4.0]),
        lambda v: v.assign_sub([-4.0, -4.0, -4.0]),
        lambda v: v.scatter_nd_update([[0], [1], [2]], [5.0, 5.0, 5.0]),
        lambda v: tf.function(lambda: v.assign(v * 5.0))(),
    ],
    ids=["assign", "add", "sub", "scatter", "function"],
)
def test_every_way_to_change_a_variable_is_noticed(change):
    v, f = _model()
    x = tf.ones([3])
    for _ in range(2 * FIRST_FREEZE):
        f(x)
    assert _frozen(f)
    change(v)
    np.testing.assert_array_equal(f(x), np.full(3, 5.0))


def test_a_change_under_a_tape_is_noticed():
    v, f = _model()
    step = tf.function(lambda x: v.assign(x))
    x = tf.ones([3])
    for _ in range(2 * FIRST_FREEZE):
        f(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        step(x * 3.0)
    np.testing.assert_array_equal(f(x), np.full(3, 3.0))


def test_functions_that_write_stay_live():
    v = tf.Variable(0)
    count = tf.function(lambda: v.assign_add(1))
    for expected in range(1, 3 * FIRST_FREEZE):
        assert int(count()) == expected


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (2, 3)], ids=str)
@pytest.mark.parametrize(
    "dtype", [tf.float32, tf.float16, tf.bfloat16, tf.int64, tf.bool], ids=lambda d: d.name
)
def test_any_variable_can_be_frozen(dtype, shape):
    v = tf.Variable(np.ones(shape, dtype.as_numpy_dtype))
    f = tf.function(lambda: tf.cast(v, tf.float32) * 2.0)
    for _ in range(FIRST_FREEZE + 2):
        np.testing.assert_array_equal(f(), np.full(shape, 2.0))
    assert _frozen(f)


def test_strings_stay_live():
    v = tf.Variable(["a", "b"])
    f = tf.function(lambda: v.value())
    for _ in range(FIRST_FREEZE + 2):
        assert f().numpy().tolist() == [b"a", b"b"]
    v.assign(["c", "d"])
    assert f().numpy().tolist() == [b"c", b"d"]


def test_many_captured_strings():
    words = tf.constant([f"word {i}" for i in range(10_000)])
    f = tf.function(lambda i: tf.gather(words, i))
    assert f(tf.constant(9_999)).numpy() == b"word 9999"


@pytest.mark.parametrize(("seconds", "calls"), [(0.0, 8), (0.2, 8), (0.5, 4), (1.0, 2), (9.0, 2)])
def test_long_calls_freeze_once_they_have_taken_as_long_as_a_plan(seconds, calls):
    """Of two seconds; what took long once by accident does not count."""
    v, f = _model()
    f(tf.ones([3]))
    (concrete,) = f.concrete_functions
    value = concrete._strategy._program.entries[0][0]

    def frozen_after(policy):
        for call in range(1, 100):
            policy.count([(value, v)], seconds if call > 1 else seconds + 50.0, 2.0)
            if policy.plan is not None:
                return call
        return None

    policy = FreezePolicy(concrete._strategy._program.graph, "CPU:0")
    # The accident is the first of two, which is too short for anything but the second.
    assert frozen_after(policy) == calls
    v.assign([2.0, 2.0, 2.0])
    assert policy.plan is None
    again = frozen_after(policy)
    assert again == (16 if seconds < 0.5 else max(2, 2 * calls if seconds < 9 else 2))


def test_failures_keep_saying_what_they_met():
    v = tf.Variable([1.0, 2.0])
    f = tf.function(lambda i: tf.gather(v, i))
    for _ in range(FIRST_FREEZE + 1):
        f(tf.constant(1))
    assert _frozen(f)
    with pytest.raises(InvalidArgumentError, match=r"Gather.*float32\[2\].*test_plan\.py"):
        f(tf.constant(7))
    assert f(tf.constant(0)).numpy() == 1.0


def test_what_cannot_be_frozen_stays_live(monkeypatch):
    """Folding may meet what only a call may raise."""
    _v, f = _model()
    x = tf.ones([3])
    f(x)
    (concrete,) = f.concrete_functions
    made = []

    class Failing(Plan):
        def __init__(self, *args):
            made.append(args)
            raise OpError("folding failed")

    monkeypatch.setattr(freeze_policy, "make_plan", Failing)
    for _ in range(5 * FIRST_FREEZE):
        np.testing.assert_array_equal(f(x), x)
    assert len(made) == 1
    assert concrete._strategy.freezer.plan is None


def test_a_change_while_freezing_wins(monkeypatch):
    """The plan that was being made from the old value must not come into use."""
    v, f = _model()
    x = tf.ones([3])

    class Slow(Plan):
        def __init__(self, *args):
            super().__init__(*args)
            v.assign([7.0, 7.0, 7.0])

    f(x)
    monkeypatch.setattr(freeze_policy, "make_plan", Slow)
    for _ in range(FIRST_FREEZE - 1):
        f(x)
    assert not _frozen(f)
    np.testing.assert_array_equal(f(x), np.full(3, 7.0))


def test_a_deleted_variable_ends_the_frozen_plan():
    v, f = _model()
    for _ in range(2 * FIRST_FREEZE):
        f(tf.ones([3]))
    assert _frozen(f)
    (concrete,) = f.concrete_functions
    del v
    f.python_function.__closure__[0].cell_contents = None
    gc.collect()
    assert concrete._strategy.freezer.plan is None


def test_freezers_are_not_kept_alive_by_variables():
    _v, f = _model()
    for _ in range(2 * FIRST_FREEZE):
        f(tf.ones([3]))
    reference = weakref.ref(f.concrete_functions[0]._strategy.freezer)
    assert isinstance(reference(), FreezePolicy)
    del f
    gc.collect()
    assert reference() is None


# Plans by hand


def _graph(array):
    graph = Graph("g")
    x = graph.add_input("i0", 1, (None,))
    constant = graph.add_constant(array, 1, "o0")
    graph.outputs = list(graph.add_node("Mul", [x, constant], {}, [(1, (None,))]).outputs)
    return graph


@pytest.mark.parametrize("size", [4, 100_000])
def test_large_constants_are_shared_and_names_do_not_clash(size, rng):
    array = rng.normal(size=size).astype(np.float32)
    plan = Plan(_graph(array))
    (result,) = plan.run([from_numpy(np.full(1, 2, np.float32))])
    np.testing.assert_allclose(to_numpy(result), array * 2)


def test_a_large_captured_tensor(rng):
    array = rng.normal(size=(300, 400)).astype(np.float32)
    weights = tf.constant(array)
    f = tf.function(lambda x: tf.matmul(x, weights))
    x = rng.normal(size=(2, 300)).astype(np.float32)
    np.testing.assert_allclose(f(x), x @ array, rtol=1e-3, atol=1e-4)
    outer = tf.function(lambda x: f(x) + 1.0)
    np.testing.assert_allclose(outer(x), x @ array + 1, rtol=1e-3, atol=1e-4)


def test_nothing_to_compute():
    graph = Graph("g")
    graph.add_input("x", 1, ())
    assert list(Plan(graph).run([from_numpy(np.zeros((), np.float32))])) == []
