"""Dropout: zeros at random places, and the rest scaled up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.rules import OpRecord, gradient
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, is_tensor_like, scalar_like, static_int, tensor
from tfx.ops.common.batching import BatchedOp, Results, batching
from tfx.ops.common.shapes import shape_argument, shape_vector
from tfx.ops.math.arithmetic import divide, multiply, subtract
from tfx.ops.random import samplers
from tfx.ops.random.distributions import Source, StatelessSource
from tfx.ops.random.generator import generator_for


def dropout(
    x: Any, rate: Any, noise_shape: Any = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Set elements to 0 with probability ``rate`` and scale the others by ``1 / (1 - rate)``.

    Args:
        x: Tensor of a floating dtype.
        rate: Probability, a number or a scalar tensor in [0, 1).
        noise_shape: Shape of the random choices, broadcast against ``x``: with
            ``[batch, 1, 1, channels]`` whole channels are dropped. None (or a dimension of None) is
            that of ``x``.
        seed: Gives this call a sequence of its own; see ``random.set_seed``.
        name: Accepted for compatibility.

    Raises:
        ValueError: ``x`` is not floating, or ``rate`` is out of range.

    Example:
        >>> import tfx as tf
        >>> sorted(set(tf.nn.dropout(tf.ones([100]), 0.5).numpy().tolist()))
        [0.0, 2.0]
    """
    y = tensor(x)
    return _dropout(generator_for(seed, "uniform", y.dtype), y, rate, noise_shape)


def stateless_dropout(
    x: Any,
    rate: Any,
    seed: Any,
    rng_alg: Any = "auto_select",
    noise_shape: Any = None,
    name: str | None = None,
) -> Tensor:
    """``dropout`` as a function of ``seed``, two integers; see ``random.stateless_uniform``."""
    return _dropout(StatelessSource(seed, "stateless_dropout"), x, rate, noise_shape)


def general_dropout(
    x: Any,
    rate: Any,
    uniform_sampler: Callable[..., Any],
    noise_shape: Any = None,
    name: str | None = None,
) -> Tensor:
    """``dropout`` with the random numbers of a function.

    Args:
        x: See ``dropout``.
        rate: See ``dropout``.
        uniform_sampler: Called as ``uniform_sampler(shape=..., dtype=...)``; returns numbers of
            ``[0, 1)``. An element is kept where its number is at least ``rate``.
        noise_shape: See ``dropout``.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.nn.experimental.general_dropout(
        ...     tf.ones([2]), 0.5, lambda shape, dtype: tf.constant([0.4, 0.6], dtype)
        ... ).numpy()
        array([0., 2.], dtype=float32)
    """
    y = tensor(x)
    return _dropout(_Sampler(uniform_sampler, y.dtype), y, rate, noise_shape)


class _Sampler:
    """A program's function as a source of random numbers."""

    def __init__(self, function: Callable[..., Any], dtype: dtypes.DType) -> None:
        self._function, self._dtype = function, dtype

    def draw(self, sampler: Any, shape: Tensor, *parameters: Tensor, dtype: dtypes.DType) -> Tensor:
        """What the function draws, in the dtype of what is dropped."""
        return cast_to(tensor(self._function(shape=shape, dtype=self._dtype)), dtype)


def _dropout(source: Source, x: Any, rate: Any, noise_shape: Any) -> Tensor:
    y = tensor(x)
    if not y.dtype.is_floating:
        raise InvalidArgumentError(
            "`x.dtype` must be a floating point tensor as `x` will be scaled. Received: "
            f"x_dtype={y.dtype!r}"
        )
    if not is_tensor_like(rate):
        if not 0 <= rate < 1:
            raise InvalidArgumentError(
                "`rate` must be a scalar tensor or a float in the range [0, 1). Received: "
                f"rate={rate}"
            )
        if rate == 0:
            return y
    # Drawn in float32 whatever the dtype: a float16 number has 11 bits, too few for small rates.
    kind = dtypes.float32
    chance = source.draw(samplers.unit_uniform, _choices(y, noise_shape), dtype=kind)
    limit = cast_to(tensor(rate), kind) if is_tensor_like(rate) else scalar_like(rate, chance)
    kept = ox.GreaterOrEqual(chance, limit)
    return multiply(y, ox.Where(kept, _scale(rate, y), scalar_like(0, y)))


def _scale(rate: Any, x: Tensor) -> Tensor:
    """``1 / (1 - rate)`` in the dtype of ``x``, computed in more than 16 bits."""
    if not is_tensor_like(rate):
        return scalar_like(1 / (1 - rate), x)
    wide = cast_to(tensor(rate), dtypes.float64 if x.dtype == "float64" else dtypes.float32)
    one = scalar_like(1, wide)
    return cast_to(divide(one, subtract(one, wide)), x.dtype)


def _choices(x: Tensor, noise_shape: Any) -> Tensor:
    if noise_shape is None:
        return shape_vector(x)
    if isinstance(noise_shape, list | tuple) and None in noise_shape:
        full = shape_vector(x)
        items = [ox.Gather(full, tensor(i)) if d is None else d for i, d in enumerate(noise_shape)]
        return shape_argument(items, "dropout")
    return shape_argument(noise_shape, "dropout")


@gradient("Dropout")
def _dropout_grad(op: OpRecord, dy: Tensor | None, *_: Any) -> Sequence[Tensor | None]:
    """What was dropped gets nothing, what was kept its gradient, scaled like the result.

    Where the mask is not a result of the operator it is read off the result. An element that was 0
    before does not tell; it gets what it would get on average.
    """
    x, *options = op.inputs
    training = options[1] if len(options) > 1 else None
    none = (None,) * len(options)
    if dy is None or training is None or static_int(training) == 0:
        return dy, *none
    ratio = options[0]
    if len(op.outputs) > 1:
        return dropped(dy, ratio, training, op.outputs[1]), *none
    zero = scalar_like(0, dy)
    scaled = multiply(dy, _dropout_scale(dy, ratio))
    gone = ox.Equal(op.outputs[0], zero)
    dx = ox.Where(gone, zero, scaled)
    dx = ox.Where(ox.Equal(x, zero), dy, dx)
    if static_int(training) is None:
        dx = ox.Where(cast_to(training, dtypes.bool), dx, dy)
    return dx, *none


def dropped(x: Tensor, ratio: Tensor | None, training: Tensor, mask: Tensor) -> Tensor:
    """What ``Dropout`` makes of ``x`` with a mask that is known.

    Args:
        x: Tensor of a floating dtype.
        ratio: The operator's second input; None: its default.
        training: The third one.
        mask: What is kept.
    """
    y = ox.Where(mask, multiply(x, _dropout_scale(x, ratio)), scalar_like(0, x))
    if static_int(training) is None:
        y = ox.Where(cast_to(training, dtypes.bool), y, x)
    return y


def _dropout_scale(x: Tensor, ratio: Tensor | None) -> Tensor:
    rate = scalar_like(0.5, x) if ratio is None else cast_to(ratio, x.dtype)
    kept = subtract(1.0, rate)
    nobody = ox.Equal(kept, scalar_like(0, x))
    return divide(1.0, ox.Where(nobody, scalar_like(1, x), kept))


@batching("Dropout")
def _dropout_batching(op: BatchedOp) -> Results:
    op.only(0)
    return op.apply((op.full(0), *op.inputs[1:]))
