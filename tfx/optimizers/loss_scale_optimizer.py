"""``LossScaleOptimizer``: trains by another optimizer, with the loss multiplied by a scale.

The decision: a step whose gradients are not finite is a branch that changes nothing, so that a
function stays one graph, in bundles too; the scale is state. Programs of both kinds are served:
that divide the gradients themselves (``get_scaled_loss``, ``get_unscaled_gradients``), and that
leave it to the optimizer (``scale_loss``), as with the option ``loss_scale_factor``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from tfx.autodiff.tape import GradientTape
from tfx.control_flow.cond import cond
from tfx.framework.builder import ox
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.context import current, executing_eagerly, using
from tfx.framework.module import Module
from tfx.framework.precision.autocast_variable import read_variables_as
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable, variable_of
from tfx.ops.common.arguments import cast_to, tensor
from tfx.optimizers import gradients as transforms
from tfx.optimizers import registry
from tfx.optimizers.loss_scale import (
    INITIAL,
    MULTIPLIER,
    PERIOD,
    DynamicLossScale,
    FixedLossScale,
    LossScale,
    scale_from_config,
)
from tfx.optimizers.optimizer import Optimizer


class LossScaleOptimizer(Optimizer):
    """An optimizer that scales the loss, so that gradients of half precision do not become zero.

    Before the gradients are applied they are divided by the scale, by this optimizer or by the
    program, see below; a step whose gradients are not finite changes nothing but the scale.

    A training step of TensorFlow 2's kind, in which the program may look at the gradients or clip
    them::

        with tf.GradientTape() as tape:
            loss = ...
            scaled = optimizer.get_scaled_loss(loss)
        grads = optimizer.get_unscaled_gradients(tape.gradient(scaled, variables))
        optimizer.apply_gradients(zip(grads, variables))

    With ``scaled = optimizer.scale_loss(loss)`` the gradients of ``scaled`` are given to
    ``apply_gradients`` as they are, as with Keras 3. Which of the two a program does is decided
    by the function that it calls before ``apply_gradients``. ``minimize`` does all of it.

    The inner optimizer's options and hyperparameters (``clipnorm``, ``use_ema``, ``beta_1``) are
    read and set through this one, too.

    Args:
        inner_optimizer: The optimizer that makes the steps. Its options (clipping, averages,
            accumulation) see gradients that are divided already.
        dynamic: Whether the scale adapts.
        initial_scale: What it begins with, 2**15 by default; the scale itself where it does not
            adapt.
        dynamic_growth_steps: How many finite steps in a row double the scale, 2000 by default; only
            with ``dynamic``.

    Raises:
        TypeError: the inner optimizer is none.
        ValueError: it scales the loss itself; or the numbers are out of range, missing, or given
            where they have no meaning.

    Example:
        >>> import tfx as tf
        >>> v = tf.Variable(1.0)
        >>> optimizer = tf.mixed_precision.LossScaleOptimizer(tf.optimizers.SGD(0.25))
        >>> with tf.GradientTape() as tape:
        ...     scaled = optimizer.get_scaled_loss(v * v)
        >>> grads = optimizer.get_unscaled_gradients(tape.gradient(scaled, [v]))
        >>> _ = optimizer.apply_gradients(zip(grads, [v]))
        >>> float(v), float(scaled)
        (0.5, 32768.0)
        >>> _ = optimizer.apply_gradients([(tf.constant(float("nan")), v)])
        >>> float(v), float(optimizer.loss_scale), int(optimizer.iterations)
        (0.5, 16384.0, 1)
    """

    def __init__(
        self,
        inner_optimizer: Optimizer,
        dynamic: bool = True,
        initial_scale: float | None = None,
        dynamic_growth_steps: int | None = None,
    ) -> None:
        if not isinstance(inner_optimizer, Optimizer):
            raise TypeError(
                "LossScaleOptimizer takes an optimizer of tfx.optimizers; got "
                f"{inner_optimizer!r} of type {type(inner_optimizer).__name__}."
            )
        if isinstance(inner_optimizer, LossScaleOptimizer):
            raise ValueError(
                f"LossScaleOptimizer cannot wrap another one: {inner_optimizer.name!r} scales the "
                "loss already."
            )
        if inner_optimizer.loss_scale_factor is not None:
            raise ValueError(
                f"{inner_optimizer.name!r} has loss_scale_factor="
                f"{inner_optimizer.loss_scale_factor}: leave that out, the scale is that of "
                "LossScaleOptimizer."
            )
        self._init(inner_optimizer, _scale_of(dynamic, initial_scale, dynamic_growth_steps))

    def _init(self, inner: Optimizer, scale: LossScale) -> None:
        # Not Optimizer's: learning rate, slots and iterations are those of the inner optimizer.
        Module.__init__(self, "loss_scale_optimizer")
        self._inner = inner
        self._scale = scale
        self._divides = False

    @classmethod
    def with_loss_scale(cls, inner_optimizer: Optimizer, loss_scale: LossScale) -> Self:
        """The optimizer with a scale of any class.

        Args:
            inner_optimizer: The optimizer that makes the steps.
            loss_scale: The scale; its state is this optimizer's.
        """
        made = cls(inner_optimizer)
        made._scale = loss_scale
        return made

    # The scale

    @property
    def inner_optimizer(self) -> Optimizer:
        """The optimizer that makes the steps."""
        return self._inner

    @property
    def dynamic(self) -> bool:
        """Whether the scale adapts."""
        return not isinstance(self._scale, FixedLossScale)

    @property
    def loss_scale(self) -> Tensor:
        """The current scale, a float32 scalar."""
        return self._scale()

    @property
    def initial_scale(self) -> float:
        """What the scale began with."""
        if isinstance(self._scale, DynamicLossScale):
            return self._scale.initial_loss_scale
        scale: Any = self._scale()
        return float(scale)

    @property
    def dynamic_growth_steps(self) -> int | None:
        """How many finite steps in a row double the scale; None: it does not adapt."""
        scale = self._scale
        return scale.increment_period if isinstance(scale, DynamicLossScale) else None

    @property
    def dynamic_counter(self) -> Variable | None:
        """How many finite steps in a row there were, a variable; None: the scale does not adapt."""
        scale = self._scale
        return scale.good_steps if isinstance(scale, DynamicLossScale) else None

    def get_scaled_loss(self, loss: Any) -> Any:
        """The loss times the scale; the program divides the gradients itself.

        Args:
            loss: A tensor, or a callable without arguments, for which another one is returned.
        """
        self._divides = False
        return self._scaled(loss)

    def get_unscaled_gradients(self, grads: Iterable[Any]) -> list[Any]:
        """Gradients of a scaled loss divided by the scale.

        Args:
            grads: Tensors, ``IndexedSlices`` and None.
        """
        self._divides = False
        return self._unscaled(grads)

    def scale_loss(self, loss: Any) -> Any:
        """The loss times the scale; ``apply_gradients`` then divides the gradients."""
        self._divides = True
        return self._scaled(loss)

    def _scaled(self, loss: Any) -> Any:
        if callable(loss) and not isinstance(loss, Tensor | Variable):
            return lambda: self._scaled(loss())
        value = tensor(loss)
        if not value.dtype.is_floating:
            raise TypeError(
                f"The loss is of dtype {value.dtype.name}; expected a floating one, to be scaled."
            )
        return ox.Mul(value, cast_to(self._scale(), value.dtype))

    def _unscaled(self, grads: Iterable[Any]) -> list[Any]:
        scale: Any = self._scale()
        factor = 1.0 / scale
        return [_times(g, factor) for g in grads]

    # Steps

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Variable]], name: str | None = None
    ) -> Variable:
        """Make one step, if all gradients are finite; see ``Optimizer.apply_gradients``.

        Args:
            grads_and_vars: Pairs of a gradient and its variable: gradients of the loss, or of the
                scaled loss where ``scale_loss`` was called.
            name: Accepted for compatibility.

        Returns:
            ``iterations``, higher by one if the step was made.

        Raises:
            ValueError: no variable has a gradient, or one has another shape than its variable.
        """
        pairs = transforms.present([(g, variable_of(v)) for g, v in grads_and_vars])
        variables = [v for _, v in pairs]
        self._inner.build(variables)
        with using(tapes=()), read_variables_as(None):
            grads = [g for g, _ in pairs]
            if self._divides:
                grads = self._unscaled(grads)
            if not isinstance(self._scale, FixedLossScale):
                _, finite = self._scale.update(grads)
                return self._step_if(finite, list(zip(grads, variables, strict=True)))
            return self._inner.apply_gradients(zip(grads, variables, strict=True))

    def _step_if(self, finite: Tensor, pairs: Sequence[tuple[Any, Variable]]) -> Variable:
        if executing_eagerly():
            if bool(finite):
                self._inner.apply_gradients(pairs)
            return self._inner.iterations

        def step() -> None:
            self._inner.apply_gradients(pairs)

        cond(finite, step, lambda: None)
        return self._inner.iterations

    def compute_gradients(
        self, loss: Any, var_list: Any, tape: GradientTape | None = None
    ) -> list[tuple[Any, Variable]]:
        """Gradients of a loss, of which the scale is taken off again, with their variables.

        Args:
            loss: A callable without arguments, or a tensor.
            var_list: The variables, or a callable that returns them.
            tape: The tape that recorded ``loss`` where that is a tensor; its block may have ended.

        Raises:
            ValueError: a tensor without the tape that recorded it.
        """
        recording = tape is None or any(t is tape for t in current().tapes)
        if recording or callable(loss):
            scaled = self.get_scaled_loss(loss)
        else:
            assert tape is not None
            with tape:
                scaled = self.get_scaled_loss(loss)
        pairs = self._inner.compute_gradients(scaled, var_list, tape)
        grads = self.get_unscaled_gradients([g for g, _ in pairs])
        return [(g, v) for g, (_, v) in zip(grads, pairs, strict=True)]

    # What the inner optimizer knows

    def _is_passed_on(self, name: str) -> bool:
        inner = vars(self).get("_inner")  # a copy is without it at first
        return inner is not None and name in (*inner._options, *inner.hyperparameters)

    def __getattr__(self, name: str) -> Any:
        """An option or a hyperparameter of the inner optimizer."""
        if self._is_passed_on(name):
            return getattr(self._inner, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an option or a hyperparameter where it has an effect: in the inner optimizer."""
        if not self._is_passed_on(name):
            super().__setattr__(name, value)
            return
        if name == "loss_scale_factor" and value is not None:
            raise ValueError(
                f"loss_scale_factor={value}: leave that out, the scale is that of "
                f"{type(self).__name__}."
            )
        setattr(self._inner, name, value)

    @property
    def iterations(self) -> Variable:
        """How many steps were made; those that were skipped do not count."""
        return self._inner.iterations

    @iterations.setter
    def iterations(self, value: Variable) -> None:
        self._inner.iterations = value

    @property
    def learning_rate(self) -> Any:
        """The inner optimizer's learning rate."""
        return self._inner.learning_rate

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        self._inner.learning_rate = value

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The inner optimizer's variables, then those of the scale."""
        return (*self._inner.variables, *self._scale.variables)

    @property
    def built(self) -> bool:
        """True if slots exist for some variables."""
        return self._inner.built

    @property
    def built_variables(self) -> tuple[Variable, ...]:
        """The variables that the inner optimizer has slots of."""
        return self._inner.built_variables

    def build(self, var_list: Iterable[Variable]) -> None:
        """Create the slots of variables that have none yet."""
        self._inner.build(var_list)

    def slots_of(self, variable: Variable) -> Mapping[str, Variable]:
        """The slots of a variable by name; see ``Optimizer.slots_of``."""
        return self._inner.slots_of(variable)

    @property
    def shared_variables(self) -> Mapping[str, Variable]:
        """The inner optimizer's scalars that are kept between steps."""
        return self._inner.shared_variables

    def exclude_from_weight_decay(
        self, var_list: Iterable[Variable] | None = None, var_names: Iterable[str] | None = None
    ) -> None:
        """See ``Optimizer.exclude_from_weight_decay``."""
        self._inner.exclude_from_weight_decay(var_list, var_names)

    def decays(self, variable: Variable) -> bool:
        """True if ``weight_decay`` applies to a variable."""
        return self._inner.decays(variable)

    def finalize_variable_values(self, var_list: Iterable[Variable]) -> None:
        """See ``Optimizer.finalize_variable_values``."""
        self._inner.finalize_variable_values(var_list)

    def apply(self, grads: Sequence[Any], trainable_variables: Any = None) -> Variable:
        """Make one step with gradients in the order of the variables; see ``apply_gradients``."""
        variables = trainable_variables
        if variables is None:
            variables = self._inner.built_variables
        return super().apply(grads, list(variables))

    def _trackable_children(self) -> dict[str, Any]:
        return {"inner_optimizer": self._inner, "loss_scale": self._scale}

    def _trackable_slots(self) -> list[tuple[str, Variable, Variable]]:
        return []  # they are below the inner optimizer

    # Configuration

    def get_config(self) -> dict[str, Any]:
        """What makes an equal optimizer, without its state: arguments of the constructor.

        A scale that these cannot describe, see ``with_loss_scale``, is under ``loss_scale``.

        Raises:
            TypeError: a scale of a class that has no ``get_config``.
        """
        inner, scale = self._inner, self._scale
        made = {"class_name": type(inner).__name__, "config": inner.get_config()}
        plain = type(scale) is FixedLossScale or (
            type(scale) is DynamicLossScale and scale.multiplier == MULTIPLIER
        )
        if not plain:
            described = {"class_name": type(scale).__name__, "config": scale.get_config()}
            return {"inner_optimizer": made, "loss_scale": described}
        return {
            "inner_optimizer": made,
            "dynamic": self.dynamic,
            "initial_scale": self.initial_scale,
            "dynamic_growth_steps": self.dynamic_growth_steps,
        }

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Self:
        """The optimizer whose ``get_config`` returned ``config``.

        Args:
            config: The arguments.
            custom_objects: Classes of optimizers, schedules and loss scales that are not tfx's own,
                by name.

        Raises:
            ValueError: an unknown class.
        """
        arguments = dict(config)
        inner, scale = arguments["inner_optimizer"], arguments.pop("loss_scale", None)
        if isinstance(inner, Mapping):
            arguments["inner_optimizer"] = registry.deserialize(inner, custom_objects)
        if scale is None:
            return cls(**arguments)
        made = scale_from_config(scale, custom_objects) if isinstance(scale, Mapping) else scale
        return cls.with_loss_scale(arguments["inner_optimizer"], made)


def _scale_of(dynamic: bool, initial: float | None, growth: int | None) -> LossScale:
    """The scale that the constructor's arguments describe."""
    if not isinstance(dynamic, bool):
        raise TypeError(
            f"dynamic must be a bool; got {dynamic!r} of type {type(dynamic).__name__}."
        )
    if dynamic:
        return DynamicLossScale(
            INITIAL if initial is None else initial, PERIOD if growth is None else growth
        )
    if initial is None:
        raise ValueError("initial_scale must be given where dynamic is False; got None.")
    if growth is not None:
        raise ValueError(
            f"dynamic_growth_steps must be None where dynamic is False; got {growth!r}."
        )
    return FixedLossScale(initial)


def _times(gradient: Any, factor: Any) -> Any:
    """A gradient times a float32 scalar, in its own dtype."""
    if gradient is None:
        return None
    if isinstance(gradient, IndexedSlices):
        values = _times(gradient.values, factor)
        return IndexedSlices(values, gradient.indices, gradient.dense_shape)
    value = tensor(gradient)
    return ox.Mul(value, cast_to(factor, value.dtype))


registry.register(LossScaleOptimizer)
