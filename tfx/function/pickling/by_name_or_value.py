"""Pickles of functions by name or with their code, as the pickler prefers.

``pickle`` takes functions by name alone; cloudpickle (and with it joblib, Dask, Ray and Spark)
takes the code of those that the reading process cannot import. What ``__reduce__`` returns does not
depend on the pickler, but what it returns may hold a ``Choice`` in a cell: a pickler that takes
code has a way of its own with cells, which closures are made of, and pickles what is inside; all
others ask ``copyreg``, and that is us.

Source travels with code: without it, the conversion of control flow would stop working where the
function arrives.
"""

from __future__ import annotations

import copyreg
import functools
import importlib
import linecache
import sys
import types
import zlib
from collections.abc import Callable
from typing import Any

from tfx.core.travelled_code import keep_text

# What __reduce__ returns: a callable and its arguments.
Reduced = tuple[Callable[..., Any], tuple[Any, ...]]

NOTHING: Reduced = (bool, ())
"""Pickles as False: the pickler in question needs nothing here."""


class Choice:
    """A stand-in for an object whose pickled form depends on the pickler.

    Args:
        code: For picklers that take code.
        names: For all others.
    """

    __slots__ = ("_code", "names")

    def __init__(self, code: Callable[[], Reduced], names: Callable[[], Reduced]) -> None:
        self._code = code
        self.names = names

    def __reduce__(self) -> Reduced:
        return self._code()


def choose(code: Callable[[], Reduced], names: Callable[[], Reduced]) -> types.CellType:
    """A value to put into what ``__reduce__`` returns; ``chosen`` gets what it was.

    Args:
        code: What picklers that take code are given.
        names: What all others are given.
    """
    return types.CellType(Choice(code, names))


def chosen(value: Any) -> Any:
    """Return the chosen form from a loaded pickle in which ``choose`` was used."""
    return value.cell_contents if isinstance(value, types.CellType) else value


def _reduce_cell(cell: types.CellType) -> Reduced:
    try:
        held = cell.cell_contents
    except ValueError:  # an empty cell
        held = None
    if isinstance(held, Choice):
        return held.names()
    raise TypeError("cannot pickle 'cell' object")


copyreg.pickle(types.CellType, _reduce_cell)


def reduced(
    thing: Any,
    code: Callable[[], Reduced],
    without_code: Callable[[], Reduced | None] = lambda: None,
) -> Any:
    """Return the result of ``__reduce__`` for an object made of a Python function.

    By name, where other processes can import that. Otherwise its class is made empty first, since
    what the code refers to may refer to the object; ``__setstate__`` then gets what ``code`` made,
    for ``chosen``, or something false if the object is complete.

    Args:
        thing: The object.
        code: How its state is pickled, with the code.
        without_code: How the whole object is pickled for a pickler that takes names alone, if it
            has none; None: in no other way.
    """
    place = place_of(thing)
    if place is not None and is_known_elsewhere(place[0]):
        return place[1]

    def whole() -> Reduced | None:
        return without_code() if place is None else (by_name, place)

    made = choose(lambda: NOTHING, lambda: whole() or NOTHING)
    state = choose(code, lambda: NOTHING if whole() else code())
    return _begun, (type(thing), made), state


def _begun(kind: Any, made: Any) -> Any:
    """An object from a pickle: a complete one, or one that is yet to get its parts."""
    return chosen(made) or kind.__new__(kind)


def place_of(thing: Any) -> tuple[str, str] | None:
    """The module and the qualified name that lead to an object; None if none do."""
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    return (module, name) if lookup(module, name) is thing else None


def lookup(module: str, name: str) -> Any:
    """Return the object of a qualified name in a loaded module, or None."""
    place: Any = sys.modules.get(module)
    for part in name.split("."):
        place = getattr(place, part, None)
    return place


def by_name(module: str, name: str) -> Any:
    """The object of a qualified name.

    Raises:
        AttributeError: the module has none of that name.
    """
    place: Any = importlib.import_module(module)
    for part in name.split("."):
        place = getattr(place, part)
    return place


def is_known_elsewhere(module: str) -> bool:
    """True if other processes can import a module, and are meant to.

    They cannot import what a program or a notebook defines by itself, and cloudpickle can be told
    (``register_pickle_by_value``) that they do not have a module.
    """
    if module == "__main__":
        return False
    registered = getattr(sys.modules.get("cloudpickle"), "list_registry_pickle_by_value", None)
    if registered is None:
        return True
    names: Any = registered()
    return not any(module == name or module.startswith(f"{name}.") for name in names)


class Source:
    """The text of a file, or of what an interactive session keeps in place of one.

    Args:
        filename: As code objects have it.
        packed: The text, compressed.
    """

    __slots__ = ("filename", "packed")

    def __init__(self, filename: str, packed: bytes) -> None:
        self.filename = filename
        self.packed = packed

    def __reduce__(self) -> Reduced:
        return Source, (self.filename, self.packed)

    def provide(self) -> None:
        """Have the text found under the file's name, where there is no such file."""
        text = zlib.decompress(self.packed).decode()
        keep_text(self.filename, text)
        if linecache.getlines(self.filename):
            return
        lines = text.splitlines(keepends=True)
        # Without a time, so that it is not compared with a file.
        linecache.cache[self.filename] = (len(text), None, lines, self.filename)


def source_of(function: Any) -> Source | None:
    """The source of a Python function or method that travels as code; None if there is none."""
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    if not isinstance(function, types.FunctionType):
        return None
    filename = function.__code__.co_filename
    text = "".join(linecache.getlines(filename, function.__globals__))
    return _source(filename, text) if text else None


def provide(source: Source | None) -> None:
    """Have the source found that came with code, if any did."""
    if source is not None:
        source.provide()


@functools.lru_cache(maxsize=16)
def _source(filename: str, text: str) -> Source:
    """One object for all functions of a file, so that a pickle has it once."""
    return Source(filename, zlib.compress(text.encode()))
