"""``tfx.compat.v1.summary``: summaries that sessions compute."""

from __future__ import annotations

from tfx.compat.name_table import namespace

__getattr__, __dir__ = namespace(
    __name__,
    {
        "tfx.compat.v1.summaries": """
            FileWriter FileWriterCache audio histogram image merge merge_all scalar tensor_summary
            text
        """,
        "tfx.summary.event_pb2": "Event Summary",
    },
)
