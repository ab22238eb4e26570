"""The files of a checkpoint: written so that each is there whole or not at all.

Owns their names, the temporary folder they are written in, and the order of the steps that make
them visible. Must not know of objects. A checkpoint ``p`` is the file ``p.safetensors``; above the
limit for one file it is shards ``p.<random>-00001-of-00002.safetensors`` and the index
``p.safetensors.index.json``. The one decision: the single file counts if both forms are there, so
that each change from one to the other has one step before which the old checkpoint is read and
after which the new one is. Every file carries the sums of all tensors, because a checkpoint has no
manifest that could; they are known when the tensors are written, and take a place in the header
that was left for them.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from tfx.bundle import limits
from tfx.bundle.files import path_problem
from tfx.bundle.folder_swap import sync_folder
from tfx.bundle.safetensors import write_safetensors
from tfx.bundle.shards import INDEX_SUFFIX, read_index, write_store
from tfx.bundle.tensor_bytes import encode
from tfx.core.errors import (
    BundleError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnavailableError,
)
from tfx.core.system_errors import FULL
from tfx.train.piece_checksums import (
    CHECKSUM_KEY,
    HEADER_KEY,
    NO_SUM,
    blank_text,
    checksum_text,
    header_sum,
)

if sys.platform != "win32":
    import fcntl

SUFFIX = ".safetensors"
_TEMPORARY = ".tfx-writing-"
_SHARD = re.compile(r"\.[0-9a-f]{16}-\d{5}-of-\d{5}\.safetensors")
# Seconds after which a temporary folder counts as left behind where there are no locks to tell.
_UNLOCKED_LIFE = 24 * 3600


def split_prefix(prefix: str | os.PathLike[str]) -> tuple[Path, str]:
    """The folder and the name of a checkpoint that is to be written.

    Raises:
        ValueError: the name is empty, or cannot be a file's name everywhere.
    """
    folder, name = os.path.split(os.fspath(prefix))
    problem = path_problem(name)
    if problem is not None:
        raise ValueError(
            f"The checkpoint {os.fspath(prefix)!r} cannot be written: its name is {name!r}, and "
            f"{problem}; expected a path such as 'checkpoints/model'."
        )
    return Path(folder or "."), name


def write_files(
    prefix: str | os.PathLike[str],
    tensors: Mapping[str, npt.NDArray[Any]],
    metadata: Mapping[str, str],
    max_shard_bytes: int = limits.MAX_SHARD_BYTES,
) -> None:
    """Write a checkpoint, or replace it. Whatever goes wrong, an older one stays as it was.

    Args:
        prefix: Path of the checkpoint, without an ending.
        tensors: Arrays by key.
        metadata: Text to keep in each file.
        max_shard_bytes: Most data a file gets, unless a single tensor is larger.

    Raises:
        BundleError: a tensor cannot be stored.
        PermissionDeniedError: the folder may not be written to.
        ResourceExhaustedError: the disk is full.
        UnavailableError: the file system failed otherwise.
    """
    folder, name = split_prefix(prefix)
    sizes = {key: encode(array, f"tensor {key!r}").nbytes for key, array in tensors.items()}
    blank = blank_text(sizes)
    metadata = {**metadata, CHECKSUM_KEY: blank, HEADER_KEY: NO_SUM}
    with file_errors(os.fspath(prefix)):
        folder.mkdir(parents=True, exist_ok=True)
        with _temporary_folder(folder, name) as temporary:
            found = _write(temporary, name, tensors, metadata, max_shard_bytes)
            sums = checksum_text(found)
            for path in temporary.iterdir():
                _finish(path, blank, sums)
            with locked(folder):
                _publish(temporary, folder, name)


def find_files(prefix: str | os.PathLike[str]) -> Path | None:
    """The file to open for a checkpoint: its only file or its index; None if there is none."""
    for suffix in (SUFFIX, INDEX_SUFFIX):
        path = Path(f"{os.fspath(prefix)}{suffix}")
        if path.is_file():
            return path
    return None


def delete_files(prefix: str | os.PathLike[str]) -> None:
    """Delete a checkpoint; harmless if it does not exist or only in part."""
    folder, name = split_prefix(prefix)
    with file_errors(os.fspath(prefix)), locked(folder):
        shards = _shards(folder, name)
        # What is opened first goes first: half a deletion leaves nothing that looks complete.
        for old in (f"{name}{SUFFIX}", f"{name}{INDEX_SUFFIX}", *shards):
            (folder / old).unlink(missing_ok=True)


def replace_file(path: Path, data: bytes) -> None:
    """Write a small file so that it has its old content or the new one, never half of it."""
    temporary = path.with_name(f".{path.name}{_TEMPORARY}{os.getpid()}-{secrets.token_hex(4)}")
    with file_errors(str(path)):
        try:
            with open(temporary, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(path.parent)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes from changing the checkpoints of a folder meanwhile (not on Windows)."""
    if sys.platform == "win32" or not folder.is_dir():
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def file_errors(where: str) -> Iterator[None]:
    """Turn the system's errors into those of ``tfx.errors``, which say what to do."""
    try:
        yield
    except OpError:
        raise
    except PermissionError as e:
        raise PermissionDeniedError(
            f"{where}: {e.filename or 'it'} may not be written ({e.strerror}); choose another "
            "folder, or change its permissions"
        ) from e
    except OSError as e:
        if e.errno in FULL:
            is_disk = e.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
            what = "the disk is full" if is_disk else "there is no room"
            raise ResourceExhaustedError(
                f"{where}: {what} ({e.strerror}); nothing was changed: make room, or "
                "keep fewer checkpoints"
            ) from e
        if e.errno == errno.EROFS:
            raise PermissionDeniedError(f"{where}: {e.strerror}; choose another folder") from e
        raise UnavailableError(f"{where}: {e}; nothing was changed") from e


