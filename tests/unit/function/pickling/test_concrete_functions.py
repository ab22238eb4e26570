"""Pickling functions: by name, or with their traces and variables; into other processes too."""

from __future__ import annotations

import copy
import io
import multiprocessing
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings

import tfx as tf
from tests.unit.function.programs import VARIABLES, Machine, StopError, programs
from tests.unit.kernels.fused_graphs import needs_library
from tfx.core.errors import InvalidArgumentError


def clone(x, protocol=pickle.HIGHEST_PROTOCOL):
    return pickle.loads(pickle.dumps(x, protocol))


@tf.function
def at_the_top(x):
    return x + 1.0


def local_functions():
    """A local function with every kind of state, and its variable."""
    v = tf.Variable([2.0], name="v")

    @tf.custom_gradient
    def odd(x):
        return x * 3.0, lambda dy: dy * 7.0

    inner = tf.function(lambda x: tf.sin(x))

    @tf.function
    def local(x, scale=2.0, *, flag=True):
        """Documented."""
        v.assign_add([1.0])
        y = odd(x) * v if flag else x
        return {"y": y, "rest": [inner(x) * scale, None]}

    return v, local


def test_by_name():
    assert clone(at_the_top) is at_the_top
    assert b"at_the_top" in pickle.dumps(at_the_top)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_local_functions_carry_traces_and_variables(protocol):
    v, f = local_functions()
    x = tf.constant([0.5])
    f(x)
    w, g = clone((v, f), protocol)
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = g(x)
    np.testing.assert_allclose(found["y"], [0.5 * 3 * 4])
    np.testing.assert_allclose(found["rest"][0], np.sin([0.5]) * 2, rtol=1e-6)
    assert found["rest"][1] is None
    np.testing.assert_array_equal(w, [4.0])  # shared with what was pickled beside the function
    np.testing.assert_array_equal(v, [3.0])
    np.testing.assert_allclose(tape.gradient(found["y"], x), [7.0 * 4.0])
    assert (g.name, g.__doc__) == ("local", "Documented.")
    assert len(g.concrete_functions) == 1
    np.testing.assert_allclose(clone(g)(x)["y"], [0.5 * 3 * 5])


@needs_library
@pytest.mark.parametrize("jit_compile", [None, False])
def test_whether_operators_run_together_travels(jit_compile):
    local = tf.function(lambda x: tf.exp(x) + tf.tanh(x) * 2.0, jit_compile=jit_compile)
    x = tf.ones([50, 50])
    local(x)
    for function in (local, clone(local), clone(local.get_concrete_function(x))):
        function(x)
        with tf.profile() as p:
            function(x)
        assert ("Exp" in {node.op for node in p.nodes}) == (jit_compile is False)


def test_traces_are_chosen_by_their_arguments():
    f = tf.function(lambda x, n=1, *, flag=False: x * n if flag else x + n)
    f(tf.constant(1.0))
    f(tf.constant(1.0), 5, flag=True)
    f(tf.ones([3]), 2)
    g = clone(f)
    assert float(g(tf.constant(1.0))) == 2.0
    assert float(g(tf.constant(3.0), flag=True, n=5)) == 15.0
    np.testing.assert_array_equal(g(tf.ones([3]), 2), np.full(3, 3.0))
    assert float(g.get_concrete_function(tf.TensorSpec([]))(tf.constant(1.0))) == 2.0
    with pytest.raises(InvalidArgumentError, match="pickled without its Python code") as caught:
        g(tf.ones([4]))
    assert "expected shape (3,)" in str(caught.value)
    with pytest.raises(InvalidArgumentError, match="has 3 traces"):
        g.get_concrete_function(tf.TensorSpec([7, 7]))
    outer = tf.function(lambda x: g(x) * 2.0)
    assert float(outer(tf.constant(1.0))) == 4.0


def test_what_has_no_traces_is_left_to_the_pickler():
    f = tf.function(lambda x: x)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(f)
    assert len(f.concrete_functions) == 0

    class ByValue(pickle.Pickler):
        """What libraries do that pickle code: local functions by something of their own."""

        def reducer_override(self, thing):
            if getattr(thing, "__name__", "") == "<lambda>" and not isinstance(thing, type(f)):
                return getattr, (int, "bit_length")
            return NotImplemented

    buffer = io.BytesIO()
    ByValue(buffer).dump(f)
    assert pickle.loads(buffer.getvalue()).python_function is int.bit_length


