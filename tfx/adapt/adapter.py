"""``Lora``: thin matrices beside weights of a module, which alone are trained.

Owns the adapter's variables and what is done with them: hold several sets of values, switch between
them, merge one into the weights. The one decision: an adapter is attached to *variables*, so
whatever reads an adapted weight - a layer, an imported model, two layers that share it - reads it
with its change, and no code of the module need know. Switching replaces the values of the few
variables of the adapter and nothing else: traces, sessions and the base's weights stay.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from tfx.adapt.factored import factored
from tfx.adapt.held_values import AdapterValues, array_of, raw_of_array
from tfx.adapt.layout import factor_shapes, sizes_of
from tfx.adapt.trainable import set_trainable
from tfx.core import dtypes
from tfx.core.errors import FailedPreconditionError, InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.context import current, init_scope
from tfx.framework.module import Module
from tfx.framework.tensor import EagerTensor, Tensor, raw_of
from tfx.framework.variable import Variable, install
from tfx.framework.variable_locks import in_order, installs, writing
from tfx.function.tracing.trace_cache import forget_traces
from tfx.initializers.random import RandomUniform
from tfx.runtime.values import RawValue

# No block of disabled() holds a copy.
_OF_BLOCKS: dict[str, Any] = {"_self_disabled": None}


class Factors:
    """The two matrices beside one weight.

    Args:
        weight: The variable that is adapted.
        a: ``[*rest, rank]``; see ``factored``.
        b: ``[rank, out]``.
        scale: The adapter's factor, float32.
        axis: The weight's axis of length ``out``.
    """

    def __init__(
        self, weight: Variable, a: Variable, b: Variable, scale: Variable, axis: int
    ) -> None:
        self.weight, self.a, self.b, self.scale, self.axis = weight, a, b, scale, axis

    def adapted(self, value: Tensor) -> Tensor:
        """The weight with its change."""
        scale = self.scale.value()
        if self.weight.dtype is not self.scale.dtype:
            scale = ox.Cast(scale, to=self.weight.dtype.onnx)
        return factored(value, self.a.value(), self.b.value(), scale, self.axis)

    def without(self, scale: RawValue, before: RawValue | None, merged: RawValue) -> RawValue:
        """The weight without the change that was merged into it.

        Args:
            scale: The adapter's factor.
            before: The weight before, if it was kept.
            merged: The weight with the change; another value was assigned meanwhile if it is not
                the weight's any more.
        """
        weight = self.weight
        if before is not None and weight._raw is merged:
            return before
        minus: Tensor = ox.Neg(EagerTensor(scale, dtypes.float32))
        if weight.dtype is not dtypes.float32:
            minus = ox.Cast(minus, to=weight.dtype.onnx)
        value = EagerTensor(weight._raw, weight.dtype)
        return raw_of(factored(value, self.a.value(), self.b.value(), minus, self.axis))

    def initial(self, rank: int) -> tuple[RawValue, RawValue]:
        """Random numbers, and zeros: at first their product is nothing."""
        first, second = factor_shapes(sizes_of(self.weight), self.axis, rank)
        bound = max(1, math.prod(first[:-1])) ** -0.5
        dtype = self.weight.dtype
        wide = dtypes.float64 if dtype is dtypes.float64 else dtypes.float32
        drawn = RandomUniform(-bound, bound)(first, wide)
        if dtype is not wide:
            drawn = ox.Cast(drawn, to=dtype.onnx)
        return raw_of(drawn), raw_of_array(np.zeros(second, dtype.as_numpy_dtype))


class Lora(Module):
    """Thin matrices beside weights of a module, trained in place of the weights; made by ``lora``.

    It holds one or more adapters, that is sets of values, each with a name; one of them is active.

    Attributes:
        a: The first factor of each weight, ``[in, rank]``, by the weight's name.
        b: The second one, ``[rank, out]``.
        scale: ``alpha / rank`` of the active adapter; 0 while it is disabled or merged.
        rank: The largest rank that an adapter here may have.
    """

    def __init__(
        self,
        module: Module,
        weights: Mapping[str, Variable],
        axes: Mapping[str, int],
        values: tuple[int, float],
        names: tuple[str, str],
    ) -> None:
        """Make the variables; ``lora`` attaches them.

        Args:
            module: The module whose weights they are.
            weights: The weights by name.
            axes: Their output axes.
            values: Rank and alpha.
            names: The module's attribute, and the first adapter.
        """
        rank, alpha = values
        attribute, adapter = names
        super().__init__(attribute)
        self.rank = rank
        self._self_axes = dict(axes)
        self._self_module = module
        self._self_active, self._self_alpha, self._self_own_rank = adapter, alpha, rank
        self._self_others: dict[str, AdapterValues] = {}
        self._self_merged: dict[str, tuple[RawValue | None, RawValue]] | None = None
        # How many blocks disable it at present, and the scale before the first of them.
        self._self_disabled: tuple[int, RawValue] | None = None
        self._self_frozen: list[Variable] = []
        self.a: dict[str, Variable] = {}
        self.b: dict[str, Variable] = {}
        with init_scope():
            self.scale = Variable(np.float32(alpha / rank), trainable=False, name="scale")
            for name, weight in weights.items():
                first, second = factor_shapes(sizes_of(weight), axes[name], rank)
                kind = weight.dtype.as_numpy_dtype
                self.a[name] = Variable(np.zeros(first, kind), name=f"{attribute}/a/{name}")
                self.b[name] = Variable(np.zeros(second, kind), name=f"{attribute}/b/{name}")
        self._self_factors = {
            n: Factors(w, self.a[n], self.b[n], self.scale, axes[n]) for n, w in weights.items()
        }
        fresh = self._fresh(alpha)
        self._install(self._own(), [*fresh.a.values(), *fresh.b.values()])

    # Facts

    @property
    def active(self) -> str:
        """The name of the adapter whose values are in the variables."""
        return self._self_active

    @property
    def names(self) -> list[str]:
        """The adapters that are held here, the active one first."""
        return [self._self_active, *self._self_others]

    @property
    def alpha(self) -> float:
        """``alpha`` of the active adapter."""
        return self._self_alpha

    @property
    def targets(self) -> list[str]:
        """The names of the adapted weights."""
        return list(self.a)

    @property
    def output_axes(self) -> dict[str, int]:
        """The axis of each adapted weight that is its layer's output."""
        return dict(self._self_axes)

    @property
    def is_merged(self) -> bool:
        """Whether the active adapter is in the weights at present."""
        return self._self_merged is not None

    # Several adapters

    def add(self, name: str, *, alpha: float | None = None) -> None:
        """Hold one more adapter, which changes nothing yet, and make it the active one.

        Args:
            name: Its name.
            alpha: Its ``alpha``; None: that of the active adapter.

        Raises:
            InvalidArgumentError: there is one of this name.
            FailedPreconditionError: the active adapter is merged or disabled.
        """
        self._check_free("add", name)
        fresh = self._fresh(self.alpha if alpha is None else positive("alpha", alpha))
        with self._holding([self.scale]):
            self._check_free("add", name)  # another thread may have come first
            self._self_others[name] = fresh
        self.switch(name)

    def hold(self, name: str, values: AdapterValues) -> None:
        """Keep the values of an adapter, which is not active; ``load`` does it with a file's.

        Args:
            name: Its name; one of the others of that name is replaced.
            values: Its values.
        """
        with self._holding([self.scale]):
            self._self_others[name] = values

    def switch(self, name: str) -> None:
        """Make another adapter the active one: its values go into the variables, in one step.

        Optimizers keep their state: it belongs to the adapter that they trained last.

        Args:
            name: One of ``names``.

        Raises:
            InvalidArgumentError: there is none of this name.
            FailedPreconditionError: the active adapter is merged or disabled; or a function is
                traced.

        Example:
            >>> import tfx as tf
            >>> model = tf.Module()
            >>> model.kernel = tf.Variable(tf.ones([4, 3]))
            >>> adapter = tf.adapt.lora(model, rank=2)
            >>> adapter.add("german")
            >>> adapter.switch("default")
            >>> adapter.names, adapter.active
            (['default', 'german'], 'default')
        """
        self._check("switch")
        own = [*self._own(), self.scale]
        with self._holding(own):
            self._check("switch")  # another thread may have come first
            if name == self.active:
                return
            new = self._self_others.get(name)
            if new is None:
                raise InvalidArgumentError(
                    f"there is no adapter {name!r}; {self.name} holds {', '.join(self.names)}. "
                    "load() adds one from a file, add() a new one."
                )
            values = [*(new.a[n] for n in self.a), *(new.b[n] for n in self.b), _number(new.scale)]
            before = self.values()
            installs.during(install, own, values)
            others = {n: v for n, v in self._self_others.items() if n != name}
            self._self_others = others | {self.active: before}
            self._self_active, self._self_alpha = name, new.alpha
            self._self_own_rank = new.rank

    def discard(self, name: str) -> None:
        """Let go of an adapter that is not active.

        Raises:
            InvalidArgumentError: there is none of this name, or it is active.
        """
        with self._holding([self.scale]):
            if name not in self._self_others:
                raise InvalidArgumentError(
                    f"{name!r} cannot be discarded: expected one of "
                    f"{', '.join(self._self_others) or 'none'}; {self.active!r} is active."
                )
            del self._self_others[name]

    def values(self, name: str | None = None) -> AdapterValues:
        """The values of an adapter, by default of the active one; they do not change later."""
        if name is not None and name != self.active:
            if name not in self._self_others:
                raise InvalidArgumentError(
                    f"there is no adapter {name!r}; {self.name} holds {', '.join(self.names)}."
                )
            return self._self_others[name]
        _fetch(self._own())
        with installs.paused():  # all of one train step
            a = {n: v._raw for n, v in self.a.items()}
            b = {n: v._raw for n, v in self.b.items()}
            return AdapterValues(a, b, self._self_alpha, self._self_own_rank)

    @contextmanager
    def disabled(self) -> Iterator[None]:
        """The module as it is without the adapter, inside a ``with`` block.

        Blocks may be nested, or be those of several threads: the adapter is back behind the last.

        Raises:
            FailedPreconditionError: the active adapter is merged; or a function is traced.

        Example:
            >>> import tfx as tf
            >>> model = tf.Module()
            >>> model.kernel = tf.Variable(tf.ones([2, 1]))
            >>> adapter = tf.adapt.lora(model, rank=1)
            >>> _ = adapter.b["kernel"].assign([[3.0]])
            >>> run = tf.function(lambda x: x @ model.kernel)
            >>> with adapter.disabled():
            ...     run(tf.ones([1, 2])).numpy()
            array([[2.]], dtype=float32)
        """
        self._eager("disable")
        with self._holding([self.scale]):
            self._check_not_merged("disable")
            count, before = self._self_disabled or (0, self.scale._raw)
            self._self_disabled = count + 1, before
            installs.during(install, [self.scale], [_number(0.0)])
        try:
            yield
        finally:
            self._enable_again(before)

    def _enable_again(self, before: RawValue) -> None:
        """A block of ``disabled`` ends, in which the scale was another one."""
        with self._holding([self.scale]):
            count, before = self._self_disabled or (1, before)
            if count > 1:  # another block, perhaps of another thread, goes on
                self._self_disabled = count - 1, before
            else:
                self._self_disabled = None
                installs.during(install, [self.scale], [before])

    # Merging

    def merge(self, *, keep: bool = True) -> None:
        """Put the active adapter's change into the weights, and compute with these alone.

        Train steps of other threads come before or after it, and none gets lost.

        Args:
            keep: Hold the weights as they were, so that ``unmerge`` restores them bit by bit, at
                the price of their memory. False: ``unmerge`` subtracts the change again.

        Raises:
            FailedPreconditionError: it is merged already, or disabled; or a function is traced.
        """
        self._check("merge")
        weights = [f.weight for f in self._self_factors.values()]
        merged: dict[str, tuple[RawValue | None, RawValue]] = {}
        with init_scope(), self._holding([*weights, *self._own(), self.scale]):
            self._check("merge")  # another thread may have come first
            for name, factors in self._self_factors.items():
                before = factors.weight._raw
                value = factors.adapted(EagerTensor(before, factors.weight.dtype))
                merged[name] = (before if keep else None, raw_of(value))
            new = [*(value for _, value in merged.values()), _number(0.0)]
            installs.during(install, [*weights, self.scale], new)
            self._self_merged = merged

    def unmerge(self) -> None:
        """Take the merged change out of the weights again.

        Raises:
            FailedPreconditionError: nothing is merged; or a function is traced.
        """
        self._eager("unmerge")
        weights = [f.weight for f in self._self_factors.values()]
        with init_scope(), self._holding([*weights, *self._own(), self.scale]):
            held = self._self_merged
            if held is None:
                raise FailedPreconditionError(
                    f"{self.name}.unmerge(): nothing is merged; merge() comes first."
                )
            scale = _number(self._self_alpha / self._self_own_rank)
            new = [f.without(scale, *held[n]) for n, f in self._self_factors.items()]
            installs.during(install, [*weights, self.scale], [*new, scale])
            self._self_merged = None

    def remove(self) -> None:
        """Detach all adapters from the module, which is then as it was before ``lora``.

        What is merged stays in the weights. Functions that used the weights are traced again.

        Raises:
            FailedPreconditionError: it was removed already; or a function is traced.
        """
        self._eager("remove")
        if getattr(self._self_module, self.name, None) is not self:
            raise FailedPreconditionError(f"{self.name} was removed from its module already.")
        delattr(self._self_module, self.name)
        for factors in self._self_factors.values():
            factors.weight._adaptation = None
        forget_traces([f.weight for f in self._self_factors.values()])
        set_trainable(self._self_frozen, True)
        self._self_frozen = []

    # Inside

    def attach(self, frozen: Sequence[Variable]) -> None:
        """Let reads of the weights give what they are with the change; ``lora`` calls it.

        Args:
            frozen: Variables that are no longer trained while this is attached.
        """
        for factors in self._self_factors.values():
            factors.weight._adaptation = factors
        forget_traces([f.weight for f in self._self_factors.values()])
        self._self_frozen = list(frozen)
        set_trainable(self._self_frozen, False)

    def _own(self) -> list[Variable]:
        return [*self.a.values(), *self.b.values()]

    def _fresh(self, alpha: float) -> AdapterValues:
        with init_scope():
            made = {n: f.initial(self.rank) for n, f in self._self_factors.items()}
        a = {n: first for n, (first, _) in made.items()}
        return AdapterValues(a, {n: second for n, (_, second) in made.items()}, alpha, self.rank)

    def _install(self, variables: Sequence[Variable], new: Sequence[RawValue]) -> None:
        with self._holding(variables):
            installs.during(install, variables, new)

    def _holding(self, variables: Sequence[Variable]) -> AbstractContextManager[Any]:
        """No other thread changes variables inside the ``with`` block.

        All that changes which adapter is active, merged or disabled holds the scale.
        """
        _fetch(variables)
        return writing(in_order(v._lock_number for v in variables))

    def _eager(self, action: str) -> None:
        if current().graph is not None:
            raise FailedPreconditionError(
                f"{self.name}.{action}() changes values between calls, and cannot be called while "
                "a function is traced: call it from eager code."
            )

    def _check(self, action: str) -> None:
        self._eager(action)
        self._check_not_merged(action)
        if self._self_disabled:
            raise FailedPreconditionError(
                f"{self.name} cannot {action} while it is disabled: leave the block of disabled() "
                "first."
            )

    def _check_not_merged(self, action: str) -> None:
        if self.is_merged:
            raise FailedPreconditionError(
                f"{self.name} cannot {action} while adapter {self.active!r} is merged into the "
                "weights: call unmerge() first."
            )

    def _check_free(self, action: str, name: str) -> None:
        self._check(action)
        if name in self.names:
            raise InvalidArgumentError(
                f"{self.name} holds an adapter {name!r} already; it has {', '.join(self.names)}."
            )

    def __deepcopy__(self, memo: dict[int, Any]) -> Lora:
        """The same adapters beside the copied module's weights."""
        other = type(self).__new__(type(self))
        memo[id(self)] = other
        shared = ("_self_others", "_self_merged")  # immutable values
        for key, value in (vars(self) | _OF_BLOCKS).items():
            vars(other)[key] = copy.copy(value) if key in shared else copy.deepcopy(value, memo)
        for factors in other._self_factors.values():
            factors.weight._adaptation = factors
        other._take_scale(self._scale_behind())
        return other

    def _scale_behind(self) -> float | None:
        """The scale behind the blocks that disable the adapter; None: there are none."""
        return None if self._self_disabled is None else float(array_of(self._self_disabled[1]))

    def _take_scale(self, scale: float | None) -> None:
        """A copy that was made inside of a block is not in it."""
        if scale is not None:
            with init_scope():
                self.scale.assign(scale)

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle holds: sets of values as arrays."""
        # Such models are made again from their source, with other variables.
        parts = (self._self_module, *self._self_module.submodules)
        if any(isinstance(vars(m).get("weights"), Mapping) for m in parts):
            raise TypeError(
                f"{self.name} adapts a converted model, and cannot be pickled with it: save the "
                "adapter with tfx.adapt.save and load it beside the model."
            )
        state = vars(self) | {"_self_disabled": self._scale_behind()}
        state["_self_others"] = {n: v.as_arrays() for n, v in self._self_others.items()}
        state["_self_merged"] = self._self_merged and {
            n: (None if x is None else array_of(x), array_of(y))
            for n, (x, y) in self._self_merged.items()
        }
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Attach what was pickled to the weights that came with it."""
        vars(self).update(state | _OF_BLOCKS)
        self._self_others = {
            n: AdapterValues.from_arrays(*v) for n, v in state["_self_others"].items()
        }
        merged = state["_self_merged"]
        self._self_merged = merged and {
            n: (None if x is None else raw_of_array(x), raw_of_array(y))
            for n, (x, y) in merged.items()
        }
        for factors in self._self_factors.values():
            factors.weight._adaptation = factors
        self._take_scale(state["_self_disabled"])

    def __repr__(self) -> str:
        held = ", ".join(self.names)
        return f"<Lora of rank {self.rank} on {len(self.a)} weights, adapters {held}>"


def _fetch(variables: Sequence[Variable]) -> None:
    """Have values read that restores hold back: that takes locks, which come before others."""
    for variable in variables:
        variable._raw  # noqa: B018


def positive(name: str, number: Any) -> float:
    """A positive number, or an error that names the argument."""
    value = float(number) if isinstance(number, int | float | np.number) else float("nan")
    if not 0 < value < float("inf"):
        raise InvalidArgumentError(f"{name} is {number!r}, expected a positive number.")
    return value


def _number(value: Any) -> RawValue:
    return raw_of_array(np.asarray(value, np.float32))
