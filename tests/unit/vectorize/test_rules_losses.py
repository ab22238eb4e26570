"""Batching rules of losses: with every reduction, weights and labels to ignore."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.vectorize.elementwise import Case, check_all, normal, whole

OPS = (("NegativeLogLikelihoodLoss", 1), ("SoftmaxCrossEntropyLoss", 1),
       ("SoftmaxCrossEntropyLoss", 2))  # fmt: skip


def positive(rng):
    return (np.abs(rng.standard_normal(5)) + 0.1).astype(np.float32)


@pytest.mark.parametrize("ignored", [None, 2])
@pytest.mark.parametrize("weights", [None, positive], ids=["alike", "weighted"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses(reduction, weights, ignored):
    attrs = {"reduction": reduction} | ({} if ignored is None else {"ignore_index": ignored})
    for op, outputs in OPS:
        inputs = (normal(4, 5, 3), whole(0, 5, 4, 3), weights)
        check_all(Case(op, attrs, inputs, (0, 1), outputs))
