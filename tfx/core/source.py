"""The user's place in the program: the first stack frame that is not tfx's own code.

Owns the answer to "which line of the user's program caused this?". It must not know who
asks: nodes of a graph keep the answer for later errors, errors show it at once.

The design decision: a frame is judged by its code's file name alone, by prefix, and each
file name is judged once. So a walk costs a dict lookup a frame, and nothing is resolved on
disk after import. `tfx.model_zoo` is user code: it is written with the public API only.
"""

from __future__ import annotations

import contextlib
import os
import sys
from types import FrameType
from typing import Final, NamedTuple


class SourceLocation(NamedTuple):
    """A line of the user's program.

    Attributes:
        file: The file name as Python knows it.
        line: The line, counted from 1; 0 when unknown.
        function: The name of the function, "<module>" at top level.
        layer: The name scopes that were open there, such as "net/dense/"; empty outside of them,
            and where nobody asked.
    """

    file: str
    line: int
    function: str
    layer: str = ""

    def text(self) -> str:
        """Returns the location for a message.

        Example:
            >>> SourceLocation("/home/me/model.py", 12, "train_step").text()
            'model.py:12 in train_step'
        """
        if self is UNKNOWN_LOCATION:
            return "<unknown location>"
        return f"{os.path.basename(self.file)}:{self.line} in {self.function}"


def bracketed(source: SourceLocation | None) -> str:
    """A location as the end of a message; nothing where there is none.

    Example:
        >>> bracketed(SourceLocation("/home/me/model.py", 12, "train_step"))
        ' [model.py:12 in train_step]'
    """
    return f" [{source.text()}]" if source else ""


UNKNOWN_LOCATION: Final = SourceLocation("<unknown>", 0, "<unknown>")
"""What `user_frame` gives when every frame of the stack is tfx's own, as under `tfx` itself."""

# Parts of the package that a checkout keeps beside tfx/, reached through links inside it.
_LINKED_PARTS: Final = (("exporters", "exporters"), ("loaders", "loaders/python"), ("cli", "cli"))
_USER_PARTS: Final = ("model_zoo",)


def _part_prefixes(package: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The file name prefixes of internal code, and of what lies among it but counts as user's.

    Args:
        package: The folder of the package tfx, as Python found it.

    Returns:
        The two tuples; each prefix ends in a separator.
    """
    inside: list[str] = []
    user: list[str] = []
    # Both spellings: code objects carry the path by which a module was found, links and all.
    for root in dict.fromkeys((package, os.path.realpath(package))):
        inside.append(root)
        user.extend(os.path.join(root, part) for part in _USER_PARTS)
        for part, beside in _LINKED_PARTS:
            link = os.path.join(root, part)
            sibling = os.path.join(os.path.dirname(root), *beside.split("/"))
            # The folder beside tfx/ is ours only if tfx/<part> leads to it. In site-packages a
            # folder named cli may be anybody's. Git without links leaves a text file instead.
            same = os.path.realpath(link) == os.path.realpath(sibling)
            if os.path.isdir(sibling) and (same or os.path.isfile(link)):
                inside.append(sibling)
    return (
        tuple(dict.fromkeys(path + os.sep for path in inside)),
        tuple(dict.fromkeys(path + os.sep for path in user)),
    )


_INSIDE, _USER = _part_prefixes(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# File name of a code object -> whether it is to be passed over. Frames of contextlib stand
# between a `with` of the user's and our own generator, and are nobody's place in a program.
_SKIP: Final[dict[str, bool]] = {contextlib.__file__: True}
# Files whose frames stand between the user's call and the function that was meant.
TRANSPARENT: Final[set[str]] = {contextlib.__file__}


def is_internal(filename: str) -> bool:
    """True if code of this file name is tfx's own, NumPy's, or Python's import machinery.

    Args:
        filename: The `co_filename` of a code object.

    Returns:
        True if `user_frame` passes it over.
    """
    skip = _SKIP.get(filename)
    if skip is None:
        skip = filename.startswith("<frozen ") or (
            filename.startswith((*_INSIDE, *_numpy_folder())) and not filename.startswith(_USER)
        )
        _SKIP[filename] = skip
    return skip


def _numpy_folder() -> tuple[str, ...]:
    """Return NumPy's folder: its Python code lies between a user's `np.sum(tensor)` and tfx."""
    numpy = sys.modules.get("numpy")
    return () if numpy is None else (os.path.dirname(str(numpy.__file__)) + os.sep,)


def is_own(filename: str) -> bool:
    """True if code of this file name is tfx's own: like `is_internal`, but for tfx alone.

    Args:
        filename: The `co_filename` of a code object.

    Returns:
        True if tracebacks leave it out.
    """
    return filename.startswith(_INSIDE) and not filename.startswith(_USER)


# Attribute of an exception that tfx's own code raised, and whose traceback no longer shows it.
INSIDE_MARK: Final = "_tfx_raised_inside"


def raised_at(error: BaseException) -> SourceLocation:
    """Finds the line of the user's program that led to an error.

    Args:
        error: An error that was raised and caught.

    Returns:
        The innermost frame of its traceback that is not tfx's own code, or `UNKNOWN_LOCATION`.
    """
    found = UNKNOWN_LOCATION
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if not is_internal(code.co_filename):
            found = SourceLocation(code.co_filename, step.tb_lineno, code.co_name)
        step = step.tb_next
    return found


def raised_inside(error: BaseException) -> bool:
    """True if tfx's own code raised an error, and not the user's.

    Args:
        error: An error that was raised and caught.
    """
    if getattr(error, INSIDE_MARK, False):
        return True
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return step is not None and is_internal(step.tb_frame.f_code.co_filename)


def user_frame(layer: str = "") -> SourceLocation:
    """Finds the innermost stack frame which is not tfx's own code.

    Args:
        layer: The name scopes that are open.

    Returns:
        Its location, or `UNKNOWN_LOCATION` if there is none.
    """
    frame = sys._getframe(1)
    skip = _SKIP
    while True:
        code = frame.f_code
        filename = code.co_filename
        passed = skip.get(filename)
        if passed is None:
            passed = is_internal(filename)
        if not passed:
            return SourceLocation(filename, frame.f_lineno, code.co_name, layer)
        if (back := frame.f_back) is None:
            return UNKNOWN_LOCATION
        frame = back


def user_call(layer: str = "") -> tuple[SourceLocation, FrameType | None]:
    """Finds the user's line like `user_frame`, and the call of tfx that stands there.

    Args:
        layer: The name scopes that are open.

    Returns:
        The location, and the frame of the function that the user called; None if there is none.
    """
    frame = sys._getframe(1)
    called = None
    skip = _SKIP
    while True:
        code = frame.f_code
        filename = code.co_filename
        passed = skip.get(filename)
        if passed is None:
            passed = is_internal(filename)
        if not passed:
            return SourceLocation(filename, frame.f_lineno, code.co_name, layer), called
        if (back := frame.f_back) is None:
            return UNKNOWN_LOCATION, None
        if filename not in TRANSPARENT:
            called = frame
        frame = back
