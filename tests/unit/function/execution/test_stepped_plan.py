"""Plans of several steps: host calls in program order, failures, branches and loops, devices."""

from __future__ import annotations

import logging

import numpy as np
import onnxruntime
import pytest

import tfx as tf
from tfx.framework.host_call import host_call
from tfx.function.execution.plan import Plan
from tfx.function.execution.stepped_plan import SessionStep, SteppedPlan, make_plan
from tfx.graph.ir import HOST, Graph, HostCall
from tfx.runtime.values import from_numpy, to_numpy

FLOAT, INT64, BOOL = 1, 7, 9


class Log(list):
    """Records the contents that host calls get."""

    def note(self, *tensors):
        host_call(
            HostCall("note", lambda ts: self.append([t.numpy().tolist() for t in ts])), tensors
        )


def require(condition, message):
    def run(ts):
        if not ts[0].numpy():
            raise tf.errors.InvalidArgumentError(message)

    host_call(HostCall("require", run), [condition])


def through_python(function, x):
    """A host call with a result."""
    call = HostCall("python", lambda ts: [tf.constant(function(ts[0].numpy()))], portable=False)
    return host_call(call, [x], [(x.dtype, x.shape.symbolic)])[0]


def steps_of(f):
    (concrete,) = f.concrete_functions
    return concrete._program.plan.steps


def sessions_of(f):
    return [s for s in steps_of(f) if isinstance(s, SessionStep)]


# Order


def test_host_calls_run_in_program_order_and_see_the_state_of_their_place():
    log, v = Log(), tf.Variable(1.0)

    @tf.function
    def f(x):
        log.note(x)
        y = x * 2.0 + v
        log.note(y)
        v.assign_add(1.0)
        log.note(v.value())
        return y

    for count in range(1, 4):
        assert f(tf.constant(5.0)).numpy() == 10.0 + count
        assert log == [[5.0], [10.0 + count], [1.0 + count]]
        log.clear()


def test_host_calls_without_results_do_not_split_the_session():
    log = Log()

    @tf.function
    def f(x):
        for _ in range(5):
            log.note(x)
            x = x + 1.0
        return x

    assert f(tf.constant(0.0)).numpy() == 5.0
    assert log == [[0.0], [1.0], [2.0], [3.0], [4.0]]
    assert len(sessions_of(f)) == 1


def test_what_python_returns_starts_a_stage():
    log = Log()

    @tf.function
    def f(x):
        y = through_python(lambda a: a * 10, x + 1.0)
        log.note(y)
        return y + x

    assert f(tf.constant([1.0, 2.0])).numpy().tolist() == [21.0, 32.0]
    assert log == [[[20.0, 30.0]]]
    assert len(sessions_of(f)) == 2


def test_called_functions_with_host_calls_are_expanded_each_time():
    log = Log()

    @tf.function
    def inner(x, w):
        log.note(x)
        return x * w

    @tf.function
    def outer(x):
        return inner(x, x) + inner(x + 1.0, tf.constant(10.0))

    assert outer(tf.constant(3.0)).numpy() == 49.0
    assert log == [[3.0], [4.0]]


def test_callees_assign_variables_around_host_calls():
    log, v = Log(), tf.Variable(0.0)

    @tf.function
    def step(x):
        v.assign_add(x)
        log.note(v.value())

    @tf.function
    def twice(x):
        step(x)
        step(x * 2.0)
        return v.value()

    assert twice(tf.constant(1.0)).numpy() == 3.0
    assert log == [[1.0], [3.0]]
    assert v.numpy() == 3.0


def test_a_function_that_returns_nothing_still_acts():
    log = Log()

    @tf.function
    def f(x):
        log.note(x * 2.0)

    assert f(tf.constant(2.0)) is None
    assert log == [[4.0]]


# Failures


def test_an_exception_of_a_host_call_reaches_the_caller_and_changes_nothing():
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        v.assign(x)
        require(x > 0.0, "x must be positive")
        v.assign_add(1.0)

    with pytest.raises(tf.errors.InvalidArgumentError, match="x must be positive"):
        f(tf.constant(-1.0))
    assert v.numpy() == 1.0
    f(tf.constant(3.0))
    assert v.numpy() == 4.0


def test_an_assertion_speaks_before_the_failure_it_guards_against():
    log = Log()

    @tf.function
    def f(x, i):
        log.note(i)
        require(i < tf.size(x), "index too large")
        y = tf.gather(x, i)
        log.note(y)
        return y

    with pytest.raises(tf.errors.InvalidArgumentError, match="index too large"):
        f(tf.constant([1.0, 2.0]), tf.constant(7))
    assert log == [[7]]


def test_effects_after_a_failing_operator_do_not_happen():
    log = Log()

    @tf.function
    def f(x, i):
        log.note(x)
        y = tf.gather(x, i)
        log.note(y)
        return y

    with pytest.raises(tf.errors.InvalidArgumentError, match="Gather") as caught:
        f(tf.constant([1.0, 2.0]), tf.constant(7))
    assert "test_stepped_plan.py" in str(caught.value)
    assert log == [[[1.0, 2.0]]]


# Gradients


def test_effects_happen_once_under_a_tape():
    log = Log()

    @tf.function
    def f(x):
        y = x * x
        log.note(y)
        return y * x

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert tape.gradient(y, x).numpy() == 12.0
    assert log == [[4.0]]


