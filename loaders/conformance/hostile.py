"""Bundles that every loader must refuse, made from an honest one by changing one thing each."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx

from tfx.bundle import bundle_pb2

_WEIGHTS = "variables/model.safetensors"


class Victim:
    """A copy of a bundle whose manifest can be changed.

    Args:
        folder: The copy.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = bundle_pb2.Manifest()
        self.manifest.ParseFromString((folder / "bundle.pb").read_bytes())

    def entry(self, path: str) -> Any:
        """What the manifest says of a file."""
        return next(item for item in self.manifest.files if item.path == path)

    def replace(self, path: str, data: bytes) -> None:
        """Replace a file, so that the manifest is right about it."""
        (self.folder / path).write_bytes(data)
        entry = self.entry(path)
        entry.size, entry.sha256 = len(data), hashlib.sha256(data).digest()

    def write(self) -> None:
        """Write the manifest with a right digest."""
        self.manifest.ClearField("sha256")
        body = self.manifest.SerializeToString(deterministic=True)
        data = body + b"\xa2\x01\x20" + hashlib.sha256(body).digest()
        (self.folder / "bundle.pb").write_bytes(data)

    def change_header(self, change: Callable[[dict[str, Any]], Any]) -> None:
        """Change the header of the weights; ``change`` may return other text."""
        data = (self.folder / _WEIGHTS).read_bytes()
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + length])
        text = change(header)
        if text is None:
            text = json.dumps(header)
        raw = text.encode()
        raw += b" " * (-len(raw) % 64)
        self.replace(_WEIGHTS, struct.pack("<Q", len(raw)) + raw + data[8 + length :])

    def change_model(self, change: Callable[[onnx.ModelProto], None]) -> None:
        """Change the graph of ``predict``."""
        model = onnx.load(self.folder / "predict.onnx", load_external_data=False)
        change(model)
        self.replace("predict.onnx", model.SerializeToString())


def _newer(v: Victim) -> None:
    v.manifest.format_version = 2


def _feature(v: Victim) -> None:
    v.manifest.requirements.features.append("telepathy")


def _no_version(v: Victim) -> None:
    v.manifest.format_version = 0


def _future_opset(v: Victim) -> None:
    v.manifest.requirements.opset = 4_000


def _future_ir(v: Victim) -> None:
    v.manifest.requirements.ir_version = 4_000


def _sums_of_pieces_missing(v: Victim) -> None:
    v.entry(_WEIGHTS).crc32[:] = [1, 2, 3]


def _asset_not_listed(v: Victim) -> None:
    v.manifest.assets.add(file="secret.txt")


def _absurd_opset(v: Victim) -> None:
    v.manifest.requirements.opset = 2**31 - 1


def _future_graph(v: Victim) -> None:
    def change(model: onnx.ModelProto) -> None:
        model.opset_import[0].version = 4_000

    v.change_model(change)


def _parent_path(v: Victim) -> None:
    v.entry("predict.onnx").path = "../predict.onnx"


def _absolute_path(v: Victim) -> None:
    v.entry("predict.onnx").path = "/etc/passwd"


def _listed_twice(v: Victim) -> None:
    v.manifest.files.append(v.entry("predict.onnx"))


def _unlisted(v: Victim) -> None:
    v.manifest.files.remove(v.entry("predict.onnx"))


def _missing_file(v: Victim) -> None:
    (v.folder / "predict.onnx").unlink()


def _truncated_weights(v: Victim) -> None:
    path = v.folder / _WEIGHTS
    path.write_bytes(path.read_bytes()[:-4])


def _changed_weights(v: Victim) -> None:
    path = v.folder / _WEIGHTS
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def _changed_graph(v: Victim) -> None:
    path = v.folder / "predict.onnx"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _variable_out_of_range(v: Victim) -> None:
    for concrete in v.manifest.concrete_functions:
        for item in concrete.graph.inputs:
            if item.WhichOneof("source") == "variable":
                item.variable = 10**6


