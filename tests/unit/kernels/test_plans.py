"""When plans use the fused kernels, and what happens where these cannot be used."""

from __future__ import annotations

import concurrent.futures
import contextlib
import ctypes
import dataclasses
import os
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import tfx as tf
from tests.unit.kernels.fused_graphs import needs_library
from tfx.function.execution.plan import Plan
from tfx.kernels import build
from tfx.kernels import library as kernels
from tfx.kernels.library import place
from tfx.runtime.values import from_numpy

X = np.linspace(-2, 2, 3000, dtype=np.float32).reshape(50, 60)


def chain(x):
    return tf.exp(-x * x) * tf.tanh(x + 1.0) / (1.0 + tf.abs(x))


def graph_of(function, *specs):
    return function.get_concrete_function(*specs)._observed.make_pure().graph


@pytest.fixture
def state(monkeypatch):
    for name in ("enabled", "failed", "problem"):
        monkeypatch.setattr(kernels.state, name, getattr(kernels.state, name))
    return kernels.state


@needs_library
@pytest.mark.parametrize("says", [None, True, False])
@pytest.mark.parametrize("process", [True, False])
def test_who_decides(says, process, state):
    tf.config.optimizer.set_jit(process)
    assert tf.config.optimizer.get_jit() == ("autoclustering" if process else "")
    function = tf.function(chain, jit_compile=says)
    graph = graph_of(function, tf.TensorSpec([50, 60]))
    assert Plan(graph).fused == (process if says is None else says)
    np.testing.assert_allclose(function(X), chain(tf.constant(X)), rtol=1e-6, atol=1e-7)


def test_another_switch_is_refused(state):
    with pytest.raises(ValueError, match="autoclustering"):
        tf.config.optimizer.set_jit("always")


def test_insisting_without_kernels_says_what_is_missing(state, monkeypatch):
    monkeypatch.setattr(kernels, "_load", lambda: None)
    assert "not built" in kernels.why_not()
    with pytest.raises(tf.errors.UnimplementedError, match=r"jit_compile=True .*not built"):
        tf.function(chain, jit_compile=True)(X)
    np.testing.assert_allclose(tf.function(chain)(X), chain(tf.constant(X)), rtol=1e-6)


@needs_library
def test_what_is_saved_has_no_such_operators(tmp_path):
    module = tf.Module()
    module.run = tf.function(chain, input_signature=[tf.TensorSpec([None, 60])])
    module.run(X)
    tf.saved_model.save(module, tmp_path / "bundle")
    for path in (tmp_path / "bundle").glob("*.onnx"):
        assert b"tfx.kernels" not in path.read_bytes()


@needs_library
def test_sizes_that_do_not_fit_are_reported_as_ever():
    @tf.function(input_signature=[tf.TensorSpec([None, 60]), tf.TensorSpec([None, 60])])
    def added(x, y):
        return tf.tanh(x * 2.0) + tf.exp(y * 0.5) * (x + y) - tf.abs(y) * 0.25

    assert Plan(graph_of(added)).fused
    expected = added.python_function(X, X[:1])
    np.testing.assert_allclose(added(X, X[:1]), expected, rtol=1e-6, atol=1e-6)
    plain = tf.function(added.python_function, added.input_signature, jit_compile=False)
    messages = []
    for function in (added, plain):
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            function(X, X[:7])
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert "test_plans.py" in messages[0]


@needs_library
def test_calls_that_fail_again_and_again_compile_once(monkeypatch):
    @tf.function(input_signature=[tf.TensorSpec([None, 60]), tf.TensorSpec([None, 60])])
    def added(x, y):
        return tf.tanh(x * 2.0) + tf.exp(y * 0.5) * (x + y) - tf.abs(y) * 0.25

    plan, made = Plan(graph_of(added)), []
    unfused = Plan.__init__

    def counted(self, *args, fuse=True, **kwargs):
        if not fuse:
            made.append(self)
        unfused(self, *args, fuse=fuse, **kwargs)

    monkeypatch.setattr(Plan, "__init__", counted)
    given = [from_numpy(X), from_numpy(X[:7].copy())]
    for _ in range(3):
        with pytest.raises(tf.errors.InvalidArgumentError):
            plan.run(given)
    assert plan.fused and len(made) == 1


@needs_library
def test_a_call_that_runs_out_of_time_is_not_run_again(monkeypatch):
    @tf.function
    def endless(x):
        while x > 0.0:
            x = x + 1.0 - 1.0
        return x

    monkeypatch.setattr(Plan, "without_programs", fails_elsewhere(Plan.without_programs))
    limited = endless.with_options(tf.RunOptions(timeout_in_ms=200))
    with pytest.raises(tf.errors.DeadlineExceededError):
        limited(tf.constant(1.0))


def fails_elsewhere(real):
    """What is asked about a run that no program ended must not make another plan."""

    def asked(self, error, inputs):
        try:
            return real(self, error, inputs)
        finally:
            assert self._unfused is None

    return asked


