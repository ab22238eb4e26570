"""No room for a file: one class of error, with the path, wherever it happens."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from tests import source_tree
from tfx.core.errors import ResourceExhaustedError
from tfx.core.system_errors import starting_threads

_PROGRAM = """
import os, resource, sys
import numpy as np
import tfx as tf
from tfx.cli import _values

v = tf.Variable(np.zeros(500_000, np.float32))
module = tf.Module()
module.v = v
folder = sys.argv[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
text = b"x" * 2_000_000

def gfile():
    with tf.io.gfile.GFile(folder + "/g", "wb") as file:
        file.write(text)

for name, write in {
    "b": lambda: tf.saved_model.save(module, folder + "/b"),
    "c": lambda: tf.train.Checkpoint(v=v).save(folder + "/c"),
    "g": gfile,
    "w": lambda: tf.io.write_file(folder + "/w", text),
    "o.npy": lambda: _values.write_output(folder + "/o.npy", {"y": v.numpy()}),
}.items():
    try:
        write()
    except tf.errors.ResourceExhaustedError as e:
        assert folder + "/" + name in e.message and "File too large" in e.message, e.message
        print(name)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of a process")
def test_a_limit_of_the_size_of_files(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=source_tree.ROOT,
    )
    assert done.stdout.split() == ["b", "c", "g", "w", "o.npy"], done.stderr


def test_no_thread(monkeypatch):
    def refuse(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(ResourceExhaustedError, match="starts no more threads"), starting_threads():
        threading.Thread(target=print).start()
    with pytest.raises(RuntimeError, match="another"), starting_threads():
        raise RuntimeError("another")
