"""``tfx.compat.v1.resource_loader``: files that lie beside a program."""

from __future__ import annotations

import os
import sys

from tfx.core.namespaces import complete as _complete


def get_data_files_path() -> str:
    """The folder of the module that calls this."""
    return _folder_of_caller()


def get_path_to_datafile(path: str) -> str:
    """The path of a file that lies beside the module that calls this.

    Args:
        path: Its path from there.
    """
    return os.path.join(_folder_of_caller(), path)


def load_resource(path: str) -> bytes:
    """The contents of a file that lies beside the module that calls this.

    Args:
        path: Its path from there.

    Raises:
        OSError: it cannot be read.
    """
    with open(os.path.join(_folder_of_caller(), path), "rb") as file:
        return file.read()


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """The path itself.

    Args:
        path: The path.
        readahead: Accepted for compatibility.
    """
    return path


def _folder_of_caller() -> str:
    return os.path.dirname(os.path.abspath(sys._getframe(2).f_code.co_filename))


__all__ = [
    "get_data_files_path",
    "get_path_to_datafile",
    "load_resource",
    "readahead_file_path",
]
_complete(__name__)
