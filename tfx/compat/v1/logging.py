"""``tfx.compat.v1.logging``: the log."""

from __future__ import annotations

from typing import Any

from tfx.compat.name_table import names, namespace
from tfx.core.tracebacks import cover

_OWN = names(
    {
        "tfx.compat.v1.log_functions": """
            DEBUG ERROR FATAL INFO WARN debug error fatal get_verbosity info log set_verbosity vlog
            warn warning
        """,
    }
)

_fetch, _known = namespace(__name__, _OWN, (), ())


def __getattr__(name: str) -> Any:
    return cover(_fetch(name))


def __dir__() -> list[str]:
    return _known()
