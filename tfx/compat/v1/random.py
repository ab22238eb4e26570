"""``tfx.compat.v1.random``: random numbers."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.compat.v1.graph.default_graph": "set_random_seed",
        "tfx.compat.v1.ops.argument_orders": "poisson=random_poisson stateless_multinomial",
        "tfx.compat.v1.ops.array_ops": """
            multinomial normal=random_normal shuffle=random_shuffle truncated_normal
            uniform=random_uniform
        """,
    },
    others=("tfx.random",),
)
