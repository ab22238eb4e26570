"""``tfx.compat.v1.random``: random numbers."""

from __future__ import annotations

from typing import Any

from tfx.compat.name_table import names, namespace
from tfx.core.tracebacks import cover

_OWN = names(
    {
        "tfx.compat.v1.graph.default_graph": "set_random_seed",
        "tfx.compat.v1.ops.array_ops": """
            multinomial normal=random_normal shuffle=random_shuffle truncated_normal
            uniform=random_uniform
        """,
    }
)

_fetch, _known = namespace(__name__, _OWN, (), ("tfx.random",))


def __getattr__(name: str) -> Any:
    return cover(_fetch(name))


def __dir__() -> list[str]:
    return _known()
