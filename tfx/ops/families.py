"""Imports every family, so that the gradient table is complete. Imported by ``autodiff``."""

from __future__ import annotations

import importlib
import pkgutil

from tfx import ops

FAMILIES: tuple[str, ...] = tuple(
    sorted(m.name for m in pkgutil.iter_modules(ops.__path__) if m.name not in ("families",))
)
for _family in FAMILIES:
    importlib.import_module(f"tfx.ops.{_family}")
