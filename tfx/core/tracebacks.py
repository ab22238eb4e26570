"""Tracebacks without tfx's own frames: what a user sees of an error is the user's program.

Owns the switch (`tf.debugging.enable_traceback_filtering`) and the filter. It must not know which
functions are public: code that makes names public declares it with `cover`.

The design decision: a covered function gets an exception handler at its end, in its own code
object, that takes the frames off on the way out. An exception table costs nothing until something
is raised, and the function stays the same object: no wrapper stands in a call, a pickle or a
comparison. The handler is what the running Python compiles for a `try` statement; where that looks
otherwise than is expected here, functions stay as they are, and so do tracebacks.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType, SimpleNamespace, TracebackType
from typing import Final, NamedTuple, TypeVar

from tfx.core.source import INSIDE_MARK, is_own

_T = TypeVar("_T")

_enabled = True


def enable_traceback_filtering() -> None:
    """Take tfx's own frames out of the tracebacks of errors; this is the default.

    Example:
        >>> import tfx as tf
        >>> tf.debugging.enable_traceback_filtering()
        >>> tf.debugging.is_traceback_filtering_enabled()
        True
    """
    global _enabled
    _enabled = True


def disable_traceback_filtering() -> None:
    """Let tracebacks show all frames, tfx's own included.

    Example:
        >>> import tfx as tf
        >>> tf.debugging.disable_traceback_filtering()
        >>> tf.debugging.is_traceback_filtering_enabled()
        False
        >>> tf.debugging.enable_traceback_filtering()
    """
    global _enabled
    _enabled = False


def is_traceback_filtering_enabled() -> bool:
    """True if tracebacks leave out tfx's own frames.

    Returns:
        True unless `disable_traceback_filtering` was called.

    Example:
        >>> import tfx as tf
        >>> tf.debugging.is_traceback_filtering_enabled()
        True
    """
    return _enabled


# The filter


def _strip() -> None:
    """Take tfx's frames off the exception that is being handled."""
    error = sys.exc_info()[1]
    if _enabled and isinstance(error, Exception):
        with contextlib.suppress(Exception):  # the error itself matters more than its looks
            filtered(error)


def filtered(error: BaseException) -> BaseException:
    """Take tfx's own frames out of an exception's traceback, and what it handled out of the chain.

    Args:
        error: An exception that was raised and caught; it is changed in place.

    Returns:
        The exception.
    """
    # What tfx handled on its way to this error is no news to the user. A cause that it names is,
    # if it comes from the system: programs read it.
    if error.__context__ is not None and _is_ours(error.__context__):
        if error.__context__ is error.__cause__ and not isinstance(error.__cause__, OSError):
            error.__cause__ = None
        error.__context__ = None
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        if one.__traceback__ is not None:
            _filter_frames(one)
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
    return error


def _steps(step: TracebackType | None) -> Iterator[TracebackType]:
    while step is not None:
        yield step
        step = step.tb_next


def _is_ours(error: BaseException) -> bool:
    """True if an exception was raised and handled without any code of the user's."""
    return all(is_own(step.tb_frame.f_code.co_filename) for step in _steps(error.__traceback__))


def _filter_frames(error: BaseException) -> None:
    steps = list(_steps(error.__traceback__))
    own = [is_own(step.tb_frame.f_code.co_filename) for step in steps]
    if own[-1]:
        # `raised_inside` must still find later where it was raised.
        setattr(error, INSIDE_MARK, True)
    if not any(own):
        return
    kept = [
        step
        for i, step in enumerate(steps)
        # contextlib stands between a `with` and what it calls, on both sides ours.
        if not own[i] and not (_is_contextlib(step) and any(own[max(i - 1, 0) : i + 2]))
    ]
    following: TracebackType | None = None
    for step in reversed(kept):
        if step.tb_next is not following:
            step.tb_next = following
        following = step
    error.__traceback__ = following


def _is_contextlib(step: TracebackType) -> bool:
    return step.tb_frame.f_code.co_filename == contextlib.__file__


# Handlers

_MARK: Final = 123457
# The newest Python on which thousands of functions were given handlers and run (from 3.11 on).
# A mistake in the bytes would end the process, so newer ones keep their frames until tried.
_TRIED: Final = (3, 14)
_SUSPENDING: Final = 0x20 | 0x80 | 0x100 | 0x200  # generators and coroutines


class _Range(NamedTuple):
    """A row of an exception table; positions in units of two bytes."""

    start: int
    end: int
    target: int
    depth_lasti: int


class _Handler(NamedTuple):
    """The end of a function that strips and raises again, as this Python compiles it."""

    code: bytes
    constant: int  # position of the byte that says which constant is called
    ranges: tuple[_Range, ...]  # relative to the handler; the first protects what is before it
    stack: int


def _template() -> CodeType:
    source = f"def f():\n try:\n  x()\n except:\n  ({_MARK})()\n  raise\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        module = compile(source, "<handler>", "exec", dont_inherit=True)
    return next(c for c in module.co_consts if isinstance(c, CodeType))


