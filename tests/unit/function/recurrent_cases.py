"""Recurrent operators with every attribute, and what their tests do with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.unit.control_flow.recurrent_reference import run
from tfx.autodiff.tape import GradientTape
from tfx.framework.apply import apply_n
from tfx.framework.convert import constant
from tfx.framework.tensor import Tensor
from tfx.ops.math.arithmetic import add_n
from tfx.ops.math.reduction import reduce_sum

Array = np.ndarray[Any, Any]
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
TIME, BATCH, INPUT, HIDDEN = 4, 3, 3, 2


class Case(NamedTuple):
    """An operator with attributes, and which optional inputs it gets."""

    op: str
    attrs: dict[str, Any]
    bias: bool = True
    lengths: Sequence[int] | None = None
    states: bool = True
    peepholes: bool = False
    scale: float = 1.0

    def inputs(self, seed: int = 0) -> list[Array | None]:
        """Random inputs in float64."""
        rng = np.random.default_rng(seed)
        two = 2 if self.attrs.get("direction") == "bidirectional" else 1
        gates = GATES[self.op]

        def made(*shape: int, there: bool = True) -> Array | None:
            # float32 so that kernel and reference are given the same numbers
            found = (rng.standard_normal(shape) * self.scale).astype(np.float32)
            return found.astype(np.float64) if there else None

        x, h = made(TIME, BATCH, INPUT), made(two, BATCH, HIDDEN, there=self.states)
        lengths = None if self.lengths is None else np.array(self.lengths, np.int32)
        c = made(two, BATCH, HIDDEN, there=self.states and self.op == "LSTM")
        if self.attrs.get("layout"):
            x, h, c = (None if v is None else v.swapaxes(0, 1) for v in (x, h, c))
        given = [
            x,
            made(two, gates * HIDDEN, INPUT),
            made(two, gates * HIDDEN, HIDDEN),
            made(two, 2 * gates * HIDDEN, there=self.bias),
            lengths,
            h,
            c,
            made(two, 3 * HIDDEN, there=self.peepholes),
        ]
        while given[-1] is None:
            given.pop()
        return given

    @property
    def outputs(self) -> int:
        """How many results it has."""
        return 3 if self.op == "LSTM" else 2

    def reference(self, inputs: Sequence[Array | None]) -> list[Array]:
        """What it should compute."""
        return run(self.op, {"hidden_size": HIDDEN, **self.attrs}, *inputs)

    def apply(self, inputs: Sequence[Tensor | None]) -> tuple[Tensor, ...]:
        """What it computes."""
        return apply_n(self.op, inputs, {"hidden_size": HIDDEN, **self.attrs}, self.outputs)

    def weights(self, inputs: Sequence[Array | None]) -> list[Array]:
        """Random weights of the results."""
        rng = np.random.default_rng(9)
        return [rng.standard_normal(y.shape) for y in self.reference(inputs)]

    def total(self, inputs: Sequence[Array | None]) -> float:
        """The weighted sum of the results by the reference."""
        pairs = zip(self.reference(inputs), self.weights(inputs), strict=True)
        return float(sum((y * w).sum() for y, w in pairs))

    def slopes(self, tensors: Sequence[Tensor | None], wanted: Sequence[int]) -> list[Tensor]:
        """The gradients of the weighted sum by the tape."""
        weights = self.weights(self.inputs())
        sources = [tensors[i] for i in wanted]
        with GradientTape() as tape:
            tape.watch(sources)
            ys = self.apply(tensors)
            parts = [
                reduce_sum(y * constant(w.astype(y.dtype.as_numpy_dtype)))
                for y, w in zip(ys, weights, strict=True)
            ]
            total = add_n(parts)
        found: list[Tensor] = tape.gradient(total, sources)
        return found


def floating(inputs: Sequence[Array | None]) -> list[int]:
    """The inputs that there is a gradient by."""
    return [i for i, x in enumerate(inputs) if x is not None and x.dtype.kind == "f"]


def tensors_of(inputs: Sequence[Array | None], dtype: Any = np.float32) -> list[Tensor | None]:
    """Inputs as tensors."""
    return [
        None if x is None else constant(x.astype(dtype) if x.dtype.kind == "f" else x)
        for x in inputs
    ]


def _cases() -> list[Case]:
    cases = []
    for op in GATES:
        for direction in ("forward", "reverse", "bidirectional"):
            d = {"direction": direction}
            cases += [
                Case(op, d),
                Case(op, d, lengths=(4, 2, 1)),
                Case(op, d, bias=False, states=False),
                Case(op, {**d, "clip": 0.7}, scale=1.5),
                Case(op, {**d, "layout": 1}, lengths=(3, 4, 2)),
            ]
    for direction in ("forward", "bidirectional"):
        d = {"direction": direction}
        cases += [
            Case("GRU", {**d, "linear_before_reset": 1}),
            Case("GRU", {**d, "linear_before_reset": 1, "clip": 0.5}, lengths=(2, 4, 3)),
            Case("LSTM", d, peepholes=True),
            Case("LSTM", {**d, "clip": 0.8}, peepholes=True, lengths=(4, 2, 3), scale=1.5),
            Case("LSTM", {**d, "input_forget": 1}, peepholes=True),
            Case("LSTM", {**d, "input_forget": 1}, lengths=(1, 4, 3)),
        ]
    names = ["HardSigmoid", "ScaledTanh", "LeakyRelu", "Sigmoid", "Affine", "Elu"]
    numbers = {
        "activation_alpha": [0.3, 0.9, 0.05, 0.8, 0.7],
        "activation_beta": [0.4, 0.6, 0.1],
    }
    cases += [Case(op, {"direction": "bidirectional"}, lengths=(0, 4, 2)) for op in GATES]
    cases += [
        Case("LSTM", {"direction": "bidirectional", "activations": names, **numbers}),
        Case("LSTM", {"activations": names[:3], **numbers}, peepholes=True),
        Case("GRU", {"activations": names[:2], **numbers}),
        Case("RNN", {"activations": ["Softplus"]}),
        Case("RNN", {"direction": "bidirectional", "activations": ["Softsign", "Elu"], **numbers}),
    ]
    return cases


CASES = _cases()
