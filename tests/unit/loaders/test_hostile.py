"""Damaged, foreign and hostile bundles: refused with the file's name, before anything runs.

What could take the process down is tried in another process, whose end is part of the test.
"""

from __future__ import annotations

import dataclasses
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest

from tests import source_tree
from tests.unit.loaders.make_bundle import edit_model, external_tensor, node, rewrite
from tfx.bundle.manifest import Manifest, Storage
from tfx.core import errors
from tfx.loaders import Bundle

READ = {"x": [[1, 2, 3, 4]]}
WEIGHTS = "variables/model.safetensors"


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x10
    path.write_bytes(data)


def refused(path: Path, *texts: str, call: str = "serving_default") -> errors.BundleError:
    with pytest.raises(errors.BundleError) as caught:
        Bundle.open(path).call(call, READ if call == "serving_default" else {})
    for text in texts:
        assert text in str(caught.value)
    return caught.value


# Damage


@pytest.mark.parametrize("file", ["bundle.pb", "serving_default.onnx", WEIGHTS])
@pytest.mark.parametrize("part", [0.0, 0.3, 0.6, 0.999])
def test_every_flip_is_found(own_path: Path, file: str, part: float) -> None:
    flip(own_path / file, int((own_path / file).stat().st_size * part))
    refused(own_path, file)


@pytest.mark.parametrize("file", ["bundle.pb", "serving_default.onnx", WEIGHTS])
@pytest.mark.parametrize("keep", [0.0, 0.5, 0.99])
def test_every_truncation_is_found(own_path: Path, file: str, keep: float) -> None:
    data = (own_path / file).read_bytes()
    (own_path / file).write_bytes(data[: int(len(data) * keep)])
    refused(own_path, file)


@pytest.mark.parametrize("file", ["bundle.pb", "serving_default.onnx", WEIGHTS])
def test_every_missing_file_is_named(own_path: Path, file: str) -> None:
    (own_path / file).unlink()
    refused(own_path, file)


def test_large_weights_are_hashed_on_request(
    own_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tfx.bundle.limits.HASH_ON_LOAD_BYTES", 10)
    flip(own_path / WEIGHTS, -1)
    Bundle.open(own_path).close()
    with pytest.raises(errors.BundleError, match=r"model\.safetensors: its SHA-256"):
        Bundle.open(own_path, verify=True)


def test_verification_covers_files_that_no_call_needs(own_path: Path) -> None:
    flip(own_path / "greet.onnx", 30)
    with Bundle.open(own_path) as bundle:
        bundle.call("serving_default", READ)
    with pytest.raises(errors.BundleError, match=r"greet\.onnx"):
        Bundle.open(own_path, verify=True)


def test_foreign_folders_are_told_from_bundles(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFoundError, match="does not exist, expected the folder"):
        Bundle.open(tmp_path / "nothing")
    refused(tmp_path, "has no bundle.pb")
    (tmp_path / "bundle.pb").write_bytes(b"hello")
    refused(tmp_path, "bundle.pb")


def test_a_newer_bundle_is_told_from_a_damaged_one(own_path: Path) -> None:
    import hashlib

    from tfx.bundle import bundle_pb2 as pb

    proto = pb.Manifest()
    proto.ParseFromString((own_path / "bundle.pb").read_bytes())
    proto.format_version = 9
    proto.ClearField("sha256")
    body = proto.SerializeToString()
    (own_path / "bundle.pb").write_bytes(body + b"\xa2\x01\x20" + hashlib.sha256(body).digest())
    with pytest.raises(errors.UnsupportedVersionError, match="format version 9"):
        Bundle.open(own_path)


# Lies: files and manifest agree on sizes and hashes, and not on what the graphs are.


def edit_initializer(model: onnx.ModelProto, **changes: Any) -> None:
    old = next(t for t in model.graph.initializer if t.name == "dense/kernel")
    place = {item.key: item.value for item in old.external_data} | changes
    dims = place.pop("dims", list(old.dims))
    number = place.pop("number", old.data_type)
    new = external_tensor(
        old.name, number, dims, *(place[k] for k in ("location", "offset", "length"))
    )
    old.CopyFrom(new)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"location": "/etc/passwd"}, "'/etc/passwd'"),
        ({"location": "../secret"}, "'../secret'"),
        ({"location": "*/_ORT_MEM_ADDR_/*"}, "_ORT_MEM_ADDR_"),
        ({"location": "/proc/self/mem"}, "'/proc/self/mem'"),
        ({"location": "greet.onnx"}, "'greet.onnx'"),
        ({"offset": "0"}, "at 0 of"),
        ({"offset": str(1 << 62)}, "takes 48 bytes at"),
        ({"offset": str(10**30)}, "takes 48 bytes at"),
        ({"length": "4"}, "takes 4 bytes"),
        ({"dims": [3, 4]}, "float32[3, 4]"),
        ({"dims": [1 << 40, 1 << 40]}, "is float32[1099511627776, 1099511627776]"),
        ({"dims": [-4, -3]}, "float32[-4, -3]"),
        ({"number": 6}, "is int32[4, 3]"),
        ({"number": 99}, "of ONNX's type 99"),
    ],
)
def test_weights_elsewhere_are_refused(own_path: Path, changes: Any, text: str) -> None:
    edit_model(own_path, "serving_default.onnx", lambda m: edit_initializer(m, **changes))
    refused(own_path, "serving_default.onnx: ", "initializer 'dense/kernel'", text)


