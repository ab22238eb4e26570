"""``tfx.io.gfile``: files and folders of this machine, with the errors of ``tfx.errors``."""

from __future__ import annotations

import glob as globbing
import io
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple, Self

from tfx.core import errors
from tfx.core.mixins import Closing
from tfx.core.system_errors import FULL, no_room


@contextmanager
def file_errors(path: Any = None) -> Iterator[None]:
    """Turns the errors of the operating system into those of ``tfx.errors``.

    Args:
        path: What is read or written, for errors that do not name it.

    Raises:
        NotFoundError: there is no such file.
        AlreadyExistsError: there is one already.
        FailedPreconditionError: a folder instead of a file, or one that is not empty.
        PermissionDeniedError: it may not be read or written, or was not opened for that.
        ResourceExhaustedError: there is no room, or the process may not use more.
        OpError: anything else.
    """
    try:
        yield
    except io.UnsupportedOperation as e:
        raise errors.PermissionDeniedError(
            f"The file is open for something else: {e}; see its mode."
        ) from e
    except FileNotFoundError as e:
        raise errors.NotFoundError(f"{e.filename}; No such file or directory") from e
    except FileExistsError as e:
        raise errors.AlreadyExistsError(f"{e.filename}; File exists") from e
    except (IsADirectoryError, NotADirectoryError) as e:
        raise errors.FailedPreconditionError(f"{e.filename}; {e.strerror}") from e
    except PermissionError as e:
        raise errors.PermissionDeniedError(f"{e.filename}; Permission denied") from e
    except OSError as e:
        if e.errno in FULL:
            raise errors.ResourceExhaustedError(no_room(e.filename or path or "the file", e)) from e
        said = f"{e.filename}; {e.strerror}" if e.filename else str(e)
        raise errors.UnknownError(said) from e


_SCHEME = "file://"


def local_path(path: Any) -> str:
    """A path as text; ``file:///tmp/x`` is ``/tmp/x``.

    Raises:
        InvalidArgumentError: a file of another machine.
    """
    found = os.fsdecode(path)
    if not found.startswith(_SCHEME):
        return found
    host, slash, rest = found.removeprefix(_SCHEME).partition("/")
    if host not in ("", "localhost"):
        raise errors.InvalidArgumentError(
            f"{found} is a file of the host {host}; expected one of this machine, such as "
            "file:///tmp/x."
        )
    return slash + rest


class GFile(Closing):
    """A file, opened when first used.

    Args:
        name: Its path.
        mode: ``r``, ``w``, ``a``, with ``b`` for bytes and ``+`` for both directions.

    Raises:
        InvalidArgumentError: another mode.

    Example:
        >>> import os, tempfile
        >>> import tfx as tf
        >>> path = os.path.join(tempfile.mkdtemp(), "note.txt")
        >>> with tf.io.gfile.GFile(path, "w") as file:
        ...     file.write("hello")
        >>> tf.io.gfile.GFile(path).read()
        'hello'
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        if mode.replace("b", "") not in ("r", "w", "a", "r+", "w+", "a+"):
            raise errors.InvalidArgumentError(
                f"mode must be one of r, w, a, r+, w+, a+, with b for bytes; got {mode!r}."
            )
        self.name = name
        self.mode = mode
        self._file: IO[Any] | None = None

    def _open(self) -> IO[Any]:
        if self._file is None:
            encoding = None if "b" in self.mode else "utf-8"
            with file_errors(self.name):
                self._file = open(local_path(self.name), self.mode, encoding=encoding)  # noqa: SIM115
        return self._file

    def read(self, n: int = -1) -> Any:
        """Read at most ``n`` characters or bytes; -1 reads all."""
        with file_errors(self.name):
            return self._open().read(n)

    def readline(self) -> Any:
        """The next line with its end; empty at the end of the file."""
        with file_errors(self.name):
            return self._open().readline()

    def readlines(self) -> list[Any]:
        """Read the remaining lines."""
        with file_errors(self.name):
            return self._open().readlines()

    def write(self, file_content: Any) -> None:
        """Write text, or bytes; text is encoded as UTF-8."""
        with file_errors(self.name):
            file: Any = self._open()
            if isinstance(file_content, bytes) and "b" not in self.mode:
                file.flush()
                file = file.buffer
            elif isinstance(file_content, str) and "b" in self.mode:
                file_content = file_content.encode()
            file.write(file_content)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Go somewhere.

        Args:
            offset: How far from there.
            whence: 0: the beginning, 1: the current position, 2: the end.
            position: The older name of an offset from the beginning.

        Raises:
            TypeError: no offset.
        """
        if offset is None:
            offset, whence = position, 0
        if offset is None:
            raise TypeError("seek() needs an offset")
        with file_errors(self.name):
            self._open().seek(offset, whence)

    def next(self) -> Any:
        """The next line; raises ``StopIteration`` at the end of the file."""
        return self.__next__()

    def seekable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """Return the current position in the file."""
        return self._open().tell()

    def size(self) -> int:
        """Bytes of the file."""
        self.flush()
        with file_errors(self.name):
            return os.path.getsize(local_path(self.name))

    def flush(self) -> None:
        """Write what waits."""
        if self._file is not None:
            with file_errors(self.name):
                self._file.flush()

    def close(self) -> None:
        """Close it; it opens again when used."""
        if self._file is not None:
            file, self._file = self._file, None
            with file_errors(self.name):
                file.close()

    def __enter__(self) -> Self:
        self._open()
        return self

    def __del__(self) -> None:
        file = getattr(self, "_file", None)
        if file is not None:
            file.close()

    def __iter__(self) -> GFile:
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line


