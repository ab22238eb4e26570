"""``tfx.compat.v1.strings``: texts with TensorFlow 1's arguments."""

from __future__ import annotations

from tfx.compat.name_table import namespace

__getattr__, __dir__ = namespace(
    __name__,
    {
        "tfx.compat.v1.ops.argument_orders": """
            length=string_length reduce_join substr to_number=string_to_number
        """,
    },
    others=("tfx.strings",),
)
