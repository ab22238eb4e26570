"""``tfx.compat.v1.feature_column``: columns, and the layers of TensorFlow 1 that take them."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.compat.v1.feature_column.layers": """
            categorical_column_with_vocabulary_file input_layer linear_model
        """,
        "tfx.feature_column.embeddings": """
            embedding_column shared_embedding_columns=shared_embeddings
        """,
        "tfx.feature_column.categories": """
            categorical_column_with_hash_bucket categorical_column_with_identity
            weighted_categorical_column
        """,
        "tfx.feature_column.columns": "make_parse_example_spec",
        "tfx.feature_column.crossed": "crossed_column",
        "tfx.feature_column.indicators": "indicator_column",
        "tfx.feature_column.numbers": "bucketized_column numeric_column",
        "tfx.feature_column.sequences": """
            sequence_categorical_column_with_hash_bucket
            sequence_categorical_column_with_identity
            sequence_categorical_column_with_vocabulary_file
            sequence_categorical_column_with_vocabulary_list sequence_numeric_column
        """,
        "tfx.feature_column.vocabularies": "categorical_column_with_vocabulary_list",
    },
)
