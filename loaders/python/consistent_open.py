"""Opening a bundle that somebody may be saving over.

A save exchanges whole folders, but a bundle is several files, opened one after another: those of
the old bundle and of the new one could come together. So what was opened counts only if the
manifest is still the same file afterwards; otherwise it is opened again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tfx.bundle.manifest import MANIFEST_NAME
from tfx.core.errors import BundleError, MissingFileError

# How often to try: a program that saves without a pause is not waited for forever.
ATTEMPTS = 20

_T = TypeVar("_T")


def open_consistently(folder: str | os.PathLike[str], make: Callable[[], _T]) -> _T:
    """Return what ``make`` opens of the bundle in a folder, all of it from one save.

    Args:
        folder: The bundle's folder.
        make: Opens it; it is called again when the bundle was replaced meanwhile.

    Raises:
        BundleError: It is no bundle, or is damaged.
        MissingFileError: There is no such folder.
    """
    manifest = Path(folder, MANIFEST_NAME)
    for left in reversed(range(ATTEMPTS)):
        before = _identity(manifest)
        try:
            made = make()
        except (BundleError, MissingFileError):
            if not left or _identity(manifest) == before:
                raise
        else:
            if not left or _identity(manifest) == before:
                return made
    raise AssertionError("the last attempt returns or raises")


def _identity(path: Path) -> tuple[int, ...] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns
