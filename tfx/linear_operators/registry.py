"""The classes of operators by name, and the tables of what two of them make.

The base class makes objects of classes that are built upon it, and looks up products of them: both
go through here. The modules are known by name alone and imported when one is first asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeAlias

Rule: TypeAlias = Callable[[Any, Any], Any]
Rules: TypeAlias = dict[tuple[type, type], Rule]

# What `left @ right` is, and the solution of `left @ x = right`, by the classes of both.
PRODUCTS: Rules = {}
SOLUTIONS: Rules = {}

_classes: dict[str, Any] = {}
# Imports all classes and fills the tables.
_elsewhere = ["products"]


def add_class(cls: Any) -> None:
    """Have a class of this package found by its name; the first of a name stays."""
    _classes.setdefault(cls.__name__, cls)


def class_named(name: str) -> Any:
    """A class of this package."""
    _load()
    return _classes[name]


def rule_for(rules: Rules, left: Any, right: Any) -> Rule:
    """The rule for two operators: that of the nearest bases, the left one's first."""
    _load()
    for a in type(left).__mro__:
        for b in type(right).__mro__:
            found = rules.get((a, b))
            if found is not None:
                return found
    raise TypeError(f"There is no rule for {left!r} and {right!r}; expected linear operators.")


def _load() -> None:
    if _elsewhere:
        for name in tuple(_elsewhere):
            importlib.import_module(f"tfx.linear_operators.{name}")
        _elsewhere.clear()  # afterwards: another thread waits for the same imports
