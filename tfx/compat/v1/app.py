"""``tfx.compat.v1.app``: running a program."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

# The flags are a module of their own in tfx.compat.v1, and below app too.
__getattr__, __dir__ = lazy_namespace(
    __name__, {"tfx.compat.v1.app_run": "run", "tfx.compat.v1": "flags"}
)
