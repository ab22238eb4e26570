"""Output for people: tables, sizes, and progress of long work.

Owns the looks, on a terminal and in a pipe. Must not know of bundles. The one decision: stdout has
results and nothing else, in a form that other programs can cut up when it is not a terminal; stderr
has everything that is only for the eye.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
import time
from collections.abc import Iterator, Sequence

import click

# A pause that nobody takes for a hang; what is faster shows nothing.
_PATIENCE = 0.5
_TICK = 0.1
_SIGNS = "|/-\\"
# Nothing is folded in a pipe.
_ENDLESS = 100_000


def table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str | Sequence[str]]]
) -> None:
    """Print a table.

    Args:
        title: What it shows.
        columns: Their names; a name that ends in ">" flushes its column right.
        rows: The cells. One with several parts has a line for each on a terminal, and stays in one
            line in a pipe.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    is_terminal = sys.stdout.isatty()
    console = Console(width=None if is_terminal else _ENDLESS, highlight=False)
    shown = Table(
        title=title if is_terminal else None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD if is_terminal else None,
        pad_edge=False,
    )
    for name in columns:
        right = name.endswith(">")
        shown.add_column(name.rstrip(">"), justify="right" if right else "left", overflow="fold")
    for row in rows:
        parts = [[cell] if isinstance(cell, str) else cell for cell in row]
        shown.add_row(*(Text(("\n" if is_terminal else ", ").join(part)) for part in parts))
    if is_terminal:
        # Cells cut in the middle of a word can be read in a list of files, not in a signature.
        endless = console.options.update(max_width=_ENDLESS)
        if len(columns) > 2 and console.measure(shown, options=endless).maximum > console.width:
            _print_blocks(title, columns, rows)
        else:
            console.print(shown)
        return
    with console.capture() as capture:
        console.print(shown)
    lines = [line.rstrip() for line in capture.get().splitlines()]
    click.echo("\n".join([f"{title}:", *(f"  {line}" for line in lines), ""]))


def _print_blocks(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str | Sequence[str]]]
) -> None:
    """Print a table that is too wide: the first cell of each row, the others below it."""
    click.echo(f"{click.style(title, bold=True)}\n")
    width = max(len(name.rstrip(">")) for name in columns[1:])
    for first, *others in rows:
        click.echo(first if isinstance(first, str) else ", ".join(first))
        for name, cell in zip(columns[1:], others, strict=True):
            label = name.rstrip(">")
            for part in [cell] if isinstance(cell, str) else cell:
                click.echo(f"  {label:{width}}  {part}")
                label = ""
        click.echo()


def counted(count: int, what: str) -> str:
    """Return a number of things, such as "1 file".

    Example:
        >>> counted(1, "file"), counted(2, "file")
        ('1 file', '2 files')
    """
    return f"{count} {what}{'' if count == 1 else 's'}"


def size_text(count: int) -> str:
    """Return a number of bytes for people.

    Example:
        >>> size_text(999), size_text(1536), size_text(5 << 30)
        ('999 B', '1.5 KiB', '5.0 GiB')
    """
    if count < 1024:
        return f"{count} B"
    amount = float(count)
    for unit in ("KiB", "MiB", "GiB"):
        amount /= 1024
        if amount < 1024:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1024:.1f} TiB"


@contextlib.contextmanager
def progress(what: str) -> Iterator[None]:
    """Show on stderr that work goes on, if it takes long and a person may be looking."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_turn, args=(what, done), daemon=True)
    try:
        thread.start()
    except RuntimeError:  # no memory for a thread: then nothing is shown
        yield
        return
    try:
        yield
    finally:
        done.set()
        thread.join()


def _turn(what: str, done: threading.Event) -> None:
    begin = time.monotonic()
    if done.wait(_PATIENCE):
        return
    width = 0
    for sign in itertools.cycle(_SIGNS):
        text = f"{sign} {what} ({time.monotonic() - begin:.0f} s)"
        width = max(width, len(text))
        sys.stderr.write(f"\r{text}")
        sys.stderr.flush()
        if done.wait(_TICK):
            break
    sys.stderr.write(f"\r{' ' * width}\r")
    sys.stderr.flush()
