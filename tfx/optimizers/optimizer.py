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
from tfx.core.references import Reference
from tfx.framework import deferred_restores
from tfx.framework.context import current, init_scope, using
from tfx.framework.convert import convert_to_tensor
from tfx.framework.module import Module
from tfx.framework.precision.autocast_variable import read_variables_as
from tfx.framework.tensor import Tensor, from_array
from tfx.framework.variable import Variable, variable_of
from tfx.ops.common.arguments import cast_to
from tfx.optimizers.formulas import Array
from tfx.optimizers.gradients import compute_dtype
from tfx.optimizers.options import Options, checked
from tfx.optimizers.schedules import LearningRateSchedule, deserialize, is_schedule, serialize
from tfx.optimizers.step import ACCUMULATED, ACCUMULATOR, AVERAGE, take_step

LearningRate: TypeAlias = "float | Tensor | LearningRateSchedule | Callable[[], Any]"
State: TypeAlias = dict[str, Array]


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
        self.iterations = self._own(f"{self.name}/iterations", np.zeros((), np.int64))
        self._learning_rate: Any = learning_rate
        if not callable(learning_rate):
            try:
                rate = np.asarray(learning_rate, np.float32)
            except (TypeError, ValueError):
                raise TypeError(
                    f"{type(self).__name__}: learning_rate is {learning_rate!r}; expected a "
                    "number, a schedule of tfx.optimizers.schedules, or a function."
                ) from None
            self._learning_rate = self._own(f"{self.name}/learning_rate", rate)
        # Slots of the step itself, then those of each variable by the variable's name.
        self._shared: dict[str, Variable] = {}
        self._slots: dict[str, dict[str, Variable]] = {}
        self._names: dict[Reference, str] = {}

    # What subclasses override

    def slot_values(self) -> Mapping[str, float]:
        """Names of the slots that each variable gets, with their initial values."""
        return {}

    def shared_values(self) -> Mapping[str, float]:
        """Names of the float64 scalars that are kept between steps, with their initial values."""
        return {}

    def shared(self, learning_rate: Array, step: Array, slots: State) -> Sequence[Array]:
        """Numbers that the updates of all variables have in common.

        Args:
            learning_rate: The learning rate, float64.
            step: The number of this step counted from 1, float64.
            slots: Values of ``shared_values``; what is stored here is kept.

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
        if is_schedule(rate):
            return rate(self.iterations)
        return rate if isinstance(rate, Variable) else rate()

    @learning_rate.setter
    def learning_rate(self, value: LearningRate) -> None:
        if callable(value):
            self._learning_rate = value
        elif isinstance(self._learning_rate, Variable):
            self._learning_rate.assign(cast_to(convert_to_tensor(value), dtypes.float32))
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
        """True if slots exist for some variables."""
        return bool(self._names)

    @property
    def built_variables(self) -> tuple[Variable, ...]:
        """The variables that have slots, in the order in which they got them."""
        return tuple(r.deref() for r in self._names)

    def build(self, var_list: Iterable[Variable]) -> None:
        """Create the slots of variables that have none yet.

        Done by the first step; needed only where the state must exist earlier. While a function is
        traced the slots are created outside of it.
        """
        if not self._shared:
            shared = dict(self.shared_values())
            if self.gradient_accumulation_steps:
                shared[ACCUMULATED] = 0.0
            self._shared = {
                n: self._own(f"{self.name}/{n}", np.array(x, np.float64)) for n, x in shared.items()
            }
        new = {v.ref(): v for v in var_list if v.ref() not in self._names}
        for variable in new.values():
            self._add_slots(variable)
        if new:
            deferred_restores.changed(self)

    def get_slot(self, variable: Variable, name: str) -> Variable:
        """The slot of a variable.

        Raises:
            KeyError: the variable has no slots yet, or not this one.
        """
        slots = self.slots_of(variable)
        if name not in slots:
            raise KeyError(f"{self.name} has no slot {name!r}; it has {list(slots)}.")
        return slots[name]

    def slots_of(self, variable: Variable) -> Mapping[str, Variable]:
        """The slots of a variable by name.

        Raises:
            KeyError: the variable has no slots yet.
        """
        key = self._names.get(variable.ref())
        if key is None:
            raise KeyError(f"{self.name} has no slots of {variable.name!r}; call build first.")
        return self._slots[key]

    @property
    def shared_variables(self) -> Mapping[str, Variable]:
        """The scalars that are kept between steps, by name."""
        return self._shared

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
        with init_scope(), read_variables_as(None):
            value = np.asarray(cast_to(variable.stored_value(), compute_dtype(variable)))
        slots: dict[str, Any] = dict(self.slot_values())
        if self.gradient_accumulation_steps:
            slots[ACCUMULATOR] = 0.0
        if self.use_ema:
            slots[AVERAGE] = value
        self._slots[name] = {
            slot: self._own(
                f"{name}/{self.name}/{slot}", np.full_like(value, initial), variable.shape
            )
            for slot, initial in slots.items()
        }
        self._names[variable.ref()] = name

    def _trackable_children(self) -> dict[str, Any]:
        """The parts of a checkpoint under their own names."""
        head = {"iterations": self.iterations, "learning_rate": self._learning_rate}
        return head | self._shared

    def _trackable_slots(self) -> list[tuple[str, Variable, Variable]]:
        """Slots go by the variables they belong to, whose names need not be unique."""
        return [
            (name, reference.deref(), slot)
            for reference, key in self._names.items()
            for name, slot in self._slots[key].items()
        ]

    # Steps

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Variable]], name: str | None = None
    ) -> Variable:
        """Make one step.

        Args:
            grads_and_vars: Pairs of a gradient (tensor, ``IndexedSlices`` or None) and its
                variable. Variables without a gradient stay as they are, with a warning.
            name: Accepted for compatibility.

        Returns:
            ``iterations``, one higher.

        Raises:
            ValueError: no variable has a gradient, or one has another shape than its variable.

        Example:
            >>> import tfx as tf
            >>> v = tf.Variable(10.0)
            >>> optimizer = tf.optimizers.SGD(0.1)
            >>> int(optimizer.apply_gradients([(tf.constant(20.0), v)]))
            1
            >>> v.numpy()
            np.float32(8.0)
        """
        pairs = [(gradient, variable_of(v)) for gradient, v in grads_and_vars]
        self.build([v for _, v in pairs])
        # Steps are not differentiated: no tape needs to see them.
        # Variables are updated in the dtype that they are stored in, whatever the scope says.
        with using(tapes=(), scope=f"{current().scope}{self.name}/"), read_variables_as(None):
            take_step(self, pairs)
        return self.iterations

    def apply(self, grads: Sequence[Any], trainable_variables: Any = None) -> Variable:
        """Make one step with gradients in the order of the variables.

        Args:
            grads: A gradient or None for each variable.
            trainable_variables: The variables; None: those that the optimizer was built with.

        Raises:
            ValueError: the numbers of gradients and variables differ.
        """
        if trainable_variables is None:
            trainable_variables = self.built_variables
        variables = list(trainable_variables)
        if len(grads) != len(variables):
            raise ValueError(f"Got {len(grads)} gradients for {len(variables)} variables.")
        return self.apply_gradients(zip(grads, variables, strict=True))

    def minimize(self, loss: Any, var_list: Any, tape: GradientTape | None = None) -> Variable:
        """Compute gradients of a loss and make one step.

        Args:
            loss: A callable without arguments that returns the loss, or a tensor.
            var_list: The variables, or a callable that returns them.
            tape: The tape that recorded ``loss`` where that is a tensor.

        Raises:
            ValueError: a tensor without the tape that recorded it.

        Example:
            >>> import tfx as tf
            >>> v = tf.Variable(1.0)
            >>> _ = tf.optimizers.SGD(0.5).minimize(lambda: v * v, [v])
            >>> v.numpy()
            np.float32(0.0)
        """
        return self.apply_gradients(self.compute_gradients(loss, var_list, tape))

    def compute_gradients(
        self, loss: Any, var_list: Any, tape: GradientTape | None = None
    ) -> list[tuple[Any, Variable]]:
        """Gradients of a loss with their variables; see ``minimize``."""
        if not callable(loss) and tape is None:
            raise ValueError(
                f"`tape` is required when a `Tensor` loss is passed. Received: loss={loss}, "
                f"tape={tape}."
            )
        tape = tape or GradientTape()
        if callable(loss):
            with tape:
                loss = loss()
        variables = list(var_list() if callable(var_list) else var_list)
        return list(zip(tape.gradient(loss, variables), variables, strict=True))

    def scale_loss(self, loss: Any) -> Any:
        """The loss times ``loss_scale_factor``, to differentiate instead of the loss."""
        return loss if self.loss_scale_factor is None else loss * self.loss_scale_factor

    def exclude_from_weight_decay(
        self, var_list: Iterable[Variable] | None = None, var_names: Iterable[str] | None = None
    ) -> None:
        """Choose variables that ``weight_decay`` leaves alone.

        Args:
            var_list: The variables.
            var_names: Regular expressions; a variable in whose name one is found is left alone.

        Raises:
            ValueError: the optimizer has made a step already.
        """
        if self.built:
            raise ValueError(
                "`exclude_from_weight_decay()` can only be configured before the optimizer is "
                "built."
            )
        self._undecayed = {v.ref() for v in var_list or ()}
        self._undecayed_names = tuple(var_names or ())

    def decays(self, variable: Variable) -> bool:
        """True if ``weight_decay`` applies to a variable."""
        names = (variable.name, variable.name.removesuffix(":0"))
        return variable.ref() not in self._undecayed and not any(
            re.search(pattern, name) for pattern in self._undecayed_names for name in names
        )

    def finalize_variable_values(self, var_list: Iterable[Variable]) -> None:
        """With ``use_ema``, set variables to their moving averages (at the end of training)."""
        if self.use_ema:
            for variable in var_list:
                average = self.get_slot(variable, AVERAGE)
                variable.assign(cast_to(average.value(), variable.dtype))

    # Configuration

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor that make an equal optimizer, without its state."""
        rate = self._learning_rate
        if is_schedule(rate):
            rate = serialize(rate)
        elif isinstance(rate, Variable):
            rate = float(rate)
        return self._config_with(rate)

    def _config_with(self, rate: Any) -> dict[str, Any]:
        config = {"name": self.name, "learning_rate": rate}
        return config | {n: getattr(self, n) for n in (*self._options, *self.hyperparameters)}

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Self:
        """The optimizer whose ``get_config`` returned ``config``.

        Args:
            config: The arguments.
            custom_objects: Schedule classes that are not tfx's own, by name.
        """
        arguments = dict(config)
        if isinstance(arguments.get("learning_rate"), Mapping):
            arguments["learning_rate"] = deserialize(arguments["learning_rate"], custom_objects)
        return cls(**arguments)
