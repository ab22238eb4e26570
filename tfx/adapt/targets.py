"""The variables of a module by name, and the choice of some of them.

The one decision: a name is what the module's source calls a parameter. That of an imported model
is the weight's own name; elsewhere it is the path of attributes, keys and numbers, with dots, as in
state dicts of other frameworks.
"""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from tfx.adapt.layout import layer_names
from tfx.core.errors import InvalidArgumentError
from tfx.framework.module import Module
from tfx.framework.variable import Variable
from tfx.importing.model import ImportedModel
from tfx.optimizers.optimizer import Optimizer

Targets: TypeAlias = "str | re.Pattern[str] | Iterable[str] | Callable[[str], bool] | None"


def named_variables(module: Module) -> dict[str, Variable]:
    """The variables of a module by name, each once, without those of optimizers.

    Args:
        module: The module. Where it or a module below it has a mapping ``weights`` of variables by
            name, as imported models do, these names stand in place of ``weights`` and a key. A
            weight that an exporter transposed and renamed (``val_101``) goes by its layer's name.

    Raises:
        InvalidArgumentError: it is no ``Module``.

    Example:
        >>> import tfx as tf
        >>> block = tf.Module()
        >>> block.layers = [tf.Module()]
        >>> block.layers[0].kernel = tf.Variable(tf.ones([2, 3]))
        >>> list(tf.adapt.named_variables(block))
        ['layers.0.kernel']
    """
    if not isinstance(module, Module):
        raise InvalidArgumentError(
            f"module is {module!r:.100} of type {type(module).__name__}, expected a tfx.Module, "
            "such as import_onnx returns."
        )
    owners: list[tuple[tuple[Any, ...], Module]] = [((), module)]
    owners += module._flatten(predicate=lambda leaf: isinstance(leaf, Module), with_path=True)
    known: dict[int, str] = {}
    for path, owner in owners:
        weights = vars(owner).get("weights")
        if isinstance(weights, Mapping):
            below = ".".join(map(str, path))
            better = layer_names(owner) if isinstance(owner, ImportedModel) else {}
            for key, value in weights.items():
                if isinstance(value, Variable):
                    name = better.get(key, str(key))
                    known.setdefault(id(value), f"{below}.{name}" if below else name)
    optimizers = module._flatten(predicate=lambda x: isinstance(x, Optimizer))
    # What an optimizer keeps is state of the training, not of the model.
    passed_over = {id(v) for optimizer in optimizers for v in optimizer.variables}
    found: dict[str, Variable] = {}
    for path, variable in module._flatten(
        predicate=lambda x: isinstance(x, Variable), with_path=True
    ):
        name = known.get(id(variable), ".".join(map(str, path)))
        if id(variable) not in passed_over:
            found.setdefault(name, variable)
    return found


def layer_of(name: str) -> str:
    """The name of the layer that a weight belongs to: without ``.weight``, ``.kernel``, ``.w``."""
    head, _, last = name.rpartition(".")
    return head if head and last in ("weight", "kernel", "w", "embeddings") else name


def choose(
    names: Iterable[str], targets: Targets, argument: str = "targets", *, what: str = "variable"
) -> list[str]:
    """The names that targets mean, in the order of ``names``.

    Args:
        names: What there is.
        targets: A text or several: a name, a pattern with ``*`` and ``?``, or the last parts of a
            layer's name (``"query"`` is ``encoder.0.query.weight``); a compiled regular expression
            that is found in the name; a function of a name; None: all.
        argument: The argument's name, for messages.
        what: What the names are of, for messages.

    Raises:
        InvalidArgumentError: a target that means none, or is of another kind.
    """
    every = list(names)
    if targets is None:
        return every
    if callable(targets):
        found = [n for n in every if targets(n)]
        if not found:
            raise InvalidArgumentError(
                f"{argument} is a function that says no to every {what}: {some(every)}."
            )
        return found
    parts: list[Any] = (
        [targets] if isinstance(targets, str | re.Pattern) else _listed(targets, argument)
    )
    chosen: set[str] = set()
    for target in parts:
        hit = [n for n in every if _means(target, n)]
        if not hit:
            text = target.pattern if isinstance(target, re.Pattern) else target
            close = difflib.get_close_matches(str(text), every, 1, 0.4)
            hint = f"; did you mean {close[0]!r}?" if close else "."
            raise InvalidArgumentError(
                f"{argument} has {text!r}, which is no {what} of the module{hint} It has "
                f"{some(every)}. A target is a name, a pattern such as '*.query.weight', or the "
                "end of a layer's name such as 'query'."
            )
        chosen.update(hit)
    return [n for n in every if n in chosen]


def _listed(targets: Iterable[Any], argument: str) -> list[Any]:
    try:
        parts = list(targets)
    except TypeError:
        parts = [targets]
    wrong = [p for p in parts if not isinstance(p, str | re.Pattern)]
    if wrong or not parts:
        raise InvalidArgumentError(
            f"{argument} is {targets!r:.100}, expected a name, a pattern, several of them, a "
            "compiled regular expression or a function of a name."
        )
    return parts


def _means(target: str | re.Pattern[str], name: str) -> bool:
    if isinstance(target, re.Pattern):
        return target.search(name) is not None
    return name == target or fnmatch.fnmatchcase(name, target) or _ends(target, name)


def _ends(target: str, name: str) -> bool:
    """True if a name, or that of its layer, ends with whole parts of another."""
    return any(f".{n}".endswith(f".{target}") for n in (name, name.rpartition(".")[0] or name))


def some(names: list[str]) -> str:
    """The first of many names, for messages."""
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return (", ".join(names[:20]) or "none") + more
