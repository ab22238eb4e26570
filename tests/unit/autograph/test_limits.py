"""The limits of converted control flow: what holds, and what the messages say."""

# ruff: noqa: SIM102, SIM108, F821, F841
from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import tfx as tf

N = tf.constant(3)
FILE = "test_limits.py"


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def check_refused(error, function, variable, *texts, at, lines=(), argument=N):
    """The message names the variable, the statement's line, both sides' lines, and more."""
    with pytest.raises(error) as e:
        tf.function(function)(argument)
    message = str(e.value)
    name = function.__name__
    assert variable in message, message
    assert f"[{FILE}:{line_of(function, at)} in {name}]" in message, message
    for text in texts:
        assert text in message, message
    for text in lines:
        assert f"{FILE}:{line_of(function, text)}" in message, message
    return message


# Undefined and None


def test_defined_in_one_branch_only():
    def f(n):
        if n > 0:
            x = n + 1
        return x

    check_refused(
        ValueError,
        f,
        "'x' must also be initialized in the else branch",
        "undefined",
        "before the `if`",
        at="if n > 0",
        lines=["x = n + 1"],
    )


def test_defined_in_the_other_branch_only():
    def f(n):
        if n > 0:
            pass
        else:
            x = tf.constant(1)
        return x

    check_refused(
        ValueError, f, "'x' must also be initialized in the main branch", at="if n", lines=["x = "]
    )


def test_local_to_a_branch_is_fine():
    def f(n):
        if n > 0:
            x = tf.constant(1)
            n = n + x
        return n

    assert int(tf.function(f)(N)) == 4


def test_none_in_one_branch():
    def f(n):
        if n > 0:
            x = tf.constant(1)
        else:
            x = None
        return x

    check_refused(
        ValueError,
        f,
        "'x' is None at the end of the else branch",
        "int32 ()",
        "default value",
        at="if n > 0",
        lines=["x = tf.constant(1)", "x = None"],
    )


def test_return_in_one_branch():
    def f(n):
        if n > 0:
            return n + 1

    check_refused(
        ValueError,
        f,
        "the else branch must also have a return statement",
        at="if n > 0",
        lines=["return n + 1"],
    )


@pytest.mark.parametrize("kind", ["for", "while"])
def test_undefined_before_a_loop(kind):
    def f(n):
        if kind == "for":
            for i in tf.range(n):
                x = i * 2
        else:
            while n > 0:
                x = n
                n -= 1
        return x

    traced = tf.function(f)
    assert int(traced(N)) == (4 if kind == "for" else 1)
    with pytest.raises(tf.errors.InvalidArgumentError) as e:
        traced(tf.constant(0))
    message = str(e.value)
    assert "loop must iterate at least once to initialize x" in message
    statement = "for i" if kind == "for" else "while n"
    assert f"[{FILE}:{line_of(f, statement)} in f]" in message


def test_no_assertion_where_the_loop_runs():
    def f(n):
        for i in tf.range(3):
            x = i + n
        for _ in tf.range(n):
            y = x
            x = y + 1
        return x

    traced = tf.function(f)
    assert int(traced(N)) == 8
    types = {op.type for op in traced.get_concrete_function(N).graph.get_operations()}
    assert "Assert" not in types
    assert "Host" not in types


def test_local_to_a_loop_is_fine():
    def f(n):
        while n > 0:
            x = n - 1
            n = x
        return n

    assert int(tf.function(f)(N)) == 0


def test_value_of_the_iteration_before():
    def f(n):
        y = 0
        for i in tf.range(n):
            if i > 0:
                y += x
            x = i
        return y

    check_refused(
        ValueError,
        f,
        "'x' must be defined before the loop",
        "Give it a value before the loop",
        at="for i",
        lines=["y += x"],
    )


def test_none_before_a_loop():
    def f(n):
        best = None
        for i in tf.range(n):
            if best is None:
                best = 10 - i
            else:
                best = tf.minimum(best, i)
        return best

    traced = tf.function(f)
    assert int(traced(N)) == 1
    assert int(traced(tf.constant(1))) == 10
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least once to initialize best"):
        traced(tf.constant(0))


def test_none_before_a_while_loop_with_break():
    def f(n):
        last = None
        while n > 0:
            last = n
            n -= 1
            if n == 1:
                break
        return last

    assert int(tf.function(f)(N)) == 2
    assert int(tf.function(f)(tf.constant(1))) == 1


def test_becomes_none():
    def f(n):
        x = n + 1
        for _ in tf.range(n):
            x = None
        return x

    check_refused(
        ValueError,
        f,
        "'x' is None at the end of the iteration",
        "int32 ()",
        at="for _",
        lines=["x = n + 1", "x = None"],
    )


