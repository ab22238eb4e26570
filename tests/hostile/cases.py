"""Hostile bundles: what is changed in an honest one, one thing a case.

The cases of ``loaders/conformance/hostile.py`` are for loaders in every language. Those here are
about what only a loader with a file system or with Python's objects can get wrong, and about
more of each kind. ``make.py`` beside this file writes all of them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import onnx
from onnx import helper

from tfx.bundle import bundle_pb2 as pb

WEIGHTS = "variables/model.safetensors"
Change = Callable[[Any], None]


def _link(path: str, target: str) -> Change:
    """A file that is a link; OUTSIDE in the target is a folder beside the bundle."""

    def change(v: Any) -> None:
        outside = v.folder.parent / "outside"
        outside.mkdir(exist_ok=True)
        place = v.folder / path
        if place.exists():
            place.rename(outside / place.name)
        place.symlink_to(target.replace("OUTSIDE", str(outside)))

    return change


def _linked_folder(v: Any) -> None:
    (v.folder / "variables").rename(v.folder.parent / "elsewhere")
    (v.folder / "variables").symlink_to("../elsewhere")


def _pipe(path: str) -> Change:
    def change(v: Any) -> None:
        (v.folder / path).unlink()
        os.mkfifo(v.folder / path)

    return change


def _folder(path: str) -> Change:
    def change(v: Any) -> None:
        (v.folder / path).unlink()
        (v.folder / path).mkdir()

    return change


def _path(path: str) -> Change:
    """Another path for the graph, everywhere."""

    def change(v: Any) -> None:
        v.entry("predict.onnx").path = path
        for concrete in v.manifest.concrete_functions:
            for graph in (concrete.graph, concrete.live_graph):
                if graph.file == "predict.onnx":
                    graph.file = path

    return change


def _listed(path: str) -> Change:
    """One more file in the list."""

    def change(v: Any) -> None:
        v.manifest.files.add(path=path, size=0, sha256=bytes(32))

    return change


def _variable(**fields: Any) -> Change:
    def change(v: Any) -> None:
        variable = next(item for item in v.manifest.variables if item.name == "kernel")
        for name, value in fields.items():
            if name == "dims":
                del variable.shape.dims[:]
                for size in value:
                    variable.shape.dims.add(size=size)
            elif name in ("file", "key"):
                setattr(variable.storage, name, value)
            else:
                setattr(variable, name, value)

    return change


def _constant(dims: list[int], data: bytes, dtype: int = 1) -> Change:
    def change(v: Any) -> None:
        item = v.manifest.constants.add(name="evil", dtype=dtype, inline=data)
        for size in dims:
            item.shape.dims.add(size=size)

    return change


def _object(v: Any, kind: str, *children: int, **fields: Any) -> int:
    """Add an object to the graph as an attribute of the root; returns its number."""
    number = len(v.manifest.objects)
    item = v.manifest.objects.add(kind=getattr(pb.Object, f"KIND_{kind.upper()}"), **fields)
    for i, child in enumerate(children):
        item.children.add(name=str(i), object=child)
    v.manifest.objects[0].children.add(name=f"evil{number}", object=number)
    return number


def _own_tuple(v: Any) -> None:
    _object(v, "tuple", len(v.manifest.objects))


def _tuples_in_a_circle(v: Any) -> None:
    first = len(v.manifest.objects)
    _object(v, "tuple", first + 1)
    _object(v, "tuple", first + 2)
    _object(v, "tuple", first)


def _key_twice(v: Any) -> None:
    number = _object(v, "dict", 0, 0)
    children = v.manifest.objects[number].children
    children[0].key.int_value = 1
    children[1].key.bool_value = True


def _child_twice(v: Any) -> None:
    v.manifest.objects[0].children.append(v.manifest.objects[0].children[0])


def _child_named(name: str) -> Change:
    def change(v: Any) -> None:
        v.manifest.objects[0].children.add(name=name, object=0)

    return change


def _values(*values: Any) -> Change:
    """A dict as a value, with keys."""

    def change(v: Any) -> None:
        number = _object(v, "value")
        for value in values:
            entry = v.manifest.objects[number].value.dict.entries.add()
            entry.key.CopyFrom(value)
            entry.value.none = True

    return change


def _metadata(text: str) -> Change:
    def change(v: Any) -> None:
        v.manifest.objects[0].metadata_json = text

    return change


def _first(kind: str, change_item: Callable[[Any], None]) -> Change:
    """Change the first entry of a list of the manifest."""

    def change(v: Any) -> None:
        change_item(getattr(v.manifest, kind)[0])

    return change


def _set(field: str, value: Any) -> Callable[[Any], None]:
    return lambda item: setattr(item, field, value)


def _default_out_of_range(v: Any) -> None:
    function = next(item for item in v.manifest.functions if item.parameters)
    function.parameters[-1].default.constant = 2**32 - 1


def _table_out_of_range(v: Any) -> None:
    v.manifest.tables.add(name="evil", keys=7_000_000, values=7_000_000)


def _tensor(**fields: Any) -> Change:
    """Change what the header says of the variable ``kernel``."""

    def change(v: Any) -> None:
        v.change_header(lambda header: header["kernel"].update(fields))

    return change


def _header(text: str) -> Change:
    return lambda v: v.change_header(lambda header: text)


def _shifted_end(v: Any) -> None:
    def change(header: dict[str, Any]) -> None:
        last = max((t for k, t in header.items() if k[0] != "_"), key=lambda t: t["data_offsets"])
        last["data_offsets"][1] += 1 << 40
        last["shape"] = [last["shape"][0] + (1 << 38), *last["shape"][1:]]

    v.change_header(change)


def _encoding(value: Any) -> Change:
    def change(v: Any) -> None:
        metadata = {"tfx.encoding": json.dumps({"kernel": value})}
        v.change_header(lambda header: header.update(__metadata__=metadata))

    return change


def _external(**values: str) -> Change:
    def change(model: onnx.ModelProto) -> None:
        tensor = next(t for t in model.graph.initializer if t.external_data)
        for item in tensor.external_data:
            item.value = values.get(item.key, item.value)

    return lambda v: v.change_model(change)


def _model(change: Callable[[onnx.ModelProto], None]) -> Change:
    return lambda v: v.change_model(change)


def _unused(*nodes: onnx.NodeProto, **domains: int) -> Change:
    def change(model: onnx.ModelProto) -> None:
        model.graph.node.extend(nodes)
        for name, version in domains.items():
            model.opset_import.add(domain=name.replace("_", "."), version=version)

    return _model(change)


def _outside_tensor(location: str) -> onnx.TensorProto:
    tensor = onnx.TensorProto(
        name="t", data_type=1, dims=[4], data_location=onnx.TensorProto.EXTERNAL
    )
    for key, text in (("location", location), ("offset", "0"), ("length", "16")):
        tensor.external_data.add(key=key, value=text)
    return tensor


def _initializer(**fields: Any) -> Change:
    def change(model: onnx.ModelProto) -> None:
        model.graph.initializer.append(onnx.TensorProto(name="evil", data_type=1, **fields))
        model.graph.node.append(helper.make_node("Identity", ["evil"], ["unused"]))

    return _model(change)


def _own_input(model: onnx.ModelProto) -> None:
    model.graph.node[0].input[0] = model.graph.node[-1].output[0]


def _context(model: onnx.ModelProto) -> None:
    node = helper.make_node(
        "EPContext", ["x"], ["unused"], domain="com.microsoft",
        embed_mode=0, ep_cache_context="../../../../etc/passwd", main_context=1,
    )  # fmt: skip
    model.graph.node.append(node)
    model.opset_import.add(domain="com.microsoft", version=1)


def _functions_in_a_circle(model: onnx.ModelProto) -> None:
    opset = [helper.make_opsetid("local", 1)]
    for name, callee in (("A", "B"), ("B", "C"), ("C", "A")):
        node = helper.make_node(callee, ["a"], ["b"], domain="local")
        model.functions.append(helper.make_function("local", name, ["a"], ["b"], [node], opset))
    model.opset_import.append(opset[0])
    model.graph.node.append(helper.make_node("A", ["x"], ["unused"], domain="local"))


FILES: dict[str, Change] = {
    "link_graph": _link("predict.onnx", "OUTSIDE/predict.onnx"),
    "link_graph_relative": _link("predict.onnx", "../outside/predict.onnx"),
    "link_weights": _link(WEIGHTS, "OUTSIDE/model.safetensors"),
    "link_asset": _link("assets/words.txt", "/etc/passwd"),
    "link_folder": _linked_folder,
    "link_loop": _link("predict.onnx", "predict.onnx"),
    "link_device": _link("predict.onnx", "/dev/zero"),
    "link_device_weights": _link(WEIGHTS, "/dev/zero"),
    "link_device_manifest": _link("bundle.pb", "/dev/zero"),
    "link_memory": _link(WEIGHTS, "/proc/self/mem"),
    "pipe_graph": _pipe("predict.onnx"),
    "pipe_weights": _pipe(WEIGHTS),
    "pipe_manifest": _pipe("bundle.pb"),
    "folder_graph": _folder("predict.onnx"),
    "folder_manifest": _folder("bundle.pb"),
}
"""Files that are not plain; the manifest is written before the change."""

_PATHS = {
    "drive": "C:/predict.onnx", "backslash": "..\\predict.onnx", "inner_parent": "a/../../p.onnx",
    "device": "/dev/zero", "memory": "/proc/self/mem", "zero": "a\0b", "dot": "./predict.onnx",
    "double_slash": "a//b", "ending_dot": "predict.", "long": "a" * 5000, "empty": "",
    "newline": "a\nb", "device_of_windows": "nul:", "itself": "bundle.pb",
}  # fmt: skip

MANIFESTS: dict[str, Change] = {
    **{f"path_{name}": _path(path) for name, path in _PATHS.items()},
    "listed_by_case": _listed("PREDICT.onnx"),
    "listed_below_a_file": _listed("predict.onnx/more"),
    "listed_missing": _listed("more.bin"),
    "size_beyond_64_bits": _first("files", _set("size", 2**64 - 1)),
    "short_hash": _first("files", _set("sha256", b"1234")),
    "more_sums_than_pieces": _first("files", lambda item: item.crc32.extend([1, 2, 3])),
    "asset_elsewhere": _first("assets", _set("file", "../../../etc/passwd")),
    "asset_unlisted": _first("assets", _set("file", "secret.txt")),
    "variable_elsewhere": _variable(file="../model.safetensors"),
    "variable_in_a_graph": _variable(file="predict.onnx"),
    "variable_of_another_key": _variable(key="head"),
    "variable_of_no_key": _variable(key="nothing"),
    "variable_gigantic": _variable(dims=[2**62, 2**62]),
    "variable_other_shape": _variable(dims=[4, 3]),
    "variable_without_dtype": _variable(dtype=0),
    "variable_unnamed": _variable(name=""),
    "constant_gigantic": _constant([2**62], b"1234"),
    "constant_gigantic_product": _constant([2**31, 2**31, 2**31], b""),
    "constant_wraps": _constant([2**62, 4], b""),
    "constant_short": _constant([4], b"1234"),
    "constant_of_strings": _constant([2**60], b"1234", dtype=8),
    "constant_of_bits": _constant([3], b"\1\2\3", dtype=9),
    "own_tuple": _own_tuple,
    "tuples_in_a_circle": _tuples_in_a_circle,
    "dict_key_twice": _key_twice,
    "child_twice": _child_twice,
    "child_of_python": _child_named("__class__"),
    "child_of_python_reduce": _child_named("__reduce_ex__"),
    "child_out_of_range": lambda v: _object(v, "list", 2**32 - 1) and None,
    "object_out_of_range": lambda v: _object(v, "variable", target=2**31) and None,
    "object_without_kind": _first("objects", _set("kind", 0)),
    "object_of_unknown_kind": _first("objects", _set("kind", 77)),
    "field_of_python": lambda v: _object(v, "tuple", 0, field_names=["__class__"]) and None,
    "field_of_code": lambda v: _object(v, "tuple", 0, field_names=["x=1);exec('1'"]) and None,
    "fields_twice": lambda v: _object(v, "tuple", 0, 0, field_names=["a", "a"]) and None,
    "value_key_twice": _values(pb.Value(int_value=1), pb.Value(float_value=1.0)),
    "value_key_unhashable": _values(pb.Value(list=pb.ValueList())),
    "value_without_kind": lambda v: v.manifest.objects[_object(v, "value")].value.SetInParent(),
    "metadata_twice": _metadata('{"a": 1, "a": 2}'),
    "metadata_deep": _metadata("[" * 100_000),
    "metadata_list": _metadata("[]"),
    "metadata_endless_number": _metadata('{"a": ' + "9" * 100_000 + "}"),
    "default_out_of_range": _default_out_of_range,
    "table_out_of_range": _table_out_of_range,
    "trace_out_of_range": _first("functions", lambda f: f.concrete_functions.append(2**31)),
    "signature_out_of_range": _first("signatures", _set("concrete_function", 2**31)),
    "leaf_out_of_range": _first("signatures", lambda s: s.outputs.add(name="more", leaf=2**31)),
    "no_objects": lambda v: v.manifest.ClearField("objects"),
}
"""Manifests that lie."""

STORES: dict[str, Change] = {
    "shape_wraps": _tensor(shape=[2**62, 4], data_offsets=[0, 0]),
    "shape_gigantic": _tensor(shape=[2**40, 2**40]),
    "shape_of_many": _tensor(shape=[1] * 1000),
    "shape_negative": _tensor(shape=[-3, -4]),
    "shape_broken": _tensor(shape=[3.0, 4]),
    "shape_true": _tensor(shape=[True, 12]),
    "shape_text": _tensor(shape="3,4"),
    "shape_long_number": _header('{"kernel":{"dtype":"F32","shape":[' + "9" * 9000 + "]}}"),
    "offsets_swapped": _tensor(data_offsets=[48, 0]),
    "offsets_beyond": _tensor(data_offsets=[2**62, 2**62 + 48]),
    "offsets_three": _tensor(data_offsets=[0, 48, 96]),
    "end_beyond": _shifted_end,
    "dtype_unknown": _tensor(dtype="F31"),
    "dtype_number": _tensor(dtype=1),
    "header_deep": _header('{"a":' + "[" * 100_000),
    "header_of_infinity": _header('{"kernel":{"dtype":"F32","shape":[Infinity]}}'),
    "header_text": _header('{"kernel": "x"}'),
    "header_of_nothing": _header("{}"),
    "header_metadata": _header('{"__metadata__": {"a": 1}}'),
    "encoding_of_strings": _encoding({"dtype": "string", "shape": [2**60]}),
    "encoding_unknown": _encoding({"dtype": "object", "shape": [1]}),
    "encoding_twice": lambda v: v.change_header(
        lambda h: h.update(__metadata__={"tfx.encoding": '{"kernel": {}, "kernel": {}}'})
    ),
    "empty_file": lambda v: v.replace(WEIGHTS, b""),
    "header_alone": lambda v: v.replace(WEIGHTS, b"\x08\0\0\0\0\0\0\0"),
    "trailing": lambda v: v.replace(WEIGHTS, (v.folder / WEIGHTS).read_bytes() + b"\0" * 8),
}
"""Files of weights that lie."""

GRAPHS: dict[str, Change] = {
    "external_memory": _external(location="/proc/self/mem"),
    "external_environment": _external(location="/proc/self/environ"),
    "external_device": _external(location="/dev/zero"),
    "external_backslash": _external(location="..\\..\\secret"),
    "external_inner_parent": _external(location="variables/../../secret"),
    "external_url": _external(location="file:///etc/passwd"),
    "external_address": _external(location="*/_ORT_MEM_ADDR_/*"),
    "external_manifest": _external(location="bundle.pb"),
    "external_negative": _external(offset="-8"),
    "external_of_other_digits": _external(offset="\u0661"),
    "external_gigantic": _external(length=str(2**63)),
    "external_wraps": _external(offset=str(2**64 - 48)),
    "external_in_an_attribute": _unused(
        helper.make_node("Constant", [], ["unused"], value=_outside_tensor("/dev/zero"))
    ),
    "custom_domain": _unused(helper.make_node("Steal", ["x"], ["unused"], domain="com.evil"),
                             com_evil=1),
    "custom_python": _unused(helper.make_node("PyOp", ["x"], ["unused"], domain="ai.onnx.contrib"),
                             ai_onnx_contrib=1),
    "custom_operator": _unused(helper.make_node("Steal", ["x"], ["unused"])),
    "outside_context": _model(_context),
    "initializer_gigantic": _initializer(dims=[2**40], raw_data=b"1234"),
    "initializer_negative": _initializer(dims=[-4], raw_data=b"1234"),
    "initializer_wraps": _initializer(dims=[2**62, 4], raw_data=b""),
    "own_input": _model(_own_input),
    "functions_in_a_circle": _model(_functions_in_a_circle),
    "no_graph": _model(lambda m: m.ClearField("graph")),
    "noise": lambda v: v.replace("predict.onnx", bytes(range(256)) * 40),
    "empty_graph_file": lambda v: v.replace("predict.onnx", b""),
}  # fmt: skip
"""Graphs that ask for what they must not have."""

CASES: dict[str, Change] = {**MANIFESTS, **STORES, **GRAPHS, **FILES}
