"""Converted code without tensors does what Python does: results, exceptions, order of effects."""

from __future__ import annotations

import contextlib
import importlib.util
import linecache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfx.autograph import operators
from tfx.autograph.conversion import convert_function, is_converted
from tfx.autograph.parsing import SourceError

_spec = importlib.util.spec_from_file_location(
    "python_programs", Path(__file__).with_name("python_programs.py")
)
programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(programs)


class Log:
    """What a program did."""

    def __init__(self):
        self.events = []
        self.attribute = 0
        self.functions = []

    def note(self, value):
        self.events.append(value)
        return value

    def many(self, *args, k, **more):
        self.events.append((args, k, more))
        return len(args) + k

    def get(self, read):
        try:
            return read()
        except NameError:
            return "undefined"

    @contextlib.contextmanager
    def context(self, value):
        self.events.append(("enter", value))
        try:
            yield
        except ZeroDivisionError:
            pass
        finally:
            self.events.append("exit")

    def __setitem__(self, key, value):
        self.events.append(("item", key, value))


def function_of(text, name="f"):
    """The function that the source text defines, with its source known to Python."""
    filename = f"<program {hash(text)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    scope = {}
    exec(compile(text, filename, "exec"), scope)
    return scope[name]


def outcome(function, a, b):
    log = Log()
    try:
        result = function(a, b, log)
    except RecursionError:
        function.__globals__["shared"] = 1
        return "recursion"
    except NameError:  # which subclass depends on the scope, and on the version of Python
        result = NameError
    except Exception as error:
        result = (type(error), str(error))
    shared = function.__globals__["shared"]
    function.__globals__["shared"] = 1
    return result, log.events, log.attribute, len(log.functions), shared


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9), st.integers(-3, 4), st.integers(-3, 4))
def test_converted_programs_do_the_same(seed, a, b):
    text = programs.Writer(seed).text()
    try:
        function = function_of(text)
        converted = convert_function(function, operators)
    except (SyntaxError, SourceError):  # a nonlocal that nothing binds, a jump out of `finally`
        return
    assert is_converted(converted)
    assert outcome(converted, a, b) == outcome(function, a, b), text


# Seed -> why its program cannot be converted, or is none.
REFUSED = {
    6: (SourceError, "jumps out of a finally block"),
    27: (SyntaxError, "no binding for nonlocal 'd'"),
}


@pytest.mark.parametrize("seed", range(40))
def test_known_programs_do_the_same(seed):
    text = programs.Writer(seed).text()
    if seed in REFUSED:
        kind, message = REFUSED[seed]
        with pytest.raises(kind, match=message):
            convert_function(function_of(text), operators)
        return
    function = function_of(text)
    converted = convert_function(function, operators)
    assert is_converted(converted)
    for a in (-1, 0, 3):
        assert outcome(converted, a, 2) == outcome(function, a, 2), text