@pytest.mark.parametrize(
    ("number", "dims", "place", "text"),
    [
        (1, (4,), ("missing", 0, 16), "'missing', which is no file of the bundle"),
        (1, (4,), (WEIGHTS, 10**9, 16), "takes 16 bytes at 1000000000"),
        (1, (4,), (WEIGHTS, 0, 8), "takes 8 bytes at 0"),
        (8, (4,), (WEIGHTS, 0, 16), "is string[4], which cannot be outside"),
        (77, (4,), (WEIGHTS, 0, 16), "of ONNX's type 77[4], which cannot be outside"),
        (1, (-4,), (WEIGHTS, 0, 16), "is float32[-4], which cannot be outside"),
    ],
)
def test_constants_elsewhere_are_refused(
    own_path: Path, number: int, dims: Any, place: Any, text: str
) -> None:
    def edit(model: onnx.ModelProto) -> None:
        model.graph.initializer.append(external_tensor("c", number, dims, *place))
        model.graph.node.append(node("Identity", ["c"], ["unused"]))

    edit_model(own_path, "serving_default.onnx", edit)
    refused(own_path, "serving_default.onnx: initializer 'c'", text)


def rename_input(model: onnx.ModelProto) -> None:
    model.graph.input[0].name = "z"
    model.graph.node[0].input[0] = "z"


def rename_output(model: onnx.ModelProto) -> None:
    model.graph.output[0].name = "z"
    model.graph.node[-1].output[0] = "z"


def retype_input(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.elem_type = 11


def drop_initializer(model: onnx.ModelProto) -> None:
    del model.graph.initializer[0]
    del model.graph.node[0]


def drop_graph(model: onnx.ModelProto) -> None:
    model.ClearField("graph")


def drop_operator(model: onnx.ModelProto) -> None:
    model.graph.node[0].ClearField("op_type")


def add_input(model: onnx.ModelProto) -> None:
    model.graph.node[1].input.append("nothing")


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (rename_input, "it has the inputs 'z', the manifest says 'x'"),
        (rename_output, "it has no output 'logits'"),
        (retype_input, "input 'x' is float64, the manifest says float32"),
        (drop_initializer, "it has no initializer 'dense/kernel'"),
        (drop_graph, "it has no graph"),
        (drop_operator, "ONNX Runtime cannot load it"),
        (add_input, "ONNX Runtime cannot load it"),
    ],
)
def test_other_graphs_are_refused(
    own_path: Path, edit: Callable[[onnx.ModelProto], None], text: str
) -> None:
    edit_model(own_path, "serving_default.onnx", edit)
    error = refused(own_path, "serving_default.onnx: ", text)
    assert "\n" not in str(error)


def test_an_unknown_operator_is_told_from_damage(own_path: Path) -> None:
    def edit(model: onnx.ModelProto) -> None:
        model.graph.node[1].domain = "com.evil"
        model.opset_import.add(domain="com.evil", version=1)

    edit_model(own_path, "serving_default.onnx", edit)
    with pytest.raises(errors.UnimplementedError, match="lacks an operator that it uses"):
        Bundle.open(own_path).call("serving_default", READ)


def test_a_newer_format_of_models_is_told_without_internals(own_path: Path) -> None:
    def edit(model: onnx.ModelProto) -> None:
        model.ir_version = 1000

    edit_model(own_path, "serving_default.onnx", edit)
    with pytest.raises(errors.UnsupportedVersionError, match=r"\(Unsupported model IR version"):
        Bundle.open(own_path).call("serving_default", READ)


def test_a_newer_opset_is_told_from_damage(own_path: Path) -> None:
    def edit(model: onnx.ModelProto) -> None:
        model.opset_import[0].version = 1000

    edit_model(own_path, "serving_default.onnx", edit)
    with pytest.raises(errors.UnsupportedVersionError, match="too new for the installed ONNX Runt"):
        Bundle.open(own_path).call("serving_default", READ)


