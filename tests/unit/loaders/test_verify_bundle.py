"""``verify``: what it looks at, and what it finds."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import tfx as tf
from tests.unit.loaders.models import save
from tfx.bundle.files import file_entry
from tfx.bundle.manifest import MANIFEST_NAME, manifest_bytes, read_manifest
from tfx.core import errors
from tfx.loaders import Bundle, VerifyReport, verify


@pytest.fixture(scope="module")
def template(tmp_path_factory: Any) -> Path:
    return save(tmp_path_factory.mktemp("verify") / "m")


@pytest.fixture
def bundle(template: Path, tmp_path: Path) -> Path:
    shutil.copytree(template, tmp_path / "m")
    return tmp_path / "m"


def failed(report: VerifyReport) -> list[tuple[str, str]]:
    return [(c.what, c.subject) for c in report.checks if c.status == "failed"]


def rehash(folder: Path, **changes: Any) -> None:
    """Make the manifest fit files that were changed, as somebody who means harm would."""
    manifest = read_manifest(folder)
    files = tuple(file_entry(folder, item.path) for item in manifest.files)
    changed = dataclasses.replace(manifest, files=files, **changes)
    (folder / MANIFEST_NAME).write_bytes(manifest_bytes(changed))


def test_a_good_bundle(template: Path) -> None:
    report = verify(template)
    assert report.is_ok, failed(report)
    made = {(c.what, c.subject) for c in report.checks}
    assert ("files", "7 of 7") in made
    for form in ("stock form", "live form", "live = stock"):
        assert (form, "serving_default, example 1 of 2") in made
    assert ("sizes", "serving_default") in made
    assert report.as_json()["ok"] is True


def test_damage_is_found_in_any_file(template: Path, tmp_path: Path) -> None:
    for item in read_manifest(template).files:
        folder = tmp_path / item.path.replace("/", "-")
        shutil.copytree(template, folder)
        data = bytearray((folder / item.path).read_bytes())
        data[len(data) // 2] ^= 1
        (folder / item.path).write_bytes(data)
        assert ("files", item.path) in failed(verify(folder))


def test_other_numbers_are_found(bundle: Path) -> None:
    path = bundle / "serving_default.onnx"
    model = onnx.load(path, load_external_data=False)
    for node in model.graph.node:
        if node.op_type == "MatMul":
            node.op_type = "MatMul"
            node.input[0], extra = "twice", node.input[0]
            twice = onnx.helper.make_node("Add", [extra, extra], ["twice"])
            model.graph.node.insert(0, twice)
            break
    path.write_bytes(model.SerializeToString())
    rehash(bundle)
    found = failed(verify(bundle))
    assert ("stock form", "serving_default, example 1 of 2") in found
    assert ("live = stock", "serving_default, example 1 of 2") in found
    assert all(subject.startswith("serving_default") for _, subject in found)


def test_other_variables_are_not_compared(bundle: Path, tmp_path: Path) -> None:
    with Bundle.open(bundle) as opened:
        opened.variables["w"] = np.zeros((3, 2), np.float32)
        opened.save(tmp_path / "other")
    report = verify(tmp_path / "other")
    assert report.is_ok
    skipped = [c.detail for c in report.checks if c.status == "skipped"]
    assert all("recorded with other variables" in text for text in skipped)
    assert skipped


def test_values_that_are_not_finite(tmp_path: Path) -> None:
    module = tf.Module()
    module.v = tf.Variable([1.0, np.nan])
    module.f = tf.function(lambda x: x + module.v, input_signature=[tf.TensorSpec([2])])
    given = {"serving_default": {"x": np.float32([1, 2])}}
    tf.saved_model.save(module, tmp_path / "m", options=tf.saved_model.SaveOptions(examples=given))
    assert failed(verify(tmp_path / "m")) == [
        ("variables", "v"),
        ("finite", "serving_default, example 1 of 1"),
    ]


def test_without_examples_inputs_are_made_up(tmp_path: Path) -> None:
    report = verify(save(tmp_path / "m", examples=False))
    assert report.is_ok
    assert ("live = stock", "serving_default, made up inputs 2") in {
        (c.what, c.subject) for c in report.checks
    }


def test_an_opset_that_is_too_new(bundle: Path) -> None:
    manifest = read_manifest(bundle)
    newer = dataclasses.replace(manifest.requirements, opset=99)
    rehash(bundle, requirements=newer)
    assert ("opset", "") in failed(verify(bundle))


def test_no_signatures(tmp_path: Path) -> None:
    tf.saved_model.save(tf.Module(), tmp_path / "m")
    report = verify(tmp_path / "m")
    assert report.is_ok
    assert {c.status for c in report.checks} == {"ok", "skipped"}


def test_what_is_no_bundle(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFoundError):
        verify(tmp_path / "no")
    with pytest.raises(errors.BundleError):
        verify(tmp_path)
