"""What is on the disk: at every moment the old checkpoint or the new one, and damage is noticed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.source_tree import ROOT
from tests.unit.train.objects import f, module, v
from tfx.bundle.safetensors import write_safetensors
from tfx.core.errors import (
    BundleError,
    ResourceExhaustedError,
    UnsupportedVersionError,
)
from tfx.train import Checkpoint, CheckpointOptions, files, latest_checkpoint, load_checkpoint
from tfx.train.files import delete_files, find_files, replace_file, write_files

SHARDED = CheckpointOptions(max_shard_bytes=64)


def write(path: Path, value: float, sharded: bool = False) -> str:
    values = [v(np.full(16, value, np.float32)) for _ in range(4)]
    return Checkpoint(values=values).write(path, SHARDED if sharded else None)


def read(path: str | Path) -> set[float]:
    values = [v(np.zeros(16, np.float32)) for _ in range(4)]
    Checkpoint(values=values).read(path).assert_consumed()
    return {float(x) for value in values for x in value.numpy()}


def listing(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


# Replacing


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("new", [False, True])
def test_a_checkpoint_is_replaced_and_nothing_is_left(tmp_path: Path, old: bool, new: bool) -> None:
    write(tmp_path / "c", 1.0, old)
    before = set(listing(tmp_path))
    write(tmp_path / "c", 2.0, new)
    assert read(tmp_path / "c") == {2.0}
    after = listing(tmp_path)
    assert len(after) == (5 if new else 1)
    assert before & set(after) == {
        name
        for name in ("c.safetensors", "c.safetensors.index.json")
        if old == new and name in before
    }


class Stop(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("new", [False, True])
def test_whatever_call_is_the_last_one_a_whole_checkpoint_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: bool, new: bool
) -> None:
    """Stop before each call that changes the folder, in turn, until the write comes through."""
    seen = []
    for last in range(100):
        folder = tmp_path / str(last)
        write(folder / "c", 1.0, old)
        count = 0

        def counted(real: Callable[..., Any], last: int = last) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                nonlocal count
                count += 1
                if count > last:
                    raise Stop
                return real(*args, **kwargs)

            return call

        with monkeypatch.context() as patch:
            for name in ("rename", "replace", "unlink", "rmdir", "mkdir", "fsync"):
                patch.setattr(os, name, counted(getattr(os, name)))
            try:
                write(folder / "c", 2.0, new)
                complete = True
            except Stop:
                complete = False
        found = read(folder / "c")
        assert found in ({1.0}, {2.0})
        seen.append(found)
        if complete:
            break
        # And the next one tidies up.
        write(folder / "c", 3.0, new)
        assert read(folder / "c") == {3.0}
        assert not [n for n in listing(folder) if n.startswith(".")]
    assert complete
    assert seen[0] == {1.0}
    assert seen[-1] == {2.0}
    assert seen == sorted(seen, key=max)


def test_an_error_leaves_the_old_checkpoint_and_no_rubbish(tmp_path: Path) -> None:
    write(tmp_path / "c", 1.0)
    with pytest.raises(BundleError, match="dtype"):
        write_files(tmp_path / "c", {"x": np.zeros(2, "M8[s]")}, {})
    assert listing(tmp_path) == ["c.safetensors"]
    assert read(tmp_path / "c") == {1.0}


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "c", 1.0)

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(ResourceExhaustedError, match=r"c: the disk is full"):
            write(tmp_path / "c", 2.0)
    assert read(tmp_path / "c") == {1.0}
    assert listing(tmp_path) == ["c.safetensors"]


def test_an_open_checkpoint_keeps_its_values_when_it_is_replaced(tmp_path: Path) -> None:
    reader = load_checkpoint(write(tmp_path / "c", 1.0))
    array = reader.array("values/0")
    write(tmp_path / "c", 2.0)
    assert set(array) == {1.0}


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "c-00001-of-00002.safetensors").write_text("mine")
    (tmp_path / ".hidden").mkdir()
    for sharded in (True, False):
        write(tmp_path / "c", 1.0, sharded)
    delete_files(tmp_path / "c")
    assert listing(tmp_path) == [".hidden", "c-00001-of-00002.safetensors", "notes.txt"]


def test_an_index_cannot_have_other_files_deleted(tmp_path: Path) -> None:
    (tmp_path / "valuable.safetensors").write_text("mine")
    index = {"metadata": {}, "weight_map": {"x": "valuable.safetensors"}}
    (tmp_path / "c.safetensors.index.json").write_text(json.dumps(index))
    delete_files(tmp_path / "c")
    assert listing(tmp_path) == ["valuable.safetensors"]


@pytest.mark.parametrize("sharded", [False, True])
def test_delete(tmp_path: Path, sharded: bool) -> None:
    write(tmp_path / "c", 1.0, sharded)
    write(tmp_path / "d", 2.0, sharded)
    delete_files(tmp_path / "c")
    delete_files(tmp_path / "c")
    assert find_files(tmp_path / "c") is None
    assert not [name for name in listing(tmp_path) if name.startswith("c")]
    assert read(tmp_path / "d") == {2.0}


def test_leftovers_of_the_living_are_kept(tmp_path: Path) -> None:
    with files._temporary_folder(tmp_path, "c") as temporary:
        write(tmp_path / "c", 1.0)
        assert temporary.is_dir()
    assert listing(tmp_path) == ["c.safetensors"]


def test_replace_file(tmp_path: Path) -> None:
    for data in (b"one", b"two"):
        replace_file(tmp_path / "state", data)
        assert (tmp_path / "state").read_bytes() == data
    assert listing(tmp_path) == ["state"]


# Damage


def damaged(path: Path, change: Callable[[bytearray], None]) -> Path:
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)
    return path


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a small checkpoint."""
    path = tmp_path_factory.mktemp("small") / "c"
    model = module(a=v([1.0, 2.0, 3.0]), s=v(["one", "two"]), b=v([True, False]), t=(v(1),))
    return Path(Checkpoint(model=model).write(path) + ".safetensors").read_bytes()


