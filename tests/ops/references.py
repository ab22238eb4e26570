"""Values to take differences of, where onnx's reference implementation is not fit for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

import tfx as tf
from tests.ops.backend_cases import Case
from tfx import raw

Evaluate: TypeAlias = Callable[[list[Any]], list[Any]]


def _group_normalization(case: Case) -> Evaluate:
    """The reference has none."""
    groups, epsilon = case.attrs["num_groups"], case.attrs.get("epsilon", 1e-5)

    def evaluate(inputs: list[Any]) -> list[Any]:
        x, scale, bias = inputs
        grouped = x.reshape(x.shape[0], groups, -1)
        mean, variance = grouped.mean(2, keepdims=True), grouped.var(2, keepdims=True)
        normal = ((grouped - mean) / np.sqrt(variance + epsilon)).reshape(x.shape)
        channels = (-1, *(1,) * (x.ndim - 2))
        return [normal * scale.reshape(channels) + bias.reshape(channels)]

    return evaluate


def _mean_variance_normalization(case: Case) -> Evaluate:
    """The reference is for float32 only."""
    axes = tuple(case.attrs.get("axes", (0, 2, 3)))

    def evaluate(inputs: list[Any]) -> list[Any]:
        (x,) = inputs
        mean, deviation = x.mean(axes, keepdims=True), x.std(axes, keepdims=True)
        return [(x - mean) / (deviation + 1e-9)]

    return evaluate


def _lp_normalization(case: Case) -> Evaluate:
    """The reference forgets the absolute values of the 1-norm."""
    axis, p = case.attrs.get("axis", -1), case.attrs.get("p", 2)

    def evaluate(inputs: list[Any]) -> list[Any]:
        (x,) = inputs
        return [x / (np.abs(x) ** p).sum(axis, keepdims=True) ** (1 / p)]

    return evaluate


def _runtime(case: Case) -> Evaluate:
    """The runtime's float64 kernel: the reference computes in float32, or takes seconds."""

    def evaluate(inputs: list[Any]) -> list[Any]:
        given = [None if x is None else tf.constant(x) for x in inputs]
        found = getattr(raw, case.op)(*given, n_outputs=len(case.outputs), **case.attrs)
        return [y.numpy() for y in (found if isinstance(found, tuple) else (found,))]

    return evaluate


REFERENCES: dict[str, Callable[[Case], Evaluate]] = {
    "GroupNormalization": _group_normalization,
    "LpNormalization": _lp_normalization,
    "MeanVarianceNormalization": _mean_variance_normalization,
    **dict.fromkeys(("AffineGrid", "DeformConv", "GridSample", "MaxPool", "RoiAlign"), _runtime),
}
