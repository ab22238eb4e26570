"""``bench.gpu_check``: its programs are right here, so that on a GPU only the GPU is on trial."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bench import gpu_check
from tfx.runtime import gpu_diagnosis


def run(*arguments):
    command = [sys.executable, "-m", "bench.gpu_check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_rehearsal():
    """The quick ones."""
    names = [
        "eager_operations_stay_on_the_gpu",
        "values_cross_where_they_must",
        "failing_kernels_are_errors_of_ours",
        "variables_stay_on_the_gpu",
        "cuda_graphs_see_changed_variables",
        "what_cannot_be_captured_runs",
    ]
    done = run("--rehearse", *names)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("pass  ") == len(names)
    assert "0 failed" in done.stdout


@pytest.mark.slow
def test_all_of_the_rehearsal():
    done = run("--rehearse")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_machine_without_a_gpu(monkeypatch, capsys):
    monkeypatch.setattr(gpu_diagnosis, "gpu_trouble", lambda: "there is none here.")
    assert gpu_check.main([]) == 2
    assert "There is no GPU to check: there is none here." in capsys.readouterr().out


def test_a_failed_check_fails_the_run(monkeypatch, capsys):
    def broken() -> str | None:
        raise AssertionError("wrong numbers")

    monkeypatch.setattr(gpu_diagnosis, "gpu_trouble", lambda: None)
    monkeypatch.setattr(gpu_check, "CHECKS", [("broken", broken), ("fine", lambda: "noted")])
    assert gpu_check.main([]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3].startswith("FAIL  broken")
    assert lines[-3].endswith("AssertionError: wrong numbers")
    assert lines[-2].endswith("noted")
    assert gpu_check.main(["fine"]) == 0


@pytest.mark.gpu
@pytest.mark.slow
def test_the_gpu():
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