@needs_library
def test_threads_share_a_plan():
    function = tf.function(chain)
    inputs = [tf.constant(np.roll(X, i)) for i in range(8)]
    expected = [np.asarray(function(x)) for x in inputs]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda i: (i % 8, np.asarray(function(inputs[i % 8]))), range(400)):
            np.testing.assert_array_equal(found[1], expected[found[0]])


@needs_library
@pytest.mark.parametrize("says", [None, False])
def test_gradients_are_fused_as_their_functions_are(says, monkeypatch):
    plans = []
    real = Plan.__init__

    def noted(self, *args, **kwargs):
        real(self, *args, **kwargs)
        plans.append(self.fused)

    monkeypatch.setattr(Plan, "__init__", noted)
    x, function = tf.Variable(X), tf.function(chain, jit_compile=says)
    with tf.GradientTape() as tape:
        y = function(x)
    tape.gradient(y, x)
    pickle.loads(pickle.dumps(function))(x)
    assert plans and any(plans) == (says is None)


@needs_library
def test_empty_and_scalar_tensors():
    function = tf.function(chain, input_signature=[tf.TensorSpec(None)])
    for shape in ((), (1,), (0,), (0, 5), (2, 0, 3), (1, 1, 1)):
        x = np.full(shape, 0.5, np.float32)
        np.testing.assert_allclose(function(x), chain(tf.constant(x)), rtol=1e-6)


@needs_library
def test_a_graph_that_cannot_be_compiled_says_nothing_of_the_kernels(state, monkeypatch, caplog):
    def refuse(self, ready, device, operators):
        raise tf.errors.InvalidArgumentError(None, None, "no such graph")

    graph = graph_of(tf.function(chain), tf.TensorSpec([50, 60]))
    with monkeypatch.context() as context:
        context.setattr(Plan, "_session", refuse)
        with pytest.raises(tf.errors.InvalidArgumentError, match="no such graph"):
            Plan(graph)
    assert not state.failed and not caplog.records
    assert Plan(graph).fused


@needs_library
def test_a_session_that_cannot_be_made_is_made_without(state, monkeypatch, caplog):
    real = kernels.usable_library()
    assert real is not None
    wrong = dataclasses.replace(real, path="/nowhere/libtfx_kernels.so.1")
    monkeypatch.setattr(kernels, "_load", lambda: wrong)
    for _ in range(2):
        plan = Plan(graph_of(tf.function(chain), tf.TensorSpec([50, 60])))
        assert not plan.fused
    assert len([r for r in caplog.records if "fused kernels" in r.getMessage()]) == 1
    assert state.failed


PROGRAM = """
    import logging
    import sys

    import numpy as np
    import tfx as tf
    from tfx.kernels.library import why_not

    @tf.function
    def chain(x):
        return tf.exp(-x * x) * tf.tanh(x + 1.0) / (1.0 + tf.abs(x))

    logging.basicConfig(stream=sys.stdout, format="%(levelname)s %(message)s")
    print(round(float(tf.reduce_sum(chain(np.ones((50, 60), np.float32)))), 1), why_not())
"""


def copied_package(tmp_path):
    """A copy of tfx whose kernels may be damaged; their folder, and the file of the library."""
    package = Path(tf.__file__).parent
    copy = tmp_path / "tfx"
    copy.mkdir()
    for entry in package.iterdir():
        if entry.name != "kernels":
            (copy / entry.name).symlink_to(entry.resolve())
    shutil.copytree(package / "kernels", copy / "kernels")
    built = place()
    assert built is not None
    return copy / "kernels", copy / "kernels" / built.name


def run_with(tmp_path, **environment):
    """What the program prints in a process of its own: the log, the number and the reason."""
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path), **environment},
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *logged, last = done.stdout.strip().splitlines()
    number, _, reason = last.partition(" ")
    assert number == "532.0"
    return [line for line in logged if line.startswith("WARNING The fused kernels are not")], reason


