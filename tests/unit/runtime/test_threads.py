"""One pool of threads for the process, sized by what the process may use."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import onnxruntime
import pytest

from tfx.framework.convert import constant
from tfx.runtime import threads
from tfx.runtime.string_model import constant_model


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


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads through /proc")
def test_sessions_add_no_threads():
    code = """
        import os
        from tfx.runtime.session import Session
        from tfx.runtime.string_model import constant_model
        model = constant_model([b"x"], ())
        sessions = [Session(model)]
        before = len(os.listdir("/proc/self/task"))
        sessions += [Session(model) for _ in range(20)]
        print(len(os.listdir("/proc/self/task")) - before)
    """
    assert _run(code) == "0"


def test_sessions_of_other_code_still_work():
    constant("a string is made by a session")
    other = onnxruntime.InferenceSession(
        constant_model([b"x"], ()), providers=["CPUExecutionProvider"]
    )
    assert other.run(None, {})[0] == "x"
