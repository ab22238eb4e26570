"""Translation of a disk's write errors to tfx's errors.

Owns the translation of the system's error numbers. Must not know what was being written. The one
decision: errors of full and read-only disks say so and name the path that was to be written, and
every other error stays the system's own.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

from tfx.core.errors import OpError, PermissionDeniedError, ResourceExhaustedError
from tfx.core.system_errors import FULL

_CLOSED = frozenset((errno.EACCES, errno.EPERM, errno.EROFS))


@contextlib.contextmanager
def translated(target: str | os.PathLike[str]) -> Iterator[None]:
    """Translate the block's errors, and name ``target``, which was to be written.

    Args:
        target: What the caller asked to write; what was there is as it was.

    Raises:
        ResourceExhaustedError: The disk, or what the process may use of it, is full.
        PermissionDeniedError: A folder or file may not be written, or the disk is read-only.

    Example:
        >>> import errno
        >>> with translated("model"):
        ...     raise OSError(errno.ENOSPC, "No space left on device", "model/a.bin")
        Traceback (most recent call last):
        ...
        tfx.core.errors.ResourceExhaustedError: model: cannot be written (model/a.bin: No space ...
    """
    try:
        yield
    except OpError:
        raise
    except OSError as error:
        where = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
        reason = (
            f"cannot be written ({where}{error.strerror or error}); what was there is as it was"
        )
        if error.errno in FULL:
            raise ResourceExhaustedError(
                f"{os.fspath(target)}: {reason}: make room, or save elsewhere"
            ) from error
        if error.errno in _CLOSED:
            raise PermissionDeniedError(
                f"{os.fspath(target)}: {reason}: give the permission, or save elsewhere"
            ) from error
        raise
