"""Records through protobuf: what a damaged or foreign message is refused for."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.unit.bundle.samples import full_manifest
from tfx.bundle import bundle_pb2 as pb
from tfx.bundle.codec import from_proto, metadata_json, to_proto
from tfx.core.errors import BundleError


def sample() -> pb.Manifest:
    return to_proto(full_manifest())


def test_a_manifest_comes_back_through_the_message_alone() -> None:
    assert from_proto(sample(), "m") == full_manifest()


def _clear(field: str, message: str, index: int = 0) -> Any:
    def change(proto: pb.Manifest) -> None:
        getattr(proto, message)[index].ClearField(field)

    return change


def _set(path: str, value: Any) -> Any:
    def change(proto: pb.Manifest) -> None:
        *owners, last = path.split(".")
        item: Any = proto
        for owner in owners:
            item = item[int(owner)] if owner.isdigit() else getattr(item, owner)
        if isinstance(value, pb.Value):
            getattr(item, last).CopyFrom(value)
        else:
            setattr(item, last, value)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_clear("graph", "concrete_functions"), "function 'predict': no graph"),
        (_clear("arguments", "concrete_functions"), "a value without a kind"),
        (
            _set("concrete_functions.0.arguments", pb.Value(none=True)),
            "arguments is a NoneType, expected a tuple",
        ),
        (_set("functions.0.input_signature", pb.Value(int_value=1)), "input_signature is a int"),
        (_clear("kind", "objects", 0), "object 0: its kind has a number"),
        (_set("objects.0.kind", cast("Any", 99)), "object 0: its kind .* newer"),
        (_set("functions.0.parameters.0.kind", cast("Any", 7)), "its kind has a number"),
        (_set("objects.0.metadata_json", "{"), "object 0: metadata is not JSON"),
        (_set("objects.0.metadata_json", "[1]"), "a JSON list, expected an object"),
        (_set("objects.0.metadata_json", '{"a": NaN}'), "NaN is no JSON number"),
        (_set("objects.0.metadata_json", "[" * 100_000), "metadata is not JSON"),
        (_set("objects.2.children.1.key", pb.Value(list=pb.ValueList())), "key of type list"),
        (_set("objects.9.value", pb.Value()), "object 9: a value without a kind"),
        (_set("variables.0.dtype", cast("Any", 18)), "variable 'dense/kernel': dtype number 18"),
        (_set("constants.0.shape.unknown_rank", True), "constant 'scale': shape is None"),
    ],
)
def test_a_message_that_says_nothing_sensible_is_refused(change: Any, message: str) -> None:
    proto = sample()
    change(proto)
    with pytest.raises(BundleError, match=rf"^m: .*{message}"):
        from_proto(proto, "m")


@pytest.mark.parametrize("part", ["inputs", "outputs"])
def test_an_input_or_output_bound_to_nothing_is_refused(part: str) -> None:
    proto = sample()
    item = getattr(proto.concrete_functions[0].graph, part)[0]
    item.ClearField("argument" if part == "inputs" else "result")
    with pytest.raises(BundleError, match=rf"{part[:-1]} '\w+': no known (source|target)"):
        from_proto(proto, "m")


@pytest.mark.parametrize("metadata", [{"a": object()}, {"a": float("nan")}, {(1,): 2}])
def test_metadata_that_json_cannot_hold_is_refused(metadata: Any) -> None:
    with pytest.raises(BundleError, match=r"here: metadata .* JSON"):
        metadata_json(metadata, "here")


def test_metadata_that_holds_itself_is_refused() -> None:
    metadata: dict[str, Any] = {}
    metadata["me"] = metadata
    with pytest.raises(BundleError, match="JSON"):
        metadata_json(metadata, "here")


def test_metadata_is_the_same_text_in_any_order() -> None:
    assert metadata_json({"b": 1, "a": "é"}, "") == metadata_json({"a": "é", "b": 1}, "")
