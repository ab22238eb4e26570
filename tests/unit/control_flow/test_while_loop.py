"""``tf.while_loop``: TensorFlow's semantics, state, shapes, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf


def test_counting(run):
    f = lambda n: tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), (0, 0))  # noqa: E731
    i, s = run(f, tf.constant(5))
    assert (int(i), int(s)) == (5, 10)


@pytest.mark.parametrize("kind", [list, tuple])
def test_the_structure_is_that_of_loop_vars(run, kind):
    def f(n):
        return tf.while_loop(
            lambda i, d: i < n, lambda i, d: [i + 1, {"x": d["x"] * 2}], kind([0, {"x": 1.0}])
        )

    result = run(f, tf.constant(3))
    assert type(result) is kind
    assert float(result[1]["x"]) == 8.0


def test_a_single_variable_may_come_back_alone(run):
    assert int(run(lambda n: tf.while_loop(lambda i: i < n, lambda i: i + 1, [0]), 3)[0]) == 3


@pytest.mark.parametrize("limit", [0, 2, 99])
def test_maximum_iterations(run, limit):
    f = lambda n: tf.while_loop(lambda i: i < 5, lambda i: (i + 1,), (0,), maximum_iterations=n)  # noqa: E731
    assert int(run(f, tf.constant(limit))[0]) == min(limit, 5)


def test_no_iteration(run):
    f = lambda x: tf.while_loop(lambda x: x > 10.0, lambda x: (x * 2.0,), (x,))  # noqa: E731
    assert float(run(f, tf.constant(3.0))[0]) == 3.0


def test_variables_are_carried(run):
    total, last, untouched = tf.Variable(0.0), tf.Variable(-1), tf.Variable(7.0)

    def f(n):
        def body(i):
            total.assign_add(tf.cast(i, tf.float32) * untouched)
            last.assign(i)
            return (i + 1,)

        tf.while_loop(lambda i: total < 60.0, body, (0,), maximum_iterations=n)
        return total + 1.0

    assert float(run(f, tf.constant(9))) == 71.0
    assert (total.numpy(), last.numpy()) == (70.0, 4)
    total.assign(0.0)
    run(f, tf.constant(0))
    assert (total.numpy(), last.numpy()) == (0.0, 4)


def test_a_variable_whose_shape_grows(run):
    v = tf.Variable(tf.zeros([0]), shape=tf.TensorShape([None]))

    def f(n):
        def body(i):
            v.assign(tf.concat([v, [tf.cast(i, tf.float32)]], 0))
            return (i + 1,)

        tf.while_loop(lambda i: i < n, body, (0,))

    run(f, tf.constant(3))
    np.testing.assert_array_equal(v.numpy(), [0, 1, 2])


def test_called_functions_and_effects_in_order(run, capsys):
    v = tf.Variable(0)

    @tf.function
    def step(x):
        v.assign_add(1)
        tf.print("step", v.value())
        return x * 2

    f = lambda: tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, step(x)), (0, 1))[1]  # noqa: E731
    assert int(run(f)) == 8
    assert capsys.readouterr().err.split("\n")[:3] == ["step 1", "step 2", "step 3"]


def test_a_tape_inside_of_the_body(run):
    def descend(x):
        def body(i, x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                loss = tf.reduce_sum((x - 3.0) ** 2.0)
            return i + 1, x - 0.25 * tape.gradient(loss, x)

        return tf.while_loop(lambda i, _: i < 40, body, (0, x))[1]

    np.testing.assert_allclose(run(descend, tf.constant([0.0, 9.0])).numpy(), [3.0, 3.0], rtol=1e-5)


def test_shapes_may_vary_where_stated(run):
    def f(x):
        return tf.while_loop(
            lambda x: tf.size(x) < 20,
            lambda x: (tf.concat([x, x], 0),),
            (x,),
            shape_invariants=(tf.TensorShape([None]),),
        )[0]

    assert run(f, tf.ones([3])).shape == [24]


def test_dimensions_of_unknown_size_may_vary():
    @tf.function(input_signature=[tf.TensorSpec([None])])
    def f(x):
        y = tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, tf.concat([x, x], 0)), (0, x))[1]
        same = tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, x * 2.0), (0, x))[1]
        return y, same

    assert [y.shape.as_list() for y in f(tf.ones([3]))] == [[12], [3]]


def _refused(body, given, **options):
    return tf.function(lambda: tf.while_loop(lambda *_: True, body, given, **options))()


@pytest.mark.parametrize(
    ("body", "given", "error", "text"),
    [
        (lambda x: tf.concat([x, x], 0), [tf.ones([1])], ValueError, r"\(1,\).*\(2,\).*shape_inva"),
        (lambda x: x[None], [tf.ones([])], ValueError, "shape_invariants"),
        (lambda x: tf.cast(x, tf.int32), [1.0], TypeError, "float32.*int32.*dtype must not change"),
        (lambda x: (x, x), [1.0], ValueError, "must return the structure"),
        (lambda x, y: [x, (y,)], [1.0, 2.0], ValueError, "must return the structure"),
        (lambda x: [None], [1.0], TypeError, "None after one iteration"),
        (lambda x: [1.0], [None], TypeError, "None before the loop"),
    ],
)
def test_what_must_not_change(body, given, error, text):
    with pytest.raises(error, match=text) as caught:
        _refused(body, given)
    assert "test_while_loop.py:" in str(caught.value)


def test_refusals():
    with pytest.raises(TypeError, match="'cond' must be callable"):
        tf.while_loop(1, lambda x: x, [1])
    with pytest.raises(TypeError, match="'body' must be callable"):
        tf.while_loop(lambda x: x, 1, [1])
    with pytest.raises(TypeError, match="must be a list or tuple"):
        tf.while_loop(lambda x: x, lambda x: x, tf.constant(1))
    with pytest.raises(ValueError, match="must not be empty"):
        tf.while_loop(lambda: True, lambda: None, [])
    with pytest.raises(ValueError, match="shape_invariants must have the structure"):
        _refused(lambda x, y: (x, y), [1.0, 2.0], shape_invariants=[tf.TensorShape([])])
    with pytest.raises(ValueError, match=r"shape \(3,\).*\(2,\) after one iteration"):
        _refused(lambda x: tf.ones([2]), [tf.ones([4])], shape_invariants=[tf.TensorShape([3])])
    with pytest.raises(TypeError, match="maximum_iterations must be an integer"):
        _refused(lambda x: x, [1.0], maximum_iterations=tf.constant(1.5))


@pytest.mark.parametrize(("times", "last"), [(0, 5), (1, [0, 0, 0]), (3, [2, 2, 2])])
def test_stated_shapes_hold_from_the_first_result_of_the_body_on(times, last):
    """Samplers begin with a placeholder of another shape, which their body never reads."""

    @tf.function
    def f(n):
        return tf.while_loop(
            lambda i, _: i < n,
            lambda i, _: (i + 1, tf.fill([3], i)),
            (0, tf.constant(5)),
            shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
        )[1]

    assert f(tf.constant(times)).numpy().tolist() == last


def test_a_body_keeps_the_other_shape_that_a_variable_enters_with():
    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            _, y = tf.while_loop(
                lambda i, _: i < 2,
                lambda i, s: (i + 1, tf.reduce_sum(s) * x * tf.ones([3])),
                (0, x),
                shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
            )
        same = tf.while_loop(
            lambda i, _: i < 2,
            lambda i, s: (i + 1, s * 2.0),
            (0, tf.ones([2])),
            shape_invariants=(tf.TensorShape([]), tf.TensorShape([3])),
        )[1]
        return y, tape.gradient(y, x), same

    y, slope, same = f(tf.constant(2.0))
    assert y.numpy().tolist() == [24.0] * 3  # 3 x^3
    assert float(slope) == 108.0  # three times 9 x^2
    assert same.numpy().tolist() == [4.0, 4.0]


def test_a_tensor_of_the_body_cannot_be_used_outside():
    kept = []

    def f():
        tf.while_loop(lambda i: i < 3, lambda i: kept.append(i) or i + 1, (0,))
        return kept[0] + 1

    with pytest.raises(tf.errors.InvalidArgumentError, match="branch or loop body"):
        tf.function(f)()


def test_back_prop_false():
    x = tf.constant(2.0)
    f = tf.function(
        lambda x: tf.while_loop(
            lambda i, y: i < 2, lambda i, y: (i + 1, y * x), (0, x), back_prop=False
        )[1]
    )
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert y.numpy() == 8.0
    assert tape.gradient(y, x) is None


def test_the_condition_is_evaluated_inside_the_loop():
    """A hand-written ONNX Loop: the body's nodes and the condition, nothing more."""
    f = tf.function(
        lambda n: tf.while_loop(lambda i, x: x > n, lambda i, x: (i + 1, x * 0.5), (0, 1.0))[1]
    )
    nodes = f.get_concrete_function(tf.constant(3.0)).graph.graph.nodes
    assert [n.op for n in nodes] == ["Greater", "Loop"]
    assert sorted(n.op for n in nodes[1].attrs["body"].nodes) == ["Add", "Greater", "Mul"]


