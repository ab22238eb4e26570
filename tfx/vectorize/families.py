"""Imports every ``rules_*`` file, so that the table of batching rules is complete."""

from __future__ import annotations

import importlib
import pkgutil

from tfx import vectorize

FAMILIES: tuple[str, ...] = tuple(
    sorted(m.name for m in pkgutil.iter_modules(vectorize.__path__) if m.name.startswith("rules_"))
)
for _family in FAMILIES:
    importlib.import_module(f"tfx.vectorize.{_family}")