# Structures


def test_lengths():
    def f(n):
        if n > 0:
            s = [n]
        else:
            s = [n, n]
        return s

    check_refused(
        TypeError,
        f,
        "'s' must have the same structure",
        "[int32 ()] ",
        "[int32 (), int32 ()]",
        at="if n",
        lines=["s = [n]", "s = [n, n]"],
    )


def test_keys():
    def f(n):
        if n > 0:
            s = {"a": n}
        else:
            s = {"b": n}
        return s

    check_refused(TypeError, f, "'s'", "{'a': int32 ()}", "{'b': int32 ()}", at="if n")


def test_kinds():
    def f(n):
        if n > 0:
            s = (n, n)
        else:
            s = n
        return s

    check_refused(TypeError, f, "'s'", "(int32 (), int32 ())", at="if n")


def test_structure_changes_in_a_loop():
    def f(n):
        s = (n, n)
        for _ in tf.range(n):
            s = (*s, n)
        return s

    check_refused(TypeError, f, "'s' has the structure", "before", at="for _", lines=["s = (*s"])


def test_objects():
    def f(n):
        if n > 0:
            s = object()
        else:
            s = object()
        return s

    check_refused(TypeError, f, "'s'", "object", at="if n", lines=["s = object()"])


def test_object_becomes_another():
    def f(n):
        s = object()
        while n > 0:
            s = [object()][0]
            n -= 1
        return n, s

    check_refused(TypeError, f, "'s'", "object", at="while n", lines=["s = [object()][0]"])


def test_growing_dict_of_fixed_keys():
    def f(n):
        d = {}
        for i in tf.range(n):
            d["last"] = i
            d["next"] = i + 1
        return d

    found = tf.function(f)(N)
    assert {k: int(v) for k, v in found.items()} == {"last": 2, "next": 3}


def test_dynamic_key():
    def f(n):
        d = {"a": n}
        for i in tf.range(n):
            d[i] = i
        return d

    check_refused(TypeError, f, "dict", "known when the graph runs", "tf.TensorArray", at="d[i]")


def test_keys_of_python_are_fine():
    def f(n):
        d = {"a": n, "b": n + 1}
        for i in tf.range(n):
            for key in d:
                d[key] += i
            d = {key: value + 1 for key, value in d.items()}
        return d

    assert {k: int(v) for k, v in tf.function(f)(N).items()} == {"a": 9, "b": 10}


def test_strings():
    def f(n):
        s = "a"
        for _ in tf.range(n):
            s = s + "b"
        if n > 2:
            t = "many"
        else:
            t = "few"
        return s, t

    s, t = tf.function(f)(N)
    assert s.numpy() == b"abbb"
    assert t.numpy() == b"many"


# Dtypes


def test_dtype_of_branches():
    def f(n):
        if n > 0:
            x = tf.constant(1)
        else:
            x = tf.constant(1.0)
        return x

    check_refused(
        TypeError,
        f,
        "'x' has dtype int32 in the main branch, but dtype float32 in the else branch",
        "tfx.cast",
        at="if n",
        lines=["x = tf.constant(1)", "x = tf.constant(1.0)"],
    )


def test_dtype_of_iterations():
    def f(n):
        x = tf.constant(0)
        while n > 0:
            x = tf.constant(1.0)
            n -= 1
        return x

    check_refused(
        TypeError,
        f,
        "'x' has dtype int32 before the loop, but dtype float32 after one iteration",
        "tfx.cast",
        at="while n",
        lines=["x = tf.constant(1.0)"],
    )


def test_python_numbers_take_the_dtype():
    def f(n):
        total, count = 0, 0
        for i in tf.range(n):
            total += tf.cast(i, tf.float32)
            count = count + 1
        x = 1
        if n > 1:
            x = tf.constant(2.5)
        return total, count, x

    total, count, x = tf.function(f)(N)
    assert (total.dtype, count.dtype, x.dtype) == (tf.float32, tf.int32, tf.float32)
    assert (float(total), int(count), float(x)) == (3, 3, 2.5)


# Shapes


def test_shape_of_iterations():
    def f(n):
        x = tf.constant(1)
        while n > 0:
            x = tf.constant((1, 2, 3))
            n -= 1
        return x

    check_refused(
        ValueError,
        f,
        "'x' has shape () before the loop, but shape (3,) after one iteration",
        "set_loop_options",
        "shape_invariants=[(x, tf.TensorShape(None))]",
        at="while n",
        lines=["x = tf.constant((1"],
    )