@settings(max_examples=25)
@given(programs())
def test_random_programs_compute_the_same_with_the_same_derivatives(program):
    machine = Machine(program, True)
    f = machine._functions[-1]
    x = tf.constant(np.array([1.5, -0.5]))

    def run(function, variables):
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = function(x, False) * variables[0]
        found = tape.gradient(z, [x, *variables[:VARIABLES], variables[-1]])
        return [z, *[tf.zeros([]) if g is None else g for g in found], *variables]

    with np.errstate(all="ignore"):
        try:
            f(x, False)
        except StopError:
            return
        variables, g = clone((machine.variables, f))
        for ours, expected in zip(run(g, variables), run(f, machine.variables), strict=True):
            np.testing.assert_array_equal(ours, expected)


def test_input_signatures():
    f = tf.function(lambda x: x * 2.0, input_signature=[tf.TensorSpec([None], tf.float32)])
    f(tf.ones([2]))
    g = clone(f)
    np.testing.assert_array_equal(g([1.0, 2.0, 3.0]), [2.0, 4.0, 6.0])
    assert g.input_signature == f.input_signature
    assert g.get_concrete_function().structured_input_signature[0][0].shape.as_list() == [None]


def test_concrete_functions():
    v, f = local_functions()
    c = f.get_concrete_function(tf.TensorSpec([None]), flag=True)
    d = clone(c)
    for _ in range(2):
        np.testing.assert_allclose(d(tf.constant([0.5]))["y"], c(tf.constant([0.5]))["y"])
    assert d.pretty_printed_signature() == c.pretty_printed_signature()
    assert [n.op for n in d.graph.graph.nodes] == [n.op for n in c.graph.graph.nodes]
    assert d.as_onnx() == c.as_onnx()
    assert d.variables[0] is not v
    assert d.variables[0].name == v.name


def test_constants_that_tapes_watch():
    constant = tf.constant([3.0])
    c = tf.function(lambda x: x * constant).get_concrete_function(tf.TensorSpec([1]))
    d = clone(c)
    assert float(d(tf.constant([2.0]))[0]) == 6.0


def test_control_flow_and_long_graphs():
    @tf.function
    def f(x):
        for _ in range(2000):
            x = x * 1.0001
        return x

    x = tf.constant([1.0])
    np.testing.assert_array_equal(clone(f.get_concrete_function(x))(x), f(x))
    g = tf.function(lambda a: tf.cond(tf.reduce_sum(a) > 0, lambda: tf.exp(a), lambda: -a))
    h = clone(g.get_concrete_function(x))
    for value in ([1.0], [-1.0]):
        np.testing.assert_array_equal(h(tf.constant(value)), g(tf.constant(value)))


def test_variables_that_nested_functions_assign():
    v = tf.Variable(1.0)
    inner = tf.function(lambda x: v.assign_add(x))
    outer = tf.function(lambda x: (inner(x), v * 2.0)[1])
    x = tf.constant(1.0)
    assert float(outer(x)) == 4.0
    w, f = clone((v, outer))
    with tf.GradientTape() as tape:
        y = f(x)
    assert float(y) == 6.0
    assert float(w) == 3.0
    assert float(tape.gradient(y, w)) == 2.0


def test_what_only_python_can_do_is_left_out_or_refused(caplog, capsys):
    def local():
        def show(x):
            tf.print("x is", x)
            return x + 1.0

        def call(x):
            return tf.py_function(lambda a: a * 2.0, [x], tf.float32)

        return tf.function(show), tf.function(call)

    shows, calls = local()
    x = tf.constant(1.0)
    shows(x)
    calls(x)
    with caplog.at_level("WARNING", "tfx"):
        f = clone(shows)
    assert "'show' is saved without what only Python can do" in caplog.text
    capsys.readouterr()
    assert float(f(x)) == 2.0
    assert capsys.readouterr() == ("", "")
    with pytest.raises(InvalidArgumentError, match="py_function"):
        pickle.dumps(calls)