def _wrong_dtype(v: Victim) -> None:
    for variable in v.manifest.variables:
        if variable.name == "kernel":
            variable.dtype = bundle_pb2.DTYPE_FLOAT64


def _name_twice(v: Victim) -> None:
    for variable in v.manifest.variables:
        variable.name = "same"


def _signature_without_input(v: Victim) -> None:
    for signature in v.manifest.signatures:
        del signature.inputs[:]


def _hole(v: Victim) -> None:
    def change(header: dict[str, Any]) -> None:
        last = max((t for k, t in header.items() if k[0] != "_"), key=lambda t: t["data_offsets"])
        last["data_offsets"] = [n + 8 for n in last["data_offsets"]]

    v.change_header(change)


def _overlap(v: Victim) -> None:
    def change(header: dict[str, Any]) -> None:
        tensors = [t for k, t in header.items() if k != "__metadata__" and t["dtype"] == "F32"]
        tensors[0]["data_offsets"] = tensors[1]["data_offsets"]

    v.change_header(change)


def _key_twice(v: Victim) -> None:
    def change(header: dict[str, Any]) -> str:
        key = next(k for k in header if k != "__metadata__")
        text = json.dumps(header)
        return f"{text[:-1]},{json.dumps(key)}:{json.dumps(header[key])}}}"

    v.change_header(change)


def _endless_header(v: Victim) -> None:
    data = (v.folder / _WEIGHTS).read_bytes()
    v.replace(_WEIGHTS, struct.pack("<Q", 2**62) + data[8:])


def _set_external(model: onnx.ModelProto, **values: str) -> None:
    for tensor in model.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            for item in tensor.external_data:
                item.value = values.get(item.key, item.value)


def _external_elsewhere(v: Victim) -> None:
    v.change_model(lambda m: _set_external(m, location="/etc/passwd"))


def _external_parent(v: Victim) -> None:
    v.change_model(lambda m: _set_external(m, location="../secret"))


def _external_beyond(v: Victim) -> None:
    v.change_model(lambda m: _set_external(m, offset="999999999"))


def _external_shifted(v: Victim) -> None:
    v.change_model(lambda m: _set_external(m, offset="8"))


def _external_without_offset(v: Victim) -> None:
    def change(model: onnx.ModelProto) -> None:
        for tensor in model.graph.initializer:
            kept = [item for item in tensor.external_data if item.key != "offset"]
            del tensor.external_data[:]
            tensor.external_data.extend(kept)

    v.change_model(change)


def _external_without_elements(v: Victim) -> None:
    def change(model: onnx.ModelProto) -> None:
        tensor = onnx.TensorProto(name="none", data_type=1, dims=[0])
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", _WEIGHTS), ("offset", "0"), ("length", "0")):
            tensor.external_data.add(key=key, value=value)
        model.graph.initializer.append(tensor)

    v.change_model(change)


def _leaf_twice(v: Victim) -> None:
    for signature in v.manifest.signatures:
        if signature.inputs:
            extra = signature.inputs.add()
            extra.name, extra.leaf = "again", signature.inputs[0].leaf


def _endless_function(v: Victim) -> None:
    def change(model: onnx.ModelProto) -> None:
        node = onnx.helper.make_node("Again", ["a"], ["b"], domain="local")
        model.functions.append(
            onnx.helper.make_function(
                "local", "Again", ["a"], ["b"], [node], [onnx.helper.make_opsetid("local", 1)]
            )
        )
        model.opset_import.append(onnx.helper.make_opsetid("local", 1))
        model.graph.node.append(
            onnx.helper.make_node("Again", ["x"], ["never_used"], domain="local")
        )

    v.change_model(change)


