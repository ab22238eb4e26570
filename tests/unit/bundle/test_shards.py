"""Stores over one and over several files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tfx.bundle.files import verify_files
from tfx.bundle.manifest import ConstantEntry, Storage, VariableEntry
from tfx.bundle.shards import Store, read_index, write_store
from tfx.core.errors import AlreadyExistsError, BundleError

TENSORS: dict[str, npt.NDArray[Any]] = {
    f"layer{i}/kernel": np.full(100, i, np.uint8) for i in range(7)
}


def test_a_small_store_is_one_file(tmp_path: Path) -> None:
    written = write_store(tmp_path, TENSORS)
    assert [entry.path for entry in written.files] == ["variables/model.safetensors"]
    assert sorted(p.name for p in (tmp_path / "variables").iterdir()) == ["model.safetensors"]
    verify_files(tmp_path, written.files, check_hash=True)
    assert list(written.tensors) == sorted(TENSORS)


def test_a_big_store_is_sharded_with_an_index(tmp_path: Path) -> None:
    written = write_store(tmp_path, TENSORS, max_shard_bytes=250, metadata={"a": "b"})
    assert [entry.path for entry in written.files] == [
        "variables/model-00001-of-00004.safetensors",
        "variables/model-00002-of-00004.safetensors",
        "variables/model-00003-of-00004.safetensors",
        "variables/model-00004-of-00004.safetensors",
        "variables/model.safetensors.index.json",
    ]
    verify_files(tmp_path, written.files, check_hash=True)
    index_path = tmp_path / "variables/model.safetensors.index.json"
    index = json.loads(index_path.read_text())
    assert index["metadata"] == {"total_size": 700}
    located = read_index(index_path)
    store = Store(tmp_path / "variables")
    for key, array in TENSORS.items():
        assert index["weight_map"][key] == located[key].file
        np.testing.assert_array_equal(store.array(located[key]), array)
        assert Store(tmp_path).entry(written.tensors[key].storage) == written.tensors[key].entry


def test_where_tensors_are_is_what_onnx_external_data_needs(tmp_path: Path) -> None:
    written = write_store(tmp_path, TENSORS, max_shard_bytes=250)
    for key, (storage, entry) in written.tensors.items():
        data = (tmp_path / storage.file).read_bytes()
        assert data[entry.offset : entry.offset + entry.nbytes] == TENSORS[key].tobytes()


def test_a_tensor_beyond_the_limit_has_a_shard_of_its_own(tmp_path: Path) -> None:
    tensors = {"a": np.zeros(10, "u1"), "b": np.zeros(1000, "u1"), "c": np.zeros(10, "u1")}
    written = write_store(tmp_path, tensors, max_shard_bytes=100)
    assert len({item.storage.file for item in written.tensors.values()}) == 3


def test_strings_count_with_their_bytes(tmp_path: Path) -> None:
    tensors = {name: np.array(["x" * 90], object) for name in "ab"}
    written = write_store(tmp_path, tensors, max_shard_bytes=150)
    assert len(written.files) == 3


def test_no_tensors_make_no_file(tmp_path: Path) -> None:
    assert write_store(tmp_path, {}) == ((), {}, {})
    assert list(tmp_path.iterdir()) == []


def test_a_stem_outside_or_in_use_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="not allowed"):
        write_store(tmp_path, TENSORS, stem="../model")
    write_store(tmp_path, TENSORS, stem="w")
    with pytest.raises(AlreadyExistsError, match=r"w\.safetensors"):
        write_store(tmp_path, TENSORS, stem="w")


def test_a_store_opens_each_file_once_and_only_listed_ones(tmp_path: Path) -> None:
    written = write_store(tmp_path, TENSORS)
    (entry,) = written.files
    store = Store(tmp_path, {entry.path: entry.size})
    assert store.file(entry.path) is store.file(entry.path)
    with pytest.raises(BundleError, match="no file 'other'"):
        store.array(Storage("other", "k"))
    with pytest.raises(BundleError, match="truncated"):
        Store(tmp_path, {entry.path: entry.size + 1}).file(entry.path)


def test_values_are_checked_against_the_manifest(tmp_path: Path) -> None:
    write_store(tmp_path, {"w": np.arange(6, dtype=np.float32).reshape(2, 3)}, stem="m")
    place = Storage("m.safetensors", "w")
    store = Store(tmp_path)
    for shape in ((2, 3), (None, "n"), None):
        value = store.value(VariableEntry("w", "float32", shape, place))
        assert value.tolist() == [[0, 1, 2], [3, 4, 5]]
    for wrong in (
        VariableEntry("w", "float64", (2, 3), place),
        VariableEntry("w", "float32", (3, 2), place),
        ConstantEntry("w", "float32", (6,), storage=place),
    ):
        with pytest.raises(BundleError, match=r"tensor 'w' is float32 of shape \(2, 3\), the mani"):
            store.value(wrong)


def test_inline_constants_need_no_file(tmp_path: Path) -> None:
    constant = ConstantEntry("c", "int16", (2,), inline=b"\1\0\2\0")
    assert Store(tmp_path).value(constant).tolist() == [1, 2]
    with pytest.raises(BundleError, match="'c' has no data"):
        Store(tmp_path).value(ConstantEntry("c", "int16", (2,)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"weight_map": 3}',
        '{"weight_map": {"a": 3}}',
        '{"weight_map": {"a": "../x.safetensors"}}',
        '{"weight_map": {"a": "/x.safetensors"}}',
        '{"a":' * 50_000,
    ],
)
def test_a_hostile_index_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "model.safetensors.index.json"
    path.write_text(text)
    with pytest.raises(BundleError, match=r"index\.json"):
        read_index(path)
