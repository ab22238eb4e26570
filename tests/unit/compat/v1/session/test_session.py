"""Sessions: fetches, feeds, the memory of variables, errors, order."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfx
import tfx.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


class Point(NamedTuple):
    x: Any
    y: Any


def test_fetches_of_any_structure() -> None:
    a, b = tf.constant(1.0), tf.constant([2, 3])
    nothing = tf.no_op()
    with tf.Session() as session:
        assert session.run(a) == 1.0
        assert type(session.run(a)) is np.float32
        assert session.run([a, nothing]) == [1.0, None]
        found = session.run({"p": Point(a, (b, [nothing])), "q": a})
        assert isinstance(found["p"], Point)
        np.testing.assert_array_equal(found["p"].y[0], [2, 3])
        assert found["p"].y[1] == [None]
        assert session.run([]) == []
        assert session.run(nothing) is None


def test_gradients_of_a_few_rows() -> None:
    table = tf.get_variable("table", initializer=tf.reshape(tf.range(8.0), [4, 2]))
    rows = tf.placeholder(tf.int32, [None])
    loss = tf.reduce_sum(tf.gather(table, rows) ** 2)
    (gradient,) = tf.gradients(loss, table)
    step = tf.train.AdagradOptimizer(0.5).minimize(loss)
    assert isinstance(gradient, tf.IndexedSlices)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values, indices, form = session.run(gradient, {rows: [1, 1]})
        assert values.tolist() == [[4.0, 6.0], [4.0, 6.0]]
        assert (indices.tolist(), form.tolist()) == ([1, 1], [4, 2])
        session.run(step, {rows: [1, 1]})
        # As TensorFlow 2.21 computes them.
        np.testing.assert_allclose(session.run(table)[1], [1.50039, 2.5001736], rtol=1e-6)


def test_fetches_by_name_are_tensors_or_operations() -> None:
    x = tf.placeholder(tf.float32, name="x")
    tf.square(x, name="y")
    with tf.Session() as session:
        assert session.run("y:0", {"x:0": 3.0}) == 9.0
        assert session.run("y", {x: 3.0}) is None


@pytest.mark.parametrize(
    ("fetch", "error", "message"),
    [
        (None, TypeError, "Cannot be None"),
        ([None], TypeError, "Cannot be None"),
        (3, TypeError, "must be a string or Tensor"),
        ("nope:0", ValueError, "does not exist in the graph"),
        ("nope", ValueError, "refers to an Operation not in the graph"),
        ("c:1", ValueError, "only has 1 outputs"),
    ],
)
def test_wrong_fetches_are_refused(fetch: Any, error: type[Exception], message: str) -> None:
    tf.constant(1.0, name="c")
    with tf.Session() as session, pytest.raises(error, match=message):
        session.run(fetch)


def test_an_element_of_another_graph_is_refused() -> None:
    mine = tf.constant(1.0)
    with tf.Graph().as_default():
        other, variable = tf.constant(1.0), tf.Variable(1.0)
    with tf.Session() as session:
        for fetch in (other, variable):
            with pytest.raises(ValueError, match="cannot be interpreted as a Tensor"):
                session.run(fetch)
        with pytest.raises(TypeError, match="Cannot interpret feed_dict key"):
            session.run(mine, {other: 1.0})
    with pytest.raises(ValueError, match="must be from the same graph"):
        mine + other


def test_any_tensor_can_be_fed_and_what_it_is_made_of_is_not_run() -> None:
    x = tf.placeholder(tf.float32)
    middle = x * 2.0
    result = middle + 1.0
    c = tf.constant(7.0)
    with tf.Session() as session:
        assert session.run(result, {middle: 10.0}) == 11.0
        assert session.run([c, c + result], {c: 1.0, x: 0.0}) == [1.0, 2.0]
        assert session.run(x, {x: [1.0]}).tolist() == [1.0]


def test_one_of_several_outputs_can_be_fed() -> None:
    a, b = tf.split(tf.constant([1.0, 2.0]), 2)
    with tf.Session() as session:
        found = session.run([a, b, a + b], {a: [5.0]})
    assert [x.tolist() for x in found] == [[5.0], [2.0], [7.0]]


def test_feeds_are_converted_as_numpy_does() -> None:
    i, s = tf.placeholder(tf.int32, []), tf.placeholder(tf.string)
    b = tf.placeholder(tf.bfloat16)
    with tf.Session() as session:
        assert session.run(i, {i: 1.7}) == 1
        assert session.run(s, {s: ["a", b"b"]}).tolist() == [b"a", b"b"]
        assert float(session.run(b, {b: 1.5})) == 1.5
        assert session.run(i, {i: np.int64(4)}) == 4


@pytest.mark.parametrize(
    ("key", "value", "error", "message"),
    [
        ("p:0", [1, 2, 3], ValueError, r"Cannot feed value of shape \(3,\) for Tensor p:0, which"),
        ("p:0", "abc", ValueError, "could not convert"),
        ("q:0", 1.0, TypeError, "Cannot interpret feed_dict key as Tensor"),
        ("p", 1.0, TypeError, "refers to an Operation, not a Tensor"),
        (None, 1.0, TypeError, "Can not convert a NoneType into a Tensor"),
        (3, 1.0, TypeError, "Can not convert a int into a Tensor"),
        ("i:0", 2**40, TypeError, "larger type"),
    ],
)
def test_wrong_feeds_are_refused(
    key: Any, value: Any, error: type[Exception], message: str
) -> None:
    p = tf.placeholder(tf.float32, [2], name="p")
    tf.placeholder(tf.int32, name="i")
    with tf.Session() as session, pytest.raises(error, match=message):
        session.run(p, {key: value})


def test_a_tensor_is_no_value_to_feed() -> None:
    p, x = tf.placeholder(tf.float32), tf.constant(1.0)
    with tf.Session() as session, pytest.raises(TypeError, match=r"cannot be a tf\.Tensor object"):
        session.run(p, {p: x})
    with tf.Session() as session, pytest.raises(TypeError, match="must be a dict"):
        session.run(p, [(p, 1.0)])


def test_a_placeholder_that_is_needed_must_be_fed() -> None:
    p = tf.placeholder(tf.float32, [2, None], name="p")
    other = tf.constant(1.0) + 1.0
    message = r"must feed a value for placeholder tensor 'p' with dtype float32 and shape \[2, None"
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(p * 2.0)
        assert session.run(other) == 2.0


def test_variables_have_the_memory_of_their_session() -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    add = v.assign_add([1.0, 1.0])
    one, two = tf.Session(), tf.Session()
    one.run(v.initializer)
    one.run(add)
    two.run(v.initializer)
    assert one.run(v).tolist() == [2.0, 3.0]
    assert two.run(v).tolist() == [1.0, 2.0]
    assert tf.Session().run(tf.is_variable_initialized(v)) == np.False_


def test_reading_before_the_initializer_names_the_variable() -> None:
    v = tf.Variable(1.0, name="speed")
    w = tf.Variable(1.0, name="other")
    with tf.Session() as session:
        for fetch in (v, v + 1.0, v.assign_add(1.0)):
            with pytest.raises(
                tf.errors.FailedPreconditionError, match="uninitialized value speed"
            ):
                session.run(fetch)
        session.run(w.initializer)
        assert session.run(tf.report_uninitialized_variables()).tolist() == [b"speed"]
        # An assignment needs no value before.
        assert session.run(v.assign(5.0)) == 5.0
        assert session.run(tf.report_uninitialized_variables()).tolist() == []


def test_questions_about_variables_see_what_the_run_did_before() -> None:
    v = tf.Variable(1.0)
    before = tf.is_variable_initialized(v)
    assigned = v.assign(2.0)
    after = tf.is_variable_initialized(v)
    with tf.Session() as session:
        assert session.run([before, assigned, after]) == [False, 2.0, True]
        assert session.run(before)


def test_initial_values_may_depend_on_other_variables() -> None:
    v = tf.Variable(3.0)
    w = tf.Variable(v.initialized_value() * 2.0)
    u = tf.Variable(lambda: w.value() + 1.0)
    with tf.Session() as session:
        session.run(w.initializer)  # v has no value: its initial value counts
        assert session.run(w) == 6.0
        session.run(tf.global_variables_initializer())
        assert session.run([v, w, u]) == [3.0, 6.0, 7.0]
        session.run(v.assign(5.0))
        session.run(w.initializer)
        assert session.run(w) == 10.0


def test_control_dependencies_run_what_is_not_needed_otherwise() -> None:
    count = tf.Variable(0)
    with tf.control_dependencies([count.assign_add(1)]):
        result = tf.constant(2.0) * 3.0
        constant = tf.constant(5.0)
        with tf.control_dependencies(None):
            free = tf.constant(1.0) + 1.0
    with tf.Session() as session:
        session.run(count.initializer)
        session.run(free)
        assert session.run(count) == 0
        session.run(result)
        session.run(constant)
        assert session.run(count) == 2
        session.run([result, constant])  # once in a run
        assert session.run(count) == 3


def test_group_and_tuple() -> None:
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    both = tf.group(v.assign_add(1.0), [w.assign_add(1.0)], name="both")
    assert (both.name, both.type) == ("both", "NoOp")
    c = tf.Variable(0)
    first, second = tf.tuple([v.value(), w.value()], control_inputs=[c.assign_add(1)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(both) is None
        assert session.run([v, w]) == [2.0, 3.0]
        assert session.run(first) == 2.0
        assert session.run(c) == 1
    with pytest.raises(TypeError, match="should be zero or more"):
        tf.group(3)
    with pytest.raises(ValueError, match="Unknown keyword"):
        tf.group(both, nme="x")
    assert second is not None


def test_a_failed_run_changes_nothing() -> None:
    v = tf.Variable([1.0, 2.0])
    x = tf.placeholder(tf.float32)
    add = v.assign_add([1.0, 1.0])
    bad = tf.matmul(x, x)
    with tf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.OpError):
            session.run([add, bad], {x: np.ones((2, 3))})
        assert session.run(v).tolist() == [1.0, 2.0]


def test_random_numbers_are_fresh_in_each_run_and_the_seeds_decide() -> None:
    free = tf.random_normal([3])
    with tf.Session() as session:
        assert not np.array_equal(session.run(free), session.run(free))
        a, b = session.run([free, free])
        np.testing.assert_array_equal(a, b)
    tf.set_random_seed(7)
    x, y = tf.random_uniform([2]), tf.random_uniform([2], seed=3)
    runs = []
    for _ in range(2):
        with tf.Session() as session:
            runs.append([session.run([x, y]), session.run([x, y])])
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0][0], runs[0][1])
    assert not np.array_equal(runs[0][0][0], runs[0][0][1])


def test_default_sessions() -> None:
    v = tf.Variable(2.0)
    y = v * 3.0
    with pytest.raises(ValueError, match="No default session is registered"):
        y.eval()
    with pytest.raises(ValueError, match="No default session is registered"):
        v.initializer.run()
    assert tf.get_default_session() is None
    session = tf.Session()
    with session.as_default():
        assert tf.get_default_session() is session
        v.initializer.run()
        assert y.eval() == 6.0
        assert v.eval() == 2.0
    assert y.eval(session=session, feed_dict={v * 1.0: 0.0}) == 6.0
    interactive = tf.InteractiveSession()
    v.initializer.run()
    assert y.eval() == 6.0
    interactive.close()
    assert tf.get_default_session() is None


def test_load_sets_a_value() -> None:
    v = tf.Variable([1.0])
    with tf.Session() as session:
        v.load([4.0], session)
        assert session.run(v).tolist() == [4.0]


def test_closed_sessions_and_empty_graphs() -> None:
    with pytest.raises(RuntimeError, match="graph is empty"):
        tf.Session().run([])
    x = tf.constant(1.0)
    session = tf.Session()
    session.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(x)
    with pytest.raises(TypeError, match=r"must be a tf.Graph"):
        tf.Session(graph="g")  # type: ignore[arg-type]
    with pytest.raises(tf.errors.InvalidArgumentError, match="no server"):
        tf.Session("grpc://x")


def test_a_session_makes_its_graph_the_default_one() -> None:
    other = tf.Graph()
    with tf.Session(graph=other) as session:
        assert tf.get_default_graph() is other
        assert session.run(tf.constant(1)) == 1
    assert session.graph is other


def test_variables_of_eager_code_are_shared_with_it(graph: Any) -> None:
    with tfx.init_scope():
        outside = tfx.Variable(1.0)
    with graph.as_default():
        add = outside.assign_add(2.0)
    with tf.Session() as session:
        assert session.run(add) == 3.0
        assert session.run(outside) == 3.0
    with tfx.init_scope():
        assert float(outside) == 3.0


def test_functions_in_graphs() -> None:
    v = tf.Variable(1.0)

    @tfx.function
    def step(x):
        v.assign_add(x)
        return v * 10.0

    result = step(tf.constant(2.0))
    again = step(result)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(result) == 30.0
        assert session.run(v) == 3.0
        assert session.run(again) == (5.0 + 50.0) * 10.0


def test_gradients_of_graphs() -> None:
    w = tf.Variable([1.0, 2.0])
    x = tf.placeholder(tf.float32, [2])
    dw, dx = tf.gradients(tf.reduce_sum(w * w * x), [w, x])
    with tf.Session() as session:
        session.run(w.initializer)
        a, b = session.run([dw, dx], {x: [3.0, 4.0]})
    np.testing.assert_allclose(a, [6.0, 16.0])
    np.testing.assert_allclose(b, [1.0, 4.0])


def test_print_and_assert_run_when_they_are_needed(capfd: pytest.CaptureFixture[str]) -> None:
    x = tf.placeholder(tf.float32)
    shown = tf.print("value", x)
    with tf.control_dependencies([shown]):
        y = x * 2.0
    check = tf.debugging.assert_positive(x)
    with tf.Session() as session:
        session.run(x + 1.0, {x: 1.0})
        assert "value" not in capfd.readouterr().err
        session.run(y, {x: 1.5})
        assert "value 1.5" in capfd.readouterr().err
        session.run(check, {x: 1.0})
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(check, {x: -1.0})


def test_run_options_and_metadata() -> None:
    x = tf.placeholder(tf.float32)
    y = tf.matmul(x, x)
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(y, {x: np.ones((3, 3))}, options=options, run_metadata=metadata)
    assert "MatMul" in str(metadata)


def test_make_callable() -> None:
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    with tf.Session() as session:
        add = session.make_callable(x + y, [x, y])
        assert add(1.0, 2.0) == 3.0
        with pytest.raises(TypeError, match="takes 2 values"):
            add(1.0)


def test_many_threads_run_one_session() -> None:
    v = tf.Variable(0)
    add = v.assign_add(1)
    session = tf.Session()
    session.run(v.initializer)
    session.run(add)

    def work() -> None:
        for _ in range(20):
            session.run(add)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.run(v) == 81


@settings(max_examples=15, deadline=None, database=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["assign", "add", "read"]), st.integers(0, 2), st.integers(0, 2)),
        min_size=1,
        max_size=8,
    ),
    st.data(),
)
def test_any_part_runs_in_the_order_of_its_creation(
    program: list[tuple[str, int, int]], data: st.DataObject
) -> None:
    with tf.Graph().as_default():
        variables = [tf.Variable(float(i)) for i in range(3)]
        made = []
        for kind, i, j in program:
            if kind == "assign":
                made.append(variables[i].assign(variables[j] * 2.0 + 1.0))
            elif kind == "add":
                made.append(variables[i].assign_add(variables[j].value()))
            else:
                made.append(variables[i].value() + 0.5)
        chosen = data.draw(st.sets(st.integers(0, len(program) - 1)))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found = session.run([made[k] for k in sorted(chosen)])
            state = session.run(variables)
    values = [0.0, 1.0, 2.0]
    expected = []
    for k in sorted(chosen):
        kind, i, j = program[k]
        if kind == "read":
            expected.append(values[i] + 0.5)
            continue
        values[i] = values[j] * 2.0 + 1.0 if kind == "assign" else values[i] + values[j]
        expected.append(values[i])
    assert found == expected
    assert state == values


def test_a_generator_of_the_program_advances() -> None:
    with tfx.init_scope():
        outside = tfx.random.Generator.from_seed(1)
        same = tfx.random.Generator.from_seed(1)
    x = outside.normal([2])
    with tf.Session() as session:
        found = [session.run(x), session.run(x)]
    with tfx.init_scope():
        np.testing.assert_array_equal(found, [same.normal([2]), same.normal([2])])
        np.testing.assert_array_equal(outside.normal([2]), same.normal([2]))


def test_another_variable_at_an_old_address_is_another_one(graph: Any) -> None:
    with tfx.init_scope():
        first, second = tfx.Variable(1.0), tfx.Variable(2.0)
    tf.no_op()
    with tf.Session() as session:
        assert session.run(first) == 1.0
        node = graph._snapshots[id(first)]
        graph._snapshots[id(second)] = node  # as if the first had been freed
        assert session.run(second) == 2.0
