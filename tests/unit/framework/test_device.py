"""Device scopes: names, nesting and functions, in eager code and inside traces; who lives where.

What TensorFlow 2.21 answers for the same programs is written into the tables by hand.
"""

from __future__ import annotations

import copy
import threading

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import InvalidArgumentError
from tfx.framework.apply import kernel_count
from tfx.framework.context import current
from tfx.runtime.devices import list_physical_devices

LONG = "/job:localhost/replica:0/task:0/device:"
# Before the tests run, as decorators and lambdas do.
pytestmark = pytest.mark.usefixtures("three_cpus")


def where(*scopes):
    """Name the device of a constant made inside scopes."""
    if not scopes:
        return tf.constant(1.0).device.removeprefix(LONG)
    with tf.device(scopes[0]):
        return where(*scopes[1:])


@pytest.mark.parametrize(
    ("scopes", "device"),
    [
        (("/CPU:0",), "CPU:0"),
        (("CPU:1",), "CPU:1"),
        (("cpu:2",), "CPU:2"),
        (("/device:CPU:1",), "CPU:1"),
        (("/job:localhost/CPU:1",), "CPU:1"),
        (("/cpu:1/job:localhost",), "CPU:1"),
        (("/task:0",), "CPU:0"),
        (("/replica:0",), "CPU:0"),
        (("",), "CPU:0"),
        ((None,), "CPU:0"),
        (("CPU",), "CPU:0"),
        (("CPU:*",), "CPU:0"),
        (("CPU:01",), "CPU:1"),
        (("/CPU:1", ""), "CPU:1"),
        (("/CPU:1", None), "CPU:0"),
        (("/CPU:1", "/job:localhost"), "CPU:1"),
        (("/CPU:1", "/task:0"), "CPU:1"),
        (("/CPU:1", "CPU"), "CPU:1"),
        (("CPU:1", "/CPU:2"), "CPU:2"),
        (("CPU:1", "/CPU:0"), "CPU:0"),
        (("/job:localhost", "CPU:1"), "CPU:1"),
        (("/CPU:1", None, "/task:0"), "CPU:0"),
    ],
    ids=str,
)
def test_names_and_nesting(scopes, device):
    assert where(*scopes) == device
    assert where() == "CPU:0"


def test_other_ways_to_name_a_device():
    assert where(tf.DeviceSpec(device_type="CPU", device_index=1)) == "CPU:1"
    assert where(tf.config.list_logical_devices("CPU")[2]) == "CPU:2"


@pytest.mark.parametrize("name", ["foo", "/foo:1", "CPU:x", "CPU:-1", 3, b"/CPU:1", tf.Tensor])
def test_no_devices(name):
    with pytest.raises(ValueError, match=r"device name"):
        tf.device(name)
    assert current().device is None


def test_devices_that_do_not_exist():
    tf.config.set_soft_device_placement(False)
    for name in ("/CPU:9", "TPU:0", "/job:worker/CPU:0"):
        with pytest.raises(InvalidArgumentError, match=rf"available devices: \[{LONG}CPU:0, "):
            where(name)


