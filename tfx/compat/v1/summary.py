"""``tfx.compat.v1.summary``: summaries that sessions compute."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.compat.v1.files.summaries": """
            FileWriter FileWriterCache audio histogram image merge merge_all scalar tensor_summary
            text
        """,
        "tfx.summary.event_pb2": """
            Event SessionLog Summary SummaryDescription TaggedRunMetadata
        """,
    },
)
