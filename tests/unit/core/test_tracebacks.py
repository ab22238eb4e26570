"""Tracebacks show the user's program: tfx's own frames are taken out, and can be had again."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
import textwrap
import traceback
import types

import pytest

import tfx as tf
from tfx.core import source, tracebacks

A = tf.ones([2, 3])


def frames(function, *args, error=Exception):
    """Frames of the user's and of tfx in the traceback of what a call raises."""
    with pytest.raises(error) as caught:
        function(*args)
    found = traceback.extract_tb(caught.value.__traceback__)
    own = [f for f in found if source.is_own(f.filename)]
    mine = [f.name for f in found if f.filename == __file__]
    return mine[1:], len(own), caught.value


def first(x, y):
    return second(x, y) + 1.0


def second(x, y):
    return third(x, y) * 2.0


def third(x, y):
    return tf.matmul(x, y)


CALLS = ["first", "second", "third"]


def test_an_eager_error():
    mine, own, error = frames(first, A, A)
    assert (mine, own) == (CALLS, 0)
    assert str(error).startswith("Matrix size-incompatible: In[0]: [2, 3], In[1]: [2, 3]")
    assert error.__context__ is None


def test_while_tracing():
    mine, own, _ = frames(tf.function(first), A, A)
    assert (mine, own) == (CALLS, 0)


def test_while_tracing_a_function_in_a_function():
    inner = tf.function(second)

    def outer(x, y):
        return inner(x, y)

    mine, own, _ = frames(tf.function(outer), A, A)
    assert (mine, own) == (["outer", *CALLS[1:]], 0)


def test_in_a_loop_and_a_branch():
    def program(x, y):
        for _ in tf.range(3):
            if tf.reduce_sum(x) > 0.0:
                x = first(x, y)
        return x

    mine, own, _ = frames(tf.function(program), A, A)
    assert own == 0
    # The statements of the loop and of the branch, and the calls.
    assert mine == ["program"] * (len(mine) - 3) + CALLS
    assert len(mine) <= 6


def test_in_functional_control_flow():
    def body(i, x):
        return i + 1, first(x, A)

    def loop(x):
        return tf.while_loop(lambda i, x: i < 3, body, [0, x])

    assert frames(tf.function(loop), A)[:2] == (["loop", "body", *CALLS], 0)
    mine, own, _ = frames(lambda: tf.map_fn(lambda row: first(row, A), tf.ones([2, 2, 3])))
    assert (mine, own) == (["<lambda>", "<lambda>", *CALLS], 0)


def test_when_the_graph_runs():
    @tf.function
    def program(x, i):
        return tf.gather(x, i)

    mine, own, error = frames(program, A, tf.constant([7]))
    assert (mine, own) == ([], 0)
    assert "test_tracebacks.py" in str(error)
    concrete = program.get_concrete_function(A, tf.constant([7]))
    assert frames(concrete, A, tf.constant([7]))[1] == 0


def test_under_a_tape():
    def program(v):
        with tf.GradientTape() as tape:
            y = first(v, A)
        return tape.gradient(y, v)

    assert frames(program, tf.Variable(A))[:2] == (["program", *CALLS], 0)
    assert frames(lambda: tf.GradientTape().gradient(A, "x"))[1] == 0


def test_operators_and_methods():
    v = tf.Variable(A)
    for wrong in (
        lambda: A @ A,
        lambda: A + tf.ones([5]),
        lambda: 1.5 + tf.constant(1),
        lambda: A[5, 5, 5],
        lambda: -tf.constant("a"),
        lambda: v.assign(tf.ones([7])),
        lambda: v + tf.constant(1),
        lambda: bool(A),
        lambda: tf.constant([[1], [2, 3]]),
        lambda: tf.nn.conv2d(A, A, 1, "SAME"),
        lambda: tf.linalg.inv(tf.ones([2, 3])),
        lambda: tf.raw.MatMul(A, A),
        lambda: tf.compat.v1.reshape(A, [7]),
        lambda: tf.optimizers.SGD(0.1).apply_gradients([(A, tf.Variable(1.0))]),
        lambda: tf.TensorArray(tf.float32, 1).write(0, tf.constant(1)),
        lambda: tf.saved_model.load("nowhere"),
        lambda: tf.train.Checkpoint(v=v).restore("nowhere"),
        lambda: tf.io.read_file("nowhere"),
    ):
        mine, own, error = frames(wrong)
        assert (mine, own) == (["<lambda>"], 0), (inspect.getsource(wrong), error)


