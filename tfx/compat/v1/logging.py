"""``tfx.compat.v1.logging``: the log."""

from __future__ import annotations

from tfx.compat.name_table import namespace

__getattr__, __dir__ = namespace(
    __name__,
    {
        "tfx.compat.v1.log_functions": """
            DEBUG ERROR FATAL INFO WARN debug error fatal get_verbosity info log set_verbosity vlog
            warn warning
        """,
    },
)
