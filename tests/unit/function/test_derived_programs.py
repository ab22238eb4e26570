"""Parts of random graphs compute what NumPy computes for the same part of the program."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfx as tf

OPERATIONS = {
    "add": (tf.add, np.add),
    "subtract": (tf.subtract, np.subtract),
    "multiply": (tf.multiply, np.multiply),
    "maximum": (tf.maximum, np.maximum),
}
ARGUMENTS = 2
VARIABLES = 2

# One step of a program: an operation on two of the values so far (taken modulo their number), or an
# assignment of one to a variable, followed by a read.
STEP = st.one_of(
    st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(0, 99), st.integers(0, 99)),
    st.tuples(st.just("assign"), st.integers(0, VARIABLES - 1), st.integers(0, 99)),
)


def build(program, variables):
    """The program as a concrete function; the result of step i is named ``v<i>``."""

    @tf.function
    def f(a0, a1):
        values = [a0, a1]
        for i, (kind, x, y) in enumerate(program):
            if kind == "assign":
                variables[x].assign(values[y % len(values)])
                result = variables[x] + 0.0
            else:
                result = OPERATIONS[kind][0](values[x % len(values)], values[y % len(values)])
            values.append(tf.identity(result, name=f"v{i}"))
        return values[-1]

    spec = tf.TensorSpec([3], tf.float32)
    return f.get_concrete_function(spec, spec)


def simulate(program, fed, variables, fetched, *, drop):
    """NumPy's values of the fetches, and of the variables after the call.

    A step runs if a fetch needs it (or always, where nothing is dropped); an assignment runs
    exactly if the read after it does.
    """
    needed = set()

    def need(i):
        if i in needed or i in fed:
            return
        needed.add(i)
        if i < ARGUMENTS:
            return
        kind, x, y = program[i - ARGUMENTS]
        need(y % i)
        if kind != "assign":
            need(x % i)

    for i in fetched:
        need(i)
    if not drop:
        for i, (kind, _, y) in enumerate(program, ARGUMENTS):
            if kind == "assign":
                need(y % i)
    if any(i < ARGUMENTS for i in needed):
        return None, None
    values, state = dict(fed), list(variables)
    for i, (kind, x, y) in enumerate(program, ARGUMENTS):
        if kind == "assign" and (i in needed or not drop):
            state[x] = values[y % i]
        if i in needed:
            values[i] = (
                state[x] if kind == "assign" else OPERATIONS[kind][1](values[x % i], values[y % i])
            )
    return [values[i] for i in fetched], state


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_parts_of_random_programs(data):
    program = data.draw(st.lists(STEP, min_size=1, max_size=8))
    count = ARGUMENTS + len(program)
    fed = data.draw(st.lists(st.integers(0, count - 1), unique=True, min_size=1, max_size=4))
    fetched = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=3))
    drop = data.draw(st.booleans())
    rng = np.random.default_rng(len(program))
    start = [np.float32(rng.integers(-3, 4, 3)) for _ in range(VARIABLES)]
    contents = {i: np.float32(rng.integers(-3, 4, 3)) for i in fed}
    variables = [tf.Variable(x) for x in start]
    concrete = build(program, variables)
    names = [*(f"a{i}:0" for i in range(ARGUMENTS)), *(f"v{i}:0" for i in range(len(program)))]
    expected, state = simulate(program, contents, start, fetched, drop=drop)
    feeds, fetches = [names[i] for i in fed], [names[i] for i in fetched]
    if expected is None:
        with pytest.raises(ValueError, match="cannot be computed from the feeds"):
            concrete.prune(feeds, fetches, drop_stateful=drop)
        return
    part = concrete.prune(feeds, fetches, drop_stateful=drop)
    results = part(*[tf.constant(contents[i]) for i in fed])
    for result, want in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result.numpy(), want)
    for variable, want in zip(variables, state, strict=True):
        np.testing.assert_array_equal(variable.numpy(), want)
