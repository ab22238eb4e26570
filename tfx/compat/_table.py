"""Names of a namespace of TensorFlow 1: from a table, or those of TensorFlow 2's namespaces."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any


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
    own: Mapping[str, tuple[str, str]],
    submodules: Sequence[str] = (),
    others: Sequence[str] = (),
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a namespace.

    Args:
        module: Its name.
        own: Where its own names are.
        submodules: Modules below it.
        others: Modules whose names it has besides, the first that has it.
    """

    def fetch(name: str) -> Any:
        if name.startswith("__") and name not in own:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        importlib.import_module("tfx.ops.operators")
        if name in own:
            where, attribute = own[name]
            value = getattr(importlib.import_module(where), attribute)
        elif name in submodules:
            value = importlib.import_module(f"{module}.{name}")
        else:
            value = _elsewhere(name)
        return value

    def _elsewhere(name: str) -> Any:
        for other in others:
            source = importlib.import_module(other)
            # The packages of names know what they have; a module has more than its names.
            if name in public(source):
                found = getattr(source, name)
                if name in ("print", "Assert") or name.startswith("assert_"):
                    from tfx.sessions.effects import as_operation

                    return as_operation(found)
                return found
        close = difflib.get_close_matches(name, known(), 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise AttributeError(f"module {module!r} has no attribute {name!r}{hint}")

    def known() -> list[str]:
        found = {*own, *submodules}
        for other in others:
            found.update(public(importlib.import_module(other)))
        return sorted(found)

    return fetch, known


def public(source: ModuleType) -> list[str]:
    """The names of a namespace."""
    return [n for n in dir(source) if not n.startswith("_") and n != "annotations"]
