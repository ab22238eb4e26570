"""Tensors on the command line and in files: reading ``--input``, writing ``--output``.

Owns the notations ``NAME=@FILE``, ``NAME=JSON`` and ``NAME=DTYPE[SHAPE]``. Must not know what the
tensors are for: dtypes and shapes are checked by the receiver. The one decision: a file is
data only, so nothing that would need pickle is read or written.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

import click

from tfx.cli._errors import OperationError
from tfx.core.system_errors import writing

if TYPE_CHECKING:
    import numpy as np

    from tfx.core.specs import TensorSpec

    Array = np.ndarray[Any, np.dtype[Any]]

INPUT_SUFFIXES = (".npy", ".npz", ".json", ".csv")
OUTPUT_SUFFIXES = (".npy", ".npz", ".json", ".csv")
# JSON has no such numbers; protobuf's JSON writes them like this too.
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_WRITE = '"Infinity", "-Infinity" or "NaN" in quotes'
_WORDS: dict[str, str | bool] = {
    **dict.fromkeys(("nan", "+nan", "-nan"), "NaN"),
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), "Infinity"),
    **dict.fromkeys(("-inf", "-infinity"), "-Infinity"),
    "true": True,
    "false": False,
}
_QUOTE = "'\"'\"'"
_SPEC = re.compile(r"^(?P<dtype>[A-Za-z]\w*)\s*(?:\[(?P<dims>.*)\])?$")


class _Filled(click.Path):
    """A path that is not empty: an unset variable of a shell script is not the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not value:
            self.fail("the path is empty; give a name", param, ctx)
        return super().convert(value, param, ctx)


FILLED = _Filled()


def quoted(word: str) -> str:
    """Return a word as a shell takes it: in quotes if it needs some.

    Example:
        >>> quoted("x=@x.npy"), quoted("my bundle")
        ('x=@x.npy', "'my bundle'")
    """
    return word if re.fullmatch(r"[\w@%+=:,./-]+", word) else f"'{word.replace(chr(39), _QUOTE)}'"


def split_assignment(text: str, option: str, expected: str) -> tuple[str, str]:
    """Return the two sides of ``NAME=...``.

    Raises:
        UsageError: There is no name or no equals sign.
    """
    name, equals, rest = text.partition("=")
    if not name.strip() or not equals:
        raise click.UsageError(f"{option} {text!r}: expected {expected}")
    return name.strip(), rest


def read_value(name: str, text: str, *, is_float: bool, rank: int | None = None) -> Any:
    """Return what the right side of ``--input NAME=...`` stands for.

    Args:
        name: The input.
        text: ``@FILE``, ``@-`` for JSON on standard input, or JSON.
        is_float: Whether the input takes floating numbers; then "NaN" and the like are some.
        rank: How many dimensions the input has, if that is known; for tables.

    Returns:
        An array, or numbers, strings and lists of them.

    Raises:
        UsageError: It is neither a readable file nor JSON.
    """
    if text == "@-":
        value = _member(_parse_json(_read_stdin(name), f"--input {name}=@-"), None, name, "@-")
    elif text.startswith("@"):
        value = _read_file(name, text[1:], rank)
    else:
        if text.lower().endswith(INPUT_SUFFIXES) and os.path.isfile(text):
            raise click.UsageError(
                f"--input {name}={text}: a file is given with @: --input {name}=@{text}"
            )
        value = _parse_json(text, f"--input {name}", " or @FILE for a file")
    return _with_not_finite(value) if is_float else value


def _read_file(name: str, text: str, rank: int | None) -> Any:
    path, key = text, None
    if not os.path.exists(path):
        before, colon, after = text.rpartition(":")
        if colon and before.lower().endswith((".npz", ".json", ".csv")):
            path, key = before, after
    where = f"--input {name}=@{text}"
    suffix = Path(path).suffix.lower()
    if suffix not in INPUT_SUFFIXES:
        raise click.UsageError(f"{where}: expected a file that ends in .npy, .npz, .json or .csv")
    if not os.path.isfile(path):
        what = "is no file" if os.path.exists(path) else "does not exist"
        raise click.UsageError(f"{where}: {path} {what}; check the path")
    try:
        if suffix == ".json":
            parsed = _parse_json(Path(path).read_text(encoding="utf-8"), where)
            return _member(parsed, key, name, where)
        if suffix == ".csv":
            return read_table(Path(path).read_text(encoding="utf-8-sig"), key, rank, where)
        return _read_array(path, key, name, where)
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{where}: not UTF-8 text ({error})") from error


