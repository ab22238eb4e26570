"""Ctrl-C in a program of its own: the run of the main thread ends, and nothing else changes."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from tests import source_tree

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs os.kill with SIGINT")

_BEGINNING = """
import os, signal, threading, time
import tfx as tf

first, second = tf.Variable(1.0), tf.Variable(1.0)

@tf.function
def shrink(x):
    while x < 1.0:
        x = x * 0.5
    return x

@tf.function
def train(x):
    first.assign(5.0)
    second.assign(shrink(x))
    return first + second

@tf.function
def one(x):
    first.assign(shrink(x))
    return x

ENDLESS, QUICK = tf.constant(0.5), tf.constant(2.0)
train(QUICK), one(QUICK), shrink(QUICK)
first.assign(1.0), second.assign(1.0)

def press(seconds=0.3):
    def go():
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=go).start()

def interrupted(work):
    press()
    began = time.monotonic()
    try:
        work()
    except KeyboardInterrupt:
        assert time.monotonic() - began < 20
        return True
    return False
"""


@pytest.fixture
def run(tmp_path):
    """Run a program and give what it prints; a word on stderr or an exit code fails the test."""

    def run(program: str) -> str:
        file = tmp_path / "program.py"  # a file: AutoGraph wants the source
        file.write_text(_BEGINNING + textwrap.dedent(program))
        done = subprocess.run(
            [sys.executable, file],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, "PYTHONPATH": str(source_tree.ROOT), "TFX_VERIFY": ""},
        )
        assert (done.stderr, done.returncode) == ("", 0)
        return done.stdout

    return run


def test_functions_end_and_change_nothing(run):
    found = run("""
        for call in (train, one, shrink, train.with_options(tf.RunOptions(timeout_in_ms=60_000)),
                     train.get_concrete_function(ENDLESS)):
            assert interrupted(lambda: call(ENDLESS)), call
            assert (float(first), float(second)) == (1.0, 1.0), call
            call(QUICK)
            first.assign(1.0), second.assign(1.0)

        def under_a_tape():
            with tf.GradientTape() as tape:
                tape.watch(ENDLESS)
                train(ENDLESS)

        assert interrupted(under_a_tape)
        assert (float(first), float(second)) == (1.0, 1.0)
        print(float(train(QUICK)))
    """)
    assert found == "7.0\n"


def test_plans_of_several_steps_and_eager_operations_end(run):
    found = run("""
        import numpy as np
        from tfx import raw

        @tf.function
        def printing(x):
            x = shrink(x)
            x = tf.numpy_function(lambda a: a, [x], tf.float32)
            return x

        printing(QUICK)
        assert interrupted(lambda: printing(ENDLESS))
        # Many operations one after another: one of them, or the code between, is interrupted.
        x = tf.ones([300, 300])

        def eager():
            while True:
                tf.matmul(x, x)

        assert interrupted(eager)
        print(float(printing(QUICK)))
    """)
    assert found == "2.0\n"


def test_runs_of_other_threads_are_repeated(run):
    found = run("""
        count = tf.Variable(0)

        @tf.function
        def long(steps):
            count.assign_add(1)
            x = 0.0
            for _ in tf.range(steps):
                x = x + 1.0
            return x

        long(tf.constant(2))
        results = []

        def others():
            for _ in range(4):
                results.append(float(long(tf.constant(100_000))))

        thread = threading.Thread(target=others)
        thread.start()
        assert interrupted(lambda: one(ENDLESS))
        assert interrupted(lambda: one(ENDLESS))
        thread.join()
        print(results, int(count))
    """)
    assert found == f"{[100_000.0] * 4} 5\n"


def test_a_handler_of_ones_own_decides(run):
    found = run("""
        @tf.function(jit_compile=False)  # which takes long
        def long():
            x = 0.0
            for _ in tf.range(400_000):
                x = x + 1.0
            return x

        seen = []
        long()
        signal.signal(signal.SIGINT, lambda *_: seen.append("pressed"))
        press(0.1)
        print(float(long()), seen)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        assert interrupted(lambda: one(ENDLESS))
    """)
    assert found == "400000.0 ['pressed']\n"


def test_the_wakeup_descriptor_of_another_library_stays(run):
    found = run("""
        signal.set_wakeup_fd(-1)
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer)
        assert float(tf.function(lambda x: x + 1.0)(QUICK)) == 3.0  # a session is made
        assert signal.set_wakeup_fd(-1) == writer
        # Given back, ours comes again with the next session.
        assert float(tf.function(lambda x: x + 2.0)(QUICK)) == 4.0
        assert interrupted(lambda: one(ENDLESS))
        print("good")
    """)
    assert found == "good\n"


def test_in_a_loop_of_asyncio_and_in_a_forked_child(run):
    found = run("""
        import asyncio, warnings

        async def inside():
            assert interrupted(lambda: one(ENDLESS))

        loop = asyncio.new_event_loop()
        loop.run_until_complete(inside())
        loop.close()
        warnings.simplefilter("ignore")
        child = os.fork()
        if child == 0:
            tf.function(lambda x: x + 3.0)(QUICK)
            good = interrupted(lambda: one(ENDLESS))
            os._exit(0 if good and float(first) == 1.0 else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert interrupted(lambda: one(ENDLESS))
        print("good")
    """)
    assert found == "good\n"


def test_a_run_that_nobody_meant_is_repeated(run):
    # The signal is served already when the run is ended: as if it had come a moment earlier.
    found = run("""
        from tfx.runtime import interrupts; from tfx.runtime import running_threads as inside

        def press_nothing():
            time.sleep(0.1)
            interrupts._end_main()

        @tf.function
        def long():
            x = 0.0
            for _ in tf.range(150_000):
                x = x + 1.0
            return x

        long()
        threading.Thread(target=press_nothing).start()
        print(float(long()))
        limited = long.with_options(tf.RunOptions(timeout_in_ms=60_000))
        threading.Thread(target=press_nothing).start()
        print(float(limited()))
    """)
    assert found == "150000.0\n" * 2


def test_the_creation_of_a_session_ends(run):
    """A chain of nodes takes a second to compile; afterwards it is compiled as usual."""
    assert (
        run("""
        from onnx import helper
        from tfx.runtime.session import Session

        nodes = [helper.make_node("Mul", [f"x{i}", "c"], [f"x{i + 1}"]) for i in range(24000)]
        ends = [helper.make_tensor_value_info(n, 1, [2]) for n in ("x0", "x24000")]
        c = helper.make_tensor("c", 1, [2], [1.0, 2.0])
        graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:], [c])
        opset = helper.make_opsetid("", 21)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=10).SerializeToString()

        began = time.monotonic()
        Session(model)
        whole = time.monotonic() - began
        press(whole * 0.3)
        began = time.monotonic()
        try:
            Session(model)
        except KeyboardInterrupt as e:
            print(time.monotonic() - began < whole, type(e.__context__).__name__)
        Session(model)
    """)
        == "True ModelLoadCanceled\n"
    )
