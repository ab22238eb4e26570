"""Errors as one line on stderr that says what to do next.

Owns the words and the exit code of every way in which a run can end badly. Must not know of the
sub-commands. The one decision: a traceback is for us, and shown when asked for; whoever mistyped a
path gets a sentence.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback

import click

from tfx.cli import _limits
from tfx.core.errors import OpError
from tfx.core.system_errors import FULL, NO_THREAD, is_no_thread, no_room

FAILED = 1
USAGE = 2
INTERRUPTED = 130
PIPE_CLOSED = 141


class OperationError(Exception):
    """The operation could not be done; the message is the line to show."""


def _set_debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(dict)["debug"] = True


debug_option = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_set_debug,
    help="On an error show the whole traceback.",
)
"""For the group and for each sub-command: people add it at the end."""


def report(error: BaseException, prog_name: str, *, debug: bool) -> int:
    """Print an error on stderr.

    Args:
        error: What ended the run; click's way to say that nothing is wrong is among them.
        prog_name: The name of the program.
        debug: Whether to show the traceback.

    Returns:
        The exit code.
    """
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else FAILED
    if isinstance(error, BrokenPipeError):
        _let_go_of_stdout()
        return PIPE_CLOSED
    if debug:
        traceback.print_exception(error)
    late = _limits.stop()
    if late and isinstance(error, KeyboardInterrupt):
        _say(f"{prog_name}: {late}")
        return _limits.TIMED_OUT
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        _say(f"\n{prog_name}: interrupted")
        return INTERRUPTED
    if isinstance(error, click.UsageError):
        return _usage(error, prog_name)
    _say(f"{prog_name}: {' '.join(_message(error).split())}")
    return FAILED


def _usage(error: click.UsageError, prog_name: str) -> int:
    path = error.ctx.command_path if error.ctx else prog_name
    if type(error).__name__ == "NoArgsIsHelpError":  # click before 8.2 has no such class
        _say(error.format_message())
        return USAGE
    text = " ".join(error.format_message().split())
    _say(f"{path}: {text.rstrip('.')}; see {path} --help")
    return USAGE


def _message(error: BaseException) -> str:
    if isinstance(error, (OpError, OperationError)):
        return str(error)
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, MemoryError):
        return "not enough memory; close other programs, or take a smaller batch"
    if isinstance(error, OSError) and error.errno in FULL:
        return no_room("" if error.filename is None else os.fsdecode(error.filename), error)
    if isinstance(error, OSError) and error.strerror:
        name = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return f"{name}{error.strerror}; check the path and its permissions"
    if is_no_thread(error):
        return NO_THREAD
    text = str(error).strip().rstrip(".")
    return f"{type(error).__name__}: {text}; --debug shows where it comes from"


def _say(text: str) -> None:
    with contextlib.suppress(OSError):  # nobody listens
        click.echo(text, err=True)


def _let_go_of_stdout() -> None:
    """Python flushes stdout at its end, which would fail once more, with a traceback."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError, AttributeError):
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
