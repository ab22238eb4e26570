"""Forward mode on the floating cases of onnx's own node tests, against reverse mode.

Reverse mode is held against differences in ``test_derivatives``. Here the same scalar function of
the step along a direction is differentiated twice in forward mode, and in both mixtures.
"""

from __future__ import annotations

import zlib
from typing import Any, TypeAlias

import numpy as np
import pytest

import tfx as tf
from tests.ops.backend_cases import Case
from tests.ops.derivatives import Problem
from tests.ops.test_derivatives import BY_OPERATOR

Found: TypeAlias = tuple[float, float]
# Even on float64 the tolerance is that of float32: some operators have kernels for that only.
_ROUGH = {"Cast": 1e-3}
# Of each operator: the rest run with the slow tests.
_FEW = 2
# Many graphs for each case.
_LONG = ("GRU", "LSTM", "RNN")


class Ways:
    """A case's derivatives along one random direction, to second order, in every way.

    Args:
        case: The node test.
    """

    def __init__(self, case: Case) -> None:
        self._problem = problem = Problem(case)
        self._inputs = problem.tensors()
        self._sources = [self._inputs[i] for i in problem.moving]
        self.exact = all(x.dtype is tf.float64 for x in self._sources)
        rng = np.random.default_rng(zlib.crc32(case.name.encode()))
        self._directions = [
            tf.constant(rng.uniform(0.5, 1.5, x.shape) * rng.choice([-1.0, 1.0], x.shape), x.dtype)
            for x in self._sources
        ]

    def _run(self) -> Any:
        return self._problem.weighted(self._problem.apply(self._inputs))

    def _along(self, gradients: list[Any]) -> Any:
        pairs = zip(gradients, self._directions, strict=True)
        return tf.add_n([tf.reduce_sum(tf.cast(g * d, tf.float64)) for g, d in pairs])

    def _accumulator(self) -> Any:
        return tf.autodiff.ForwardAccumulator(self._sources, self._directions)

    def reverse_twice(self) -> Found:
        """By the tape alone: what the others must agree with."""
        with tf.GradientTape() as outer:
            outer.watch(self._sources)
            with tf.GradientTape() as inner:
                inner.watch(self._sources)
                total = self._run()
            gradients = inner.gradient(total, self._sources, unconnected_gradients="zero")
            first = self._along(gradients)
        again = outer.gradient(first, self._sources, unconnected_gradients="zero")
        return float(first), float(self._along(again))

    def forward_twice(self) -> Found:
        """Forward over forward."""
        with self._accumulator() as outer, self._accumulator() as inner:
            first = inner.jvp(self._run(), "zero")
        return float(first), float(outer.jvp(first, "zero"))

    def forward_over_reverse(self) -> Found:
        """A Hessian-vector product."""
        with self._accumulator() as outer:
            with tf.GradientTape() as tape:
                tape.watch(self._sources)
                total = self._run()
            gradients = tape.gradient(total, self._sources, unconnected_gradients="zero")
        products = outer.jvp(gradients, "zero")
        return float(outer.jvp(total, "zero")), float(self._along(products))

    def reverse_over_forward(self) -> Found:
        """The gradient of a directional derivative."""
        with tf.GradientTape() as tape:
            tape.watch(self._sources)
            with self._accumulator() as inner:
                first = inner.jvp(self._run(), "zero")
        gradients = tape.gradient(first, self._sources, unconnected_gradients="zero")
        return float(first), float(self._along(gradients))


def _mismatches(case: Case) -> list[str]:
    ways = Ways(case)
    expected = ways.reverse_twice()
    rtol = _ROUGH.get(case.op, 1e-6 if ways.exact else 2e-4)
    atol = rtol * (1 + abs(expected[0]))
    return [
        f"{case.name}, {way.__name__}: {found}; by the tape {expected}"
        for way in (ways.forward_twice, ways.forward_over_reverse, ways.reverse_over_forward)
        for found in [way()]
        if not np.allclose(found, expected, rtol=rtol, atol=atol)
    ]


def _few(op: str) -> int:
    return 0 if op in _LONG else _FEW


def _cases(op: str) -> list[Case]:
    """The smallest first."""
    return sorted(
        BY_OPERATOR[op], key=lambda case: sum(x.size for x in case.inputs if x is not None)
    )


def _check(cases: list[Case]) -> None:
    wrong = [line for case in cases for line in _mismatches(case)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("op", sorted(set(BY_OPERATOR) - set(_LONG)))
def test_forward_mode_agrees_with_the_tape(op: str) -> None:
    _check(_cases(op)[: _few(op)])


@pytest.mark.proof
@pytest.mark.parametrize("op", sorted(op for op in BY_OPERATOR if len(BY_OPERATOR[op]) > _few(op)))
def test_forward_mode_agrees_with_the_tape_on_all_cases(op: str) -> None:
    _check(_cases(op)[_few(op) :])
