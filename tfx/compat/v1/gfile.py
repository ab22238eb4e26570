"""``tfx.compat.v1.gfile``: files by TensorFlow 1's names."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.core.gfile": "FastGFile=GFile GFile Open=GFile",
        "tfx.compat.v1.ops.argument_orders": """
            Copy DeleteRecursively Exists Glob IsDirectory ListDirectory MakeDirs MkDir Remove
            Rename Stat Walk
        """,
    },
)
