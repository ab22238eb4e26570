"""``freeze`` and ``unfreeze``: which variables of a module are trained."""

from __future__ import annotations

from tfx.adapt.targets import Targets, choose, named_variables
from tfx.core.errors import InvalidArgumentError
from tfx.framework.module import Module
from tfx.framework.variable import Variable
from tfx.function.tracing.trace_cache import forget_traces


def freeze(module: Module, targets: Targets = None) -> list[str]:
    """Keep variables of a module from being trained.

    They are no longer among ``module.trainable_variables``, and tapes do not watch them by
    themselves. Functions that used them are traced again when they are called next.

    Args:
        module: The module.
        targets: Which variables: a name, a pattern (``"encoder.*"``), the end of a layer's name
            (``"query"``), several of these, a compiled regular expression, or a function of a name.
            None: all.

    Returns:
        The names of the frozen variables.

    Raises:
        InvalidArgumentError: a target that means no variable of the module.

    Example:
        >>> import tfx as tf
        >>> model = tf.Module()
        >>> model.body, model.head = tf.Variable([1.0]), tf.Variable([2.0])
        >>> tf.adapt.freeze(model, "body")
        ['body']
        >>> [v is model.head for v in model.trainable_variables]
        [True]
    """
    return _set(module, targets, trainable=False)


def unfreeze(module: Module, targets: Targets = None) -> list[str]:
    """Let variables of a module be trained; see ``freeze``.

    Args:
        module: The module.
        targets: Which floating-point variables; None: all, also those that were never trained.

    Returns:
        The names of the variables.

    Raises:
        InvalidArgumentError: a target that means no floating-point variable of the module.
    """
    return _set(module, targets, trainable=True)


def _set(module: Module, targets: Targets, *, trainable: bool) -> list[str]:
    names = named_variables(module)
    if trainable:
        names = {n: v for n, v in names.items() if v.dtype.is_floating}
    chosen = choose(names, targets) if names else []
    if not chosen and trainable:
        raise InvalidArgumentError(f"{module.name} has no floating-point variables to train.")
    set_trainable([names[n] for n in chosen], trainable)
    return chosen


def set_trainable(variables: list[Variable], trainable: bool) -> None:
    """Change whether tapes watch variables; what was traced with the opposite is forgotten."""
    changed = [v for v in variables if v.trainable is not trainable]
    for variable in changed:
        variable._trainable = trainable
    if changed:
        forget_traces(changed)