@pytest.mark.skipif(bool(list_physical_devices("GPU")), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_an_error():
    """Where soft placement is off: never a silent run on the CPU."""
    tf.config.set_soft_device_placement(False)
    with pytest.raises(InvalidArgumentError, match="/GPU:0"), tf.device("/GPU:0"):
        tf.constant(1.0) + 1.0

    @tf.function
    def f(x):
        with tf.device("/GPU:1"):
            return x + 1.0

    with pytest.raises(InvalidArgumentError, match="/GPU:1"):
        f(tf.constant(1.0))


@pytest.mark.skipif(bool(list_physical_devices("GPU")), reason="there is a GPU")
def test_soft_placement(caplog):
    assert tf.config.get_soft_device_placement()
    assert where("/GPU:0") == where("/GPU:0") == where("/CPU:17") == where("/TPU:0") == "CPU:0"
    assert [r.getMessage().split("'")[3] for r in caplog.records] == ["/GPU:0", "/CPU:17", "/TPU:0"]
    with tf.device("/GPU:0"):
        assert tf.Variable(1.0).device.endswith("CPU:0")


def test_the_default_costs_no_second_kernel_and_no_second_trace():
    f = tf.function(lambda x: x + 1)
    x = tf.constant(1)
    f(x)
    x + 1
    before = kernel_count()
    with tf.device("/CPU:0"):
        assert current().device is None
        f(x)
        x + 1
    assert kernel_count() == before
    assert f.experimental_get_tracing_count() == 1


def test_a_scope_can_be_entered_again_and_returns_nothing():
    scope = tf.device("/CPU:1")
    for _ in range(2):
        with scope as entered:
            assert entered is None
            with scope:
                assert where() == "CPU:1"
            assert where() == "CPU:1"
    assert where() == "CPU:0"


def test_scopes_end_with_errors_and_belong_to_their_thread():
    with pytest.raises(KeyError), tf.device("/CPU:1"):
        raise KeyError
    found = []
    with tf.device("/CPU:1"):
        thread = threading.Thread(target=lambda: found.append(where()))
        thread.start()
        thread.join()
    assert found == ["CPU:0"]
    assert where() == "CPU:0"


# Where eager values live


def test_results_live_where_they_were_computed():
    with tf.device("/CPU:1"):
        x = tf.constant([1.0, 2.0])
    assert x.device == x.backing_device == f"{LONG}CPU:1"
    assert (x + 1).device == f"{LONG}CPU:0"
    with tf.device("/CPU:2"):
        assert tf.identity(x).device == f"{LONG}CPU:2"
        assert tf.convert_to_tensor(x) is x
        made = (
            x * x,
            tf.constant(1) + 2,
            tf.reduce_sum(x),
            tf.split(x, 2)[1],
            tf.random.normal([2]),
            tf.zeros([3]),
            tf.convert_to_tensor([1, 2]),
            tf.convert_to_tensor(1.0),
        )
    assert {t.device for t in made} == {f"{LONG}CPU:2"}


def test_contents_are_the_same_everywhere(rng):
    a, b = rng.normal(size=(2, 3, 3)).astype(np.float32)
    expected = a @ b + a
    with tf.device("/CPU:1"):
        product = tf.matmul(a, b)
    with tf.device("/CPU:2"):
        np.testing.assert_allclose((product + a).numpy(), expected, rtol=1e-5)


def test_values_on_the_host_are_not_copied():
    x = tf.constant([1.0, 2.0])
    with tf.device("/CPU:1"):
        y = tf.stop_gradient(x)
        v = tf.Variable(x)
    assert v.value()._raw is x._raw
    assert y._raw is x._raw


def test_variables_stay_where_they_were_made():
    with tf.device("/CPU:1"):
        v = tf.Variable([1.0, 2.0])
    assert v.device == v.value().device == f"{LONG}CPU:1"
    assert (v + 1.0).device == v.read_value().device == f"{LONG}CPU:0"
    with tf.device("/CPU:2"):
        v.assign([3.0, 4.0])
        v.assign_add([1.0, 1.0])
        assert v.device == v.value().device == f"{LONG}CPU:1"
        assert v.read_value().device == f"{LONG}CPU:2"
        assert copy.deepcopy(v).device == f"{LONG}CPU:1"
        with tf.GradientTape() as tape:
            y = v.read_value() * 2.0
    np.testing.assert_array_equal(tape.gradient(y, v), [2.0, 2.0])
    np.testing.assert_array_equal(v, [4.0, 5.0])


def test_gradients_cross_devices():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        with tf.device("/CPU:1"):
            y = v * v
        with tf.device("/CPU:2"):
            z = y * v
    assert float(tape.gradient(z, v)) == 27.0


# Inside functions


def test_scopes_inside_a_function():
    seen = []

    @tf.function
    def f(x):
        with tf.device("/CPU:1"):
            a = x + 1.0
        with tf.device("/CPU:2"):
            b = a * 2.0
            with tf.device(None):
                c = b - 1.0
        seen.extend([a.device, b.device, c.device])
        return c

    assert float(f(tf.constant(3.0))) == 7.0
    assert seen == ["/device:CPU:1", "/device:CPU:2", ""]


def test_a_function_runs_where_it_is_called():
    f = tf.function(lambda x: (x + 1, {"a": x * 2}))
    x = tf.constant(1.0)
    with tf.device("/CPU:2"):
        one, more = f(x)
        assert {one.device, more["a"].device} == {f"{LONG}CPU:2"}
    assert f(x)[0].device == f"{LONG}CPU:0"
    assert f.experimental_get_tracing_count() == 2


def test_results_under_a_tape_live_there_too():
    v = tf.Variable(2.0)
    f = tf.function(lambda: v * v)
    with tf.device("/CPU:1"), tf.GradientTape() as tape:
        y = f()
    assert y.device == f"{LONG}CPU:1"
    assert float(tape.gradient(y, v)) == 4.0


def test_variables_made_by_a_function():
    class Layer:
        v = None

        @tf.function
        def __call__(self, x):
            if self.v is None:
                with tf.device("/CPU:2"):
                    self.v = tf.Variable([1.0])
            self.v.assign_add(x)
            return self.v + 0.0

    layer = Layer()
    assert float(layer(tf.constant([1.0]))[0]) == 2.0
    assert layer.v.device == f"{LONG}CPU:2"


# Constants in graphs


def test_constants_of_a_scope_tell_it():
    v1 = tf.compat.v1
    with v1.Graph().as_default():
        before = tf.constant(1.0)
        with tf.device("/CPU:0"):
            made = [tf.constant(1.0), tf.constant(1.0, name="one"), tf.zeros([3]), tf.zeros([999])]
            made += [v1.Variable(2.0), tf.constant([1.0, 2.0])]
        after = [before, tf.constant(1.0), tf.zeros([3]), v1.Variable(2.0)]
        with v1.device(lambda op: "/CPU:1" if op.type == "Const" else None):
            aside = tf.constant(1.0)
    assert [x.device for x in made] == ["/device:CPU:0"] * 6
    assert [x.device for x in after] == [""] * 4
    assert made[1].op.device == "/device:CPU:0"
    assert aside.device == "/device:CPU:1"


def test_equal_constants_of_functions_are_told_apart_by_their_scopes():
    seen = []

    @tf.function
    def f(x):
        plain = tf.constant([1.0, 2.0])
        with tf.device("/CPU:1"):
            inside = tf.constant([1.0, 2.0])
            long = tf.constant(np.arange(99.0, dtype=np.float32))
        seen.extend([plain.device, inside.device, long.device, tf.constant([1.0, 2.0]).device])
        return x + plain + inside + long[:2]

    np.testing.assert_array_equal(f(tf.ones([2])), [3.0, 6.0])
    assert seen == ["", "/device:CPU:1", "/device:CPU:1", ""]


# Device functions


def matmul_aside(op):
    return "/CPU:2" if op.type == "MatMul" else None


def test_a_function_decides_for_each_operation():
    x = tf.ones([2, 2])
    with tf.device(matmul_aside):
        assert tf.matmul(x, x).device == f"{LONG}CPU:2"
        assert (x + x).device == f"{LONG}CPU:0"
        with tf.device("/CPU:1"):  # the inner one has the say
            assert tf.matmul(x, x).device == f"{LONG}CPU:1"
        with tf.device(None):
            assert tf.matmul(x, x).device == f"{LONG}CPU:0"
        with tf.device("/job:localhost"):
            assert tf.matmul(x, x).device == f"{LONG}CPU:2"
    with tf.device("/CPU:1"), tf.device(matmul_aside):
        assert (x + x).device == f"{LONG}CPU:1"
        assert tf.matmul(x, x).device == f"{LONG}CPU:2"


def test_what_a_device_function_is_told():
    told = []

    def note(op):
        told.append((op.type, op.name, len(op.inputs), op.device))
        return ""

    with tf.device("/CPU:1"), tf.device(note):
        tf.add(tf.constant(1.0), tf.constant(2.0))
    assert told[-1] == ("Add", "Add", 2, f"{LONG}CPU:1")


def test_device_functions_inside_a_function():
    @tf.function
    def f(x):
        with tf.device(matmul_aside):
            return tf.matmul(x, x), x + 1.0

    x = tf.ones([2, 2])
    product, _ = f(x)
    np.testing.assert_array_equal(product, np.full((2, 2), 2.0))
    devices = {row.op: row.device for row in f.placement()[0]}
    assert devices == {"MatMul": "CPU:2", "Add": "CPU:0"}


def test_a_function_called_where_a_device_function_decides():
    f = tf.function(lambda x: tf.matmul(x, x) + x)
    x = tf.ones([2, 2])
    with tf.device(matmul_aside):
        np.testing.assert_array_equal(f(x), np.full((2, 2), 3.0))
        f(x)
    f(x)
    assert f.experimental_get_tracing_count() == 2  # the scope is part of what a trace is for
    assert [p.devices for p in f.placement()] == [("CPU:2", "CPU:0"), ("CPU:0",)]


def test_a_device_function_that_returns_no_device():
    with tf.device(lambda op: "/job:worker"), pytest.raises(InvalidArgumentError, match="worker"):
        tf.constant(1.0) + 1.0
    with tf.device(lambda op: 7), pytest.raises(InvalidArgumentError, match="device name"):
        tf.constant(1.0) + 1.0


def test_the_example_of_a_training_step_on_two_devices():
    """A program as people write it: weights on one device, the work on another."""
    with tf.device("/CPU:1"):
        w = tf.Variable(tf.ones([2, 1]))

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape, tf.device("/CPU:2"):
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        (grad,) = tape.gradient(loss, [w])
        w.assign_sub(0.02 * grad)
        return loss

    x, y = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[1.0], [2.0]])
    losses = [float(step(x, y)) for _ in range(20)]
    assert losses[-1] < 0.1 * losses[0]
    assert losses == sorted(losses, reverse=True)
    assert w.device == f"{LONG}CPU:1"
    assert "CPU:2" in step.placement()[-1].devices


