"""Losses by name: what ``train_step`` and ``tfx train-step`` take besides functions.

The one decision: a loss takes what the model gives. Cross entropies take logits; of an output that
is a softmax or a sigmoid already, they take the logarithm first, which is the same number.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.framework.builder import ox
from tfx.framework.tensor import Tensor
from tfx.ops.nn.losses import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)

# No probability is taken to be smaller; it is above the denormals of float32.
_LEAST = 1e-30


@dataclass(frozen=True, slots=True)
class NamedLoss:
    """A loss with a name.

    Attributes:
        name: What it is asked for by.
        about: What the label is, for help texts.
        of: The loss of each element, from a prediction and a label.
        probabilities: What gives logits of the operator's result; by operator.
        classes: Whether a label is the number of a class.
    """

    name: str
    about: str
    of: Callable[[Tensor, Tensor], Tensor]
    probabilities: tuple[str, ...] = ()
    classes: bool = False

    def label(self, output: TensorSpec, name: str = "label") -> TensorSpec:
        """The spec of a label, from that of the prediction.

        Raises:
            InvalidArgumentError: a prediction that the loss is not for.
        """
        if not output.dtype.is_floating:
            raise InvalidArgumentError(
                f"loss {self.name!r} needs a prediction of floating-point numbers, and "
                f"{output.name or 'the output'} is {output.dtype.name}{output.shape}."
            )
        shape = output.shape
        if not self.classes:
            return TensorSpec(shape, output.dtype, name=name)
        if shape.rank == 0:
            raise InvalidArgumentError(
                f"loss {self.name!r} needs the logits of several classes along the last axis, and "
                f"{output.name or 'the output'} is a scalar."
            )
        dims = None if shape.rank is None else (shape.symbolic or ())[:-1]
        return TensorSpec(TensorShape(dims), dtypes.int64, name=name)

    def __call__(self, prediction: Tensor, label: Tensor, made_by: str = "") -> Tensor:
        """The mean over all elements; a scalar.

        Args:
            prediction: What the model gives.
            label: See ``about``.
            made_by: The operator that makes the prediction, where that is known.
        """
        if made_by in self.probabilities:
            prediction = _logits(prediction, made_by)
        return ox.ReduceMean(self.of(prediction, label), keepdims=0)


def _logits(p: Tensor, op: str) -> Tensor:
    least = ox.like(_LEAST, p)
    log = ox.Log(ox.Max(p, least))
    if op != "Sigmoid":
        return log
    return ox.Sub(log, ox.Log(ox.Max(ox.Sub(ox.like(1.0, p), p), least)))


def _squared(x: Tensor, y: Tensor) -> Tensor:
    difference = ox.Sub(x, y)
    return ox.Mul(difference, difference)


_LOSSES = {
    loss.name: loss
    for loss in (
        NamedLoss("mse", "numbers like the prediction", _squared),
        NamedLoss("mae", "numbers like the prediction", lambda x, y: ox.Abs(ox.Sub(x, y))),
        NamedLoss(
            "sparse_cross_entropy",
            "the number of the class",
            lambda x, y: sparse_softmax_cross_entropy_with_logits(labels=y, logits=x),
            ("Softmax",),
            classes=True,
        ),
        NamedLoss(
            "cross_entropy",
            "the probability of each class",
            lambda x, y: softmax_cross_entropy_with_logits(labels=y, logits=x),
            ("Softmax",),
        ),
        NamedLoss(
            "binary_cross_entropy",
            "a probability for each number",
            lambda x, y: sigmoid_cross_entropy_with_logits(labels=y, logits=x),
            ("Sigmoid",),
        ),
    )
}


def named_loss(name: Any) -> NamedLoss:
    """The loss of a name; hyphens count as underscores.

    Raises:
        InvalidArgumentError: there is none of this name.
    """
    key = str(name).lower().replace("-", "_")
    if key in _LOSSES:
        return _LOSSES[key]
    close = difflib.get_close_matches(key, _LOSSES, 1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    raise InvalidArgumentError(
        f"loss is {name!r}, expected a function or one of {', '.join(_LOSSES)}{hint}"
    )
