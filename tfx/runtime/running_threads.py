"""Detection of threads inside ONNX Runtime by their innermost Python frames.

Nothing is counted when a run begins or ends, so that a run costs nothing: queries look at the
frames of the threads. A thread that is about to run counts as one that runs.
"""

from __future__ import annotations

import os
import sys
import threading
from types import CodeType, FrameType

import onnxruntime

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_RUNTIME = os.path.dirname(os.path.abspath(onnxruntime.__file__)) + os.sep
# Modules whose functions call runners by other names.
_CALLERS = frozenset(
    _PACKAGE + os.path.join(*path.split("/"))
    for path in (
        "runtime/cuda_graphs.py",
        "runtime/fork.py",
        "runtime/io_binding.py",
        "runtime/kept_binding.py",
        "runtime/process_exit.py",
        "runtime/run_hooks.py",
        "runtime/run_options.py",
        "runtime/session.py",
        "function/inspection/profile.py",
    )
)
# Its functions are called after the runner was looked up, and before it is called.
_FEEDING = _PACKAGE + os.path.join("function", "execution", "feeds.py")
# Functions in which a thread only waits.
waiting: set[CodeType] = set()


def is_inside(frame: FrameType | None) -> bool:
    """True if a thread is inside ONNX Runtime, or about to be.

    Args:
        frame: Its innermost Python frame.
    """
    if frame is None or frame.f_code in waiting:
        return False
    file = frame.f_code.co_filename
    if file.startswith(_RUNTIME) or file in _CALLERS or _names_a_runner(frame.f_code):
        return True
    # A thread that has the runner may still be collecting the inputs.
    caller = frame.f_back
    return file == _FEEDING and caller is not None and _names_a_runner(caller.f_code)


def _names_a_runner(code: CodeType) -> bool:
    return "run_raw" in code.co_names and code.co_filename.startswith(_PACKAGE)


def is_thread_inside(number: int | None) -> bool:
    """True if one thread is.

    Args:
        number: Its ``ident``.
    """
    return number is not None and is_inside(sys._current_frames().get(number))


def are_others_inside() -> bool:
    """True if a thread other than this one is."""
    own = threading.get_ident()
    return any(is_inside(frame) for number, frame in sys._current_frames().items() if number != own)


def is_creating(number: int | None) -> bool:
    """True if a thread is inside ONNX Runtime to make a session, and not to run one.

    Args:
        number: Its ``ident``.
    """
    frame = None if number is None else sys._current_frames().get(number)
    return frame is not None and frame.f_code.co_filename.startswith(_RUNTIME)
