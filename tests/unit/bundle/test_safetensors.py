"""Writing and mapping safetensors files; the format's own library is the judge."""

from __future__ import annotations

import hashlib
import json
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given

from tfx.bundle import limits
from tfx.bundle.dtypes import BY_NAME
from tfx.bundle.safetensors import open_safetensors, write_safetensors
from tfx.core.errors import AlreadyExistsError, BundleError, NotFoundError

NATIVE = sorted(name for name, row in BY_NAME.items() if row.safetensors)


def sample(rng: np.random.Generator) -> dict[str, npt.NDArray[Any]]:
    tensors: dict[str, npt.NDArray[Any]] = {}
    for name in sorted(set(BY_NAME) - {"string"}):
        for shape in ((), (0, 3), (3,), (4, 16)):
            tensors[f"{name}/{shape}"] = rng.integers(0, 2, shape).astype(BY_NAME[name].numpy)
    words = np.empty((2, 2), object)
    words[:] = [["a", "bc"], ["", "désolé"]]
    tensors["words"] = words
    return tensors


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.safetensors"


def test_everything_comes_back(path: Path, rng: np.random.Generator) -> None:
    tensors = sample(rng)
    write_safetensors(path, tensors, {"note": "text"})
    with open_safetensors(path) as file:
        assert sorted(file) == sorted(file.keys()) == sorted(tensors)
        assert len(file) == len(tensors)
        assert file.metadata == {"note": "text"}
        for key, array in tensors.items():
            back = file.array(key)
            assert back.dtype == array.dtype
            assert back.shape == array.shape
            assert back.tolist() == array.tolist()
            assert not back.flags.writeable


def test_what_was_written_is_reported_truly(path: Path, rng: np.random.Generator) -> None:
    tensors = sample(rng)
    written = write_safetensors(path, tensors)
    data = path.read_bytes()
    assert written.size == len(data)
    assert written.sha256 == hashlib.sha256(data).digest()
    assert list(written.entries) == sorted(tensors)
    file = open_safetensors(path)
    for key, entry in written.entries.items():
        assert file.entry(key) == entry
        if entry.dtype in NATIVE:
            stored = data[entry.offset : entry.offset + entry.nbytes]
            assert stored == tensors[key].tobytes()


def test_tensors_lie_at_multiples_of_their_elements_and_big_ones_at_cache_lines(
    path: Path, rng: np.random.Generator
) -> None:
    for entry in write_safetensors(path, sample(rng)).entries.values():
        itemsize = 1 if entry.stored_dtype == "U8" else BY_NAME[entry.dtype].numpy.itemsize
        assert entry.offset % itemsize == 0
        if entry.nbytes % 64 == 0:
            assert entry.offset % 64 == 0


def test_the_bytes_do_not_depend_on_the_order_given(tmp_path: Path) -> None:
    tensors = {name: np.full(3, index, np.float32) for index, name in enumerate("cab")}
    write_safetensors(tmp_path / "1", tensors, {"x": "1", "y": "2"})
    turned = dict(reversed(tensors.items()))
    write_safetensors(tmp_path / "2", turned, {"y": "2", "x": "1"})
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_an_empty_file_of_no_tensors(path: Path) -> None:
    write_safetensors(path, {})
    assert open_safetensors(path).keys() == []


def test_reading_and_writing_make_no_second_copy(path: Path) -> None:
    array = np.zeros(8 << 20, np.uint8)
    tracemalloc.start()
    try:
        write_safetensors(path, {"w": array})
        open_safetensors(path).array("w")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20


def test_arrays_outlive_the_file_that_gave_them(path: Path) -> None:
    write_safetensors(path, {"w": np.arange(4)})
    with open_safetensors(path) as file:
        array = file.array("w")
    path.unlink()
    assert array.tolist() == [0, 1, 2, 3]
    with pytest.raises(BundleError, match="closed"):
        file.array("w")


def test_an_existing_file_is_never_overwritten(path: Path) -> None:
    path.write_bytes(b"precious")
    with pytest.raises(AlreadyExistsError, match="there is such a file"):
        write_safetensors(path, {})
    assert path.read_bytes() == b"precious"


@pytest.mark.parametrize(
    ("tensors", "metadata", "message"),
    [
        ({"__metadata__": np.zeros(1)}, None, "keys"),
        ({"": np.zeros(1)}, None, "keys"),
        ({"\ud800": np.zeros(1)}, None, "not Unicode"),
        ({"t": np.zeros(1, "M8[s]")}, None, "tensor 't': an array of dtype datetime64"),
        ({}, {"tfx.encoding": "{}"}, "reserved"),
        ({}, {"a": 1}, "expected text"),
    ],
)
def test_what_cannot_be_written_is_refused_and_leaves_no_file(
    path: Path, tensors: Any, metadata: Any, message: str
) -> None:
    with pytest.raises(BundleError, match=message):
        write_safetensors(path, tensors, metadata)
    assert not path.exists()