def _write(
    folder: Path,
    name: str,
    tensors: Mapping[str, npt.NDArray[Any]],
    metadata: Mapping[str, str],
    max_shard_bytes: int,
) -> Mapping[str, tuple[int, ...]]:
    """Write the files of a checkpoint; the sums of its tensors."""
    if not tensors:
        write_safetensors(folder / f"{name}{SUFFIX}", tensors, metadata, sums_tensors=True)
        return {}
    stem = f"{name}.{secrets.token_hex(8)}"
    store = write_store(
        folder,
        tensors,
        stem=stem,
        metadata=metadata,
        max_shard_bytes=max_shard_bytes,
        sums_tensors=True,
    )
    # The name of the file that is opened first is fixed, those of shards are new each time.
    suffix = SUFFIX if len(store.files) == 1 else INDEX_SUFFIX
    os.rename(folder / f"{stem}{suffix}", folder / f"{name}{suffix}")
    return store.tensor_sums


def _publish(temporary: Path, folder: Path, name: str) -> None:
    """Move finished files into the folder: the step that decides comes after all others."""
    old_shards = _shards(folder, name)
    single, index = folder / f"{name}{SUFFIX}", folder / f"{name}{INDEX_SUFFIX}"
    deciding = temporary / single.name
    is_single = deciding.exists()
    if not is_single:
        deciding = temporary / index.name
        for path in temporary.iterdir():
            if path != deciding:
                os.rename(path, folder / path.name)
        sync_folder(folder)
    os.replace(deciding, folder / deciding.name)
    sync_folder(folder)
    if not is_single:
        single.unlink(missing_ok=True)
    # From here on the new checkpoint is what is read; failing to tidy up is no failure to save.
    for old in ([index.name] if is_single else []) + old_shards:
        with contextlib.suppress(OSError):
            (folder / old).unlink(missing_ok=True)


def _shards(folder: Path, name: str) -> list[str]:
    """The shards that belong to a checkpoint now; only names that we give count."""
    index = folder / f"{name}{INDEX_SUFFIX}"
    try:
        files = {storage.file for storage in read_index(index).values()}
    except (BundleError, NotFoundError, PermissionDeniedError):
        return []
    return sorted(f for f in files if f.startswith(name) and _SHARD.fullmatch(f[len(name) :]))


def _finish(path: Path, blank: str, sums: str) -> None:
    """Put the sums into a file that was just written, and make it durable."""
    with open(path, "r+b", buffering=0) as file:
        if path.name.endswith(SUFFIX):
            begin = file.read(8)
            header = begin + file.read(int.from_bytes(begin, "little"))
            file.seek(0)
            file.write(_completed(header, blank, sums))
        os.fsync(file.fileno())


def _completed(header: bytes, blank: str, sums: str) -> bytes:
    """A header with the sums of tensors, and its own."""
    old, new = (
        f'"{CHECKSUM_KEY}":{json.dumps(text, ensure_ascii=False)}'.encode()
        for text in (blank, sums)
    )
    # Quotes cannot stand inside of another text of a header.
    full = header.replace(old, new, 1)
    own = header_sum(full)
    assert own is not None
    assert len(full) == len(header)
    digits, place = own
    return full[:place] + digits.encode() + full[place + len(digits) :]


@contextlib.contextmanager
def _temporary_folder(folder: Path, name: str) -> Iterator[Path]:
    """A folder of our own; those that killed processes have left are removed."""
    with locked(folder):
        _remove_leftovers(folder)
        path = folder / f".{name}{_TEMPORARY}{os.getpid()}-{secrets.token_hex(4)}"
        path.mkdir()
        claim = _claim(path)
    try:
        yield path
    finally:
        if claim is not None and claim >= 0:
            os.close(claim)
        shutil.rmtree(path, ignore_errors=True)


def _remove_leftovers(folder: Path) -> None:
    """Remove what nobody is writing any more; small files are written under the lock we hold."""
    for old in folder.glob(f".*{_TEMPORARY}*"):
        if not old.is_dir():
            old.unlink(missing_ok=True)
            continue
        claim = _claim(old)
        if claim is None:
            continue
        if claim >= 0 or time.time() - old.stat().st_mtime > _UNLOCKED_LIFE:
            shutil.rmtree(old, ignore_errors=True)
        if claim >= 0:
            os.close(claim)


def _claim(folder: Path) -> int | None:
    """Lock a folder for as long as this process lives.

    Returns:
        A descriptor to close, -1 where there are no such locks, None if another process has it
        or has just removed it.
    """
    if sys.platform == "win32":
        return -1
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as e:
        os.close(descriptor)
        return None if isinstance(e, BlockingIOError) else -1
    return descriptor