@needs_library
@pytest.mark.slow
@pytest.mark.parametrize("damage", ["none", "missing", "empty", "cut", "noise", "switched off"])
def test_a_library_that_is_damaged(damage, tmp_path):
    """In a process of its own, which goes on whatever the file holds."""
    _, file = copied_package(tmp_path)
    whole = file.read_bytes()
    if damage == "missing":
        file.unlink()
    elif damage == "empty":
        file.write_bytes(b"")
    elif damage == "cut":
        file.write_bytes(whole[: len(whole) // 3])
    elif damage == "noise":
        file.write_bytes(np.random.default_rng(0).bytes(5000))
    environment = {"TFX_FUSE": "0"} if damage == "switched off" else {}
    warnings, reason = run_with(tmp_path, **environment)
    assert len(warnings) == (damage in ("empty", "cut", "noise"))
    assert bool(reason) == (damage != "none")


# What is changed in a source, and what the reason says then.
OTHER_LIBRARIES = {
    "for a later ONNX Runtime": (
        ("runtime_api.h", "define RUNTIME_API_VERSION 18", "define RUNTIME_API_VERSION 900"),
        "this ONNX Runtime has no interface of version 900",
    ),
    "of another version of tfx": (
        ("program.h", "PROGRAM_FORMAT = 8", "PROGRAM_FORMAT = 6"),
        "is of another version of tfx",
    ),
    "without the operators": (
        ("operator.c", "*RegisterCustomOps(", "*RegisterNothing("),
        "undefined symbol: RegisterCustomOps",
    ),
    "without the instructions": (
        ("program.c", "int instruction_at(", "int instruction_of("),
        "undefined symbol: instruction_at",
    ),
    "that does not work here": (
        ("program.c", "if (!products_work()) return 0;", "return 0;"),
        "is not for this processor",
    ),
}


@needs_library
@pytest.mark.slow
@pytest.mark.skipif(not build.compilers(), reason="there is no C compiler")
@pytest.mark.parametrize("which", OTHER_LIBRARIES)
def test_another_library(which, tmp_path):
    """One that is whole, under the same name: the plain plan runs, and one line says why."""
    folder, file = copied_package(tmp_path)
    (name, before, after), says = OTHER_LIBRARIES[which]
    source = (folder / name).read_text()
    assert before in source
    (folder / name).write_text(source.replace(before, after))
    recipe = (folder / "build.py").read_text()
    (folder / "build.py").write_text(recipe.replace('"-O2"', '"-O0"'))  # is built sooner
    file.unlink()
    built = subprocess.run([sys.executable, folder / "build.py"], capture_output=True, check=False)
    assert built.returncode == 0, built.stderr
    warnings, reason = run_with(tmp_path)
    assert len(warnings) == (which != "that does not work here")  # which is nobody's mistake
    assert says in reason


@needs_library
def test_insisting_where_onnx_runtime_does_not_take_them(state, monkeypatch):
    real = kernels.usable_library()
    assert real is not None
    wrong = dataclasses.replace(real, path="/nowhere/libtfx_kernels.so.1")
    monkeypatch.setattr(kernels, "_load", lambda: wrong)
    for _ in range(2):
        with pytest.raises(tf.errors.UnimplementedError, match=r"jit_compile=True .*nowhere"):
            tf.function(chain, jit_compile=True)(X)
    np.testing.assert_allclose(tf.function(chain)(X), chain(tf.constant(X)), rtol=1e-6)


@needs_library
def test_a_fork_goes_on():
    function = tf.function(chain)
    expected = np.asarray(function(X))
    pid = os.fork()
    if pid == 0:
        try:
            again = tf.function(chain)
            os._exit(0 if np.array_equal(np.asarray(again(X)), expected) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


# As large as what is divided among ONNX Runtime's threads, of which a child has none.
LARGE = np.linspace(-2, 2, 1_000_000, dtype=np.float32)


@needs_library
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_in_the_middle_of_a_run():
    """While other threads run programs, in the child as in the parent."""
    function, ends = tf.function(chain), threading.Event()
    expected, seen = np.asarray(function(LARGE)), []

    def runs():
        while not ends.is_set():
            seen.append(np.array_equal(np.asarray(function(LARGE)), expected))

    threads = [threading.Thread(target=runs) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            time.sleep(0.01)
            child = os.fork()
            if child == 0:
                try:
                    os._exit(0 if np.array_equal(np.asarray(function(LARGE)), expected) else 1)
                finally:
                    os._exit(2)
            assert ended(child) == 0
    finally:
        ends.set()
        for thread in threads:
            thread.join()
    assert seen and all(seen)


def ended(child, seconds=60.0):
    """The exit code of a child; one that hangs is killed."""
    for _ in range(int(seconds / 0.02)):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@needs_library
def test_a_thread_that_is_ended_while_it_runs_programs():
    """What it held, others take: they and later runs have their results."""
    function = tf.function(chain)
    expected, begun = np.asarray(function(LARGE)), threading.Event()

    def runs():
        with contextlib.suppress(SystemExit):
            while True:
                function(LARGE)
                begun.set()

    for _ in range(5):
        thread = threading.Thread(target=runs)
        begun.clear()
        thread.start()
        assert begun.wait(60)
        ended_by = ctypes.py_object(SystemExit)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ended_by)
        np.testing.assert_array_equal(np.asarray(function(LARGE)), expected)
        thread.join(60)
        assert not thread.is_alive()
    np.testing.assert_array_equal(np.asarray(function(LARGE)), expected)


@needs_library
def test_an_error_in_one_of_many_threads():
    """A divisor of 0 in one part of a tensor is an error, and later runs are what they were."""

    @tf.function(jit_compile=True)
    def quotients(x, y):
        return (x + 7) // tf.abs(y) * 3 - x // 5

    x = np.arange(1_000_000, dtype=np.int64)
    y = np.full_like(x, 3)
    expected = (x + 7) // 3 * 3 - x // 5
    for _ in range(3):
        np.testing.assert_array_equal(np.asarray(quotients(x, y)), expected)
        y[987_654] = 0
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"[Zz]ero|by 0"):
            quotients(x, y)
        y[987_654] = 3
