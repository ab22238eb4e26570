"""Saving a folder so that a reader, a crash or another save never meets half of it.

Owns the temporary folder beside the target, its lock, and what happens to files of the user that
are in the old folder. Must not know what is written. The one decision: everything is written and
made durable elsewhere first, and then one exchange of two folders is the save; whatever kills the
process before that leaves the old bundle, whatever kills it after leaves the new one. Of two saves
to one path at the same time the first to finish wins, and the other one fails.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

from tfx.bundle.disk_errors import translated
from tfx.bundle.files import ASIDE, siblings
from tfx.bundle.folder_swap import replace_folder, sync_folder
from tfx.bundle.manifest import MANIFEST_NAME, read_manifest
from tfx.core.errors import AbortedError, AlreadyExistsError, BundleError, NotFoundError
from tfx.core.system_errors import starting_threads

if sys.platform != "win32":
    import fcntl

_MARK = ".tfx-saving-"
# Seconds after which a temporary folder counts as left behind where there are no locks to tell.
_UNLOCKED_LIFE = 24 * 3600


class AtomicDirectory:
    """A folder that appears at its path all at once, when the ``with`` block ends well.

    Inside the block write into ``path``, which is a temporary folder beside the target. If the
    block raises, the temporary folder is removed and the target is as it was. Files that the user
    has put into an existing bundle, and that its manifest does not list, are carried over.

    Example:
        >>> import os
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as parent:
        ...     with AtomicDirectory(f"{parent}/bundle") as folder:
        ...         written = (folder / "bundle.pb").write_bytes(b"...")
        ...     os.listdir(f"{parent}/bundle")
        ['bundle.pb']
    """

    def __init__(self, target: str | os.PathLike[str]) -> None:
        """Name the folder to make or replace; nothing is touched before the block is entered.

        Args:
            target: Its path. It may be a link to a folder, then that folder is replaced.
        """
        # absolute: the program may change its working directory inside the block.
        self.target = Path(os.path.realpath(target))
        self.path = self.target
        self._lock: int | None = None
        self._found: tuple[int, ...] | None = None

    def __enter__(self) -> Path:
        """Make the temporary folder.

        Returns:
            Its path.

        Raises:
            AlreadyExistsError: The target exists and is neither a bundle nor an empty folder.
            PermissionDeniedError: The folder around it may not be written.
            ResourceExhaustedError: The disk is full.
        """
        with translated(self.target):
            check_replaceable(self.target)
            self.target.parent.mkdir(parents=True, exist_ok=True)
            with _turn(self.target.parent):
                clean_leftovers(self.target)
                self._found = _identity(self.target)
            while self._lock is None:
                self.path = _sibling(self.target, _MARK)
                self.path.mkdir()
                self._lock = _lock_folder(self.path)
        return self.path

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Put the folder into its place, or remove it if the block raised.

        Raises:
            AbortedError: Another save to the target has ended since this one began.
            AlreadyExistsError: Something that is no bundle has appeared at the target.
            PermissionDeniedError: The folder around the target may not be written.
            ResourceExhaustedError: The disk is full.
        """
        rest: Path | None = self.path
        try:
            with translated(self.target):
                if error is not None:
                    if isinstance(error, OSError):
                        raise error  # in the words that the format has for it
                    return
                check_replaceable(self.target)
                if self.target.is_dir():
                    _carry_over(self.target, self.path)
                _sync_tree(self.path)
                with _turn(self.target.parent):
                    self._check_alone()
                    rest = replace_folder(self.path, self.target, _sibling(self.target, ASIDE))
                sync_folder(self.target.parent)
        finally:
            if self._lock is not None and self._lock >= 0:
                os.close(self._lock)
            self._lock = None
            if rest is not None:
                # A failure to tidy up must not hide the error, or the success, of the save.
                shutil.rmtree(rest, ignore_errors=True)

    def _check_alone(self) -> None:
        """Refuse to replace a bundle that nobody has seen: what another save has just written."""
        there = _identity(self.target)
        if there is not None and there != self._found:
            raise AbortedError(
                f"{self.target}: another save has written it while this one went on, and was "
                "left as it is; save again if this one is to replace it, and give programs that "
                "save at the same time a path each"
            )


