"""A failure inside ONNX Runtime: the user's line, the operator and the shapes that it met."""

from __future__ import annotations

import inspect
import sys

import pytest

import tfx as tf
from tfx.core.errors import InvalidArgumentError
from tfx.function.execution.run_errors import failed_node
from tfx.graph.ir import Graph

ANY = tf.TensorSpec(None, tf.float32)


def _product(x, y):
    scaled = x * 2.0
    return tf.matmul(scaled, y)  # the line


LINE = _product.__code__.co_firstlineno + 2
MESSAGE = (
    r"MatMul cannot be applied to \(float32\[2, 3\], float32\[4, 5\]\) in function '_product': "
    rf".*dimension mismatch.*\[test_failures\.py:{LINE} in _product\]"
)


def test_the_line_the_operator_and_the_shapes(capfd):
    f = tf.function(_product, input_signature=[ANY, ANY])
    with pytest.raises(InvalidArgumentError, match=MESSAGE) as caught:
        f(tf.ones([2, 3]), tf.ones([4, 5]))
    assert caught.value.op == "MatMul"
    assert caught.value.node == "MatMul"
    assert (caught.value.source.line, caught.value.source.function) == (LINE, "_product")
    assert isinstance(caught.value, ValueError)
    assert "onnxruntime" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_with_variables():
    v = tf.Variable([[1.0, 2.0]], shape=tf.TensorShape(None))
    f = tf.function(lambda x: tf.matmul(x, v), input_signature=[ANY])
    with pytest.raises(InvalidArgumentError, match=r"float32\[3, 4\], float32\[1, 2\]"):
        f(tf.ones([3, 4]))
    v.assign([[1.0]] * 4)
    assert f(tf.ones([3, 4])).shape == [3, 1]


def test_in_a_called_function():
    inner = tf.function(_product, input_signature=[ANY, ANY])
    outer = tf.function(lambda x, y: inner(x, y) + 1.0, input_signature=[ANY, ANY])
    with pytest.raises(InvalidArgumentError, match=rf"MatMul.*test_failures\.py:{LINE}"):
        outer(tf.ones([2, 3]), tf.ones([4, 5]))


def test_under_a_tape():
    f = tf.function(_product, input_signature=[ANY, ANY])
    x = tf.ones([2, 3])
    with tf.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(InvalidArgumentError, match=rf"MatMul.*test_failures\.py:{LINE}"):
            f(x, tf.ones([4, 5]))


def test_while_tracing():
    def total(x, y):
        return x + y

    line = total.__code__.co_firstlineno + 1
    shapes = r"float32\[2, 3\], float32\[4, 5\]"
    with pytest.raises(
        InvalidArgumentError,
        match=rf"Add cannot .*{shapes}.*test_failures\.py:{line} in total",
    ):
        tf.function(total)(tf.ones([2, 3]), tf.ones([4, 5]))


def test_in_the_second_call_of_a_function_inside_a_function():
    inner = tf.function(_product, input_signature=[ANY, ANY])
    middle = tf.function(lambda x, y: inner(x, y) + 1.0, input_signature=[ANY, ANY])
    outer = tf.function(lambda x, y: middle(middle(x, y) * 2.0, y), input_signature=[ANY, ANY])
    with pytest.raises(
        InvalidArgumentError,
        match=rf"MatMul cannot be applied to \(float32\[2, 5\], float32\[3, 5\]\).*:{LINE}",
    ):
        outer(tf.ones([2, 3]), tf.ones([3, 5]))


def test_with_a_frozen_plan():
    v = tf.Variable([[1.0, 2.0]])
    f = tf.function(lambda x: tf.matmul(x, v), input_signature=[ANY])
    for _ in range(20):
        f(tf.ones([2, 1]))
    with pytest.raises(InvalidArgumentError, match=r"float32\[3, 4\], float32\[1, 2\]"):
        f(tf.ones([3, 4]))
    assert f(tf.ones([2, 1])).shape == [2, 2]


def test_what_cannot_be_compiled():
    f = tf.function(lambda x: tf.raw.NonZero(x))
    with pytest.raises(NotImplementedError, match=r"NonZero cannot .*string\[2\].*test_failures"):
        f(tf.constant(["a", "b"]))


def test_failed_nodes_are_found_behind_prefixes_and_suffixes():
    graph = Graph("g")
    x = graph.add_input("x", 1, ())
    add = graph.add_node("Add", [x, x], {}, [(1, ())])
    matmul = graph.add_node("MatMul", [x, x], {}, [(1, ())], name="layer/MatMul")
    assert failed_node("... Name:'Add' Status ...", graph) is add
    assert failed_node("... Name:'_inlfunc_f_layer/MatMul' ...", graph) is matmul
    assert failed_node("... Name:'layer/MatMul/MatMulAddFusion/' ...", graph) is matmul
    assert failed_node("... Name:'other' ...", graph) is None
    assert failed_node("no name", graph) is None