def test_older_methods():
    with tf.device("/CPU:1"):
        x = tf.constant([1.0, 2.0])
    y = x.cpu()
    assert y.device == f"{LONG}CPU:0"
    assert y.cpu() is y
    np.testing.assert_array_equal(x, y)
    if not list_physical_devices("GPU"):
        with pytest.raises(RuntimeError, match="/GPU:1"):
            x.gpu(1)


@pytest.mark.gpu
def test_a_real_gpu():
    with tf.device("/GPU:0"):
        x = tf.constant([1.0, 2.0])
        v = tf.Variable(x)
        y = x * v
        f = tf.function(lambda a: v.assign_add(a))
        f(x)
    assert {x.device, v.device, y.device, x.gpu().device} == {f"{LONG}GPU:0"}
    np.testing.assert_array_equal(v, [2.0, 4.0])
    np.testing.assert_array_equal((x + y).cpu(), [2.0, 6.0])


def test_traced_tensors_say_the_scope_that_they_were_made_in():
    seen = []

    @tf.function
    def f(x):
        seen.append(x.device)
        with tf.device("/CPU:0"):
            y = x + 1.0
            seen.extend([y.device, y.op.device])
            with tf.device(None):
                seen.append((x * 2.0).device)
            with tf.compat.v1.device(lambda op: "/cpu:0" if op.type == "Mul" else None):
                seen.extend([(x * 2.0).device, (x + 2.0).device])
        seen.append((x + 1.0).device)
        with tf.compat.v1.device(lambda op: "/cpu:0" if op.type == "Mul" else None):
            seen.extend([(x * 2.0).device, (x + 2.0).device])
        return y

    f(tf.constant(1.0))
    cpu = "/device:CPU:0"
    assert seen == ["", cpu, cpu, "", cpu, cpu, "", cpu, ""]
