"""The choice of trained weights by ``import_onnx``'s ``trainable``."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from tfx.core.errors import InvalidArgumentError
from tfx.graph.onnx_import.weights import Weight, is_float

Trainable: TypeAlias = "bool | Iterable[str] | Callable[[str], bool] | None"


def choose(weights: Mapping[str, Weight], trainable: Trainable) -> dict[str, bool]:
    """The constants that become variables, and whether each is for training.

    Args:
        weights: What a model has.
        trainable: True or None: those that are by their nature; False: none; names: just these, of
            any floating-point constant; a predicate of a variable's name.

    Raises:
        InvalidArgumentError: a name that the model lacks, or of whole numbers.
    """
    default = {name: w.trainable for name, w in weights.items() if w.default}
    if trainable is None or trainable is True:
        return default
    if trainable is False:
        return dict.fromkeys(default, False)
    if callable(trainable):
        return {name: is_float(weights[name].array) and bool(trainable(name)) for name in default}
    if isinstance(trainable, str):
        trainable = [trainable]
    try:
        names = list(trainable)
    except TypeError:
        raise InvalidArgumentError(
            f"trainable is {trainable!r:.100}, expected True, False, names of weights or a "
            "function of a name."
        ) from None
    for name in names:
        _check(name, weights)
    chosen = frozenset(names)
    kept = {name: name in chosen for name in default}
    return kept | dict.fromkeys(names, True)


def _check(name: str, weights: Mapping[str, Weight]) -> None:
    weight = weights.get(name)
    if weight is None:
        close = difflib.get_close_matches(str(name), weights, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise InvalidArgumentError(
            f"trainable names {name!r}, which is no constant of the model{hint} It has "
            f"{', '.join(sorted(weights)[:20]) or 'none'}."
        )
    if not is_float(weight.array):
        raise InvalidArgumentError(
            f"trainable names {name!r}, which is of dtype {weight.array.dtype}: only "
            "floating-point numbers can be trained."
        )
