"""A bundle as one file: a ZIP archive whose entries are stored as they are.

Owns how an archive is written, and which may be unpacked. Must not know what is in the files. The
one decision: weights do not compress, so nothing is, and content begins at multiples of 64 bytes: a
program may map it where it is. This library unpacks into a folder of its own, because assets and
ONNX Runtime want files. Nothing of an archive is believed: what is unpacked is what the manifest
lists, of the sizes that it says, and never more than the archive has.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import struct
import tempfile
import weakref
import zipfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tfx.bundle import limits
from tfx.bundle.disk_errors import translated
from tfx.bundle.files import locate, open_plain, path_problem
from tfx.bundle.manifest import MANIFEST_NAME, Manifest, parse_manifest, read_manifest
from tfx.core.errors import AlreadyExistsError, BundleError

ALIGNMENT = 64
_MARK = b"PK\x03\x04"
_CHUNK = 1 << 20
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)
# The private field that says how far content is aligned, as `zipalign` writes it.
_ALIGNMENT_FIELD = 0xD935
_LOCAL_HEADER = 30
_LARGE = (1 << 31) - 1
# What a ZIP file ends with: a record of 22 bytes and a comment.
_END, _END_SIZE = b"PK\x05\x06", 22
# What stands before it where sizes need 64 bits: a record, and one that says where that is.
_LARGE_END_SIZE = 56
_LOCATOR, _LOCATOR_SIZE = b"PK\x06\x07", 20
_ADVICE = "unzip it by yourself, if you trust it, or make the archive with `tfx convert`"
_DAMAGED = (
    zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, IndexError, NotImplementedError,
    OverflowError, RuntimeError, UnicodeError, ValueError, struct.error,
)  # fmt: skip


def is_archive(path: str | os.PathLike[str]) -> bool:
    """True if there is a file at a path that begins as a ZIP archive with entries does.

    Raises:
        TypeError: no path; numbers would be open files, which the caller goes on using.
    """
    path = os.fspath(path)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return file.read(len(_MARK)) == _MARK
    except OSError:
        return False


def pack(bundle: str | os.PathLike[str], target: str | os.PathLike[str]) -> Path:
    """Write the files of a bundle as an archive, which appears at its path all at once.

    Args:
        bundle: The bundle's folder. What its manifest does not list is left out.
        target: The file to make or replace.

    Returns:
        Its path.

    Raises:
        MissingFileError: There is no such bundle.
        BundleError: It is damaged.
        AlreadyExistsError: There is something else than an archive of a bundle at ``target``.
        PermissionDeniedError: The folder around it may not be written.
    """
    manifest = read_manifest(bundle)
    path = Path(os.path.abspath(target))
    if path.exists() and not _is_of_bundle(path):
        raise AlreadyExistsError(
            f"{path} exists and is no archive of a bundle; choose another path, or remove it"
        )
    temporary = path.with_name(f".{path.name}.tfx-{secrets.token_hex(4)}")
    with translated(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as file:
                with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                    _add(archive, MANIFEST_NAME, Path(bundle, MANIFEST_NAME))
                    for entry in manifest.files:
                        _add(archive, entry.path, locate(bundle, entry.path, size=entry.size))
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    return path


def _is_of_bundle(path: Path) -> bool:
    """True for an archive that has a manifest; others are somebody's own files."""
    if not is_archive(path):
        return False
    try:
        with path.open("rb") as file:
            _check_directory(file, path.stat().st_size, path)
            with zipfile.ZipFile(file) as archive:
                _start(archive.namelist(), path)
    except (OSError, *_DAMAGED):  # BundleError is a ValueError
        return False
    return True


