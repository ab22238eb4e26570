"""``tfx.compat.v1.train``: training."""

from __future__ import annotations

from typing import Any

from tfx.compat.name_table import names, namespace
from tfx.core.tracebacks import cover

_OWN = names(
    {
        "tfx.compat.v1.training.learning_rate_decay": """
            cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay
            linear_cosine_decay natural_exp_decay noisy_linear_cosine_decay piecewise_constant
            piecewise_constant_decay=piecewise_constant polynomial_decay
        """,
        "tfx.compat.v1.training.global_steps": """
            assert_global_step create_global_step get_global_step get_or_create_global_step
            global_step
        """,
        "tfx.compat.v1.training.optimizers": "Optimizer",
        "tfx.compat.v1.training.saver": "Saver",
        "tfx.compat.v1.training.update_rules": """
            AdadeltaOptimizer AdagradOptimizer AdamOptimizer GradientDescentOptimizer
            MomentumOptimizer RMSPropOptimizer
        """,
    }
)

_fetch, _known = namespace(__name__, _OWN, (), ("tfx.train",))


def __getattr__(name: str) -> Any:
    return cover(_fetch(name))


def __dir__() -> list[str]:
    return _known()
