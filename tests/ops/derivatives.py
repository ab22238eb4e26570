"""First and second derivatives of onnx's own node tests, by rules and by differences.

The decision: the differences are those of onnx's reference implementation, NumPy in float64, which
shares nothing with ours. Along one random direction ``v`` through all floating inputs, five values
give ``v . g`` and ``v . H v``; the tape gives the same by one walk and by a walk over a walk.
Inputs are moved a little first, away from the ties and kinks that hand-written examples have.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import onnx
import onnx.reference

import tfx as tf
from tests.ops.backend_cases import Case
from tests.ops.references import REFERENCES
from tests.ops.underivable import CONSTANT_INPUTS, OF_FIXED_DTYPE, SHIFT
from tfx import raw
from tfx.graph import schema

Evaluate: TypeAlias = Callable[[list[Any]], list[Any]]

# A kink between the points of a step spoils its quotients, rounding those of the small steps (and
# of the large ones where the reference computes in float32): one of them must agree.
STEPS = (1e-3, 1e-2, 1e-4, 1e-5, 1e-1)
_OFFSETS = (-2, -1, 0, 1, 2)
_FIRST = (1 / 12, -8 / 12, 0.0, 8 / 12, -1 / 12)
_SECOND = (-1 / 12, 16 / 12, -30 / 12, 16 / 12, -1 / 12)
_SPREAD = 1e-2


class Derivatives(NamedTuple):
    """Derivatives along a direction, and an estimate of what rounding does to each."""

    first: float
    second: float
    first_noise: float = 0.0
    second_noise: float = 0.0


def floating_inputs(case: Case) -> list[int]:
    """The inputs that a derivative is taken by."""
    constant = CONSTANT_INPUTS.get(case.op, ())
    return [
        i
        for i, x in enumerate(case.inputs)
        if x is not None and x.dtype.kind == "f" and i not in constant and x.size
    ]


def floating_outputs(case: Case) -> list[int]:
    """The results that are summed with random weights."""
    return [i for i, y in enumerate(case.outputs) if y is not None and y.dtype.kind == "f"]


class Problem:
    """A case in float64, as a scalar function of the step along one direction.

    Args:
        case: The node test. Its results are summed with random weights, infinite ones left out.
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        self._rng = np.random.default_rng(zlib.crc32(case.name.encode()))
        self.moving = floating_inputs(case)
        self._wanted = floating_outputs(case)
        self._inputs = [_in_float64(x) for x in case.inputs]
        for i in OF_FIXED_DTYPE.get(case.op, ()):
            if i < len(case.inputs):
                self._inputs[i] = case.inputs[i]
        for i in self.moving:
            noise = self._rng.uniform(-_SPREAD, _SPREAD, self._inputs[i].shape)
            self._inputs[i] = self._inputs[i] + noise + SHIFT.get(case.op, 0.0)
        self._directions = {i: self._random(self._inputs[i].shape) for i in self.moving}
        self._evaluate = REFERENCES.get(case.op, onnx_reference)(case)
        at_point = self._evaluate(self._inputs)
        self._weights = [
            np.where(np.isfinite(at_point[i]), self._random(np.shape(at_point[i])), 0.0)
            for i in self._wanted
        ]

    def _random(self, shape: tuple[int, ...]) -> np.ndarray:
        """Random numbers, none of them close to 0: no element may go unseen."""
        size = self._rng.uniform(0.5, 1.5, shape)
        return np.asarray(size * self._rng.choice([-1.0, 1.0], shape), np.float64)

    def by_differences(self) -> Iterator[Derivatives]:
        """Derivatives of the reference implementation by differences of several steps."""
        for step in STEPS:
            values = [self._total(k * step) for k in _OFFSETS]
            yield Derivatives(
                sum(w * v for w, v in zip(_FIRST, values, strict=True)) / step,
                sum(w * v for w, v in zip(_SECOND, values, strict=True)) / step**2,
                1e-14 * self._size(values) / step,
                1e-14 * self._size(values) / step**2,
            )

    def _size(self, values: list[float]) -> float:
        return max(1.0, *(abs(v) for v in values)) * max(w.size for w in self._weights) ** 0.5

    def _total(self, distance: float) -> float:
        moved = [
            x + distance * self._directions[i] if i in self._directions else x
            for i, x in enumerate(self._inputs)
        ]
        outputs = self._evaluate(moved)
        return sum(
            float((w * np.where(w == 0, 0.0, np.asarray(outputs[i], np.float64))).sum())
            for i, w in zip(self._wanted, self._weights, strict=True)
        )

    def by_rules(self) -> Derivatives:
        """Derivatives by the tape, of the operator on tensors of the widest dtype it takes."""
        inputs, sources, directions = self.parts()
        with tf.GradientTape() as outer:
            outer.watch(sources)
            with tf.GradientTape() as inner:
                inner.watch(sources)
                total = self.weighted(self.apply(inputs))
            gradients = inner.gradient(total, sources, unconnected_gradients="zero")
            first = along(gradients, directions)
        again = outer.gradient(first, sources, unconnected_gradients="zero")
        return Derivatives(float(first), float(along(again, directions)))

    def parts(self) -> tuple[list[Any], list[Any], list[Any]]:
        """All inputs, those that move, and their directions, in the widest dtype."""
        inputs = self.tensors()
        sources = [inputs[i] for i in self.moving]
        kinds = [x.dtype for x in sources]
        directions = [
            tf.constant(self._directions[i], kind)
            for i, kind in zip(self.moving, kinds, strict=True)
        ]
        return inputs, sources, directions

    def tensors(self, dtype: Any = None) -> list[Any]:
        """The inputs; floating ones in a dtype, or the widest that the operator takes."""
        kind = dtype or _widest(self.case)
        return [
            x if x is None else tf.constant(x, kind) if x.dtype == np.float64 else tf.constant(x)
            for x in self._inputs
        ]

    def apply(self, inputs: list[Any]) -> list[Any]:
        """The operator's floating results."""
        operator = getattr(raw, self.case.op)
        found = operator(*inputs, n_outputs=len(self.case.outputs), **self.case.attrs)
        found = found if isinstance(found, tuple) else (found,)
        return [found[i] for i in self._wanted]

    def weighted(self, outputs: list[Any]) -> Any:
        """The random sum of results that derivatives are taken of."""
        return tf.add_n(
            [
                tf.reduce_sum(
                    tf.where(w == 0, tf.zeros([], tf.float64), tf.cast(y, tf.float64))
                    * tf.constant(w)
                )
                for y, w in zip(outputs, self._weights, strict=True)
            ]
        )