def test_methods_of_modules():
    class Layer(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(A)

        @tf.function
        def __call__(self, x):
            return self.inner(x)

        def inner(self, x):
            return tf.matmul(x, self.w)

    assert frames(Layer(), A)[:2] == (["__call__", "inner"], 0)


def test_a_loaded_model(tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda x, i: tf.gather(x, i))
    module.f.get_concrete_function(tf.TensorSpec([None]), tf.TensorSpec([], tf.int32))
    tf.saved_model.save(module, str(tmp_path / "m"))
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    assert frames(lambda: loaded.f(tf.ones([2]), tf.constant(9)))[1] == 0
    assert frames(lambda: loaded.f(tf.ones([2, 2]), 9))[1] == 0


def test_the_users_own_errors_and_causes_stay():
    def fails(x):
        try:
            raise KeyError("mine")
        except KeyError as e:
            raise RuntimeError("other") from e

    mine, own, error = frames(tf.function(fails), A)
    assert (mine, own) == (["fails"], 0)
    assert isinstance(error.__cause__, KeyError)
    assert error.__cause__.__traceback__ is not None

    def handles():
        try:
            raise KeyError("mine")
        except KeyError:
            tf.matmul(A, A)

    assert isinstance(frames(handles)[2].__context__, KeyError)


def test_no_noise_in_what_is_printed():
    def text(function, *args):
        with pytest.raises(Exception) as caught:
            function(*args)
        return "".join(traceback.format_exception(caught.value))

    for wrong in (
        lambda: tf.function(first)(A, A),
        lambda: tf.constant([[1], [2, 3]]),
        lambda: tf.gather(A, 7),
        lambda: tf.reshape(A, [7]),
        lambda: tf.function(tf.reshape)(A, tf.constant([7])),
        lambda: tf.cast(A, "nonsense"),
    ):
        found = text(wrong)
        assert "During handling" not in found, found
        assert "direct cause" not in found, found


def test_the_switch():
    assert tf.debugging.is_traceback_filtering_enabled()
    tf.debugging.disable_traceback_filtering()
    try:
        assert not tf.debugging.is_traceback_filtering_enabled()
        mine, own, _ = frames(tf.function(first), A, A)
        assert mine == CALLS
        assert own > 5
    finally:
        tf.debugging.enable_traceback_filtering()
    assert frames(tf.function(first), A, A)[1] == 0


def test_what_a_script_prints(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        textwrap.dedent("""
            import tfx as tf

            def f(x):
                return tf.matmul(x, x)

            tf.function(f)(tf.ones([2, 3]))
        """)
    )
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    places = [line for line in run.stderr.splitlines() if line.startswith("  File")]
    assert ["program.py" in line for line in places] == [True, True], run.stderr
    assert run.stderr.strip().splitlines()[-1].startswith(("tfx.core.errors", "While tracing"))


# The mechanism


def covered(function):
    """The function as if it were tfx's own and public."""
    function.__code__ = tracebacks._protected(function.__code__, tracebacks._handler)
    return function


def test_covered_functions_do_what_they_did():
    def tries(x, log):
        try:
            try:
                return 10 // x
            except ZeroDivisionError:
                log.append("zero")
                raise
            finally:
                log.append("finally")
        except (ZeroDivisionError, KeyError) as e:
            log.append(type(e).__name__)
        with pytest.raises(ValueError, match="inside"):
            raise ValueError("inside")
        return [y for y in range(3) if y] + [sys.exc_info()[0]]

    log = []
    run = covered(tries)
    assert run(5, log) == 2
    assert run(0, log) == [1, 2, None]
    assert log == ["finally", "zero", "finally", "ZeroDivisionError"]
    with pytest.raises(TypeError):
        run("a", log)
    assert sys.exc_info() == (None, None, None)


def test_the_exception_that_is_handled_is_told_as_before():
    def fails():
        raise KeyError("inner")

    covered(fails)
    try:
        raise ValueError("outer")
    except ValueError as outer:
        with pytest.raises(KeyError):
            fails()
        assert sys.exc_info()[1] is outer


def test_covering_twice_is_covering_once():
    def f(x, y=1, *args, z=2, **kwargs):
        return x, y, args, z, kwargs

    code = covered(f).__code__
    assert covered(f).__code__ is code
    assert f(1, 2, 3, z=4, w=5) == (1, 2, (3,), 4, {"w": 5})
    assert str(inspect.signature(f)) == "(x, y=1, *args, z=2, **kwargs)"


def test_what_is_covered():
    def is_covered(function):
        return tracebacks._strip in function.__code__.co_consts

    assert is_covered(tf.matmul)
    assert is_covered(tf.nn.relu)
    assert is_covered(tf.GradientTape.gradient)
    assert is_covered(tf.Tensor.__matmul__)
    assert is_covered(tf.optimizers.Adam.apply_gradients)
    assert not is_covered(tracebacks.cover(first))  # the user's
    assert not is_covered(textwrap.dedent)
    assert pickle.loads(pickle.dumps(tf.matmul)) is tf.matmul


@pytest.mark.parametrize("value", [0, 1, 63, 64, 4095, 4096, 70000])
def test_tables_are_written_as_they_are_read(value):
    rows = [tracebacks._Range(value, value + 5, 2 * value, 3), tracebacks._Range(0, 1, value, 0)]
    assert tracebacks._parsed(tracebacks._written(rows)) == rows


def test_tables_of_the_interpreter_are_read_as_they_are():
    found = 0
    for function in vars(inspect).values():
        if isinstance(function, types.FunctionType):
            table = function.__code__.co_exceptiontable
            assert tracebacks._written(tracebacks._parsed(table)) == table
            found += bool(table)
    assert found > 10


def test_a_namespace_that_is_imported_by_its_own_name_is_covered() -> None:
    program = """
import traceback
import tfx.nn
import tfx as tf
try:
    tf.nn.conv2d(tf.ones([2, 3]), tf.ones([2, 3]), 1, "SAME")
except tf.errors.InvalidArgumentError as e:
    print(len(traceback.extract_tb(e.__traceback__)))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout == "1\n", run.stderr
