"""``lora``: the choice of weights, and the attachment of an adapter to them."""

from __future__ import annotations

import operator
from typing import Any

from tfx.adapt.adapter import Lora, positive
from tfx.adapt.layout import output_axes, sizes_of
from tfx.adapt.targets import Targets, choose, named_variables, some
from tfx.core.errors import FailedPreconditionError, InvalidArgumentError
from tfx.framework.context import current
from tfx.framework.module import Module
from tfx.framework.variable import Variable
from tfx.saved_model.functions import RestoredFunction


def lora(
    module: Module,
    rank: int = 8,
    targets: Targets = None,
    *,
    alpha: float | None = None,
    adapter: str = "default",
    name: str = "lora",
    freeze: bool = True,
) -> Lora:
    """Put low-rank adapters beside weights of a module: each reads as ``W + alpha / rank * A B``.

    ``A`` begins with random numbers and ``B`` with zeros, so nothing changes until they are
    trained. ``A`` and ``B`` are new trainable variables; all others of the module are frozen. The
    adapter becomes the attribute ``name`` of the module, so it is saved with it, and
    ``module.trainable_variables`` are those of the adapter.

    Inside traced functions a product with an adapted weight is computed as ``x W + (x A) B``; the
    gradient with respect to ``W`` is never computed. Eagerly, and in operators that are not
    products, lookups or convolutions, the weight itself is summed up. Functions that used the
    weights are traced again when they are next called; a concrete function that a program holds,
    and what was loaded from a bundle, stay as they were traced.

    Args:
        module: A ``Module`` of any kind, an imported model too.
        rank: How thin the matrices are.
        targets: Which weights, of those with two or more axes: a name, a pattern (``"*.query.*"``),
            the end of a layer's name (``"query"``), several of these, a compiled regular
            expression, or a function of a name; ``named_variables`` lists names. None: all
            trainable matrices.
        alpha: The change is scaled by ``alpha / rank``; None: ``rank``.
        adapter: Name of the first set of values.
        name: The attribute of the module that the adapter becomes.
        freeze: Whether to freeze the module's other variables.

    Returns:
        The ``Lora``, which saves, loads, switches and merges adapters.

    Raises:
        InvalidArgumentError: a target that means no weight, a rank below 1 or not below the
            weight's sizes, or a name that the module has already.
        FailedPreconditionError: a weight has an adapter already; or a function is traced.

    Example:
        >>> import tfx as tf
        >>> class Dense(tf.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.kernel = tf.Variable(tf.ones([4, 3]))
        ...         self.bias = tf.Variable(tf.zeros([3]))
        ...
        ...     def __call__(self, x):
        ...         return x @ self.kernel + self.bias
        >>> model = Dense()
        >>> adapter = tf.adapt.lora(model, rank=2)
        >>> [(v.name, v.shape.as_list()) for v in model.trainable_variables]
        [('lora/a/kernel:0', [4, 2]), ('lora/b/kernel:0', [2, 3])]
    """
    if current().graph is not None:
        raise FailedPreconditionError(
            "lora() makes variables and changes what reads give: call it from eager code, before "
            "the function that uses the module."
        )
    variables = named_variables(module)
    weights = _chosen(variables, targets)
    checked = _rank(rank, weights)
    if not name.isidentifier() or hasattr(module, name):
        raise InvalidArgumentError(
            f"{module.name} has an attribute {name!r} already, or that is no identifier: give "
            "lora(name=...) another one, or add(), load() or remove() the adapter that is there."
        )
    for key, weight in weights.items():
        if weight._adaptation is not None:
            raise FailedPreconditionError(
                f"{key!r} has an adapter already: add() or load() another set of values there, or "
                "remove() it first."
            )
    _check_functions(module, weights)
    scale = float(checked) if alpha is None else positive("alpha", alpha)
    axes = output_axes(module, weights)
    made = Lora(module, weights, axes, (checked, scale), (name, adapter))
    setattr(module, name, made)
    made.attach([v for v in variables.values() if v.trainable] if freeze else [])
    return made


def _chosen(variables: dict[str, Variable], targets: Targets) -> dict[str, Variable]:
    able = {n: v for n, v in variables.items() if _is_adaptable(v)}
    if not able:
        raise InvalidArgumentError(
            "the module has no weights that can be adapted: floating-point variables of two or "
            f"more axes and known shape. It has {some(list(variables))}."
        )
    if targets is None:
        found = {n: v for n, v in able.items() if v.trainable and v.shape.rank == 2}
        if not found:
            raise InvalidArgumentError(
                f"the module has no trainable matrices; name targets among {some(list(able))}."
            )
        return found
    chosen = choose(able, targets, what="weight of two or more axes")
    return {n: able[n] for n in chosen}


def _check_functions(module: Module, weights: dict[str, Variable]) -> None:
    """Refuse functions that came from a bundle: they have no code that could be traced again."""
    names = {id(v): n for n, v in weights.items()}
    for function in module._flatten(predicate=lambda x: isinstance(x, RestoredFunction)):
        for concrete in function.concrete_functions:
            used = [names[id(v)] for v in concrete.variables if id(v) in names]
            if used:
                raise InvalidArgumentError(
                    f"{module.name} was loaded from a bundle, and its function {function.name!r} "
                    f"is a graph already that reads {used[0]!r} without an adapter. Attach the "
                    "adapter in the program that makes the model, or take a signature's file as "
                    "a model: import_onnx('BUNDLE/SIGNATURE.onnx')."
                )


def _is_adaptable(variable: Variable) -> bool:
    shape = variable.shape
    known = shape.is_fully_defined() and 0 not in shape.as_list()
    is_own = not variable._in_graph_mode  # a session's value is not ours
    return is_own and variable.dtype.is_floating and known and len(shape) >= 2


def _rank(rank: Any, weights: dict[str, Variable]) -> int:
    try:
        number = operator.index(rank)
    except TypeError:
        number = 0
    if number < 1:
        raise InvalidArgumentError(f"rank is {rank!r}, expected a whole number of at least 1.")
    for name, weight in weights.items():
        if number > max(sizes_of(weight)):
            raise InvalidArgumentError(
                f"rank is {number}, more than any size of {name!r}, {weight.shape}: a change of "
                "full rank needs no adapter; unfreeze the weight in its place."
            )
    return number
