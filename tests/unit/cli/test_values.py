"""Tensors on the command line: what is read, what is refused, what is written."""

from __future__ import annotations

import io
import json
import math
import re
import shlex
from pathlib import Path
from typing import Any

import click
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfx.cli import _values
from tfx.cli._errors import OperationError
from tfx.core import dtypes
from tfx.loaders.messages import describe_type


def read(text: str, *, is_float: bool = False) -> Any:
    return _values.read_value("x", text, is_float=is_float)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2.5", 2.5),
        ("-3", -3),
        ("true", True),
        ("[[1, 2], [3, 4]]", [[1, 2], [3, 4]]),
        ('"hello"', "hello"),
        ('["a", "b"]', ["a", "b"]),
        ('"@file.npy"', "@file.npy"),
    ],
)
def test_json(text: str, value: object) -> None:
    assert read(text) == value


def test_numbers_that_json_lacks() -> None:
    assert read('["NaN", "-Infinity", 1]', is_float=True)[1:] == [-math.inf, 1]
    assert math.isnan(read('"NaN"', is_float=True))
    assert read('"NaN"') == "NaN"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "--input x: 'hello' is not JSON"),
        ("[1, 2", "is not JSON"),
        ("", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("@a.txt", "--input x=@a.txt: expected a file that ends in .npy, .npz, .json or .csv"),
        ("@", "expected a file that ends in"),
        ("@a.npy", "--input x=@a.npy: a.npy does not exist"),
        ("@a.npz:key", "a.npz does not exist"),
        ("@folder.npy", "folder.npy is no file"),
        ("@bad.json", "bad.json: '{' is not JSON"),
        ("@latin.json", "not UTF-8 text"),
        ("@bad.npy", "not an array that can be read"),
        ("@bad.npz", "not an array that can be read"),
        ("@short.npy", "not an array that can be read"),
        ("@objects.npy", "it holds Python objects"),
        ("@objects.npz", "it holds Python objects"),
        ("@two.npz", "it has the arrays a, b; choose one with @FILE.npz:KEY"),
        ("@two.npz:c", "it has the arrays a, b"),
        ("@two.json", "it has the arrays a, b; choose one with @FILE.json:KEY"),
        ("@list.json:a", "it has no names to choose from; leave out :a"),
    ],
)
def test_what_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.npy").mkdir()
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "two.json").write_text('{"a": 1, "b": 2}')
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "latin.json").write_bytes(b'"\xe9"')
    (tmp_path / "bad.npy").write_bytes(b"not numpy")
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 not a zip")
    np.save("short.npy", np.zeros(100))
    (tmp_path / "short.npy").write_bytes((tmp_path / "short.npy").read_bytes()[:200])
    np.save("objects.npy", np.array([{}], object), allow_pickle=True)
    np.savez("objects.npz", np.array([{}], object), allow_pickle=True)
    np.savez("two.npz", a=1, b=2)
    with pytest.raises(click.UsageError) as caught:
        read(text)
    assert message in caught.value.format_message()


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    np.save("a.npy", array)
    np.savez("one.npz", whatever=array)
    np.savez("two.npz", x=array, y=array + 1)
    (tmp_path / "a.json").write_text(json.dumps(array.tolist()))
    (tmp_path / "odd.npz:y").write_bytes((tmp_path / "a.npy").read_bytes())
    for text in ("@a.npy", "@A.npy", "@one.npz", "@one.npz:whatever", "@two.npz"):
        if text == "@A.npy":
            (tmp_path / "a.npy").rename("A.npy")
        found = read(text)
        assert found.dtype == np.int16
        np.testing.assert_array_equal(found, array)
    np.testing.assert_array_equal(read("@two.npz:y"), array + 1)
    assert read("@a.json") == array.tolist()
    (tmp_path / "named.json").write_text('{"x": [1], "y": [2]}')
    assert read("@named.json") == [1]
    assert read("@named.json:y") == [2]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("[[1, 2]]\n"))
    assert read("@-") == [[1, 2]]
    screen = io.StringIO("")
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", screen)
    with pytest.raises(click.UsageError, match="which is the terminal; pipe it in"):
        read("@-")


def test_quoted_words() -> None:
    assert _values.quoted("x=[1]") == "'x=[1]'"
    assert shlex.split(_values.quoted("it's $1")) == ["it's $1"]


