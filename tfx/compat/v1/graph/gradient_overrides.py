"""``Graph.gradient_override_map``: other gradients for the operations of a ``with`` block.

An operation of TensorFlow is known by its type. Where it is one ONNX operator here, that operator
is applied as a part with a gradient of its own; for what is several operators there is none to put
another gradient at, and ``tf.custom_gradient`` does it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfx.framework import rules
from tfx.framework.apply import apply_n
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import Tensor
from tfx.function.gradients.custom_gradient import custom_gradient

# TensorFlow's types whose ONNX operators have other names.
_NAMES = {
    "AddV2": "Add",
    "BiasAdd": "Add",
    "Maximum": "Max",
    "Minimum": "Min",
    "RealDiv": "Div",
    "Rint": "Round",
}
# Those with the same name.
_SAME = """
    Abs Acos Acosh Add Asin Asinh Atan Atanh Ceil Cos Cosh Div Elu Erf Exp Floor Identity
    LeakyRelu Log LogSoftmax MatMul Mul Neg Pow Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh
    Softmax Softplus Softsign Sqrt Square Sub Tan Tanh
"""
_KNOWN = frozenset({*_NAMES, *_SAME.split()})


class GradientOverrides:
    """What operators are applied as while other gradients are asked for.

    Args:
        op_type_map: The names that ``RegisterGradient`` knows gradients by, by types.
        outer: What holds around the block: another one, or None.

    Raises:
        TypeError: it is no dictionary of strings.
        ValueError: a type is not one ONNX operator.
    """

    def __init__(self, op_type_map: Any, outer: Any) -> None:
        if not isinstance(op_type_map, dict) or not all(
            isinstance(x, str) for pair in op_type_map.items() for x in pair
        ):
            raise TypeError(
                f"op_type_map must be a dictionary mapping strings to strings; got {op_type_map!r}."
            )
        for op_type in op_type_map:
            if op_type not in _KNOWN:
                raise ValueError(
                    f"gradient_override_map cannot override {op_type!r}: here it is not one "
                    f"operator of the graph. Use tf.custom_gradient, or one of "
                    f"{', '.join(sorted(_KNOWN))}."
                )
        self._names: Mapping[str, str] = {
            **(outer._names if isinstance(outer, GradientOverrides) else {}),
            **op_type_map,
        }
        self._wanted = {_NAMES.get(t, t): name for t, name in self._names.items()}
        self._busy = False

    def __call__(
        self, op: str, inputs: Sequence[Tensor | None], attrs: dict[str, Any], outputs: int | None
    ) -> tuple[Tensor, ...] | None:
        """The results of an operator with the other gradient; None: it keeps its own."""
        name = self._wanted.get(op)
        if op == "Mul" and "Square" in self._names and inputs[0] is inputs[1]:
            return self._applied(op, inputs[:1], attrs, outputs, self._names["Square"], copies=2)
        if name is None or any(x is None or not x.dtype.is_floating for x in inputs):
            return None
        return self._applied(op, inputs, attrs, outputs, name)

    def _applied(
        self,
        op: str,
        inputs: Sequence[Tensor | None],
        attrs: dict[str, Any],
        outputs: int | None,
        name: str,
        copies: int = 1,
    ) -> tuple[Tensor, ...] | None:
        if self._busy:  # it is this operator that is asked for, inside of the part
            return None

        def part(*xs: Tensor) -> tuple[Any, Any]:
            self._busy = True
            try:
                results = apply_n(op, [*xs] * copies, attrs, outputs)
            finally:
                self._busy = False
            record = OpRecord(op, attrs, xs, results)
            record.needs = (True,) * len(xs)

            def backward(*dys: Tensor) -> Any:
                found = _rule(name)(record, *dys)
                return list(found) if isinstance(found, list | tuple) else found

            return results, backward

        found = custom_gradient(part)(*inputs)
        return tuple(found) if isinstance(found, list | tuple) else (found,)


def _rule(name: str) -> Any:
    try:
        rule = rules.rule_of(name)
    except LookupError as e:
        raise LookupError(
            f"No gradient defined for {name!r}, which gradient_override_map names: register it by "
            f"tf.RegisterGradient({name!r})."
        ) from e
    return rule if rule is not None else lambda op, *dys: [None] * len(op.inputs)
