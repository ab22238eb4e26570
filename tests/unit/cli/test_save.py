"""``tfx save``: bundles from programs and from ONNX models."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.unit.cli.conftest import Run
from tfx.bundle.manifest import read_manifest

PROGRAM = """
import tfx as tf

class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w")

    @tf.function
    def predict(self, x):
        return {"y": tf.matmul(x, self.w)}

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def scale(self, factor):
        self.w.assign(self.w * factor)
        return {"first": self.w[0, 0]}

    def plain(self):
        return 1

class Holder(tf.Module):
    inner = Model()

model = Model()

@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
def double(x):
    return x * 2.0

def make():
    return Model()

def broken():
    raise RuntimeError("no data")

class Single(tf.Module):
    @tf.function
    def times(self, x, y):
        return tf.matmul(x, y)

single = Single()
empty = Holder()
number = 3

class Pair(tf.Module):
    one = tf.function(lambda self, x: x, input_signature=[tf.TensorSpec([])])
    two = tf.function(lambda self, x: x, input_signature=[tf.TensorSpec([])])

pair = Pair()
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a program in the current folder; what it has imported is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "my_model.py").write_text(PROGRAM)
    (tmp_path / "bad_model.py").write_text("import tfx\n1 / 0\n")
    (tmp_path / "no_python.py").write_text("x = = 1\n")
    (tmp_path / "needs_more.py").write_text("import not_installed_anywhere\n")
    yield tmp_path
    for name in ("my_model", "bad_model", "needs_more"):
        sys.modules.pop(name, None)


def call(tfx: Run, path: str, *args: str) -> dict[str, object]:
    result = tfx("load", path, "--json", *args)
    assert result.exit_code == 0, result.stderr
    outputs: dict[str, object] = json.loads(result.stdout)["outputs"]
    return outputs


