"""``tfx.compat.v1.data``: datasets, and their iterators in graphs."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.data.extras.graph_iterators": """
            Iterator=GraphIterator get_output_classes get_output_shapes get_output_types
            make_initializable_iterator make_one_shot_iterator
        """,
    },
    others=("tfx.data",),
)
