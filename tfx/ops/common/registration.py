"""Imports every family, so that the gradient table is complete. Imported by ``autodiff``."""

from __future__ import annotations

import importlib
import pkgutil

from tfx import ops

FAMILIES: tuple[str, ...] = tuple(
    sorted(
        found.name
        for found in pkgutil.walk_packages(ops.__path__, "tfx.ops.")
        if not found.ispkg and found.name != __name__
    )
)
for _family in FAMILIES:
    importlib.import_module(_family)