def _add(archive: zipfile.ZipFile, name: str, path: Path) -> None:
    """Append a file whose content begins at a multiple of ``ALIGNMENT``."""
    info = zipfile.ZipInfo(name, _FIRST_DAY)
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    info.file_size = path.stat().st_size
    large = info.file_size > _LARGE
    file: Any = archive.fp
    begin = file.tell() + _LOCAL_HEADER + len(name.encode()) + (20 if large else 0)
    fill = -(begin + 6) % ALIGNMENT
    info.extra = struct.pack("<HHH", _ALIGNMENT_FIELD, 2 + fill, ALIGNMENT) + bytes(fill)
    with path.open("rb") as source, archive.open(info, "w", force_zip64=large) as sink:
        shutil.copyfileobj(source, sink, _CHUNK)


class Unpacked:
    """The files of an archive in a folder that nobody else may read, until this object is gone.

    Args:
        path: The archive.

    Attributes:
        folder: Where they are.

    Raises:
        MissingFileError: There is no such file.
        BundleError: It is no archive of a bundle, is damaged, or breaks a rule of the format.
        ResourceExhaustedError: The disk for temporary files is full.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Unpack."""
        self.folder = Path(tempfile.mkdtemp(prefix="tfx-archive-"))
        self._remove = weakref.finalize(self, _remove, self.folder, os.getpid())
        try:
            _unpack(Path(path), self.folder)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the folder. What is mapped of it stays readable where the system allows that."""
        self._remove()


def _remove(folder: Path, owner: int) -> None:
    """Remove a folder, but not in a process that was forked: the first one still needs it."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def opened_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """The folder of a bundle: the path itself, or for as long as the block that of an archive.

    Args:
        path: A folder or an archive.
    """
    if not is_archive(path):
        yield Path(path)
        return
    unpacked = Unpacked(path)
    try:
        with named_as(unpacked.folder, path):
            yield unpacked.folder
    finally:
        unpacked.close()


@contextmanager
def named_as(folder: Path, path: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors that name a file of an unpacked archive name the archive."""
    try:
        yield
    except BundleError as error:
        error.message = error.message.replace(str(folder), os.fspath(path))
        raise


def _unpack(path: Path, folder: Path) -> None:
    descriptor, size = open_plain(path)
    with os.fdopen(descriptor, "rb") as file:
        try:
            _check_directory(file, size, path)
            with zipfile.ZipFile(file) as archive:
                entries = _checked(archive, size, path)
                manifest = _manifest(archive, entries, path)
                wanted = [(MANIFEST_NAME, None), *((f.path, f.size) for f in manifest.files)]
                for name, expected in wanted:
                    info = entries.get(name)
                    if info is None:
                        raise BundleError(f"{path} lacks {name!r}, which its manifest lists")
                    if expected is not None and info.file_size != expected:
                        raise BundleError(
                            f"{path}: {name!r} has {info.file_size} bytes, the manifest says "
                            f"{expected}"
                        )
                    _extract(archive, info, folder / name)
        except BundleError:  # a ValueError, too
            raise
        except _DAMAGED as error:
            raise BundleError(f"{path} is a damaged archive: {error}; copy it again") from error


def _check_directory(file: IO[bytes], size: int, path: Path) -> None:
    """Refuse a list of entries that would take much memory, before it is read."""
    file.seek(max(size - _END_SIZE - 0xFFFF - _LOCATOR_SIZE - _LARGE_END_SIZE, 0))
    tail = file.read()
    place = tail.rfind(_END)
    if place < 0 or len(tail) - place < _END_SIZE:
        raise BundleError(f"{path} is a damaged archive: it has no end record; copy it again")
    length = struct.unpack_from("<I", tail, place + 12)[0]
    begin = place - _LOCATOR_SIZE - _LARGE_END_SIZE
    if begin >= 0 and tail.startswith(_LOCATOR, place - _LOCATOR_SIZE):
        # ZIP64 says it once more in 64 bits, and that is what counts.
        length = max(length, struct.unpack_from("<Q", tail, begin + 40)[0])
    if length > limits.MAX_ARCHIVE_DIRECTORY_BYTES:
        raise BundleError(
            f"{path}: its list of entries has {length} bytes, limit "
            f"{limits.MAX_ARCHIVE_DIRECTORY_BYTES}"
        )
    file.seek(0)