class FileStatistics(NamedTuple):
    """The result of ``stat``: a file's length, modification time and kind.

    Attributes:
        length: Bytes.
        mtime_nsec: Time of the last change, in nanoseconds.
        is_directory: Whether it is a folder.
    """

    length: int
    mtime_nsec: int
    is_directory: bool


def exists(path: Any) -> bool:
    """True if there is a file or folder."""
    return os.path.exists(local_path(path))


def isdir(path: Any) -> bool:
    """True if there is a folder."""
    return os.path.isdir(local_path(path))


def join(path: Any, *paths: Any) -> Any:
    """Parts of a path as one path."""
    return os.path.join(path, *paths)


def glob(pattern: Any) -> list[str]:
    """Paths that fit a pattern, or one of several, in order.

    Args:
        pattern: The pattern, or any iterable of patterns.

    Example:
        >>> import tfx as tf
        >>> tf.io.gfile.glob("/no/such/folder/*")
        []
    """
    patterns = [pattern] if isinstance(pattern, str | bytes | os.PathLike) else pattern
    return [p for one in patterns for p in sorted(globbing.glob(local_path(one)))]


def listdir(path: Any) -> list[str]:
    """Names of what is in a folder.

    Raises:
        NotFoundError: there is no such folder.
    """
    if not isdir(path):
        raise errors.NotFoundError(f"Could not find directory {local_path(path)}")
    with file_errors():
        return os.listdir(local_path(path))


def makedirs(path: Any) -> None:
    """Make a folder and those above it; nothing happens if it is there.

    Raises:
        FailedPreconditionError: there is a file of that path.
    """
    if os.path.isfile(local_path(path)):
        raise errors.FailedPreconditionError(f"{local_path(path)} is not a directory")
    with file_errors():
        os.makedirs(local_path(path), exist_ok=True)


def mkdir(path: Any) -> None:
    """Make a folder; nothing happens if it is there.

    Raises:
        AlreadyExistsError: there is a file of that path.
        NotFoundError: the folder above it is not there.
    """
    with file_errors():
        if not os.path.isdir(local_path(path)):
            os.mkdir(local_path(path))


def remove(path: Any) -> None:
    """Remove a file.

    Raises:
        NotFoundError: there is no such file.
    """
    with file_errors():
        os.remove(local_path(path))


def rmtree(path: Any) -> None:
    """Remove a folder and all in it.

    Raises:
        NotFoundError: there is no such folder.
    """
    with file_errors():
        shutil.rmtree(local_path(path))


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Give a file or folder another path.

    Raises:
        AlreadyExistsError: there is something at ``dst``, and ``overwrite`` is False.
        NotFoundError: there is nothing at ``src``.
    """
    _replacing(os.replace, src, dst, overwrite)


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file.

    Raises:
        AlreadyExistsError: there is something at ``dst``, and ``overwrite`` is False.
        NotFoundError: there is nothing at ``src``.
    """
    _replacing(shutil.copyfile, src, dst, overwrite)


def _replacing(act: Callable[[str, str], object], src: Any, dst: Any, overwrite: bool) -> None:
    if not overwrite and exists(dst):
        raise errors.AlreadyExistsError(
            f"file already exists: {local_path(dst)}; use overwrite=True"
        )
    with file_errors():
        act(local_path(src), local_path(dst))


def stat(path: Any) -> FileStatistics:
    """Size and time of a file or folder.

    Raises:
        NotFoundError: there is nothing.
    """
    with file_errors():
        found = os.stat(local_path(path))
    return FileStatistics(found.st_size, found.st_mtime_ns, isdir(path))


def walk(
    top: Any, topdown: bool = True, onerror: Callable[[Any], object] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """The folders below one, each with names of folders and files in it.

    Args:
        top: Where to begin.
        topdown: A folder before those in it.
        onerror: Called with errors, which are ignored otherwise.
    """
    yield from os.walk(local_path(top), topdown, onerror)
