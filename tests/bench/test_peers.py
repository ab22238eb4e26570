"""The peers' scripts and their driver; other frameworks need not be installed."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import numpy as np
import pytest

import tfx as tf
from bench import report
from bench.peers import __main__ as driver
from bench.peers import (
    cases,
    environments,
    memory,
    networks,
    process,
    storage,
    tensorflow_networks,
    with_tfx,
    worker,
)

NETWORK_CASES = [n + suffix for n in networks.NAMES for suffix in ("", "_gradient")]
FOLDER = Path(cases.__file__).parent


# Ratios are computed from other rows, memory is measured by a program of its own.
TIMED = [row for row in cases.ROWS if not row.of and row.unit != "MB"]


def test_every_row_is_a_case_of_tfx() -> None:
    assert [row.case for row in TIMED] == list(with_tfx.MAKERS)


def test_ratios_are_of_rows() -> None:
    ratios = [row for row in cases.ROWS if row.of]
    assert {row.case for row in ratios} == {f"{n}_ratio" for n in ("lstm", *networks.NAMES)}
    for row in ratios:
        assert {"jax", "torch"} == set(row.against)
        assert set(row.of) <= set(with_tfx.MAKERS)


def test_a_ratio_brings_the_rows_that_it_needs() -> None:
    assert [r.case for r in driver._wanted(["mlp_ratio"])] == ["mlp", "mlp_gradient", "mlp_ratio"]
    assert driver._wanted([]) == list(cases.ROWS)
    times = {("mlp", "tfx"): 2.0, ("mlp_gradient", "tfx"): 5.0, ("mlp", "torch"): 1.0}
    driver._divide(list(cases.ROWS), dict.fromkeys(("tfx", "torch")), times)  # type: ignore[arg-type]
    assert times["mlp_ratio", "tfx"] == 2.5
    assert ("mlp_ratio", "torch") not in times


def test_memory_is_promised_within_a_factor() -> None:
    row = next(r for r in cases.ROWS if r.case == "mlp_memory")
    figures = {("mlp_memory", "tfx"): 115e6, ("mlp_memory", "torch"): 100e6}
    assert driver._verdict(row, figures) == ("1.15", "≤ 1.2x torch", "met")
    figures["mlp_memory", "tfx"] = 125e6
    assert driver._verdict(row, figures)[2] == "**missed**"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(memory.BATCHES, "mlp", 2048)
    kept = 2048 * 2 * networks.MLP.hidden * 4
    assert kept < memory.peak("tfx", sys.executable, "mlp") < 20 * kept


@pytest.mark.parametrize("name", networks.NAMES)
def test_networks_have_the_same_gradient_as_their_loss_says(name: str) -> None:
    """Along the gradient itself, by central differences."""
    inputs, weights = networks.arrays(name, 2)
    loss = tensorflow_networks.LOSSES[name](tf)
    variables = [tf.Variable(w) for w in weights]
    with tf.GradientTape() as tape:
        result = loss(*map(tf.constant, inputs), *variables)
    slopes = [s.numpy() for s in tape.gradient(result, variables)]
    size = np.sqrt(sum(float(np.sum(s**2)) for s in slopes))
    ways = [s * (1e-2 / size) for s in slopes]
    above, below = (
        float(loss(*inputs, *[w + sign * d for w, d in zip(weights, ways, strict=True)]))
        for sign in (1, -1)
    )
    assert (above - below) / 2e-2 == pytest.approx(size, rel=2e-2)


@pytest.mark.parametrize("case", [row.case for row in TIMED])
def test_tfx_cases_run(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "OPERATIONS", 10)
    monkeypatch.setattr(storage, "STATE_BYTES", 1 << 16)
    monkeypatch.setattr(storage, "VARIABLES", 20)
    monkeypatch.setattr(storage, "SIGNATURES", 2)
    made = with_tfx.MAKERS[case]()
    assert made.round(1e-5) > 0


@pytest.mark.parametrize(
    ("case", "value"),
    [("call_1", 4.0), ("call_10", 40.0), ("call_100", 400.0), ("nest", 40.0), ("keywords", 8.0)],
)
def test_tfx_cases_compute_what_they_say(case: str, value: float) -> None:
    made = with_tfx.MAKERS[case]()
    made.round(1e-5)
    assert made.first_value == value


def test_tensorflow_has_the_cases_of_tfx() -> None:
    for name in ("tfx", "tensorflow"):
        script = (FOLDER / f"with_{name}.py").read_text(encoding="utf-8")
        assert "MAKERS = tensorflow_calls.makers(tf)\n" in script


@pytest.mark.parametrize("peer", sorted(environments.REQUIREMENTS.keys() - {"tensorflow"}))
def test_peers_scripts_have_the_same_cases(peer: str) -> None:
    """Read, not imported: their frameworks are not here."""
    tree = ast.parse((FOLDER / f"with_{peer}.py").read_text(encoding="utf-8"))
    tables = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "MAKERS"
    ]
    assert len(tables) == 1
    assert isinstance(tables[0], ast.Dict)
    names = [
        name
        for key in tables[0].keys
        for name in (NETWORK_CASES if key is None else [ast.literal_eval(key)])
    ]
    known = [row.case for row in TIMED]
    assert names == [name for name in known if name in names]
    promised = {row.case for row in TIMED if peer in row.against}
    assert promised <= set(names)
    functions = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    for key, maker in zip(tables[0].keys, tables[0].values, strict=True):
        if key is None:
            assert ast.unparse(maker).split("(")[0].endswith("_networks.cases")
            continue
        name = maker.args[0] if isinstance(maker, ast.Call) else maker
        assert ast.unparse(name) in functions


def test_a_case_counts_waiting_but_not_preparing() -> None:
    events: list[str] = []
    case = worker.Case(
        lambda given: events.append(f"call {given}"),
        lambda _: 7.0,
        prepare=lambda: len(events),
        wait=lambda _: events.append("wait"),
    )
    case._number = 2
    case.round(0.1)
    assert events == ["call 0", "wait", "call 2", "wait"]
    case._number = 0
    case.round(1e-9)
    assert case.first_value == 7.0
    assert case._number == 1


def test_a_process_answers_until_it_is_closed() -> None:
    peer = process.Peer("tfx", sys.executable)
    try:
        us, value = peer.measure("call_1", 1e-4)
        assert us is not None
        assert us > 0
        assert value == 4.0
        assert peer.measure("no such case", 1e-4) == (None, 0.0)
    finally:
        peer.close()
    with pytest.raises((process.PeerError, ValueError)):
        peer.measure("call_1", 1e-4)


def test_a_process_that_ends_says_why() -> None:
    with pytest.raises(process.PeerError, match="No module named"):
        process.Peer("nothing", sys.executable)


class _Fake:
    """A peer that answers at once."""

    version = "1"

    def __init__(self, us: float | None, value: float = 1.0) -> None:
        self.us, self.value, self.closed = us, value, False

    def measure(self, case: str, seconds: float) -> tuple[float | None, float]:
        if self.us is not None and self.us < 0:
            raise process.PeerError("it fell over")
        return self.us, self.value

    def close(self) -> None:
        self.closed = True


def _run(
    monkeypatch: pytest.MonkeyPatch, fakes: dict[str, _Fake], arguments: list[str]
) -> tuple[int, dict[str, str]]:
    written: dict[str, str] = {}
    monkeypatch.setattr(driver, "_start", lambda names, pythons: (dict(fakes), []))
    monkeypatch.setattr(report, "replace", written.__setitem__)
    # Neither environments nor processes are made.
    monkeypatch.setattr(driver.environments, "python_of", lambda name, pythons: name)
    monkeypatch.setattr(driver.memory, "peak", lambda name, python, network: 1e8)
    status = driver.main(arguments)
    assert all(f.closed for f in fakes.values())
    return status, written


def test_the_driver_writes_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    fakes = {"tfx": _Fake(2.0), "jax": _Fake(4.0), "tensorflow": _Fake(8.0), "torch": _Fake(None)}
    status, written = _run(monkeypatch, fakes, ["--write"])
    assert status == 0
    text = written["python -m bench.peers"]
    assert "| call with 1 tensor | 2.00 us | 4.00 us | 8.00 us | - | 0.50 |" in text
    assert "≤ jax, tf | met |" in text
    assert "missed" not in text


def test_the_driver_says_what_was_missed_and_what_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fakes = {"tfx": _Fake(5.0), "jax": _Fake(4.0), "tensorflow": _Fake(-1.0)}
    status, _ = _run(monkeypatch, fakes, ["call_1", "--rounds", "1"])
    assert status == 1
    assert "tensorflow failed in call_1: it fell over" in capsys.readouterr().err
    fakes = {"tfx": _Fake(5.0), "jax": _Fake(4.0), "tensorflow": _Fake(9.0)}
    status, written = _run(monkeypatch, fakes, ["--write"])
    assert "**missed**" in written["python -m bench.peers"]


def test_the_driver_compares_results(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _ = _run(monkeypatch, {"tfx": _Fake(1.0, 4.0), "jax": _Fake(1.0, 5.0)}, ["call_1"])
    assert status == 1
    assert "results differ" in capsys.readouterr().err


def test_environments_that_exist_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environments.VARIABLE, "jax=/a/python,torch=/b/python")
    pythons = environments.given(["torch=/c/python"])
    assert pythons == {"jax": "/a/python", "torch": "/c/python"}
    assert environments.python_of("torch", pythons) == "/c/python"
    assert environments.python_of("tfx", pythons) == sys.executable
    for wrong in ("jax", "numpy=/a", "jax="):
        with pytest.raises(ValueError, match="PEER=PYTHON"):
            environments.given([wrong])


def test_environments_are_made_once_in_an_ignored_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert environments.FOLDER.parent == environments.ROOT / ".cache"
    commands: list[list[str]] = []

    class Done:
        returncode = 0
        stderr = "no space left"

    def create(folder: Path, **_: object) -> None:
        folder.mkdir(parents=True)

    def run(command: list[str], **_: object) -> Done:
        commands.append(command)
        return Done()

    monkeypatch.setattr(environments, "FOLDER", tmp_path)
    monkeypatch.setattr(environments.venv, "create", create)
    monkeypatch.setattr(environments.subprocess, "run", run)
    first = environments.python_of("torch", {})
    assert environments.python_of("torch", {}) == first
    assert len(commands) == 1
    assert commands[0][1:] == ["-m", "pip", "install", "--quiet", "numpy", "torch==2.13.0"]
    monkeypatch.setattr(Done, "returncode", 1)
    with pytest.raises(RuntimeError, match="no space left"):
        environments.python_of("jax", {})