def _find_handler() -> _Handler | None:
    """The handler, None where this Python makes another one than is known here."""
    if sys.version_info[:2] > _TRIED:
        return None
    import opcode

    code = _template()
    ranges = _parsed(code.co_exceptiontable)
    if len(ranges) < 2 or _MARK not in code.co_consts:
        return None
    begin = ranges[0].target
    rest = [r for r in ranges if r.start >= begin]
    body = code.co_code[2 * begin :]
    number = code.co_consts.index(_MARK)
    load = opcode.opmap["LOAD_CONST"]
    places = [i + 1 for i in range(0, len(body), 2) if body[i] == load and body[i + 1] == number]
    if len(places) != 1 or ranges[0].depth_lasti != 0:
        return None
    if any(body[i] in opcode.hasname or body[i] in opcode.hasjabs for i in range(0, len(body), 2)):
        return None
    moved = tuple(
        _Range(r.start - begin, r.end - begin, r.target - begin, r.depth_lasti) for r in rest
    )
    return _Handler(body, places[0], moved, code.co_stacksize + 4)


def _parsed(table: bytes) -> list[_Range]:
    """The rows of a ``co_exceptiontable``."""
    numbers: list[int] = []
    value = 0
    for byte in table:
        value = (value << 6) | (byte & 63)
        if not byte & 64:
            numbers.append(value)
            value = 0
    rows = zip(*(iter(numbers),) * 4, strict=True)
    return [_Range(start, start + size, target, dl) for start, size, target, dl in rows]


def _written(ranges: list[_Range]) -> bytes:
    """The inverse of ``_parsed``."""
    table = bytearray()
    for start, end, target, depth_lasti in ranges:
        for i, number in enumerate((start, end - start, target, depth_lasti)):
            digits = [number & 63]
            while number := number >> 6:
                digits.append(number & 63 | 64)
            digits.reverse()
            digits[0] |= 128 if i == 0 else 0
            table += bytes(digits)
    return bytes(table)


def _protected(code: CodeType, handler: _Handler) -> CodeType:
    """The code of a function with a handler at its end, for all that has none of its own."""
    units, number = len(code.co_code) // 2, len(code.co_consts)
    if code.co_flags & _SUSPENDING or number > 255 or _strip in code.co_consts:
        return code
    ranges: list[_Range] = []
    position = 0
    for row in sorted(_parsed(code.co_exceptiontable)):
        if row.start > position:
            ranges.append(_Range(position, row.start, units, 0))
        ranges.append(row)
        position = row.end
    if position < units:
        ranges.append(_Range(position, units, units, 0))
    ranges += [
        _Range(row.start + units, row.end + units, row.target + units, row.depth_lasti)
        for row in handler.ranges
    ]
    body = bytearray(handler.code)
    body[handler.constant] = number
    return code.replace(
        co_code=code.co_code + bytes(body),
        co_consts=(*code.co_consts, _strip),
        co_exceptiontable=_written(ranges),
        co_stacksize=max(code.co_stacksize, handler.stack),
        co_linetable=code.co_linetable + _no_lines(len(body) // 2),
    )


def _no_lines(units: int) -> bytes:
    """The end of a line table for code that stands on no line."""
    found = bytearray()
    while units > 0:
        found.append(0x80 | 15 << 3 | min(units, 8) - 1)
        units -= 8
    return bytes(found)


_handler = _find_handler()


def cover(value: _T) -> _T:
    """Let errors leave a public function, or what a public class or module has, without frames.

    Functions are changed in place, and only those of tfx; whatever else is given stays.

    Args:
        value: A function, a class, a namespace or a module with the namespaces below it.

    Returns:
        The value.
    """
    if _handler is None:
        return value
    if isinstance(value, FunctionType):
        _cover_function(value)
    elif isinstance(value, type):
        _cover_class(value)
    elif isinstance(value, ModuleType | SimpleNamespace):
        inside = f"{value.__name__}." if isinstance(value, ModuleType) else None
        for name, member in list(vars(value).items()):
            below = isinstance(member, ModuleType) and (
                inside is not None and member.__name__.startswith(inside)
            )
            plain = isinstance(member, FunctionType | type | SimpleNamespace)
            if not name.startswith("_") and (plain or below):
                cover(member)
    return value


def _cover_function(function: FunctionType) -> None:
    code = function.__code__
    if _handler is not None and is_own(code.co_filename):
        function.__code__ = _protected(code, _handler)


_covered: set[type] = set()


def _cover_class(cls: type) -> None:
    for base in cls.__mro__:
        module = getattr(base, "__module__", None)
        if base in _covered or not isinstance(module, str) or module.split(".")[0] != "tfx":
            continue
        _covered.add(base)
        for name, member in list(vars(base).items()):
            if name.startswith("_") and not name.endswith("__"):
                continue
            parts = [member]
            if isinstance(member, staticmethod | classmethod):
                parts = [member.__func__]
            elif isinstance(member, property):
                parts = [member.fget, member.fset, member.fdel]
            for part in parts:
                if isinstance(part, FunctionType):
                    _cover_function(part)