@pytest.mark.parametrize("text", ["x", "=1", " =1", ""])
def test_assignments_need_a_name(text: str) -> None:
    with pytest.raises(click.UsageError, match="expected NAME=VALUE"):
        _values.split_assignment(text, "--input", "NAME=VALUE")
    assert _values.split_assignment("a=b=c", "--input", "") == ("a", "b=c")


@pytest.mark.parametrize(
    ("text", "dtype", "symbolic"),
    [
        ("x=float32[None,8]", "float32", (None, 8)),
        ("x=float32[batch, 28, 28]", "float32", ("batch", 28, 28)),
        ("x=int64[]", "int64", ()),
        ("x=bool", "bool", ()),
        ("x=string[?, -1]", "string", (None, None)),
        ("x=bfloat16[...]", "bfloat16", None),
        ("x=float[0]", "float32", (0,)),
    ],
)
def test_specs(text: str, dtype: str, symbolic: object) -> None:
    name, spec = _values.parse_spec(text)
    assert (name, spec.name) == ("x", "x")
    assert spec.dtype.name == dtype
    assert spec.shape.symbolic == symbolic


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "expected NAME=DTYPE[SHAPE], such as image=float32[None,28,28]"),
        ("x=float99[2]", "cannot convert 'float99' to a dtype"),
        ("x=float32[2", "expected NAME=DTYPE[SHAPE]"),
        ("x=[2]", "expected NAME=DTYPE[SHAPE]"),
        ("x=float32[a b]", "the dimension 'a b': expected a size, a name, or None"),
        ("x=float32[1.5]", "the dimension '1.5'"),
        ("x=float32[-2]", "the dimension '-2'"),
        ("x=float32[,]", "the dimension ''"),
        ("x=float32[²]", "the dimension '²'"),
    ],
)
def test_specs_that_are_none(text: str, message: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        _values.parse_spec(text)
    assert message in caught.value.format_message()


_DIMS = st.lists(st.one_of(st.none(), st.integers(0, 99), st.sampled_from(["batch", "time"])))


@given(st.sampled_from([d.name for d in dtypes.ALL_DTYPES]), _DIMS)
def test_what_is_shown_can_be_given_back(dtype: str, dims: list[int | str | None]) -> None:
    _, spec = _values.parse_spec(f"x={describe_type(dtype, tuple(dims))}")
    assert (spec.dtype.name, spec.shape.symbolic) == (dtype, tuple(dims))


@pytest.mark.parametrize(
    ("array", "value"),
    [
        (np.float32(0.1), 0.1),
        (np.array([[1, 2]], np.int8), [[1, 2]]),
        (np.array([True]), [True]),
        (np.array([np.nan, np.inf, -np.inf, 1.5]), ["NaN", "Infinity", "-Infinity", 1.5]),
        (np.array(np.nan, np.float16), "NaN"),
        (np.array([1.5, 2], ml_dtypes.bfloat16), [1.5, 2]),
        (np.array([-8, 7], ml_dtypes.int4), [-8, 7]),
        (np.array(["a", "é"], object), ["a", "é"]),
        (np.zeros((0, 2), np.float32), []),
        (np.float64(1 / 3), 1 / 3),
    ],
    ids=str,
)
def test_arrays_as_json(array: Any, value: object) -> None:
    assert json.loads(json.dumps(_values.to_json(np.asarray(array)), allow_nan=False)) == value


@given(st.lists(st.floats(width=32)))
def test_float32_survives_json(values: list[float]) -> None:
    array = np.array(values, np.float32)
    text = json.dumps(_values.to_json(array), allow_nan=False)
    back = np.array(_values.read_value("x", text, is_float=True), np.float32)
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("suffix", ["npy", "npz", "json"])
def test_output_files(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out.{suffix}"
    path.write_text("old")
    array = np.arange(4, dtype=np.float32).reshape(2, 2).T
    _values.write_output(str(path), {"file": array})
    assert [item.name for item in tmp_path.iterdir()] == [path.name]
    found = read(f"@{path}")
    if suffix == "json":
        assert found == array.tolist()
    else:
        np.testing.assert_array_equal(found, array)


def test_strings_and_scalars_in_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "out.npz"
    tensors = {"a": np.array(["x", "yé"], object), "b": np.array(2, np.int32)}
    _values.write_output(str(path), tensors)
    with np.load(path, allow_pickle=False) as loaded:
        assert loaded["a"].tolist() == ["x", "yé"]
        assert loaded["b"].shape == ()
        assert loaded["b"].dtype == np.int32


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out.npy"
    path.write_text("old")
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        _values._replace(
            str(path),
            lambda f: np.lib.format.write_array(f, np.array([{}], object), allow_pickle=False),
        )
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "names", "message"),
    [
        ("out.txt", ["a"], "expected a name ending in .npz, .npy, .json or .csv"),
        ("out.npy", ["a", "b"], "a .npy file holds one array, and there are 2 outputs (a, b)"),
        ("no/out.npz", ["a"], "there is no such folder"),
    ],
)
def test_output_is_checked_before_any_work(
    tmp_path: Path, name: str, names: list[str], message: str
) -> None:
    with pytest.raises(click.UsageError) as caught:
        _values.check_output(str(tmp_path / name), names)
    assert message in caught.value.format_message()
    _values.check_output(None, names)


