"""``app.run``: the main function of a program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn


def run(
    main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None
) -> NoReturn:
    """Call a program's main function with its arguments, and exit with what it returns.

    Args:
        main: The function; None: ``main`` of the program's module.
        argv: The arguments, the program's name first; None: those of the process. If the program
            defined flags, those are parsed, and the rest is what the function gets.

    Raises:
        SystemExit: always.
    """
    if main is None:
        main = sys.modules["__main__"].main
    arguments = list(sys.argv if argv is None else argv)
    absl: Any = sys.modules.get("absl.flags")
    if absl is not None:
        arguments = absl.FLAGS(arguments, known_only=True)
    sys.exit(main(arguments))
