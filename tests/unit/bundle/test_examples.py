"""When two results are alike, and what ties an example to the variables."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tfx.bundle.examples import difference, is_finite, max_difference, variables_digest
from tfx.bundle.manifest import manifest_bytes, parse_manifest
from tfx.bundle.python_values import Leaf, TensorInfo
from tfx.bundle.records import (
    ConcreteFunctionEntry,
    Example,
    ExampleCall,
    FileEntry,
    GraphEntry,
    GraphInput,
    GraphOutput,
    Manifest,
    ObjectNode,
    Requirements,
    Signature,
    SignatureTensor,
    Storage,
    VariableEntry,
)
from tfx.core.errors import BundleError

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("found", "expected", "alike"),
    [
        (np.float32([1, 2]), np.float32([1, 2]), True),
        (np.float32([1, 2.0001]), np.float32([1, 2]), True),  # of the greatest, 2
        (np.float32([1, 2.001]), np.float32([1, 2]), False),
        (np.float32([1000.01, 0]), np.float32([1000, 0]), True),
        (np.float32([1, 2]), np.float64([1, 2]), False),
        (np.float32([[1, 2]]), np.float32([1, 2]), False),
        (np.float32([NAN, INF]), np.float32([NAN, INF]), True),
        (np.float32([INF]), np.float32([-INF]), False),
        (np.float32([NAN]), np.float32([1]), False),
        (np.float32([]), np.float32([]), True),
        (np.float32(3), np.float32(3), True),
        (np.int64([1, 2]), np.int64([1, 3]), False),
        (np.bool_([True]), np.bool_([True]), True),
        (np.array(["a", "b"], object), np.array([b"a", b"b"], object), True),
        (np.array(["a"], object), np.array(["c"], object), False),
        (np.array([1.0], ml_dtypes.bfloat16), np.array([1.03], ml_dtypes.bfloat16), True),
        (np.array([1.0], ml_dtypes.bfloat16), np.array([1.5], ml_dtypes.bfloat16), False),
        (np.complex64([1j]), np.complex64([1j + 1e-6]), True),
        (np.complex64([1j]), np.complex64([1]), False),
    ],
    ids=lambda value: None,
)
def test_difference(found: Any, expected: Any, alike: bool) -> None:
    assert (difference(found, expected, 1e-4) == "") is alike


def test_the_place_is_told() -> None:
    text = difference(np.int32([[1, 2], [3, 4]]), np.int32([[1, 2], [5, 4]]), 0)
    assert text == "differs at [1, 0]: 3, expected 5"


def test_max_difference() -> None:
    assert max_difference(np.float32([1, 5]), np.float32([1, 2])) == 3
    assert max_difference(np.float32([NAN, 1]), np.float32([NAN, 1])) == 0
    assert max_difference(np.float32([NAN]), np.float32([1])) == INF
    assert max_difference(np.array(["a"], object), np.array(["b"], object)) == 1
    assert max_difference(np.int8([]), np.int8([])) == 0


def test_is_finite() -> None:
    assert is_finite(np.float32([1]))
    assert not is_finite(np.array([NAN], ml_dtypes.bfloat16))
    assert not is_finite(np.complex128([complex(0, INF)]))
    assert is_finite(np.array(["nan"], object))
    assert is_finite(np.int8([1]))


def manifest(**changes: Any) -> Manifest:
    spec = TensorInfo("float32", (None,), "x")
    graph = GraphEntry(
        "f.onnx",
        (GraphInput("x", "float32", (None,), "argument", 0),),
        (GraphOutput("y", "float32", (None,), "result", 0),),
    )
    concrete = ConcreteFunctionEntry("f", ((Leaf(0),), {}), Leaf(0), (spec,), (spec,), graph)
    files = [FileEntry(name, 3, name[:1].encode() * 32) for name in ("e.safetensors", "f.onnx")]
    files.append(FileEntry("v.safetensors", 3, b"v" * 32))
    signature = Signature("f", 0, (SignatureTensor("x", 0),), (SignatureTensor("y", 0),))
    place = Storage("e.safetensors", "a")
    made = Manifest(
        "test",
        "1",
        Requirements(21, 10),
        files=tuple(files),
        variables=(VariableEntry("v", "float32", (1,), Storage("v.safetensors", "v")),),
        objects=(ObjectNode("object"),),
        concrete_functions=(concrete,),
        signatures=(signature,),
    )
    example = Example("f", (ExampleCall({"x": place}, {"y": place}),), 0.5, bytes(32), True)
    return dataclasses.replace(made, examples=(dataclasses.replace(example, **changes),))


def test_examples_come_back() -> None:
    made = manifest()
    assert parse_manifest(manifest_bytes(made)).examples == made.examples


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"signature": "g"}, "of the signature 'g'"),
        ({"calls": ()}, "no calls"),
        ({"tolerance": NAN}, "tolerance is nan"),
        ({"tolerance": -1.0}, "tolerance is -1"),
        ({"variables_sha256": b"1"}, "1 bytes, expected 32"),
        ({"calls": (ExampleCall({}, {}),)}, "its inputs are"),
        (
            {"calls": (ExampleCall({"x": Storage("e", "a")}, {"z": Storage("e", "")}),)},
            "its outputs are",
        ),
        ({"calls": (ExampleCall({"x": Storage("no", "a")}),)}, "not listed"),
        ({"calls": (ExampleCall({"x": Storage("v.safetensors", "v")}),)}, "holds other things"),
        ({"calls": (ExampleCall({"x": Storage("e.safetensors", "")}),)}, "is empty"),
    ],
    ids=["signature", "calls", "nan", "negative", "digest", "inputs", "outputs", "file", "weights",
         "key"],
)  # fmt: skip
def test_wrong_examples_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BundleError, match=message):
        manifest_bytes(manifest(**changes))


def test_the_digest_follows_the_files_of_variables_alone() -> None:
    made = manifest()
    digest = variables_digest(made)
    graph, weights = made.files[1], made.files[2]
    other = dataclasses.replace(graph, sha256=b"x" * 32)
    assert variables_digest(dataclasses.replace(made, files=(other, weights))) == digest
    changed = dataclasses.replace(weights, sha256=b"x" * 32)
    assert variables_digest(dataclasses.replace(made, files=(graph, changed))) != digest


def test_old_readers_pass_over_them(tmp_path: Path) -> None:
    """What does not know field 15 sees the rest: it is an ordinary unknown field."""
    data = manifest_bytes(manifest())
    plain = manifest_bytes(dataclasses.replace(manifest(), examples=()))
    assert len(data) > len(plain)
    assert data[: len(plain) - 35] == plain[:-35]  # the field comes behind what they know
