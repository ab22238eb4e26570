"""Shared libraries: what one needs, where it is found, and which of them cannot be loaded.

ONNX Runtime prints a line on stderr for a provider that it cannot load, runs on the CPU and says no
more. So the libraries that its CUDA provider needs are loaded here first, from the system or from
the wheels that carry them, and missing ones are reported by name.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_DYNAMIC, _LOAD = 2, 1  # segment types
_NEEDED, _STRTAB = 1, 5  # tags of the dynamic section
# Every Linux process has these, or its Python would not run.
_SYSTEM = ("libc.", "libm.", "libdl.", "librt.", "libpthread.", "libgcc_s.", "libstdc++.", "ld-")


def needed(path: Path) -> list[str]:
    """The libraries that an ELF file (64 bit) says it needs, in its order.

    Args:
        path: A shared library.

    Returns:
        Names such as ``"libcudart.so.13"``; none for a file of another kind.
    """
    with path.open("rb") as file:
        header = file.read(64)
        if len(header) < 64 or header[:4] != b"\x7fELF" or header[4] != 2 or header[5] != 1:
            return []
        start, size, count = struct.unpack_from("<Q14xHH", header, 32)
        file.seek(start)
        table = file.read(size * count)
        segments = [struct.unpack_from("<I4xQQ8xQ", table, i * size) for i in range(count)]
        dynamic = next((s for s in segments if s[0] == _DYNAMIC), None)
        if dynamic is None:
            return []
        file.seek(dynamic[1])
        entries = list(struct.iter_unpack("<qQ", file.read(dynamic[3] // 16 * 16)))
        address = next((value for tag, value in entries if tag == _STRTAB), 0)
        # The table of names is given by its address in memory.
        for kind, offset, virtual, length in segments:
            if kind == _LOAD and virtual <= address < virtual + length:
                place = offset + address - virtual
                return [_text(file, place + value) for tag, value in entries if tag == _NEEDED]
    return []


def _text(file: Any, position: int) -> str:
    file.seek(position)
    raw: bytes = file.read(256)
    return raw.split(b"\0", 1)[0].decode(errors="replace")


@functools.cache
def load(name: str) -> ctypes.CDLL:
    """A shared library by name, from the system's folders or from NVIDIA's wheels.

    Raises:
        OSError: it is nowhere, or needs something that is nowhere; the message says what.
    """
    try:
        return ctypes.CDLL(name)  # found by its name from here on
    except OSError as e:
        for path in _in_wheels(name):
            return ctypes.CDLL(str(path))
        raise e


def _in_wheels(name: str) -> Iterator[Path]:
    """Yield a library's paths in installed wheels: ``site-packages/nvidia/<part>/lib/<name>``."""
    for folder in sys.path:
        yield from sorted(Path(folder or ".").glob(f"nvidia/*/lib/{name}"))
        yield from sorted(Path(folder or ".").glob(f"nvidia/*/bin/**/{name}"))


def missing(names: list[str]) -> dict[str, str]:
    """Those of the libraries that cannot be loaded, each with the loader's reason."""
    found: dict[str, str] = {}
    for name in names:
        try:
            load(name)
        except OSError as e:
            found[name] = str(e)
    return found


def is_part_of_system(name: str) -> bool:
    """True if a library is one that every process has."""
    return name.startswith(_SYSTEM)
