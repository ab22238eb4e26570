"""How accurate functions of one number are, over their whole domain, in every float type.

The reference points were made by mpmath (``tools/accuracy.py``); ``docs/accuracy.md`` has the worst
errors that it measured at many more.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.ops.ulps import ulps

POINTS: dict[str, Any] = json.loads((Path(__file__).parent / "accuracy_points.json").read_text())
SPECIAL = vars(tf.math.special)
ELSEWHERE = {
    "gelu_tanh": lambda x: tf.nn.gelu(x, approximate=True),
    **{name: getattr(tf.nn, name) for name in ("elu", "gelu", "selu", "silu", "softsign")},
}


def public(name: str) -> Any:
    return ELSEWHERE.get(name) or SPECIAL.get(name) or getattr(tf.math, name)


# In units of the last place of float32 and float64; 4 for what is not here.
BOUNDS: dict[str, tuple[float, float]] = {
    "bessel_i0": (1, 16),
    "bessel_i0e": (1, 32),
    "bessel_i1": (1, 16),
    "bessel_i1e": (1, 24),
    "bessel_k0": (1, 32),
    "bessel_k0e": (1, 32),
    "bessel_k1": (1, 24),
    "bessel_k1e": (1, 24),
    "bessel_y1": (1, 32),
    "dawsn": (1, 8),
    "erfc": (1, 8),
    "sinh": (4, 5),
    "cosh": (4, 5),
    "spence": (1, 8),
    "softplus": (5, 4),
    "log_sigmoid": (5, 4),
    "tan": (4, 128),
    "tanh": (6, 8),
}
# Besides, as absolute errors: what is small beside the largest values, or by cancellation.
FLOORS: dict[str, tuple[float, float]] = {
    "bessel_j0": (0, 2e-15),
    "bessel_j1": (0, 2e-15),
    "bessel_y0": (0, 2e-14),
    "bessel_y1": (0, 2e-14),
    "cos": (0, 7e-16),
    "digamma": (0, 4e-15),
    "elu": (1e-7, 0),
    "expint": (0, 4e-16),
    "fresnel_cos": (0, 3e-14),
    "fresnel_sin": (0, 3e-14),
    "gelu": (2e-6, 1e-18),
    "gelu_tanh": (4e-6, 1e-18),
    "lgamma": (0, 3e-15),
    "selu": (2e-7, 0),
    "silu": (1e-43, 0),
    "sin": (0, 7e-16),
    "tan": (0, 7e-16),
    "tanh": (1e-42, 0),
}
KINDS = ("float32", "float64")


def table(name: str, kind: str) -> tuple[Any, Any]:
    """Arguments, and values in a longer type."""
    x, y = np.array(POINTS[name]).T
    info = np.finfo(kind)
    kept = (np.abs(y) > float(info.tiny)) & (np.abs(y) < float(info.max))
    return tf.cast(tf.constant(x[kept]), kind), y[kept]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", POINTS)
def test_against_mpmath(name: str, kind: str) -> None:
    x, wanted = table(name, kind)
    place = KINDS.index(kind)
    bound, floor = BOUNDS.get(name, (4, 4))[place], FLOORS.get(name, (0, 0))[place]
    for function in (public(name), tf.function(public(name))):
        found = function(x)
        assert found.dtype.name == kind
        far = np.abs(np.asarray(found).astype(np.longdouble) - wanted) > floor
        assert len(wanted) > 10
        assert ulps(np.asarray(found)[far], wanted[far]) <= bound


NARROW = sorted(set(POINTS) - {"fresnel_cos", "fresnel_sin"})


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", NARROW)
def test_narrow_types_agree_with_float64(name: str, kind: str) -> None:
    """At every number of the type; the bound is of one that is computed step by step in it."""
    numpy_type = tf.as_dtype(kind).as_numpy_dtype
    x = np.arange(0, 65536, 7, dtype=np.uint16).view(numpy_type)
    with np.errstate(all="ignore"):
        x = x[np.isfinite(x.astype(np.float64))]
        found = np.asarray(public(name)(tf.constant(x)))
        wanted = np.asarray(public(name)(tf.constant(x.astype(np.float64))))
    assert found.dtype == numpy_type
    with np.errstate(all="ignore"):
        far = ~(np.abs(found.astype(np.longdouble) - wanted) <= FLOORS.get(name, (0, 0))[0])
    assert ulps(found[far], wanted[far]) <= 4
