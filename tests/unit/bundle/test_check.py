"""Each rule of the manifest's lists, broken once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.bundle.samples import WEIGHTS, full_manifest
from tfx.bundle import limits
from tfx.bundle.check import check_manifest
from tfx.bundle.manifest import (
    AssetEntry,
    Child,
    ConstantEntry,
    ConstantRef,
    FileEntry,
    Leaf,
    Manifest,
    ObjectNode,
    Requirements,
    Storage,
    TableEntry,
    TensorInfo,
    VariableEntry,
)
from tfx.core.errors import BundleError

BASE = full_manifest()
HASH = bytes(32)


def listing(path: str, size: int = 1, sha256: bytes = HASH) -> dict[str, Any]:
    return {"files": (*BASE.files, FileEntry(path, size, sha256))}


def variable(**changes: Any) -> dict[str, Any]:
    return {"variables": (replace(BASE.variables[0], **changes), BASE.variables[1])}


def constant(item: ConstantEntry) -> dict[str, Any]:
    return {"constants": (item, *BASE.constants[1:])}


def table(**changes: Any) -> dict[str, Any]:
    return {"tables": (replace(BASE.tables[0], **changes),)}


def nodes(*added: ObjectNode) -> dict[str, Any]:
    """Add objects; the first has id 10."""
    return {"objects": (*BASE.objects, *added)}


def test_the_sample_breaks_no_rule() -> None:
    check_manifest(BASE, "m")


FILES: list[tuple[dict[str, Any], str]] = [
    (listing("/etc/passwd"), "'/etc/passwd' is not allowed: it is absolute"),
    (listing("../x"), r"'\.\./x' is not allowed"),
    (listing("a\\b"), "is not allowed: it has the character"),
    (listing("bundle.pb"), "lists itself"),
    (listing("Bundle.PB"), "lists itself"),
    (listing(WEIGHTS), "listed beside"),
    (listing("Serving_Default.onnx"), "differ in every system"),
    (listing("assets"), "'assets' is a file and a folder"),
    (listing("a", -1), "its size is -1"),
    (listing("a", 1 << 63), f"its size is {1 << 63}"),
    (listing("a", 1, b"short"), "SHA-256 has 5 bytes"),
]
REQUIREMENTS: list[tuple[dict[str, Any], str]] = [
    ({"requirements": Requirements(0, 10)}, "required opset is 0"),
    ({"requirements": Requirements(21, 0)}, "required IR version is 0"),
    ({"requirements": Requirements(21, 10, {"": 3})}, "operator domain ''"),
    ({"requirements": Requirements(21, 10, {"ai.x": 0})}, "'ai.x' has version 0"),
    ({"format_version": 2}, "format version is 2, expected 1"),
]
TENSORS: list[tuple[dict[str, Any], str]] = [
    (variable(name="count"), "two of its variable entries are named 'count'"),
    (variable(name=""), "the name of a variable is empty"),
    (variable(dtype="float31"), "variable 'dense/kernel': dtype is 'float31', expected one of"),
    (variable(shape=(2**62, 2**62)), "shape is"),
    (variable(shape=(2**62, 0, 2**62)), "shape is"),
    (variable(shape=("",)), "shape is"),
    (variable(shape=(1,) * 65), f"limit {limits.MAX_RANK}"),
    (variable(storage=Storage("other", "k")), "file 'other', which the manifest's list of files"),
    (variable(storage=Storage("../w", "k")), r"'\.\./w' is not allowed"),
    (variable(storage=Storage(WEIGHTS, "")), "the key in its file is empty"),
    (constant(ConstantEntry("words", "float32", (), inline=bytes(4))), "two of its constant"),
    (constant(ConstantEntry("c", "float32", ())), "exactly one of them"),
    (
        constant(ConstantEntry("c", "bool", (1,), bytes(1), Storage(WEIGHTS, "c"))),
        "exactly one of them",
    ),
    (constant(ConstantEntry("c", "int32", (2,), inline=bytes(4))), "'c': 4 bytes, expected 8"),
    (constant(ConstantEntry("c", "bool", (1,), inline=b"\2")), "neither 0 nor 1"),
    (constant(ConstantEntry("c", "int8", (9**9,), inline=b"")), "0 bytes, expected"),
    (
        constant(ConstantEntry("c", "int8", (2 << 20,), inline=bytes(2 << 20))),
        "put it into the variable store",
    ),
    (constant(ConstantEntry("c", "int8", (None,), inline=b"")), "fully defined"),  # type: ignore[arg-type]
    ({"assets": (AssetEntry("gone"),)}, "asset 0: uses the file 'gone'"),
    (table(keys=3), "keys is 3, but the bundle has constants 0 to 2"),
    (table(values=-1), "values is -1"),
    (table(default_value=9), "default_value is 9"),
    (table(keys=0), "expected rank 1 and as many values"),
    (table(values=0), "expected rank 1 and as many values"),
    ({"tables": (TableEntry("t", 1, 2),), "constants": ()}, "has no constants"),
]
OBJECTS: list[tuple[dict[str, Any], str]] = [
    ({"objects": ()}, "expected at least the root"),
    (nodes(ObjectNode("list", (Child("0", 99),))), "child '0' is 99, but the bundle has"),
    (nodes(ObjectNode("list", (Child("x", 0),))), "child 0 is named 'x', expected '0'"),
    (nodes(ObjectNode("tuple", (Child("1", 0),))), "expected '0'"),
    (nodes(ObjectNode("object", (Child("a", 0), Child("a", 1)))), "entries are named 'a'"),
    (nodes(ObjectNode("object", (Child("", 0),))), "name of a child is empty"),
    (nodes(ObjectNode("object", (Child("__class__", 0),))), "means something to Python"),
    (nodes(ObjectNode("object", (Child("a", 0, 3),))), "has a key, expected one only in a dict"),
    (nodes(ObjectNode("dict", (Child("1", 0, 1), Child("2", 0, True)))), "keys .* each once"),
    (nodes(ObjectNode("variable", (Child("a", 0),), target=0)), "1 children, expected none"),
    (nodes(ObjectNode("variable")), "no target, expected the id of one of its variables"),
    (nodes(ObjectNode("variable", target=2)), "target is 2, but the bundle has variables 0 to 1"),
    (nodes(ObjectNode("function", target=1)), "target is 1"),
    (nodes(ObjectNode("constant", target=3)), "target is 3"),
    (nodes(ObjectNode("asset", target=1)), "target is 1"),
    (nodes(ObjectNode("table", target=1)), "target is 1"),
    (nodes(ObjectNode("object", target=0)), "target is 0, expected none"),
    (nodes(ObjectNode("object", value=3)), "expected one only for kind 'value'"),
    (nodes(ObjectNode("value", value=Leaf(0))), "tensor leaf 0, expected plain values"),
    (nodes(ObjectNode("value", value=[ConstantRef(3)])), "a constant is 3"),
    (nodes(ObjectNode("value", value=TensorInfo("x", ()))), "dtype is 'x'"),
    (nodes(ObjectNode("object", field_names=("a",))), "field names for 0 children"),
    (nodes(ObjectNode("tuple", (Child("0", 0),), field_names=("a", "b"))), "2 field names"),
    (
        nodes(ObjectNode("tuple", (Child("0", 0),), field_names=("class",))),
        "expected a Python identifier",
    ),
    (
        nodes(ObjectNode("tuple", (Child("0", 0), Child("1", 1)), field_names=("a", "a"))),
        "two of its field entries",
    ),
    (nodes(ObjectNode("object", metadata={"a": object()})), "JSON"),
    (nodes(ObjectNode("tuple", (Child("0", 10),))), r"object 10 \(tuple\): contains itself"),
    (
        nodes(
            ObjectNode("tuple", (Child("0", 1), Child("1", 11))),
            ObjectNode("tuple", (Child("0", 12),)),
            ObjectNode("tuple", (Child("0", 10),)),
        ),
        "contains itself",
    ),
]


@pytest.mark.parametrize(("changes", "message"), FILES + REQUIREMENTS + TENSORS + OBJECTS)
def test_a_broken_rule_is_named_with_file_and_place(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BundleError, match=rf"(?s)^m.*{message}"):
        check_manifest(replace(BASE, **changes), "m")


def test_a_tuple_may_hold_itself_through_something_that_can_be_filled_later() -> None:
    check_manifest(
        replace(
            BASE,
            **nodes(ObjectNode("tuple", (Child("0", 11),)), ObjectNode("list", (Child("0", 10),))),
        ),
        "m",
    )


def test_tuples_share_tuples() -> None:
    inner = ObjectNode("tuple")
    outer = ObjectNode("tuple", (Child("0", 10), Child("1", 10)))
    check_manifest(replace(BASE, **nodes(inner, outer)), "m")


def test_a_bundle_of_a_hundred_thousand_tuples_is_checked_in_linear_time() -> None:
    count = 100_000
    chain = tuple(
        ObjectNode("tuple", (Child("0", index + 1),) if index + 1 < count else ())
        for index in range(count)
    )
    check_manifest(Manifest("me", "1", objects=chain), "m")


def test_a_variable_of_unknown_shape_is_fine() -> None:
    free = VariableEntry("free", "float32", None, Storage(WEIGHTS, "free"))
    check_manifest(replace(BASE, variables=(*BASE.variables, free)), "m")