def _checked(archive: zipfile.ZipFile, size: int, path: Path) -> dict[str, zipfile.ZipInfo]:
    """The entries that are files, by their paths in the bundle.

    Raises:
        BundleError: One breaks a rule; nothing has been written yet.
    """
    found: dict[str, zipfile.ZipInfo] = {}
    seen: set[str] = set()
    for info in archive.infolist():
        name = info.orig_filename
        problem = _problem(info, name)
        if problem is not None:
            raise BundleError(f"{path}: the entry {name[:200]!r} is refused: {problem}")
        if name.casefold() in seen:
            raise BundleError(f"{path}: the entry {name[:200]!r} is refused: it is there twice")
        seen.add(name.casefold())
        if not name.endswith("/"):
            found[name] = info
    _check_places(found.values(), size, path)
    return _below(found, path)


def _problem(info: zipfile.ZipInfo, name: str) -> str | None:
    """What is wrong with an entry by itself, or None."""
    if name != info.filename:
        return "its name is not the one that it seems to have"
    problem = path_problem(name.removesuffix("/"))
    if problem is not None:
        return f"its path is not allowed: {problem}"
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR) or (
        kind == stat.S_IFDIR and not name.endswith("/")
    ):
        return "it is a link or a device, expected a plain file"
    if info.flag_bits & 1:
        return f"it is encrypted; {_ADVICE}"
    if info.compress_type != zipfile.ZIP_STORED:
        return f"it is compressed, expected one that is stored as it is; {_ADVICE}"
    if info.compress_size != info.file_size:
        return f"{info.compress_size} stored bytes cannot be a file of {info.file_size}"
    if name.endswith("/") and info.file_size:
        return "it is a folder that has content"
    return None


def _check_places(infos: Iterable[zipfile.ZipInfo], size: int, path: Path) -> None:
    """Refuse entries that share bytes, or have more of them than the archive."""
    end, last = 0, ""
    for info in sorted(infos, key=lambda item: item.header_offset):
        name = info.filename
        begin = info.header_offset
        if begin < end:
            raise BundleError(f"{path}: the entries {last[:200]!r} and {name[:200]!r} overlap")
        end = begin + _LOCAL_HEADER + len(name.encode()) + info.file_size
        last = name
        if end > size:
            raise BundleError(
                f"{path}: the entry {name[:200]!r} ends at byte {end}, the archive has {size}; it "
                "is truncated: copy it again"
            )


def _below(found: dict[str, zipfile.ZipInfo], path: Path) -> dict[str, zipfile.ZipInfo]:
    """The entries by paths in the bundle."""
    start = _start(found, path)
    return {n.removeprefix(start): info for n, info in found.items() if n.startswith(start)}


def _start(names: Collection[str], path: Path) -> str:
    """How the paths of the bundle begin, which is at the top or in the one folder there."""
    if MANIFEST_NAME in names:
        return ""
    tops = [n.split("/")[0] for n in names if n.count("/") == 1 and n.endswith(f"/{MANIFEST_NAME}")]
    if len(tops) != 1:
        what = f"has {len(tops)} bundles" if tops else f"has no {MANIFEST_NAME}"
        raise BundleError(f"{path} {what}, expected the archive of one bundle")
    return f"{tops[0]}/"


def _manifest(
    archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo], path: Path
) -> Manifest:
    info = entries[MANIFEST_NAME]
    if info.file_size > limits.MAX_MANIFEST_BYTES:
        raise BundleError(
            f"{path}: {MANIFEST_NAME} has {info.file_size} bytes, limit {limits.MAX_MANIFEST_BYTES}"
        )
    return parse_manifest(archive.read(info), f"{path}/{MANIFEST_NAME}")


def _extract(archive: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path) -> None:
    with translated(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(info) as source, target.open("xb") as sink:
            # No longer than the entry says: zipfile reads that many bytes, and compares the CRC-32.
            shutil.copyfileobj(source, sink, _CHUNK)
