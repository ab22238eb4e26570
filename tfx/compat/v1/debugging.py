"""``tfx.compat.v1.debugging``: checks as operations."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.compat.v1.ops.argument_orders": """
            assert_equal assert_none_equal assert_less assert_less_equal assert_greater
            assert_greater_equal assert_positive assert_negative assert_non_positive
            assert_non_negative assert_near assert_rank assert_rank_at_least assert_rank_in
            assert_scalar
            assert_all_finite=verify_tensor_all_finite
        """,
        "tfx.ops.math.elementwise": "is_finite is_inf is_nan",
        "tfx.ops.math.derived_arithmetic": "is_non_decreasing is_strictly_increasing",
    },
    adapt="tfx.compat.v1.graph.effects",
    others=("tfx.debugging",),
)
