"""The conformance bundles, in the loader for Python."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

# One process makes the bundles.
pytestmark = pytest.mark.xdist_group("conformance")

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "loaders" / "conformance"
HONEST = [
    "archive",
    "archive_in_archive",
    "archive_of_others",
    "brain_floats",
    "control_flow",
    "dtypes",
    "generation_gpt2",
    "generation_llama",
    "growing",
    "halves",
    "keras_dense",
    "keras_images",
    "keras_texts",
    "large",
    "lines",
    "mixed_bfloat16",
    "mixed_float16",
    "narrow",
    "optimizers",
    "passed_through",
    "random_numbers",
    "scan",
    "shapes",
    "storage",
    "strings",
    "structures",
    "thawed",
    "tiny_floats",
    "training",
    "zoo_char_lstm",
    "zoo_decoder",
    "zoo_forces",
    "zoo_sentence_encoder",
]


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("conformance")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, FOLDER / "make.py", folder]
    subprocess.run(command, check=True, env=environment, timeout=300)
    return {path.name: path for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_python", FOLDER / "run_python.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", HONEST)
def test_case(cases: dict[str, Path], runner: ModuleType, name: str, tmp_path: Path) -> None:
    assert json.loads((cases[name] / "case.json").read_text(encoding="utf-8"))["steps"]
    runner.run_case(cases[name], tmp_path)


def test_hostile_bundles_are_refused(
    cases: dict[str, Path], runner: ModuleType, tmp_path: Path
) -> None:
    names = [name for name in cases if name not in HONEST]
    assert len(names) >= 85
    for name in names:
        assert "refused" in json.loads((cases[name] / "case.json").read_text(encoding="utf-8"))
        runner.run_case(cases[name], tmp_path)


def test_a_wrong_number_is_noticed(
    cases: dict[str, Path], runner: ModuleType, tmp_path: Path
) -> None:
    path = cases["structures"] / "case.json"
    honest = path.read_text(encoding="utf-8")
    case = json.loads(honest)
    case["steps"][0]["outputs"]["first"]["data"][0] += 0.5
    path.write_text(json.dumps(case), encoding="utf-8")
    try:
        with pytest.raises(AssertionError):
            runner.run_case(cases["structures"], tmp_path)
    finally:
        path.write_text(honest, encoding="utf-8")
