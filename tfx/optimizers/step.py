"""One step of an optimizer: what is done to gradients and variables, in which order.

Every stage is a small function. Where gradients accumulate, a traced step cannot know whether this
call completes one; everything is then computed and stored only if it does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.framework.context import executing_eagerly
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.ops.common.arguments import cast_to
from tfx.ops.math.comparison import equal
from tfx.optimizers import gradients
from tfx.optimizers.formulas import Array, real, where

if TYPE_CHECKING:
    from tfx.optimizers.optimizer import Optimizer

AVERAGE, ACCUMULATOR, ACCUMULATED = "average", "gradient_accumulator", "accumulated_steps"

Store: TypeAlias = Callable[[Variable, Array], None]

# Elements of tables all of which an optimizer updates, whichever rows a step used. To add up the
# rows that were used twice takes a sort, which costs as much as a pass over so many.
_SMALL_TABLE = 1 << 16
# The same of optimizers whose averages fade in every row anyway: up to here, memory does not count.
_FADING_TABLE = 1 << 22


def _updated_whole(optimizer: Optimizer) -> int:
    if getattr(type(optimizer).update_step, "fades_all_rows", False):
        return _FADING_TABLE
    return _SMALL_TABLE if optimizer.slot_values() else 0


def take_step(optimizer: Optimizer, pairs: Sequence[tuple[Any, Variable]]) -> None:
    """Apply gradients to variables that have their slots."""
    kept = gradients.present(pairs)
    variables = [v for _, v in kept]
    rows = getattr(type(optimizer).update_step, "takes_rows", False)
    most = _updated_whole(optimizer)
    grads: list[Array] = [
        gradients.prepared(g, v, most) if rows else gradients.dense(g, v) for g, v in kept
    ]
    store: Store = _store
    if optimizer.loss_scale_factor is not None:
        grads = [g / optimizer.loss_scale_factor for g in grads]
    if optimizer.gradient_accumulation_steps:
        grads, due = _accumulate(optimizer, grads, variables)
        if executing_eagerly() and not due:
            return
        store = _store_if(due)
    _update(optimizer, clipped(optimizer, grads), variables, store)
    if optimizer.use_ema:
        _average(optimizer, [v for _, v in pairs], store)
    for variable in variables:
        if variable.constraint is not None:
            store(variable, variable.constraint(variable.stored_value()))
    iterations: Array = optimizer.iterations.value()
    store(optimizer.iterations, iterations + 1)


def _store(variable: Variable, value: Array) -> None:
    variable.assign(cast_to(value, variable.dtype))


def _store_if(condition: Tensor) -> Store:
    def store(variable: Variable, value: Array) -> None:
        chosen = where(condition, cast_to(value, variable.dtype), variable.stored_value())
        variable.assign(chosen)

    return store


def clipped(optimizer: Optimizer, grads: Sequence[Tensor]) -> Sequence[Tensor]:
    """The gradients after the optimizer's clipping option."""
    if optimizer.clipnorm:
        return gradients.clipped_by_norm(grads, optimizer.clipnorm)
    if optimizer.global_clipnorm:
        return gradients.clipped_by_global_norm(grads, optimizer.global_clipnorm)
    if optimizer.clipvalue:
        return gradients.clipped_by_value(grads, optimizer.clipvalue)
    return grads


def _accumulate(
    optimizer: Optimizer, grads: Sequence[Array], variables: Sequence[Variable]
) -> tuple[list[Array], Tensor]:
    """Mean gradients of the calls since the last step, and whether this call completes one."""
    steps = optimizer.gradient_accumulation_steps
    counter = optimizer.shared_variables[ACCUMULATED]
    count: Array = counter.value()
    count = count + 1.0
    due = equal(count, steps)
    _store(counter, where(due, 0.0, count))
    means = []
    for grad, variable in zip(grads, variables, strict=True):
        accumulator = optimizer.get_slot(variable, ACCUMULATOR)
        total = grad + accumulator.value()
        _store(accumulator, where(due, 0.0, total))
        means.append(total / steps)
    return means, due


class _Scalars:
    """Shared numbers in the dtypes that variables are computed in, each cast once."""

    def __init__(self, values: Sequence[Tensor]) -> None:
        self._by_dtype: dict[DType, Sequence[Array]] = {dtypes.float64: values}

    def __getitem__(self, dtype: DType) -> Sequence[Array]:
        known = self._by_dtype.get(dtype)
        if known is None:
            values = self._by_dtype[dtypes.float64]
            known = self._by_dtype[dtype] = [cast_to(x, dtype) for x in values]
        return known


def _update(
    optimizer: Optimizer, grads: Sequence[Array], variables: Sequence[Variable], store: Store
) -> None:
    rate = real(optimizer.learning_rate)
    step = real(optimizer.iterations) + 1.0
    shared = _kept(partial(optimizer.shared, rate, step), optimizer.shared_variables, store)
    decay = rate * optimizer.weight_decay if optimizer.weight_decay else None
    scalars = _Scalars([*shared] if decay is None else [*shared, decay])
    for grad, variable in zip(grads, variables, strict=True):
        numbers = scalars[grad.dtype]
        value: Array = cast_to(variable.stored_value(), grad.dtype)
        if decay is not None:
            if optimizer.decays(variable):
                value = value - value * numbers[-1]
            numbers = numbers[:-1]
        rule = partial(optimizer.update_step, grad, value, scalars=numbers)
        store(variable, _kept(rule, optimizer.slots_of(variable), store))


def _kept(rule: Callable[..., Any], variables: Mapping[str, Variable], store: Store) -> Any:
    """Call a rule with the values of variables by name, and store those that it replaces."""
    before: dict[str, Array] = {name: v.value() for name, v in variables.items()}
    state = dict(before)
    result = rule(slots=state)
    for name, value in state.items():
        if value is not before[name]:
            store(variables[name], value)
    return result


def _average(optimizer: Optimizer, variables: Sequence[Variable], store: Store) -> None:
    """Moving averages of the variables; the first step's is the value itself."""
    first = equal(optimizer.iterations.value(), 0)
    momentum = where(first, 0.0, real(optimizer.ema_momentum))
    scalars = _Scalars([momentum, 1.0 - momentum])
    frequency = optimizer.ema_overwrite_frequency
    for variable in variables:
        slot = optimizer.get_slot(variable, AVERAGE)
        old, new = scalars[slot.dtype]
        average = old * slot.value() + new * cast_to(variable.stored_value(), slot.dtype)
        store(slot, average)
        if frequency:
            count: Array = optimizer.iterations.value()
            whole = equal((count + 1) % frequency, 0)
            value = variable.stored_value()
            store(variable, where(whole, cast_to(average, value.dtype), value))
