"""Shapes on the command line: ``--shape NAME=SIZES``."""

from __future__ import annotations

import click

from tfx.cli import _values


def shape_of(text: str) -> tuple[str, list[int | str | None]]:
    """Return the name and the sizes of ``NAME=SIZES``.

    Raises:
        UsageError: There is no name, or a size is neither a number, a name nor ``?``.

    Example:
        >>> shape_of("image=1,3,?,w")
        ('image', [1, 3, None, 'w'])
    """
    name, rest = _values.split_assignment(text, "--shape", "NAME=SIZES, such as image=1,3,?,?")
    sizes: list[int | str | None] = []
    for part in (p.strip() for p in rest.split(",") if rest.strip()):
        if part in ("?", "None"):
            sizes.append(None)
        elif part.isdigit():
            sizes.append(int(part))
        elif part.isidentifier():
            sizes.append(part)
        else:
            raise click.UsageError(
                f"--shape {text!r}: {part!r} is no size; expected a number, a name or ?"
            )
    return name, sizes
