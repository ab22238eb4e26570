"""The benchmarks run: a few calls of each, for numbers that mean nothing."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import tfx as tf
from bench import __main__ as command
from bench import (
    activations,
    calls,
    checkpoints,
    control_flow,
    functions,
    gradients,
    profiles,
    reductions,
    report,
    startup,
    storage,
    tracing,
)
from bench.measure import Result, best_of


def _sane(results: list[Result]) -> None:
    assert len({r.name for r in results}) == len(results)
    for r in results:
        assert math.isfinite(r.ratio), r
        assert r.reference > 0, r
        assert r.note
        assert r.unit


def test_calls_run() -> None:
    _sane(calls.run(effort=1e-4))


def test_profiles_run() -> None:
    _sane(profiles.run(side=32, batch=1, depths=(1, 1)))


def test_activations_run() -> None:
    _sane(activations.run(effort=1e-4))


def test_reductions_run() -> None:
    _sane(reductions.run(effort=1e-4))


def test_functions_run_and_have_the_promised_rows() -> None:
    results = functions.run(effort=1e-3)
    _sane(results)
    targets = {r.name: r.target for r in results}
    assert targets["call with 1 tensor"] == 1.8
    assert targets["call with 10 tensors"] == 1.5
    assert targets["call with 100 tensors"] == 1.5
    assert targets["call with a nest of 10 tensors"] == 1.5
    assert targets["step that assigns 200 variables: over ORT"] == 1.0


def test_control_flow_runs_and_has_the_promised_rows() -> None:
    results = control_flow.run(effort=1e-3)
    _sane(results)
    targets = {r.name: r.target for r in results}
    assert targets["conversion of a function of 200 lines"] == 1.0
    tiny = [r for r in results if "tiny iterations" in r.name]
    assert {r.target for r in tiny} == {1.5}
    assert len(tiny) == 4


def test_gradients_run_and_have_the_promised_rows() -> None:
    results = gradients.run(effort=1e-3)
    assert len({r.name for r in results}) == len(results)
    assert {r.target for r in results} == {1.5}
    assert all(r.reference > 0 for r in results)
    assert any("Jacobian" in r.name for r in results)


def test_checkpoints_run_and_have_the_promised_rows() -> None:
    results = checkpoints.run(nbytes=4 << 20, variables=100, rounds=1)
    _sane(results)
    targets = [(r.target, r.at_least) for r in results]
    assert targets == [(0.7, True), (0.7, True), (None, True), (1.0, False), (1.0, False)]


def test_the_long_function_has_200_lines() -> None:
    source = control_flow._long_function(200)
    function = source[source.index("def long") :]
    assert len(function.splitlines()) == 200
    compile(source, "long", "exec")


def test_tracing_runs() -> None:
    _sane(tracing.run(nodes=10))


def test_startup_and_storage_have_what_the_command_calls() -> None:
    assert list(command.SUITES) == [
        "calls",
        "functions",
        "activations",
        "control_flow",
        "gradients",
        "reductions",
        "tracing",
        "profiles",
        "startup",
        "storage",
        "checkpoints",
        "javascript",
    ]
    assert command.SUITES["startup"] is startup.run
    assert command.SUITES["storage"] is storage.run


def test_the_reference_computes_what_the_function_does() -> None:
    state = tf.Variable([[1.0, 2.0]])

    @tf.function
    def step(given, scale):
        state.assign_add(given["a"] * scale)
        return given["b"] - given["a"]

    given = {"b": tf.constant([[5.0, 7.0]]), "a": tf.constant([[1.0, 1.0]])}
    step(given, 2.0)
    before = state.numpy()
    result, new = calls.raw_call(step, given, 2.0)()
    np.testing.assert_array_equal(result.numpy(), [[4.0, 6.0]])
    # The reference was made after one more call of the function.
    np.testing.assert_array_equal(new.numpy(), before + 2.0 + 2.0)
    np.testing.assert_array_equal(state.numpy(), before + 2.0)


def test_best_of_gives_microseconds_of_one_call() -> None:
    counts = [0, 0]

    def first() -> None:
        counts[0] += 1

    def second() -> None:
        counts[1] += 1

    times = best_of([first, second], number=5, repeats=3)
    assert counts == [16, 16]
    assert all(0 < t < 1e4 for t in times)


def test_ratios_and_targets() -> None:
    assert Result("a", 3.0, 2.0, "us", 1.5, "n").met
    assert not Result("a", 3.1, 2.0, "us", 1.5, "n").met
    assert not Result("a", 3.0, 2.0, "us", 1.6, "n", at_least=True).met
    assert Result("a", 9.0, 2.0, "us", None, "n").met


def test_command_measures_one_suite_and_prints_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(command.SUITES, "calls", lambda: [Result("x", 1.0, 2.0, "us", None, "y")])
    assert command.main(["calls"]) == 0
    assert "0.50" in capsys.readouterr().out


def test_command_writes_the_whole_table_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command.main(["calls", "--write"])
    assert "leave out the names" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.main(["cals"])
    assert "'cals'" in capsys.readouterr().err
    written = {}
    monkeypatch.setattr(report, "replace", written.__setitem__)
    results = [Result("x", 2.0, 1.0, "us", 1.5, "y"), Result("z", 2.0, 1.0, "us", None, "y")]
    monkeypatch.setattr(command, "SUITES", {"one": lambda: results})
    assert command.main(["--write"]) == 0
    assert "| x | 2.00 us | 1.00 us (y) | 2.00 | ≤ 1.5 | **missed** |" in written["make bench"]
    assert "| z | 2.00 us | 1.00 us (y) | 2.00 | | |" in written["make bench"]


def test_report_replaces_one_block(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "a\n<!-- begin: x -->\nold\n<!-- end: x -->\nb\n<!-- begin: y -->\n<!-- end: y -->\n"
    )
    report.replace("x", "new", page)
    report.replace("y", "other", page)
    text = page.read_text()
    assert text.startswith("a\n<!-- begin: x -->\nnew\n<!-- end: x -->\nb\n")
    assert text.endswith("<!-- begin: y -->\nother\n<!-- end: y -->\n")
    with pytest.raises(ValueError, match="no block"):
        report.replace("z", "new", page)


@pytest.mark.parametrize("block", ["make bench", "python -m bench.peers", "python -m bench.keras"])
def test_the_page_has_the_blocks(block: str) -> None:
    text = report.REPORT.read_text(encoding="utf-8")
    assert text.count(f"<!-- begin: {block} -->") == text.count(f"<!-- end: {block} -->") == 1


def test_machine_says_when_and_where() -> None:
    import datetime

    text = report.machine("ONNX Runtime 1.2")
    assert text.startswith(str(datetime.date.today().year))
    assert "ONNX Runtime 1.2" in text
    assert " cores" in text