def test_an_object_with_a_method_and_its_input(tfx: Run, program: Path) -> None:
    result = tfx(
        "save", "my_model:model", "--out", "out", "--signature", "serving_default=predict",
        "--signature", "scale", "--input", "x=float32[batch,2]",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("out: signatures serving_default, scale; ")
    assert call(tfx, "out", "--input", "x=[[1,1]]") == {"y": [[4, 6]]}
    args = ("--signature", "scale", "--input", "factor=2", "--save", "scaled")
    assert call(tfx, "out", *args) == {"first": 2}
    assert call(tfx, "scaled", "--input", "x=[[1,1]]") == {"y": [[8, 12]]}


@pytest.mark.parametrize(
    "source",
    [
        "my_model:make()",
        "my_model.py:model",
        "{folder}/my_model.py:make()",
        "my_model:Holder.inner",
    ],
)
def test_the_ways_to_name_an_object(tfx: Run, program: Path, source: str) -> None:
    result = tfx(
        "save", source.format(folder=program), "--out", "out", "--signature", "p=predict",
        "--input", "x=float32[None,2]",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert call(tfx, "out", "--input", "x=[[1,0]]") == {"y": [[1, 2]]}


def test_a_function_by_itself(tfx: Run, program: Path) -> None:
    assert tfx("save", "my_model:double", "--out", "out").exit_code == 0
    (outputs,) = call(tfx, "out", "--input", "x=[1, 2]").values()
    assert outputs == [2, 4]
    assert tfx("save", "my_model:double", "--out", "out", "--signature", "twice").exit_code == 0
    (outputs,) = call(tfx, "out", "--signature", "twice", "--input", "x=[3]").values()
    assert outputs == [6]


def test_an_onnx_model(tfx: Run, sample_path: Path, tmp_path: Path) -> None:
    source, out = sample_path / "serving_default.onnx", tmp_path / "out"
    assert tfx("save", source, "--out", out, "--signature", "classify").exit_code == 0
    one = call(tfx, str(out), "--input", "x=[[1,2,3,4]]")
    assert one == call(tfx, str(sample_path), "--input", "x=[[1,2,3,4]]")


def test_an_onnx_model_that_takes_nothing_made_up(tfx: Run, program: Path) -> None:
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    ports = [[helper.make_tensor_value_info(n, 1, s)] for n, s in (("x", ["n"]), ("y", None))]
    shape = numpy_helper.from_array(np.int64([7, -1, 11]), "shape")
    model = helper.make_model(
        helper.make_graph(nodes, "g", *ports, [shape]), opset_imports=[helper.make_opsetid("", 21)]
    )
    model.ir_version = 10
    onnx.save(model, program / "odd.onnx")
    plain = tfx("save", "odd.onnx", "--out", "out")
    assert plain.exit_code == 0
    assert "warning: odd.onnx is saved without being compared with its source" in plain.stderr
    assert "--input NAME=DTYPE[SHAPE]" in plain.stderr
    assert not read_manifest(program / "out").examples
    given = tfx("save", "odd.onnx", "--out", "out", "--input", "x=float32[154]")
    assert (given.exit_code, given.stderr) == (0, "")
    assert read_manifest(program / "out").examples
    assert tfx("save", "odd.onnx", "--out", "out", "--no-verify").stderr == ""
    for text, message in (("z=float32[2]", "no input 'z'"), ("x=int32[2]", "does not fit")):
        wrong = tfx("save", "odd.onnx", "--out", "other", "--input", text)
        assert (wrong.exit_code, message in wrong.stderr) == (1, True)
        assert not (program / "other").exists()


@pytest.mark.parametrize(
    ("args", "code", "text"),
    [
        (["my_model"], 2, "'my_model': expected MODULE:OBJECT, FILE.py:OBJECT, a file that"),
        (["nothing:model"], 1, "there is no module 'nothing' in {folder} or among the installed"),
        (["nothing.py:model"], 2, "nothing.py: there is no such file"),
        (["my_model:modle"], 1, "module 'my_model' has no 'modle'; did you mean 'model'?"),
        (["bad_model:x"], 1, "importing 'bad_model' failed: ZeroDivisionError: division by zero"),
        (["bad_model:x"], 1, "(line 2 of {folder}/bad_model.py); --debug shows the traceback"),
        (
            ["needs_more:x"],
            1,
            "importing 'needs_more' failed: ModuleNotFoundError: No module named",
        ),
        (["my_model:make"], 1, "if it makes the model, have it called: 'my_model:make()'"),
        (["{folder}/my_model.py:make"], 1, "have it called: '{folder}/my_model.py:make()'"),
        (["my_model:Model"], 1, "is a class, expected a model; have it called: 'my_model:Model()'"),
        (["my_model:broken()"], 1, "'my_model:broken()' failed: RuntimeError: no data"),
        (
            ["my_model:model", "--signature", "a=plain"],
            1,
            "'plain' is a method, expected a function",
        ),
        (["my_model:model", "--signature", "a=nope"], 1, "an object of class Model has no 'nope'"),
        (["my_model:model", "--input", "x=float99[2]"], 2, "cannot convert 'float99' to a dtype"),
        (
            ["my_model:model", "--signature", "scale", "--input", "z=float32[2]"],
            2,
            "--input z: no function of the signatures takes it",
        ),
        (
            ["my_model:model", "--signature", "a=predict"],
            1,
            "the function has no input_signature, so what it takes is unknown; add --input "
            "x=DTYPE[SHAPE], such as --input 'x=float32[None,8]'",
        ),
        (
            ["my_model:pair", "--input", "x=float32[]"],
            2,
            "choose the function with --signature NAME=METHOD; the object's functions are one, two",
        ),
        (
            ["my_model:single", "--input", "x=float32[2,3]", "--input", "y=float32[2,3]"],
            1,
            "(line 39 of {folder}/my_model.py); --debug shows the traceback",
        ),
        (["my_model:number"], 1, "tfx: Expected an object with attributes to save"),
        (["no_python:x"], 1, "(no_python.py, line 1); --debug shows the traceback"),
        (["nothing.onnx"], 1, "nothing.onnx"),
        (["a.onnx", "--dynamic", "x=0:n"], 2, "an ONNX model has its own inputs"),
        (["a.onnx", "--signature", "a=b"], 2, "an ONNX model has one signature"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value)[:30],
)
def test_mistakes_are_one_line(
    tfx: Run, program: Path, args: list[str], code: int, text: str
) -> None:
    result = tfx("save", *[arg.format(folder=program) for arg in args], "--out", "out")
    assert result.exit_code == code
    assert text.format(folder=program) in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (program / "out").exists()


def test_an_empty_path_is_not_this_folder(tfx: Run, program: Path) -> None:
    result = tfx("save", "my_model:model", "--out", "")
    assert result.exit_code == 2
    assert "Invalid value for '--out': the path is empty; give a name" in result.stderr


def test_inputs_type_the_only_function(tfx: Run, program: Path) -> None:
    types = ("--input", "x=float32[1,2]", "--input", "y=float32[2,1]")
    assert tfx("save", "my_model:single", "--out", "out", *types).exit_code == 0
    (outputs,) = call(tfx, "out", "--input", "x=[[1,2]]", "--input", "y=[[3],[4]]").values()
    assert outputs == [[11]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pair", "choose with --signature NAME=METHOD; the object's functions are one, two"),
        ("empty", "the object, of class Holder, has no function with @tfx.function above it"),
    ],
)
def test_a_bundle_that_nobody_can_call(tfx: Run, program: Path, name: str, text: str) -> None:
    result = tfx("save", f"my_model:{name}", "--out", "out")
    assert result.exit_code == 0
    assert result.stderr == f"out has no signature, so tfx load cannot call it; {text}\n"
    called = tfx("load", "out", "--input", "x=1")
    assert called.exit_code == 1
    assert "has no signatures, so there is nothing to call; save it again with" in called.stderr


def test_a_file_that_is_no_model(tfx: Run, program: Path) -> None:
    (program / "bad.onnx").write_bytes(b"hello")
    result = tfx("save", "bad.onnx", "--out", "out")
    assert result.exit_code == 1
    assert "bad.onnx" in result.stderr
    assert result.stderr.count("\n") == 1