def test_shapes_of_branches_may_differ():
    def f(n):
        if n > 0:
            x = tf.zeros([2, 3])
        else:
            x = tf.zeros([4, 3])
        assert x.shape.as_list() == [None, 3]
        return x

    assert tf.function(f)(N).shape == (2, 3)


def test_loop_options():
    def f(n):
        x = tf.zeros([1])
        y = tf.zeros([1, 2])
        for _ in tf.range(n):
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(x, tf.TensorShape([None])), (y, tf.TensorShape([None, 2]))],
                parallel_iterations=2,
                swap_memory=True,
            )
            x = tf.concat([x, [1.0]], 0)
            y = tf.concat([y, y], 0)
        i = tf.constant(0)
        while i < 100:
            tf.autograph.experimental.set_loop_options(maximum_iterations=n + 2)
            i = i + tf.constant(1)
        return x, y, i

    x, y, i = tf.function(f)(N)
    np.testing.assert_array_equal(x, [0, 1, 1, 1])
    assert y.shape == (8, 2)
    assert int(i) == 5


def test_invariant_that_does_not_fit():
    def f(n):
        x = tf.zeros([1])
        for _ in tf.range(n):
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(x, tf.TensorShape([2]))],
            )
            x = tf.concat([x, [1.0]], 0)
        return x

    with pytest.raises(ValueError, match=r"shape \(1,\).*shape invariant is \(2,\)"):
        tf.function(f)(N)


# Indices


def test_known_index_error():
    def f(n):
        x = tf.constant([1, 2, 3])
        if n > 5:
            return x[4]
        return x[0]

    with pytest.raises(ValueError, match="out of bounds"):
        tf.function(f)(N)

    def g(x):
        return x[4] if tf.shape(x)[0] > 4 else x[0]

    traced = tf.function(g, input_signature=[tf.TensorSpec([None])])
    assert float(traced([1.0, 2.0])) == 1
    assert float(traced([1.0, 2.0, 3.0, 4.0, 5.0])) == 5


def test_static_check_leaves_the_branch_out():
    def f(x):
        if x.shape[0] > 4:
            return x[4]
        return x[0]

    assert int(tf.function(f)(N[None])) == 3


# Where it stands


def test_lines_of_nested_statements():
    def f(n):
        total = n
        for i in tf.range(n):
            if i > 0:
                if i > 1:
                    total = tf.cast(total, tf.float32)
        return total

    message = check_refused(TypeError, f, "'total'", at="if i > 1", lines=["total = tf.cast"])
    assert not re.search(r"ag_\w+", message), message


def test_tracebacks_show_the_users_lines():
    def f(n):
        if n > 0:
            raise KeyError("here")
        return n

    with pytest.raises(KeyError) as e:
        tf.function(f)(N)
    frames = [x for x in e.traceback if str(x.path).endswith(FILE)]
    assert frames[-1].lineno + 1 == line_of(f, "raise")
    assert frames[-1].frame.code.name == "f"


# What is emitted


def operations(function, *args):
    graph = tf.function(function).get_concrete_function(*args).graph
    return [op.type for op in graph.get_operations()]


def test_cheap_operands_need_no_branch():
    def f(a, b):
        return (a > 0 and b > a and 0 < b < 9) or not (b > 3 or a == 2)

    def g(a, b):
        return a != 0 and b // a > 1

    assert "If" not in operations(f, N, N)
    assert "If" in operations(g, N, N)
    for a in range(-1, 4):
        for b in (0, 2, 5, 10):
            expected = (a > 0 and b > a and 0 < b < 9) or not (b > 3 or a == 2)
            assert bool(tf.function(f)(tf.constant(a), tf.constant(b))) is expected
            found = tf.function(g)(tf.constant(a), tf.constant(b))
            assert bool(found) is (a != 0 and b // a > 1)


def test_array_written_at_the_loops_index_is_an_output_of_the_loop():
    def f(x):
        out = tf.TensorArray(tf.float32, size=4)
        state = x
        for i in tf.range(4):
            state = state * 0.5 + 1.0
            out = out.write(i, state)
        return out.stack()

    found = operations(f, tf.constant(2.0))
    assert not [t for t in found if "Sequence" in t or t == "PartitionedCall"]
    np.testing.assert_allclose(tf.function(f)(tf.constant(2.0)), [2, 2, 2, 2])


def test_values_of_python_stay_what_they_are():
    def f(n):
        mode, rate, total = "sum", 2, n
        for i in tf.range(n):
            if mode == "sum":
                total += i * rate
        return total, mode, rate

    traced = tf.function(lambda n: f(n)[0])
    assert int(traced(N)) == 9
    assert tf.function(f)(N)[1] == "sum"
