"""``tfx.compat.v1.sets``: sets by TensorFlow 1's names."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.sparse_ops.sets": """
            set_difference=difference set_intersection=intersection set_size=size set_union=union
        """,
    },
    others=("tfx.sets",),
)
