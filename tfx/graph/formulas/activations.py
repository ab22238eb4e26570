"""Slopes of activations, in terms of what they gave."""

from __future__ import annotations

from typing import TypeVar

from tfx.graph.ops import Ops

V = TypeVar("V")


def sigmoid_slope(f: Ops[V], y: V) -> V:
    """The derivative of ``sigmoid`` where its value is ``y``."""
    return f.Mul(y, f.Sub(f.like(1, y), y))


def tanh_slope(f: Ops[V], y: V) -> V:
    """The derivative of ``tanh`` where its value is ``y``."""
    return f.Sub(f.like(1, y), f.Mul(y, y))