def test_a_missing_file_or_tensor_is_named(path: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"x\.safetensors: no such file"):
        open_safetensors(path)
    with pytest.raises(BundleError, match="not a plain file"):
        open_safetensors(tmp_path)
    write_safetensors(path, {"weight": np.zeros(1)})
    with pytest.raises(BundleError, match=r"no tensor 'wieght' among its 1 \('weight'"):
        open_safetensors(path).entry("wieght")


def test_the_file_says_what_it_is(path: Path) -> None:
    write_safetensors(path, {"w": np.zeros(1)})
    file = open_safetensors(path)
    assert "w" in file
    assert "v" not in file
    assert repr(file) == f"SafetensorsFile({str(path)!r}, 1 tensors, {path.stat().st_size} bytes)"


# --- the format's own library ------------------------------------------------------------------


def test_their_library_reads_what_we_write(path: Path, rng: np.random.Generator) -> None:
    theirs = pytest.importorskip("safetensors")
    tensors = sample(rng)
    write_safetensors(path, tensors, {"note": "text"})
    bits = {"BF16": np.uint16, "F8_E4M3": np.uint8, "F8_E5M2": np.uint8}
    read = dict(theirs.deserialize(path.read_bytes()))
    assert sorted(read) == sorted(tensors)
    for key, entry in open_safetensors(path)._entries.items():
        assert read[key]["dtype"] == entry.stored_dtype
        assert tuple(read[key]["shape"]) == entry.stored_shape
        if entry.dtype in NATIVE:
            assert bytes(read[key]["data"]) == tensors[key].tobytes()
    with theirs.safe_open(path, framework="np") as file:
        assert file.metadata()["note"] == "text"
        for name in sorted(set(NATIVE) - {BY_NAME[n].name for n in NATIVE if n[:2] == "bf"}):
            if BY_NAME[name].safetensors not in bits:
                key = f"{name}/(4, 16)"
                np.testing.assert_array_equal(file.get_tensor(key), tensors[key])


def test_we_read_what_their_library_writes(path: Path, rng: np.random.Generator) -> None:
    theirs = pytest.importorskip("safetensors.numpy")
    names = sorted(set(NATIVE) - {"bfloat16", "float8_e4m3fn", "float8_e5m2"})
    tensors: dict[str, npt.NDArray[Any]] = {
        name: rng.integers(0, 2, (3, 5)).astype(BY_NAME[name].numpy) for name in names
    }
    tensors |= {"empty": np.zeros((0, 2), np.float32), "scalar": np.array(3, np.float32)}
    theirs.save_file(tensors, path, metadata={"format": "np"})
    file = open_safetensors(path)
    assert file.metadata == {"format": "np"}
    for key, array in tensors.items():
        np.testing.assert_array_equal(file.array(key), array)
        assert file.array(key).dtype == array.dtype


def _refused_by_both(data: bytes, path: Path) -> bool:
    """Say whether we refuse `data`; if we take it, their library must take it too."""
    theirs = pytest.importorskip("safetensors")
    path.write_bytes(data)
    try:
        open_safetensors(path)
    except BundleError:
        return True
    theirs.deserialize(data)
    return False


# --- hostile files -------------------------------------------------------------------------------


