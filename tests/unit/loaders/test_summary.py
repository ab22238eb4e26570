"""Summaries: facts, and their JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.loaders.make_bundle import Function, sample_variables, write_bundle
from tfx.core import errors
from tfx.loaders import summarize


def test_json_says_it_all(sample_path: Path) -> None:
    table = json.loads(json.dumps(summarize(sample_path).as_json()))
    assert table["requirements"] == {"opset": 21, "ir_version": 10, "domains": {}, "features": []}
    step = next(item for item in table["signatures"] if item["name"] == "train_step")
    assert step["inputs"][0] == {"name": "x", "dtype": "float32", "shape": ["batch", 4]}
    assert step["updates"] == ["dense/kernel", "dense/bias", "count"]
    sizes = {item["name"]: item["bytes"] for item in table["variables"]}
    arrays = {k: v for k, v in sample_variables().items() if k != "labels"}
    assert {k: sizes[k] for k in arrays} == {k: v.nbytes for k, v in arrays.items()}
    on_disk = sum(p.stat().st_size for p in sample_path.rglob("*") if p.is_file())
    assert table["bytes"] == on_disk == sum(item["bytes"] for item in table["files"])


def test_unknown_ranks_and_the_tracers_names_are_null(tmp_path: Path) -> None:
    function = Function(
        "f", [], [("x", "float32", None), ("y", "float32", ("y.d0", 2))], [("x", "float32", None)]
    )
    path = write_bundle(tmp_path / "b", {}, [function])
    inputs = summarize(path).as_json()["signatures"][0]["inputs"]
    assert [item["shape"] for item in inputs] == [None, [None, 2]]


def test_a_missing_file_is_told(own_path: Path) -> None:
    (own_path / "ping.onnx").unlink()
    with pytest.raises(errors.BundleError, match=r"ping\.onnx: No such file.*bundle is incomplete"):
        summarize(own_path)


def test_looking_does_not_import_onnx_runtime(sample_path: Path) -> None:
    program = (
        "import sys; from tfx.loaders import summarize; summarize(sys.argv[1]);"
        "assert not {'onnx', 'onnxruntime'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program, str(sample_path)], check=True)
