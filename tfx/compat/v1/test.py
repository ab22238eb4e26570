"""``tfx.compat.v1.test``: ``tf.test`` by TensorFlow 1's names."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.compat.v1.test_functions": """
            compute_gradient compute_gradient_error get_temp_dir mock
        """,
    },
    others=("tfx.test",),
)
