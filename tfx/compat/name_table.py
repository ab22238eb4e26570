"""Names of a namespace of TensorFlow 1: from a table, or those of TensorFlow 2's namespaces."""

from __future__ import annotations

import functools
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


def namespace(
    module: str,
    table: Mapping[str, str],
    *,
    submodules: Sequence[str] = (),
    others: Sequence[str] = (),
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a namespace, whose names are fetched when asked for.

    Args:
        module: Its name.
        table: Where its own names are: see ``names``.
        submodules: Modules below it.
        others: Modules whose names it has besides, the first that has it.
    """
    own = names(table)

    def fetch(name: str) -> Any:
        if name.startswith("__") and name not in own:
            raise MissingNameError(module, name)
        importlib.import_module("tfx.ops.common.operator_overloads")
        if name in own:
            where, attribute = own[name]
            value = getattr(importlib.import_module(where), attribute)
        elif name in submodules:
            value = importlib.import_module(f"{module}.{name}")
        else:
            value = _elsewhere(name)
        value = cover(value)
        setattr(sys.modules[module], name, value)
        return value

    def _elsewhere(name: str) -> Any:
        for other in others:
            source = importlib.import_module(other)
            # The packages of names know what they have; a module has more than its names.
            if name in names_of(source):
                found = getattr(source, name)
                if name in ("print", "Assert") or name.startswith("assert_"):
                    return _operation(found)
                return found
        raise MissingNameError(module, name)

    def known() -> list[str]:
        found = {*own, *submodules}
        for other in others:
            found.update(names_of(importlib.import_module(other)))
        return sorted(found)

    return fetch, known


@functools.cache
def _operation(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that prints or checks as TensorFlow 1 has it; always the same."""
    from tfx.compat.v1.graph.effects import as_operation

    made = as_operation(function)
    made.__module__ = "tfx.compat.v1"  # where it is pickled by name
    return made
