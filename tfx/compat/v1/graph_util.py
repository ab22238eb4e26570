"""``tfx.compat.v1.graph_util``: graphs as messages."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.compat.v1.graph.graph_parts": """
            convert_variables_to_constants extract_sub_graph remove_training_nodes
            tensor_shape_from_node_def_name
        """,
        "tfx.compat.v1.graph.import_graph_def": "import_graph_def",
    },
)