def check_replaceable(target: Path) -> None:
    """Refuse to replace what is not a bundle: ``--out ~`` must not cost anybody their home.

    Raises:
        AlreadyExistsError: The target is a file, or a folder with something else in it.
    """
    # One look each: another save may move the target away and back between two.
    try:
        names = sorted(os.listdir(target))
    except FileNotFoundError:
        return
    except NotADirectoryError as error:
        raise AlreadyExistsError(
            f"{target}: a file, expected the path of a folder to make"
        ) from error
    if names and MANIFEST_NAME not in names:
        raise AlreadyExistsError(
            f"{target}: a folder that is no bundle and has other files in it "
            f"({', '.join(names[:3])}); expected a new path, an empty folder or an earlier bundle"
        )


def clean_leftovers(target: Path) -> None:
    """Remove what killed saves to ``target`` have left; puts an old bundle back if need be.

    A save that is going on holds a lock on its folder, which the system releases when it dies.
    """
    for folder in siblings(target, ASIDE):
        # Only where folders cannot be exchanged: killed between its two renames.
        if not target.exists():
            with contextlib.suppress(OSError):
                os.rename(folder, target)
                continue
        shutil.rmtree(folder, ignore_errors=True)
    for folder in siblings(target, _MARK):
        lock = _lock_folder(folder)
        if lock is None:
            continue
        if lock >= 0:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
        elif _is_old(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _identity(target: Path) -> tuple[int, ...] | None:
    """Return values that identify the bundle at a path among later ones; None if there is none."""
    try:
        folder, manifest = os.stat(target), os.stat(target / MANIFEST_NAME)
    except OSError:
        return None
    return folder.st_dev, folder.st_ino, manifest.st_ino, manifest.st_size, manifest.st_mtime_ns


@contextlib.contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Let saves look at their targets in ``folder`` and replace them one after the other."""
    descriptor = None
    if sys.platform != "win32":
        with contextlib.suppress(OSError):  # a file system without locks
            descriptor = os.open(folder, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _sibling(target: Path, mark: str) -> Path:
    return target.parent / f".{target.name}{mark}{os.getpid()}-{secrets.token_hex(4)}"


def _lock_folder(folder: Path) -> int | None:
    """Lock a folder: a descriptor, -1 where there are no such locks, None if another has it."""
    if sys.platform == "win32":
        return -1
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return None
    except OSError:
        return -1
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Between our mkdir and our lock, a save that cleans up may have removed the folder.
        mine = os.path.samestat(os.fstat(descriptor), os.stat(folder))
        result = descriptor if mine else None
    except (BlockingIOError, FileNotFoundError):
        result = None
    except OSError:  # a file system without locks
        result = -1
    if result != descriptor:
        os.close(descriptor)
    return result


def _is_old(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        return time.time() - folder.stat().st_mtime > _UNLOCKED_LIFE
    return False


def _carry_over(old: Path, new: Path) -> None:
    """Link or copy files of the old folder that are not the bundle's own into the new one."""
    try:
        own = {entry.path for entry in read_manifest(old).files}
    except (BundleError, NotFoundError):
        own = set()  # damaged: what is its own cannot be known, so nothing is lost
    own.add(MANIFEST_NAME)
    for path in _plain_files(old):
        name = path.relative_to(old).as_posix()
        copy = new / name
        if name in own or os.path.lexists(copy):
            continue
        with contextlib.suppress(FileExistsError, NotADirectoryError):
            copy.parent.mkdir(parents=True, exist_ok=True)
            _link_or_copy(path, copy)


def _link_or_copy(path: Path, copy: Path) -> None:
    if path.is_symlink():
        copy.symlink_to(os.readlink(path))
        return
    try:
        os.link(path, copy)
    except OSError:
        shutil.copy2(path, copy)


def _plain_files(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        for name in sorted(files):
            yield Path(root, name)
        for name in sorted(folders):
            if Path(root, name).is_symlink():
                yield Path(root, name)


def _sync_tree(folder: Path) -> None:
    """Make all files and names below a folder durable, many at a time as the disk likes it."""
    files, folders = [], []
    for root, _, names in os.walk(folder):
        folders.append(Path(root))
        files += [path for name in names if not (path := Path(root, name)).is_symlink()]
    if len(files) > 1:
        with starting_threads(), ThreadPoolExecutor(min(8, len(files))) as pool:
            list(pool.map(_sync_file, files))
    elif files:
        _sync_file(files[0])
    for path in reversed(folders):
        sync_folder(path)


def _sync_file(path: Path) -> None:
    # Windows flushes only what is open for writing.
    descriptor = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
