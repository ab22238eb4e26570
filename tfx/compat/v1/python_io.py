"""``tfx.compat.v1.python_io``: files of records."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.compat.v1.files.records": "TFRecordCompressionType tf_record_iterator",
        "tfx.summary.record_writer": "TFRecordOptions TFRecordWriter",
    },
)