def test_what_python_does_in_custom_gradients_is_left_out_or_refused(caplog):
    def custom(effect):
        def double(x):
            def grad(dy):
                return effect(dy) * 7.0

            return x * 2.0, grad

        operation = tf.custom_gradient(double)
        return tf.function(lambda x: operation(x))

    def shown(dy):
        tf.print("dy is", dy)
        return dy

    shows = custom(shown)
    calls = custom(lambda dy: tf.numpy_function(lambda a: a, [dy], tf.float32))
    x = tf.constant(1.0)
    shows(x)
    calls(x)
    with caplog.at_level("WARNING", "tfx"), tf.GradientTape() as tape:
        tape.watch(x)
        y = clone(shows)(x)
    assert "without what only Python can do: print dy is" in caplog.text
    assert float(tape.gradient(y, x)) == 7.0
    with pytest.raises(InvalidArgumentError, match="numpy_function"):
        pickle.dumps(calls)


def test_modules_share_variables_with_their_functions():
    m = tf.Module()
    m.v = tf.Variable(1.0)
    m.f = tf.function(lambda x: x * m.v)
    m.f(tf.constant(2.0))
    other = clone(m)
    other.v.assign(5.0)
    assert float(other.f(tf.constant(2.0))) == 10.0
    assert float(m.f(tf.constant(2.0))) == 2.0


def test_a_function_inside_a_trace_cannot_leave_it():
    seen = []

    @tf.function
    def outer(x):
        seen.append(tf.function(lambda: x + 1.0).get_concrete_function())
        return x

    outer(tf.constant(1.0))
    with pytest.raises(InvalidArgumentError, match="of the function that it was traced in"):
        pickle.dumps(seen[0])


def test_another_version_is_refused():
    c = tf.function(lambda x: x).get_concrete_function(tf.TensorSpec([]))
    restore, (parts,) = c.__reduce__()
    with pytest.raises(InvalidArgumentError, match="pickle it again"):
        restore({**parts, "version": 99})


def test_copies_are_traced_anew():
    v, f = local_functions()
    f(tf.constant([0.5]))
    g = copy.deepcopy(f)
    assert g.experimental_get_tracing_count() == 0
    assert copy.deepcopy(at_the_top) is at_the_top
    w, c = copy.deepcopy((v, f.get_concrete_function(tf.constant([0.5]))))
    c(tf.constant([0.5]))
    np.testing.assert_array_equal(w, v + 1.0)


@pytest.mark.parametrize("copied", [clone, copy.deepcopy])
def test_values_and_state(copied):
    x = tf.constant([[1, 2], [3, 4]], tf.int16)
    y = copied(x)
    assert y.dtype is tf.int16
    np.testing.assert_array_equal(x, y)
    spec = tf.TensorSpec([None, 3], tf.string, name="s")
    assert copied(spec) == spec
    v = tf.Variable([1.0, 2.0], trainable=False, name="w", shape=[None])
    w = copied(v)
    assert (w.name, w.trainable, w.shape.as_list()) == ("w:0", False, [None])
    w.assign([5.0])
    np.testing.assert_array_equal(v, [1.0, 2.0])
    generator = tf.random.Generator.from_seed(5)
    generator.normal([3])
    np.testing.assert_array_equal(copied(generator).normal([4]), generator.normal([4]))
    optimizer = tf.optimizers.Adam(0.1)
    optimizer.apply_gradients([(tf.constant([1.0, 1.0]), tf.Variable([1.0, 2.0]))])
    assert int(copied(optimizer).iterations) == 1


def test_into_spawned_processes():
    scale = tf.Variable(3.0)
    f = tf.function(lambda x: x * x * scale)
    x = tf.constant([2.0])
    f(x)
    program = (
        "import pickle, sys\n"
        "f, x, at = pickle.load(sys.stdin.buffer)\n"
        "import tfx as tf\n"
        "pickle.dump((f(x), f.variables, at), sys.stdout.buffer)\n"
    )
    # A process that knows nothing of this module, as a spawned worker of a pool does not.
    spec = tf.TensorSpec([1])
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps((f, x, spec)),
        capture_output=True,
        check=True,
    )
    y, (variable,), back = pickle.loads(done.stdout)
    assert float(y[0]) == 12.0
    assert float(variable) == 3.0
    assert back == spec


@pytest.mark.slow
def test_a_pool_of_spawned_processes():
    f = tf.function(lambda x: x * x * 3.0)
    f(tf.constant([1.0]))
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        found = pool.map_async(_call, [(f, float(n)) for n in range(4)]).get(120)
    assert found == [3.0 * n * n for n in range(4)]


def _call(pair):
    f, n = pair
    return float(f(tf.constant([n]))[0])