def test_effects_happen_once_with_second_derivatives():
    log = Log()

    @tf.function
    def f(x):
        log.note(x)
        return x * x * x

    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        dy = inner.gradient(y, x)
    assert outer.gradient(dy, x).numpy() == 12.0
    assert log == [[2.0]]


# Variables


def test_a_function_with_effects_freezes_and_thaws():
    log, v = Log(), tf.Variable(2.0)

    @tf.function
    def f(x):
        log.note(v.value())
        return x * v

    for _ in range(20):
        assert f(tf.constant(3.0)).numpy() == 6.0
    assert f.concrete_functions[0]._strategy.freezer.plan is not None
    v.assign(5.0)
    assert f(tf.constant(3.0)).numpy() == 15.0
    assert log == [[2.0]] * 20 + [[5.0]]


# Branches and loops, built by hand


def _note(graph, log, value):
    call = HostCall("note", lambda ts: log.append(ts[0].numpy().tolist()))
    graph.add_node(HOST, (value,), {"call": call}, [])


def _run(graph, *arrays):
    plan = make_plan(graph)
    return [to_numpy(v).tolist() for v in plan.run([from_numpy(np.asarray(a)) for a in arrays])]


def test_only_the_branch_taken_acts():
    log = []
    graph = Graph("f")
    choice, x = graph.add_input("choice", BOOL, ()), graph.add_input("x", FLOAT, (None,))
    double = graph.add_node("Add", (x, x), {}, [(FLOAT, (None,))]).outputs[0]
    then, other = Graph("then", graph), Graph("else", graph)
    _note(then, log, double)
    then.outputs = list(then.add_node("Neg", (double,), {}, [(FLOAT, (None,))]).outputs)
    other.outputs = [x]
    attrs = {"then_branch": then, "else_branch": other}
    result = graph.add_node("If", (choice,), attrs, [(FLOAT, (None,))])
    graph.outputs = list(result.outputs)
    x0 = np.array([1.0, 2.0], np.float32)
    assert _run(graph, True, x0) == [[-2.0, -4.0]]
    assert log == [[2.0, 4.0]]
    assert _run(graph, False, x0) == [[1.0, 2.0]]
    assert log == [[2.0, 4.0]]


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_loop_acts_in_each_iteration(count):
    log = []
    graph = Graph("f")
    limit, x = graph.add_input("limit", INT64, ()), graph.add_input("x", FLOAT, ())
    step = graph.add_constant(np.array(3.0, np.float32), FLOAT)
    body = Graph("body", graph)
    body.add_input("i", INT64, ())
    going = body.add_input("going", BOOL, ())
    carried = body.add_input("carried", FLOAT, ())
    new = body.add_node("Add", (carried, step), {}, [(FLOAT, ())]).outputs[0]
    _note(body, log, new)
    body.outputs = [going, new, new]
    types = [(FLOAT, ()), (FLOAT, (None,))]
    loop = graph.add_node("Loop", (limit, None, x), {"body": body}, types)
    graph.outputs = list(loop.outputs)
    expected = [1.0 + 3.0 * (i + 1) for i in range(count)]
    assert _run(graph, np.int64(count), np.float32(1.0)) == [1.0 + 3.0 * count, expected]
    assert log == expected


# Compiling


def test_an_ordinary_graph_is_one_session():
    @tf.function
    def f(x):
        return x + 1.0

    f(tf.constant(1.0))
    assert isinstance(f.concrete_functions[0]._program.plan, Plan)


def test_unused_results_of_pure_host_calls_are_dropped():
    calls = []

    @tf.function
    def f(x):
        call = HostCall("pure", lambda ts: calls.append(ts) or [ts[0]], effect=False)
        host_call(call, [x], [(x.dtype, x.shape.symbolic)])
        return x + 1.0

    assert f(tf.constant(1.0)).numpy() == 2.0
    plan = f.concrete_functions[0]._program.plan
    assert isinstance(plan, SteppedPlan)
    assert len(plan.steps) == 1
    assert calls == []


# Saving


def test_portable_host_calls_are_dropped_with_one_warning(caplog):
    log = Log()

    @tf.function
    def inner(x):
        log.note(x)
        return x * 2.0

    @tf.function
    def f(x):
        log.note(x)
        return inner(x) + 1.0

    concrete = f.get_concrete_function(tf.TensorSpec([2]))
    with caplog.at_level(logging.WARNING, "tfx"):
        model = concrete.as_onnx()
    (record,) = caplog.records
    assert record.getMessage().count("note [test_stepped_plan.py:") == 1  # both are of that line
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (name,) = [i.name for i in session.get_inputs()]
    (result,) = session.run(None, {name: np.array([1.0, 2.0], np.float32)})
    assert result.tolist() == [3.0, 5.0]
    assert log == []


def test_python_that_results_depend_on_is_refused_by_name(tmp_path):
    @tf.function(input_signature=[tf.TensorSpec([2])])
    def f(x):
        return through_python(np.negative, x)

    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"'f' calls python.*test_stepped_plan\.py"
    ):
        f.get_concrete_function().as_onnx()
    module = tf.Module()
    module.f = f
    with pytest.raises(tf.errors.InvalidArgumentError, match="calls python"):
        tf.saved_model.save(module, str(tmp_path / "bundle"))
    assert not (tmp_path / "bundle").exists()
