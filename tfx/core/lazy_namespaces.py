"""Namespaces whose names are imported when a program asks for them.

A table says where they are defined, so that a namespace costs nothing until it is used. Must not
know the namespaces themselves.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfx.core.namespaces import MissingNameError, names_of
from tfx.core.tracebacks import cover


def names(table: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """``{name: (module, attribute)}`` from module -> names; ``name=attribute`` if they differ."""
    found: dict[str, tuple[str, str]] = {}
    for module, words in table.items():
        for word in words.split():
            name, _, attribute = word.partition("=")
            found[name] = (module, attribute or name)
    return found


# What must be there before a program holds a tensor: the facade says which modules.
_first: list[str] = []


def import_first(module: str) -> None:
    """Have a module imported before any name of a lazy namespace."""
    _first.append(module)


def load_first() -> None:
    """Import what must be there before a program holds a tensor."""
    for module in _first:
        importlib.import_module(module)


def fetch(module: str, name: str) -> Any:
    """A public name from the module that defines it."""
    load_first()
    return cover(getattr(importlib.import_module(module), name))


def lazy_namespace(
    module: str,
    table: Mapping[str, str],
    *,
    submodules: Sequence[str] = (),
    others: Sequence[str] = (),
    adapt: str = "",
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a namespace, whose names are fetched when asked for.

    Args:
        module: Its name.
        table: Where its own names are: see ``names``.
        submodules: Modules below it.
        others: Modules whose names it has besides, the first that has it.
        adapt: Module of ``public_operation``, which adapts functions of others that print or
            check; empty: they stay as they are.
    """
    own = names(table)

    def known_or_fetched(name: str) -> Any:
        if name.startswith("__") and name not in own:
            raise MissingNameError(module, name)
        if name in own:
            value = fetch(*own[name])
        elif name in submodules:
            value = cover(importlib.import_module(f"{module}.{name}"))
        else:
            value = cover(_elsewhere(name))
        vars(sys.modules[module])[name] = value
        return value

    def _elsewhere(name: str) -> Any:
        for other in others:
            source = importlib.import_module(other)
            # The packages of names know what they have; a module has more than its names.
            if name in names_of(source):
                found = getattr(source, name)
                if adapt and (name in ("print", "Assert") or name.startswith("assert_")):
                    return importlib.import_module(adapt).public_operation(found)
                return found
        raise MissingNameError(module, name)

    def known() -> list[str]:
        found = {*own, *submodules}
        for other in others:
            found.update(names_of(importlib.import_module(other)))
        return sorted(found)

    return known_or_fetched, known
