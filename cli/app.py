"""The command itself: its sub-commands by name, and how every run of it ends.

Owns the group, the exit codes and what happens on an error. Must not know what the sub-commands do.
The one decision: a sub-command's module is imported when it is asked for, and imports what it needs
when it runs, so ``tfx --help`` and completion are instant and ``tfx load`` never pays for tracing.

Exit codes: 0 done; 1 the operation failed; 2 the command line was wrong; 130 interrupted; 141 the
reader of a pipe went away (as a shell reports a program that the signals INT and PIPE have ended);
124 the time of ``--timeout`` was over (as the program ``timeout`` says it).
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from tfx.cli import _errors, _interrupts, _limits

PROGRAM = "tfx"
_COMPLETION_VARIABLE = "_TFX_COMPLETE"
_MODULES = {
    "checkpoint": "tfx.cli.checkpoint",
    "completion": "tfx.cli.completion",
    "convert": "tfx.cli.convert",
    "diff": "tfx.cli.diff",
    "freeze": "tfx.cli.freeze",
    "gradient": "tfx.cli.gradient",
    "load": "tfx.cli.load",
    "save": "tfx.cli.save",
    "show": "tfx.cli.show",
    "train-step": "tfx.cli.train_step",
    "verify": "tfx.cli.verify",
}
_HELP = """Save, inspect and run models that are plain ONNX.

A bundle is a folder of .onnx files over one file of variables. This command makes them, shows what
they offer, and calls them.

\b
Examples:
  tfx save digits:model --out digits_bundle
  tfx show digits_bundle
  tfx load digits_bundle --input image=@samples.npy
  tfx gradient classifier.onnx -o saliency.onnx --input image

Exit codes: 0 done, 1 the operation failed, 2 wrong usage.
"""


class Group(click.Group):
    """A group that imports its sub-commands late and reports errors in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the sub-commands."""
        return sorted(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a sub-command."""
        module = _MODULES.get(cmd_name)
        if module is None:
            return None
        command: click.Command = importlib.import_module(module).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the sub-command of a command line, or tell the nearest."""
        if args and args[0] not in _MODULES and not args[0].startswith("-"):
            import difflib  # only mistakes pay for it

            close = difflib.get_close_matches(args[0], _MODULES, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"one of {', '.join(_MODULES)}"
            raise click.UsageError(f"there is no command {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run a command line and leave the process; click's own idea of errors is not used."""
        sys.exit(self.run(list(sys.argv[1:] if args is None else args), prog_name or PROGRAM))

    def run(self, args: list[str], prog_name: str) -> int:
        """Run a command line.

        Args:
            args: The arguments.
            prog_name: The name of the program.

        Returns:
            The exit code.
        """
        instruction = os.environ.get(_COMPLETION_VARIABLE)
        if instruction:
            from click.shell_completion import shell_complete

            return shell_complete(self, {}, prog_name, _COMPLETION_VARIABLE, instruction)
        settings: dict[str, Any] = {}
        try:
            with (
                _interrupts.whole_imports(),
                self.make_context(prog_name, args, obj=settings) as ctx,
            ):
                self.invoke(ctx)
            sys.stdout.flush()
            _limits.stop()
        except BaseException as error:
            return _errors.report(error, prog_name, debug=bool(settings.get("debug")))
        return 0


def _show_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from tfx.core.version import VERSION

        click.echo(f"{PROGRAM} {VERSION}")
        ctx.exit()


@click.group(
    PROGRAM,
    cls=Group,
    help=_HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_version,
    help="Show the version and exit.",
)
@_errors.debug_option
def app() -> None:
    """Do what the sub-command does."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command ``tfx``.

    Args:
        args: The arguments; by default those of the process.

    Returns:
        The exit code.
    """
    return app.run(list(sys.argv[1:] if args is None else args), PROGRAM)
