"""The end of a process whose daemon threads run graphs: quiet, with exit code 0."""

from __future__ import annotations

import os
import subprocess
import sys

from tests import source_tree

_PROGRAM = """
import atexit, sys, threading, time
if "early" in sys.argv:  # called after everything else
    atexit.register(lambda: print(float(step(x)), flush=True))
import tfx as tf

v = tf.Variable(tf.zeros([16]))
x = tf.ones([16])

@tf.function
def step(x):
    v.assign_add(x)
    return tf.reduce_sum(tf.matmul(tf.reshape(x, [4, 4]), tf.ones([4, 4])))

@tf.function
def endless(x):
    while x < 1.0:
        x = x * 0.5
    return x

limited = step.with_options(tf.RunOptions(timeout_in_ms=100_000))

def eager():
    while True:
        tf.reduce_sum(tf.exp(x) * 2.0)

def function():
    while True:
        step(x)

def options():
    while True:
        limited(x)

def fresh():
    n = 1.0
    while True:
        n += 1.0
        tf.function(lambda a: a * n + tf.sin(a))(x)

works = [eager, eager, function, function, options, fresh, lambda: endless(tf.constant(0.5))]
for work in works:
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3 + 0.03 * int(sys.argv[1]))
"""


def start(folder, *arguments: object) -> subprocess.Popen[str]:
    file = folder / "program.py"  # a file: AutoGraph wants the source
    file.write_text(_PROGRAM)
    return subprocess.Popen(
        [sys.executable, file, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(source_tree.ROOT), "TFX_VERIFY": ""},
    )


def test_daemon_threads_may_run_to_the_end(tmp_path):
    for number in range(0, 4, 2):
        for process in [start(tmp_path, n) for n in (number, number + 1)]:
            out, err = process.communicate(timeout=120)
            assert (process.returncode, out, err) == (0, "", "")


def test_exit_handlers_may_run_graphs(tmp_path):
    process = start(tmp_path, 1, "early")
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (0, "64.0\n", "")
