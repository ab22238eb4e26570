"""Which random operations repeat which: TensorFlow's rules of global seeds and those of operations.

What repeats what was looked up in TensorFlow 2.21, by programs like those here; the numbers
themselves are tfx's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx import random


@pytest.fixture(autouse=True)
def _no_global_seed() -> Iterator[None]:
    random.set_seed(None)
    yield
    random.set_seed(None)


def first(*tensors: Any) -> list[float]:
    """The first number of each tensor."""
    return [float(tf.reshape(x, [-1])[0]) for x in tensors]


def drawing(seed: int | None = None) -> Any:
    """A function of two random operations."""

    @tf.function
    def f() -> Any:
        return random.uniform([1], seed=seed), random.uniform([1], seed=seed)

    return f


def distinct(*numbers: float) -> bool:
    return len(set(numbers)) == len(numbers)


# Eager operations


def test_without_any_seed_all_differ() -> None:
    assert distinct(*first(*[random.uniform([1]) for _ in range(4)]))


def test_a_global_seed_repeats_the_program() -> None:
    random.set_seed(1234)
    a = first(random.uniform([1]), random.uniform([1]))
    random.set_seed(1234)
    assert first(random.uniform([1]), random.uniform([1])) == a
    assert distinct(*a)
    random.set_seed(1235)
    assert distinct(*a, *first(random.uniform([1]), random.uniform([1])))


_KINDS: dict[str, Callable[[int | None], Any]] = {
    "uniform": lambda seed: random.uniform([2], seed=seed),
    "uniform of a wider dtype": lambda seed: random.uniform([2], dtype=tf.float64, seed=seed),
    "integers": lambda seed: random.uniform([2], maxval=10**6, dtype=tf.int32, seed=seed),
    "normal": lambda seed: random.normal([2], seed=seed),
    "truncated_normal": lambda seed: random.truncated_normal([2], seed=seed),
    "gamma": lambda seed: random.gamma([2], 0.5, seed=seed),
    "poisson": lambda seed: random.poisson([2], 1e6, seed=seed),
    "categorical": lambda seed: random.categorical(tf.zeros([1, 10**6]), 2, seed=seed),
    "shuffle": lambda seed: random.shuffle(tf.range(10**4), seed=seed),
}


@pytest.mark.parametrize("kind", _KINDS)
def test_an_eager_operation_without_a_seed_does_not_depend_on_what_was_drawn_before(kind) -> None:
    random.set_seed(1)
    random.uniform([7])
    expected = first(_KINDS["normal"](None))
    random.set_seed(1)
    _KINDS[kind](None)
    assert first(_KINDS["normal"](None)) == expected


@pytest.mark.parametrize("kind", _KINDS)
def test_eager_operations_of_one_kind_and_seed_share_a_sequence(kind) -> None:
    for base in (None, 5):
        draw = _KINDS[kind]
        random.set_seed(base)
        a = first(draw(42), draw(42))
        assert distinct(*a)
        random.set_seed(base)
        for other in _KINDS:
            if other != kind:
                _KINDS[other](42)
        assert first(draw(42), draw(42)) == a


def test_the_shape_and_the_bounds_are_no_part_of_the_kind() -> None:
    random.set_seed(1)
    a = first(random.uniform([1], seed=42), random.uniform([1], seed=42))
    random.set_seed(1)
    b = first(random.uniform([3], 0.0, 10.0, seed=42), random.uniform([1], seed=42))
    assert b[1] == a[1]
    assert b[0] == pytest.approx(10 * a[0])


def test_dropout_shares_the_sequence_of_uniform() -> None:
    random.set_seed(1)
    expected = [random.uniform([1], seed=42) for _ in range(3)]
    random.set_seed(1)
    random.uniform([1], seed=42)
    tf.nn.dropout(tf.ones([4]), 0.5, seed=42)
    assert first(random.uniform([1], seed=42)) == first(expected[2])


def test_a_seed_of_the_operation_alone_repeats_the_program() -> None:
    a = first(random.uniform([1], seed=1), random.uniform([1], seed=1))
    random.set_seed(None)
    assert first(random.uniform([1], seed=1), random.uniform([1], seed=1)) == a
    random.set_seed(3)
    assert distinct(*a, *first(random.uniform([1], seed=1)))


def test_no_global_seed_any_more() -> None:
    random.set_seed(7)
    a = first(random.uniform([1]))
    random.set_seed(None)
    assert distinct(*a, *first(random.uniform([1])))


def test_branches_and_loops_of_eager_code_draw_eagerly() -> None:
    random.set_seed(5)
    expected = first(*[random.uniform([1]) for _ in range(3)])
    random.set_seed(5)
    found = tf.map_fn(lambda x: random.uniform([]), tf.zeros([3]))
    np.testing.assert_array_equal(found, np.array(expected, "f"))
    random.set_seed(5)
    draw = lambda: random.uniform([1])  # noqa: E731
    assert first(*[tf.cond(tf.constant(True), draw, draw) for _ in range(3)]) == expected


def test_the_global_generator_is_another_matter() -> None:
    random.set_seed(5)
    a = random.get_global_generator().uniform([1])
    random.set_seed(5)
    assert distinct(*first(a, random.get_global_generator().uniform([1])))
    random.set_seed(5)
    b = first(random.uniform([1]))
    random.set_seed(5)
    random.get_global_generator().uniform([1])
    assert first(random.uniform([1])) == b


# Functions


def test_each_function_begins_its_own_sequence() -> None:
    random.set_seed(1234)
    f, g = drawing(), drawing()
    a, b = first(*f()), first(*f())
    assert distinct(*a, *b)
    assert first(*g()) == a
    assert first(*g()) == b


def test_operations_of_one_seed_in_a_function_draw_the_same() -> None:
    for base in (None, 1):
        random.set_seed(base)
        f, g = drawing(42), drawing(42)
        a, b = first(*f()), first(*f())
        assert a[0] == a[1] != b[0] == b[1]
        assert first(*g()) == a


def test_the_first_operation_of_a_function_has_the_seed_0() -> None:
    random.set_seed(1)
    assert first(*drawing()())[0] == first(*drawing(0)())[0]


def test_a_function_draws_what_an_eager_operation_of_its_seed_draws_first() -> None:
    random.set_seed(1)
    assert first(*drawing(42)())[0] == first(random.uniform([1], seed=42))[0]


def test_a_function_takes_nothing_from_the_sequence_of_eager_operations() -> None:
    random.set_seed(1)
    expected = first(random.uniform([1]), random.uniform([1]))
    f = drawing()
    random.set_seed(1)
    a = random.uniform([1])
    f()
    assert first(a, random.uniform([1])) == expected


def test_without_a_global_seed_functions_differ() -> None:
    f, g = drawing(), drawing()
    assert distinct(*first(*f(), *f(), *g()))


def test_set_seed_starts_functions_again_with_the_seed_they_were_traced_with() -> None:
    random.set_seed(1)
    f, seeded = drawing(), drawing(42)
    a, b = first(*f()), first(*seeded())
    for seed in (1, 2, None):
        f(), seeded()
        random.set_seed(seed)
        assert first(*f()) == a
        assert first(*seeded()) == b
    random.set_seed(2)
    assert distinct(*a, *first(*drawing()()))


def test_set_seed_does_not_make_a_function_traced_without_one_repeat() -> None:
    f, seeded = drawing(), drawing(42)
    a, b = first(*f()), first(*seeded())
    random.set_seed(1)
    c = first(*f())
    random.set_seed(1)
    assert distinct(*a, *c, *first(*f()))
    assert first(*seeded()) == b


def test_a_new_trace_begins_again() -> None:
    random.set_seed(1)
    one, two = tf.zeros([1]), tf.zeros([1], tf.float64)
    f = tf.function(lambda x: random.uniform([1]))
    a, b = first(f(one)), first(f(one))
    assert first(f(two)) == a
    c = first(f(one))
    assert distinct(*a, *b, *c)
    assert first(f(two)) == b


def test_instances_of_one_method() -> None:
    class Drawing(tf.Module):
        @tf.function
        def __call__(self) -> Any:
            return random.uniform([1]), random.uniform([1], seed=42)

    random.set_seed(5)
    one, two = Drawing(), Drawing()
    a = first(*one())
    assert first(*two()) == a
    assert first(*one()) == first(*two()) != a


def test_calls_in_a_function_draw_for_themselves() -> None:
    inner = tf.function(lambda: random.uniform([1]))

    @tf.function
    def outer() -> Any:
        return random.uniform([1]), inner(), inner(), random.uniform([1])

    random.set_seed(1)
    a, b, c, d = first(*outer())
    assert a == b == c != d
    e, f, g, h = first(*outer())
    assert e == f == g != h
    assert distinct(a, d, e, h)
    assert first(inner(), inner()) == [a, e]
    random.set_seed(1)
    assert first(inner()) == [a]
    assert first(*outer()) == [a, b, c, d]


def test_calls_under_a_tape_in_a_function_draw_for_themselves() -> None:
    inner = tf.function(lambda x: x * random.uniform([1]))

    @tf.function
    def outer(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = inner(x)
            z = inner(x)
        return y, z, tape.gradient([y, z], x)

    random.set_seed(1)
    x = tf.constant([1.0])
    for _ in range(2):
        y, z, dx = first(*outer(x))
        assert y == z
        assert dx == pytest.approx(2 * y)


def test_loops_draw_on_and_begin_at_0() -> None:
    @tf.function
    def f() -> Any:
        a = random.uniform([1])
        loops = []
        for _ in range(2):
            t = tf.TensorArray(tf.float32, 3)
            for i in tf.range(3):
                t = t.write(i, random.uniform([1]))
            loops.append(t.stack())
        return a, *loops

    random.set_seed(1)
    a, b, c = (np.ravel(x).tolist() for x in f())
    d, e, g = (np.ravel(x).tolist() for x in f())
    assert b == c
    assert e == g
    assert a[0] == b[0]
    assert d[0] == b[1]
    assert distinct(*b, *e)


def test_branches_that_are_not_taken_draw_nothing() -> None:
    @tf.function
    def f(c: Any) -> Any:
        a = random.uniform([1])
        if c:  # noqa: SIM108
            b = random.uniform([1])
        else:
            b = random.uniform([1]) + 0.0
        return a, b

    random.set_seed(1)
    yes, no = tf.constant(True), tf.constant(False)
    numbers = [first(*f(c)) for c in (yes, yes, no, no, yes)]
    a = [x for x, _ in numbers]
    assert distinct(*a)
    assert [y for _, y in numbers] == [a[0], a[1], a[0], a[1], a[2]]


def test_a_python_loop_adds_operations() -> None:
    f = tf.function(lambda: [random.uniform([1], seed=7) for _ in range(3)])
    g = tf.function(lambda: [random.uniform([1]) for _ in range(3)])
    random.set_seed(1)
    assert len(set(first(*f()))) == 1
    assert distinct(*first(*g()))


def test_set_seed_in_a_function_counts_from_there() -> None:
    @tf.function
    def f() -> Any:
        random.set_seed(5)
        return random.uniform([1])

    random.set_seed(1)
    a = first(f())
    random.set_seed(5)
    assert first(drawing()()[0]) == a


def test_what_runs_while_tracing_is_eager() -> None:
    @tf.function
    def f() -> Any:
        with tf.init_scope():
            a = random.uniform([1])
        return a, random.uniform([1])

    random.set_seed(5)
    expected = first(random.uniform([1]), random.uniform([1]))
    random.set_seed(5)
    a, b = first(*f()), first(*f())
    assert a[0] == b[0] == expected[0]
    assert a[1] != b[1]
    assert first(random.uniform([1])) == [expected[1]]


def test_vectorized_map_is_a_function() -> None:
    draw = lambda x: random.uniform([])  # noqa: E731
    random.set_seed(5)
    a = tf.vectorized_map(draw, tf.zeros([3]))
    np.testing.assert_array_equal(tf.vectorized_map(draw, tf.zeros([3])), a)
    assert distinct(*np.asarray(a).tolist())
    f = tf.function(lambda: tf.vectorized_map(draw, tf.zeros([3])))
    b = np.asarray(f())
    np.testing.assert_array_equal(b, a)
    assert distinct(*b.tolist(), *np.asarray(f()).tolist())


@pytest.mark.parametrize("kind", _KINDS)
def test_each_run_of_a_function_draws_anew_and_set_seed_repeats_it(kind) -> None:
    draw = _KINDS[kind]
    f = tf.function(lambda: (draw(None), draw(3), draw(3)))
    random.set_seed(9)
    a, b, c = f()
    d, e, g = f()
    for x, y in ((b, c), (e, g)):
        np.testing.assert_array_equal(x, y)
    assert distinct(*first(a, b, d, e))
    random.set_seed(9)
    for x, y in zip(f(), (a, b, c), strict=True):
        np.testing.assert_array_equal(x, y)


def test_gradients_of_what_was_drawn() -> None:
    f = tf.function(lambda x: x * random.uniform([1]) + x * random.uniform([1], seed=3))
    random.set_seed(5)
    x = tf.constant([1.0])
    seen = []
    for _ in range(2):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        seen += first(y)
        assert first(tape.gradient(y, x)) == pytest.approx(first(y))
    assert distinct(*seen, *first(f(x)))


def test_recompute_grad_draws_once() -> None:
    inner = tf.function(lambda x: x * random.uniform([1]))
    f = tf.recompute_grad(lambda x: inner(x) + x * random.uniform([1], seed=3))
    x = tf.constant([1.0])
    random.set_seed(5)
    taped = tf.function(lambda x: tf.gradients(f(x), x)[0])
    random.set_seed(5)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    # The second time in a graph, of what was drawn eagerly.
    late = tf.function(lambda: tape.gradient(y, x))
    assert first(late()) == pytest.approx(first(y))
    assert distinct(*first(taped(x), taped(x)))
    for g in (f, tf.function(f)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = g(x)
        assert first(tape.gradient(y, x)) == pytest.approx(first(y))


def test_seeded_initializers_repeat_themselves() -> None:
    make = tf.initializers.RandomNormal(seed=3)
    assert first(make([1])) == first(make([1]))


def test_stateless_operations_know_no_global_seed() -> None:
    a = first(random.stateless_uniform([1], seed=[1, 2]))
    random.set_seed(3)
    assert first(random.stateless_uniform([1], seed=[1, 2])) == a


def test_a_generator_in_a_function_has_one_sequence() -> None:
    generator = random.Generator.from_seed(1)
    f = tf.function(lambda: (generator.uniform([1]), generator.uniform([1])))
    random.set_seed(3)
    numbers = first(*f(), *f())
    assert distinct(*numbers)
    again = random.Generator.from_seed(1)
    assert first(*[again.uniform([1]) for _ in range(4)]) == numbers


def test_a_saved_function_goes_on_where_it_was(tmp_path) -> None:
    class Drawing(tf.Module):
        @tf.function(input_signature=[])
        def __call__(self) -> Any:
            return random.uniform([1]), random.uniform([1]), random.uniform([1], seed=1)

    random.set_seed(5)
    module = Drawing()
    module()
    tf.saved_model.save(module, str(tmp_path / "m"))
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    for _ in range(2):
        assert first(*loaded()) == first(*module())


def test_states_live_as_long_as_graphs_that_use_them() -> None:
    @tf.function
    def f() -> Any:
        return random.uniform([1], name="a")

    random.set_seed(5)
    concrete = f.get_concrete_function()
    part = concrete.prune([], concrete.outputs)
    inner = tf.function(lambda: random.uniform([1]))
    outer = tf.function(lambda inner=inner: inner())
    expected = first(outer())
    del f, concrete, inner
    assert first(*part()) == expected
    assert distinct(*expected, *first(outer()))
