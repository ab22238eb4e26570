"""The built library: where it is, and the instructions that it has."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOMAIN = "tfx.kernels"
# Name, type of the result, types of the operands (ONNX's codes).
Instruction = tuple[str, int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Library:
    """The library of fused kernels.

    Attributes:
        path: Its file.
        instructions: The number of each instruction.
        operators: The number of each operator.
        choose: Says which operators the next session of this thread knows, a bit each.
        product_width: How many columns of a matrix there are in a panel, as matmul.h has it; 0
            where products of matrices are not quicker than ONNX Runtime's.
    """

    path: str
    instructions: dict[Instruction, int]
    operators: dict[str, int]
    choose: Callable[[int], object]
    product_width: int

    def registration(self, operators: Collection[str]) -> Callable[[Any], None]:
        """What makes a session know operators.

        Args:
            operators: Their names: each would take a session memory that has no nodes of it.

        Returns:
            A function of the options of a session, for the thread that makes it.
        """
        bits = sum(1 << self.operators[name] for name in operators)

        def register(options: Any) -> None:
            self.choose(bits)
            options.register_custom_ops_library(self.path)

        return register


def place() -> Path | None:
    """Where the library is; None where it was not built."""
    return next(Path(__file__).parent.glob("libtfx_kernels.*"), None)


_BUILDS = "`python -m tfx.kernels.build` builds it"
_NOT_BUILT = f"their library was not built; {_BUILDS}"


class _State:
    """Of the process.

    Attributes:
        enabled: Whether plans use the library if their functions do not say.
        failed: Whether the library is not used although it is there.
        problem: Why.
    """

    def __init__(self) -> None:
        self.enabled = os.environ.get("TFX_FUSE") != "0"
        self.failed = False
        self.problem = ""


state = _State()


def usable_library(wanted: bool | None = None) -> Library | None:
    """Return the library, if plans may use it; None otherwise.

    Args:
        wanted: What the function says: True and False win over the switch of the process.
    """
    use = state.enabled if wanted is None else wanted
    return _load() if use and not state.failed else None


def give_up(reason: object, level: int = logging.WARNING) -> None:
    """Do without the library from now on, and say so once.

    Args:
        reason: What went wrong.
        level: Of the message in the log.
    """
    state.failed, state.problem = True, str(reason)
    logging.getLogger("tfx").log(
        level, "The fused kernels are not used from now on, results stay the same: %s", reason
    )


def why_not() -> str:
    """Why plans do not use the library; an empty string where they do."""
    if usable_library(True) is not None:
        return "" if state.enabled else "they are switched off"
    return state.problem or _NOT_BUILT


@functools.cache
def _load() -> Library | None:
    found = _library_or_reason()
    if isinstance(found, Library):
        return found
    give_up(*found)
    return None


def _library_or_reason() -> Library | tuple[object, int]:
    """The library, or why there is none, with the level of a message about that."""
    path = place()
    if path is None:
        return _NOT_BUILT, logging.INFO
    import ctypes

    from tfx.kernels.build import is_whole
    from tfx.kernels.programs import FORMAT

    try:
        if not is_whole(path.read_bytes()):
            return f"{path} is not as it was built", logging.WARNING
        loaded = ctypes.CDLL(str(path))
        ask, works, _ = loaded.instruction_at, loaded.kernels_work, loaded.RegisterCustomOps
        version = loaded.format_of_programs()
        choose, name_of, width = (
            loaded.register_operators,
            loaded.operator_at,
            loaded.quick_products(),
        )
    except (OSError, AttributeError) as e:  # of another machine, or of another version
        return e, logging.WARNING
    if version != FORMAT:
        return f"{path} is of another version of tfx; {_BUILDS}", logging.WARNING
    if not works():
        return f"{path} is not for this processor", logging.INFO
    ask.argtypes = [
        ctypes.c_size_t,
        ctypes.POINTER(ctypes.c_char_p),
        ctypes.POINTER(ctypes.c_int),
    ]
    ask.restype = ctypes.c_int
    found: dict[Instruction, int] = {}
    name, types = ctypes.c_char_p(), (ctypes.c_int * 4)()
    while ask(len(found), ctypes.byref(name), types):
        operands = tuple(t for t in types[1:] if t)
        found[(name.value or b"").decode(), types[0], operands] = len(found)
    choose.argtypes, choose.restype = [ctypes.c_uint64], None
    name_of.argtypes, name_of.restype = [ctypes.c_size_t], ctypes.c_char_p
    operators: dict[str, int] = {}
    while named := name_of(len(operators)):
        operators[named.decode()] = len(operators)
    return Library(str(path), found, operators, choose, width)
