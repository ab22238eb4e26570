"""``tfx.compat.v1.debugging``: checks as operations."""

from __future__ import annotations

from tfx.compat.name_table import namespace

__getattr__, __dir__ = namespace(__name__, {}, others=("tfx.debugging",))