def _many_functions(v: Victim) -> None:
    def change(model: onnx.ModelProto) -> None:
        opsets = [onnx.helper.make_opsetid("local", 1), onnx.helper.make_opsetid("", 21)]
        for level in range(40):
            kind, domain = (f"F{level - 1}", "local") if level else ("Identity", "")
            nodes = [
                onnx.helper.make_node(kind, ["a"], [name], domain=domain) for name in ("c", "b")
            ]
            model.functions.append(
                onnx.helper.make_function("local", f"F{level}", ["a"], ["b"], nodes, opsets)
            )
        model.opset_import.append(onnx.helper.make_opsetid("local", 1))
        model.graph.node.append(onnx.helper.make_node("F39", ["x"], ["never_used"], domain="local"))

    v.change_model(change)


def _deep_graphs(v: Victim) -> None:
    # By hand: the library for Protocol Buffers stops at a hundred messages in each other.
    def field(number: int, content: bytes) -> bytes:
        size = len(content)
        return (
            bytes([number << 3 | 2, size & 127 | 128, size >> 7 & 127 | 128, size >> 14]) + content
        )

    node = field(1, b"x") + field(2, b"never_used") + field(4, b"Identity")
    for _ in range(60):
        attribute = field(1, b"then_branch") + b"\xa0\x01\x05" + field(6, field(1, node))
        node = field(1, b"c") + field(2, b"never_used") + field(4, b"If") + field(5, attribute)
    model = onnx.load(v.folder / "predict.onnx", load_external_data=False)
    graph = model.graph.SerializeToString() + field(1, node)
    model.ClearField("graph")
    v.replace("predict.onnx", model.SerializeToString() + field(7, graph))


def _external_in_a_branch(v: Victim) -> None:
    def change(model: onnx.ModelProto) -> None:
        tensor = next(t for t in model.graph.initializer if t.external_data)
        body = onnx.helper.make_graph([], "body", [], [], [tensor])
        model.graph.node.append(
            onnx.helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)
        )

    v.change_model(change)


def _external_of_another_file(v: Victim) -> None:
    v.change_model(lambda m: _set_external(m, location="train_step.onnx", offset="0"))


def _swapped_weights(v: Victim) -> None:
    variables = {item.name: item for item in v.manifest.variables}
    variables["kernel"].storage.key, variables["head"].storage.key = (
        variables["head"].storage.key,
        variables["kernel"].storage.key,
    )


def _results_missing(v: Victim) -> None:
    for concrete in v.manifest.concrete_functions:
        kept = [o for o in concrete.graph.outputs if o.WhichOneof("target") != "result"]
        del concrete.graph.outputs[:]
        concrete.graph.outputs.extend(kept)


def _shape_beyond_limits(v: Victim) -> None:
    for variable in v.manifest.variables:
        del variable.shape.dims[:]
        for _ in range(65):
            variable.shape.dims.add().size = 2


def _header_of_lists(v: Victim) -> None:
    v.change_header(lambda header: "[1, 2]")


def _negative_offsets(v: Victim) -> None:
    def change(header: dict[str, Any]) -> None:
        for key, item in header.items():
            if key != "__metadata__":
                item["data_offsets"] = [-n for n in item["data_offsets"]]

    v.change_header(change)


def _other_inputs(v: Victim) -> None:
    def change(model: onnx.ModelProto) -> None:
        extra = onnx.helper.make_tensor_value_info("extra", onnx.TensorProto.FLOAT, [1])
        model.graph.input.append(extra)

    v.change_model(change)