def test_nobody_is_shown_automatic_names():
    f = tf.function(lambda x, y: x + y)
    spec = tf.TensorSpec([None, 3])
    with pytest.raises(InvalidArgumentError, match=r"float32\[None, 3\], float32\[None, 4\]"):
        f.get_concrete_function(spec, tf.TensorSpec([None, 4]))


# Inside of loops, branches and called functions


def _line(function, text):
    lines, first = inspect.getsourcelines(function)
    number = first + next(i for i, line in enumerate(lines) if text in line)
    return rf"\[test_failures\.py:{number} in {function.__name__}\]"


def _for_loop(x, i):
    total = x[0]
    for k in tf.range(3):
        j = i + k
        total = total + tf.gather(x, j)  # the line
    return total


def _while_loop(x, i):
    while i < 10:
        i += 1
        if i > 3:
            x = x + tf.gather(x, [i, i + 1, i, i])  # the line
    return x


def _branch(x, i):
    if i > 100:  # noqa: SIM108
        y = x
    else:
        y = tf.gather(x * 2.0, [[i]])  # the line
    return y


def _helper(x, i):
    return tf.gather(x, i)  # the line


def _loop_that_calls(x, i):
    y = x[0]
    for _ in tf.range(i):
        y += tf.function(_helper)(x, i)
    return y


def _loop_with_a_plain_call(x, i):
    y = x[0]
    for k in tf.range(i):
        for _ in tf.range(2):
            y += _helper(x, k)
    return y


@pytest.mark.parametrize(
    "function, where, shapes",
    [
        (_for_loop, _for_loop, r"float32\[4\], int32\[\]"),
        (_while_loop, _while_loop, r"float32\[4\], int32\[4\]"),
        (_branch, _branch, r"float32\[4\], int32\[1, 1\]"),
        (_loop_that_calls, _helper, r"float32\[4\], int32\[\]"),
        (_loop_with_a_plain_call, _helper, r"float32\[4\], int32\[\]"),
    ],
)
@pytest.mark.parametrize("tape", [False, True])
@pytest.mark.parametrize("known", [False, True])
def test_inside_of_blocks_the_operator_is_named(function, where, shapes, tape, known):
    spec = [tf.TensorSpec([4] if known else [None]), tf.TensorSpec([], tf.int32)]
    f = tf.function(function, input_signature=spec)
    x = tf.ones([4])
    message = (
        rf"Gather cannot be applied to \({shapes}\) in .*the index \d is not in"
        rf".*{_line(where, '# the line')}"
    )
    with tf.GradientTape() as recording:
        if tape:
            recording.watch(x)
        with pytest.raises(InvalidArgumentError, match=message) as caught:
            f(x, tf.constant(7))
    assert caught.value.op == "Gather"
    assert "Non-zero status" not in str(caught.value)


def test_the_iteration_that_fails_tells_the_shapes():
    def shrinking(x, y):
        for _ in tf.range(5):
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(x, tf.TensorShape([None, None]))]
            )
            x = tf.matmul(x, y)[1:]
            y = tf.reshape(y, [3, -1])  # the line
        return x

    shape = tf.TensorSpec([None, None])
    f = tf.function(shrinking, input_signature=[shape, shape])
    where = _line(shrinking, "# the line")
    with pytest.raises(InvalidArgumentError, match=rf"Reshape .*float32\[4, 4\].*{where}"):
        f(tf.ones([4, 4]), tf.ones([4, 4]))


def test_a_frozen_variable_in_a_loop():
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def f(i):
        total = 0.0
        for k in tf.range(i):
            total += tf.gather(v, k)
        return total

    for _ in range(20):
        f(tf.constant(2))
    with pytest.raises(InvalidArgumentError, match=r"Gather cannot .*\(float32\[2\], int32\[\]\)"):
        f(tf.constant(5))


def test_prints_before_a_failing_loop_still_happen(capsys):
    @tf.function
    def f(x, n):
        tf.print("before", output_stream=sys.stdout)
        for k in tf.range(n):
            x += tf.gather(x, [k, k])
        return x

    with pytest.raises(InvalidArgumentError, match="Gather cannot be applied"):
        f(tf.ones([2]), tf.constant(5))
    assert capsys.readouterr().out == "before\n"
