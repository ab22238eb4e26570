"""``check_grads``: derivatives by rules against differences of the function's values.

The decision: everything is computed in float64 and along one random direction per argument. The
difference quotient has five points, so that its own error (the step to the fourth power) is far
below what a wrong rule would show, and a random direction misses a wrong element with probability
zero. Higher orders check the gradient function in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.autodiff.forward_accumulator import ForwardAccumulator
from tfx.autodiff.tape import GradientTape
from tfx.core import dtypes, nest
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.math.arithmetic import add_n, multiply
from tfx.ops.math.cast import cast
from tfx.ops.math.reduction import reduce_sum
from tfx.testing.close import joined

_Array = np.ndarray[Any, Any]
# Weights of f(x + k h) - f(x - k h) for k = 1 and 2.
_STENCIL = ((1, 8.0 / 12.0), (2, -1.0 / 12.0))


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    *,
    order: int = 2,
    eps: float = 1e-4,
    rtol: float = 1e-6,
    atol: float = 1e-7,
    seed: int = 0,
    modes: Sequence[str] = ("rev",),
) -> None:
    """Assert that gradients agree with differences of function values.

    Args:
        f: A differentiable function of tensors; returns a tensor or a structure of them. It is
            called with float64 arguments and must be smooth within ``2 * eps`` of ``args``.
        args: Its arguments: tensors, arrays, numbers, lists of numbers (one array each) or
            structures of tensors. Floating ones become float64 and are differentiated, others
            are passed on as they are.
        order: Highest order of derivative to check, 1 or more.
        eps: Step of the differences.
        rtol: Allowed difference relative to the derivative's size.
        atol: Allowed absolute difference.
        seed: Seed of the directions.
        modes: ``"rev"`` for the tape, ``"fwd"`` for forward mode, or both. The second order of
            ``"fwd"`` is forward over reverse.

    Raises:
        AssertionError: naming the order, the argument and both derivatives.
        ValueError: ``order`` below 1, unknown ``modes``, or no floating argument.

    Example:
        >>> import tfx as tf
        >>> tf.testing.check_grads(lambda x: tf.sin(x) * x, [[1.0, 2.0]])
    """
    if order < 1:
        raise ValueError(f"order must be at least 1; got {order!r}.")
    if not modes or not set(modes) <= {"fwd", "rev"}:
        raise ValueError(f"modes may have 'fwd' and 'rev'; got {modes!r}.")
    structure = [joined(a) for a in args]
    leaves = [convert_to_tensor(a) for a in nest.flatten(structure)]
    positions = [i for i, a in enumerate(leaves) if a.dtype.is_floating]
    if not positions:
        raise ValueError(f"check_grads needs a floating argument; got {list(args)!r}.")
    point = [np.asarray(leaves[i], np.float64) for i in positions]

    def flat(*values: Tensor) -> list[Tensor]:
        full = list(leaves)
        for i, value in zip(positions, values, strict=True):
            full[i] = value
        outputs = nest.flatten(f(*nest.pack_sequence_as(structure, full)))
        return [y for y in map(convert_to_tensor, outputs) if y.dtype.is_floating]

    tolerance = (eps, rtol, atol)
    _check(flat, point, 1, order, np.random.default_rng(seed), tolerance, modes)


def _check(
    f: Callable[..., list[Tensor]],
    point: list[_Array],
    order: int,
    highest: int,
    rng: np.random.Generator,
    tolerance: tuple[float, float, float],
    modes: Sequence[str],
) -> None:
    """Check the first derivative of ``f``, itself a derivative of order ``order - 1``."""
    weights = [_direction(rng, np.asarray(y).shape) for y in f(*_tensors(point))]

    def total(*values: Tensor) -> Tensor:
        outputs = f(*values)
        parts = [
            reduce_sum(multiply(cast(y, dtypes.float64), w))
            for y, w in zip(outputs, weights, strict=True)
        ]
        return add_n(parts)

    def slopes(*values: Tensor) -> list[Tensor]:
        with GradientTape() as tape:
            tape.watch(values)
            y = total(*values)
        found = tape.gradient(y, list(values), unconnected_gradients="zero")
        return [convert_to_tensor(g) for g in found]

    if not weights:
        raise ValueError("check_grads needs a function with a floating result; there is none.")
    gradients = slopes(*_tensors(point)) if "rev" in modes else [None] * len(point)
    for i, gradient in enumerate(gradients):
        direction = _direction(rng, point[i].shape)
        by_difference = _difference(total, point, i, direction, tolerance[0])
        if gradient is not None:
            by_tape = float(np.sum(np.asarray(gradient, np.float64) * direction))
            _compare(by_tape, by_difference, "the tape", i, order, tolerance)
        if "fwd" in modes:
            pushed = _pushed(total, point, i, direction)
            _compare(pushed, by_difference, "forward mode", i, order, tolerance)
    if order < highest:
        _check(slopes, point, order + 1, highest, rng, tolerance, modes)


def _pushed(total: Callable[..., Tensor], point: list[_Array], i: int, direction: _Array) -> float:
    """The derivative of ``total`` in argument ``i`` along ``direction``, in forward mode."""
    given = _tensors(point)
    with ForwardAccumulator(given[i], convert_to_tensor(direction)) as accumulator:
        y = total(*given)
    return float(np.asarray(accumulator.jvp(y, "zero")))


def _direction(rng: np.random.Generator, shape: tuple[int, ...]) -> _Array:
    """Random numbers, none of them close to 0: no element may go unseen."""
    return np.asarray(rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape), np.float64)


def _tensors(point: list[_Array]) -> list[Tensor]:
    return [convert_to_tensor(x) for x in point]


def _difference(
    total: Callable[..., Tensor], point: list[_Array], i: int, direction: _Array, eps: float
) -> float:
    """The derivative of ``total`` in argument ``i`` along ``direction``, by central differences."""

    def moved(steps: int) -> float:
        shifted = [x + steps * eps * direction if j == i else x for j, x in enumerate(point)]
        return float(np.asarray(total(*_tensors(shifted))))

    return sum(w * (moved(k) - moved(-k)) for k, w in _STENCIL) / eps


def _compare(
    found: float,
    by_difference: float,
    way: str,
    i: int,
    order: int,
    tolerance: tuple[float, float, float],
) -> None:
    eps, rtol, atol = tolerance
    if np.isclose(found, by_difference, rtol=rtol, atol=atol):
        return
    raise AssertionError(
        f"Derivative of order {order} by floating argument {i}: {found!r} by {way}, "
        f"{by_difference!r} by differences of step {eps:g} (allowed: rtol={rtol:g}, atol={atol:g})"
    )