def _read_array(path: str, key: str | None, name: str, where: str) -> Array:
    import zipfile

    import numpy as np

    try:
        with open(path, "rb") as file:
            start = file.read(6)
            file.seek(0)
            if not start.startswith((b"\x93NUMPY", b"PK")):
                raise ValueError("it does not begin as such a file does")
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded
            keys = list(loaded)
            array: Array = loaded[_key(keys, key, name, where, "@FILE.npz:KEY")]
            return array
    except click.UsageError:
        raise
    except OSError as error:
        if not isinstance(error, zipfile.BadZipFile) and error.errno is not None:
            raise  # the file could not be read at all
        raise click.UsageError(f"{where}: not an array that can be read ({error})") from error
    except MemoryError as error:
        raise click.UsageError(
            f"{where}: there is no memory for an array of the size that its header says"
        ) from error
    # NumPy takes headers apart with Python's parser, which raises what it likes.
    except Exception as error:
        words = str(error)
        reason = "its header is damaged" if not isinstance(error, ValueError | EOFError) else words
        if "pickle" in words.lower() or "object array" in words.lower():
            reason = "it holds Python objects, which are not unpickled: they can run any program"
        raise click.UsageError(
            f"{where}: not an array that can be read ({reason}); save it with numpy.save"
        ) from error


def _member(value: Any, key: str | None, name: str, where: str) -> Any:
    """The value itself, or of an object, which is what --output writes, the one for the input."""
    if not isinstance(value, dict):
        if key is not None:
            raise click.UsageError(f"{where}: it has no names to choose from; leave out :{key}")
        return value
    return value[_key(list(value), key, name, where, "@FILE.json:KEY")]


def _key(keys: list[str], key: str | None, name: str, where: str, form: str) -> str:
    if key is None:
        key = keys[0] if len(keys) == 1 else name
    if key not in keys:
        names = ", ".join(keys) or "nothing"
        raise click.UsageError(f"{where}: it has the arrays {names}; choose one with {form}")
    return key


def _read_stdin(name: str) -> str:
    if sys.stdin.isatty():
        raise click.UsageError(
            f"--input {name}=@-: expected JSON on standard input, which is the terminal; pipe "
            "it in: echo '[1, 2]' | tfx load ..."
        )
    return sys.stdin.read()


def _parse_json(text: str, where: str, otherwise: str = "") -> Any:
    try:
        return json.loads(text, parse_float=_finite_number, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        short = text if len(text) <= 40 else f"{text[:37]}..."
        raise click.UsageError(
            f"{where}: {short!r} is not JSON ({error}); expected numbers, lists, true, false or "
            f'"text" in double quotes{otherwise and ","}{otherwise}'
        ) from error


def _finite_number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text} is beyond the greatest number of 64 bits; infinity is {_WRITE}")
    return value


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"JSON has no number {text}; write {_WRITE}")


def read_table(text: str, column: str | None, rank: int | None, where: str) -> Any:
    r"""Return the contents of a CSV file as rows of numbers.

    Args:
        text: The file.
        column: Name of the only column that is wanted, which the first row must have.
        rank: How many dimensions are wanted: with one, a lone row or column is a vector.
        where: For messages.

    Raises:
        UsageError: A cell is no number, or rows differ in length.

    Example:
        >>> read_table("a,b\n1,2.5\n3,4\n", None, 2, "t.csv")
        [[1, 2.5], [3, 4]]
    """
    import csv

    try:
        rows = [row for row in csv.reader(text.splitlines(), strict=True) if row]
    except csv.Error as error:
        raise click.UsageError(f"{where}: not a table ({error})") from error
    header: list[str] = []
    if rows and any(_cell(cell) is None for cell in rows[0]):
        header = [cell.strip() for cell in rows.pop(0)]
    width = len(header or (rows[0] if rows else []))
    table = []
    for number, row in enumerate(rows, 2 if header else 1):
        if len(row) != width:
            raise click.UsageError(
                f"{where}: row {number} has {len(row)} cells, the first one {width}"
            )
        cells = [_cell(cell) for cell in row]
        if None in cells:
            bad = row[cells.index(None)]
            raise click.UsageError(
                f"{where}: row {number} has {bad!r} in column {cells.index(None) + 1}, expected a "
                "number"
            )
        table.append(cells)
    if column is not None:
        if column not in header:
            names = ", ".join(header) or "no names"
            raise click.UsageError(
                f"{where}: it has the columns {names}; choose with @FILE.csv:KEY"
            )
        return [row[header.index(column)] for row in table]
    if rank == 1 and width == 1:
        return [row[0] for row in table]
    if rank == 1 and len(table) == 1:
        return table[0]
    if rank == 0 and len(table) == width == 1:
        return table[0][0]
    return table


def _cell(text: str) -> int | float | str | bool | None:
    """A number of a table, in words those that JSON writes in quotes; None if it is none."""
    text = text.strip()
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        return int(text) if text.lstrip("+-").isdigit() else _finite_number(text)
    except ValueError:
        return None


def _with_not_finite(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_not_finite(item) for item in value]
    return _NOT_FINITE.get(value, value) if isinstance(value, str) else value