def test_only_what_the_gradient_needs_is_kept():
    """Of ``sin(y) * v`` the backward loop needs ``y`` alone, or what is as good."""
    v = tf.Variable(2.0)

    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, tf.sin(y) + v), (0, x))[1]
        return tape.gradient(y, x)

    loops = [
        n for n in f.get_concrete_function(tf.constant(1.0)).graph.graph.nodes if n.op == "Loop"
    ]
    assert len(loops) == 2
    assert len(loops[0].outputs) == 2  # y, and one value of each iteration


def test_shape_invariants_of_structures():
    @tf.function
    def f(x):
        def body(i, state):
            return i + 1, {"b": tf.concat([state["b"], [1.0]], 0), "a": [state["a"][0] * 2.0]}

        invariants = (tf.TensorShape([]), {"b": tf.TensorShape([None]), "a": [tf.TensorShape([])]})
        return tf.while_loop(
            lambda i, _: i < 3, body, (0, {"b": x, "a": [1.0]}), shape_invariants=invariants
        )[1]

    state = f(tf.zeros([2]))
    np.testing.assert_array_equal(state["b"].numpy(), [0, 0, 1, 1, 1])
    assert float(state["a"][0]) == 8.0


def test_limits_are_checked_eagerly_and_in_graphs():
    def looped(**options):
        return tf.while_loop(lambda i: i < 9, lambda i: i + 1, [0], **options)[0]

    for run in (looped, tf.function(looped)):
        assert int(run(maximum_iterations=[3])) == 3
        with pytest.raises(TypeError, match=r"integer scalar; got 2\.5"):
            run(maximum_iterations=2.5)
        with pytest.raises(ValueError, match=r"integer scalar; got .* of shape"):
            run(maximum_iterations=[1, 2])
        with pytest.raises(TypeError, match="'parallel_iterations' must be a positive integer"):
            run(parallel_iterations=0)


LOOPS = {
    "condition": lambda i: tf.while_loop(lambda j: j < 3, lambda j: [j + 1], [i]),
    "captured": lambda i: tf.while_loop(lambda j: j < i, lambda j: [j + 1], [0]),
    "count": lambda i: tf.while_loop(lambda j: j < 4, lambda j: [j + 1], [0], maximum_iterations=i),
    "later": lambda i: tf.while_loop(
        lambda j: tf.size(j) < 4,
        lambda j: [j[1:]],
        [i],
        shape_invariants=[tf.TensorShape(None)],
        maximum_iterations=i[:0],
    ),
}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_a_condition_or_a_count_without_elements(loop):
    # ONNX Runtime 1.31 reads the element that there is not, and ends the process.
    signature = [tf.TensorSpec(None, tf.int32)]
    f = tf.function(loop, autograph=False, input_signature=signature)
    with pytest.raises(tf.errors.InvalidArgumentError):
        f(tf.zeros([0], tf.int32))