def _in_float64(x: Any) -> Any:
    return x.astype(np.float64) if x is not None and x.dtype.kind == "f" else x


def _widest(case: Case) -> Any:
    """float64, or float32 for an operator that the standard does not define on float64."""
    operator = schema.operator(case.op)
    kind = operator.schema.inputs[min(floating_inputs(case)[0], len(operator.inputs) - 1)].types
    return tf.float64 if "tensor(double)" in kind else tf.float32


def along(a: Any, b: Any) -> Any:
    """The derivative along a direction, from gradients."""
    return tf.add_n([tf.reduce_sum(tf.cast(x * y, tf.float64)) for x, y in zip(a, b, strict=True)])


def onnx_reference(case: Case) -> Evaluate:
    """onnx's reference implementation of a node, on lists of arrays."""
    helper = onnx.helper
    names = list(dict.fromkeys(n for n in case.node.input if n))
    graph = helper.make_graph(
        [case.node],
        "node",
        [helper.make_empty_tensor_value_info(n) for n in names],
        [helper.make_empty_tensor_value_info(n) for n in case.node.output if n],
    )
    opset = helper.make_opsetid("", schema.operator(case.op).opset)
    session = onnx.reference.ReferenceEvaluator(helper.make_model(graph, opset_imports=[opset]))

    def evaluate(inputs: list[Any]) -> list[Any]:
        feeds = {n: x for n, x in zip(case.node.input, inputs, strict=True) if n}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = iter(session.run(None, feeds))
        return [next(found) if n else None for n in case.node.output]

    return evaluate
