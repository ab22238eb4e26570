"""Paths, sizes and hashes of the files of a bundle.

Owns the question whether a file named by a manifest may be opened, and is the file that was
written. Must not know what is in it. The one decision: sizes are always checked and hashes only for
small files or on demand, so that loading a big bundle stays a memory mapping.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from tfx.bundle import limits
from tfx.bundle.records import FileEntry
from tfx.core.errors import BundleError, MissingFileError, PermissionDeniedError

# Without it, opening a named pipe that somebody left in the folder would hang.
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_CHUNK = 1 << 20

ASIDE = ".tfx-replaced-"
"""Marks an old bundle that a save has renamed aside, where folders cannot be exchanged."""


def path_problem(path: str) -> str | None:
    """Return what is wrong with a path inside a bundle, or None.

    The rules are those of every platform at once, so that a bundle written on one can be read on
    another: a colon or a backslash would mean a drive or a folder on Windows.
    """
    if not path:
        return "it is empty"
    if len(path) > limits.MAX_PATH_LENGTH:
        return f"it has {len(path)} characters, limit {limits.MAX_PATH_LENGTH}"
    if path.startswith("/"):
        return "it is absolute"
    for part in path.split("/"):
        if part in ("", ".", ".."):
            return f"it has the part {part!r}"
        if part[-1] in ". ":
            return f"its part {part!r} ends in a dot or a space"
    bad = next((char for char in path if char in '\\:*?"<>|' or not char.isprintable()), None)
    return None if bad is None else f"it has the character {bad!r}"


def check_path(path: str, where: str) -> None:
    """Refuse a path that could leave the bundle's folder; ``where`` begins the message.

    Raises:
        BundleError: The path is absolute, has a ``..``, or breaks another rule.
    """
    problem = path_problem(path)
    if problem is not None:
        raise BundleError(
            f"{where}: path {path[:200]!r} is not allowed: {problem}; expected a relative path "
            "with forward slashes inside the bundle"
        )


def locate(bundle: str | os.PathLike[str], path: str, *, size: int | None = None) -> Path:
    """Return where a file of a bundle is, once it is certain that it may be opened.

    Args:
        bundle: The bundle's folder.
        path: The file's path inside it, as the manifest has it.
        size: The size that the manifest states, or None to leave it unchecked.

    Returns:
        The path to open.

    Raises:
        BundleError: The path leaves the folder (also through a link), the file is missing or not a
            plain file, or its size is another one.
    """
    root = Path(bundle)
    where = str(root)
    check_path(path, where)
    full = root / path
    try:
        real = os.path.realpath(full, strict=True)
        status = os.stat(real)
    except OSError as error:
        raise BundleError(
            f"{full}: {error.strerror or error}, expected a file of the bundle; the bundle is "
            "incomplete: copy or save it again"
        ) from error
    real_root = os.path.realpath(root)
    if os.path.commonpath([real, real_root]) != real_root:
        raise BundleError(
            f"{full}: a link that leads out of the bundle to {real}; expected a plain file: "
            "replace the link with a copy of the file"
        )
    if not stat.S_ISREG(status.st_mode):
        raise BundleError(f"{full}: not a plain file; copy or save the bundle again")
    if size is not None and status.st_size != size:
        raise _size_error(full, status.st_size, size)
    return full


def verify_file(
    bundle: str | os.PathLike[str], entry: FileEntry, *, check_hash: bool | None = None
) -> Path:
    """Check one file against its entry in the manifest.

    Args:
        bundle: The bundle's folder.
        entry: What the manifest says of the file.
        check_hash: True to hash the file too, False not to, None (the default) to do so if it is
            small (``limits.HASH_ON_LOAD_BYTES``).

    Returns:
        The path to open.

    Raises:
        BundleError: The file is missing, or is not the one that was written.
    """
    path = locate(bundle, entry.path, size=entry.size)
    if check_hash is None:
        check_hash = entry.size <= limits.HASH_ON_LOAD_BYTES
    if check_hash:
        size, digest = hash_file(path)
        if size != entry.size:  # it changed between the two looks
            raise _size_error(path, size, entry.size)
        if digest != entry.sha256:
            raise BundleError(
                f"{path}: its SHA-256 is {digest.hex()}, the manifest says {entry.sha256.hex()}; "
                "the file was changed or damaged: copy or save the bundle again"
            )
    return path


def verify_files(
    bundle: str | os.PathLike[str],
    entries: Iterable[FileEntry],
    *,
    check_hash: bool | None = None,
) -> None:
    """Check all files of a manifest, see ``verify_file``; raises at the first that is wrong."""
    for entry in entries:
        verify_file(bundle, entry, check_hash=check_hash)


def hash_file(path: str | os.PathLike[str]) -> tuple[int, bytes]:
    """Return the size and the SHA-256 of a file."""
    digest = hashlib.sha256()
    size = 0
    buffer = memoryview(bytearray(_CHUNK))
    with open(path, "rb", buffering=0) as file:
        while count := file.readinto(buffer):
            digest.update(buffer[:count])
            size += count
    return size, digest.digest()


def file_entry(bundle: str | os.PathLike[str], path: str) -> FileEntry:
    """Return the manifest's entry for a file that has just been written."""
    size, digest = hash_file(Path(bundle, path))
    return FileEntry(path, size, digest)


def open_plain(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Open a plain file for reading.

    Returns:
        The descriptor, which the caller closes, and the size.

    Raises:
        MissingFileError: There is no such file.
        PermissionDeniedError: It may not be read.
        BundleError: It is a folder, a pipe or a device.
    """
    try:
        descriptor = os.open(path, _OPEN_FLAGS)
    except FileNotFoundError as error:
        raise MissingFileError(f"{os.fspath(path)}: no such file, expected one to read") from error
    except PermissionError as error:
        raise PermissionDeniedError(
            f"{os.fspath(path)}: may not be read; change its permissions"
        ) from error
    except OSError as error:
        reason = "it is a folder" if error.errno == errno.EISDIR else error.strerror
        raise BundleError(f"{os.fspath(path)}: {reason}, expected a plain file") from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise BundleError(f"{os.fspath(path)}: not a plain file, expected one")
    return descriptor, status.st_size


def read_limited(path: str | os.PathLike[str], limit: int) -> bytes:
    """Return the content of a plain file of at most ``limit`` bytes.

    Raises:
        BundleError: The file is larger, or is not a plain file.
    """
    descriptor, size = open_plain(path)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        if size > limit:
            raise BundleError(f"{os.fspath(path)}: it has {size} bytes, expected at most {limit}")
        # One byte more than it had: a file that grows meanwhile must not be read without end.
        data = file.read(size + 1)
    if len(data) > limit:
        raise BundleError(f"{os.fspath(path)}: it grew beyond {limit} bytes while being read")
    return data


def siblings(target: Path, mark: str) -> list[Path]:
    """Return what saves to ``target`` have put beside it under names with this mark."""
    name = "".join(f"[{char}]" if char in "*?[" else char for char in target.name)
    return sorted(target.parent.glob(f".{name}{mark}*"))


def interrupted_save(target: str | os.PathLike[str]) -> Path | None:
    """Return where the old bundle is, if a save was killed between renaming old and new."""
    path = Path(os.path.realpath(target))
    found = siblings(path, ASIDE)
    return found[0] if found and not path.exists() else None


def _size_error(path: Path, size: int, expected: int) -> BundleError:
    what = "is truncated" if size < expected else "was replaced"
    return BundleError(
        f"{path}: it has {size} bytes, the manifest says {expected}; the file {what}: copy or "
        "save the bundle again"
    )
