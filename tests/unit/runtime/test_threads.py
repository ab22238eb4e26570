"""One pool of threads for the process, sized by what the process may use."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tfx.framework.convert import constant
from tfx.runtime import threads


def _run(code):
    """Run a program in a process of its own: the pool is made once."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_available_cpus():
    assert 1 <= threads.available_cpus() <= (os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "garbage"}, None),
        ({"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"}, 2.0),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
    ids=str,
)
def test_cgroup_quota(files, quota, tmp_path: Path):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert threads._cgroup_quota(tmp_path) == quota


def test_count_is_fixed_by_the_first_session():
    constant("a string is made by a session")
    count = threads.thread_count()
    threads.set_thread_count(count)  # the same again is no change
    with pytest.raises(RuntimeError, match=f"already runs with {count} threads.*before"):
        threads.set_thread_count(count + 1)


def test_count_can_be_chosen_before():
    code = """
        import tfx as tf
        from tfx.runtime import threads
        threads.set_thread_count(3)
        assert float(tf.constant(1.0) + 1.0) == 2.0
        print(threads.thread_count())
    """
    assert _run(code) == "3"


# Programs that use ONNX Runtime beside tfx

NEIGHBOUR = """
import os, threading
import numpy as np
import onnxruntime
from tfx.runtime.string_model import constant_model  # written byte by byte; runs nothing

MODEL = constant_model([b"x"], ())

def theirs(intra=0, **settings):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = intra
    for name, value in settings.items():
        setattr(options, name, value)
    session = onnxruntime.InferenceSession(
        MODEL, sess_options=options, providers=["CPUExecutionProvider"]
    )
    assert session.run(None, {})[0] == "x"
    return session

def plain():
    session = onnxruntime.InferenceSession(MODEL, providers=["CPUExecutionProvider"])
    assert session.run(None, {})[0] == "x"
    return session

def ours():
    import tfx as tf
    assert float(tf.constant(1.0) + 1.0) == 2.0
    assert tf.function(lambda x: x @ x)(tf.ones([2, 2])).numpy().tolist() == [[2, 2], [2, 2]]

def threads():
    return len(os.listdir("/proc/self/task"))
"""
# Where no pool can be shared, as outside Linux.
NOT_SHARED = """
import contextlib
import tfx.runtime.threads as pools
pools._address_space = lambda room: contextlib.nullcontext(False)
"""
needs_proc = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="counts threads through /proc"
)


def _beside(code, setup=""):
    return _run(setup + NEIGHBOUR + textwrap.dedent(code))


@pytest.mark.parametrize("setup", ["", NOT_SHARED], ids=["shared", "own"])
@pytest.mark.parametrize(
    "order",
    [
        "ours(); theirs(); plain(); theirs(1); ours()",
        "theirs(); ours(); theirs(3); plain(); ours()",
        "plain(); theirs(2); ours(); plain(); theirs(2)",
        "ours(); theirs(execution_mode=onnxruntime.ExecutionMode.ORT_PARALLEL); ours()",
    ],
)
def test_programs_with_options_of_their_own_work_in_any_order(order, setup):
    assert _beside(f"{order}\nprint('fine')", setup) == "fine"


def test_a_program_that_made_the_pools_itself_keeps_them():
    code = """
        onnxruntime.set_global_thread_pool_sizes(2, 1)
        theirs(use_per_session_threads=False)
        ours()
        theirs(use_per_session_threads=False)
        print("fine")
    """
    assert _beside(code) == "fine"


def test_both_make_sessions_in_threads_at_once():
    code = """
        work = [threading.Thread(target=f) for f in (ours, theirs, plain) * 8]
        for t in work: t.start()
        for t in work: t.join()
        ours(); theirs()
        print("fine")
    """
    assert _beside(code) == "fine"


@needs_proc
def test_programs_keep_their_own_thread_counts():
    code = """
        ours()
        def added(make):
            before = threads()
            session = make()
            return threads() - before
        print([added(lambda n=n: theirs(n)) for n in (1, 2, 3, 5)])
    """
    assert _beside(code) == "[0, 1, 2, 4]"


@needs_proc
@pytest.mark.parametrize("first", ["", "theirs(); plain()"])
def test_sessions_add_no_threads(first):
    code = f"""
        from tfx.runtime.session import Session
        {first or "pass"}
        sessions = [Session(MODEL)]
        before = threads()
        sessions += [Session(MODEL) for _ in range(200)]
        print(threads() - before)
    """
    assert _beside(code) == "0"


@needs_proc
def test_without_a_shared_pool_few_sessions_have_threads():
    code = """
        pools.set_thread_count(5)
        import tfx as tf
        ours()
        assert pools._own_threads is not None
        before = threads()
        functions = [tf.function(lambda x, i=i: x @ (x + float(i))) for i in range(100)]
        x = tf.ones([64, 64])
        results = [f(x).numpy()[0, 0] for f in functions]
        assert results == [64.0 * (1 + i) for i in range(100)]
        most = threads() - before
        tf.function(lambda x: x + 1.0)(x)  # no work that would be worth a thread
        print(0 < most <= 64, threads() - before - most)
    """
    assert _beside(code, NOT_SHARED) == "True 0"


def test_the_pool_of_the_process_is_used():
    code = """
        import tfx as tf
        from tfx.runtime import threads as pools
        ours()
        import resource
        assert pools._own_threads is None
        assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
        print("fine")
    """
    if sys.platform == "linux":
        assert _beside(code) == "fine"


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_a_limit_of_the_address_space_is_kept():
    code = """
        import resource
        limit = 48 << 30
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        ours(); theirs()
        print(resource.getrlimit(resource.RLIMIT_AS) == (limit, limit))
    """
    assert _beside(code) == "True"
