"""``tfx.compat.v1.io``: files, records and examples."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.compat.v1.ops.argument_orders": """
            decode_csv decode_raw parse_example parse_single_example
            parse_single_sequence_example serialize_many_sparse serialize_sparse
        """,
        "tfx.compat.v1.graph.graph_parts": "write_graph",
        "tfx.compat.v1.input_pipeline.producers": "match_filenames_once",
        "tfx.compat.v1.files.records": "TFRecordCompressionType tf_record_iterator",
        "tfx.script_ops.queues": """
            FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue
        """,
    },
    others=("tfx.io",),
)
