"""Variables inside functions: program order, whole calls or nothing, and weak references."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import FailedPreconditionError, InvalidArgumentError


def test_program_order():
    a, b = tf.Variable(1.0), tf.Variable(1.0)

    @tf.function
    def f(x, y):
        a.assign(y * b)
        b.assign_add(x * a)
        return a + b

    assert f(1.0, 2.0).numpy() == 5.0
    assert (a.numpy(), b.numpy()) == (2.0, 3.0)


def test_reads_before_between_and_after():
    v = tf.Variable(1.0)

    @tf.function
    def f():
        reads = [v.read_value()]
        for _ in range(3):
            v.assign_add(1.0)
            reads.append(v.value())
        return reads

    assert [r.numpy() for r in f()] == [1.0, 2.0, 3.0, 4.0]
    assert [r.numpy() for r in f()] == [4.0, 5.0, 6.0, 7.0]


def test_an_assignment_gives_the_variable():
    """As in TensorFlow, its value is read where it is used."""
    v = tf.Variable(1.0)

    @tf.function
    def f():
        a = v.assign_add(1.0)
        first = a + 0.0
        b = v.assign_add(1.0)
        return first, a + 0.0, a, b

    assert [r.numpy() for r in f()] == [2.0, 3.0, 3.0, 3.0]


def test_a_returned_variable_is_its_value():
    v = tf.Variable(3.0)
    result = tf.function(lambda: v)()
    v.assign(5.0)
    assert isinstance(result, tf.Tensor)
    assert result.numpy() == 3.0


def test_eager_code_between_calls():
    v = tf.Variable(1.0)
    double = tf.function(lambda: v.assign(v * 2.0))
    for expected in (2.0, 5.0 * 2, 5.0 * 2 * 2):
        assert double().numpy() == expected
        if expected == 2.0:
            v.assign(5.0)


def test_written_and_never_read():
    v, other = tf.Variable(1.0), tf.Variable(0.0)
    f = tf.function(lambda x: (v.assign(x), other.assign(v + 1.0)))
    f(tf.constant(7.0))
    assert (v.numpy(), other.numpy()) == (7.0, 8.0)


def test_variables_as_arguments_and_through_objects():
    a, b = tf.Variable(1.0), tf.Variable(10.0)
    add = tf.function(lambda v: v.assign_add(1.0))
    assert [add(v).numpy() for v in (a, b, a)] == [2.0, 11.0, 3.0]
    both = tf.function(lambda v, w: v.assign(w + 1.0))
    assert both(a, b).numpy() == 12.0
    assert both(a, a).numpy() == 13.0
    listed = tf.function(lambda vs: [v.assign_sub(1.0) for v in vs])
    listed([a, b])
    assert (a.numpy(), b.numpy()) == (12.0, 10.0)


def test_nested_calls_share_the_state():
    v = tf.Variable(1.0)
    inner = tf.function(lambda x: v.assign(v * x))

    @tf.function
    def outer(x):
        before = v.value()
        inner(x)
        between = v.value()
        v.assign_add(1.0)
        last = inner(x) + 0.0
        return before, between, last

    assert [r.numpy() for r in outer(2.0)] == [1.0, 2.0, 6.0]
    assert v.numpy() == 6.0
    assert inner.experimental_get_tracing_count() == 1


def test_inner_writes_are_seen_by_the_functions_around():
    v = tf.Variable(0)
    one = tf.function(lambda: v.assign_add(1))
    two = tf.function(lambda: (one(), one()))
    three = tf.function(lambda: (two(), one(), v.value())[-1])
    assert int(three()) == 3
    assert int(three()) == 6


class BoomError(Exception):
    pass


def test_an_exception_while_tracing_leaves_state_untouched():
    v = tf.Variable(1.0)

    @tf.function
    def f(fail):
        v.assign_add(1.0)
        if fail:
            raise BoomError
        return v.value()

    with pytest.raises(BoomError):
        f(True)
    assert tf.executing_eagerly()
    assert v.numpy() == 1.0
    assert f(False).numpy() == 2.0
    with pytest.raises(BoomError):
        f(True)
    assert v.numpy() == 2.0


def test_a_failure_while_running_leaves_state_untouched():
    a, b = tf.Variable(1.0), tf.Variable([1.0, 2.0, 3.0])

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def f(i):
        a.assign_add(1.0)
        b.assign(b * 2.0)
        return tf.gather(b, i)

    assert f(1).numpy() == 4.0
    with pytest.raises(InvalidArgumentError, match="Gather"):
        f(7)
    assert a.numpy() == 2.0
    np.testing.assert_array_equal(b, [2.0, 4.0, 6.0])
    assert f(0).numpy() == 4.0


def test_a_failed_call_inside_can_be_caught():
    v = tf.Variable(1.0)

    @tf.function
    def inner(x):
        v.assign_add(10.0)
        raise BoomError

    @tf.function
    def outer(x):
        v.assign_add(1.0)
        with pytest.raises(BoomError):
            inner(x)
        return v.value()

    assert outer(tf.constant(0.0)).numpy() == 2.0
    assert v.numpy() == 2.0


@pytest.mark.parametrize("under_tape", [False, True])
def test_new_values_are_checked_before_any_is_installed(under_tape):
    """What a trace cannot know about shapes is checked at run time, for all variables first."""
    first, v = tf.Variable(0.0), tf.Variable([1.0, 2.0])

    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32)])
    def f(x):
        first.assign_add(1.0)
        v.assign(x)
        return first * 1.0

    def call(x):
        if not under_tape:
            return f(x)
        with tf.GradientTape():
            return f(x)

    call(tf.constant([3.0, 4.0]))
    with pytest.raises(InvalidArgumentError, match=r"Shape mismatch.*\(2,\).*\(3,\)"):
        call(tf.constant([3.0, 4.0, 5.0]))
    np.testing.assert_array_equal(v, [3.0, 4.0])
    assert first.numpy() == 1.0


def test_free_shapes_change():
    v = tf.Variable([1.0], shape=[None])
    grow = tf.function(lambda: v.assign(tf.concat([v, v], 0)))
    assert [grow().shape.as_list() for _ in range(3)] == [[2], [4], [8]]
    assert v.shape.as_list() == [None]


def test_a_deleted_variable_is_an_error():
    class Holder:
        pass

    holder = Holder()
    holder.v = tf.Variable(2.0, name="gone")
    read = tf.function(lambda: holder.v + 1.0)
    write = tf.function(lambda: holder.v.assign(1.0))
    for f in (read, write):
        f()
    concrete = read.get_concrete_function()
    holder.v = None
    gc.collect()
    for f in (read, write, concrete):
        with pytest.raises(FailedPreconditionError, match=r"'gone:0'.*was deleted.*Keep a ref"):
            f()


def test_functions_do_not_keep_variables_alive():
    variables = [tf.Variable(np.zeros(10)), tf.Variable(1.0)]
    f = tf.function(lambda: variables[0] * tf.cast(variables[1], tf.float64))
    for _ in range(20):  # long enough for a frozen plan, which holds the values
        f()
    references = [weakref.ref(v) for v in variables]
    variables.clear()
    gc.collect()
    assert [r() for r in references] == [None, None]


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.int8, tf.uint64, tf.bool])
def test_dtypes(dtype):
    v = tf.Variable(np.array([0, 1]).astype(dtype.as_numpy_dtype))
    swap = tf.function(lambda: v.assign(v[::-1]))
    swap()
    np.testing.assert_array_equal(v.numpy().astype(int), [1, 0])


def test_strings():
    v = tf.Variable("a")
    f = tf.function(lambda x: (v.value(), v.assign(x))[0])
    assert f(tf.constant("b")).numpy() == b"a"
    assert f("c").numpy() == b"b"
    assert v.numpy() == b"c"


def test_empty_tensors():
    v = tf.Variable(np.zeros((0, 3), np.float32), shape=[None, 3])
    f = tf.function(lambda x: (v.assign(tf.concat([v, x], 0)), tf.reduce_sum(v, 0))[1])
    np.testing.assert_array_equal(f(tf.zeros([0, 3])), np.zeros(3))
    np.testing.assert_array_equal(f(tf.ones([2, 3])), np.full(3, 2.0))
    assert v.value().shape == [2, 3]


def test_numpy_inside_a_trace_is_refused():
    v = tf.Variable(1.0)
    with pytest.raises(TypeError, match=r"numpy\(\).*symbolic"):
        tf.function(lambda: v.numpy())()
