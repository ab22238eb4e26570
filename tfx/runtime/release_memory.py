"""Memory that no session uses any more, returned to the system.

Owns two calls that free what others keep for later: ONNX Runtime's pool of memory and the C
library's heap. The one decision: this is for moments at which a program says that it is done with
something large, since what is returned has to be asked for again.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Callable

from tfx.core.errors import OpError
from tfx.runtime.options import new_run_options
from tfx.runtime.session import Session
from tfx.runtime.string_model import constant_model

# ONNX Runtime frees unused parts of its pool behind a run that asks for it, so a run there must be.
_SHRINK = ("memory.enable_memory_arena_shrinkage", "cpu:0")


def release_memory() -> None:
    """Return unused memory to the system; takes a few milliseconds.

    Example:
        >>> from tfx.runtime.release_memory import release_memory
        >>> release_memory()
    """
    with contextlib.suppress(OpError):  # a forked child that cannot run, or no memory at all
        session = Session(constant_model([b""], ()))
        options = new_run_options()
        options.add_run_config_entry(*_SHRINK)
        session.run_raw({}, session.output_names, options)
    trim = _trim()
    if trim is not None:
        trim(0)


@functools.cache
def _trim() -> Callable[[int], int] | None:
    """``malloc_trim`` of the GNU C library, None elsewhere."""
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
    return found
