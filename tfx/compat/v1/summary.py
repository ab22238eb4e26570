"""``tfx.compat.v1.summary``: summaries that sessions compute."""

from __future__ import annotations

from typing import Any

from tfx.compat.name_table import names, namespace

_OWN = names(
    {
        "tfx.compat.v1.summaries": "FileWriter histogram merge merge_all scalar text",
        "tfx.summary.event_pb2": "Event Summary",
    }
)

_fetch, _known = namespace(__name__, _OWN, (), ())


def __getattr__(name: str) -> Any:
    return _fetch(name)


def __dir__() -> list[str]:
    return _known()
