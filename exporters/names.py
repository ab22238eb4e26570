"""Names inside a bundle: unique ones, and such that can be a file's."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_MAX_STEM = 120
# Windows takes these for devices, with any ending.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


def unique_name(name: str, taken: Collection[str], separator: str = "_") -> str:
    """``name``, or with ``_1``, ``_2``... after it if it is taken."""
    candidate, i = name, 1
    while candidate in taken:
        candidate, i = f"{name}{separator}{i}", i + 1
    return candidate


def unique_names(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """Return names, each made unique among those before it and ``taken``."""
    used = set(taken)
    result = []
    for name in names:
        result.append(unique_name(name, used))
        used.add(result[-1])
    return result


class FileNames:
    """Gives each graph of a bundle a file name that is good on every system."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def stem(self, name: str) -> str:
        """A file name without its ending that no other has, upper and lower case being one.

        The name with ``.live`` and ``.gradient`` after it is kept free too.
        """
        base = _UNSAFE.sub("_", name.replace("/", "."))[:_MAX_STEM].strip(". ") or "function"
        if _DEVICES.match(base):
            base = f"_{base}"
        stem, i = base, 1
        while self._taken & _forms(stem):
            stem, i = f"{base}.{i}", i + 1
        self._taken |= _forms(stem)
        return stem

    def file(self, name: str) -> str:
        """A file name that no other has and that keeps the ending of ``name``."""
        base, dot, ending = name.rpartition(".")
        ending = _UNSAFE.sub("_", ending).strip(". ")
        return f"{self.stem(base)}.{ending}" if base and dot and ending else self.stem(name)


def _forms(stem: str) -> set[str]:
    return {f"{stem}{form}".casefold() for form in ("", ".live", ".gradient")}