def parse_spec(text: str) -> tuple[str, TensorSpec]:
    """Return name and spec of ``--input NAME=DTYPE[SHAPE]``.

    Args:
        text: Such as ``image=float32[batch,28,28]``: sizes, names, and None or ? for unknown ones;
            ``float32[]`` is a scalar, ``float32[...]`` has any rank.

    Returns:
        The name and the spec.

    Raises:
        UsageError: It has another form.
    """
    from tfx.core.specs import TensorSpec

    expected = "NAME=DTYPE[SHAPE], such as image=float32[None,28,28]"
    name, rest = split_assignment(text, "--input", expected)
    match = _SPEC.match(rest.strip())
    if match is None:
        raise click.UsageError(f"--input {text!r}: expected {expected}")
    dims = match["dims"]
    try:
        shape = None if dims is not None and dims.strip() == "..." else _dims(dims or "")
        return name, TensorSpec(shape, match["dtype"], name)
    except (TypeError, ValueError) as error:
        raise click.UsageError(f"--input {text!r}: {error}") from error


def _dims(text: str) -> list[int | str | None]:
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    dims: list[int | str | None] = []
    for part in parts:
        if part in ("None", "?", "-1"):
            dims.append(None)
        elif part.isascii() and part.isdigit():
            dims.append(int(part))
        elif part.isidentifier():
            dims.append(part)
        else:
            raise ValueError(f"the dimension {part!r}: expected a size, a name, or None")
    return dims


def to_json(array: Array) -> Any:
    """Return an array as numbers, strings and lists; NaN and infinities as "NaN", "Infinity"."""
    import numpy as np

    if array.dtype.kind == "V":  # bfloat16, 8-bit floats and 4-bit integers, all within float32
        exact = array.astype(np.float32)
        array = exact.astype(np.int8) if "int" in array.dtype.name else exact
    if array.dtype.kind != "f":
        return array.tolist()
    if array.dtype.itemsize < 8:
        # 0.1 as float32 is 0.10000000149011612 as float64: through the shortest text it stays 0.1.
        array = array.astype(str).astype(np.float64)
    items = array.tolist()
    return items if np.isfinite(array).all() else _finite(items)


def _finite(value: Any) -> Any:
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def check_output(path: str | None, names: list[str]) -> None:
    """Refuse a file for ``--output`` that could not hold these tensors, before any work is done.

    Raises:
        UsageError: The ending is unknown, the folder is missing, or .npy has to hold several.
    """
    if path is None:
        return
    suffix = Path(path).suffix.lower()
    if suffix not in OUTPUT_SUFFIXES:
        raise click.UsageError(
            f"--output {path}: expected a name ending in .npz, .npy, .json or .csv"
        )
    if suffix == ".npy" and len(names) != 1:
        raise click.UsageError(
            f"--output {path}: a .npy file holds one array, and there are {len(names)} outputs "
            f"({', '.join(names)}); choose .npz or .json"
        )
    if not Path(path).absolute().parent.is_dir():
        raise click.UsageError(f"--output {path}: there is no such folder; make it first")


def write_output(path: str, tensors: Mapping[str, Array]) -> None:
    """Write tensors to a file of the kind that its ending says; an old one is replaced at once."""
    suffix = Path(path).suffix.lower()
    if suffix == ".json":
        text = json.dumps({name: to_json(array) for name, array in tensors.items()})
        _replace(path, lambda file: file.write(text.encode() + b"\n"))
    elif suffix == ".npy":
        (array,) = tensors.values()
        # In pieces through Python's file: what NumPy writes itself fails without a reason.
        _replace(path, lambda file: _write_array(SimpleNamespace(write=file.write), array))
    elif suffix == ".csv":
        table = _table(path, tensors)
        _replace(path, lambda file: file.write(table.encode()))
    else:
        _replace(path, lambda file: _write_archive(file, tensors))


def _table(path: str, tensors: Mapping[str, Array]) -> str:
    """Tensors of one or two dimensions side by side, with their names in the first row."""
    import csv
    import io

    names: list[str] = []
    columns: list[list[Any]] = []
    for name, array in tensors.items():
        if array.ndim > 2:
            raise OperationError(
                f"--output {path}: output {name!r} has {array.ndim} dimensions, a table has two; "
                "choose .npz, .npy or .json"
            )
        wide = array.reshape(-1, 1) if array.ndim < 2 else array
        names += [name] if array.ndim < 2 else [f"{name}_{i}" for i in range(wide.shape[1])]
        columns += [to_json(wide[:, i]) for i in range(wide.shape[1])]
    lengths = sorted({len(column) for column in columns})
    if len(lengths) > 1:
        raise OperationError(
            f"--output {path}: the outputs have {' and '.join(map(str, lengths))} rows, which fit "
            "in no one table; choose .npz or .json"
        )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def _write_archive(file: BinaryIO, tensors: Mapping[str, Array]) -> None:
    import zipfile

    # Not numpy.savez: it takes names as keyword arguments, and an output may be called "file".
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in tensors.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as part:
                _write_array(part, array)


def _write_array(file: Any, array: Array) -> None:
    import numpy as np

    if array.dtype == object:
        array = np.array(array.tolist(), dtype=str)
    np.lib.format.write_array(
        file, np.ascontiguousarray(array).reshape(array.shape), allow_pickle=False
    )


def _replace(path: str, write: Callable[[BinaryIO], Any]) -> None:
    temporary = f"{path}.{os.getpid()}.part"
    try:
        with writing(path):
            with open(temporary, "xb") as file:
                write(file)
            os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
