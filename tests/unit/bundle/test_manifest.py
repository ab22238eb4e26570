"""bundle.pb as a file: round trips, determinism, versions, damage of every kind."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tests.unit.bundle.samples import full_manifest
from tfx.bundle import bundle_pb2 as pb
from tfx.bundle import limits
from tfx.bundle.manifest import (
    FORMAT_VERSION,
    ConstantEntry,
    FunctionEntry,
    Manifest,
    ObjectNode,
    Parameter,
    Record,
    Requirements,
    TensorInfo,
    is_bundle,
    manifest_bytes,
    parse_manifest,
    read_manifest,
)
from tfx.core.errors import BundleError, NotFoundError, UnsupportedVersionError

DATA = manifest_bytes(full_manifest())


def sealed(body: bytes) -> bytes:
    """Add the checksum that the format asks for, as an independent writer would."""
    return body + pb.Manifest(sha256=hashlib.sha256(body).digest()).SerializeToString()


def test_everything_comes_back_as_it_was() -> None:
    assert parse_manifest(DATA) == full_manifest()


def test_the_smallest_manifest_comes_back() -> None:
    manifest = Manifest("me", "1", objects=(ObjectNode("object"),))
    assert parse_manifest(manifest_bytes(manifest)) == manifest


def test_equal_manifests_give_equal_bytes_in_whatever_order_maps_were_filled() -> None:
    turned = full_manifest(metadata={"about": "digits", "author": "Ada"})
    assert list(turned.metadata) != list(full_manifest().metadata)
    assert manifest_bytes(turned) == DATA


def test_bytes_do_not_depend_on_the_hash_seed() -> None:
    program = (
        "from tests.unit.bundle.samples import full_manifest\n"
        "from tfx.bundle.manifest import manifest_bytes\n"
        "import hashlib; print(hashlib.sha256(manifest_bytes(full_manifest())).hexdigest())"
    )
    root = Path(__file__).resolve().parents[3]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_the_checksum_is_the_last_field_of_a_plain_message() -> None:
    proto = pb.Manifest.FromString(DATA)
    stripped = pb.Manifest.FromString(DATA)
    stripped.ClearField("sha256")
    assert sealed(stripped.SerializeToString(deterministic=True)) == DATA
    assert len(proto.sha256) == 32


def test_unknown_fields_are_ignored() -> None:
    field_1000 = b"\xc2\x3e\x03new"
    assert parse_manifest(sealed(DATA[:-35] + field_1000)) == full_manifest()


def test_a_newer_format_is_refused_with_both_versions() -> None:
    newer = sealed(pb.Manifest(format_version=FORMAT_VERSION + 1).SerializeToString())
    with pytest.raises(
        UnsupportedVersionError, match=r"x/bundle\.pb: .*version 2.*up to 1.*upgrad"
    ):
        parse_manifest(newer, "x/bundle.pb")


def test_a_newer_format_without_our_checksum_is_still_called_newer() -> None:
    with pytest.raises(UnsupportedVersionError, match="version 9"):
        parse_manifest(pb.Manifest(format_version=9).SerializeToString())


def test_an_unknown_required_feature_is_refused_by_name() -> None:
    body = pb.Manifest(
        format_version=1, requirements=pb.Requirements(features=["quantum-weights"])
    ).SerializeToString()
    with pytest.raises(UnsupportedVersionError, match="'quantum-weights'"):
        parse_manifest(sealed(body))
    with pytest.raises(UnsupportedVersionError, match="'quantum-weights'"):
        manifest_bytes(full_manifest(requirements=Requirements(21, 10, {}, ("quantum-weights",))))


def test_every_truncation_is_refused() -> None:
    for length in range(len(DATA)):
        with pytest.raises(BundleError, match=r"bundle\.pb"):
            parse_manifest(DATA[:length])


@given(position=st.integers(0, len(DATA) * 8 - 1))
def test_every_flipped_bit_is_refused(position: int) -> None:
    damaged = bytearray(DATA)
    damaged[position // 8] ^= 1 << position % 8
    with pytest.raises(BundleError):
        parse_manifest(bytes(damaged))


@given(changes=st.lists(st.tuples(st.integers(0, len(DATA) - 36), st.integers(0, 255)), min_size=1))
def test_hostile_bytes_with_a_right_checksum_never_do_more_than_raise(
    changes: list[tuple[int, int]],
) -> None:
    body = bytearray(DATA[:-35])
    for position, value in changes:
        body[position] = value
    try:
        manifest = parse_manifest(sealed(bytes(body)))
    except BundleError:
        return
    # What passes must be sound: it can be written and read again. (Bytes, as nan != nan.)
    written = manifest_bytes(manifest)
    assert manifest_bytes(parse_manifest(written)) == written


@given(data=st.binary(max_size=200))
def test_foreign_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(BundleError):
        parse_manifest(data)


def test_endless_nesting_is_refused_and_does_not_crash() -> None:
    value = b""
    for _ in range(3000):
        item = b"\x0a" + _varint(len(value)) + value  # ValueList.items
        value = b"\x4a" + _varint(len(item)) + item  # Value.list
    body = b"\x08\x01" + b"\x52" + _varint(len(value) + 1 + len(_varint(len(value))))
    body += b"\x22" + _varint(len(value)) + value
    with pytest.raises(BundleError):
        parse_manifest(sealed(body))


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def test_a_value_at_the_depth_limit_can_be_read_back_and_one_beyond_cannot_be_written() -> None:
    value: object = 1
    for _ in range(limits.MAX_STRUCTURE_DEPTH):
        value = {"k": value}
    manifest = Manifest("me", "1", objects=(ObjectNode("value", value=value),))  # type: ignore[arg-type]
    assert parse_manifest(manifest_bytes(manifest)) == manifest
    spec = Record("R", (("field", TensorInfo("float32", ("n",))),))
    for _ in range(limits.MAX_STRUCTURE_DEPTH - 1):
        spec = Record("R", (("field", spec),))
    function = FunctionEntry("f", (Parameter("x", has_default=True, default=spec),))
    manifest = Manifest("me", "1", objects=(ObjectNode("object"),), functions=(function,))
    assert parse_manifest(manifest_bytes(manifest)) == manifest
    deeper = Manifest("me", "1", objects=(ObjectNode("value", value=[value]),))  # type: ignore[list-item]
    with pytest.raises(BundleError, match="deeper than 30"):
        manifest_bytes(deeper)


def test_a_value_that_no_field_can_hold_is_refused() -> None:
    with pytest.raises(BundleError, match="cannot hold"):
        manifest_bytes(full_manifest(producer="\ud800"))
    with pytest.raises(BundleError, match="cannot hold"):
        manifest_bytes(full_manifest(requirements=Requirements(1 << 40, 10)))


def test_a_manifest_beyond_the_cap_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_MANIFEST_BYTES", 100)
    with pytest.raises(BundleError, match="at most 100"):
        manifest_bytes(full_manifest())


def test_an_inline_constant_of_wrong_size_is_refused() -> None:
    wrong = (ConstantEntry("scale", "float32", (), inline=bytes(3)), *full_manifest().constants[1:])
    with pytest.raises(BundleError, match="'scale': 3 bytes, expected 4"):
        manifest_bytes(full_manifest(constants=wrong))


def test_read_manifest_reads_the_folder(tmp_path: Path) -> None:
    (tmp_path / "bundle.pb").write_bytes(DATA)
    assert is_bundle(tmp_path)
    assert read_manifest(tmp_path) == full_manifest()
    assert read_manifest(str(tmp_path)) == full_manifest()


def test_read_manifest_says_what_it_found_instead(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="nowhere does not exist"):
        read_manifest(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(NotFoundError, match="is a file"):
        read_manifest(tmp_path / "file")
    assert not is_bundle(tmp_path)
    with pytest.raises(BundleError, match=r"has no bundle\.pb: it is not a bundle"):
        read_manifest(tmp_path)
    (tmp_path / "saved_model.pb").touch()
    with pytest.raises(BundleError, match="TensorFlow SavedModel"):
        read_manifest(tmp_path)


def test_read_manifest_names_the_file_that_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "bundle.pb").write_bytes(DATA[:-1])
    with pytest.raises(BundleError) as caught:
        read_manifest(tmp_path)
    assert str(tmp_path / "bundle.pb") in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_in_place_of_the_manifest_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "bundle.pb")
    with pytest.raises(BundleError, match="not a plain file"):
        read_manifest(tmp_path)


def test_a_manifest_too_big_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bundle.pb").write_bytes(DATA)
    monkeypatch.setattr(limits, "MAX_MANIFEST_BYTES", len(DATA) - 1)
    with pytest.raises(BundleError, match="expected at most"):
        read_manifest(tmp_path)


def test_records_are_immutable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        full_manifest().producer = "other"  # type: ignore[misc]


def test_importing_the_manifest_brings_neither_onnx_nor_onnxruntime() -> None:
    program = (
        "import sys, tfx.bundle.manifest, tfx.bundle.shards, tfx.bundle.atomic_folder\n"
        "print([m for m in ('onnx', 'onnxruntime', 'optree', 'tfx.graph', 'tfx.runtime') "
        "if m in sys.modules])"
    )
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]"