def read_small(path: Path) -> None:
    model = module(a=v([0.0, 0.0, 0.0]), s=v(["", ""]), b=v([False, False]), t=(v(0),))
    Checkpoint(model=model).read(path).assert_consumed()


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_flipped_bit_is_noticed(small: bytes, tmp_path: Path, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(small) * 8 - 1))
    path = tmp_path / "c.safetensors"
    path.write_bytes(small)
    damaged(path, lambda b: b.__setitem__(place // 8, b[place // 8] ^ 1 << place % 8))
    with pytest.raises(BundleError, match=r"c\.safetensors"):
        read_small(path)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_truncation_is_noticed(small: bytes, tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "c.safetensors"
    path.write_bytes(small[: data.draw(st.integers(0, len(small) - 1))])
    with pytest.raises(BundleError, match=r"c\.safetensors"):
        read_small(path)


def test_damage_changes_no_variable(small: bytes, tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    path.write_bytes(small[:-1] + bytes([small[-1] ^ 1]))
    model = module(a=v([0.0, 0.0, 0.0]), t=(v(0),))
    with pytest.raises(BundleError, match="CRC-32"):
        Checkpoint(model=model).read(path)
    assert not model.a.numpy().any()


def test_listing_reads_headers_only_and_values_are_checked(small: bytes, tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    path.write_bytes(small[:-1] + bytes([small[-1] ^ 1]))
    with load_checkpoint(path) as reader:
        assert reader.has_tensor("model/a")
        for _ in range(2):
            with pytest.raises(BundleError, match="CRC-32"):
                reader.get_tensor("model/a")


def shards(folder: Path) -> list[Path]:
    return sorted(folder.glob("c.*-of-*.safetensors"))


def test_a_missing_shard(tmp_path: Path) -> None:
    path = write(tmp_path / "c", 1.0, sharded=True)
    shards(tmp_path)[1].unlink()
    with pytest.raises(BundleError, match="-00002-of-00004"):
        read(path)


def test_shards_of_another_save(tmp_path: Path) -> None:
    path = write(tmp_path / "c", 1.0, sharded=True)
    Checkpoint(values=[v(np.zeros(16, np.float32)) for _ in range(5)]).write(
        tmp_path / "other" / "c", SHARDED
    )
    for mine, theirs in zip(shards(tmp_path)[:1], shards(tmp_path / "other"), strict=False):
        mine.write_bytes(theirs.read_bytes())
    with pytest.raises(BundleError, match="do not belong together"):
        read(path)


@pytest.mark.parametrize("change", ["drop", "wrong file", "extra", "outside"])
def test_an_index_that_lies(tmp_path: Path, change: str) -> None:
    path = write(tmp_path / "c", 1.0, sharded=True)
    index = tmp_path / "c.safetensors.index.json"
    table = json.loads(index.read_text())
    weights = table["weight_map"]
    if change == "drop":
        del weights["values/0"]
    elif change == "wrong file":
        weights["values/0"] = weights["values/1"]
    elif change == "extra":
        weights["values/9"] = weights["values/0"]
    else:
        weights["values/0"] = "../c.safetensors"
    index.write_text(json.dumps(table))
    with pytest.raises(BundleError, match=r"safetensors"):
        read(path)


def graph_file(tmp_path: Path, graph: Any, **metadata: str) -> Path:
    text = graph if isinstance(graph, str) else json.dumps(graph)
    path = tmp_path / "c.safetensors"
    write_safetensors(path, {"x": np.zeros(2, "f4")}, {"tfx.objects": text, **metadata})
    return path


@pytest.mark.parametrize(
    "graph",
    [
        "{",
        "[" * 100_000,
        {},
        {"nodes": []},
        {"nodes": 3},
        {"nodes": [3]},
        {"nodes": [{"children": {"x": 5}}, {"key": "x"}]},
        {"nodes": [{"children": {"x": -1}}, {"key": "x"}]},
        {"nodes": [{"children": {"x": True}}, {"key": "x"}]},
        {"nodes": [{"children": ["x"]}, {"key": "x"}]},
        {"nodes": [{"children": {"x": 1}}, {"key": 3}]},
        {"nodes": [{"children": {"x": 1}}, {"key": "y"}]},
        {"nodes": [{"children": {"x": 1}}]},
        {"nodes": [{"children": {"x": 1}}, {"key": "x"}, {"key": "x"}]},
        {"nodes": [{"children": {"x": 1}, "slots": 3}, {"key": "x"}]},
        {"nodes": [{"children": {"x": 1}, "slots": [["m", 1, 2]]}, {"key": "x"}]},
        {"nodes": [{"children": {"x": 1}, "slots": [[1, 1, 1]]}, {"key": "x"}]},
    ],
    ids=lambda g: json.dumps(g)[:100],
)
def test_object_graphs_that_lie(tmp_path: Path, graph: Any) -> None:
    with pytest.raises(BundleError, match=r"c\.safetensors"):
        Checkpoint(x=v([0.0, 0.0])).read(graph_file(tmp_path, graph))


@pytest.mark.parametrize(
    ("version", "error"),
    [("2", UnsupportedVersionError), ("x", BundleError), ("9" * 5000, BundleError)],
    ids=["newer", "text", "huge"],
)
def test_versions(tmp_path: Path, version: str, error: type[Exception]) -> None:
    graph = {"nodes": [{"children": {"x": 1}}, {"key": "x"}]}
    path = graph_file(tmp_path, graph, **{"tfx.checkpoint": version})
    with pytest.raises(error, match=r"c\.safetensors"):
        Checkpoint(x=v([0.0, 0.0])).read(path)


def test_deep_graphs_do_not_overflow_the_stack(tmp_path: Path) -> None:
    root: Any = v(1.0)
    for _ in range(20_000):
        root = [root]
    path = Checkpoint(root=root).write(tmp_path / "c")
    x = root
    while isinstance(x, list):
        x = x[0]
    x.assign(0.0)
    Checkpoint(root=root).read(path).assert_consumed()
    assert f(x) == 1.0


# Killed


_WRITER = """
import sys
import numpy as np
import tfx as tf
from tfx.train import Checkpoint, CheckpointOptions
folder, sharded, background = sys.argv[1], sys.argv[2] == "True", sys.argv[3] == "True"
options = CheckpointOptions(max_shard_bytes=1 << 18) if sharded else None
values = [tf.Variable(np.zeros(1 << 15, np.float32)) for _ in range(8)]
checkpoint = Checkpoint(values=values)
checkpoint.write(folder + "/c", options)
print("ready", flush=True)
number = 0
while True:
    number += 1
    for x in values:
        x.assign(np.full(1 << 15, number, np.float32))
    checkpoint.write(folder + "/c", options, background=background)
    checkpoint.save(folder + "/s", options, background=background)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sharded", "background"),
    [(False, False), (True, False), (True, True)],
    ids=["single", "sharded", "background"],
)
def test_killed_at_any_time(
    tmp_path: Path, sharded: bool, background: bool, rng: np.random.Generator
) -> None:
    import signal
    import time

    values = [v(np.zeros(1 << 15, np.float32)) for _ in range(8)]
    checkpoint = Checkpoint(values=values)
    for _ in range(12):
        with subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(tmp_path), str(sharded), str(background)],
            stdout=subprocess.PIPE,
            cwd=ROOT,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            time.sleep(rng.uniform(0, 0.2))
            process.send_signal(signal.SIGKILL)
        checkpoint.read(tmp_path / "c").expect_partial().assert_existing_objects_matched()
        assert len({float(x) for value in values for x in value.numpy()}) == 1
        latest = latest_checkpoint(tmp_path)
        if latest is not None:
            checkpoint.restore(latest).assert_consumed()
            assert len({float(x) for value in values for x in value.numpy()}) == 1
    write(tmp_path / "c", 1.0)
    assert not [name for name in listing(tmp_path) if name.startswith(".")]


def test_two_writers_at_once(tmp_path: Path) -> None:
    def work(number: int) -> None:
        for i in range(15):
            write(tmp_path / "c", float(number), sharded=i % 3 == number)
            write(tmp_path / f"c{number}", float(i), sharded=i % 2 == 0)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, (0, 1)))
    assert read(tmp_path / "c") in ({0.0}, {1.0})
    assert read(tmp_path / "c0") == read(tmp_path / "c1") == {14.0}
    assert not [name for name in listing(tmp_path) if name.startswith(".")]
