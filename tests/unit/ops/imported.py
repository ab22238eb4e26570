"""What the tests of imported operators' gradients share: fixed numbers, and one probe of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.autodiff.tape import GradientTape
from tfx.framework.apply import apply
from tfx.framework.convert import constant
from tfx.framework.tensor import Tensor
from tfx.ops.math.reduction import reduce_sum

Array = np.ndarray[Any, Any]


def numbers(seed: int, *shape: int) -> Array:
    """Uniform numbers in [-1, 1]; the same were given to PyTorch."""
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def probes(
    f: Callable[..., Tensor], arrays: Sequence[Array], wanted: Sequence[int], seed: int = 99
) -> list[float]:
    """The gradient by each wanted argument of ``f`` times fixed numbers, each product summed.

    Args:
        f: Takes tensors.
        arrays: The arguments.
        wanted: Numbers of those to differentiate by.
        seed: Seed of the weights of the result.
    """
    tensors = [constant(a) for a in arrays]
    sources = [tensors[i] for i in wanted]
    with GradientTape() as tape:
        tape.watch(sources)
        y = f(*tensors)
        total = reduce_sum(y * constant(numbers(seed, *y.shape).astype(y.dtype.as_numpy_dtype)))
    found = tape.gradient(total, sources)
    return [float((g.numpy().astype(np.float64) * numbers(7, *g.shape)).sum()) for g in found]


def operator(op: str, attrs: dict[str, Any], *others: Any) -> Callable[..., Tensor]:
    """An operator as a function of its first inputs; ``others`` come behind them."""

    def f(*tensors: Tensor) -> Tensor:
        behind = [None if x is None else constant(x) for x in others]
        return apply(op, (*tensors, *behind), attrs)

    return f


def linear_slopes(op: str, attrs: dict[str, Any], inputs: Sequence[Array | None]) -> Array:
    """Of an operator linear in input 0: its matrix, made of what becomes of unit vectors."""
    x = inputs[0]
    assert x is not None
    rest = [None if v is None else constant(v) for v in inputs[1:]]

    def at(value: Array) -> Array:
        return apply(op, (constant(value.astype(x.dtype)), *rest), attrs).numpy().reshape(-1)

    origin = at(np.zeros_like(x))
    units = np.eye(x.size).reshape(x.size, *x.shape)
    return np.stack([at(u) - origin for u in units])