@pytest.mark.parametrize(
    ("text", "column", "rank", "expected"),
    [
        ("1,2.5\n3,4\n", None, 2, [[1, 2.5], [3, 4]]),
        ("a,b\n1,2.5\n3,4\n", None, 2, [[1, 2.5], [3, 4]]),
        ("a,b\n1,2.5\n3,4\n", "b", 1, [2.5, 4]),
        ("x\n1\n2\n", None, 1, [1, 2]),
        ("1,2\n", None, 1, [1, 2]),
        ("7\n", None, 0, 7),
        ("7\n", None, 2, [[7]]),
        ("nan,-inf\ntrue, 2 \n", None, None, [["NaN", "-Infinity"], [True, 2]]),
        ("", None, 2, []),
    ],
)
def test_tables(text: str, column: str | None, rank: int | None, expected: Any) -> None:
    assert _values.read_table(text, column, rank, "t.csv") == expected


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("1,2\n3\n", None, "row 2 has 1 cells, the first one 2"),
        ("a,b\n1,\n", None, "row 2 has '' in column 2, expected a number"),
        ("1\n1e400\n", None, "row 2 has '1e400'"),
        ("a,b\n1,2\n", "c", "it has the columns a, b"),
        ("1,2\n", "c", "it has the columns no names"),
    ],
)
def test_tables_that_are_none(text: str, column: str | None, words: str) -> None:
    with pytest.raises(click.UsageError, match=re.escape(words)):
        _values.read_table(text, column, 2, "t.csv")


def test_tables_are_written_with_names(tmp_path: Path) -> None:
    tensors = {"y": np.float32([0.1, np.inf]), "z": np.array([[1, 2], [3, 4]])}
    path = str(tmp_path / "t.csv")
    _values.write_output(path, tensors)
    assert Path(path).read_text() == "y,z_0,z_1\n0.1,1,2\nInfinity,3,4\n"
    found = _values.read_value("x", f"@{path}:y", is_float=True, rank=1)
    assert found == [0.1, np.inf]
    for bad in ({"y": np.zeros((1, 1, 1))}, {"y": np.zeros(2), "z": np.zeros(3)}):
        with pytest.raises(OperationError, match=r"choose \.npz"):
            _values.write_output(path, bad)


@pytest.mark.parametrize("text", ["1e400", "[-1e400]", "NaN", "[Infinity]", "-Infinity"])
def test_numbers_that_json_has_not(text: str) -> None:
    with pytest.raises(click.UsageError, match='"Infinity", "-Infinity" or "NaN" in quotes'):
        _values.read_value("x", text, is_float=True)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"hello", "it does not begin as such a file does"),
        (b"\x93NUMPY\x01\x00\x10\x00{'descr': [[[[[[[", "its header is damaged"),
    ],
)
def test_damaged_arrays_are_one_line(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "x.npy").write_bytes(data)
    with pytest.raises(click.UsageError, match=words):
        _values.read_value("x", f"@{tmp_path / 'x.npy'}", is_float=True)


def test_a_file_without_its_sign(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("1\n")
    with pytest.raises(click.UsageError, match=re.escape(f"--input x=@{path}")):
        _values.read_value("x", str(path), is_float=True)
