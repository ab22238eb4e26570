"""``Optimizer``: state, options and the order of things in a step. Rules are its subclasses.

A rule is written as a pure function of tensors (gradient, value, slots) to a new value; reading
and assigning variables happens here, which is how one rule serves eager and traced steps, half
precision and gradient accumulation. What a step has in common for all variables (bias corrections)
is computed once, in float64: these are a handful of scalars, and float32 has no ``1 - 0.999``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeAlias, Unpack

import numpy as np

from tfx.autodiff.tape import GradientTape
from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.framework.context import current, init_scope, using
from tfx.framework.convert import convert_to_tensor
from tfx.framework.module import Module
from tfx.framework.tensor import Reference, Tensor, from_array
from tfx.framework.variable import Variable
from tfx.ops import _support
from tfx.ops.masking import where
from tfx.optimizers import gradients
from tfx.optimizers.gradients import Array, compute_dtype
from tfx.optimizers.options import Options, checked
from tfx.optimizers.schedules import LearningRateSchedule, deserialize, serialize

LearningRate: TypeAlias = "float | Tensor | LearningRateSchedule | Callable[[], Any]"
State: TypeAlias = dict[str, Array]

AVERAGE, ACCUMULATOR = "average", "gradient_accumulator"


class Optimizer(Module):
    """Base class of optimizers.

    A subclass gives ``hyperparameters`` (its constructor's own arguments, kept as attributes of
    the same names), ``slot_values`` and ``update_step``, and ``shared`` if a step has numbers that
    do not depend on the variable.

    Args:
        learning_rate: A number, a schedule, or a callable without arguments.
        **options: Keyword arguments that all optimizers take:

            - ``weight_decay``: each step first takes this part times the learning rate off every
              variable.
            - ``clipnorm``, ``clipvalue``, ``global_clipnorm``: limit of the norm of each gradient,
              of the elements, or of the norm of all gradients together. At most one of them.
            - ``use_ema``, ``ema_momentum``, ``ema_overwrite_frequency``: keep moving averages of
              the variables, and copy them to the variables every so many steps.
            - ``loss_scale_factor``: gradients are divided by it; see ``scale_loss``.
            - ``gradient_accumulation_steps``: calls of ``apply_gradients`` whose mean gradient
              makes one step; ``iterations`` counts the steps.
            - ``name``: name in the names of variables; by default the class's in lower case.

    Example:
        >>> import tfx as tf
        >>> class SignSGD(tf.optimizers.Optimizer):
        ...     def update_step(self, gradient, value, slots, scalars):
        ...         (learning_rate,) = scalars
        ...         return value - learning_rate * tf.sign(gradient)
        >>> v = tf.Variable([1.0, 2.0])
        >>> _ = SignSGD(0.5).apply_gradients([(tf.constant([3.0, -4.0]), v)])
        >>> v.numpy()
        array([0.5, 2.5], dtype=float32)
    """

    hyperparameters: ClassVar[tuple[str, ...]] = ()

    def __init__(self, learning_rate: LearningRate, **options: Unpack[Options]) -> None:
        kind = type(self).__name__
        given = checked(kind, options)
        super().__init__(given.pop("name") or kind.lower())
        self.weight_decay: float | None = given["weight_decay"]
        self.clipnorm: float | None = given["clipnorm"]
        self.clipvalue: float | None = given["clipvalue"]
        self.global_clipnorm: float | None = given["global_clipnorm"]
        self.use_ema: bool = given["use_ema"]
        self.ema_momentum: float = given["ema_momentum"]
        self.ema_overwrite_frequency: int | None = given["ema_overwrite_frequency"]
        self.loss_scale_factor: float | None = given["loss_scale_factor"]
        self.gradient_accumulation_steps: int | None = given["gradient_accumulation_steps"]
        self._options = tuple(given)
        self._undecayed: set[Reference] = set()
        self._undecayed_names: tuple[str, ...] = ()
        self.iterations = self._own("iterations", np.zeros((), np.int64))
        self._learning_rate: Any = learning_rate
        if not callable(learning_rate):
            rate = np.asarray(learning_rate, np.float32)
            self._learning_rate = self._own("learning_rate", rate)
        # Slots of the step itself, then those of each variable by the variable's name.
        self._shared: dict[str, Variable] = {}
        self._slots: dict[str, dict[str, Variable]] = {}
        self._names: dict[Reference, str] = {}

    # What subclasses define

    def slot_values(self) -> Mapping[str, float]:
        """Names of the slots that each variable gets, with their initial values."""
        return {}

    def shared_values(self) -> Mapping[str, float]:
        """Names of the float64 scalars that are kept between steps, with their initial values."""
        return {}

    def shared(self, learning_rate: Array, step: Array, state: State) -> Sequence[Array]:
        """Numbers that the updates of all variables have in common.

        Args:
            learning_rate: The learning rate, float64.
            step: The number of this step counted from 1, float64.
            state: Values of ``shared_values``; what is stored here is kept.

        Returns:
            float64 scalars; ``update_step`` gets them in the dtype that it computes in.
        """
        return (learning_rate,)

    def update_step(
        self, gradient: Array, value: Array, slots: State, scalars: Sequence[Array]
    ) -> Array:
        """The new value of a variable.

        Args:
            gradient: Its gradient.
            value: Its value.
            slots: Values of ``slot_values``; what is stored here is kept.
            scalars: What ``shared`` returned.
        """
        raise TypeError(
            f"{type(self).__name__} has no update rule; override update_step(gradient, value, "
            "slots, scalars) to return the new value of a variable."
        )

    # State

    @property
    def learning_rate(self) -> Any:
        """The learning rate: a variable, or the schedule's value at the current iteration.

        Assigning a number changes the variable; traced functions see the change. Assigning a
        schedule or a callable replaces it, which traces made earlier do not see.
        """
        rate = self._learning_rate
        if isinstance(rate, LearningRateSchedule):
            return rate(self.iterations)
        return rate if isinstance(rate, Variable) else rate()

    @learning_rate.setter
    def learning_rate(self, value: LearningRate) -> None:
        if callable(value):
            self._learning_rate = value
        elif isinstance(self._learning_rate, Variable):
            self._learning_rate.assign(_support.cast_to(convert_to_tensor(value), dtypes.float32))
        else:
            raise TypeError(
                "This optimizer was created with a `LearningRateSchedule` (or a callable) as its "
                "`learning_rate` constructor argument, hence its learning rate is not settable. "
                "Create it with a number, or assign another schedule."
            )

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The optimizer's own variables: iterations, learning rate, slots in order of creation."""
        rate = self._learning_rate
        slots = [v for slots in self._slots.values() for v in slots.values()]
        head = [self.iterations, rate] if isinstance(rate, Variable) else [self.iterations]
        return (*head, *self._shared.values(), *slots)

    @property
    def built(self) -> bool:
        """Whether slots exist for some variables."""
        return bool(self._names)

    def build(self, var_list: Iterable[Variable]) -> None:
        """Create the slots of variables that have none yet.

        Done by the first step; needed only where the state must exist earlier. While a function is
        traced the slots are created outside of it.
        """
        if not self._shared:
            shared = self.shared_values()
            if self.gradient_accumulation_steps:
                shared = {**shared, ACCUMULATOR: 0.0}
            self._shared = {n: self._own(n, np.full((), x, np.float64)) for n, x in shared.items()}
        for variable in var_list:
            if variable.ref() not in self._names:
                self._add_slots(variable)

    def get_slot(self, variable: Variable, name: str) -> Variable:
        """The slot of a variable.

        Raises:
            KeyError: the variable has no slots yet, or not this one.
        """
        key = self._names.get(variable.ref())
        if key is None:
            raise KeyError(f"{self.name} has no slots of {variable.name!r}; call build first.")
        if name not in self._slots[key]:
            raise KeyError(f"{self.name} has no slot {name!r}; it has {list(self._slots[key])}.")
        return self._slots[key][name]

    def _own(self, name: str, value: np.ndarray[Any, Any], shape: Any = None) -> Variable:
        with init_scope():
            tensor = from_array(value, owned=True)
            return Variable(tensor, trainable=False, name=name, shape=shape)

    def _add_slots(self, variable: Variable) -> None:
        base = variable.name.removesuffix(":0")
        name, i = base, 0
        while name in self._slots:  # names of variables need not be unique
            i += 1
            name = f"{base}_{i}"
        with init_scope():
            value = _support.cast_to(variable.value(), compute_dtype(variable))
        slots: dict[str, Any] = dict(self.slot_values())
        if self.gradient_accumulation_steps:
            slots[ACCUMULATOR] = 0.0
        if self.use_ema:
            slots[AVERAGE] = value
        self._slots[name] = {
            slot: self._own(
                f"{name}/{self.name}/{slot}",
                np.array(np.broadcast_to(initial, value.shape), value.dtype.as_numpy_dtype),
                variable.shape,
            )
            for slot, initial in slots.items()
        }
        self._names[variable.ref()] = name

    def _slots_of(self, variable: Variable) -> dict[str, Variable]:
        return self._slots[self._names[variable.ref()]]
