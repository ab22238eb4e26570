"""Putting a finished folder in place of another: the system calls.

Owns what is atomic on which system. Must not know what is in the folders. The one decision: where
the kernel can exchange two folders in one step (Linux, macOS), a reader sees the old or the new one
and never nothing; elsewhere the old one is renamed aside first, under a name that the next save
finds.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tfx.core.errors import UnavailableError

_RENAME_EXCHANGE = 2  # of Linux: <linux/fs.h>
_RENAME_SWAP = 2  # of macOS: <sys/stdio.h>
_AT_FDCWD = -100
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV)
_ATTEMPTS = 100


def replace_folder(new: Path, target: Path, aside: Path) -> Path | None:
    """Move the folder ``new`` to ``target``.

    Args:
        new: The finished folder, in the same parent as ``target``.
        target: Where it belongs; may exist or not.
        aside: A free name in the same parent, for what was there.

    Returns:
        Where the folder that was at ``target`` is now, or None if there was none.

    Raises:
        UnavailableError: The file system cannot do it, or others keep on replacing ``target``.
    """
    for attempt in range(_ATTEMPTS):
        try:
            if not target.exists():
                os.rename(new, target)
                return None
            if exchange(new, target):
                return new
            os.rename(target, aside)
            os.rename(new, target)
            return aside
        except OSError as error:
            if aside.exists() and not target.exists():
                os.rename(aside, target)
            # Another save has put its folder there, or has taken it away, since we looked.
            if error.errno in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST) and new.exists():
                # Let the other one finish: asking again at once could go on until we give up.
                time.sleep(attempt / 1000)
                continue
            raise UnavailableError(
                f"{target}: cannot be replaced by {new} ({error.strerror}); nothing was changed: "
                "save to a path that does not exist yet"
            ) from error
    raise UnavailableError(
        f"{target}: replaced by others {_ATTEMPTS} times meanwhile; save to a path of its own"
    )


def exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; False where the system or file system cannot."""
    if _exchange_call is None:
        return False
    ctypes.set_errno(0)
    if _exchange_call(os.fsencode(one), os.fsencode(other)) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(one), None, str(other))


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, where the system lets a folder be opened."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except OSError:
        return  # Windows: a folder has no descriptor, and its names are journalled
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _find_exchange() -> Callable[[bytes, bytes], int] | None:
    if sys.platform not in ("linux", "darwin"):
        return None
    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        swap = getattr(library, "renamex_np", None)
        return None if swap is None else lambda a, b: int(swap(a, b, _RENAME_SWAP))
    rename = getattr(library, "renameat2", None)
    if rename is None:  # a C library older than 2.28
        return None
    return lambda a, b: int(rename(_AT_FDCWD, a, _AT_FDCWD, b, _RENAME_EXCHANGE))


_exchange_call = _find_exchange()
