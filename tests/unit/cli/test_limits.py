"""``--timeout``, and Ctrl-C while a graph runs: one line, an exit code of its own."""

from __future__ import annotations

import signal
import sys
import time
from importlib.machinery import ExtensionFileLoader
from pathlib import Path

import pytest

import tfx as tf
from tests.unit.cli.conftest import Run
from tests.unit.cli.test_app import start
from tfx.cli import _interrupts
from tfx.loaders import verify
from tfx.loaders.verify_bundle import RUN_SECONDS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")


class Halving(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.v = tf.Variable(0.5)

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32, name="x")])
    def halve(self, x):
        while x < 1.0:
            x = x * self.v
        return x

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32, name="n")])
    def count(self, n):
        y = self.v + 0.0
        for _ in tf.range(n):
            y = y * 1.0
        return y


@pytest.fixture(scope="module")
def bundle(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("limits") / "halving"
    model = Halving()
    # The example takes some tenths of a second.
    examples = {"count": [{"n": 300_000}]}
    options = tf.saved_model.SaveOptions(examples=examples)
    signatures = {"serving_default": model.halve, "count": model.count}
    tf.saved_model.save(model, path, signatures=signatures, options=options)
    return path


def test_a_call_has_a_limit(tfx: Run, bundle: Path) -> None:
    assert tfx("load", bundle, "--input", "x=2", "--timeout", 60).exit_code == 0
    result = tfx("load", bundle, "--input", "x=0.5", "--timeout", 0.3)
    assert result.exit_code == 124
    assert result.stderr == (
        "tfx: tfx load did not end within 0.3 s; give it a larger --timeout, or 0 for no limit\n"
    )
    result = tfx("load", bundle, "--input", "x=2", "--timeout", 0)
    assert result.exit_code == 0, result.stderr


def test_the_limit_of_a_run_is_a_check_that_failed(tfx: Run, bundle: Path) -> None:
    report = verify(bundle, seconds=0.02)
    (bad,) = [check for check in report.checks if check.status == "failed"]
    assert bad.subject.startswith("count")
    assert "did not end within 0.02 s" in bad.detail
    assert verify(bundle).is_ok
    assert f"{RUN_SECONDS:g} s" in tfx("verify", "--help").stdout
    assert tfx("verify", bundle, "--timeout", 60).exit_code == 0


def test_an_interrupt_waits_until_a_module_is_loaded(monkeypatch) -> None:
    done = []

    def load(loader, module):
        signal.raise_signal(signal.SIGINT)
        done.append(module)

    monkeypatch.setattr(ExtensionFileLoader, "exec_module", load)
    loader = ExtensionFileLoader("name", "nowhere.so")
    with pytest.raises(KeyboardInterrupt), _interrupts.whole_imports():
        loader.exec_module("first")
    assert done == ["first"]
    assert ExtensionFileLoader.exec_module is load
    with pytest.raises(KeyboardInterrupt):
        loader.exec_module("second")
    assert done == ["first"]


def test_ctrl_c_ends_a_running_graph(bundle: Path) -> None:
    process = start("load", bundle, "--input", "x=0.5")
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "\ntfx: interrupted\n")