def build(header: Any, data: bytes = b"", *, length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(begin: int, end: int, shape: list[int] | None = None, dtype: str = "U8") -> Any:
    return {
        "dtype": dtype,
        "shape": [end - begin] if shape is None else shape,
        "data_offsets": [begin, end],
    }


HOSTILE = {
    "nothing": b"",
    "seven bytes": bytes(7),
    "no header": struct.pack("<Q", 0),
    "a header longer than the file": build({}, length=100),
    "a huge header": build({}, length=1 << 63),
    "a header over the cap": build({}, length=100_000_001),
    "no object": build([1]),
    "a space first": build(b" {}"),
    "not JSON": build(b"{nope}"),
    "not UTF-8": build(b'{"\xff": 1}'),
    "nested without end": build(b'{"a":' * 50_000),
    "an endless number": build(b'{"a":{"dtype":"U8","shape":[' + b"9" * 5000 + b"]}}"),
    "a key twice": build(
        b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},'
        b'"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'
    ),
    "a field twice": build(b'{"a":{"dtype":"U8","dtype":"I8","shape":[0],"data_offsets":[0,0]}}'),
    "an unknown dtype": build({"a": tensor(0, 1, dtype="F7")}, b"x"),
    "a dtype that is no text": build({"a": {**tensor(0, 1), "dtype": 3}}, b"x"),
    "no shape": build({"a": {"dtype": "U8", "data_offsets": [0, 1]}}, b"x"),
    "a tensor that is a list": build({"a": [1]}),
    "a negative dimension": build({"a": tensor(0, 1, [-1])}, b"x"),
    "a true dimension": build({"a": {**tensor(0, 1), "shape": [True]}}, b"x"),
    "a fractional dimension": build({"a": {**tensor(0, 1), "shape": [1.0]}}, b"x"),
    "a product over 64 bits": build({"a": tensor(0, 0, [2**62, 2**62])}),
    "a product over 64 bits with a zero": build({"a": tensor(0, 0, [2**62, 0, 2**62])}),
    "a dimension over 64 bits": build({"a": tensor(0, 0, [2**64])}),
    "rank 65": build({"a": tensor(0, 1, [1] * 65)}, b"x"),
    "a shape that lies": build({"a": tensor(0, 4, [5])}, b"abcd"),
    "an end before the begin": build({"a": {**tensor(0, 1, [1]), "data_offsets": [1, 0]}}, b"x"),
    "one offset": build({"a": {**tensor(0, 1), "data_offsets": [0]}}, b"x"),
    "a negative offset": build({"a": {**tensor(0, 1), "data_offsets": [-1, 0]}}, b"x"),
    "an offset outside": build({"a": tensor(0, 10)}, b"x"),
    "an overlap": build({"a": tensor(0, 2), "b": tensor(1, 3)}, b"xyz"),
    "the same bytes twice": build({"a": tensor(0, 2), "b": tensor(0, 2)}, b"xy"),
    "a hole": build({"a": tensor(0, 1), "b": tensor(2, 3)}, b"xyz"),
    "a hole at the beginning": build({"a": tensor(1, 2)}, b"xy"),
    "bytes after the end": build({"a": tensor(0, 1)}, b"xyz"),
    "truncated data": build({"a": tensor(0, 3)}, b"xy"),
    "metadata that is no object": build({"__metadata__": 3}),
    "metadata that is no text": build({"__metadata__": {"a": 3}}),
    "an encoding that is not JSON": build({"__metadata__": {"tfx.encoding": "{"}}),
    "an encoding that is a list": build({"__metadata__": {"tfx.encoding": "[]"}}),
    "an encoding of no tensor": build(
        {"__metadata__": {"tfx.encoding": '{"b": {"dtype": "string", "shape": []}}'}}
    ),
}
LYING_ENCODINGS = [
    '{"a": 3}',
    '{"a": {"dtype": "string"}}',
    '{"a": {"dtype": 3, "shape": []}}',
    '{"a": {"dtype": "nope", "shape": []}}',
    '{"a": {"dtype": "int4", "shape": [9]}}',
    '{"a": {"dtype": "int4", "shape": [-1]}}',
    '{"a": {"dtype": "complex128", "shape": [1]}}',
    '{"a": {"dtype": "float32", "shape": [1]}}',
]


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_hostile_file_is_refused_by_name(name: str, path: Path) -> None:
    path.write_bytes(HOSTILE[name])
    with pytest.raises(BundleError) as caught:
        open_safetensors(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("encoding", LYING_ENCODINGS)
def test_an_encoding_that_lies_is_refused(encoding: str, path: Path) -> None:
    header = {"__metadata__": {"tfx.encoding": encoding}, "a": tensor(0, 4)}
    path.write_bytes(build(header, b"abcd"))
    with pytest.raises(BundleError, match="tensor 'a'"):
        open_safetensors(path)


def test_unknown_fields_and_trailing_spaces_are_taken(path: Path) -> None:
    header = json.dumps({"a": {**tensor(0, 1), "extra": [1, {"x": None}]}}).encode() + b"   "
    path.write_bytes(build(header, b"x"))
    assert open_safetensors(path).array("a").tolist() == [ord("x")]


def test_a_header_over_the_cap_is_not_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_TENSOR_HEADER_BYTES", 200)
    with pytest.raises(BundleError, match="write several files"):
        write_safetensors(path, {f"tensor{i}": np.zeros(1) for i in range(20)})


SMALL = {"a": np.arange(5, dtype=np.float32), "b": np.array(["x", "yz"], object)}


@pytest.fixture(scope="module")
def small_data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("small") / "s"
    write_safetensors(path, SMALL)
    return path.read_bytes()


def test_every_truncation_is_refused(small_data: bytes, path: Path) -> None:
    for length in range(len(small_data)):
        path.write_bytes(small_data[:length])
        with pytest.raises(BundleError):
            open_safetensors(path)


@given(
    changes=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), min_size=1, max_size=4)
)
def test_changed_bytes_never_do_more_than_raise(
    changes: list[tuple[int, int]], small_data: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = bytearray(small_data)
    for position, value in changes:
        data[position % len(data)] = value
    path = tmp_path_factory.getbasetemp() / "changed.safetensors"
    if not _refused_by_both(bytes(data), path):
        file = open_safetensors(path)
        for key in file:
            try:
                array = file.array(key)
            except BundleError:
                continue
            assert array.nbytes <= 8 * len(data)


OFFSETS = st.integers(-1, 9)


@given(
    spans=st.lists(st.tuples(OFFSETS, OFFSETS), max_size=4),
    size=st.integers(0, 9),
)
def test_we_take_exactly_the_layouts_that_their_library_takes(
    spans: list[tuple[int, int]], size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    theirs = pytest.importorskip("safetensors")
    header = {str(i): tensor(b, e, [max(0, e - b)]) for i, (b, e) in enumerate(spans)}
    data = build(header, bytes(size))
    try:
        theirs.deserialize(data)
        expected = False
    except Exception:  # of their own class, which moved between versions
        expected = True
    path = tmp_path_factory.getbasetemp() / "layout.safetensors"
    assert _refused_by_both(data, path) == expected
