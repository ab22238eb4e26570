"""Operators that do not give the same results for the same inputs."""

from __future__ import annotations

# They draw numbers from a state of their own. Random operations of this library are none of them.
RANDOM_OPS = frozenset(
    (
        "Bernoulli",
        "Dropout",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    )
)