def with_first_variable(**changes: Any) -> Callable[[Manifest], Manifest]:
    def change(manifest: Manifest) -> Manifest:
        first, *rest = manifest.variables
        return dataclasses.replace(
            manifest, variables=(dataclasses.replace(first, **changes), *rest)
        )

    return change


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"storage": Storage(WEIGHTS, "nothing")}, "no tensor 'nothing'"),
        ({"storage": Storage(WEIGHTS, "dense/bias")}, "'dense/bias' is float32 of shape (3,)"),
        ({"storage": Storage("ping.onnx", "dense/kernel")}, "ping.onnx"),
    ],
)
def test_variables_elsewhere_are_refused(own_path: Path, changes: Any, text: str) -> None:
    rewrite(own_path, with_first_variable(**changes))
    refused(own_path, text)


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs links")
@pytest.mark.parametrize("file", ["serving_default.onnx", WEIGHTS])
def test_links_out_of_the_bundle_are_refused(own_path: Path, tmp_path: Path, file: str) -> None:
    target = tmp_path / "outside"
    (own_path / file).rename(target)
    (own_path / file).symlink_to(target)
    refused(own_path, "a link that leads out of the bundle")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_does_not_hang(own_path: Path) -> None:
    (own_path / "serving_default.onnx").unlink()
    os.mkfifo(own_path / "serving_default.onnx")
    refused(own_path, "not a plain file")


# In a process of its own, with a limit on memory and time.

_ATTEMPT = """
import resource, signal, sys
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
signal.alarm(120)
from tfx.core.errors import OpError
from tfx.loaders import Bundle
for path in sys.argv[1:]:
    try:
        with Bundle.open(path) as bundle:
            bundle.warmup()
            bundle.call("serving_default", {"x": [[1, 2, 3, 4]]})
            print("ok")
    except OpError as error:
        print(type(error).__name__)
"""


def attempt(*paths: Path) -> list[str]:
    run = subprocess.run(
        [sys.executable, "-c", _ATTEMPT, *map(str, paths)],
        cwd=source_tree.ROOT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    # Nothing but our own words: ONNX Runtime prints some of its errors itself.
    assert run.stderr == ""
    return run.stdout.split()


def huge_constant(model: onnx.ModelProto) -> None:
    shape = onnx.helper.make_tensor("shape", 7, [1], [1 << 50])
    nodes = [
        node("Constant", [], ["shape"], value=shape),
        node("ConstantOfShape", ["shape"], ["zeros"]),
        node("ReduceSum", ["zeros"], ["sum"]),
        node("Add", ["hidden", "sum"], ["logits"]),
    ]
    model.graph.node[1].output[0] = "hidden"
    model.graph.node.extend(nodes)


def short_raw_data(model: onnx.ModelProto) -> None:
    tensor = onnx.TensorProto(name="c", data_type=1, dims=[1 << 40], raw_data=b"1234")
    model.graph.initializer.append(tensor)
    model.graph.node.append(node("Identity", ["c"], ["unused"]))


def own_cycle(model: onnx.ModelProto) -> None:
    model.graph.node[0].input[0] = "logits"


def outside_context(model: onnx.ModelProto) -> None:
    model.graph.node[1].output[0] = "hidden"
    model.graph.node.append(
        onnx.helper.make_node(
            "EPContext",
            ["hidden"],
            ["logits"],
            domain="com.microsoft",
            embed_mode=0,
            ep_cache_context="../../../../etc/passwd",
            main_context=1,
        )
    )
    model.opset_import.add(domain="com.microsoft", version=1)


@pytest.mark.parametrize(
    "edit", [huge_constant, short_raw_data, own_cycle, outside_context], ids=lambda f: f.__name__
)
def test_graphs_that_ask_for_the_impossible_end_in_an_error(
    own_path: Path, edit: Callable[[onnx.ModelProto], None]
) -> None:
    edit_model(own_path, "serving_default.onnx", edit)
    assert attempt(own_path) != ["ok"]


@pytest.mark.slow
def test_random_damage_never_ends_the_process(own_path: Path, tmp_path: Path) -> None:
    import shutil

    rng = random.Random(5)
    files = ["serving_default.onnx", "train_step.onnx", "greet.onnx", WEIGHTS]
    paths = []
    for number in range(60):
        path = tmp_path / str(number)
        shutil.copytree(own_path, path)
        file = path / rng.choice(files)
        data = bytearray(file.read_bytes())
        for _ in range(rng.choice([1, 1, 2, 5])):
            position = rng.randrange(len(data))
            data[position : position + rng.randrange(3)] = rng.randbytes(rng.randrange(4))
        file.write_bytes(data)
        rewrite(path)  # the hashes are right: only what the file says is wrong
        paths.append(path)
    assert len(attempt(*paths)) == len(paths)


def test_the_sample_is_good(own_path: Path) -> None:
    assert attempt(own_path) == ["ok"]
