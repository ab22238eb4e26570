"""``tfx.compat.v1.logging``: the log."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.compat.v1.files.log_functions": """
            DEBUG ERROR FATAL INFO TaskLevelStatusMessage WARN debug error fatal flush get_verbosity
            info log log_every_n log_first_n log_if set_verbosity vlog warn warning
        """,
    },
)
