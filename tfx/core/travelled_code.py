"""The files of code that came from another process without their names.

cloudpickle sends code with its lines, but from 3.1.3 on with one name in place of the file's.
Source that came along is compiled again to find whose code it is: where name, line and instructions
are the same, the code gets its file back, and with it what is found under the file's name.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Iterator

_NAMELESS = "<dynamic-code>"
_Key = tuple[str, int, bytes]
# Files of the code in them; texts are compiled when the first function without a file is asked for.
_texts: dict[str, str] = {}
_files: dict[_Key, str] = {}
_lock = threading.Lock()  # a text that one thread compiles is the answer for another


def keep_text(filename: str, text: str) -> None:
    """Take note of a text that came with code."""
    _texts[filename] = text


def name_file(function: types.FunctionType) -> None:
    """Give a function's code the name of its file, if it has none and its text has come."""
    if function.__code__.co_filename != _NAMELESS:
        return
    with _lock:
        while _texts:
            _index(*_texts.popitem())
    filename = _files.get(_key(function.__code__))
    if filename is not None:
        function.__code__ = _named(function.__code__, filename)


def _index(filename: str, text: str) -> None:
    try:
        whole = compile(text, filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):  # of a shell with a syntax of its own
        return
    _files.update((_key(code), filename) for code in _all_code(whole))


def _key(code: types.CodeType) -> _Key:
    return code.co_qualname, code.co_firstlineno, code.co_code


def _all_code(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _all_code(inner)


def _named(code: types.CodeType, filename: str) -> types.CodeType:
    inner = (_named(c, filename) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=filename, co_consts=tuple(inner))
