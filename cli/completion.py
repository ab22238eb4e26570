"""``tfx completion``: the script that teaches a shell to complete ``tfx``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from tfx.cli._errors import debug_option

_HELP = """Print the script that makes a shell complete commands, options and signatures.

\b
Put one of these into the file that your shell reads at its start:
  bash (~/.bashrc):              eval "$(tfx completion bash)"
  zsh (~/.zshrc):                eval "$(tfx completion zsh)"
  fish (~/.config/fish/config.fish):  tfx completion fish | source
"""


@click.command("completion", help=_HELP, short_help="Print a shell completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@debug_option
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print click's own script for the shell."""
    kind = get_completion_class(shell)
    assert kind is not None  # click has all three
    click.echo(kind(ctx.find_root().command, {}, "tfx", "_TFX_COMPLETE").source())
