"""Conformance cases about bundles that are one file: what must open, and what must be refused."""

from __future__ import annotations

import json
import shutil
import stat
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from case import ARCHIVE, Case, spec

import tfx as tf
from tfx.bundle import limits
from tfx.bundle.archive import pack

_WEIGHTS = "variables/model.safetensors"


class _Model(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = tf.Variable(np.arange(3000, dtype=np.float32), name="table")
        self.texts = tf.Variable(["a", "", "世界"], name="texts")
        self.steps = tf.Variable(0, dtype=tf.int64, name="steps")

    @tf.function(input_signature=[spec(["n"], "int32", "i")])
    def look(self, i):
        return {"number": tf.gather(self.table, i), "text": tf.gather(self.texts, i % 3)}

    @tf.function(input_signature=[])
    def count(self):
        return {"steps": self.steps.assign_add(1)}


def _calls(case: Case, *, grows: int = 1) -> None:
    i = np.array([0, 2999, 7], np.int32)
    text = tf.gather(tf.constant(["a", "", "世界"]), i % 3)
    look = {"number": i.astype(np.float32), "text": text}
    case.call("look", {"i": i}, look)
    for step in range(grows):
        case.call("count", {}, {"steps": np.int64(step + 1)})
    case.save_again()
    case.call("count", {}, {"steps": np.int64(grows + 1)})
    case.call("look", {"i": i}, look)
    case.assign({"table": np.ones(3000, np.float32)})
    case.call("look", {"i": i}, {**look, "number": np.ones(3, np.float32)})


def archive(case: Case) -> None:
    """A bundle as one file, called, changed and saved as a folder."""
    model = _Model()
    case.save(model, {"look": model.look, "count": model.count})
    _calls(case)
    pack(case.bundle, case.folder / ARCHIVE)
    case.is_archive()


def archive_of_others(case: Case) -> None:
    """An archive that another program made: in a folder, not aligned, sizes behind the content."""
    model = _Model()
    case.save(model, {"look": model.look, "count": model.count})
    _calls(case, grows=2)
    with (case.folder / ARCHIVE).open("wb") as file:
        # Writers that cannot go back say sizes and sums behind what they are of.
        sink: Any = _Forward(file)
        with zipfile.ZipFile(sink, "w") as target:
            target.writestr("my model/", b"")
            target.writestr("my model/notes.txt", b"of nobody")
            target.writestr("my model/older/bundle.pb", b"it is too deep to count")
            for path in sorted(p for p in case.bundle.rglob("*") if p.is_file()):
                target.write(path, f"my model/{path.relative_to(case.bundle).as_posix()}")
            target.comment = b"made by hand"
    case.is_archive()


def archive_in_archive(case: Case) -> None:
    """An archive with a bundle at the top, which counts, and a manifest in a folder."""
    model = _Model()
    case.save(model, {"look": model.look, "count": model.count})
    _calls(case)
    with zipfile.ZipFile(case.folder / ARCHIVE, "w") as target:
        target.writestr("older/bundle.pb", b"it does not count")
        for path in sorted(p for p in case.bundle.rglob("*") if p.is_file()):
            target.write(path, path.relative_to(case.bundle).as_posix())
    case.is_archive()


class _Forward:
    """A file that can only be written on."""

    def __init__(self, file: Any) -> None:
        self.write, self.flush = file.write, file.flush


CASES: dict[str, Callable[[Case], None]] = {
    "archive": archive,
    "archive_of_others": archive_of_others,
    "archive_in_archive": archive_in_archive,
}


def _info(name: str, mode: int = stat.S_IFREG | 0o644, kind: int = zipfile.ZIP_STORED) -> Any:
    info = zipfile.ZipInfo(name)
    info.external_attr, info.compress_type = mode << 16, kind
    return info


# Entries beside those of an honest bundle.
_MORE: dict[str, tuple[Any, bytes]] = {
    "parent": (_info("../evil"), b"x"),
    "inner_parent": (_info("a/../../evil"), b"x"),
    "absolute": (_info("/tmp/evil"), b"x"),
    "drive": (_info("C:evil"), b"x"),
    "backslash": (_info("a\\..\\evil"), b"x"),
    "control_character": (_info("a\x01b"), b"x"),
    "long_name": (_info("a" * 2000), b"x"),
    "link": (_info("variables/link", stat.S_IFLNK | 0o777), b"/etc/passwd"),
    "device": (_info("tape", stat.S_IFCHR | 0o666), b""),
    "folder_with_content": (_info("folder/"), b"x"),
    "deflated": (_info("more", kind=zipfile.ZIP_DEFLATED), b"x" * 99),
    "bomb": (_info("bomb", kind=zipfile.ZIP_DEFLATED), bytes(1 << 24)),
    "other_case": (_info("BUNDLE.PB"), b"x"),
    "twice": (_info("predict.onnx"), b"x"),
}

Files = dict[str, bytes]

# Other files than those of an honest bundle.
_FILES: dict[str, Callable[[Files], Files]] = {
    "no_manifest": lambda files: {n: d for n, d in files.items() if n != "bundle.pb"},
    "no_weights": lambda files: {n: d for n, d in files.items() if n != _WEIGHTS},
    "no_graph": lambda files: {n: d for n, d in files.items() if n != "predict.onnx"},
    "two_bundles": lambda files: {f"{top}/{n}": d for top in "ab" for n, d in files.items()},
    "too_deep": lambda files: {f"a/b/{n}": d for n, d in files.items()},
    "short_weights": lambda files: files | {_WEIGHTS: files[_WEIGHTS][:-4]},
    "changed_weights": lambda files: files | {_WEIGHTS: files[_WEIGHTS][:-1] + b"\x55"},
    "changed_graph": lambda files: files | {"predict.onnx": files["predict.onnx"][::-1]},
    "changed_manifest": lambda files: files | {"bundle.pb": files["bundle.pb"][::-1]},
}


def _listed(place: int, form: str, *numbers: int) -> Callable[[bytearray], None]:
    """Write numbers into what the list of entries says of the weights."""

    def change(data: bytearray) -> None:
        struct.pack_into(form, data, data.rindex(_WEIGHTS.encode()) - 46 + place, *numbers)

    return change


def _ended(place: int, form: str, *numbers: int) -> Callable[[bytearray], None]:
    """Write numbers into the record at the end."""

    def change(data: bytearray) -> None:
        struct.pack_into(form, data, data.rindex(b"PK\x05\x06") + place, *numbers)

    return change


def _other_name(data: bytearray) -> None:
    place = data.index(_WEIGHTS.encode())
    data[place : place + 1] = b"w"


def _cut(share: float) -> Callable[[bytearray], None]:
    def change(data: bytearray) -> None:
        del data[int(len(data) * share) :]

    return change


def _noise(data: bytearray) -> None:
    data[4:] = bytes(range(256)) * 8


# Other bytes than those of an honest archive.
_BYTES: dict[str, Callable[[bytearray], None]] = {
    "encrypted": _listed(8, "<H", 1),
    "unpacked_size": _listed(24, "<I", 1 << 30),
    "stored_size": _listed(20, "<I", 1 << 30),
    "both_sizes": _listed(20, "<II", 1 << 31, 1 << 31),
    "small_sizes": _listed(20, "<II", 8, 8),
    "beyond_the_end": _listed(42, "<I", 1 << 30),
    "overlap": _listed(42, "<I", 0),
    "other_name": _other_name,
    "giant_list": _ended(12, "<I", limits.MAX_ARCHIVE_DIRECTORY_BYTES + 1),
    "list_elsewhere": _ended(16, "<I", 1 << 30),
    "cut_early": _cut(0.1),
    "cut_half": _cut(0.5),
    "cut_late": _cut(0.999),
    "noise": _noise,
}


def make_hostile(honest: Path, folder: Path) -> None:
    """Make archives that must be refused, below ``folder``, from the bundle ``honest``."""
    files = {p.relative_to(honest).as_posix(): p.read_bytes() for p in honest.rglob("*.*")}
    whole = pack(honest, folder / "honest.tfx")
    data = whole.read_bytes()
    whole.unlink()
    for name, more in _MORE.items():
        _write(_named(folder, name), files, more)
    for name, choose in _FILES.items():
        _write(_named(folder, name), choose(files))
    for name, change in _BYTES.items():
        changed = bytearray(data)
        change(changed)
        _named(folder, name).write_bytes(changed)


def _named(folder: Path, name: str) -> Path:
    target = folder / f"hostile_archive_{name}"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    about = {"about": f"archive: {name.replace('_', ' ')}", "bundle": ARCHIVE}
    case = about | {"refused": "BundleError", "dtypes": [], "steps": []}
    (target / "case.json").write_text(json.dumps(case, indent=1), encoding="utf-8")
    return target / ARCHIVE


def _write(path: Path, files: Files, *more: tuple[Any, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as target, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that come twice
        for name, data in files.items():
            target.writestr(_info(name), data)
        for info, data in more:
            target.writestr(info, data)