# How each is made, and the kind of error; None: the manifest is written as it is on disk.
_CHANGES: dict[str, tuple[Callable[[Victim], None], str]] = {
    "newer_format": (_newer, "UnsupportedVersion"),
    "no_version": (_no_version, "BundleError"),
    "future_opset": (_future_opset, "UnsupportedVersion"),
    "future_ir": (_future_ir, "UnsupportedVersion"),
    "absurd_opset": (_absurd_opset, "UnsupportedVersion"),
    "future_graph": (_future_graph, "UnsupportedVersion"),
    "unknown_feature": (_feature, "UnsupportedVersion"),
    "parent_path": (_parent_path, "BundleError"),
    "absolute_path": (_absolute_path, "BundleError"),
    "listed_twice": (_listed_twice, "BundleError"),
    "unlisted_file": (_unlisted, "BundleError"),
    "missing_file": (_missing_file, "BundleError"),
    "truncated_weights": (_truncated_weights, "BundleError"),
    "changed_weights": (_changed_weights, "BundleError"),
    "changed_graph": (_changed_graph, "BundleError"),
    "variable_out_of_range": (_variable_out_of_range, "BundleError"),
    "wrong_dtype": (_wrong_dtype, "BundleError"),
    "name_twice": (_name_twice, "BundleError"),
    "signature_without_input": (_signature_without_input, "BundleError"),
    "sums_of_pieces": (_sums_of_pieces_missing, "BundleError"),
    "unlisted_asset": (_asset_not_listed, "BundleError"),
    "hole": (_hole, "BundleError"),
    "overlap": (_overlap, "BundleError"),
    "key_twice": (_key_twice, "BundleError"),
    "endless_header": (_endless_header, "BundleError"),
    "external_elsewhere": (_external_elsewhere, "BundleError"),
    "external_parent": (_external_parent, "BundleError"),
    "external_beyond": (_external_beyond, "BundleError"),
    "external_shifted": (_external_shifted, "BundleError"),
    "external_without_offset": (_external_without_offset, "BundleError"),
    "external_without_elements": (_external_without_elements, "BundleError"),
    "leaf_twice": (_leaf_twice, "BundleError"),
    "endless_function": (_endless_function, "BundleError"),
    "many_functions": (_many_functions, "BundleError"),
    "deep_graphs": (_deep_graphs, "BundleError"),
    "external_in_a_branch": (_external_in_a_branch, "BundleError"),
    "external_of_another_file": (_external_of_another_file, "BundleError"),
    "swapped_weights": (_swapped_weights, "BundleError"),
    "results_missing": (_results_missing, "BundleError"),
    "shape_beyond_limits": (_shape_beyond_limits, "BundleError"),
    "header_of_lists": (_header_of_lists, "BundleError"),
    "negative_offsets": (_negative_offsets, "BundleError"),
    "other_inputs": (_other_inputs, "BundleError"),
}


def make(honest: Path, folder: Path) -> None:
    """Make the cases below ``folder`` from the bundle ``honest``."""
    for name, (change, kind) in _CHANGES.items():
        target = _copied(honest, folder, name, kind, change.__name__)
        victim = Victim(target)
        change(victim)
        victim.write()
    damaged: dict[str, Callable[[bytes], bytes]] = {
        "manifest_truncated": lambda data: data[: len(data) // 2],
        "manifest_flipped": lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:],
        "manifest_without_digest": lambda data: data[:-35],
        "manifest_empty": lambda data: b"",
        "manifest_noise": lambda data: bytes(range(256)) * 8,
    }
    for name, damage in damaged.items():
        path = _copied(honest, folder, name, "BundleError", name) / "bundle.pb"
        path.write_bytes(damage(path.read_bytes()))


def make_large(honest: Path, folder: Path) -> None:
    """Damage files that are too large to be compared as a whole whenever a bundle is opened."""
    damaged: dict[str, int] = {"first_piece": 8 << 20, "last_piece": -1}
    for name, place in damaged.items():
        path = _copied(honest, folder, f"large_{name}", "BundleError", name) / _WEIGHTS
        with path.open("r+b") as file:
            file.seek(place, 2 if place < 0 else 0)
            byte = file.read(1)[0]
            file.seek(place, 2 if place < 0 else 0)
            file.write(bytes([byte ^ 16]))


def _copied(honest: Path, folder: Path, name: str, kind: str, about: str) -> Path:
    target = folder / f"hostile_{name}" / "bundle"
    shutil.copytree(honest, target)
    case = {"about": about.strip("_").replace("_", " "), "refused": kind, "dtypes": [], "steps": []}
    (target.parent / "case.json").write_text(json.dumps(case, indent=1))
    return target
