"""``tfx.feature_column``: what becomes of the features of Examples before a model gets them.

Owns the columns and what they compute. Must not know where weights are kept: who computes with a
column hands it an object that does (``columns.StateManager``), such as TensorFlow 1's variable
scopes in ``compat/v1/feature_column/layers.py``.
"""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.feature_column.categories import (
    categorical_column_with_hash_bucket as categorical_column_with_hash_bucket,
)
from tfx.feature_column.categories import (
    categorical_column_with_identity as categorical_column_with_identity,
)
from tfx.feature_column.categories import (
    weighted_categorical_column as weighted_categorical_column,
)
from tfx.feature_column.columns import make_parse_example_spec as make_parse_example_spec
from tfx.feature_column.crossed import crossed_column as crossed_column
from tfx.feature_column.embeddings import embedding_column as embedding_column
from tfx.feature_column.embeddings import shared_embeddings as shared_embeddings
from tfx.feature_column.indicators import indicator_column as indicator_column
from tfx.feature_column.numbers import bucketized_column as bucketized_column
from tfx.feature_column.numbers import numeric_column as numeric_column
from tfx.feature_column.sequences import (
    sequence_categorical_column_with_hash_bucket as sequence_categorical_column_with_hash_bucket,
)
from tfx.feature_column.sequences import (
    sequence_categorical_column_with_identity as sequence_categorical_column_with_identity,
)
from tfx.feature_column.sequences import (
    sequence_categorical_column_with_vocabulary_file as _sequence_with_vocabulary_file,
)
from tfx.feature_column.sequences import (
    sequence_categorical_column_with_vocabulary_list as _sequence_with_vocabulary_list,
)
from tfx.feature_column.sequences import sequence_numeric_column as sequence_numeric_column
from tfx.feature_column.vocabularies import (
    categorical_column_with_vocabulary_file as categorical_column_with_vocabulary_file,
)
from tfx.feature_column.vocabularies import (
    categorical_column_with_vocabulary_list as categorical_column_with_vocabulary_list,
)

# Names too long for a line of their own.
sequence_categorical_column_with_vocabulary_file = _sequence_with_vocabulary_file
sequence_categorical_column_with_vocabulary_list = _sequence_with_vocabulary_list

_complete(__name__)
